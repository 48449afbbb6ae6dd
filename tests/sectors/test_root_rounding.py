"""The Gram matrix of a computed root is off by no more than the root's rounding says, in exact arithmetic."""

from __future__ import annotations

from functools import reduce

import flint
import numpy as np
import pytest

from mmopt.numerics.arrays import Array
from mmopt.sectors.root_rounding import factor_rounding, qr_rounding, root_rounding


def exact(matrix: Array) -> flint.arb_mat:
    return flint.arb_mat([[flint.arb(float(x)) for x in row] for row in matrix])


@flint.ctx.workprec(200)
def off_by(root: Array, gram: flint.arb_mat) -> float:
    """‖RᵀR - H‖ / ‖R‖², Frobenius."""
    triangle = exact(root)
    missing = triangle.transpose() * triangle - gram
    squares = sum((x * x for x in missing.entries()), flint.arb(0))
    return float(squares.sqrt()) / float(np.linalg.norm(root)) ** 2


@flint.ctx.workprec(200)
def gram_of(factors: list[Array]) -> flint.arb_mat:
    """The Kronecker product of the rows' Gram matrices."""
    rows = reduce(kron, map(exact, factors))
    return rows.transpose() * rows


def kron(a: flint.arb_mat, b: flint.arb_mat) -> flint.arb_mat:
    p, q = b.nrows(), b.ncols()
    rows = [[a[i // p, j // q] * b[i % p, j % q] for j in range(a.ncols() * q)] for i in range(a.nrows() * p)]
    return flint.arb_mat(rows)


@pytest.mark.quick
@pytest.mark.draws(5)
def test_a_stacked_root_of_products(rng: np.random.Generator) -> None:
    sizes = [int(size) for size in rng.integers(2, 5, size=2)]
    each = [rng.normal(size=(size, size)) for size in sizes]
    other = [rng.normal(size=(size, size)) for size in sizes]
    rows = np.vstack([np.kron(*each), np.kron(*other)])
    root = np.linalg.qr(rows, mode="r")
    with flint.ctx.workprec(200):
        gram = gram_of(each) + gram_of(other)
    off = root_rounding([[0.0, 0.0]] * 2, [rows.shape], 1)
    assert off_by(root, gram) <= 2 * off
    # What is seen: one entry that is off by a millionth.
    root[0, 0] *= 1 + 1e-6
    assert off_by(root, gram) > 2 * off


def test_what_each_part_adds() -> None:
    assert factor_rounding("total", 1000, 1, 0.0) == 0.0
    assert 0.0 < factor_rounding("identity", 1000, 1, 0.0) < 1e-15
    assert 1e-15 < factor_rounding("prefix", 10, 10, 0.0) < 1e-12
    assert factor_rounding("prefix", 10, 10, 1e-9) > 1e-9
    least = root_rounding([[0.0], [1e-9, 2e-9]], [], 1)
    assert 3e-9 < least < 3.01e-9
    assert root_rounding([[0.0]], [(100, 10)] * 2, 1) > 2 * qr_rounding(100, 10)
    assert root_rounding([[0.0]], [], 100) > 1e-12
