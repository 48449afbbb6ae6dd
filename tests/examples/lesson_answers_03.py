"""Answers to the exercises of lesson 3: right ones, and a wrong one for each kind of mistake."""

from typing import Any

import numpy as np

CERTIFICATE = """certificate y: scalar >= 0 from dual(whole)
    {}
"""
SHARES = """
program shares
given
    c: vector[k] > 0
choose
    u: vector[k] > 0
minimize
    {}
subject to
    whole: sum(u) <= 1
repair
    u = u / sum(u)
"""


def _with(line: str, objective: str = "sum(c / u)") -> str:
    return SHARES.format(objective) + CERTIFICATE.format(line)


def _prices() -> np.ndarray:
    """Prices by twenty steps of the lesson's ascent."""
    W, d = np.tri(8), np.ones(8)
    for _ in range(20):
        _, s, Vt = np.linalg.svd(W * np.sqrt(d))
        d = d * (np.diag((Vt.T * s) @ Vt) / d / s.sum() * d.sum()) ** 2
    return d / d.sum()


ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "3.1": (
        [_prices(), 100 * _prices()],
        {
            "negative": [1] * 7 + [-1],
            "zero": np.zeros(8),
            "equal": np.ones(8),
            "low": [8, 7, 6, 5, 4, 3, 2, 1],
        },
    ),
    "3.2": ([-0.0549, -0.05420], {"sign": 0.0549, "total": 17.8120, "price": 5.49, "other": 1.0}),
    "3.3": (
        [_with("sum(sqrt(c))**2"), _with("2 * sum(sqrt(c)) * sqrt(y) - y")],
        {
            "lines": _with("sum(sqrt(c))**2 / 4", "sum(c / u) / 4"),
            "none": SHARES.format("sum(c / u)"),
            "loose": _with("sum(c)"),
            "false": _with("sum(sqrt(c))"),  # of small costs it is above the optimum
        },
    ),
}
