"""Intervals hold every exact result, of numbers next to nothing and next to all that floats hold too."""

from fractions import Fraction

import numpy as np
import pytest

from mmopt.compiler.duality.intervals import Range, others, plus, quotient, times, total

pytestmark = pytest.mark.quick
SIZES = (1e-320, 1e-300, 1e-162, 1e-5, 1.0, 1e5, 1e154, 1e300, 3e307)


def interval(rng: np.random.Generator) -> tuple[Range, list[Fraction]]:
    """With both ends and something between them, exactly; of any size, some around or at zero."""
    ends = np.sort(rng.choice(SIZES) * rng.uniform(1, 2, 2) * rng.choice([-1.0, 1.0, 0.0], 2))
    low, high = (float(end) for end in ends)
    inner = [Fraction(low), Fraction(high), (Fraction(low) + Fraction(high)) / 2]
    return Range(np.asarray(low), np.asarray(high)), inner


def holds(found: Range, value: Fraction) -> bool:
    low, high = float(found.low), float(found.high)
    return (low == -np.inf or Fraction(low) <= value) and (high == np.inf or value <= Fraction(high))


@pytest.mark.draws(20)
def test_what_is_exact_lies_inside(rng: np.random.Generator) -> None:
    for _ in range(20):
        (a, first), (b, last) = interval(rng), interval(rng)
        with np.errstate(all="ignore"):
            results = [(times(a, b), lambda x, y: x * y), (plus(a, b), lambda x, y: x + y)]
            if b.low > 0 or b.high < 0:
                results.append((quotient(a, b), lambda x, y: x / y))
        for found, exact in results:
            assert found.low < np.inf and found.high > -np.inf
            assert all(holds(found, exact(x, y)) for x in first for y in last), (a, b)


@pytest.mark.draws(20)
def test_sums_of_half_known_terms_lose_no_digits(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Large terms that cancel and are known from one side only, as of x <= u."""
    for side in [1.0, -1.0]:
        with subtests.test(side=side):
            ends = np.concatenate([s * np.array([1.0, -1.0]) for s in rng.choice((1e9, 1e13, 1e17), 2)])
            ends = side * rng.permutation(np.concatenate([ends, rng.uniform(0.0, 10.0, 4)]))
            unknown = np.full(8, -side * np.inf)
            some = rng.random(8) < rng.choice((0.0, 0.5))
            unknown[some] = (ends - side * rng.uniform(0.0, 1e3, 8))[some]
            exact = [Fraction(end) for end in ends.tolist()]
            pair = (unknown, ends) if side > 0 else (ends, unknown)
            whole, least = Range(*pair), Fraction(3)
            known = Range(*sorted((np.asarray(3.0), np.asarray(side * np.inf)), key=float))
            found, each = total(whole, None), others(known, whole, None)
            sums = sum(exact)
            assert sums <= Fraction(float(found.high)) if side > 0 else Fraction(float(found.low)) <= sums
            for k, own in enumerate(exact):
                rest = least - (sums - own)
                assert (
                    Fraction(float(each.low[k])) <= rest
                    if side > 0
                    else rest <= Fraction(float(each.high[k]))
                )
            both = plus(Range(pair[0][0], pair[1][0]), Range(pair[0][1], pair[1][1]))
            assert side * Fraction(float(both.high if side > 0 else both.low)) >= side * (exact[0] + exact[1])
