"""Iterations that solvers report: seen, logged, or read from what they print.

Nothing of a C library reaches standard output, where JSON is printed.

Guards conic_solvers.py and options_points_and_clock.py.
"""

import ctypes
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tolerances import GAP_INTERIOR

from mmopt import Program, Workload, solve
from mmopt.compiler import bind, lower
from mmopt.solvers import SOLVERS, Clock, Iteration, Options, Point, SolverRow, run
from mmopt.solvers.conic_solvers import LINES, MOST_READ, quiet_output, read_lines, read_log

PREFIX = Workload.from_matrix(np.tri(4))
# A linear program with a constant in its objective, with two optima that are found from either side.
LINEAR = """program linear
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n] >= 0
{sense}
    {sign} (sum(x) + 2)
subject to
    least: x >= sum(W, axis=0)
strategy
    eye(n) norm 2
"""


def first_run(row: SolverRow, program: Program, **options: bool) -> Point:
    """The point of the first run at the accuracy of the last."""
    lowered = lower(bind(program, PREFIX))
    with Clock(60.0) as clock:
        return next(run(row, lowered, Options(GAP_INTERIOR, **options), clock))


def test_every_row_of_the_table_is_a_solver() -> None:
    """The two others need not be read: Clarabel's iterations are seen, and SCS writes a log."""
    assert {*LINES, "CLARABEL", "SCS"} == {row.cvxpy for row in SOLVERS}


def test_the_iterations_of_every_solver_are_told(subtests: pytest.Subtests) -> None:
    """They end at its own optimum, in the program's sense, and at smaller residuals than they began with."""
    for row, sense in itertools.product(SOLVERS, ["minimize", "maximize"]):
        with subtests.test(row.name, sense=sense):
            sign = {"minimize": "", "maximize": "-"}[sense]
            program = Program.parse(LINEAR.format(sense=sense, sign=sign))
            point = first_run(row, program, history=True)
            assert len(point.counted) >= 3 and {i.run for i in point.counted} == {1}
            first, last = point.counted[0], point.counted[-1]
            optimum = float(np.sum(point.variables["x"]) + 2) * (1 if sense == "minimize" else -1)
            for value in (last.objective, last.bound):
                assert value == pytest.approx(optimum, rel=5e-3 if row.name in ("sdpa", "qoco") else 1e-3)
            residuals = [(max(i.primal or 0.0, i.dual or 0.0)) for i in (first, last)]
            assert residuals[1] < min(residuals[0], 1e-2)
            numbers = [i.number for i in point.counted]
            assert numbers == sorted(numbers) and point.iterations in (numbers[-1], numbers[-1] + 1)


def test_they_are_printed_where_that_is_asked_for_and_nowhere_else(
    subtests: pytest.Subtests, capfd: pytest.CaptureFixture[str]
) -> None:
    program = Program.parse(LINEAR.format(sense="minimize", sign=""))
    for row in SOLVERS:
        with subtests.test(row.name):
            unasked = first_run(row, program)  # told as far as that costs nothing
            assert (len(unasked.counted) > 2, len(unasked.counted) == 1) == (
                row.name == "clarabel",
                row.name == "scs",
            )
            first_run(row, program, history=True)
            assert capfd.readouterr().out == ""
            point = first_run(row, program, history=True, verbose=True)
            printed = capfd.readouterr().out
            assert printed
            if row.cvxpy in LINES:
                assert [i.number for i in read_lines(row.cvxpy, printed)] == [i.number for i in point.counted]


def test_the_name_that_highs_prints_once_is_dropped() -> None:
    """In a process of its own: it is printed by the first solve."""
    pytest.importorskip("highspy")
    program = LINEAR.format(sense="minimize", sign="")
    code = f"import mmopt; mmopt.solve([[1.0]], mmopt.Program.parse({program!r}), solver='highs')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_runs_follow_each_other() -> None:
    (row,) = (row for row in SOLVERS if row.name == "cvxopt")
    lowered = lower(bind(Program.load("query_weighting"), PREFIX))
    with Clock(60.0) as clock:
        points = list(run(row, lowered, Options(GAP_INTERIOR, history=True), clock))
    assert [p.run for p in points] == [1, 2, 3]
    for before, after in itertools.pairwise(points):
        assert after.counted[0].number == before.iterations and after.counted[0].run == after.run


SDPA = """   mu      thetaP  thetaD  objP      objD      alphaP  alphaD  beta
 0 1.0e+04 1.0e+00 1.0e+00 -0.00e+00 +5.00e+01 9.0e-01 7.5e-01 2.00e-01
Strange behavior : primal < dual :: line 158 in sdpa_solve.cpp
 1 2.6e+03 1.0e-01 2.5e-01 +4.01e+02
 2 4.3e+02 1.0e-02 2.5e-02 +5.38e+02 nan 9.0e-01 1.0e+00 2.00e-01
10 9.9e-03 1.2e-10 1.2e-12 +2.28e+00 +2.23e+00 9.5e-01 1.1e+00 1.00e-01
relative gap = +2.5956455139816496e-07
"""


def test_lines_that_cannot_be_read_are_left_out() -> None:
    numbers = [i.number for i in read_lines("SDPA", SDPA)]
    assert numbers == [0, 2, 10]
    assert read_lines("SDPA", SDPA)[-1] == Iteration(10, None, 2.28, 2.23, 1.2e-10, 1.2e-12)
    assert read_lines("SDPA", "\x00\ufffd 1 2\n") == read_lines("another", SDPA) == []
    assert read_lines("QOCO", "|  1.5 | 1 | 2 | 3 | 4 |") == []


def test_a_long_log_is_thinned_and_keeps_its_end() -> None:
    count = 5 * MOST_READ + 3
    rows = [f"{i},{1 / (i + 1)},2,3,4,{i / 10},\n" for i in range(count)]
    found = read_log(["iter,res_pri,res_dual,pobj,dobj,time,\n", *rows, "cut off"], 7.0)
    numbers = [i.number for i in found]
    assert MOST_READ / 2 <= len(found) <= MOST_READ + 1 and numbers[0] == 0
    assert numbers == sorted(set(numbers)) and numbers[-1] >= count - 10
    assert found[1] == Iteration(numbers[1], 7.0 + numbers[1] / 10, 3.0, 4.0, 1 / (numbers[1] + 1), 2.0)


def test_a_run_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = []
    s = solve(
        Workload.from_matrix(np.tri(4)),
        "l2_strategy",
        solver="scs",
        history=True,
        progress=lambda point: left.append([*tmp_path.iterdir()]),
    )
    assert s.history and left and not any(left)


def test_text_from_below_is_dropped_and_pythons_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = ctypes.CDLL(None)
    print("before")
    with quiet_output():
        runtime.puts(b"from C, buffered")
        os.write(1, b"from the system call\n")
    print("after", flush=True)
    runtime.fflush(None)
    assert capfd.readouterr().out == "before\nafter\n"


def test_output_comes_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="inside"), quiet_output():
        raise ValueError("inside")
    os.write(1, b"heard\n")
    assert capfd.readouterr().out == "heard\n"
