"""A row space of few cells, in one component: functions of the cells are vectors, a maximum is looked up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.component_arrays import Space, Split
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.largest_of_tables import Largest
from mmopt.sectors.row_space import RowSpace
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f


@dataclass(frozen=True, eq=False)
class DenseSectors(RowSpace):
    """Row space of the products of a workload; ``basis`` (r, n) has orthogonal rows of length √n."""

    basis: Array

    def measure(self, mixture: Mixture) -> Array:
        """(n,) the mixture over the cells."""
        out = np.zeros(self.basis.shape[1])
        for j, weight in enumerate(mixture.weights):
            one = np.ones(1)
            for factor in mixture.factors:
                one = np.kron(one, factor[j] / factor[j].sum())
            out += weight * one
        return out

    def profile(self, parts: Sequence[Array]) -> Array:
        """(n,) f at every cell."""
        return np.asarray(np.einsum("ax,ab,bx->x", self.basis, parts[0], self.basis))

    def moments(self, mixture: Mixture) -> tuple[Array, ...]:
        return ((self.basis * self.measure(mixture)) @ self.basis.T,)

    def moments_rounding(self, mixture: Mixture) -> tuple[float, ...]:
        (q,) = self.moments(mixture)
        return (16 * EPS * self.basis.shape[1] * float(np.trace(q)),)

    def means(self, mixture: Mixture, parts: Sequence[Array]) -> tuple[Array, ...]:
        f, found = self.profile(parts), []
        for i, size in enumerate(self.shape):
            given = np.empty((mixture.count, size))
            for j, v in np.ndindex(*given.shape):
                factors = [own[[j]] for own in mixture.factors]
                factors[i] = np.eye(size)[[v]]
                given[j, v] = f @ self.measure(Mixture(np.ones(1), tuple(factors)))
            found.append(given)
        return tuple(found)

    @property
    def longest(self) -> float:
        return self.largest([np.eye(len(self.basis))], 1.0).upper

    def largest(self, parts: Sequence[Array], seconds: float) -> Largest:
        f = self.profile(parts)
        at = int(np.argmax(f))
        slip = (
            16
            * EPS
            * sum(self.space.dims)
            * float(np.abs(self.basis).max()) ** 2
            * float(np.abs(parts[0]).sum())
        )
        cell = np.array(np.unravel_index(at, self.shape))
        return Largest(float(f[at]) + slip, float(f[at]), cell)


def _basis(size: int) -> Array:
    """(size, size) rows of length √size, the first of ones."""
    rows = np.linalg.qr(np.hstack([np.ones((size, 1)), np.tri(size)[:, 1:]]))[0].T * np.sqrt(size)
    return np.asarray(rows * np.sign(rows[0, 0]))


def dense_sectors(workload: Workload) -> DenseSectors:
    """The row space of a workload of products over few cells."""
    shape, weighed = workload.domain.shape, workload.weighed
    bases = [_basis(size) for size in shape]
    asked = [
        [i for i, factor in enumerate(p.factors) if factor.kind != "total"] for p in weighed.products or ()
    ]
    sectors = sorted(
        {s for own in asked for k in range(len(own) + 1) for s in itertools.combinations(own, k)}
    )
    basis = np.concatenate([_rows(bases, s) for s in sectors])
    root = np.linalg.qr(weighed.matrix @ basis.T / workload.n)[1]
    space = Space(np.ones(1), (len(basis),))
    return DenseSectors(
        space, Split(space.abstract((len(root),)), space, (root,)), 1e-14, shape, (), (), (), basis
    )


def _rows(bases: Sequence[Array], sector: Sequence[int]) -> Array:
    out = np.ones((1, 1))
    for i, own in enumerate(bases):
        out = np.kron(out, own[1:] if i in sector else own[:1])
    return out


def few_of_many(rng: np.random.Generator, most: int = 5) -> Workload:
    """Three attributes; prefixes, ranges and identities of at most two of them, with weights."""
    sizes = [int(size) for size in rng.integers(2, most, size=3)]
    blocks = (f.prefix, f.all_range, f.identity)
    products = []
    for pair in itertools.combinations(range(3), 2):
        chosen = {i: blocks[int(rng.integers(3))](sizes[i]) for i in pair}
        factors = tuple(chosen.get(i, f.total(size)) for i, size in enumerate(sizes))
        products.append(Product(factors, weight=float(rng.choice([1.0, 0.5, 3.0]))))
    return Workload.from_products(domain_of(*sizes), products)


def ways(
    sizes: Sequence[int],
    order: int = 2,
    block: Callable[[int], f.Factor] = f.prefix,
    target: float = math.inf,
) -> Workload:
    """A block of each attribute and of each set of up to ``order`` of them."""
    blocks = [block(size) for size in sizes]
    totals = [f.total(size) for size in sizes]
    products = [
        Product(
            tuple(b if i in own else t for i, (b, t) in enumerate(zip(blocks, totals, strict=True))),
            target=target,
        )
        for count in range(1, order + 1)
        for own in itertools.combinations(range(len(sizes)), count)
    ]
    return Workload.from_products(domain_of(*sizes), products)


def swapped() -> Workload:
    """Prefixes beside values that can be swapped: all of an attribute, those of a group, up to sign."""
    sizes = (3, 4, 5, 2)
    groups = f.predicates(np.array([[1.0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [2, 2, 2, 1, 1]]))
    products = [
        {0: f.prefix(3)},
        {0: f.prefix(3), 1: f.identity(4)},
        {1: f.identity(4), 2: groups},
        {2: groups, 3: f.predicates(np.array([[1.0, -1.0]]))},
        {2: f.identity(5)},
    ]
    return Workload.from_products(
        domain_of(*sizes),
        [
            Product(tuple(own.get(i, f.total(size)) for i, size in enumerate(sizes)), weight=weight)
            for own, weight in zip(products, (1.0, 3.0, 0.5, 2.0, 1.0), strict=True)
        ],
    )
