"""Exercises of lesson 7: costs at which targets are met, and how they change."""

from __future__ import annotations

from functools import cache

import numpy as np
from judging import NUMBER, Exercise, is_near

import mmopt

__all__ = ["EXERCISES"]

W = np.vstack([np.eye(16), np.tri(16)])
LOOSE = 20.0  # target of the cumulative counts
LOOSER = 20.2  # in exercise 7.3


def _targets(loose: float) -> np.ndarray:
    return np.concatenate([np.full(16, 4.0), np.full(16, loose)])


@cache
def _cost(loose: float, program: str = "fitness_for_use", power: float | None = None) -> float:
    """The privacy cost alpha at which a program meets all targets."""
    workload = mmopt.Workload.from_matrix(W, targets=_targets(loose))
    givens = {} if power is None else {"power": power}
    return float(mmopt.solve(workload, program, givens=givens).privacy_cost ** 2)


def _cells(answer: float) -> str | None:
    lengths = (W**2).sum(axis=1)
    variance = (_targets(LOOSE) / lengths).min()  # of each count: the strictest of the limits
    if is_near(answer, 1 / variance):
        return None
    first = _targets(LOOSE).min()
    for kind, value in (("variance", variance), ("groups", 1 / first), ("root", np.sqrt(1 / variance))):
        if is_near(answer, value):
            return kind
    return "other"


def _factor(answer: float) -> str | None:
    ratio = _cost(LOOSE, "weighted_l2", 0.5) / _cost(LOOSE)
    if is_near(answer, ratio, 2e-3):
        return None
    for kind, value in (("inverse", 1 / ratio), ("root", np.sqrt(ratio))):
        if is_near(answer, value, 2e-3):
            return kind
    return "other"


def _change(answer: float) -> str | None:
    change = _cost(LOOSER) - _cost(LOOSE)
    if is_near(answer, change, 0.03):
        return None
    for kind, value in (("sign", -change), ("relative", change / _cost(LOOSE)), ("total", _cost(LOOSER))):
        if is_near(answer, value, 0.03):
            return kind
    return "other"


def _sharpness(answer: float) -> str | None:
    cells, targets = W.shape[1], len(W)
    if is_near(answer, (cells + targets) / 0.001):
        return None
    for kind, value in (
        ("cells", cells / 0.001),
        ("targets", targets / 0.001),
        ("inverse", 0.001 / (cells + targets)),
    ):
        if is_near(answer, value):
            return kind
    return "other"


EXERCISES = {
    "7.1": Exercise(
        "What is the least cost alpha at which noise of one variance on the counts meets all targets?",
        NUMBER,
        _cells,
        {
            "variance": "That is the variance. What is the privacy cost of a person in such a count?",
            "groups": "That meets the targets of the groups. The last cumulative count sums sixteen noises.",
            "root": "That is the square root of alpha.",
            "other": "A sum of k counts has variance k v. Take the largest v that all targets allow; "
            "alpha is 1 / v.",
        },
        "One answer of the 32 determines the cost. All others are more accurate than required.",
    ),
    "7.2": Exercise(
        "What is the ratio of the cost of total error weighted by 1/c to the least cost?",
        NUMBER,
        _factor,
        {
            "inverse": "That is the least cost divided by the other one.",
            "root": "That is the ratio of the square roots. Square it.",
            "other": "Divide the two costs that are printed above the picture.",
        },
        "Each reader gets the required accuracy both times. Only the method makes the difference.",
    ),
    "7.3": Exercise(
        "By how much does the least cost change when the targets of the cumulative counts are 20.2?",
        NUMBER,
        _change,
        {
            "sign": "A looser target cannot raise the cost.",
            "relative": "That is the relative change. Multiply it by the cost.",
            "total": "That is the new cost. How much has it changed?",
            "other": "Add up the shares of the last sixteen targets, and multiply the sum by one percent "
            "of alpha. Or solve again and subtract.",
        },
        "The prices show which targets raise the cost. Ask these readers whether they need this accuracy.",
    ),
    "7.4": Exercise(
        "From which t on does the theory promise an alpha within 0.001 of the optimum?",
        NUMBER,
        _sharpness,
        {
            "cells": "These are the constraints of the cells. The targets are constraints, too.",
            "targets": "These are the constraints of the targets. The cells have constraints, too.",
            "inverse": "That is the other way round: the gap is the number of constraints over t.",
            "other": "The gap is 48 / t. Set it to 0.001 and solve for t.",
        },
        "For ten times the accuracy t has to be ten times as large: one more step of fitness_barrier.",
    ),
}
