"""Queries and strategies in balls: sensitivity, support, variances, total error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq
from judge import balls

ROUNDING = 2e-9
"""What of a query, relatively, may lie outside the span of a strategy: mmopt states half of it."""


@dataclass(frozen=True)
class Asked:
    """The queries as given: unweighted rows (m, n), weight of each squared error, targets."""

    queries: np.ndarray
    weights: np.ndarray
    targets: np.ndarray

    @staticmethod
    def of(workload: Any) -> Asked:
        """From the plain data of a workload, no root or basis of it: the entries as given."""
        return Asked(np.asarray(workload.queries), np.asarray(workload.weights), np.asarray(workload.targets))

    @property
    def n(self) -> int:
        return int(self.queries.shape[1])

    def gram(self) -> arb_mat:
        """WᵀW, weighted."""
        q = balls.matrix(self.queries)
        return q.transpose() * balls.scaled(q, left=balls.reals(self.weights))

    def weighted(self) -> arb_mat:
        """W: each query times the root of its weight."""
        return balls.scaled(balls.matrix(self.queries), left=[w.sqrt() for w in balls.reals(self.weights)])

    def targeted(self) -> tuple[arb_mat, list[arb]]:
        """The unweighted queries that have a target, and the targets."""
        has = np.isfinite(self.targets)
        return balls.matrix(self.queries[has]), balls.reals(self.targets[has])


@dataclass(frozen=True)
class Measured:
    """Rows A (p, n) of a strategy, some of them independent and spanning the others."""

    rows: arb_mat
    independent: tuple[int, ...]
    norm: int

    @staticmethod
    def dense(a: np.ndarray, norm: int) -> Measured:
        return Measured(balls.matrix(a), tuple(balls.independent_rows(a)), norm)

    @staticmethod
    def balls(rows: arb_mat, norm: int) -> Measured:
        """Rows that are no doubles; which of them are independent is seen from their midpoints."""
        return Measured(rows, tuple(_pivots(balls.doubles(rows))), norm)

    def sensitivity(self) -> arb:
        return balls.largest_column(self.rows, self.norm)

    def told(self, queries: arb_mat) -> tuple[list[arb], arb]:
        """Variance of each query's best unbiased estimate at unit noise, and what no estimate reaches.

        The second is the largest part of a query outside the span of A, squared and relative. Variances
        are those of the part inside.
        """
        n, rank = self.rows.ncols(), len(self.independent)
        if rank == n:
            inverse = balls.gram(self.rows).solve(queries.transpose())
            return _pairs(queries, inverse.transpose()), arb(0)
        span = arb_mat([self.rows.tolist()[i] for i in self.independent])
        square = span * span.transpose()
        seen = square.solve(span * queries.transpose()).transpose()  # queries ≈ seen @ span
        off = queries - seen * span
        sizes = zip(balls.rows_squared(off), balls.rows_squared(queries), strict=True)
        missed = balls.greatest([top / whole for top, whole in sizes])
        if rank == self.rows.nrows():
            return balls.rows_squared(seen), missed
        mixed = square.solve(span * self.rows.transpose()).transpose()  # rows = mixed @ span
        rest = self.rows - mixed * span
        if not all(x.contains(0) and x.rad() < arb(10) ** -20 for x in rest.entries()):
            raise ZeroDivisionError("the other rows are not seen to depend on these at this precision")
        return _pairs(seen, balls.gram(mixed).solve(seen.transpose()).transpose()), missed

    def nearly(self, queries: arb_mat) -> tuple[list[arb], arb]:
        """``told`` by the strategy's large directions alone: for figures that are called estimates.

        Noise in the rows makes columns independent that are not meant to be. R = W V (A V)⁺, V some leading
        singular vectors, has these variances, and W - R A is what it misses. Of all V that miss no more than
        ``ROUNDING`` of a query the one of least variance is taken.
        """
        _, s, vt = np.linalg.svd(balls.doubles(self.rows), full_matrices=False)
        sizes = balls.rows_squared(queries)
        found = []
        for rank in sorted({int((s > s[0] * 10.0**-k).sum()) for k in (6, 8, 10, 12, 14)}):
            v = balls.matrix(vt[:rank].T)
            seen = self.rows * v
            back = balls.gram(seen).solve(seen.transpose()).transpose()  # (A V)⁺ transposed
            r = queries * v * back.transpose()
            missed = balls.greatest(
                [x / y for x, y in zip(balls.rows_squared(queries - r * self.rows), sizes, strict=True)]
            )
            if missed <= ROUNDING**2:
                found.append((balls.rows_squared(r), missed))
        return min(found, key=lambda each: sum(float(x) for x in each[0])) if found else self.told(queries)

    def total_error(self, asked: Asked, strict: bool = True) -> arb:
        """‖A‖² Σ weight · variance."""
        queries = balls.matrix(asked.queries)
        variances, _ = self.told(queries) if strict else self.nearly(queries)
        weights = balls.reals(asked.weights)
        return self.sensitivity() ** 2 * sum((w * v for w, v in zip(weights, variances, strict=True)), arb(0))


def exact_sensitivity(a: np.ndarray, norm: int) -> fmpq:
    """The largest L1 norm, or the square of the largest L2 norm, of a column of doubles: rational."""
    best = fmpq(0)
    for column in np.asarray(a, dtype=float).T.tolist():
        total = fmpq(0)
        for x in column:
            if x:
                q = balls.exact(x)
                total += q * q if norm == 2 else abs(q)
        best = max(best, total)
    return best


def _pairs(a: arb_mat, b: arb_mat) -> list[arb]:
    """Inner products of the rows of two matrices."""
    rows = zip(a.tolist(), b.tolist(), strict=True)
    return [sum((x * y for x, y in zip(one, other, strict=True)), arb(0)) for one, other in rows]


def _pivots(a: np.ndarray) -> Sequence[int]:
    """Independent rows by Gram-Schmidt in the order of their remaining lengths."""
    left, out = a.copy(), []
    lengths = np.linalg.norm(a, axis=1)
    for _ in range(min(a.shape)):
        own = np.linalg.norm(left, axis=1) / np.maximum(lengths, 1e-300)
        best = int(np.argmax(own))
        if own[best] < 1e-9:
            break
        out.append(best)
        direction = left[best] / np.linalg.norm(left[best])
        for _ in range(2):
            left = left - np.outer(left @ direction, direction)
    return sorted(out)
