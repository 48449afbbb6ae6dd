"""A row of the catalogue of baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmopt.strategies.baselines.design import Design
from mmopt.workloads.workload import Workload

__all__ = ["Baseline", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """name, kind (int or bool), default. least : the smallest value, for integers. about : in a few words."""

    name: str
    kind: type[int]
    default: int | None
    about: str
    least: int | None = None

    def __str__(self) -> str:
        return f"{self.name}={self.default}"


@dataclass(frozen=True)
class Baseline:
    """A way to choose what is measured, without optimisation.

    Parameters
    ----------
    name, title : as the command line takes it, and in words.
    source : paper and section.
    norms : of columns, 1 for Laplace and 2 for Gaussian noise, that its paper is about; it is built for both.
    build : workload, norm and parameters to a ``Design``. TooLargeError where it does not fit in memory.
    parameters : with their defaults.
    reason_against : why it does not apply to a workload, or None.
    shown : what is listed and compared by default, besides the name alone: calls with parameters.
    depends_on_norm : whether what it measures is another for Laplace than for Gaussian noise.
    """

    name: str
    title: str
    source: str
    norms: tuple[int, ...]
    build: Callable[..., Design]
    parameters: tuple[Parameter, ...] = ()
    reason_against: Callable[[Workload], str | None] = lambda workload: None
    shown: tuple[str, ...] = ()
    depends_on_norm: bool = False
