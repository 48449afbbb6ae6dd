"""What the queries need to know of each attribute of a row: where its column need not be read at all."""

from __future__ import annotations

from typing import Literal

from mmopt.workloads.workload import Workload

__all__ = ["Use", "attribute_uses"]

Use = Literal["queries", "filter", "none"]


def attribute_uses(workload: Workload) -> dict[str, Use]:
    """For each attribute what its column is read for.

    "queries": some query tells its cells apart. "filter": none does, and a rule drops rows, so that the
    column decides whether a row counts. "none": none does, and every row counts, whatever the column holds:
    each query sums over all cells of the attribute, so all rows may be counted in its first cell. Those of a
    workload that is given as a matrix are all for queries.
    """
    products = workload.products
    told = None if products is None else {axis for product in products for axis in product.looked_at}
    uses: dict[str, Use] = {}
    for axis, attribute in enumerate(workload.domain.attributes):
        if told is None or axis in told:
            uses[attribute.name] = "queries"
        else:
            uses[attribute.name] = "filter" if "drop" in (attribute.outside, attribute.missing) else "none"
    return uses
