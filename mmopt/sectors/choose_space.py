"""Which row space a workload has: that of equal attributes where they are, else the plain one."""

from __future__ import annotations

import itertools
import math

from mmopt.sectors.equal.equal_attributes import equal_attributes, equal_space
from mmopt.sectors.plain.plain_space import plain_space
from mmopt.sectors.row_space import RowSpace
from mmopt.workloads import Workload

__all__ = ["row_space_of", "why_not_of_few"]

MOST_ATTRIBUTES_OF_A_QUERY = 4
# A row space of more than this part of the cells saves nothing: matrices are as large, its maxima dearer.
LARGEST_WORTHWHILE = 0.25


def why_not_of_few(workload: Workload) -> str:
    """Why the space of the queries is no way to look at a workload; "" where it is one."""
    if workload.products is None:
        return "its queries are a matrix"
    asked = _looked_at(workload)
    order = max(map(len, asked))
    if order > MOST_ATTRIBUTES_OF_A_QUERY:
        return f"a query looks at {order} attributes, more than {MOST_ATTRIBUTES_OF_A_QUERY}"
    sectors = {s for own in asked for n in range(order + 1) for s in itertools.combinations(own, n)}
    shape = workload.domain.shape
    functions = sum(math.prod(shape[i] - 1 for i in own) for own in sectors)
    if functions > LARGEST_WORTHWHILE * workload.n:
        return f"its queries span {functions:,} functions of {workload.n:,} cells"
    return ""


def row_space_of(workload: Workload) -> RowSpace:
    """The row space of a workload of products.

    Raises
    ------
    TooLargeError : a component that does not fit in memory, before any is made.
    """
    return equal_space(workload) if equal_attributes(workload) else plain_space(workload)


def _looked_at(workload: Workload) -> set[tuple[int, ...]]:
    """The attributes that each product looks at."""
    products = workload.products or ()
    return {tuple(i for i, f in enumerate(p.factors) if f.kind != "total") for p in products}
