"""The common parts of all reductions: traits of the program, a step to parts, solved parts and their lift."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from mmopt.compiler.actions_on_expressions import Axis
from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.equivariance import Composition, Equivariance, equivariance, of_blocks, of_factors
from mmopt.language import Checked
from mmopt.numerics.arrays import Array, Ints
from mmopt.strategies import ADD_REMOVE, AnyStrategy
from mmopt.workloads import Workload

# The groups of axes along which a multiplier of cells and queries is lifted.
CELLS_AND_QUERIES = frozenset({"cells", "queries"})
# Of a program whose queries are those that have a target.
WITH_TARGETS = frozenset({"workload.targets", "workload.representation"})
# Queries are looked at one by one only in matrices of at most so many entries (400 MB).
MOST_QUERY_ENTRIES = 50_000_000


@dataclass(frozen=True)
class Traits:
    """The traits that a program has by its tree, for every workload.

    acts : the actions that leave it as it is. blocks, factors : how its objective is made of those of
    independent blocks, and of the factors of a Kronecker product.
    """

    acts: Equivariance
    blocks: Composition
    factors: Composition


def traits_of(instance: Instance) -> Traits:
    """The traits of a bound program, with what the caller passed."""
    values = ((p.name, instance.env[p.name]) for p in instance.program.parameters)
    numbers = frozenset((name, float(value)) for name, value in values if np.ndim(value) == 0)
    return traits(instance.checked, instance.passed, numbers)


@lru_cache(maxsize=128)
def traits(checked: Checked, passed: frozenset[str], numbers: frozenset[tuple[str, float]]) -> Traits:
    """The traits of a program where the caller passes ``passed``, and these parameters are numbers."""
    return Traits(
        equivariance(checked, passed, dict(numbers)),
        of_blocks(checked, passed),
        of_factors(checked, passed, dict(numbers)),
    )


@dataclass(frozen=True)
class SolvedPart:
    """A strategy for a workload, the multipliers by constraint, and the bound that they prove.

    Strategy and multipliers are by component if the part was solved by component.
    """

    strategy: AnyStrategy
    multipliers: Mapping[str, Any]
    bound: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ReductionStep(ABC):
    """One reduction of one instance: smaller instances of the same program, and the way back.

    text : what it does, with sizes before and after.
    parts : the smaller instances; those that are equal need to be solved only once.
    names : a word for each part; empty when there is one.
    multiplies : whether objective and bound are products of the parts', so that their relative gaps add up.
    axes : of the multipliers, by constraint.
    """

    text: str
    parts: tuple[Instance, ...]
    names: tuple[str, ...] = ()
    multiplies: bool = False
    axes: Mapping[str, tuple[Axis, ...]] = field(default_factory=dict)

    @abstractmethod
    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The strategy and the multipliers for the unreduced instance, from those of the parts."""

    def along(self, part: SolvedPart, groups: frozenset[str]) -> dict[str, tuple[Array, tuple[Axis, ...]]]:
        """The multipliers whose axes all belong to the groups, as arrays of as many axes."""
        arrays = {}
        for name, value in part.multipliers.items():
            axes = self.axes.get(name)
            if axes is None or {a.group for a in axes} - groups:
                continue
            array = np.asarray(value, dtype=float)
            if array.ndim != len(axes):
                # Over one cell a multiplier may be a number, or a matrix of one entry.
                if array.size != 1:
                    continue
                array = array.reshape((1,) * len(axes))
            arrays[name] = (array, axes)
        return arrays

    def spread(self, part: SolvedPart, group: str, classes: Ints) -> dict[str, Array]:
        """The multipliers of all members of classes (-1: of none): that of a class is split among them."""
        sizes, shares = np.bincount(classes[classes >= 0]), dict[str, Array]()
        for name, (array, axes) in self.along(part, CELLS_AND_QUERIES | {""}).items():
            for place, axis in enumerate(axes):
                if axis.group == group:
                    shape = [1] * array.ndim
                    shape[place] = len(sizes)
                    array = expanded(array * (sizes**-axis.degree).reshape(shape), place, classes)
            shares[name] = array
        return shares


def expanded(array: Array, place: int, classes: Ints) -> Array:
    """The array with each class's entry along one axis at all its members, zero for class -1."""
    pad = [(0, 0)] * array.ndim
    pad[place] = (0, 1)
    return np.take(np.pad(array, pad), classes, axis=place)  # class -1 takes the last


def reducible(instance: Instance) -> bool:
    """Whether the program is convex, its points can be made from strategies, and a bound can be proved.

    Strategies of parts are put together by their largest columns.
    """
    program = instance.program
    if (
        instance.neighbours != ADD_REMOVE
        or program.problem_class != "convex"
        or program.adoption is None
        or program.certificate is None
    ):
        return False
    return not program.adoption.strategy.dims[0].symbols & set(instance.sizes())


def smaller(instance: Instance, *workloads: Workload) -> tuple[Instance, ...]:
    """The program, with the caller's numbers, for other workloads; equal workloads share one instance."""
    givens = {name: instance.env[name] for name in instance.passed}
    bound = {key: bind(instance.checked, w, givens) for key, w in {w.hash: w for w in workloads}.items()}
    return tuple(bound[w.hash] for w in workloads)


def restricted(workload: Workload, rows: Ints, cells: Ints | slice = slice(None)) -> Workload:
    """Some of the queries, on some of the cells, as a matrix."""
    return Workload.from_matrix(
        workload.queries[rows][:, cells], workload.targets[rows], workload.weights[rows]
    )
