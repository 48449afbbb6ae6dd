"""A strategy on the row space of queries of few attributes: over any number of cells, none of which it has.

A = s C B: B the functions of a layout of sectors (r, n), C an invertible matrix on them. As many rows are
measured as there are functions. A query of few attributes is a combination L of the functions in their
sectors, its estimate L C⁻¹ y / s, with variance L (CᵀC)⁻¹ Lᵀ / s².
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.numerics.outward import times_up
from mmopt.sectors.equal_operators import NAMES, EqualOperator
from mmopt.sectors.sector_layout import SectorLayout, active, sets_of
from mmopt.sectors.sector_operators import DenseOperator, Operator
from mmopt.strategies.product_strategy import products_of
from mmopt.strategies.strategy_form import StrategyForm
from mmopt.workloads import Dense, Implicit, Product, Workload
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["SectorStrategy"]


@dataclass(frozen=True, eq=False, repr=False)
class SectorStrategy(StrategyForm):
    """A = scale · core · B, measured with Gaussian noise; nothing is of the size of the cells. Immutable.

    Parameters
    ----------
    layout : the functions B. core : C, invertible.
    largest : proved to be at least the largest column norm of core · B. scale : above 0.

    Raises
    ------
    OptionError : a core of another size, with entries that are not finite or without an inverse; a largest
        column or scale that is not finite and positive.
    """

    layout: SectorLayout
    core: Operator
    largest: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.core.size != self.layout.size:
            raise OptionError(
                f"the core is for {self.core.size} functions, the sectors have {self.layout.size}"
            )
        if not all(np.isfinite(part).all() for part in self.core.parts.values()):
            raise OptionError("the core has NaN or infinite entries, expected finite numbers")
        for what, value in (("largest column", self.largest), ("scale", self.scale)):
            if not 0 < value < math.inf:
                raise OptionError(f"the {what} is {value!r}, expected a finite number above 0")
        _ = self._covariance

    @property
    def norm(self) -> int:
        """2: the core mixes functions, and L1 norms of its columns are not known."""
        return 2

    @property
    def p(self) -> int:
        return self.layout.size

    @property
    def n(self) -> int:
        return math.prod(self.layout.shape)

    @property
    def largest_column(self) -> float:
        """As it was proved for the core, times the scale, rounded upwards."""
        return float(times_up(self.scale, self.largest))

    def implicit(self) -> Implicit:
        """A (p, n) as a matrix, for few cells; TooLargeError beyond the memory limit."""
        return Dense(self.scale * self._on_cells(self.core))

    def _on_cells(self, core: Operator) -> Array:
        require_memory((self.p, self.n), "strategy matrix")
        codes = np.stack(np.unravel_index(np.arange(self.n), self.layout.shape), axis=1)
        return np.stack([core.apply(column) for column in self.layout.values(codes).T], axis=1)

    def divided(self, by: float) -> SectorStrategy:
        return replace(self, scale=self.scale / by)

    # -- the errors of queries -----------------------------------------------------------------------

    @cached_property
    def _inverse(self) -> Operator:
        try:
            return self.core.inverse()
        except np.linalg.LinAlgError:
            raise OptionError("the core has no inverse: some functions would not be measured") from None

    @cached_property
    def _covariance(self) -> Operator:
        """(CᵀC)⁻¹, of the estimates of the functions at scale 1."""
        return self._inverse.transposed().gram()

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        products = products_of(workload, self.layout.shape)
        return np.concatenate([self._told(product) for product in products])

    def squared_error(self, workload: Workload) -> float:
        products = products_of(workload, self.layout.shape)
        return math.fsum(
            product.weight * float(_weigh(product) @ self._told(product)) for product in products
        )

    @cached_property
    def _known(self) -> dict[Hashable, Array]:
        return {}

    def _told(self, product: Product) -> Array:
        """Variances (m,) of a product's queries; those of equal factors on like sectors are found once."""
        which = active(product)
        place = (self.core.kind_of(which), tuple(product.factors[i].plain for i in which))
        if place not in self._known:
            self._known[place] = self._variances_of(product, which)
        return self._known[place]

    def _variances_of(self, product: Product, which: tuple[int, ...]) -> Array:
        """Rows that look at the same attributes at a time."""
        each = [self.layout.coefficients(i, product.factors[i].plain) for i in which]
        found = np.full([len(looks) for _, looks in each], np.inf)
        for chosen in itertools.product(*(sorted(set(looks.tolist())) for _, looks in each)):
            own = tuple(i for i, look in zip(which, chosen, strict=True) if look)
            if 2 in chosen or own not in self.layout.starts:
                continue
            rows = [np.flatnonzero(looks == look) for (_, looks), look in zip(each, chosen, strict=True)]
            parts = [
                coefs[at] if look else coefs[at, :1]
                for (coefs, _), at, look in zip(each, rows, chosen, strict=True)
            ]
            found[np.ix_(*rows)] = self._lengths(own, parts).reshape([len(at) for at in rows])
        return found.ravel()

    def _lengths(self, attributes: tuple[int, ...], parts: list[Array]) -> Array:
        """diag(L Σ Lᵀ) / s² for L the Kronecker product of ``parts``, Σ the covariance in these sectors."""
        block = self._covariance.block(self.layout, attributes)
        require_memory((math.prod(map(len, parts)), len(block)), "queries of a product on their sectors")
        rows = kron([np.ones((1, 1)), *parts])
        return np.asarray(np.einsum("ij,ij->i", rows @ block, rows)) / self.scale**2

    # -- estimates -----------------------------------------------------------------------------------

    def functions_from(self, noisy: Array) -> Array:
        """(r,) the estimated sums of the functions over the rows of data, from noisy answers (r,)."""
        return self._inverse.apply(np.asarray(noisy, dtype=np.float64)) / self.scale

    def answers_from(self, workload: Workload, noisy: Array) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (p,), without the cells.

        Every query must be supported.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        """
        require_memory((workload.m,), "estimates of the queries")
        sums, found = self.functions_from(noisy), []
        for product in products_of(workload, self.layout.shape):
            which = active(product)
            parts = [self._coefficients(i, product.factors[i].plain) for i in which]
            seen = tuple(at for at, (_, looks) in enumerate(parts) if looks.any())
            table = sums[self.layout.place(tuple(which[at] for at in seen))]
            table = table.reshape([parts[at][0].shape[1] if at in seen else 1 for at in range(len(which))])
            for at, (coefs, _) in enumerate(parts):
                own = coefs if at in seen else coefs[:, :1]
                table = np.moveaxis(np.tensordot(own, table, axes=(1, at)), 0, at)
            found.append(table.ravel())
        return np.concatenate(found)

    @cached_property
    def _kept(self) -> dict[tuple[int, Implicit], tuple[Array, Ints]]:
        return {}

    def _coefficients(self, attribute: int, factor: Implicit) -> tuple[Array, Ints]:
        own = (id(self.layout.functions[attribute]), factor)
        if own not in self._kept:
            self._kept[own] = self.layout.coefficients(attribute, factor)
        return self._kept[own]

    def estimate(self, noisy: Array) -> Array:
        """(…, n) the shortest data vector whose functions are as estimated; for few cells."""
        flat = np.reshape(noisy, (-1, self.p))
        functions = np.stack([self.functions_from(own) for own in flat])
        inverse = np.linalg.pinv(self._on_cells(DenseOperator(np.eye(self.p))))
        return np.asarray((functions @ inverse.T).reshape(*np.shape(noisy)[:-1], self.n))

    # -- saved, and shown ----------------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        layout = self.layout
        is_equal = isinstance(self.core, EqualOperator)
        kept = range(1 if is_equal else len(layout.shape))
        most = max(map(len, layout.sets))
        padded = [[*one, *[-1] * (most - len(one))] for one in (() if is_equal else layout.sets)]
        return {
            "form": "sectors",
            "attributes": len(layout.shape),
            "labels": {str(i): layout.labels[i] for i in kept},
            "functions": {str(i): layout.functions[i] for i in kept},
            "sets": np.array(padded, dtype=np.int64).reshape(-1, most),
            "core": dict(self.core.parts),
            "largest": self.largest,
            "scale": self.scale,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> SectorStrategy:
        count, parts = fields["attributes"], fields["core"]
        at = range(count)
        core: Operator
        if "matrix" in parts:
            sets = tuple(tuple(int(i) for i in own if i >= 0) for own in fields["sets"])
            core = DenseOperator(parts["matrix"])
        else:
            sets = sets_of(list(itertools.combinations(at, 2)))
            trivial, standard, sym, alt = (parts[name] for name in NAMES)
            core = EqualOperator(count, (trivial, standard, sym, alt))
            at = [0] * count  # type: ignore[assignment]
        labels = tuple(fields["labels"][str(i)] for i in at)
        functions = tuple(fields["functions"][str(i)] for i in at)
        return cls(SectorLayout(labels, functions, sets), core, fields["largest"], fields["scale"])

    def __repr__(self) -> str:
        return self._words(f"{self.p:,} functions of {len(self.layout.shape)} attributes")


def _weigh(product: Product) -> Array:
    """(m,) the weights of a product's rows, without its own."""
    factors = [product.factors[i] for i in active(product)]
    return kron([np.ones(1), *(np.ones(f.rows) if f.row_weights is None else f.row_weights for f in factors)])
