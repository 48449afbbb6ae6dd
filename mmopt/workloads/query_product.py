"""A Kronecker product of factors, one per attribute: the queries that a workload file calls a product."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from mmopt.errors import WorkloadError, whole
from mmopt.numerics.arrays import EPS, Array, Ints, require_memory
from mmopt.workloads.blocks.implicit_matrix import Implicit
from mmopt.workloads.blocks.kronecker_products import Kron, kron
from mmopt.workloads.blocks.matrix_blocks import positive, spelled_out
from mmopt.workloads.blocks.modified_blocks import Scaled, unit_rows
from mmopt.workloads.blocks.range_blocks import Total
from mmopt.workloads.domain import Domain
from mmopt.workloads.encodings import describe_number, refuse_repeated
from mmopt.workloads.query_group import Group
from mmopt.workloads.query_labels import join

__all__ = ["LEAST_MISSED", "Product", "Wish", "check_products", "wishes", "with_shared_factors"]

SHOWN_FACTORS = 8  # in full; of more only those that are no totals, by their place
LEAST_MISSED = 1e-8
"""Least probability that an interval may miss: what is computed of the law of an error is off by 1e-9."""


@dataclass(frozen=True)
class Wish:
    """That an estimate is within so many counts of the truth with at least this probability.

    Raises
    ------
    WorkloadError : a half width that is not positive, a confidence outside [1e-8, 1 - 1e-8], or a variance
        beyond the numbers that a workload may have.
    """

    half_width: float
    confidence: float = 0.95

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_width", positive(self.half_width, "the half width"))
        confidence = positive(self.confidence, "the confidence")
        if not LEAST_MISSED <= confidence <= 1 - LEAST_MISSED:
            raise WorkloadError(
                f"the confidence is {confidence!r}, expected {LEAST_MISSED:g} to 1 - {LEAST_MISSED:g}",
                hint="for example 0.95",
            )
        object.__setattr__(self, "confidence", confidence)
        positive(self.variance, f"the variance of noise within {self.half_width:g}")

    @property
    def variance(self) -> float:
        """The variance of normal noise whose central interval of this confidence has this half width."""
        return (self.half_width / NormalDist().inv_cdf((1 + self.confidence) / 2)) ** 2


@dataclass(frozen=True)
class Product(Group):
    """Queries that are products of one query per attribute; the last factor varies fastest.

    The matrices below (``rows``, ``gram``, ``root``) are those of the queries themselves; the
    weight is applied by ``Workload``.

    Parameters
    ----------
    factors : one per attribute of the domain, in its order.
    name : the group's name, or None.
    weight : multiplies the squared error of these queries; positive. A factor may have further weights, one
        per row (``row_weights``).
    target : largest variance allowed for each of these queries, in squared counts; infinity for none.
    within : the half width that an interval of each may have, and its confidence; None for none. The target
        is to be no more than what noise that is normal has then (``Wish.variance``): it is what is optimised.
    subworkload : the name of a part of the workload that these queries belong to, or None.
    """

    factors: tuple[Implicit, ...]
    name: str | None = None
    weight: float = 1.0
    target: float = math.inf
    within: Wish | None = None
    subworkload: str | None = None
    queries: Kron = field(init=False, repr=False, compare=False)
    """The Kronecker product of the factors."""

    def __post_init__(self) -> None:
        if not self.factors:
            raise WorkloadError("a product needs at least one factor, found none")
        object.__setattr__(self, "factors", tuple(self.factors))
        object.__setattr__(self, "queries", Kron(self.factors))
        object.__setattr__(self, "weight", positive(self.weight, "the weight"))
        target = positive(self.target, "the target variance", infinite=True)
        if self.within is not None:
            target = min(target, self.within.variance)
        object.__setattr__(self, "target", target)

    @cached_property
    def looked_at(self) -> tuple[int, ...]:
        """The attributes, ascending, that some query tells cells apart by: whose factor is no total."""
        known = dict(zip(map(id, self.factors), self.factors, strict=True))  # few: most share one total
        told = {own for own, factor in known.items() if not isinstance(factor.plain, Total)}
        return tuple([i for i, own in enumerate(map(id, self.factors)) if own in told])

    @property
    def weights(self) -> Array:
        """The weight of each query, (m,): that of the product times those of the factors' rows."""
        require_memory((self.m,), f"list of the weights of {self!r}")
        if not self.has_row_weights:
            return np.full(self.m, self.weight)
        known = [np.ones(f.rows) if f.row_weights is None else f.row_weights for f in self.factors]
        return self.weight * kron(known)

    @property
    def has_row_weights(self) -> bool:
        """Whether some factor gives its rows weights of their own."""
        return any(factor.row_weights is not None for factor in self.factors)

    @property
    def is_plain(self) -> bool:
        """Whether all queries have the weight 1."""
        return self.weight == 1.0 and not self.has_row_weights

    def weighed(self) -> Product:
        """With every query scaled by the square root of its own weight; ``weight`` stays for all."""
        if not self.has_row_weights:
            return self
        return replace(self, factors=tuple(factor.weighed() for factor in self.factors))

    def unweighted(self) -> Product:
        """The same queries with weight 1."""
        return replace(self, factors=tuple(factor.plain for factor in self.factors), weight=1.0)

    def normalised(self) -> Product:
        """The same queries, the weight of each divided by its squared L2 norm (see ``Workload.normalised``).

        The norm of a product is the product of the norms, so each factor has the weights of its own rows.
        """
        scales, factors = zip(*map(unit_rows, self.factors), strict=True)
        return replace(self, factors=factors, weight=self.weight * math.prod(scales))

    @property
    def targets(self) -> Array:
        """The target of each query, (m,)."""
        require_memory((self.m,), f"list of the targets of {self!r}")
        return np.full(self.m, self.target)

    def implicit(self, weighted: bool = False) -> Implicit:
        """The queries as an implicit matrix; weighted: scaled by the square root of the weight."""
        product = self.weighed().queries if weighted else self.queries
        return Scaled(product, math.sqrt(self.weight)) if weighted and self.weight != 1.0 else product

    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""
        require_memory((stop - start, self.n), "rows of this product")
        return self.queries.take(np.arange(start, stop))

    def gram(self) -> Array:
        """Gram matrix (n, n): the Kronecker product of the factors' Gram matrices."""
        require_memory((self.n, self.n), "Gram matrix")
        return kron([factor.gram() for factor in self.factors])

    def weighted_gram(self) -> Array:
        """The Gram matrix of the queries scaled by the square roots of their weights, (n, n)."""
        return self.weight * self.weighed().gram()

    def root(self, cells: Ints | None = None) -> Array:
        """R (r, n) with RᵀR = ``gram()``, the Kronecker product of the factors' roots; r <= min(m, n).

        With ``cells`` (c,) only these columns, (r, c).
        """
        roots = [factor.root() for factor in self.factors]
        columns = self.n if cells is None else len(cells)
        require_memory((math.prod(root.shape[0] for root in roots), columns), "root of the Gram matrix")
        if cells is None:
            return kron(roots)
        codes = np.unravel_index(cells, [factor.size for factor in self.factors])
        result = np.ones((1, columns))
        for root, code in zip(roots, codes, strict=True):
            result = (result[:, None, :] * root[:, code][None, :, :]).reshape(-1, columns)
        return result

    @property
    def root_rounding(self) -> float:
        """γ (``Implicit.root_rounding``) of the weighted root: of the factors and of products of entries."""
        each = [factor.root_rounding for factor in self.weighed().factors]
        return 1.001 * sum(each) + 2 * EPS * (len(each) - self.is_plain)

    def labels(self, domain: Domain, most: int | None = None) -> list[str]:
        """One text per query, of the first so many; attributes that are summed over are left out."""
        texts = [f.labels(a) for f, a in zip(self.factors, domain.attributes, strict=True)]
        return [join(parts) for parts in itertools.islice(itertools.product(*texts), most)]

    def title(self, domain: Domain) -> str:
        """The name, or one made of the factors: "sex, age prefix"; "total" when all are totals."""
        if self.name is not None:
            return self.name
        words = [
            attribute.name if factor.kind == "identity" else f"{attribute.name} {factor.title}"
            for factor, attribute in ((self.factors[i], domain.attributes[i]) for i in self.looked_at)
        ]
        return ", ".join(words) or "total"

    def spelled_out(self, known: dict[int, str]) -> str:
        """Of queries, weight and target: name and wish do not matter."""
        for factor in {id(factor): factor for factor in self.factors}.values():
            if id(factor) not in known:
                known[id(factor)] = spelled_out(factor.describe())
        factors = ",".join([known[id(factor)] for factor in self.factors])
        numbers = (spelled_out(describe_number(number)) for number in (self.weight, self.target))
        return f'["product",[{factors}],{",".join(numbers)}]'

    def __repr__(self) -> str:
        told = [f"{i}: {self.factors[i]!r}" for i in self.looked_at]
        factors = told if len(self.factors) > SHOWN_FACTORS else map(repr, self.factors)
        return f"Product({' ⊗ '.join(factors) or 'totals'}, {whole(self.m)} × {whole(self.n)})"


