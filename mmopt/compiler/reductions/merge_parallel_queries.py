"""Make one query of those that are multiples of each other.

Theorem. Queries w_j = t_j w, of whatever sign, have variances t_j**2 v with v the variance of w.

- Where queries only add up (total error) they count as one query, w times the root of sum(t_j**2): W.T @ W
  stays as it is.
- Where every query has a line of its own, variance at most target, the one with the least c_j / t_j**2
  implies the others. They are left out, and get a multiplier of zero.

Both hold for a program that goes along when a query is split into multiples (``equivariance.py``). Leaving
out a query with a larger target needs a line that a larger target only relaxes; otherwise only queries
with the same c_j / t_j**2 are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.reductions.reduction_step import (
    MOST_ENTRIES,
    WITH_TARGETS,
    ReductionStep,
    SolvedPart,
    Traits,
    restricted,
    smaller,
)
from mmopt.errors import counted
from mmopt.language import Checked
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import Apply, Constraint, Expr, Index, Name, mentions
from mmopt.numerics.arrays import Ints
from mmopt.numerics.matrix_functions import Array
from mmopt.workloads import Workload

__all__ = ["ParallelQueries", "applies"]

TARGETS = "workload.targets"
# Of the queries; with more of them left the solve is no faster, and the lifted point has to be scored again.
MOST_LEFT = 0.95
QUERIES_AT_A_TIME = 256  # queries at a time
CELLS_ALONE = frozenset({"cells", ""})


@dataclass(frozen=True, eq=False, kw_only=True)
class ParallelQueries(ReductionStep):
    """``kept`` (of those that have multipliers): the query of the smaller workload; -1 for one left out.

    Without it, nothing is known of multipliers of queries: they add up to others.
    """

    kept: Ints | None

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The same strategy; a multiplier of zero for what was left out."""
        (part,) = parts
        if self.kept is None:
            multipliers = {name: array for name, (array, _) in self.along(part, CELLS_ALONE).items()}
        else:
            multipliers = self.spread(part, "queries", self.kept)
        return SolvedPart(part.strategy, multipliers, part.bound)


def applies(instance: Instance, traits: Traits) -> ParallelQueries | None:
    """Parallel rows, among those with a target where targets are what the program asks for."""
    workload = instance.workload
    if workload.m * workload.n > MOST_ENTRIES:
        return None
    sources = {d.source for d in instance.program.givens}
    kept: Ints | None = None
    if sources & WITH_TARGETS:
        if not traits.acts.per_query or (kept := _left_out(instance)) is None:
            return None
        stays = np.isinf(workload.targets)  # those without a target too
        stays[~stays] = kept >= 0
        fewer: Workload | None = restricted(workload, np.flatnonzero(stays))
    elif "workload.matrix" not in sources and workload.products is not None:
        return None  # the root of a product comes from its factors and has no more rows for it
    else:
        fewer = _added_up(workload)
    if fewer is None:
        return None
    return ParallelQueries(
        text=f"parallel queries: {workload.m:,} -> {counted(fewer.m, 'query')}",
        parts=smaller(instance, fewer),
        axes=traits.acts.multipliers,
        kept=kept,
    )


def _parallel(rows: Array) -> tuple[Ints, Array]:
    """Which rows are multiples of each other, to rounding, (m,), and the factors (m,) of their direction."""
    lead = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    known: dict[bytes, int] = {}
    same = []
    for start in range(0, len(rows), QUERIES_AT_A_TIME):
        own = slice(start, start + QUERIES_AT_A_TIME)
        for row in rows[own] / lead[own, None] + 0.0:  # minus zero equals zero
            # A digest: of the rows themselves there may be gigabytes.
            same.append(known.setdefault(hashlib.sha256(row.tobytes()).digest(), len(known)))
    return np.array(same), lead


def _added_up(workload: Workload) -> Workload | None:
    same, lead = _parallel(workload.queries)
    _, first = np.unique(same, return_index=True)
    if len(first) > MOST_LEFT * workload.m:
        return None
    size = np.sqrt(np.bincount(same, weights=workload.weights * lead**2))
    order = np.argsort(first)
    chosen = first[order]
    return Workload.from_matrix(workload.queries[chosen] * (size[order] / lead[chosen])[:, None])


def _left_out(instance: Instance) -> Ints | None:
    """A number for each query with a target: its place among those that are kept, -1 for the others."""
    workload = instance.workload
    finite = np.flatnonzero(np.isfinite(workload.targets))
    same, lead = _parallel(workload.queries[finite])
    limit = workload.targets[finite] / lead**2
    least = np.full(int(same.max()) + 1, np.inf)
    np.minimum.at(least, same, limit)
    implied = limit > least[same] if _only_relax(instance.checked) else np.zeros(len(same), dtype=bool)
    tight = np.flatnonzero(limit == least[same])
    kept = ~implied
    kept[tight] = False
    kept[tight[np.unique(same[tight], return_index=True)[1]]] = True  # one of those that say the same
    return None if kept.sum() > MOST_LEFT * len(kept) else np.where(kept, np.cumsum(kept) - 1, -1)


def _only_relax(checked: Checked) -> bool:
    """Whether larger targets only relax lines: they stand alone on the larger side, or divide the smaller."""
    program = checked.program
    names = [d.name for d in program.givens if d.source == TARGETS]
    elsewhere = [*(let.expr for let in program.lets), program.objective]
    if any(mentions(e, name) for e in elsewhere for name in names):
        return False
    return all(_relaxed(checked, c, name) for c in program.constraints for name in names)


def _relaxed(checked: Checked, c: Constraint, name: str) -> bool:
    small, large = c.relation.left, c.relation.right
    if not (mentions(small, name) or mentions(large, name)):
        return True
    if c.relation.op != "<=":
        return False
    if _is(large, name):
        return not mentions(small, name)
    if mentions(large, name) or not (isinstance(small, Apply) and small.atom == "div"):
        return False
    above, below = small.args
    positive = infer(above, checked.scope.inside(c.family)).sign > 0
    return _is(below, name) and not mentions(above, name) and positive


def _is(expr: Expr, name: str) -> bool:
    """``c`` or ``c[j]``."""
    inner = expr.base if isinstance(expr, Index) else expr
    return isinstance(inner, Name) and inner.id == name
