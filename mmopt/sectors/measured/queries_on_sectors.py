"""Queries of few attributes on the components of a row space: variances and answers, product by product."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, require_memory
from mmopt.sectors.measured.rest_components import RestComponent, along
from mmopt.sectors.measured.sector_layout import AttributeRows, SectorLayout, active
from mmopt.sectors.plain.functions_of_few import Rests
from mmopt.workloads import Implicit, Product
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["QueriesOnSectors"]

Choice = tuple[int | None, ...]
"""Of each attribute of a product the class of its rest, or None for its functions of classes."""


@dataclass(frozen=True, eq=False)
class QueriesOnSectors:
    """What ``components`` (by their rests; all on the classes and functions of ``layout``) say of queries."""

    layout: SectorLayout
    components: Mapping[Rests, RestComponent]

    @cached_property
    def _known(self) -> dict[Hashable, Array]:
        return {}

    def variances(self, product: Product) -> Array:
        """Variances (m,) of a product's queries; those of equal factors are found once."""
        which = active(product)
        place = (which, tuple(product.factors[i].plain for i in which))
        if place not in self._known:
            self._known[place] = self._variances_of(product, which)
        return self._known[place]

    def _choices(self, which: tuple[int, ...], each: list[AttributeRows]) -> Iterator[tuple[Choice, Rests]]:
        """Which rests a product's queries have anything on: one class of an attribute or none."""
        labels = [self.layout.labels[i] for i in which]
        options: list[list[int | None]] = [
            [None, *np.unique(label[(own.rest != 0).any(axis=0)]).tolist()]
            for own, label in zip(each, labels, strict=True)
        ]
        for choice in itertools.product(*options):
            yield choice, tuple((i, o) for i, o in zip(which, choice, strict=True) if o is not None)

    def _asked(self, product: Product, which: tuple[int, ...]) -> list[AttributeRows]:
        return [self._asked_of(i, product.factors[i].plain) for i in which]

    @cached_property
    def _kept(self) -> dict[tuple[int, int, Implicit], AttributeRows]:
        return {}

    def _asked_of(self, i: int, factor: Implicit) -> AttributeRows:
        own = (id(self.layout.functions[i]), id(self.layout.labels[i]), factor)
        if own not in self._kept:
            self._kept[own] = self.layout.asked(i, factor)
        return self._kept[own]

    def _variances_of(self, product: Product, which: tuple[int, ...]) -> Array:
        """By component, and of rows that look at the same attributes at a time."""
        each = self._asked(product, which)
        found = np.zeros([len(own.flat) for own in each])
        for choice, rests in self._choices(which, each):
            squares = [
                None if o is None else np.square(own.rest[:, self.layout.labels[i] == o]).sum(axis=1)
                for i, o, own in zip(which, choice, each, strict=True)
            ]
            options = [
                [True] if square is not None else sorted(set(own.varies.tolist()))
                for square, own in zip(squares, each, strict=True)
            ]
            for looks in itertools.product(*options):
                rows = [
                    np.flatnonzero(own.varies == look if square is None else square)
                    for own, look, square in zip(each, looks, squares, strict=True)
                ]
                free = [at for at, square in enumerate(squares) if square is None]
                seen = tuple(which[at] for at in free if looks[at])
                parts = [each[at].flat[rows[at]] for at in free]
                parts = [part if looks[at] else part[:, :1] for part, at in zip(parts, free, strict=True)]
                value = self._lengths(rests, seen, parts).reshape(
                    [len(own) if square is None else 1 for own, square in zip(rows, squares, strict=True)]
                )
                for at, square in enumerate(squares):
                    if square is not None:
                        value = value * np.expand_dims(
                            square[rows[at]], [a for a in range(len(rows)) if a != at]
                        )
                found[np.ix_(*rows)] += value
        return found.ravel()

    def _lengths(self, rests: Rests, attributes: tuple[int, ...], parts: list[Array]) -> Array:
        """diag(L Σ Lᵀ) for L the Kronecker product of ``parts``, Σ the covariance in these sectors.

        Infinity where they are not measured.
        """
        component = self.components.get(rests)
        count = math.prod(map(len, parts))
        if component is None or attributes not in component.layout.starts:
            return np.full(count, np.inf)
        place = component.layout.place(attributes)
        block = component.covariance[np.ix_(place, place)]
        require_memory((count, len(block)), "queries of a product on their sectors")
        rows = kron([np.ones((1, 1)), *parts])
        return np.asarray(np.einsum("ij,ij->i", rows @ block, rows))

    def answers(self, product: Product, sums: Mapping[Rests, Array]) -> Array:
        """(m,) a product's answers from the sums (r, Π s) of each component's functions.

        Raises
        ------
        OptionError : a query that is on a component that is not there.
        """
        which = active(product)
        each, found = self._asked(product, which), np.zeros(())
        for choice, rests in self._choices(which, each):
            free = [at for at, o in enumerate(choice) if o is None]
            taken = [at for at, o in enumerate(choice) if o is not None]
            seen = tuple(which[at] for at in free if each[at].varies.any())
            component = self.components.get(rests)
            if component is None or seen not in component.layout.starts:
                raise OptionError("the strategy does not support the queries whose answers are asked")
            flats = [each[at].flat if which[at] in seen else each[at].flat[:, :1] for at in free]
            within = [each[at].rest[:, own] for at, own in zip(taken, component.members, strict=True)]
            matrices = [*flats, *within]
            table = sums[rests][component.layout.place(seen)].reshape([own.shape[1] for own in matrices])
            found = found + np.transpose(along(table, matrices), np.argsort([*free, *taken]))
        return found.ravel()
