"""Merge cells that no query tells apart, and leave out those that no query touches.

Theorem. Let M (c, n) be the membership of the cells in c classes of equal columns: W = W_c M. For a strategy
A of n cells let A_c (p, c) hold the average column of each class (in X = A.T @ A: average over the
permutations within classes, by convexity of the program). Then A_c M answers the queries no worse and its
columns are no longer, in L1 and in L2, and what A_c M costs and answers for W is what A_c does for W_c. Cells
of a class split its multiplier: sum(d) stays, and W_c M diag(d) M.T W_c.T = W_c diag(d_c) W_c.T. A cell that
no query touches gets a column of zeros and a multiplier of zero.

So optimum, bound and gap of the two problems are equal for every program that goes along, line by line,
when a cell is repeated (``equivariance.py``): one that chooses among all strategies. It is not so where cells
are counted (``/ n`` of the singular value bound, sum(diag(X)) <= n) or eigenvectors are taken first: prefix
sums over 4 cells with multiplicities 1, 5, 1, 2 cost 10 by the identity on merged cells, 23 on all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.invariance.workload_actions import DROP_CELLS
from mmopt.compiler.reductions.reduction_step import (
    MOST_ENTRIES,
    ReductionStep,
    SolvedPart,
    Traits,
    expanded,
    smaller,
)
from mmopt.errors import counted
from mmopt.numerics.arrays import Ints
from mmopt.strategies import Strategy, as_dense
from mmopt.symmetry.joint_components import mixed
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.blocks import factor_blocks as factors
from mmopt.workloads.blocks.factor_blocks import Factor
from mmopt.workloads.blocks.implicit_matrix import refine
from mmopt.workloads.blocks.modified_blocks import RowWeighted

__all__ = ["MergeCells", "applies"]


@dataclass(frozen=True, eq=False, kw_only=True)
class MergeCells(ReductionStep):
    """``classes`` (n,) says to which merged cell a cell belongs; -1: to none."""

    classes: Ints

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """Columns repeated, multipliers split evenly within a class."""
        (part,) = parts
        matrix = expanded(as_dense(part.strategy).matrix, 1, self.classes)
        strategy = Strategy(matrix, part.strategy.norm)
        return SolvedPart(strategy, self.spread(part, "cells", self.classes), part.bound)


def applies(instance: Instance, traits: Traits) -> MergeCells | None:
    """Merge attribute by attribute where that is possible, so that products stay products; else cells."""
    workload = instance.workload
    classes = workload.cell_classes
    untouched = int((classes < 0).sum())
    if untouched and not traits.acts.allows(DROP_CELLS):
        return None
    if int(classes.max()) + 1 == workload.n:
        return None
    found = _by_attribute(workload)
    if found is None:
        if workload.m * workload.n > MOST_ENTRIES:
            return None
        found = _by_cell(workload, classes)
    merged, classes = found
    text = f"merge cells: {workload.n:,} -> {counted(merged.n, 'cell')}"
    if left := int((classes < 0).sum()):
        text += f" ({left:,} that no query touches left out)"
    parts = smaller(instance, merged)
    return MergeCells(text=text, parts=parts, axes=traits.acts.multipliers, classes=classes)


def _first(classes: Ints) -> Ints:
    """The first cell of each class."""
    found, first = np.unique(classes, return_index=True)
    return np.asarray(first[found >= 0])


def _by_cell(workload: Workload, classes: Ints) -> tuple[Workload, Ints]:
    first = _first(classes)
    rows = np.vstack([block.rows(0, block.m)[:, first] for block in workload.blocks])
    return Workload.from_matrix(rows, workload.targets, workload.weights), classes


def _by_attribute(workload: Workload) -> tuple[Workload, Ints] | None:
    """Values of an attribute that no factor tells apart become one; None when there are none."""
    products = workload.products
    if products is None:
        return None
    columns = zip(*(p.factors for p in products), strict=True)
    classes = [refine([factor.classes() for factor in own]) for own in columns]
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
    cells = mixed([(own, len(chosen)) for own, chosen in zip(classes, first, strict=True)])
    touched = functools.reduce(np.logical_and.outer, [own >= 0 for own in classes])
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
    if np.array_equal(matrix, np.eye(len(chosen))):
        return factors.identity(len(chosen))
    return factors.predicates(matrix)
