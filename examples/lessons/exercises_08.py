"""Exercises of lesson 8: what a tolerance allows, means and profiles of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from judging import FUNCTION, NUMBER, Exercise, is_near, matrix

__all__ = ["EXERCISES"]

Array = np.ndarray
TOLERANCE, VALUE = 1e-4, 2e-4  # of exercise 8.1
SHIFT = 0.1  # seconds, in exercise 8.2
TAU = 2.0  # in exercise 8.4


def _allowed(answer: float) -> str | None:
    bound = (VALUE - TOLERANCE * (1 + VALUE)) / (1 + TOLERANCE)  # where the test holds with equality
    if is_near(answer, VALUE / bound - 1, 2e-3):
        return None
    kinds = {"tolerance": VALUE - bound, "ratio": VALUE / bound, "part": 1 - bound / VALUE}
    return next((kind for kind, value in kinds.items() if is_near(answer, value, 2e-3)), "other")


def _means(answer: Array) -> str | None:
    if not (answer > 0).all():
        return "positive"
    first, second = answer.mean(axis=0)
    if not first < second:
        return "arithmetic"
    first, second = np.exp(np.log(answer + SHIFT).mean(axis=0)) - SHIFT
    return None if second < first else "geometric"


def _profile(times: Array, tau: float) -> Array:
    best = times.min(axis=1, keepdims=True)
    return np.asarray((np.isfinite(times) & (times <= tau * best)).mean(axis=0))


def _tried(answer: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng()
    times = rng.permutation(np.geomspace(0.01, 10, 40)).reshape(8, 5)
    times[rng.random((8, 5)) < 0.2] = np.inf
    times[2], times[3] = np.inf, [1.0, 1.5, 2.5, 7.0, np.inf]
    for tau in (1.0, 1.2, 3.0, 30.0):
        try:
            with np.errstate(invalid="ignore"):
                value = np.asarray(answer(times, tau), dtype=np.float64)
        except (TypeError, ValueError, IndexError):
            return "shape"
        if value.shape != (5,):
            return "shape"
        right = _profile(times, tau)
        if np.allclose(value, right):
            continue
        some = np.isfinite(times).any(axis=1)
        kinds = {
            "nobody": right + (~some).mean(),
            "all": _profile(times[some], tau),
            "number": right * len(times),
            "instances": (times <= tau * times.min(axis=0)).mean(axis=0),
        }
        return next((kind for kind, other in kinds.items() if np.allclose(value, other)), "other")
    return None


def _three(answer: Array) -> str | None:
    if not (answer > 0).all():
        return "positive"
    first, second, _ = _profile(answer, TAU)
    if not first > second:
        return "three"
    first, second = _profile(answer[:, :2], TAU)
    return None if second > first else "two"


EXERCISES = {
    "8.1": Exercise(
        "What is the largest gap p / d - 1 that passes the test?",
        NUMBER,
        _allowed,
        {
            "tolerance": "That is p - d. What is it relative to d?",
            "ratio": "That is p / d. Subtract one.",
            "part": "That is p - d relative to p.",
            "other": "Let the test hold with equality, solve it for d, and compare p with d.",
        },
        "The 1 in the formula makes the test relative for large values and absolute for small ones. If you "
        "measure the error in millions of squared persons, you lose digits.",
    ),
    "8.2": Exercise(
        "Make up times of A and B: A wins by arithmetic mean, B by geometric mean shifted by 0.1.",
        matrix(None, 2),
        _means,
        {
            "positive": "Times must be positive.",
            "arithmetic": "A does not have the smaller arithmetic mean. Add one instance on which B is very "
            "slow.",
            "geometric": "B does not have the smaller shifted mean. Make it several times quicker on most "
            "instances, by differences larger than the shift.",
        },
        "Both means are right. One measures how long everything takes, the other how the solvers typically "
        "compare.",
    ),
    "8.3": Exercise(
        "Write a function of times and tau that returns the performance profile of each solver.",
        FUNCTION,
        _tried,
        {
            "shape": "With 8 x 5 times and a number the function fails, or it does not return five numbers.",
            "nobody": "An instance on which all fail counts as solved by all here: infinity <= infinity.",
            "all": "This leaves out the instances on which all fail. Divide by the number of all instances.",
            "number": "That is the number of instances, not the fraction.",
            "instances": "Take the best time of each instance, over the solvers.",
            "other": "For each solver: on what fraction of the rows is its time finite and at most tau "
            "times the least of the row?",
        },
        "Failures need no charge. A profile that ends below one shows how many there were.",
    ),
    "8.4": Exercise(
        "Make up times of A, B, C: at tau = 2 A is above B, and without C it is below B.",
        matrix(None, 3),
        _three,
        {
            "positive": "Times must be positive.",
            "three": "With all three, A is not above B at tau = 2. Where C is very quick, neither counts.",
            "two": "Without C, B is not above A at tau = 2.",
        },
        "A profile compares each solver with the best one present. To compare two solvers, draw the profile "
        "for these two only.",
    ),
}
