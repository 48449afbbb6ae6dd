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
        "The largest gap p / d - 1 that the test lets pass.",
        NUMBER,
        _allowed,
        {
            "tolerance": "That is p - d. How much is it beside d?",
            "ratio": "That is p / d. What has to be subtracted?",
            "part": "That is p - d as a part of p.",
            "other": "Let the test hold with equality, solve it for d, and compare p with that.",
        },
        "The one in the formula makes it relative for large values and absolute for small ones: who writes "
        "the error in millions of squared persons loses the digits.",
    ),
    "8.2": Exercise(
        "Times of A and B: A first by arithmetic mean, B by geometric mean shifted by 0.1.",
        matrix(None, 2),
        _means,
        {
            "positive": "A time is above zero.",
            "arithmetic": "A does not have the smaller arithmetic mean. One instance on which B is very slow "
            "makes that.",
            "geometric": "B does not have the smaller shifted mean. Let it be some times quicker on most "
            "instances, by more than the shift hides.",
        },
        "Both means are right. One asks how long all of it takes, the other how they compare as a rule.",
    ),
    "8.3": Exercise(
        "A function of times and tau: the performance profile of each solver.",
        FUNCTION,
        _tried,
        {
            "shape": "Called with 8 x 5 times and a number it fails, or does not return five numbers.",
            "nobody": "An instance on which all fail counts as solved by all: infinity is at most infinity.",
            "all": "Instances on which all fail are left out. It is a part of all instances.",
            "number": "That is the number of instances, not the part.",
            "instances": "The best time is to be taken for each instance, over the solvers.",
            "other": "For each solver: on which part of the rows is its time finite and at most tau "
            "times the least of the row?",
        },
        "Failures need no charge: a profile that ends below one says how many there were.",
    ),
    "8.4": Exercise(
        "Times of A, B, C: at tau = 2 A is above B, without C below.",
        matrix(None, 3),
        _three,
        {
            "positive": "A time is above zero.",
            "three": "With all three A is not above B at tau = 2. Where C is very quick, neither counts.",
            "two": "Without C, B is not above A at tau = 2.",
        },
        "A profile compares each solver with the best one there is. Of two solvers it speaks when it is "
        "drawn for these two.",
    ),
}
