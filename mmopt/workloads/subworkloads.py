"""Sub-workloads: products that belong together by name, to be weighted or asked alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mmopt.errors import OptionError, suggest
from mmopt.workloads.check import positive
from mmopt.workloads.product import Product
from mmopt.workloads.workload import Workload

__all__ = ["only", "rest_of", "subworkloads", "weighted"]


def subworkloads(workload: Workload) -> tuple[str, ...]:
    """The names, in the order in which they first appear."""
    named = (p.subworkload for p in workload.products or ())
    return tuple(dict.fromkeys(name for name in named if name is not None))


def only(workload: Workload, name: str) -> Workload:
    """The products of one sub-workload.

    Raises
    ------
    OptionError : no product is in a sub-workload of that name.
    """
    return replace(workload, blocks=tuple(p for p in _products(workload, name) if p.subworkload == name))


def rest_of(workload: Workload, name: str) -> Workload | None:
    """The products that are not in the sub-workload; None when all are. Errors as ``only``."""
    rest = tuple(p for p in _products(workload, name) if p.subworkload != name)
    return replace(workload, blocks=rest) if rest else None


def weighted(workload: Workload, factors: Mapping[str, float]) -> Workload:
    """The workload with the weights of sub-workloads multiplied by factors.

    Raises
    ------
    OptionError : as ``only``. WorkloadError : a factor that is not positive and finite.
    """
    products = workload.products or ()
    for name, factor in factors.items():
        products = _products(Workload(workload.domain, products), name)
        by = positive(factor, f"the factor of the sub-workload '{name}'")
        products = tuple(replace(p, weight=by * p.weight) if p.subworkload == name else p for p in products)
    return replace(workload, blocks=products) if factors else workload


def _products(workload: Workload, name: str) -> tuple[Product, ...]:
    known = subworkloads(workload)
    if name in known:
        assert workload.products is not None
        return workload.products
    if not known:
        raise OptionError(
            f"there is no sub-workload '{name}': the workload has none",
            hint="write 'subworkload: NAME' beside the workload entries that belong to it",
        )
    raise OptionError(
        f"there is no sub-workload '{name}', the workload has {', '.join(known)}", hint=suggest(name, known)
    )
