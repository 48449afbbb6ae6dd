"""Programs as a student writes them: each compiles, is solved, and proved by its own lines alone."""

import numpy as np
import pytest
from driver.student_texts import STUDENT_PROGRAMS, givens_of

from mmopt import Program, Workload, solve
from mmopt.errors import SolverError

SIZES = [8, pytest.param(16, marks=pytest.mark.slow)]


def test_it_is_solved_and_proved(subtests: pytest.Subtests) -> None:
    for n in SIZES:
        for name in STUDENT_PROGRAMS:
            with subtests.test(n=n, name=name):
                program = Program.parse(STUDENT_PROGRAMS[name])
                found = solve(
                    Workload.from_matrix(np.tri(n)), program, givens=givens_of(name, n), solver="clarabel"
                )
                assert found.bound_grade == "proved"
                assert found.gap is not None and -1e-9 <= found.gap <= 1e-4


def test_known_optima() -> None:
    """Over as many points as unknowns the D-optimal design is uniform; of diagonal queries all are known."""
    w = np.diag([1.0, 2.0, 4.0])
    known = {
        "d_optimal": np.log(np.prod(np.diag(w) ** 2 / 3)),
        "a_optimal": (1 + 1 / 2 + 1 / 4) ** 2,
        "e_optimal": 1 / (1 + 1 / 4 + 1 / 16),
    }
    for name, value in known.items():
        found = solve(Workload.from_matrix(w), Program.parse(STUDENT_PROGRAMS[name]))
        assert found.objective == pytest.approx(value, rel=1e-5), name


def test_what_the_gap_is_is_said() -> None:
    w = Workload.from_matrix(np.tri(4))
    found = solve(w, Program.parse(STUDENT_PROGRAMS["d_optimal"]))
    assert found.gap == found.bound - found.objective > -1e-9
    assert dict(found.rows())["gap"].endswith("(proved; absolute: of a logarithm)")
    assert found.summary()["gap_is"] == "absolute: of a logarithm"
    found = solve(w, Program.parse(STUDENT_PROGRAMS["e_optimal"]))
    assert "absolute" not in dict(found.rows())["gap"] and "gap_is" not in found.summary()


def test_lines_for_pairs_that_cannot_hold_are_named() -> None:
    text = STUDENT_PROGRAMS["banded"]
    text = text.replace("X[i, j] == 0 for |i - j| >= 3", "X[i, j] >= 2 for i, j in n if i < j")
    with pytest.raises(SolverError) as error:
        solve(Workload.from_matrix(np.tri(5)), Program.parse(text))
    assert error.value.message == (
        "'banded' has no feasible point: 'cost' (cells 0, 1), 'band', and the declaration of 'X' as psd "
        "cannot hold together"
    )


SHORTER = """
program shorter
given
    a: vector[n]
    A: matrix[m, n]
    b: vector[m]
choose
    x: vector[n] >= 0
{sense}
    a @ x
subject to
    some: {line}
    all:  x <= 2
"""


def test_a_family_over_a_shorter_range_says_nothing_of_the_other_entries(subtests: pytest.Subtests) -> None:
    for line, sense, slack in [
        ("x[i] >= 1 for i in n - 2", "minimize", [1, 1, 1, 0, 0]),
        ("x[i] >= a[i] / 5 for i in n - 2", "minimize", [1, 2, 3, 0, 0]),
        ("1 - x[i] <= 0 for i in n - 3", "minimize", [1, 1, 0, 0, 0]),  # what is compared with zero is tight
        ("x[i]**2 <= 1 for i in n - 3", "maximize", None),
        ("A[k, :] @ x <= b[k] for k in m - 1", "maximize", None),
        ("(A @ x)[k] <= b[k] for k in m - 1", "maximize", None),
        ("[[1, x[i]], [x[i], 1]] >> 0 for i in n - 3", "maximize", None),
    ]:
        with subtests.test(line=line, sense=sense):
            a, big = np.arange(1.0, 6.0), np.vstack([np.ones(5), np.eye(5)[4]])
            b = np.array([3.0, 0.0])  # the second row, left out, would leave nothing of the last entry
            givens = {"a": a, "A": big, "b": b}
            found = solve(np.eye(5), Program.parse(SHORTER.format(sense=sense, line=line)), givens=givens)
            if slack is not None:
                optimum = a @ np.array(slack) if "a[i]" not in line else a @ (np.array(slack) / 5)
            elif "A" in line:
                optimum = 5 * 2 + 4 * 1
            else:
                optimum = 2 * (3 + 4 + 5) + 1 + 2
            assert found.objective == pytest.approx(optimum, rel=1e-5)
            assert found.bound == pytest.approx(optimum, rel=1e-5) and found.bound_grade == "proved"
