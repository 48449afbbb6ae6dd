"""Integer matrices that are Kronecker products, side by side: measured and inverted by factors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import require_memory
from mmopt.privacy.rounding.exact import largest_entry, root_above
from mmopt.privacy.rounding.lattice import is_one_count
from mmopt.privacy.rounding.protocol import MAX_ROWS, Floats, Integers, Neighbours, Part
from mmopt.strategies.dense import Strategy
from mmopt.strategies.product import ProductStrategy
from mmopt.strategies.union import UnionStrategy
from mmopt.workloads.workload import Workload

__all__ = ["IntegerFactors", "sensitivity_of"]


@dataclass(frozen=True, eq=False)
class IntegerFactors:
    """⊗ᵢ Kᵢ of every part; the attributes are those of ``mechanism.rounding_any.Measured``.

    factors : by part and attribute, (pᵢ, nᵢ) int64. relatives : the noise of each part over that of the
    release. squared : the squared sensitivity of each part, exact for neighbours that add or remove a row.
    """

    workload: Workload
    factors: tuple[tuple[Integers, ...], ...]
    relatives: tuple[float, ...]
    squared: tuple[int, ...]
    norm: int
    neighbours: Neighbours
    loss: float = 1.0

    @property
    def bits(self) -> int:
        """0: ``relatives`` hold the scale of each part."""
        return 0

    @property
    def bias(self) -> float:
        """0: the integers span the queries exactly."""
        return 0.0

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every product."""
        return tuple(
            Part(
                rows=math.prod(len(k) for k in own),
                squared_sensitivity=square,
                largest_answer=math.prod(map(largest_entry, own)) * MAX_ROWS,
                relative=relative,
                is_one_count=self.neighbours == "add-remove" and all(map(is_one_count, own)),
            )
            for own, relative, square in zip(self.factors, self.relatives, self.squared, strict=True)
        )

    @property
    def sensitivity(self) -> float:
        """Of all parts, each over its relative noise: their sum (norm 1) or root of the sum of squares."""
        return sensitivity_of(self.parts, self.norm)

    @property
    def variances(self) -> Floats:
        """(m,) of the queries at noise of a unit times the relatives; for several parts upper bounds."""
        return self._strategy(np.array(self.relatives)).variances(self.workload)

    def standard_errors(self, deviations: Floats) -> Floats:
        """Of the queries, (m,), at noise of these standard deviations on the parts; else as ``variances``."""
        return np.sqrt(self._strategy(deviations).variances(self.workload))

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the factors and the relative noise of every part, in row-major order."""
        digest = hashlib.sha256(f"integer-factors 1 {len(self.factors)}\n".encode())
        for own, relative in zip(self.factors, self.relatives, strict=True):
            digest.update(f"{relative!r} {[k.shape for k in own]}\n".encode())
            for k in own:
                digest.update(np.ascontiguousarray(k, dtype="<i8").tobytes())
        return digest.hexdigest()

    def answers(self, counts: Integers) -> Integers:
        """The exact answers (rows,) for a data vector (n,), part by part."""
        return np.concatenate([_product(own, counts) for own in self.factors])

    def estimate(self, noisy: Floats | Integers, deviations: Floats | None = None) -> Floats:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,).

        By the Kronecker pseudo-inverse for one part, else by LSMR; all from one estimate of the data vector.

        Raises
        ------
        TooLargeError : as many numbers as cells do not fit in memory. SolverError : LSMR does not settle.
        """
        require_memory((self.workload.n,), "estimate of the data vector")
        known = np.array(self.relatives) if deviations is None else deviations
        strategy = self._strategy(known)
        scaled = noisy / np.repeat(known, [part.rows for part in self.parts])
        largest = max(strategy.shares)
        if len(self.parts) == 1:
            return self.workload.answers(strategy.parts[0].estimate(scaled / largest))
        # Shares of about one: LSMR squares numbers, and the shares are as small as the noise is large.
        equal = UnionStrategy(strategy.parts, tuple(share / largest for share in strategy.shares))
        return self.workload.answers(equal.estimate(scaled / largest))

    def _strategy(self, deviations: Floats) -> UnionStrategy:
        """The strategy whose unit noise is noise of these deviations on the integers."""
        lengths = [math.prod(f.sensitivity for f in own) for own in self._real]
        return UnionStrategy(self._products, tuple(np.array(lengths) / deviations))

    @cached_property
    def _real(self) -> tuple[tuple[Strategy, ...], ...]:
        return tuple(tuple(Strategy(k.astype(np.float64), self.norm) for k in own) for own in self.factors)

    @cached_property
    def _products(self) -> tuple[ProductStrategy, ...]:
        """The factors at sensitivity 1."""
        return tuple(
            ProductStrategy(tuple(Strategy(f.matrix / f.sensitivity, self.norm) for f in own))
            for own in self._real
        )


def sensitivity_of(parts: Sequence[Part], norm: int) -> float:
    """Σ or √Σ² of the parts' sensitivities over their relative noise, rounded upwards."""
    own = [root_above(part.squared_sensitivity) / part.relative for part in parts]
    return math.nextafter(math.fsum(own) if norm == 1 else math.hypot(*own), math.inf) * (1 + 2.0**-50)


def _product(factors: Sequence[Integers], counts: Integers) -> Integers:
    """(⊗ᵢ Kᵢ) x, an axis at a time, what shrinks most first.

    Exact: entries and partial sums are at most the product of the factors' largest entries times the rows of
    the data, which ``calibration.check_scales`` has found to fit.
    """
    tensor = counts.reshape([k.shape[1] for k in factors])
    for at in sorted(range(len(factors)), key=lambda i: factors[i].shape[0] / factors[i].shape[1]):
        tensor = np.moveaxis(np.tensordot(factors[at], tensor, axes=(1, at)), 0, at)
    return tensor.ravel()
