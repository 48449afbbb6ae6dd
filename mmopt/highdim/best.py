"""The driver: every kind of strategy tried on a union of products, the best one kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mmopt.highdim.marginals import marginals
from mmopt.highdim.product import product
from mmopt.highdim.union import union
from mmopt.queries import MarginalsStrategy, ProductStrategy, UnionStrategy, Workload

__all__ = ["Choice", "Tried", "best"]

AnyParts = ProductStrategy | UnionStrategy | MarginalsStrategy


@dataclass(frozen=True)
class Tried:
    """One kind: total error (weighted, at sensitivity 1), rmse per query, seconds."""

    error: float
    rmse: float
    seconds: float


@dataclass(frozen=True)
class Choice:
    """The best strategy, its kind, and what every kind came to, by name."""

    strategy: AnyParts
    kind: str
    tried: Mapping[str, Tried]

    def __str__(self) -> str:
        lines = [
            f"{'*' if name == self.kind else ' '} {name:<10} rmse {t.rmse:.5g}  error {t.error:.6g}"
            f"  {t.seconds:.1f} s"
            for name, t in self.tried.items()
        ]
        return "\n".join(lines)


def best(workload: Workload, *, norm: int = 1, seed: int = 0) -> Choice:
    """The best of a product, a union of products and weighted marginals, for total error.

    ``norm``: 1 for Laplace noise (pure privacy), 2 for Gaussian noise. Under the latter ``solve`` has the
    optimum over all strategies where the workload's symmetries suffice.

    Raises
    ------
    OptionError : another norm.
    UnsuitableError : a workload that is no union of products.
    """
    kinds: Mapping[str, Callable[[], AnyParts]] = {
        "product": lambda: product(workload, norm=norm, seed=seed),
        "union": lambda: union(workload, norm=norm, seed=seed),
        "marginals": lambda: marginals(workload, norm=norm, seed=seed),
    }
    found: dict[str, AnyParts] = {}
    tried: dict[str, Tried] = {}
    for name, make in kinds.items():
        started = time.monotonic()
        strategy = make()
        found[name] = strategy
        seconds = time.monotonic() - started
        tried[name] = Tried(strategy.total_error(workload), strategy.rmse(workload), seconds)
    kind = min(tried, key=lambda name: tried[name].error)
    return Choice(found[kind], kind, MappingProxyType(tried))
