"""The shipped programs as problems of the nuclear norm, and its weights back as their points.

With shares y of sum 1 and N the norm: X = diag(p)^-½ V S Vᵀ diag(p)^-½ has the objective N and the largest
diagonal entry N max(cost / cells); Σ = B diag(p)^½ V S⁻¹ Vᵀ diag(p)^½ Bᵀ has the costs N cost / cells and,
relative to the targets, the variances N variance / weights (Xiao et al., PVLDB 2021, Theorem 12 for scales).

Givens are arrays, or split into components (``mmopt.numerics.split_arrays``); points and
multipliers then are too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from array_api_compat import array_namespace as namespace

from mmopt.numerics.split_arrays import Level, Split
from mmopt.numerics.unformed_products import is_identity
from mmopt.solvers.nuclear import fitness_levels
from mmopt.solvers.nuclear.nuclear_problem import (
    Array,
    Care,
    Env,
    Problem,
    care_for,
    conditioned,
    whole,
)
from mmopt.solvers.nuclear.strategy_programs import (
    ProgramForm,
    Values,
    all_queries,
    balanced,
    each_query,
    level,
    on,
    parts_of,
    prices,
    sensitivity,
    split,
    strategy,
    with_covariance,
    with_largest,
    with_variances,
)
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, spectra_of

__all__ = ["FORMS", "QUERIES"]

# By this name, which no program can use, the givens may have L @ B, as large as all else, where it is known.
QUERIES = "L @ B"
GAP_OF_INVERTED = 1e-9  # gap for which a covariance that is only inverted has to be good


def _square(env: Env) -> Problem:
    """``V``, of full row rank."""
    return split(env["V"]) if isinstance(env["V"], Split) else whole(env["V"])


def _product(left: Array, right: Array) -> Array:
    """The product, or the left factor itself where the right one is an identity: memory."""
    return left if is_identity(right) else left @ right


def _targets(env: Env) -> Problem:
    """``L @ B``, or what is known to be that; the rows of B are independent, those with a target span all."""
    left, right = env["L"], env["B"]
    if isinstance(left, Split):
        parts = tuple(a @ b for a, b in zip(left.parts, right.parts, strict=True))
        ranks = [min(b.shape[0], part.shape[0]) for b, part in zip(right.parts, parts, strict=True)]
        return split(Split(left.rows, right.columns, parts), env["c"], ranks)
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


def _prices(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    """2 N √t - t is largest at t = N²."""
    return {"d": level(env["V"], "columns", at.norm**2 * at.cells / problem.cells)}


def _covariance(env: Env, problem: Problem, at: Iterate, scale: float, care: Care) -> Array | Split:
    """Σ with costs scale⁻¹ times and variances scale times those that belong to the weights."""
    xp = namespace(at.cells)
    roots = xp.sqrt(scale * at.cells / problem.cells)
    triples = zip(parts_of(env["B"]), problem.parts, spectra_of(problem, at), strict=True)
    rows = [(b * xp.take(roots, part.cells)) @ f.right / xp.sqrt(f.values) for b, part, f in triples]
    return on(env["B"], "rows", conditioned(rows, care.condition))


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
    return level(env["B"], "columns", at.cells / problem.cells)


def _of_queries(env: Env, problem: Problem, at: Iterate) -> Array | Level:
    return level(env["L"], "rows", at.queries / problem.targets)


def _times(values: Array | Level, factor: Array | Level | float) -> Array | Level:
    if not isinstance(values, Level):
        return values * factor
    return Level(values.space, values.values * (factor.values if isinstance(factor, Level) else factor))


def _root(env: Env, square: float) -> float:
    return math.sqrt(square)


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
        "l2_strategy": ProgramForm(all_queries, strategy, sensitivity),
        "l2_strategy_lmi": ProgramForm(all_queries, with_variances, sensitivity),
        "l2_strategy_block": ProgramForm(all_queries, with_covariance, sensitivity),
        "gamma_f": ProgramForm(all_queries, balanced, prices("columns"), worth=_root),
        "gamma_2": ProgramForm(each_query, balanced, prices("columns", "rows"), worth=_root),
        "minimax_variance": ProgramForm(each_query, with_largest, prices("sensitivity", "accuracy")),
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
