"""The nuclear norm lies in its ball, and the ball is small, whatever the matrix.

Guards ball_functions.py.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from exact_arithmetic import assert_inside, fractions, orthogonal

from mmopt.numerics.ball_functions import nuclear
from mmopt.numerics.balls import Ball, exact


@pytest.mark.quick
def test_nuclear_norm(subtests: pytest.Subtests) -> None:
    for (rows, columns), smallest in product(product((1, 2, 4, 16), repeat=2), [0, 1, 30]):
        with subtests.test(rows=rows, columns=columns, smallest=smallest):
            rng = np.random.default_rng(rows * 100 + columns)
            r = min(rows, columns)
            # singular values over a wide range, with few bits, so that the product below is exact
            s = np.ldexp(rng.integers(1, 8, size=r).astype(float), -rng.integers(0, smallest + 1, size=r))
            s[rng.random(r) < 0.3] = 0.0
            s[0] = 1.0
            k = (orthogonal(rng, rows)[:, :r] * s) @ orthogonal(rng, columns)[:r]
            ball = nuclear(exact(k))
            assert_inside(fractions(s).sum(), ball)
            assert ball.rad <= 1e-12 * s.sum()
            off = rng.normal(size=k.shape) * 1e-5
            shaken = Ball(k + off, np.abs(off) * (1 + 1e-9) + 1e-9)
            assert_inside(fractions(s).sum(), nuclear(shaken))


def blocks(rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Orthogonal blocks of four rows times a size each, shuffled: singular values exactly the sizes."""
    n = 4 * len(sizes)
    out = np.zeros((n, n))
    for i, size in enumerate(sizes):
        out[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = orthogonal(rng, 4) * size
    return out[rng.permutation(n)][:, rng.permutation(n)]


def test_singular_values_of_every_size(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """From one to 2^-least, with some that are zero; what is far below rounding may be lost."""
    for shape, least in product(["square", "wide", "tall"], [0, 20, 60, 1000]):
        with subtests.test(shape=shape, least=least):
            sizes = np.ldexp(1.0, -rng.integers(0, least + 1, size=40))
            sizes[rng.random(40) < 0.2] = 0.0
            sizes[0] = 1.0
            k = blocks(rng, sizes)
            if shape != "square":
                k = np.hstack([k, np.zeros((len(k), 7))])
            ball = nuclear(exact(k if shape != "tall" else k.T))
            truth = 4 * fractions(sizes).sum()
            assert_inside(truth, ball)
            assert ball.rad <= 2e-11 * float(truth)


def test_dependent_rows(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """The lower end is close even where nearly all singular values are zero."""
    for rank in [1, 3, 31]:
        with subtests.test(rank=rank):
            k = rng.integers(-4, 5, size=(64, rank)) @ rng.integers(-4, 5, size=(rank, 96)).astype(float)
            for matrix in (k, k.T, np.where(np.arange(64)[:, None] % 3 > 0, k, 0.0)):
                ball = nuclear(exact(matrix))
                value = np.linalg.svd(matrix, compute_uv=False).sum()
                assert ball.lower <= value * (1 + 1e-12) and value * (1 - 1e-12) <= ball.upper
                assert ball.rad <= 1e-11 * value


def test_no_square_overflows(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for bits in [-1060, -600, -300, 300, 600, 1000]:
        with subtests.test(bits=bits):
            sizes = np.ldexp(rng.integers(1, 8, size=3).astype(float), -rng.integers(0, 9, size=3))
            k = np.ldexp(blocks(rng, sizes), bits)
            ball = nuclear(exact(k))
            assert_inside(4 * fractions(sizes).sum() * Fraction(2) ** bits, ball)
            assert ball.rad <= 1e-12 * ball.mid + 1e-299


def test_nothing_is_known_and_nothing_is_there() -> None:
    assert np.isinf(nuclear(exact(np.array([[np.inf]]))).rad)
    assert np.isinf(nuclear(Ball(np.ones((2, 2)), np.full((2, 2), np.inf))).rad)
    nothing = nuclear(exact(np.zeros((3, 5))))
    assert nothing.mid <= 1e-290 and nothing.rad <= 1e-290
    assert_inside(2 * fractions(np.ones(3)).sum(), nuclear(Ball(np.zeros((3, 3)), np.full((3, 3), 2.0))))


def test_many_terms(rng: np.random.Generator) -> None:
    """Sums longer than one block of terms."""
    q = orthogonal(rng, 256)[:40]
    assert_inside(fractions(np.ones(40)).sum(), nuclear(exact(q)))
    assert nuclear(exact(q.T)).rad <= 40 * 1e-12


@pytest.mark.quick
def test_a_polar_factor_saves_the_decomposition(subtests: pytest.Subtests) -> None:
    """Slightly off it is still good; nothing but the lower end depends on it."""
    for shape in [(6, 6), (4, 9), (9, 4)]:
        with subtests.test(shape=shape):
            rng = np.random.default_rng(sum(shape))
            r = min(shape)
            s = np.ldexp(rng.integers(1, 8, size=r).astype(float), -rng.integers(0, 10, size=r))
            left, right = orthogonal(rng, shape[0])[:, :r], orthogonal(rng, shape[1])[:r]
            k = (left * s) @ right
            guess = left @ right + 1e-8 * rng.normal(size=shape)
            ball = nuclear(exact(k), guess)
            assert_inside(fractions(s).sum(), ball)
            assert ball.lower >= s.sum() * (1 - 1e-8)
            assert ball.upper > s.sum() * (1 + 1e-6)  # no decomposition was made


def test_what_is_no_polar_factor_is_not_taken(subtests: pytest.Subtests) -> None:
    rng = np.random.default_rng(3)
    left, right, s = orthogonal(rng, 8), orthogonal(rng, 8), np.arange(1.0, 9.0)
    guesses = {
        "another matrix": orthogonal(rng, 8),
        "reversed sign": -left @ right,
        "transposed": (left @ right).T,
        "another shape": (left @ right)[:5],
    }
    for wrong, guess in guesses.items():
        with subtests.test(wrong):
            ball = nuclear(exact((left * s) @ right), guess)
            assert_inside(fractions(s).sum(), ball)
            assert ball.rad <= 1e-12 * s.sum()
