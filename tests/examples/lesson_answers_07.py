"""Answers to the exercises of lesson 7: right ones, and a wrong one for each kind of mistake."""

from typing import Any

ANSWERS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "7.1": ([0.8, 16 / 20], {"variance": 1.25, "groups": 0.25, "root": 0.8944, "other": 1.0}),
    "7.2": ([1.178, 0.3258 / 0.2765], {"inverse": 0.849, "root": 1.0855, "other": 0.0493}),
    "7.3": (
        [-0.00058, -0.21 * 0.01 * 0.2765],
        {"sign": 0.00058, "relative": -0.0021, "total": 0.276, "other": 1.0},
    ),
    "7.4": ([48_000], {"cells": 16_000, "targets": 32_000, "inverse": 0.001 / 48, "other": 1000}),
}
