"""Exercises of lesson 3: prices, a rate, and a certificate."""

from __future__ import annotations

import numpy as np
from judging import NUMBER, PROGRAM, Exercise, is_near, vector

import mmopt

__all__ = ["EXERCISES"]

Array = np.ndarray
PREFIX = np.tri(8)
ENOUGH = 17.8  # the bound that exercise 3.1 asks for
RAISED = 1.01  # the limit of the first cell in exercise 3.2


def _prices(answer: Array) -> str | None:
    if (answer < 0).any():
        return "negative"
    if not answer.any():
        return "zero"
    bound = np.linalg.norm(PREFIX * np.sqrt(answer), ord="nuc") ** 2 / answer.sum()
    if bound >= ENOUGH:
        return None
    return "equal" if np.ptp(answer) < 1e-9 * answer.max() else "low"


def _rate(answer: float) -> str | None:
    before = mmopt.solve(PREFIX, "l2_strategy")
    limits = np.ones(8)
    limits[0] = RAISED
    change = mmopt.solve(PREFIX / np.sqrt(limits), "l2_strategy").objective - before.objective
    price = float(np.asarray(before.multipliers["sensitivity"])[0])
    if is_near(answer, change, 0.03) or is_near(answer, -(RAISED - 1) * price, 0.01):
        return None
    for kind, value in (("sign", -change), ("total", before.objective + change), ("price", price)):
        if is_near(abs(answer) if kind == "price" else answer, value, 0.03 if kind != "total" else 1e-3):
            return kind
    return "other"


def _certificate(answer: mmopt.Program) -> str | None:
    from mmopt.testing import check_program  # seconds of import, which every lesson would wait for

    if {given.name for given in answer.givens} != {"c"}:
        return "lines"
    if answer.certificate is None:
        return "none"
    rng, is_tight = np.random.default_rng(), True
    for k, size in ((2, 1.0), (5, 1.0), (3, 1e-3), (3, 1e3)):  # what holds for costs of one size may not
        c = size * rng.uniform(0.1, 9.0, size=k)
        try:
            solved = mmopt.solve([[1]], answer, givens={"c": c})
        except mmopt.ContradictionError:
            return "false"
        if not is_near(solved.objective, float(np.sqrt(c).sum() ** 2), 1e-5):
            return "lines"
        is_tight = is_tight and solved.gap is not None and solved.gap <= 1e-5
    if not check_program(answer).holds:
        return "false"
    return None if is_tight else "loose"


EXERCISES = {
    "3.1": Exercise(
        "Find prices of the eight cells that prove a bound of 17.8 or more.",
        vector(8),
        _prices,
        {
            "negative": "A negative price rewards violating a constraint, so the Lagrangian proves nothing.",
            "zero": "With all prices zero the bound is 0 / 0.",
            "equal": "Equal prices give the singular value bound. The first cells are in more queries.",
            "low": "The bound holds but is too low. Raise prices where diag(best_response(W, d)) exceeds one.",
        },
        "It does not matter where the prices come from: the bound holds for all of them.",
    ),
    "3.2": Exercise(
        "By how much does the least total error change when the first limit is 1.01?",
        NUMBER,
        _rate,
        {
            "sign": "The constraint is looser than before, so the minimum cannot rise.",
            "total": "That is the new total error. How much has it changed?",
            "price": "That is the price: the change per unit of the limit, to first order.",
            "other": "Multiply the first price by the change of the limit; or divide the first column of W "
            "by the root of 1.01, solve again and subtract.",
        },
        "A multiplier is the rate at which the optimum falls when the limit of its constraint rises.",
    ),
    "3.3": Exercise(
        "Write the program of the shares with a certificate that has no gap.",
        PROGRAM,
        _certificate,
        {
            "lines": "Change only the certificate. The data, the objective and the constraints must stay.",
            "none": "The program has no section 'certificate'.",
            "loose": "The bound holds but has a gap. sum(c / u) + y sum(u) - y is least at u = sqrt(c / y).",
            "false": "Some feasible points are below the bound, as mmopt.testing.check_program shows.",
        },
        "This is the Cauchy-Schwarz bound, derived from a price.",
    ),
}
