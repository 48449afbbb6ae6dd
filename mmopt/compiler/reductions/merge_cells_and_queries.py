"""Merging of cells that no query tells apart, and of queries that are multiples of each other.

Cells that no query tells apart are merged, and those that no query touches are left out.

Theorem. Let M (c, n) be the membership of the cells in c classes of equal columns: W = W_c M. For a strategy
A of n cells let A_c (p, c) hold the average column of each class (in X = A.T @ A: average over the
permutations within classes, by convexity of the program). Then A_c M answers the queries no worse and its
columns are no longer, in L1 and in L2, and A_c M has the same cost and answers for W as A_c for W_c. Cells
of a class split its multiplier: sum(d) stays, and W_c M diag(d) M.T W_c.T = W_c diag(d_c) W_c.T. A cell that
no query touches gets a column of zeros and a multiplier of zero.

So optimum, bound and gap of the two problems are equal for every program that goes along, line by line,
when a cell is repeated (``equivariance.py``): one that chooses among all strategies. It is not so where cells
are counted (``/ n`` of the singular value bound, sum(diag(X)) <= n) or eigenvectors are taken first: prefix
sums over 4 cells with multiplicities 1, 5, 1, 2 cost 10 by the identity on merged cells, 23 on all.

Queries that are multiples of each other become one.

Theorem. Queries w_j = t_j w, of whatever sign, have variances t_j**2 v with v the variance of w.

- Where queries only add up (total error) they count as one query, w times the root of sum(t_j**2): W.T @ W
  stays as it is.
- Where every query has a line of its own, variance at most target, the one with the least c_j / t_j**2
  implies the others. They are left out, and get a multiplier of zero.

Both hold for a program that goes along when a query is split into multiples (``equivariance.py``). Leaving
out a query with a larger target needs a line that a larger target only relaxes; otherwise only queries
with the same c_j / t_j**2 are left out.
"""

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.compiler.actions_on_expressions import DROP_CELLS
from mmopt.compiler.bind import Instance
from mmopt.compiler.reductions.reduction_step import (
    MOST_QUERY_ENTRIES,
    WITH_TARGETS,
    ReductionStep,
    SolvedPart,
    Traits,
    expanded,
    restricted,
    smaller,
)
from mmopt.errors import counted
from mmopt.language import Checked
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import Apply, Constraint, Expr, Index, Name, mentions
from mmopt.numerics.arrays import Array, Ints
from mmopt.strategies import Strategy, as_dense
from mmopt.symmetry.components import mixed
from mmopt.workloads import Attribute, Domain, Product, Workload, factors_and_products as factors
from mmopt.workloads.blocks.combined_blocks import RowWeighted
from mmopt.workloads.blocks.query_matrices import Implicit as Factor, refine


@dataclass(frozen=True, eq=False, kw_only=True)
class MergeCells(ReductionStep):
    """The step to merged cells. classes : (n,) the merged cell that a cell belongs to; -1: none."""

    classes: Ints

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """Columns repeated, multipliers split evenly within a class."""
        (part,) = parts
        strategy = Strategy(expanded(as_dense(part.strategy).matrix, 1, self.classes), part.strategy.norm)
        return SolvedPart(strategy, self.spread(part, "cells", self.classes), part.bound)


def merge_cells(instance: Instance, traits: Traits) -> MergeCells | None:
    """Merge attribute by attribute where that is possible, so that products stay products; else cells."""
    workload = instance.workload
    classes = workload.cell_classes
    if int((classes < 0).sum()) and not traits.acts.allows(DROP_CELLS):
        return None
    if int(classes.max()) + 1 == workload.n:
        return None
    reduced = _by_attribute(workload)
    if reduced is None:
        if workload.m * workload.n > MOST_QUERY_ENTRIES:
            return None
        reduced = _by_cell(workload, classes)
    merged, classes = reduced
    text = f"merge cells: {workload.n:,} -> {counted(merged.n, 'cell')}"
    if left := int((classes < 0).sum()):
        text += f" ({left:,} that no query touches left out)"
    return MergeCells(
        text=text, parts=smaller(instance, merged), axes=traits.acts.multipliers, classes=classes
    )


def _first(classes: Ints) -> Ints:
    """The first cell of each class."""
    labels, first = np.unique(classes, return_index=True)
    return np.asarray(first[labels >= 0])


def _by_cell(workload: Workload, classes: Ints) -> tuple[Workload, Ints]:
    """The queries, as a matrix, on the first cell of each class; and the classes."""
    first = _first(classes)
    rows = np.vstack([block.rows(0, block.m)[:, first] for block in workload.blocks])
    return Workload.from_matrix(rows, workload.targets, workload.weights), classes


def _by_attribute(workload: Workload) -> tuple[Workload, Ints] | None:
    """The workload with values merged that no factor of an attribute tells apart, and the classes of cells.

    None where there are no such values, or the workload is no union of products.
    """
    products = workload.products
    if products is None:
        return None
    columns = zip(*(p.factors for p in products), strict=True)
    classes = [refine([factor.classes() for factor in column]) for column in columns]
    first = [_first(c) for c in classes]
    if math.prod(map(len, first)) == workload.n:
        return None
    attributes = tuple(
        Attribute(a.name, tuple(a.labels[int(v)] for v in chosen))
        for a, chosen in zip(workload.domain.attributes, first, strict=True)
    )
    merged = tuple(
        Product(
            tuple(_restricted(f, chosen) for f, chosen in zip(p.factors, first, strict=True)),
            p.name,
            p.weight,
            p.target,
        )
        for p in products
    )
    cells = mixed([(labels, len(chosen)) for labels, chosen in zip(classes, first, strict=True)])
    touched = functools.reduce(np.logical_and.outer, [labels >= 0 for labels in classes])
    return Workload(Domain(attributes), merged), np.where(touched.ravel(), cells, -1)


