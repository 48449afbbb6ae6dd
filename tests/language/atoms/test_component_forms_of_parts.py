"""Parts of one row and one column together: what each comes to by itself."""

from typing import Any

import numpy as np
import pytest
import tolerances

from mmopt.language.atoms import component_forms as parts_of
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, Numbers
from mmopt.numerics.balls import Ball

SHAPES = [(1, 1)] * 12 + [(2, 2), (3, 3)]


def drawn(rng: np.random.Generator, numbers: Numbers) -> tuple[Any, ...]:
    """Symmetric psd parts in any order, those of one entry positive, and one of them zero."""
    parts = []
    for at in rng.permutation(len(SHAPES)):
        rows = rng.normal(size=SHAPES[at])
        parts.append(numbers.exact(rows.T @ rows * (at > 0)))
    return tuple(parts)


def mid(value: Any) -> np.ndarray:
    return np.asarray(value.mid if isinstance(value, Ball) else value)


def alike(found: Any, expected: Any) -> bool:
    """Equal up to rounding; of balls both are no wider than rounding, and meet."""
    size = max(1.0, float(np.abs(mid(expected)).max(initial=0.0)))
    close = bool(np.allclose(mid(found), mid(expected), rtol=0, atol=tolerances.FINE * size, equal_nan=True))
    if not isinstance(found, Ball):
        return close and mid(found).shape == mid(expected).shape
    meet = np.abs(found.mid - expected.mid) <= found.rad + expected.rad
    return close and found.mid.shape == expected.mid.shape and bool(meet.all())


ATOMS = ["add", "sub", "mul", "matmul", "neg", "transpose", "root", "inv", "pinv", "factor"]


WITHOUT_BALLS = ("pinv", "factor")  # have no error bound


def test_each(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for atom, numbers in [(atom, PLAIN) for atom in ATOMS] + [
        (atom, BALLS) for atom in ATOMS if atom not in WITHOUT_BALLS
    ]:
        with subtests.test(atom):
            a = drawn(rng, numbers)
            other = tuple(numbers.exact(rng.normal(size=mid(own).shape)) for own in a)
            args = (a, other) if atom in ("add", "sub", "mul", "matmul") else (a,)
            found = parts_of.each(numbers, atom, *args)
            for at, own in enumerate(found):
                if atom == "inv" and not mid(a[at]).any():  # infinite, as the atom says
                    expected = numbers.call(atom, a[at])
                    assert np.array_equal(mid(own), mid(expected), equal_nan=True)
                    continue
                assert alike(own, numbers.call(atom, *(arg[at] for arg in args))), atom


def test_numbers_count_for_all(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        with subtests.test(str(numbers)):
            a, two = drawn(rng, numbers), numbers.exact(2.0)
            for atom, args in (("mul", (two, a)), ("mul", (a, two)), ("div", (a, two))):
                found = parts_of.each(numbers, atom, *args)
                for at, own in enumerate(found):
                    expected = numbers.call(
                        atom, *(arg[at] if isinstance(arg, tuple) else arg for arg in args)
                    )
                    assert alike(own, expected)


def test_vector(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for atom in ("diag", "trace", "nuclear"):
        for numbers in (PLAIN, BALLS):
            with subtests.test(str((atom, numbers))):
                a = drawn(rng, numbers)
                found, order = parts_of.vector(numbers, atom, a)
                assert sorted(order) == list(range(len(a)))
                expected = np.concatenate([np.atleast_1d(mid(numbers.call(atom, a[at]))) for at in order])
                np.testing.assert_allclose(mid(found), expected, atol=tolerances.FINE)


def test_solved(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        for sides in ("", "left", "right", "both"):
            with subtests.test(str((sides, numbers))):
                matrix = tuple(
                    m if mid(m).size > 1 else numbers.exact(mid(m) + 1.0) for m in drawn(rng, numbers)
                )
                left, right = (
                    tuple(numbers.exact(rng.normal(size=mid(m).shape)) for m in matrix)
                    if sides in (side, "both")
                    else None
                    for side in ("left", "right")
                )
                found = parts_of.solved(numbers, left, matrix, right)
                for at, own in enumerate(found):
                    expected = numbers.solved(left and left[at], matrix[at], right and right[at])
                    assert alike(own, expected)


def test_what_is_not_positive_goes_through_the_atom() -> None:
    """A root of a ball that reaches below zero is the atom's, which knows what to do with it."""
    parts = tuple(Ball(np.array([[m]]), np.array([[0.5]])) for m in (0.25, *range(1, 12)))
    found = parts_of.each(BALLS, "inv", *[parts])
    assert not np.isfinite(found[0].rad).all() and all(np.isfinite(own.rad).all() for own in found[1:])


def test_diagonals_of_what_is_solved(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        with subtests.test(str(numbers)):
            matrix = tuple(m if mid(m).size > 1 else numbers.exact(mid(m) + 1.0) for m in drawn(rng, numbers))
            left, right = (
                tuple(numbers.exact(rng.normal(size=mid(m).shape)) for m in matrix) for _ in ("left", "right")
            )
            found, order = parts_of.solved_diagonals(numbers, left, matrix, right)
            assert sorted(order) == list(range(len(matrix)))
            expected = [np.diag(mid(numbers.solved(left[at], matrix[at], right[at]))) for at in order]
            np.testing.assert_allclose(mid(found), np.concatenate(expected), atol=tolerances.FINE)


def test_a_diagonal_where_nothing_can_be_solved_is_infinite() -> None:
    zero = np.zeros((2, 2))
    found, _ = parts_of.solved_diagonals(PLAIN, (np.eye(2),), (zero,), (np.eye(2),))
    assert np.isinf(found).all()
