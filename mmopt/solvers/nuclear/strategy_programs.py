"""The programs that choose X, the Gram matrix of a strategy, as problems of the nuclear norm.

With shares y of sum 1 and N the norm, X = diag(p)^-½ V S Vᵀ diag(p)^-½ has the largest diagonal entry
N max(cost / cells). Its variances are N variance / weights, and N in total where queries have no weights.
Where cells and queries share one bound t it is the root of the product of both (``balanced``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.solvers.nuclear.nuclear_problem import Array, Care, Env, Problem, QueryComponent, whole
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, is_full, spectra_of

__all__ = [
    "ProgramForm",
    "Values",
    "all_queries",
    "balanced",
    "each_query",
    "level",
    "on",
    "parts_of",
    "prices",
    "sensitivity",
    "split",
    "square_of",
    "strategy",
    "with_covariance",
    "with_largest",
    "with_variances",
]

Values = dict[str, Any]


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


def split(w: Split, targets: Level | None = None, ranks: list[int] | None = None) -> Problem:
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


def all_queries(env: Env) -> Problem:
    """``W`` up to rotation: rows beyond the number of columns are brought into a triangle."""
    w = env["W"]
    if isinstance(w, Split):
        return split(w)
    if w.shape[0] > w.shape[1]:
        w = namespace(w).linalg.qr(w)[1]
    return whole(w)


def parts_of(matrix: Array | Split) -> tuple[Array, ...]:
    return matrix.parts if isinstance(matrix, Split) else (matrix,)


def square_of(like: Array | Split, side: str, parts: list[Array]) -> Array | Split:
    """P Pᵀ of each part, on the rows or columns of a given."""
    return on(like, side, [part @ part.T for part in parts])


def on(like: Array | Split, side: str, products: list[Array]) -> Array | Split:
    """Square parts as a matrix on the rows or columns of a given."""
    if not isinstance(like, Split):
        return products[0]
    space: Space = like.rows if side == "rows" else like.columns
    return Split(space, space, tuple(products))


def level(like: Array | Split, side: str, values: Array) -> Array | Level:
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


def strategy(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    """X, of unit diagonal where that is possible."""
    xp = namespace(at.cells)
    scales = xp.sqrt(_scales(problem, at, care))
    pairs = zip(problem.parts, spectra_of(problem, at), strict=True)
    rows = [f.right * xp.sqrt(f.values) / xp.take(scales, part.cells)[:, None] for part, f in pairs]
    return {"X": square_of(env["W"], "columns", rows)}


def _answered(env: Env, problem: Problem, at: Iterate, care: Care) -> list[Array]:
    """Z with Z Zᵀ = W X⁻¹ Wᵀ for the X of ``strategy``, by part."""
    xp = namespace(at.cells)
    scales = xp.sqrt(_scales(problem, at, care))
    triples = zip(parts_of(env["W"]), problem.parts, spectra_of(problem, at), strict=True)
    return [(w * xp.take(scales, part.cells)) @ f.right / xp.sqrt(f.values) for w, part, f in triples]


def with_variances(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    (z,) = _answered(env, problem, at, care)
    return {**strategy(env, problem, at, care), "u": namespace(z).sum(z**2, axis=1)}


def with_covariance(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    covariance = square_of(env["W"], "rows", _answered(env, problem, at, care))
    return {**strategy(env, problem, at, care), "Y": covariance}


def sensitivity(env: Env, problem: Problem, at: Iterate) -> Values:
    return {"sensitivity": level(env["W"], "columns", at.norm**2 * at.cells / problem.cells)}


def each_query(env: Env) -> Problem:
    """``W`` with a weight for each query."""
    w = env["W"]
    if isinstance(w, Split):
        assert w.rows.sizes is not None
        return split(w, Level(w.rows, np.ones(len(w.rows.sizes))))
    return whole(w, namespace(w).ones(w.shape[0], dtype=w.dtype))


def _worst(at: Iterate) -> float:
    """What the variances come to, largest or in total, for X of largest diagonal entry 1."""
    return at.norm**2 * float(namespace(at.cells).max(at.cost / at.cells)) * at.wide


def with_largest(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    return {**strategy(env, problem, at, care), "t": _worst(at)}


def balanced(env: Env, problem: Problem, at: Iterate, care: Care) -> Values:
    """X times t, so that its diagonal and the variances are at most t."""
    t = math.sqrt(_worst(at))
    x = strategy(env, problem, at, care)["X"]
    return {"X": on(env["W"], "columns", [t * part for part in parts_of(x)]), "t": t}


def prices(cells: str, queries: str | None = None) -> Callable[[Env, Problem, Iterate], Values]:
    """Multipliers by the names of their lines; those of the queries, of sum 1 too, where they have any."""

    def multipliers(env: Env, problem: Problem, at: Iterate) -> Values:
        found = {cells: level(env["W"], "columns", at.cells / problem.cells)}
        if queries is not None:
            found[queries] = level(env["W"], "rows", at.queries / problem.targets)
        return found

    return multipliers
