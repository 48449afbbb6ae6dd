"""Sets of attributes measured one by one, each by the Kronecker product of its attributes' matrices.

Each attribute has a matrix A_i (p_i, n_i) no combination of whose rows is constant, each set S a weight θ_S;
what is measured is θ_S ⊗_{i in S} A_i, all other attributes summed over. With the constant above A_i is
[1; A_i], of full row rank, and a query of attribute i is q = γ 1ᵀ + ℓ A_i in one way only. So a product of
queries is a sum over sets S of θ_S-measured rows in one way only, and least squares are that sum:

    its variance is Σ_S θ_S⁻² Π_{i in S} |ℓ_i|² Π_{i not in S} γ_i².

This is the form of the residual planner (Xiao et al., arXiv 2305.08175) for any queries: everything is in
closed form over any number of cells. The squared length of a column is Σ_S θ_S² Π |a_i|², largest where each
|a_i| is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, owned
from mmopt.numerics.outward import check_norm, column_norms, plus_up, root_up, times_up
from mmopt.numerics.pseudoinverse import has_full_rank
from mmopt.strategies.dense_strategy import StrategyForm
from mmopt.strategies.product_strategy import products_of
from mmopt.workloads import Dense, Implicit, Kron, Product, Scaled, Stack, Workload
from mmopt.workloads.blocks.combined_blocks import kron
from mmopt.workloads.query_product import total

OUTSIDE = 1e-18
"""The part of a query's squared length that may lie outside of the measured rows by rounding."""
PER_CONDITION = 16 * EPS
"""The part that rounding may add to a query's coefficients, for each row and each unit of condition."""
NOTHING = 1e-26
"""The part of a query's squared length that rounding leaves where there is none."""


