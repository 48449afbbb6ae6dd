"""Which marginals a workload asks for."""

from __future__ import annotations

from mmopt.workloads.workload import Workload

__all__ = ["MOST_ATTRIBUTES", "asked_marginals", "not_marginals"]

MOST_ATTRIBUTES = 16
"""Of a table with a number for every set of attributes."""


def asked_marginals(workload: Workload) -> list[int] | None:
    """The set of attributes of each product, as a bit mask (bit i: attribute i); None for other workloads.

    Every factor has to be the identity or the total.
    """
    masks = []
    for product in workload.products or ():
        if any(factor.kind not in ("identity", "total") for factor in product.factors):
            return None
        masks.append(sum(1 << i for i, factor in enumerate(product.factors) if factor.kind == "identity"))
    return masks or None


def not_marginals(workload: Workload) -> str | None:
    """Why a baseline for marginals does not apply to a workload; None where it does."""
    if asked_marginals(workload) is None:
        return "the queries are not marginals: products of identities and totals"
    d = len(workload.domain.shape)
    if d > MOST_ATTRIBUTES:
        return f"{d} attributes have 2^{d} marginals; the limit is {MOST_ATTRIBUTES} attributes"
    return None
