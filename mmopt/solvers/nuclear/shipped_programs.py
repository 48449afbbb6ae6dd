"""The shipped programs as problems of the nuclear norm, and its weights back as their points.

With shares y of sum 1 and N the norm: X = diag(p)^-½ V S Vᵀ diag(p)^-½ has the objective N and the largest
diagonal entry N max(cost / cells); Σ = B diag(p)^½ V S⁻¹ Vᵀ diag(p)^½ Bᵀ has the costs N cost / cells and,
relative to the targets, the variances N variance / weights (Xiao et al., PVLDB 2021, Theorem 12 for scales).

Givens are arrays, or split into components (``mmopt.numerics.split_arrays``); points and
multipliers then are too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from array_api_compat import array_namespace as namespace

from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.numerics.unformed_products import is_identity
from mmopt.solvers.nuclear import fitness_levels
from mmopt.solvers.nuclear.nuclear_problem import (
    Array,
    Care,
    Env,
    Problem,
    QueryComponent,
    care_for,
    conditioned,
    whole,
)
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, is_full, spectra_of

__all__ = ["FORMS", "QUERIES", "ProgramForm"]

Values = dict[str, Any]

# By this name, which no program can use, the givens may have L @ B, as large as all else, where it is known.
QUERIES = "L @ B"
GAP_OF_INVERTED = 1e-9  # gap for which a covariance that is only inverted has to be good


@dataclass(frozen=True)
class ProgramForm:
    """How a program is read as a problem, and how its point and multipliers follow from an iterate.

    ``dual``: what it chooses are the weights; the best lower bound gives its point, the best upper one its
    multipliers. ``worth`` is the program's objective where the squared norm is the optimum of the problem.
    """

    problem: Callable[[Env], Problem]
    point: Callable[[Env, Problem, Iterate, Care], Values]
    multipliers: Callable[[Env, Problem, Iterate], Values]
    dual: bool = False
    worth: Callable[[Env, float], float] = lambda env, square: square


def _split(w: Split, targets: Level | None = None, ranks: list[int] | None = None) -> Problem:
    """The problem of queries by component."""
    cells, queries = w.columns, w.rows
    assert cells.labels is not None
    rows = [None] * cells.count if targets is None or queries.labels is None else list(queries.labels)
    known: list[int | None] = [None] * cells.count if ranks is None else list(ranks)
    parts = zip(w.parts, w.multiplicities, cells.labels, rows, known, strict=True)
    found = tuple(
        QueryComponent(part, float(often), column, row, rank) for part, often, column, row, rank in parts
    )
    return Problem(found, cells.sizes, None if targets is None else targets.values * queries.sizes)


def _queries(env: Env) -> Problem:
    """``W`` up to rotation: rows beyond the number of columns are brought into a triangle."""
    w = env["W"]
    if isinstance(w, Split):
        return _split(w)
    if w.shape[0] > w.shape[1]:
        w = namespace(w).linalg.qr(w)[1]
    return whole(w)


def _square(env: Env) -> Problem:
    """``V``, of full row rank."""
    return _split(env["V"]) if isinstance(env["V"], Split) else whole(env["V"])


def _product(left: Array, right: Array) -> Array:
    """The product, or the left factor itself where the right one is an identity: memory."""
    return left if is_identity(right) else left @ right


def _targets(env: Env) -> Problem:
    """``L @ B``, or what is known to be that; the rows of B are independent, those with a target span all."""
    left, right = env["L"], env["B"]
    if isinstance(left, Split):
        parts = tuple(a @ b for a, b in zip(left.parts, right.parts, strict=True))
        ranks = [min(b.shape[0], part.shape[0]) for b, part in zip(right.parts, parts, strict=True)]
        return _split(Split(left.rows, right.columns, parts), env["c"], ranks)
    rows = env[QUERIES] if QUERIES in env else _product(left, right)
    return whole(rows, env["c"], right.shape[0])


def _with_all(env: Env) -> Problem:
    """The same with the weight of all variances."""
    found = _targets(env)
    assert found.targets is not None
    return replace(found, floors=found.targets * (float(env["total"]) / _sum(env["c"])))


def _sum(values: Array | Level) -> float:
    if isinstance(values, Level):
        return float(values.values @ values.space.sizes)
    return float(namespace(values).sum(values))


def _of_one(env: Env) -> Problem:
    """``V``: queries divided by the roots of their targets, so that all targets are 1."""
    rows = _product(env["V"], env["B"])
    xp = namespace(rows)
    return whole(rows, xp.ones(rows.shape[0], dtype=rows.dtype), env["B"].shape[0])


def _parts(matrix: Array | Split) -> tuple[Array, ...]:
    return matrix.parts if isinstance(matrix, Split) else (matrix,)


def _square_of(like: Array | Split, side: str, parts: list[Array]) -> Array | Split:
    """P Pᵀ of each part, on the rows or columns of a given."""
    return _on(like, side, [part @ part.T for part in parts])


def _on(like: Array | Split, side: str, products: list[Array]) -> Array | Split:
    """Square parts as a matrix on the rows or columns of a given."""
    if not isinstance(like, Split):
        return products[0]
    space: Space = like.rows if side == "rows" else like.columns
    return Split(space, space, tuple(products))


def _level(like: Array | Split, side: str, values: Array) -> Array | Level:
    """Values of the orbits as a vector over the rows or columns of a given."""
    return Level(like.rows if side == "rows" else like.columns, values) if isinstance(like, Split) else values


def _scales(problem: Problem, at: Iterate, care: Care) -> Array:
    """p diag(X), by which X is scaled to unit diagonal; with the largest entry where that is not wanted.

    It is not where it loses rank.
    """
    xp = namespace(at.cells)
    diagonal = at.norm * at.cost / at.cells
    if not (care.even and is_full(problem, at.lengths, at.spectra)):
        diagonal = xp.full_like(diagonal, float(xp.max(diagonal)))
    return diagonal * at.cells / problem.cells


def _strategy(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    """X, of unit diagonal where that is possible."""
    xp = namespace(at.cells)
    scales = xp.sqrt(_scales(problem, at, care))
    pairs = zip(problem.parts, spectra_of(problem, at), strict=True)
    rows = [f.right * xp.sqrt(f.values) / xp.take(scales, part.cells)[:, None] for part, f in pairs]
    return {"X": _square_of(env["W"], "columns", rows)}


def _answered(env: Env, problem: Problem, at: Iterate, care: Care) -> list[Array]:
    """Z with Z Zᵀ = W X⁻¹ Wᵀ for the X of ``_strategy``, by part."""
    xp = namespace(at.cells)
    scales = xp.sqrt(_scales(problem, at, care))
    triples = zip(_parts(env["W"]), problem.parts, spectra_of(problem, at), strict=True)
    return [(w * xp.take(scales, part.cells)) @ f.right / xp.sqrt(f.values) for w, part, f in triples]


def _with_variances(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    (z,) = _answered(env, problem, at, care)
    return {**_strategy(env, problem, at, care), "u": namespace(z).sum(z**2, axis=1)}


def _with_covariance(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    covariance = _square_of(env["W"], "rows", _answered(env, problem, at, care))
    return {**_strategy(env, problem, at, care), "Y": covariance}


def _prices(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    """2 N √t - t is largest at t = N²."""
    return {"d": _level(env["V"], "columns", at.norm**2 * at.cells / problem.cells)}


def _sensitivity(env: Env, problem: Problem, at: Iterate) -> Values:
    return {"sensitivity": _level(env["W"], "columns", at.norm**2 * at.cells / problem.cells)}


def _covariance(env: Env, problem: Problem, at: Iterate, scale: float, care: Care) -> Array | Split:
    """Σ with costs scale⁻¹ times and variances scale times those that belong to the weights."""
    xp = namespace(at.cells)
    roots = xp.sqrt(scale * at.cells / problem.cells)
    triples = zip(_parts(env["B"]), problem.parts, spectra_of(problem, at), strict=True)
    rows = [(b * xp.take(roots, part.cells)) @ f.right / xp.sqrt(f.values) for b, part, f in triples]
    return _on(env["B"], "rows", conditioned(rows, care.condition))


def _largest(at: Iterate) -> tuple[float, float]:
    """The largest cost and the largest variance relative to its target, of Σ at scale 1."""
    xp = namespace(at.cells)
    return at.norm * float(xp.max(at.cost / at.cells)), at.norm * float(xp.max(at.variance / at.weights))


def _fit(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    cost, variance = _largest(at)
    return {"alpha": cost * variance, "Sigma": _covariance(env, problem, at, 1.0 / variance, care)}


def _penalty(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    cost, variance = _largest(at)
    scale = (cost / (at.norm * at.wide)) ** 0.5
    return {
        "alpha": cost / scale,
        "beta": variance * scale,
        "Sigma": _covariance(env, problem, at, scale, care),
    }


def _budget(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    cost, variance = _largest(at)
    budget = float(env["budget"])
    return {"excess": cost * variance / budget, "Sigma": _covariance(env, problem, at, cost / budget, care)}


def _of_cells(env: Env, problem: Problem, at: Iterate) -> Array | Level:
    return _level(env["B"], "columns", at.cells / problem.cells)


def _of_queries(env: Env, problem: Problem, at: Iterate) -> Array | Level:
    return _level(env["L"], "rows", at.queries / problem.targets)


def _times(values: Array | Level, factor: Array | Level | float) -> Array | Level:
    if not isinstance(values, Level):
        return values * factor
    return Level(values.space, values.values * (factor.values if isinstance(factor, Level) else factor))


def _twice(env: Env, square: float) -> float:
    """Cost and variance together, when both are the root of their product."""
    return 2.0 * math.sqrt(square)


def _per_target(env: Env, problem: Problem, at: Iterate) -> Values:
    """A target that is wider by one saves N² q."""
    accuracy = _times(_of_queries(env, problem, at), at.norm**2)
    return {"privacy": _of_cells(env, problem, at), "accuracy": accuracy}


def _in_blocks(env: Env, problem: Problem, at: Iterate) -> Values:
    found = _per_target(env, problem, at)
    return {"privacy[1, 1]": found["privacy"], "accuracy": found["accuracy"]}


def _relative(env: Env, problem: Problem, at: Iterate) -> Values:
    """The multipliers of variances that are divided by their targets."""
    accuracy = _times(_of_queries(env, problem, at), env["c"])
    return {"privacy": _of_cells(env, problem, at), "accuracy": accuracy}


def _of_budget(env: Env, problem: Problem, at: Iterate) -> Values:
    """A budget that is larger by one saves N² p / budget²."""
    found = _relative(env, problem, at)
    return {**found, "privacy": _times(found["privacy"], (at.norm / float(env["budget"])) ** 2)}


def _shares(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    """F is left to the repair, which has it in closed form."""
    k = env["B"].shape[0]
    return {"p": at.cells, "q": at.queries, "F": namespace(at.cells).zeros((k, k), dtype=at.cells.dtype)}


def _precision(env: Env, problem: Problem, at: Iterate) -> Values:
    covariance = _covariance(env, problem, at, 1.0, care_for(GAP_OF_INVERTED, False, problem.cells.shape[0]))
    return {"fidelity[0, 0]": namespace(covariance).linalg.inv(covariance)}


FORMS: Mapping[str, ProgramForm] = MappingProxyType(
    {
        "l2_strategy": ProgramForm(_queries, _strategy, _sensitivity),
        "l2_strategy_lmi": ProgramForm(_queries, _with_variances, _sensitivity),
        "l2_strategy_block": ProgramForm(_queries, _with_covariance, _sensitivity),
        "l2_strategy_dual": ProgramForm(_square, _prices, lambda env, problem, at: {}, dual=True),
        "fitness_for_use": ProgramForm(_targets, _fit, _per_target),
        "fitness_level": ProgramForm(
            fitness_levels.problem, fitness_levels.point, fitness_levels.multipliers
        ),
        "fitness_lmi": ProgramForm(_targets, _fit, _in_blocks),
        "fitness_penalty": ProgramForm(_targets, _penalty, _relative, worth=_twice),
        "fitness_hybrid": ProgramForm(_with_all, _penalty, _relative, worth=_twice),
        "fitness_budget": ProgramForm(
            _targets, _budget, _of_budget, worth=lambda env, square: square / float(env["budget"])
        ),
        "fitness_dual": ProgramForm(_of_one, _shares, _precision, dual=True, worth=_twice),
    }
)