def wishes(blocks: Sequence[Group]) -> list[tuple[slice, Wish]]:
    """The wishes for half widths in a workload's blocks, each with the numbers of its queries."""
    ends = itertools.accumulate(block.m for block in blocks)
    return [
        (slice(end - block.m, end), block.within)
        for block, end in zip(blocks, ends, strict=True)
        if isinstance(block, Product) and block.within is not None
    ]


def check_products(domain: Domain, products: Sequence[Product]) -> None:
    """WorkloadError unless there is a product, each fits the domain, and no name stands twice."""
    if not products:
        raise WorkloadError("the workload has no queries, expected at least one product")
    shape = domain.shape
    for i, product in enumerate(products):
        where = f"product {i}" if product.name is None else f"product '{product.name}'"
        if len(product.factors) != len(domain.attributes):
            raise WorkloadError(
                f"{where} has {len(product.factors)} factors, "
                f"the domain has {len(domain.attributes)} attributes"
            )
        if tuple([factor.size for factor in product.factors]) == shape:
            continue
        for attribute, factor in zip(domain.attributes, product.factors, strict=True):
            if factor.size != attribute.size:
                raise WorkloadError(
                    f"{where}: the factor of attribute '{attribute.name}' has {factor.size} cells, "
                    f"the attribute has {attribute.size}"
                )
    names = (product.name for product in products if product.name is not None)
    refuse_repeated(names, lambda name: f"two products have the name '{name}'")


def with_shared_factors(products: Sequence[Product]) -> tuple[Product, ...]:
    """The same products, equal factors as one object: what is asked of it is then computed once."""
    first: dict[Implicit, Implicit] = {}
    known: dict[int, Implicit] = {}
    found = []
    shared: set[int] = set()
    for product in products:
        if shared.issuperset(map(id, product.factors)):  # most, where there are many
            found.append(product)
            continue
        for factor in product.factors:
            if id(factor) not in known:
                known[id(factor)] = first.setdefault(factor, factor)
                shared.add(id(known[id(factor)]))
        factors = tuple([known[id(factor)] for factor in product.factors])
        is_shared = all(map(operator.is_, factors, product.factors))
        found.append(product if is_shared else replace(product, factors=factors))
    return tuple(found)
