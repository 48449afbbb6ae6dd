"""Derivatives against finite differences, for the dual function that a kernel climbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.components import Array

__all__ = ["Dual", "check_dual"]


STEP = 1e-3  # of each entry of the point, so that no entry changes its sign
DIRECTIONS = 4
CLOSE = 1e-6  # of the derivative along a direction, relative to the lengths of derivative and direction


@dataclass(frozen=True)
class Dual:
    """A function that a kernel maximizes, as it computes it, and a point inside its domain.

    value : from a point (k,) to a number.
    gradient : from a point to the derivative (k,).
    at : (k,) where it is tried, in the coordinates that the kernel uses.
    hessian : from a point to the second derivative (k, k); None when the kernel has none.
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    at: Array
    hessian: Callable[[Array], Array] | None = None


def check_dual(dual: Dual, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """The derivatives along random directions that finite differences contradict: what, expected, found.

    Central differences with two steps, extrapolated (Richardson), so right to about 1e-9 where the function
    is smooth within a thousandth of the point.
    """
    return [*_gradient(dual, rng), *_hessian(dual, rng)]


def _gradient(dual: Dual, rng: np.random.Generator) -> Iterator[tuple[str, float, float]]:
    gradient = np.asarray(dual.gradient(dual.at))
    for number, direction in enumerate(_directions(dual.at, rng)):
        expected = float(_difference(lambda x: np.asarray(dual.value(x)), dual.at, direction))
        found = float(gradient @ direction)
        size = float(np.linalg.norm(gradient) * np.linalg.norm(direction))
        # A difference of two values cannot be better than the rounding of the values.
        size += 1e-6 * abs(float(dual.value(dual.at)))
        if not abs(found - expected) <= CLOSE * size:
            yield f"derivative along direction {number}", expected, found


def _hessian(dual: Dual, rng: np.random.Generator) -> Iterator[tuple[str, float, float]]:
    if dual.hessian is None:
        return
    hessian = np.asarray(dual.hessian(dual.at))
    uneven = float(np.abs(hessian - hessian.T).max())
    if not uneven <= CLOSE * float(np.abs(hessian).max()):
        yield "largest difference between the second derivative and its transpose", 0.0, uneven
    for number, direction in enumerate(_directions(dual.at, rng)):
        expected = _difference(dual.gradient, dual.at, direction)
        found = hessian @ direction
        off = float(np.linalg.norm(found - expected))
        size = float(np.linalg.norm(hessian) * np.linalg.norm(direction))
        if not off <= CLOSE * (size + 1e-6 * float(np.linalg.norm(dual.gradient(dual.at)))):
            worst = int(np.argmax(np.abs(found - expected)))
            yield (
                f"second derivative along direction {number}, entry {worst}",
                float(expected[worst]),
                float(found[worst]),
            )


def _directions(at: Array, rng: np.random.Generator) -> Iterator[Array]:
    for _ in range(DIRECTIONS):
        direction = rng.normal(size=at.shape)
        yield np.where(at == 0, 1.0, np.abs(at)) * direction / np.abs(direction).max()


def _difference(function: Callable[[Array], Array], at: Array, direction: Array) -> Array:
    def central(h: float) -> Array:
        return (np.asarray(function(at + h * direction)) - np.asarray(function(at - h * direction))) / (2 * h)

    return np.asarray((4.0 * central(STEP / 2) - central(STEP)) / 3.0)
