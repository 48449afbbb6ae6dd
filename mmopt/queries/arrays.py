"""Small array helpers: read-only results, the memory limit, singular values, stacked QR."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.linalg

from mmopt.errors import TooLargeError

__all__ = ["MEMORY_LIMIT", "Array", "Ints", "frozen", "qr", "require_memory", "stacked_root", "svd"]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
AnyArray = TypeVar("AnyArray", bound=np.ndarray[tuple[int, ...], np.dtype[np.generic]])

MEMORY_LIMIT = 4 * 2**30
"""Bytes that one dense array may take."""


def frozen(array: AnyArray) -> AnyArray:
    """The same array, read-only."""
    array.setflags(write=False)
    return array


def require_memory(shape: tuple[int, ...], what: str, hint: str = "") -> None:
    """Raise TooLargeError if a dense array of this shape would pass the memory limit."""
    size = 8 * math.prod(shape)
    if size > MEMORY_LIMIT:
        raise TooLargeError(
            f"the {what} has {' × '.join(f'{length:,}' for length in shape)} entries, "
            f"{size / 2**30:,.1f} GiB; the limit is {MEMORY_LIMIT / 2**30:g} GiB",
            hint=hint,
        )


def svd(matrix: Array, full: bool = False) -> tuple[Array, Array]:
    """Singular values, descending, and right singular vectors as rows ((min(p, n), n), or (n, n) if full)."""
    p, n = matrix.shape
    if p > n:
        matrix = qr(matrix)  # the same right factors, without the large left one
    try:
        _, values, rows = scipy.linalg.svd(matrix, full_matrices=full)
    except np.linalg.LinAlgError:
        # The fast driver (divide and conquer) may fail to converge where the slow one does not.
        _, values, rows = scipy.linalg.svd(matrix, full_matrices=full, lapack_driver="gesvd")
    return values, rows


def qr(matrix: Array) -> Array:
    """The triangle R (min(p, n), n) of a QR factorisation."""
    return np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)


def stacked_root(blocks: Iterable[Array], n: int) -> Array:
    """R (r, n) with RᵀR = Σ BᵀB over the blocks B (·, n), by QR, never through a Gram matrix.

    At most about 2n rows plus one block are held at a time. With n rows or less in all, the rows
    themselves are returned. The error is that of QR (Householder, backward stable): a small multiple of
    machine precision times ‖R‖.
    """
    held: list[Array] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += block.shape[0]
        if count > 2 * n:
            held = [qr(np.vstack(held))]
            count = held[0].shape[0]
    stacked = np.vstack(held)
    return stacked if count <= n else qr(stacked)
