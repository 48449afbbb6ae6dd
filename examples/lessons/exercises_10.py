"""Exercises of lesson 10: a norm, a fit under limits, and a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
from judging import PROGRAM, Exercise, is_near
from scipy.optimize import linprog

import mmopt

__all__ = ["EXERCISES"]

Array = np.ndarray


def _data(m: int) -> dict[str, Array]:
    """A parabola that turns, and noise: where values must rise, the limits matter."""
    rng = np.random.default_rng()
    t = np.linspace(-1, 1, m)
    return {"A": np.vander(t, 3, increasing=True), "b": 1 - 2 * t**2 + rng.normal(size=m)}


def _solved(program: mmopt.Program, data: dict[str, Array]) -> mmopt.Solution:
    return mmopt.solve(None, program, givens=data)


def _takes_the_data(program: mmopt.Program) -> bool:
    return {given.name for given in program.givens} == {"A", "b"}


def _length(answer: mmopt.Program) -> str | None:
    if not _takes_the_data(answer):
        return "givens"
    data = _data(12)
    value = float(np.sqrt(np.linalg.lstsq(data["A"], data["b"], rcond=None)[1][0]))
    objective = _solved(answer, data).objective
    if is_near(objective, value, 1e-5):
        return None
    return "square" if is_near(objective, value**2, 1e-5) else "other"


def _least_largest(data: dict[str, Array], sign: float) -> float:
    """Least largest misfit where the values rise (sign 1), fall (-1), or may do both (0)."""
    A, b = data["A"], data["b"]
    column = np.ones((len(b), 1))
    steps = np.c_[sign * (A[:-1] - A[1:]), np.zeros(len(b) - 1)]
    limits = np.r_[np.c_[A, -column], np.c_[-A, -column], steps]
    right = np.r_[b, -b, np.zeros(len(b) - 1)]
    cost = np.r_[np.zeros(A.shape[1]), 1]
    return float(linprog(cost, A_ub=limits, b_ub=right, bounds=(None, None)).fun)


def _rising(answer: mmopt.Program) -> str | None:
    if not _takes_the_data(answer):
        return "givens"
    # It rises on the whole and turns before the end: the three optima differ; only the falling one is flat.
    t = np.linspace(-1, 1, 12)
    b = t - t**2 + 0.05 * np.random.default_rng().normal(size=12)
    data = {"A": np.vander(t, 3, increasing=True), "b": b}
    objective = _solved(answer, data).objective
    kinds: dict[str | None, float] = {None: 1, "free": 0, "falling": -1}
    for kind, sign in kinds.items():
        if is_near(objective, _least_largest(data, sign), 1e-5):
            return kind
    return "other"


def _least_absolute(data: dict[str, Array]) -> float:
    A, b = data["A"], data["b"]
    limits = np.r_[np.c_[A, -np.eye(len(b))], np.c_[-A, -np.eye(len(b))]]
    cost: Any = np.r_[np.zeros(A.shape[1]), np.ones(len(b))]
    return float(linprog(cost, A_ub=limits, b_ub=np.r_[b, -b], bounds=(None, None)).fun)


def _certificate(answer: mmopt.Program) -> str | None:
    from mmopt.testing import check_program  # seconds of import, which every lesson would wait for

    if not _takes_the_data(answer):
        return "givens"
    if answer.certificate is None:
        return "none"
    for m in (8, 15):
        data = _data(m)
        try:
            solved = _solved(answer, data)
        except mmopt.ContradictionError:
            return "false"
        if not is_near(solved.objective, _least_absolute(data), 1e-5):
            return "lines"
        if solved.gap is None or solved.gap > 1e-5:
            return "loose"
        if not check_program(answer, givens=data).holds:  # of random givens some have no misfit, and hide it
            return "false"
    return None


GIVENS = "The data must be a matrix A and a vector b, with these names."

EXERCISES = {
    "10.1": Exercise(
        "Write the program that minimises the length of the residual vector.",
        PROGRAM,
        _length,
        {
            "givens": GIVENS,
            "square": "That is the square of the length. The best x is the same, but the value is not.",
            "other": "At its best x the value is not the length of the residual. Which atom is a length?",
        },
        "Whether a text is accepted depends on how it is written, not only on what it means.",
    ),
    "10.2": Exercise(
        "Write the program of the increasing parabola with the least largest residual.",
        PROGRAM,
        _rising,
        {
            "givens": GIVENS,
            "free": "That is the least largest residual of all parabolas. The constraints have no effect.",
            "falling": "These values decrease. Which of two neighbours must be the smaller one?",
            "other": "Its optimum is wrong. Minimise max(abs(A @ x - b)) with a constraint on neighbours.",
        },
        "This is a linear program, although you wrote it with a maximum of absolute values.",
    ),
    "10.3": Exercise(
        "Write the program of least absolute values with a certificate that has no gap.",
        PROGRAM,
        _certificate,
        {
            "givens": GIVENS,
            "lines": "Change only the certificate. The objective and the constraints must stay.",
            "none": "The program has no section 'certificate'.",
            "loose": "The bound holds but has a gap. z @ b = -z @ r <= sum(abs(r)) if no |z_i| exceeds 1.",
            "false": "Some feasible points are below the bound, as mmopt.testing.check_program shows.",
        },
        "After projection and scaling any prices prove a bound, and the optimal prices prove the optimum.",
    ),
}