def _restricted(factor: Factor, chosen: Ints) -> Factor:
    """The factor on some of its cells; the weights of its rows stay."""
    if len(chosen) == factor.size:
        return factor
    if factor.row_weights is not None:
        return RowWeighted(_restricted(factor.plain, chosen), factor.row_weights)
    if factor.kind == "total":
        return factors.total(len(chosen))
    matrix = factor.matrix()[:, chosen]
    is_identity = np.array_equal(matrix, np.eye(len(chosen)))
    return factors.identity(len(chosen)) if is_identity else factors.predicates(matrix)


TARGETS = "workload.targets"
# A share of the queries; with more of them left the solve is no faster, and the lifted point is scored again.
MOST_LEFT = 0.95
QUERIES_AT_A_TIME = 256
CELLS_ALONE = frozenset({"cells", ""})  # groups of axes along which multipliers are lifted without queries


@dataclass(frozen=True, eq=False, kw_only=True)
class ParallelQueries(ReductionStep):
    """The step to fewer queries.

    places : of each query that has a multiplier, its number in the smaller workload; -1 for one left out.
    None where queries were added up: they get no multipliers in the lift, as these would add up to that of
    the merged query.
    """

    places: Ints | None

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The strategy as it is; a multiplier of zero for each query that was left out."""
        (part,) = parts
        if self.places is None:
            multipliers = {name: array for name, (array, _) in self.along(part, CELLS_ALONE).items()}
        else:
            multipliers = self.spread(part, "queries", self.places)
        return SolvedPart(part.strategy, multipliers, part.bound)


def merge_parallel_queries(instance: Instance, traits: Traits) -> ParallelQueries | None:
    """Merge parallel rows, among those with a target if the program takes targets."""
    workload = instance.workload
    if workload.m * workload.n > MOST_QUERY_ENTRIES:
        return None
    sources = {d.source for d in instance.program.givens}
    places: Ints | None = None
    if sources & WITH_TARGETS:
        if not traits.acts.per_query or (places := _places(instance)) is None:
            return None
        stays = np.isinf(workload.targets)  # those without a target too
        stays[~stays] = places >= 0
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
        places=places,
    )


def _parallel(rows: Array) -> tuple[Ints, Array]:
    """(m,) a number for each row, the same for multiples to rounding, and (m,) factors of their direction."""
    lead = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    numbers: dict[bytes, int] = {}
    same = []
    for start in range(0, len(rows), QUERIES_AT_A_TIME):
        part = slice(start, start + QUERIES_AT_A_TIME)
        for row in rows[part] / lead[part, None] + 0.0:  # minus zero equals zero
            # A digest: of the rows themselves there may be gigabytes.
            same.append(numbers.setdefault(hashlib.sha256(row.tobytes()).digest(), len(numbers)))
    return np.array(same), lead


def _added_up(workload: Workload) -> Workload | None:
    """The workload with multiples of a query added up to one; None where too few are."""
    same, lead = _parallel(workload.queries)
    _, first = np.unique(same, return_index=True)
    if len(first) > MOST_LEFT * workload.m:
        return None
    size = np.sqrt(np.bincount(same, weights=workload.weights * lead**2))
    order = np.argsort(first)
    chosen = first[order]
    return Workload.from_matrix(workload.queries[chosen] * (size[order] / lead[chosen])[:, None])


def _places(instance: Instance) -> Ints | None:
    """For each query with a target its number among those that no other implies, -1 for the others.

    None where too few are implied.
    """
    workload = instance.workload
    finite = np.flatnonzero(np.isfinite(workload.targets))
    same, lead = _parallel(workload.queries[finite])
    limit = workload.targets[finite] / lead**2
    least = np.full(int(same.max()) + 1, np.inf)
    np.minimum.at(least, same, limit)
    stays = limit <= least[same] if _only_relax(instance.checked) else np.ones(len(same), dtype=bool)
    tight = np.flatnonzero(limit == least[same])
    stays[tight] = False
    stays[tight[np.unique(same[tight], return_index=True)[1]]] = True  # one of equal ones
    return None if stays.sum() > MOST_LEFT * len(stays) else np.where(stays, np.cumsum(stays) - 1, -1)


def _only_relax(checked: Checked) -> bool:
    """Whether larger targets only relax lines: they stand alone on the larger side, or divide the smaller."""
    program = checked.program
    names = [d.name for d in program.givens if d.source == TARGETS]
    elsewhere = [*(let.expr for let in program.lets), program.objective]
    if any(mentions(e, name) for e in elsewhere for name in names):
        return False
    return all(_relaxed(checked, c, name) for c in program.constraints for name in names)


def _relaxed(checked: Checked, c: Constraint, name: str) -> bool:
    """Whether a larger target, ``name``, only relaxes a line."""
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
    """Whether an expression is ``c`` or ``c[j]``, c the name."""
    inner = expr.base if isinstance(expr, Index) else expr
    return isinstance(inner, Name) and inner.id == name
