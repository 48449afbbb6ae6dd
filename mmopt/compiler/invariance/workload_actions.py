"""What may be done to a workload without changing a problem, and how an array goes along.

An *action* changes the arrays that a workload gives to a program: it permutes cells, repeats them, rotates
a basis. Along each axis an array goes with it by a *degree*. When a cell is replaced by s equal ones, an
array of degree a gets s copies of the cell's entry, each times s**-a: a strategy's Gram matrix repeats its
entries (0), a multiplier splits (1), its square root lies between (1/2). A sum over cells keeps its value
when the degrees of what is summed add up to 1, a maximum when they add up to 0. A query of which one makes
several rows t w, with the sum of the t**2 equal to 1, has degree 1/2 in the queries and 1 in targets and
variances. A basis changed to T B has degree 0, the coefficients in it degree 1, so that they cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

__all__ = [
    "CHANGE_BASIS",
    "DROP_CELLS",
    "PERMUTED",
    "PERMUTE_CELLS",
    "PERMUTE_QUERIES",
    "REPEAT_CELLS",
    "ROTATE_BASIS",
    "ROTATE_ROOT",
    "SOURCE_AXES",
    "SPLIT_QUERIES",
    "STRONG",
    "WEAK",
    "Acted",
    "Axis",
    "close",
    "multiplied",
    "scaled",
]

PERMUTE_CELLS = "permuting the cells"
REPEAT_CELLS = "repeating cells"
DROP_CELLS = "leaving out cells that no query touches"
PERMUTE_QUERIES = "permuting the queries and changing their signs"
SPLIT_QUERIES = "splitting queries into multiples"
ROTATE_ROOT = "rotating the queries"
ROTATE_BASIS = "rotating the basis"
CHANGE_BASIS = "changing the basis"
# What leaves every workload that is solved in place of another as it is.
PERMUTED = (PERMUTE_CELLS, PERMUTE_QUERIES, ROTATE_ROOT, ROTATE_BASIS)

# What is lost along an axis of a group by anything but an equivariant atom, and by degrees that do not fit.
WEAK: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cells": (PERMUTE_CELLS, REPEAT_CELLS, DROP_CELLS),
        "queries": (PERMUTE_QUERIES, SPLIT_QUERIES),
        "root": (ROTATE_ROOT,),
        "basis": (ROTATE_BASIS, CHANGE_BASIS),
    }
)
STRONG: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cells": (REPEAT_CELLS, DROP_CELLS),
        "queries": (SPLIT_QUERIES,),
        "root": (ROTATE_ROOT,),
        "basis": (CHANGE_BASIS,),
    }
)


@dataclass(frozen=True)
class Axis:
    """One axis of an array: what is changed along it, by which degree; ``odd`` when it has a query's sign."""

    group: str = ""  # "cells", "queries", "root", "basis"; "" for an axis that no action touches
    degree: float = 0.0
    odd: bool = False

    @property
    def is_rotated(self) -> bool:
        return self.group in ("root", "basis")


@dataclass(frozen=True)
class Acted:
    """How an expression goes with the actions: along its axes, and with the index of each family.

    ``diagonal`` is a diagonal matrix, its degree that of its entries (in both axes). ``is_zero``: at a cell
    that no query touches.
    """

    axes: tuple[Axis, ...] = ()
    index: Mapping[str, Axis] = field(default_factory=dict)
    diagonal: bool = False
    is_zero: bool = True

    @property
    def all(self) -> tuple[Axis, ...]:
        """The axes, and those of indices."""
        return (*self.axes, *self.index.values())

    @property
    def groups(self) -> set[str]:
        """The groups that act along any of them."""
        return {a.group for a in self.all}

    @property
    def has_cells(self) -> bool:
        """Whether it has an entry per cell."""
        return "cells" in self.groups

    @property
    def vanishes(self) -> bool:
        """Whether it is zero at a cell that no query touches; so is what has no cells."""
        return self.is_zero or not self.has_cells


def close(a: float, b: float) -> bool:
    """Whether two degrees are the same, to rounding: 1/3 three times is 1.

    An exponent that is nearly one of these is taken for it; what is lifted is then scored as it is, over all
    cells, and by component only programs are solved whose lines a kernel knows, exponents and all.
    """
    return abs(a - b) < 1e-9


def multiplied(one: Axis | None, two: Axis) -> Axis:
    """An axis along which two things are multiplied."""
    return two if one is None else Axis(one.group, one.degree + two.degree, one.odd != two.odd)


def scaled(index: Mapping[str, Axis], by: float) -> dict[str, Axis]:
    """The axes of indices with multiples of their degrees."""
    return {name: replace(a, degree=by * a.degree) for name, a in index.items()}


# The arrays of a workload that go with the actions. Eigenvectors do not: those of a repeated eigenvalue
# are a choice, and repeated cells have other eigenvalues. Weights are contained in the matrix and the root.
SOURCE_AXES: Mapping[str, tuple[Axis, ...]] = MappingProxyType(
    {
        "workload.matrix": (Axis("queries", 0.5, odd=True), Axis("cells")),
        "workload.root": (Axis("root", 0.5), Axis("cells")),
        "workload.gram": (Axis("cells"), Axis("cells")),
        "workload.targets": (Axis("queries", 1.0),),
        "workload.basis": (Axis("basis"), Axis("cells")),
        "workload.representation": (Axis("queries", 0.5, odd=True), Axis("basis", 1.0)),
    }
)
