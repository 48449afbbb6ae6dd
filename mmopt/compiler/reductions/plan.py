"""What every reduction has in common: traits of the program, a plan, solved parts and their lift."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.invariance.actions import Axis
from mmopt.compiler.invariance.composition import Composition, of_blocks, of_factors
from mmopt.compiler.invariance.equivariance import Equivariance, equivariance
from mmopt.numerics.numpy_forms import Array
from mmopt.strategies import Strategy
from mmopt.workloads import Workload

__all__ = [
    "MOST_ENTRIES",
    "Plan",
    "Solved",
    "Traits",
    "along",
    "counted",
    "reducible",
    "smaller",
    "traits_of",
]

# Queries are looked at one by one only in matrices of at most so many entries (400 MB).
MOST_ENTRIES = 50_000_000


@dataclass(frozen=True)
class Traits:
    """What the tree of a program says of it; the same for every workload."""

    acts: Equivariance
    blocks: Composition
    factors: Composition


def traits_of(instance: Instance) -> Traits:
    """The traits of a bound program, with what the caller passed."""
    numbers = {
        p.name: float(v) for p in instance.program.parameters if np.ndim(v := instance.env[p.name]) == 0
    }
    checked, own = instance.checked, instance.own
    return Traits(equivariance(checked, own, numbers), of_blocks(checked, own), of_factors(checked, own))


@dataclass(frozen=True)
class Solved:
    """A strategy for a workload, the multipliers by constraint, and the bound that they prove."""

    strategy: Strategy
    multipliers: Mapping[str, Array]
    bound: float | None = None


@dataclass(frozen=True)
class Plan(ABC):
    """One reduction of one instance: smaller workloads for the same program, and the way back.

    text : what it does, with sizes before and after.
    workloads : the parts; those that are equal need to be solved only once.
    names : a word for each part; empty when there is one.
    multiplies : whether the gaps of the parts add up.
    """

    text: str
    workloads: tuple[Workload, ...]
    names: tuple[str, ...]
    multiplies: bool

    def parts(self, prefix: str) -> Iterator[tuple[str, Workload]]:
        """The parts, each with the words that come before what is said of it."""
        for place, workload in enumerate(self.workloads):
            yield (f"{prefix}{self.names[place]}: " if self.names else prefix), workload

    @abstractmethod
    def lift(self, parts: Sequence[Solved]) -> Solved:
        """The strategy and the multipliers for the unreduced workload, from those of the parts."""


def reducible(instance: Instance) -> bool:
    """Whether the program is convex, its points can be made from strategies, and a bound can be proved."""
    program = instance.program
    if program.klass != "convex" or program.adoption is None or program.certificate is None:
        return False
    return not program.adoption.strategy.dims[0].symbols & set(instance.sizes())


def smaller(instance: Instance, workload: Workload) -> Instance:
    """The same program, with the same numbers from the caller, for another workload."""
    return bind(instance.checked, workload, {name: instance.env[name] for name in instance.own})


def along(
    multipliers: Mapping[str, Array], axes: Mapping[str, tuple[Axis, ...]], groups: frozenset[str]
) -> dict[str, tuple[Array, tuple[Axis, ...]]]:
    """The multipliers whose axes all belong to the groups, as arrays of as many axes."""
    found = {}
    for name, value in multipliers.items():
        known = axes.get(name)
        if known is None or {a.group for a in known} - groups:
            continue
        array = np.asarray(value, dtype=float)
        if array.ndim != len(known):  # one cell: a number, or a matrix of one entry
            if array.size != 1:
                continue
            array = array.reshape((1,) * len(known))
        found[name] = (array, known)
    return found


def counted(size: int, one: str) -> str:
    """``1 cell``, ``12 cells``."""
    several = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{size:,} {one if size == 1 else several}"
