"""Exercises of lesson 9: a stricter target, two releases, all intervals together, orbits of cells."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
from judging import NUMBER, Exercise, is_near
from scipy.stats import norm

import mmopt

__all__ = ["EXERCISES"]

Array = np.ndarray
RHO, MORE, ERROR = 0.01, 0.02, 12.0  # of the two releases in exercise 9.2
QUERIES, CONFIDENCE = 420, 0.95  # in exercise 9.3


@cache
def _least(pyramid: float) -> float:
    """The least rho for the targets of the lesson, with another one for the pyramid."""
    domain = {
        "county": {"range": [0, 12], "width": 1},
        "sex": {"values": ["F", "M"]},
        "age": {"range": [0, 100], "width": 1},
        "tenure": {"values": ["owner", "tenant", "other"]},
    }
    stages = {"predicates": ["0-17", "18-64", "65-99"]}
    entries = [
        {"marginal": ["county"], "within": 60},
        {"marginal": ["county", "tenure"], "within": 60},
        {"product": {"county": "identity", "sex": "identity", "age": stages}, "within": 60},
        {"product": {"sex": "identity", "age": "identity"}, "within": pyramid},
        {"product": {"age": "prefix"}, "within": 120},
    ]
    workload = {"domain": domain, "workload": entries, "privacy": {"rho": 0.005}}
    return float(mmopt.solve(workload, "fitness_for_use").objective) / 2


def _dearer(answer: float) -> str | None:
    factor = _least(30) / _least(60)
    if is_near(answer, factor, 3e-3):
        return None
    kinds = {"all": 4.0, "inverse": 1 / factor, "root": np.sqrt(factor), "more": factor - 1}
    return next((kind for kind, value in kinds.items() if is_near(answer, value, 3e-3)), "other")


def _combined(answer: float) -> str | None:
    variance = ERROR**2
    later = variance * RHO / MORE
    best = 1 / (1 / variance + 1 / later)
    if is_near(answer, np.sqrt(best)):
        return None
    kinds = {
        "mean": np.sqrt((variance + later) / 4),
        "later": np.sqrt(later),
        "variance": best,
        "linear": ERROR * RHO / (RHO + MORE),
    }
    return next((kind for kind, value in kinds.items() if is_near(answer, value)), "other")


def _together(answer: float) -> str | None:
    rest = 1 - CONFIDENCE
    widest = norm.ppf(1 - rest / QUERIES / 2)  # the probabilities of a miss added up
    least = norm.ppf((1 + CONFIDENCE ** (1 / QUERIES)) / 2)  # Sidak 1967, for normal errors
    if least * (1 - 1e-3) <= answer <= widest * (1 + 1e-3):
        return None
    kinds = {
        "single": norm.ppf(1 - rest / 2),
        "side": norm.ppf(1 - rest / QUERIES),
        "wide": answer if answer > widest else np.nan,
    }
    return next((kind for kind, value in kinds.items() if is_near(answer, value, 2e-3)), "other")


def _classes(*queries: Array) -> int:
    """The classes of values (columns) any two of which can be exchanged in each list of queries."""
    grams = [one.T @ one for one in queries]
    firsts: list[int] = []
    for value in range(queries[0].shape[1]):
        for first in firsts:
            order = np.arange(queries[0].shape[1])
            order[[first, value]] = value, first
            if all(np.array_equal(gram[np.ix_(order, order)], gram) for gram in grams):
                break
        else:
            firsts.append(value)
    return len(firsts)


@cache
def _orbits(is_by_sex: bool, is_by_age: bool) -> int:
    """Orbits of persons.yaml with one more query, about women or everybody, who are 20 or of any age."""
    ages = [0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85, 115]
    groups = np.repeat(np.eye(len(ages) - 1), np.diff(ages), axis=1)
    alone = np.eye(64)[[1, 2, 4, 8, 16, 32]]
    seven = np.vstack([alone, 1 - alone.sum(axis=0)])
    age = [np.eye(115), groups, (np.arange(115) >= 18)[None, :] * 1.0]
    sex = [np.eye(2)]
    if is_by_age:
        age.append(np.eye(115)[[20]])
    if is_by_sex:
        sex.append(np.eye(2)[[0]])
    return prod([_classes(*sex), _classes(np.eye(2)), _classes(np.eye(64), seven), _classes(*age)])


def _counted(answer: float) -> str | None:
    if answer == _orbits(is_by_sex=True, is_by_age=True):
        return None
    kinds = {"none": (False, False), "age": (False, True), "sex": (True, False)}
    return next((kind for kind, which in kinds.items() if answer == _orbits(*which)), "other")


EXERCISES = {
    "9.1": Exercise(
        "What is the ratio of the least rho with the pyramid within 30 to the one with 60?",
        NUMBER,
        _dearer,
        {
            "all": "That is the factor if all targets are halved. Here only one table becomes more accurate.",
            "inverse": "That is the old cost divided by the new one.",
            "root": "That is the square root, the factor of the noise, not of rho.",
            "more": "That is the increase relative to the old cost.",
            "other": "Write a second file with 'within: 30' for the pyramid, and divide the results of "
            "mmopt.budget(FILE).cost.",
        },
        "A target costs little where other targets already require the same accuracy. Before, the pyramid "
        "had less than a fifth of the cost. Now it has more than half.",
    ),
    "9.2": Exercise(
        "What is the standard error of the best weighted mean of two answers?",
        NUMBER,
        _combined,
        {
            "mean": "That is the plain mean. Give the more accurate answer more weight.",
            "later": "That is the second answer alone. The first one has information too.",
            "variance": "That is a variance.",
            "linear": "Variances, not standard errors, fall as 1 / rho.",
            "other": "Variances are proportional to 1 / rho. Weights of 1 / variance are best. Then the "
            "inverses of the variances add up.",
        },
        "This equals the standard error of one release with the sum of both rho. With the same strategy, two "
        "releases cost no accuracy, because 1 / variance and rho both add up.",
    ),
    "9.3": Exercise(
        "How many standard errors make all 420 intervals hold with probability 95 %?",
        NUMBER,
        _together,
        {
            "single": "With that, one interval holds with 95 %, so about 21 of 420 miss.",
            "side": "An interval can miss to either side.",
            "wide": "That is wide enough, and wider than needed.",
            "other": "The probability of at least one miss is at most the sum of the probabilities. How much "
            "may each interval have?",
        },
        "All intervals hold together, for less than twice the width. (For normal errors the product of the "
        "probabilities is enough, by a theorem of Šidák, 1967. It hardly gains anything.)",
    ),
    "9.4": Exercise(
        "How many orbits has persons.yaml with a query about women of 20 years?",
        NUMBER,
        _counted,
        {
            "none": "That is the old number. Which values can no longer be exchanged?",
            "age": "20 and 21 are distinct now. Does the query distinguish values of another attribute too?",
            "sex": "The sexes are distinct now. Does the query distinguish values of another attribute too?",
            "other": "Count the classes of each attribute again, and multiply.",
        },
        "Symmetry is a property of the whole workload: one more query more than doubles the orbits.",
    ),
}
