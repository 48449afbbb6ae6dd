"""Exercises of lesson 2: tangents, a second-order cone, prices, and a geometric program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from judging import FUNCTION, NUMBER, PROGRAM, Exercise, WrongKindError, is_near, vector

import mmopt

__all__ = ["EXERCISES"]

Array = np.ndarray


def _below_the_curve(answer: Callable[[float], float]) -> str | None:
    for r in np.random.default_rng().uniform(1.3, 2.5, size=4):
        u = np.linspace(1.0, r, 20001)
        worst = np.max((1 / u) / np.maximum(2 - u, 2 / r - u / r**2))
        given = NUMBER.read(answer(float(r)))
        if is_near(given, 1 / worst):
            return "inverse"
        if is_near(given, worst - 1):
            return "difference"
        if is_near(given, 1 / (r**0.5 * (2 - r**0.5))):
            return "middle"
        if not is_near(given, worst):
            return "other"
    return None


def _cone(answer: Callable[[float, float, float], Any]) -> str | None:
    rng = np.random.default_rng()
    is_of_one = True
    is_right = True
    for factor, size in product((0.9, 0.999, 1.001, 1.1, -0.999, -1.001), (0.3, 3.0)):
        u, v = size * rng.uniform(0.5, 2.0, size=2)
        entries, number = _parts(answer, factor * np.sqrt(u * v), u, v)
        says = bool(np.linalg.norm(entries) <= number)
        is_right &= says == (abs(factor) < 1)
        is_of_one &= says == (u * v >= 1)
    if not is_right:
        return "one" if is_of_one else "other"
    one, other = np.array([1.0, 4.0, 9.0]), np.array([2.0, 5.0, 1.0])
    (entries, number), (more, second) = _parts(answer, *one), _parts(answer, *other)
    together, third = _parts(answer, *(one + 2 * other))
    is_linear = np.allclose(entries + 2 * more, together) and is_near(number + 2 * second, third)
    return None if is_linear else "linear"


def _parts(answer: Callable[[float, float, float], Any], *point: float) -> tuple[Array, float]:
    value = answer(*point)
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise WrongKindError(f"the function gives {type(value).__name__}, expected a vector and a number")
    return vector().read(value[0]), NUMBER.read(value[1])


def _haar(n: int) -> tuple[Array, Array]:
    workload = mmopt.Workload.from_matrix(np.tri(n))
    Q = mmopt.baseline("haar", workload).matrix
    return Q, np.linalg.norm(np.tri(n) @ np.linalg.inv(Q), axis=0) ** 2


def _equal_prices(answer: float) -> str | None:
    Q, c = _haar(32)
    b = (Q**2).sum(axis=1)
    bound = np.sqrt(c * b).sum() ** 2 / 32
    if is_near(answer, bound):
        return None
    for kind, value in (
        ("absolute", np.sqrt(c * b).sum() * 2 - 32),
        ("unscaled", 32 * bound),
        ("cells", np.sqrt(_haar(16)[1] * (_haar(16)[0] ** 2).sum(axis=1)).sum() ** 2 / 16),
    ):
        if is_near(answer, value):
            return kind
    return "other"


def _geometric(answer: mmopt.Program) -> str | None:
    if {given.name for given in answer.givens} != {"c", "Q"}:
        return "givens"
    Q, c = _haar(4)
    Q = np.array([[0.5], [1.0], [1.5], [2.0]]) * Q  # so that squares differ from absolute values
    givens = {"c": c, "Q": Q}
    found = mmopt.solve([[1]], answer, givens=givens).objective  # raises what the rules refuse
    compiled = mmopt.explain(answer, [[1]], givens=givens).compiled
    cones = compiled.sizes.cones if compiled is not None and compiled.sizes is not None else ()
    if all(cone.kind != "exponential" for cone in cones):
        return "cones"
    known = {
        power: mmopt.solve([[1]], mmopt.Program.parse(_powers(power, norm)), givens=givens).objective
        for power, norm in ((2, "abs(Q)"), (1, "(Q * Q)"))
    }
    if is_near(found, known[2], 1e-4) or is_near(found, float(np.log(known[2])), 1e-4):
        return None  # textbooks minimise the logarithm
    return "gaussian" if is_near(found, known[1], 1e-4) else "other"


def _powers(power: int, sizes: str) -> str:
    return f"""
program powers
given
    c: vector[k] > 0
    Q: matrix[k, n]
choose
    w: vector[k] > 0
minimize
    c @ w**(-{power})
subject to
    sensitivity: {sizes}.T @ w <= 1
repair
    w = w / max({sizes}.T @ w)
"""


EXERCISES = {
    "2.1": Exercise(
        "Write a function of r: by which factor is the larger of two tangents below 1/u at most?",
        FUNCTION,
        _below_the_curve,
        {
            "inverse": "This is the tangent divided by the curve. Divide the curve by the tangent.",
            "difference": "This is the factor minus one. The exercise asks for the factor itself.",
            "middle": "The tangents at two points do not meet at their geometric mean.",
            "other": "Where do the tangents at g and r g meet? There the larger one is farthest below 1/u.",
        },
        "Its logarithm is about (r - 1)^2 / 4. Half the step: a quarter of the error, twice the rows.",
    ),
    "2.2": Exercise(
        "Write a function of z, u, v: the vector and the number of a second-order cone for z^2 <= u v.",
        FUNCTION,
        _cone,
        {
            "one": "That says 1 <= u v. Where does z come in?",
            "linear": "The inequality is right, but the vector and the number must be linear in z, u, v.",
            "other": "For some z, u, v this is not equivalent to z^2 <= u v. Begin with "
            "(u + v)^2 - (u - v)^2 = 4 u v.",
        },
        "This is the rotated second-order cone: the square of a variable is at most a product of two others.",
    ),
    "2.3": Exercise(
        "Which bound do equal prices prove for 32 cells?",
        NUMBER,
        _equal_prices,
        {
            "absolute": "That is the bound at prices of one. The best multiple of these prices is better.",
            "unscaled": "Divide by the sum of the prices.",
            "cells": "That is the bound for 16 cells. The exercise has 32 cells.",
            "other": "With prices of one, b is the sum of squares in each row of Q; c is as in the lesson.",
        },
        "This is the optimum: for Haar queries and cumulative counts equal prices are best.",
    ),
    "2.4": Exercise(
        "Write a program for Laplace weights in the logarithms of the weights.",
        PROGRAM,
        _geometric,
        {
            "givens": "The data of the program must be c and Q, and nothing else.",
            "cones": "This is compiled without exponential cones. Use the logarithm of w as the variable.",
            "gaussian": "That is the problem for Gaussian noise, with c / u and squares of Q.",
            "other": "Its optimum is wrong. What is c / w^2 for w = exp(t), and what is the sensitivity?",
        },
        "Sums of exponentials are convex, whatever the powers were. Geometric programs rest on this.",
    ),
}