@dataclass(frozen=True, eq=False, repr=False)
class SectorwiseStrategy(StrategyForm):
    """The rows θ_S ⊗ A_i of all sets, measured with noise. Immutable.

    Parameters
    ----------
    matrices : A_i (p_i, n_i) by attribute; p_i = 0 where only totals are measured.
    sets : of attributes, each ascending, all different. weights : θ_S > 0, one a set. norm : 1 or 2.

    Raises
    ------
    OptionError : a matrix with entries that are not finite, or with rows that, with the constant, are
        dependent; sets that repeat or have other attributes; weights that are not positive; another norm.
    """

    matrices: tuple[Array, ...]
    sets: tuple[tuple[int, ...], ...]
    weights: Array
    norm: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrices", tuple(map(owned, self.matrices)))
        object.__setattr__(self, "sets", tuple(tuple(map(int, one)) for one in self.sets))
        object.__setattr__(self, "weights", owned(self.weights))
        check_norm(self.norm, "the strategy's norm")
        for i, matrix in enumerate(self.matrices):
            if not np.isfinite(matrix).all():
                raise OptionError(f"the matrix of attribute {i} has NaN or infinite entries")
            if not has_full_rank(_with_constant(matrix)):
                raise OptionError(f"the rows of attribute {i} and the constant are dependent")
        ascending = [one for one in self.sets if sorted(set(one)) == list(one)]
        inside = all(0 <= i < len(self.matrices) for one in self.sets for i in one)
        if not (self.sets and inside and len(set(ascending)) == len(self.sets)):
            raise OptionError("the sets of attributes repeat, or are not ascending places of attributes")
        if self.weights.shape != (len(self.sets),) or not (
            np.isfinite(self.weights).all() and (self.weights > 0).all()
        ):
            raise OptionError(
                f"the weights must be {len(self.sets)} finite numbers above 0, one for each set"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of values, by attribute."""
        return tuple(matrix.shape[1] for matrix in self.matrices)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Measured queries of each set."""
        return tuple(math.prod(len(self.matrices[i]) for i in one) for one in self.sets)

    @property
    def p(self) -> int:
        return sum(self.rows)

    @property
    def n(self) -> int:
        return math.prod(self.sizes)

    @property
    def largest_column(self) -> float:
        """Σ θ Π or √Σ θ² Π² of the attributes' longest columns, rounded upwards: some cell has them all."""
        longest = [column_norms(a, self.norm).max(initial=0.0) if len(a) else 0.0 for a in self.matrices]
        total = np.zeros(())
        for one, weight in zip(self.sets, self.weights, strict=True):
            size = np.asarray(weight)
            for i in one:
                size = times_up(size, longest[i])
            total = plus_up(total, times_up(size, size) if self.norm == 2 else size)
        return float(root_up(total) if self.norm == 2 else total)

    def divided(self, by: float) -> SectorwiseStrategy:
        return SectorwiseStrategy(self.matrices, self.sets, self.weights / by, self.norm)

    # -- the errors of queries -------------------------------------------------------------------------

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        products = products_of(workload, self.sizes)
        return np.concatenate([self.product_variances(product.unweighted()) for product in products])

    def squared_error(self, workload: Workload) -> float:
        """The error by sums over the rows of each factor: no list of the queries."""
        return math.fsum(self.errors_by_set(workload) / np.square(self.weights))

    def errors_by_set(self, workload: Workload) -> Array:
        """(sets,) the part of each set in the squared error where its weight is 1; infinite where some query
        is not supported."""
        errors = np.zeros(len(self.sets))
        for product in products_of(workload, self.sizes):
            for one, values in self._by_set(product.weighed(), sums=True):
                place = self._place_of.get(one)
                if place is not None:
                    errors[place] += product.weight * float(values[0])
                elif values[0] > 0:
                    errors[:] = np.inf
        return errors

    def variances_by_set(self, product: Product) -> Iterator[tuple[tuple[int, ...], Array]]:
        """The part of each set, at weight 1, in the variances (m,) of a product's unweighted queries."""
        return self._by_set(product.unweighted(), sums=False)

    def product_variances(self, product: Product) -> Array:
        """(m,) the variances of a product's queries: infinity where a set is not measured."""
        variances = np.zeros(math.prod(product.factors[i].rows for i in product.looked_at))
        for one, values in self._by_set(product, sums=False):
            place = self._place_of.get(one)
            variances += (
                np.where(values > 0, np.inf, 0.0) if place is None else values / self.weights[place] ** 2
            )
        return variances

    def _by_set(self, product: Product, sums: bool) -> Iterator[tuple[tuple[int, ...], Array]]:
        """By sets of the product's attributes Π_{i in S} |ℓ_i|² Π_{i not in S} γ_i² of each query, (m,); or
        the sum of these, (1,)."""
        looked = product.looked_at
        combined = [self._combined(i, product.factors[i]) for i in looked]
        parts = [(one.means, one.lengths) for one in combined]
        if sums:
            parts = [(means.sum(keepdims=True), lengths.sum(keepdims=True)) for means, lengths in parts]
        for chosen in itertools.product((False, True), repeat=len(looked)):
            values = np.ones((1, 1))
            with np.errstate(invalid="ignore"):  # 0 times an infinite length is 0
                for pair, at in zip(parts, map(int, chosen), strict=True):
                    values = np.nan_to_num(kron([values, pair[at][None]]), nan=0.0, posinf=np.inf)
            yield tuple(itertools.compress(looked, chosen)), values[0]

    @cached_property
    def _place_of(self) -> dict[tuple[int, ...], int]:
        return {one: at for at, one in enumerate(self.sets)}

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """By attribute (n_i, 1 + p_i), [1; A_i]⁺: first the base, then ℓ of a query."""
        return tuple(map(_inverse, self.matrices))

    @cached_property
    def rounding(self) -> float:
        """A relative bound on the rounding of a squared error: by the condition of the attributes' rows."""
        conditions = [
            float(np.linalg.norm(inverse) * np.linalg.norm(_with_constant(a)))
            for inverse, a in zip(self.inverses, self.matrices, strict=True)
        ]
        most = max(map(len, self.matrices), default=0) + 1
        return PER_CONDITION * most * max(1, *map(len, self.sets)) * max(1.0, *conditions)

    @cached_property
    def _kept(self) -> dict[tuple[int, Implicit], _Combined]:
        return {}

    def _combined(self, i: int, factor: Implicit) -> _Combined:
        """A factor's queries in terms of the rows of attribute i."""
        if (i, factor) not in self._kept:
            self._kept[i, factor] = _combine(factor.matrix(), self.matrices[i], self.inverses[i])
        return self._kept[i, factor]

    # -- estimates -------------------------------------------------------------------------------------

    def answers_from(self, workload: Workload, noisy: Array) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (p,), without the cells.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        OptionError : a query that is not supported.
        """
        require_memory((workload.m,), "estimates of the queries")
        parts = np.split(np.asarray(noisy, dtype=np.float64), np.cumsum(self.rows)[:-1])
        sums = {
            one: (part / weight).reshape([len(self.matrices[i]) for i in one])
            for one, weight, part in zip(self.sets, self.weights, parts, strict=True)
        }
        return np.concatenate([self._answers(p, sums) for p in products_of(workload, self.sizes)])

    def _answers(self, product: Product, sums: Mapping[tuple[int, ...], Array]) -> Array:
        looked = product.looked_at
        combined = [self._combined(i, product.factors[i].plain) for i in looked]
        answers = np.zeros([len(factor.means) for factor in combined])
        for chosen in itertools.product((False, True), repeat=len(looked)):
            one = tuple(itertools.compress(looked, chosen))
            if one in sums:
                table = sums[one].reshape([len(self.matrices[i]) if i in one else 1 for i in looked])
                for at, factor in enumerate(combined):
                    matrix = factor.inner if chosen[at] else factor.base
                    table = np.moveaxis(np.tensordot(matrix, table, axes=(1, at)), 0, at)
                answers += table
            elif all(
                (factor.lengths if at else factor.means).any()
                for factor, at in zip(combined, chosen, strict=True)
            ):
                raise OptionError("the strategy does not support the queries whose answers are asked")
        return answers.ravel()

    def implicit(self) -> Implicit:
        """All rows (p, n), never formed, one set after the other."""
        rows = []
        for one, weight in zip(self.sets, self.weights.tolist(), strict=True):
            parts = [Dense(a) if i in one else total(a.shape[1]) for i, a in enumerate(self.matrices)]
            rows.append(Scaled(Kron(parts), weight))
        return Stack(rows)

    @property
    def matrix(self) -> Array:
        """A, dense (p, n), computed at each call; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix")
        return self.implicit().matrix()

    # -- saved, and shown ------------------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        most = max(map(len, self.sets))
        return {
            "form": "sectorwise",
            "matrices": {str(i): matrix for i, matrix in enumerate(self.matrices)},
            "sets": np.array([[*one, *[-1] * (most - len(one))] for one in self.sets], dtype=np.int64),
            "weights": self.weights,
            "norm": self.norm,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> SectorwiseStrategy:
        matrices, padded = fields["matrices"], fields["sets"]
        return cls(
            tuple(matrices[str(i)] for i in range(len(matrices))),
            tuple(tuple(int(i) for i in row if i >= 0) for row in padded),
            fields["weights"],
            fields["norm"],
        )

    def __repr__(self) -> str:
        return self._words(f"{self.p:,} queries by {len(self.sets):,} sets of {len(self.sizes)} attributes")


@dataclass(frozen=True, eq=False)
class _Combined:
    """A factor's queries (m, n) as γ 1ᵀ + ℓ A: base (m, 1), γ; inner (m, p), ℓ; means γ², lengths |ℓ|² (m,).

    Lengths are infinite where a query is not measured.
    """

    base: Array
    inner: Array
    means: Array
    lengths: Array


def _combine(queries: Array, matrix: Array, inverse: Array) -> _Combined:
    coefficients = queries @ inverse
    base, inner = coefficients[:, :1], coefficients[:, 1:]
    part, sizes = inner @ matrix, np.square(queries).sum(axis=1)
    outside = np.square(queries - base - part).sum(axis=1) > OUTSIDE * sizes
    base = np.where(np.square(base) * queries.shape[1] > NOTHING * sizes[:, None], base, 0.0)
    inner = np.where((np.square(part).sum(axis=1) > NOTHING * sizes)[:, None], inner, 0.0)
    lengths = np.where(outside, np.inf, np.square(inner).sum(axis=1))
    return _Combined(base, inner, np.square(base)[:, 0], lengths)


def _inverse(matrix: Array) -> Array:
    scales = np.ones(1 + len(matrix))
    scales[0] = _size(matrix)  # for independent rows the inverse undoes their scale
    return np.asarray(np.linalg.pinv(_with_constant(matrix)) * scales, dtype=np.float64)


def _with_constant(matrix: Array) -> Array:
    """The matrix below a constant row of its size."""
    return np.vstack([np.full((1, matrix.shape[1]), _size(matrix)), matrix])


def _size(matrix: Array) -> float:
    return float(np.abs(matrix).max(initial=0.0)) or 1.0
