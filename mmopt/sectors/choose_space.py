"""Whether the space of a workload's queries is a way to look at it."""

from __future__ import annotations

import itertools
import math

from mmopt.errors import whole
from mmopt.sectors.residual.products_of_few import MOST_ATTRIBUTES as MOST_OF_SETS
from mmopt.workloads import Workload

__all__ = ["MOST_OF_A_ROW_SPACE", "MOST_OF_SETS", "why_not_of_few"]

MOST_OF_A_ROW_SPACE = 4
"""Attributes that a query may look at: its functions are formed."""
# A row space of more than this part of the cells saves nothing: matrices are as large, its maxima dearer.
LARGEST_WORTHWHILE = 0.25
MOST_SECTORS = 10**6
"""Up to which they are counted for a message."""


def why_not_of_few(workload: Workload, most: int = MOST_OF_A_ROW_SPACE) -> str:
    """Why the space of the queries is no way to look at a workload; "" where it is one.

    most : attributes that a query may look at.
    """
    if workload.products is None:
        return "its queries are a matrix"
    asked = _looked_at(workload)
    order = max(map(len, asked))
    if order > most:
        why = f"a query looks at {order} attributes, more than {most}"
        if sum(2 ** len(own) for own in asked) > MOST_SECTORS:
            return why
        functions = _functions(workload, asked)
        gigabytes = whole(round(8 * functions**2 / 2**30))
        return f"{why}, and {whole(functions)} functions span its queries, a matrix of {gigabytes} GiB"
    functions = _functions(workload, asked)
    if functions > LARGEST_WORTHWHILE * workload.n:
        return f"its queries span {functions:,} functions of {workload.n:,} cells"
    return ""


def _functions(workload: Workload, asked: set[tuple[int, ...]]) -> int:
    """Functions of the cells by which all queries of these attributes are spanned."""
    shape = workload.domain.shape
    sectors = {s for own in asked for n in range(len(own) + 1) for s in itertools.combinations(own, n)}
    return sum(math.prod(shape[i] - 1 for i in own) for own in sectors)


def _looked_at(workload: Workload) -> set[tuple[int, ...]]:
    """The attributes that each product looks at."""
    products = workload.products or ()
    return {tuple(i for i, f in enumerate(p.factors) if f.kind != "total") for p in products}
