"""The first independent rows of a matrix: of integers without rounding, of other numbers by Gram-Schmidt."""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import Array, Ints

__all__ = ["first_independent", "is_whole"]

# Rows that are independent modulo a prime are independent. The converse fails with a chance of about one in
# the prime; what is written in too few rows is then found out (``coefficients``).
PRIME = 2**31 - 1
DEPENDENT = 1e-10  # part of a row outside the span of those before it, relatively, that counts as nothing


def is_whole(matrix: Array) -> bool:
    """Whether all entries are integers that floats hold exactly."""
    return bool((matrix == np.rint(matrix)).all() and np.abs(matrix).max(initial=0.0) <= 2**53)


def first_independent(matrix: Array) -> Ints:
    """Positions of the rows of a matrix (m, n) that are no combination of the rows before them, in order."""
    return _modulo(matrix) if is_whole(matrix) else _by_projection(matrix)


def _modulo(matrix: Array) -> Ints:
    """By elimination modulo a prime; every pivot row is 1 at its pivot, the others 0 there."""
    reduced = np.zeros((0, matrix.shape[1]), dtype=np.int64)
    pivots: list[int] = []
    chosen: list[int] = []
    for position, row in enumerate(matrix.astype(np.int64) % PRIME):
        rest = row.copy()
        for factor, known in zip(row[pivots], reduced, strict=True):
            if factor:
                rest = (rest - factor * known) % PRIME
        if not rest.any():
            continue
        pivot = int(np.argmax(rest != 0))
        rest = rest * pow(int(rest[pivot]), -1, PRIME) % PRIME
        reduced = (reduced - reduced[:, [pivot]] * rest) % PRIME
        reduced = np.vstack([reduced, rest])
        pivots.append(pivot)
        chosen.append(position)
        if len(chosen) == matrix.shape[1]:
            break
    return np.array(chosen, dtype=np.int64)


def _by_projection(matrix: Array) -> Ints:
    most = min(matrix.shape)
    basis = np.zeros((most, matrix.shape[1]))
    chosen: list[int] = []
    for position, row in enumerate(matrix):
        size = float(np.linalg.norm(row))
        if len(chosen) == most or size == 0.0:
            continue
        rest = row / size
        for _ in range(2):  # twice is enough
            known = basis[: len(chosen)]
            rest = rest - (known @ rest) @ known
        left = float(np.linalg.norm(rest))
        if left > DEPENDENT:
            basis[len(chosen)] = rest / left
            chosen.append(position)
    return np.array(chosen, dtype=np.int64)
