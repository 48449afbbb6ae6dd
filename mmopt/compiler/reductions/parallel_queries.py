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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.invariance.actions import (
    PERMUTE_QUERIES,
    ROTATE_BASIS,
    ROTATE_ROOT,
    SPLIT_QUERIES,
    Axis,
)
from mmopt.compiler.reductions.plan import MOST_ENTRIES, Plan, Solved, Traits, along, counted
from mmopt.language import Checked
from mmopt.language.check.infer import infer
from mmopt.language.syntax.tree import Apply, Constraint, Expr, Index, Name, mentions
from mmopt.numerics.arrays import Ints
from mmopt.numerics.numpy_forms import Array
from mmopt.workloads import Workload

__all__ = ["ParallelQueries", "applies"]

TARGETS = "workload.targets"
# Of the queries; with more of them left the solve is no faster, and the lifted point has to be scored again.
WORTH = 0.95
HEIGHT = 256  # queries at a time
SOURCES = frozenset({TARGETS, "workload.representation"})


@dataclass(frozen=True)
class ParallelQueries(Plan):
    """``kept`` says where the queries of the smaller workload stand among ``count`` that have multipliers.

    Without it, nothing is known of multipliers of queries: they add up to others.
    """

    kept: Ints | None
    count: int
    axes: dict[str, tuple[Axis, ...]]

    def lift(self, parts: Sequence[Solved]) -> Solved:
        """The same strategy; a multiplier of zero for what was left out."""
        (part,) = parts
        groups = {"cells", ""} if self.kept is None else {"cells", "", "queries"}
        found: dict[str, Array] = {}
        for name, (array, axes) in along(part.multipliers, self.axes, frozenset(groups)).items():
            for place, axis in enumerate(axes):
                if axis.group == "queries" and self.kept is not None:
                    shape = [self.count if i == place else size for i, size in enumerate(array.shape)]
                    wide = np.zeros(shape)
                    np.moveaxis(wide, place, 0)[self.kept] = np.moveaxis(array, place, 0)
                    array = wide
            found[name] = array
        return Solved(part.strategy, found, part.bound)


def applies(instance: Instance, traits: Traits) -> ParallelQueries | None:
    """Parallel rows, among those with a target where targets are what the program asks for."""
    if not traits.acts.allows(PERMUTE_QUERIES, SPLIT_QUERIES, ROTATE_ROOT, ROTATE_BASIS):
        return None
    workload = instance.workload
    if workload.m * workload.n > MOST_ENTRIES:
        return None
    sources = {d.source for d in instance.program.givens}
    axes = dict(traits.acts.multipliers)
    if sources & SOURCES:
        if not traits.acts.per_query:
            return None
        return _left_out(instance, axes)
    # The root of a product comes from its factors and has no more rows for it.
    if "workload.matrix" not in sources and workload.products is not None:
        return None
    return _added_up(workload, axes)


def _parallel(rows: Array) -> tuple[Ints, Array]:
    """Which rows are multiples of each other, to rounding, (m,), and the factors (m,) of their direction."""
    lead = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    known: dict[bytes, int] = {}
    found = [known.setdefault(key, len(known)) for key in _digests(rows, lead)]
    return np.array(found), lead


def _digests(rows: Array, lead: Array) -> Iterator[bytes]:
    """A digest of each row divided by its factor: of the rows themselves there may be gigabytes."""
    for start in range(0, len(rows), HEIGHT):
        own = slice(start, start + HEIGHT)
        for row in rows[own] / lead[own, None] + 0.0:  # minus zero equals zero
            yield hashlib.sha256(row.tobytes()).digest()


def _text(before: int, after: int) -> str:
    return f"parallel queries: {before:,} -> {counted(after, 'query')}"


def _added_up(workload: Workload, axes: dict[str, tuple[Axis, ...]]) -> ParallelQueries | None:
    same, lead = _parallel(workload.queries)
    _, first = np.unique(same, return_index=True)
    if len(first) > WORTH * workload.m:
        return None
    size = np.sqrt(np.bincount(same, weights=workload.weights * lead**2))
    order = np.argsort(first)
    chosen = first[order]
    rows = workload.queries[chosen] * (size[order] / lead[chosen])[:, None]
    smaller = Workload.from_matrix(rows)
    return ParallelQueries(_text(workload.m, len(first)), (smaller,), (), False, None, workload.m, axes)


def _left_out(instance: Instance, axes: dict[str, tuple[Axis, ...]]) -> ParallelQueries | None:
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
    if kept.sum() > WORTH * len(kept):
        return None
    others = np.setdiff1d(np.arange(workload.m), finite)
    rows = np.sort(np.concatenate([others, finite[kept]]))
    smaller = Workload.from_matrix(workload.queries[rows], workload.targets[rows], workload.weights[rows])
    text = _text(workload.m, len(rows))
    return ParallelQueries(text, (smaller,), (), False, np.flatnonzero(kept), len(finite), axes)


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
    scope = checked.scope if c.family is None else checked.scope.with_index(c.family.index, c.family.dim)
    return _is(below, name) and not mentions(above, name) and infer(above, scope).sign > 0


def _is(expr: Expr, name: str) -> bool:
    """``c`` or ``c[j]``."""
    inner = expr.base if isinstance(expr, Index) else expr
    return isinstance(inner, Name) and inner.id == name
