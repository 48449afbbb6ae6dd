"""Answers to the exercises of lesson 2: right ones, and a wrong one for each kind of mistake."""

from typing import Any

import numpy as np


def equal_prices(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares in the rows of the Haar queries, and what prefix sums ask of each."""
    sizes = [n] + [size for size in (n >> k for k in range(n.bit_length() - 1)) for _ in range(n // size)]
    rows = [np.ones(n)]
    for size in sorted(set(sizes), reverse=True):
        rows += list(np.kron(np.eye(n // size), np.repeat([1.0, -1.0], size // 2)))
    Q = np.array(rows)
    return (Q**2).sum(axis=1), (np.tri(n) @ np.linalg.inv(Q)).T ** 2 @ np.ones(n)


def _bound(n: int) -> float:
    b, c = equal_prices(n)
    return float(np.sqrt(b * c).sum() ** 2 / n)


def _program(unknown: str, objective: str, line: str, given: str = "") -> str:
    return f"""
program own
given
    c: vector[k] > 0
    Q: matrix[k, n]
{given}choose
    {unknown}
minimize
    {objective}
subject to
    sensitivity: {line} <= 1
"""


RIGHT = _program("t: vector[k]", "sum(c * exp(-2 * t))", "abs(Q).T @ exp(t)")
B32, C32 = equal_prices(32)

ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "2.1": (
        [lambda r: (1 + r) ** 2 / (4 * r)],
        {
            "inverse": lambda r: 4 * r / (1 + r) ** 2,
            "difference": lambda r: (r - 1) ** 2 / (4 * r),
            "middle": lambda r: 1 / (r**0.5 * (2 - r**0.5)),
            "other": lambda r: r,
        },
    ),
    "2.2": (
        [lambda z, u, v: ([2 * z, u - v], u + v), lambda z, u, v: (np.array([z, (u - v) / 2]), (u + v) / 2)],
        {
            "one": lambda z, u, v: ([2, u - v], u + v),
            "linear": lambda z, u, v: ([z], (u * v) ** 0.5),
            "other": lambda z, u, v: ([z, u - v], u + v),
        },
    ),
    "2.3": (
        [_bound(32)],
        {
            "absolute": 2 * np.sqrt(B32 * C32).sum() - 32,
            "unscaled": 32 * _bound(32),
            "cells": _bound(16),
            "other": 0,
        },
    ),
    "2.4": (
        [RIGHT],
        {
            "givens": _program(
                "t: vector[k]", "sum(c * exp(-2 * t))", "abs(Q).T @ exp(t)", "    a: scalar\n"
            ),
            "cones": _program("w: vector[k] > 0", "c @ w**(-2)", "abs(Q).T @ w"),
            "gaussian": _program("t: vector[k]", "sum(c * exp(-t))", "(Q * Q).T @ exp(t)"),
            "other": _program("t: vector[k]", "sum(c * exp(-t))", "abs(Q).T @ exp(t)"),
        },
    ),
}
