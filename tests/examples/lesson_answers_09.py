"""Answers to the exercises of lesson 9: right ones, and a wrong one for each kind of mistake."""

from typing import Any

from scipy.stats import norm

ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "9.1": (
        [1.693, 0.0033942 / 0.0020047],
        {"all": 4, "inverse": 0.5906, "root": 1.3012, "more": 0.6931, "other": 2},
    ),
    "9.2": (
        [6.928, 12 / 3**0.5],
        {"mean": 7.348, "later": 8.485, "variance": 48, "linear": 4, "other": 20},
    ),
    "9.3": (
        [norm.ppf(1 - 0.05 / 840), norm.ppf((1 + 0.95 ** (1 / 420)) / 2)],
        {"single": 1.96, "side": norm.ppf(1 - 0.05 / 420), "wide": 4.5, "other": 3.0},
    ),
    "9.4": ([92, 92.0], {"none": 44, "age": 46, "sex": 88, "other": 47}),
}
