"""Whether the space of a workload's queries is a way to look at it, and what else there is."""

from __future__ import annotations

import itertools
import math

from mmopt.errors import TooLargeError, whole
from mmopt.sectors.plain.functions_of_few import blocks_fit
from mmopt.sectors.residual.attribute_design import design_fits
from mmopt.sectors.residual.products_of_few import MOST_ATTRIBUTES as MOST_LOOKED_AT
from mmopt.sectors.row_space import asked_of
from mmopt.workloads import Workload

__all__ = ["of_too_many", "what_fits", "why_not_of_few"]

MOST_OF_A_ROW_SPACE = 4
"""Attributes that a query may look at: its functions are formed."""
MOST_OF_SETS = MOST_LOOKED_AT
"""The same for strategies by sets of attributes, in whose space nothing is of the size of the functions."""
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


def of_too_many(workload: Workload) -> bool:
    """Whether some product looks at more attributes than a row space is made for."""
    return max(map(len, _looked_at(workload)), default=0) > MOST_OF_A_ROW_SPACE


def what_fits(workload: Workload) -> str:
    """For a hint: what can be done with queries of attributes whose row space is too large."""
    products = workload.products or ()
    orders = [len(product.looked_at) for product in products]
    found = []
    for order in sorted({own for own in orders if own < max(orders)}, reverse=True):
        kept = [product for product, own in zip(products, orders, strict=True) if own <= order]
        if order <= MOST_OF_A_ROW_SPACE and _has_room(Workload.from_products(workload.domain, kept)):
            found = [f"those of at most {order} attribute{'s' * (order > 1)} fit"]
            break
    sizes = [workload.domain.shape[i] for product in products for i in product.looked_at]
    if max(orders, default=math.inf) <= MOST_LOOKED_AT and design_fits(max(sizes, default=1)):
        found.append(
            "the template sectorwise takes them all, near the least total error: "
            "mmopt templates WORKLOAD --templates sectorwise --out FILE.npz"
        )
    return "; or ".join([*found, "group values of the attributes"])


def _has_room(workload: Workload) -> bool:
    try:
        return blocks_fit(*asked_of(workload))
    except TooLargeError:
        return False


def _functions(workload: Workload, asked: set[tuple[int, ...]]) -> int:
    """Functions of the cells by which all queries of these attributes are spanned."""
    shape = workload.domain.shape
    sectors = {s for own in asked for n in range(len(own) + 1) for s in itertools.combinations(own, n)}
    return sum(math.prod(shape[i] - 1 for i in own) for own in sectors)


def _looked_at(workload: Workload) -> set[tuple[int, ...]]:
    """The attributes that each product looks at."""
    products = workload.products or ()
    return {tuple(i for i, f in enumerate(p.factors) if f.kind != "total") for p in products}
