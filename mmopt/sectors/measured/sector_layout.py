"""Where the functions of a row space stand in one vector, and what queries are made of them.

An attribute has the constant 1 and further functions of its value; a *sector* is a set S of attributes, with
one function of each attribute of S: the products are numbered in row-major order, sector after sector. With a
sector all its subsets are there. Which functions they are is free: orthonormal contrasts, in which strategies
are found, or indicators of values, in which a release counts (``indicators``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError
from mmopt.numerics.arrays import EPS, Array, Ints, frozen, require_memory
from mmopt.workloads import Implicit, Product
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["AttributeRows", "SectorLayout", "active", "change_of_functions", "sets_of"]


@dataclass(frozen=True, eq=False)
class AttributeRows:
    """Queries of one attribute.

    flat : (rows, o) their means on classes, as combinations of (1, functions). varies : (rows,) whether these
    are not constant. rest : (rows, d) what is left, of sum 0 on each class; exactly 0 where that is rounding.
    """

    flat: Array
    varies: npt.NDArray[np.bool_]
    rest: Array


@dataclass(frozen=True, eq=False)
class SectorLayout:
    """Functions of attributes, and the sectors of their products.

    Parameters
    ----------
    labels : (dᵢ,) an attribute: the class of each value, from 0. Functions are constant on classes.
    functions : (oᵢ - 1, oᵢ) an attribute: the functions on its classes; with 1 they are independent.
    sets : the sectors, increasing numbers of attributes each, with all their subsets, none twice.

    Raises
    ------
    OptionError : classes that are no whole numbers, functions of another shape, dependent ones, or a set
        without one of its subsets.
    """

    labels: tuple[Ints, ...]
    functions: tuple[Array, ...]
    sets: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for label, own in zip(self.labels, self.functions, strict=True):
            if label.dtype.kind != "i" or label.ndim != 1 or label.min(initial=0) < 0 or not label.size:
                raise OptionError(
                    "the classes of an attribute's values are whole numbers from 0, one a value"
                )
            if own.shape != (int(label.max()), int(label.max()) + 1):
                raise OptionError(
                    f"the functions of an attribute have shape {own.shape}, expected "
                    f"{(int(label.max()), int(label.max()) + 1)} for its classes of values"
                )
        for one in self.sets:
            if not all(part in self.starts for part in itertools.combinations(one, max(len(one) - 1, 0))):
                raise OptionError(f"the sectors have {one}, but not all of its subsets")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The attributes' numbers of values."""
        return tuple(len(label) for label in self.labels)

    @cached_property
    def starts(self) -> dict[tuple[int, ...], int]:
        """The place of each sector's first function."""
        ends = itertools.accumulate((self._count(one) for one in self.sets), initial=0)
        return dict(zip(self.sets, ends, strict=False))

    @cached_property
    def size(self) -> int:
        """Number of functions, r."""
        return sum(self._count(one) for one in self.sets)

    def _count(self, attributes: tuple[int, ...]) -> int:
        return math.prod(len(self.functions[i]) for i in attributes)

    def place(self, attributes: tuple[int, ...]) -> Ints:
        """Places of all products of (1, functions) of the attributes, in row-major order, (Π oᵢ,)."""
        shape = [len(self.functions[i]) + 1 for i in attributes]
        found = np.empty(shape, dtype=np.int64)
        for chosen in itertools.product((False, True), repeat=len(attributes)):
            own = tuple(i for i, one in zip(attributes, chosen, strict=True) if one)
            at = tuple(slice(1, None) if one else 0 for one in chosen)
            counts = [len(self.functions[i]) for i in own]
            found[at] = self.starts[own] + np.arange(math.prod(counts)).reshape(counts)
        return found.ravel()

    def values(self, codes: Ints) -> Array:
        """(r, c) all functions at cells (c, k) of values."""
        require_memory((self.size, len(codes)), "values of the functions of a row space")
        each = [own[:, label[codes[:, i]]] for i, (own, label) in enumerate(self._pairs())]
        blocks = []
        for one in self.sets:
            block = np.ones((1, len(codes)))
            for i in one:
                block = (block[:, None] * each[i][None]).reshape(-1, len(codes))
            blocks.append(block)
        return np.concatenate(blocks)

    def _pairs(self) -> zip[tuple[Array, Ints]]:
        return zip(self.functions, self.labels, strict=True)

    @cached_property
    def _inverses(self) -> dict[int, Array]:
        """By the object of the functions: the inverse of (1, functions) over classes."""
        return {}

    def inverse(self, attribute: int) -> Array:
        """(oᵢ, oᵢ), by which queries on classes become combinations of (1, functions)."""
        own = self.functions[attribute]
        if id(own) not in self._inverses:
            self._inverses[id(own)] = np.linalg.inv(np.vstack([np.ones(own.shape[1]), own]))
        return self._inverses[id(own)]

    def asked(self, attribute: int, factor: Implicit) -> AttributeRows:
        """Queries of an attribute as combinations of (1, functions), and what they are beside them."""
        entries, label = factor.matrix(), self.labels[attribute]
        # Means of d entries are off by less, in relation to the largest: what differs by more is no rounding.
        size = 4 * (entries.shape[1] + 8) * EPS * np.abs(entries).max(axis=1, keepdims=True)
        member = np.equal.outer(label, np.arange(int(label.max()) + 1))
        means = entries @ (member / member.sum(axis=0))
        rest = entries - means[:, label]
        rest[np.abs(rest) <= size] = 0.0
        varies = (np.abs(means - means[:, :1]) > size).any(axis=1)
        return AttributeRows(means @ self.inverse(attribute), varies, rest)

    def indicators(self) -> SectorLayout:
        """The same sectors of indicators [class = v], v >= 1: whole numbers, nonnegative, the same span."""
        known: dict[int, Array] = {}
        for own in self.functions:
            known.setdefault(id(own), frozen(np.eye(len(own), own.shape[1], 1)))
        return SectorLayout(self.labels, tuple(known[id(own)] for own in self.functions), self.sets)

    def change(self, attribute: int, other: SectorLayout) -> Array:
        """(oᵢ, oᵢ) T with (1, functions) here = T (1, functions) of another layout on the same classes."""
        own = self.functions[attribute]
        return np.vstack([np.ones(own.shape[1]), own]) @ other.inverse(attribute)


def change_of_functions(layout: SectorLayout, other: SectorLayout) -> Array:
    """U (r, r) with the functions of one layout = U times those of another, of the same classes and sets."""
    require_memory((layout.size, layout.size), "change of functions of a row space")
    found = np.zeros((layout.size, layout.size))
    for one in layout.sets:
        block = kron([np.ones((1, 1)), *(layout.change(i, other)[1:] for i in one)])
        start = layout.starts[one]
        found[start : start + len(block), other.place(one)] = block
    return found


def active(product: Product) -> tuple[int, ...]:
    """The attributes that a product does not sum over."""
    return tuple(i for i, factor in enumerate(product.factors) if factor.kind != "total")


def sets_of(attributes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """All subsets of these sets of attributes, each once: small ones first, then by number."""
    found = {
        part for one in attributes for w in range(len(one) + 1) for part in itertools.combinations(one, w)
    }
    return tuple(sorted(found, key=lambda one: (len(one), one)))
