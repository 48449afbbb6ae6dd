"""Powers of what is chosen as cones: a few second-order cones for simple exponents, else one power cone.

``t <= x**p`` for a fraction p is a geometric mean, and that a tree of means of two: with p = a / b and 2^k
the least power of two that is at least b, of the weights (a, b - a, 2^k - b) / 2^k, where the third stands
for t itself (Alizadeh & Goldfarb 2003, Second-order cone programming, section 2.3). cvxpy halves the
weights in the same way, so that the cones counted here are those that it hands over.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = ["cones", "is_quadratic"]

LARGEST_DENOMINATOR = 1024
MOST_MEANS = 4  # beyond it cvxpy itself advises a power cone
EXACT = 1e-14


def is_quadratic(exponent: float) -> bool:
    """Whether the power is exactly a few second-order cones."""
    means = _means(exponent)
    return means is not None and means <= MOST_MEANS


def cones(shape: tuple[int, ...], outputs: int, exponent: float) -> tuple[tuple[str, int, int, int], ...]:
    """(kind, size, count, unknowns) of the cones of the power of every entry."""
    if exponent in (0.0, 1.0):
        return ()
    means = _means(exponent)
    if means is None or means > MOST_MEANS:
        above = (("nonnegative", 1, outputs, 0),) if exponent > 1 and exponent % 2 else ()
        return (("power", 3, outputs, outputs), *above)
    return (("second-order", 3, means * outputs, means * outputs),)


def _means(exponent: float) -> int | None:
    """How many means of two make the power; None for an exponent that is no simple fraction."""
    p = Fraction(exponent).limit_denominator(LARGEST_DENOMINATOR)
    if abs(float(p) - exponent) > EXACT * max(1.0, abs(exponent)):
        return None
    weight = p if 0 <= p <= 1 else 1 / p if p > 1 else p / (p - 1)
    whole = 1 << (weight.denominator - 1).bit_length()
    weights = [weight.numerator, weight.denominator - weight.numerator]
    if whole > weight.denominator:
        weights.append(whole - weight.denominator)
    seen: set[tuple[int, ...]] = set()
    todo = [tuple(weights)]
    while todo:
        now = todo.pop()
        if whole not in now and now not in seen:
            seen.add(now)
            todo += _halves(now, whole)
    return len(seen)


def _halves(weights: tuple[int, ...], whole: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two lists of weights whose mean is the one given; the first takes the largest powers of two."""
    first, second = [0] * len(weights), [2 * w for w in weights]
    bit = whole
    while sum(first) < whole:
        for i, w in enumerate(second):
            if w >= bit and sum(first) < whole:
                first[i], second[i] = first[i] + bit, w - bit
        bit //= 2
    return tuple(first), tuple(second)
