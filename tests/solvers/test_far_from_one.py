"""Clarabel solves problems whose numbers are far from one, and all that it returns is of the problem itself.

Guards conic_solvers.py, where it chooses units for Clarabel.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from mmopt import Program, Workload
from mmopt.compiler import bind, lower
from mmopt.solvers import Clock, Options, Point, run, solver_row
from mmopt.solvers.conic_solvers import _units_of

CASES = {  # x, the objective, and the multipliers of the line 'low'
    "minimize\n    2e-9 * x[0] + 1e-9 * x[1]\nsubject to\n    low: x[0] + x[1] >= 5e8\n    side: x >= 1e8": (
        [1e8, 4e8],
        0.6,
        1e-9,
    ),
    "minimize\n    2e9 * x[0] + 1e9 * x[1]\nsubject to\n    low: x[0] + x[1] >= 5e-8\n    side: x >= 1e-8": (
        [1e-8, 4e-8],
        60.0,
        1e9,
    ),
    "minimize\n    1e-12 * x[0]**2 - 1e-3 * x[0] + 3e-12 * x[1]**2\nsubject to\n    low: x[1] >= 1e7": (
        [5e8, 1e7],
        -2.5e5 + 300.0,
        6e-5,
    ),
    # A wide box asks for nothing: other limits are no rounding beside it.
    "minimize\n    x[0] + x[1]\nsubject to\n    low: x[0] >= 1/3\n    side: x[1] >= 2\n    abs(x) <= 1e30": (
        [1 / 3, 2],
        7 / 3,
        1.0,
    ),
    # Large numbers on both sides of a line ask for unknowns of size one.
    "minimize\n    x[0] + x[1]\nsubject to\n    low: 1e8 * x[0] >= 1e8\n    side: x >= -1": (
        [1, -1],
        0.0,
        1e-8,
    ),
}


def first_point(text: str) -> Point:
    """The first point that Clarabel gives."""
    program = Program.parse(f"program far\nchoose\n    x: vector[2]\n{text}\n")
    lowered = lower(bind(program, Workload.from_matrix([[1.0]])))
    with Clock(60.0) as clock:
        return next(run(solver_row("clarabel"), lowered, Options(tolerance=1e-6), clock))


@pytest.mark.parametrize("text", CASES)
def test_points_multipliers_and_reports_are_in_the_units_of_the_problem(text: str) -> None:
    best, objective, multiplier = CASES[text]
    point = first_point(text)
    assert point.variables["x"] == pytest.approx(np.array(best), rel=1e-5)
    assert point.multipliers["low"] == pytest.approx(multiplier, rel=1e-4)
    reported = point.counted[-1]
    assert reported.bound == pytest.approx(objective, rel=1e-4, abs=1e-6)
    assert reported.objective == pytest.approx(objective, rel=1e-4, abs=1e-6)


def test_rounding_asks_for_no_units() -> None:
    """Tiny limits and rows beside others ask for nothing: they may be rounding."""
    a, q = sp.csc_array(np.array([[1.0, 0.0], [0.0, 1e-14], [1.0, 1.0]])), np.ones(2)
    none = sp.csc_array((2, 2))
    assert _units_of(none, q, a, np.array([2.0, 1e9, 1e-15])) == (1.0, 1.0)
    assert _units_of(none, q, a, np.array([2e6, 0.0, 1e-9])) == (2.0**21, 2.0**21)
    assert _units_of(none, q, a, np.array([2e-6, 1e-9, 1e-6])) == (2.0**-19, 2.0**-19)
    assert _units_of(none, q, a, np.array([2e6, 1.0, 1.0])) == (1.0, 1.0)  # a row is about unknowns near one
