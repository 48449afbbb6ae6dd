"""A solve that stops early says why, and what it has is still certified."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from mmopt import OptionError, Solution, SolverError, Workload, solve
from mmopt.driver import Progress
from mmopt.results import Status
from mmopt.solvers import conic_solvers


def still_certified(s: Solution) -> None:
    assert s.bound is not None and 0 < s.bound <= s.objective
    assert s.error_bound <= s.error
    assert s.status.feasible and s.status.bound_valid


@pytest.mark.parametrize(
    ("program", "solver", "iterations"),
    [
        ("l2_strategy", "scs", 3),
        ("l2_strategy", "scs", 40),
        ("l2_strategy", "clarabel", 6),
        ("query_weighting", "qoco", 6),
    ],
)
def test_iteration_limit(program: str, solver: str, iterations: int) -> None:
    s = solve(Workload.from_matrix(np.tri(12)), program, solver=solver, max_iterations=iterations)
    assert s.iterations <= iterations
    assert s.status.stop == "iteration limit"
    still_certified(s)


def test_iteration_limit_of_a_solver_that_then_gives_nothing() -> None:
    with pytest.raises(SolverError) as refused:
        solve(Workload.from_matrix(np.tri(12)), "l2_strategy", solver="cvxopt", max_iterations=5)
    first, hint = str(refused.value).splitlines()
    assert first.startswith(
        "cvxopt returned no point for 'l2_strategy' (SolverError: Solver 'CVXOPT' failed."
    )
    assert hint == "  allow more time or iterations, or try another solver"


@pytest.mark.parametrize(
    ("solver", "options", "text"),
    [
        (
            "scs",
            {"max_iterations": 20},
            r"stopped at the iteration limit of 20: the gap is [\d.]+e-\d\d, 1e-04 was asked for; allow "
            r"more, or ask for a tolerance of \de-\d\d; before its repair the point missed constraint "
            r"'sensitivity' \(cell \d+\) by [\d.]+e-\d\d",
        ),
        (
            "scs",
            {"max_iterations": 1},
            r"stopped at the iteration limit of 1: the gap is 1\.0e\+00, 1e-04 was asked for; "
            "allow more(; before .*)?",
        ),
        (
            "clarabel",
            {"time_limit": 1e-6},
            r"stopped at the time limit of 1e-06 s: .*1e-06 was (asked for|not reached); "
            "allow more time(; before .*)?",
        ),
        (
            "clarabel",
            {"tolerance": 1e-15},
            r"clarabel got no further: the gap is [\d.]+e-1\d, 1e-15 was asked for; try another solver "
            r"\(scs, cvxopt, sdpa\), or ask for a tolerance of \de-1\d",
        ),
    ],
    ids=["iterations", "one iteration", "time", "gap"],
)
def test_a_warning_says_what_to_change(solver: str, options: dict[str, float], text: str) -> None:
    s = solve(Workload.from_matrix(np.tri(12)), "l2_strategy", solver=solver, **options)  # type: ignore[arg-type]
    (warning,) = s.warnings
    assert re.fullmatch(text, warning)
    assert ("warning", warning) in s.rows()
    still_feasible = s.status.feasible and s.error_bound <= s.error
    assert still_feasible


def test_the_tolerance_that_a_warning_names_is_reached() -> None:
    workload = Workload.from_matrix(np.tri(12))
    (warning,) = solve(workload, "l2_strategy", solver="scs", max_iterations=20).warnings
    named = re.search(r"ask for a tolerance of (\S+?);?( |$)", warning)
    assert named is not None
    s = solve(workload, "l2_strategy", solver="scs", max_iterations=20, tolerance=float(named[1]))
    assert (s.status.stop, s.warnings) == ("gap reached", ())


def test_time_limit() -> None:
    """A gap that no arithmetic reaches, so that only the clock can stop it."""
    s = solve(Workload.from_matrix(np.tri(120)), "l2_strategy", solver="scs", tolerance=1e-15, time_limit=0.4)
    assert s.status.stop == "time limit"
    still_certified(s)


def test_time_that_runs_out_while_a_point_is_certified() -> None:
    """The first point is not the solver's last word, and the report after it takes all the time."""
    w = Workload.from_matrix(np.tri(6))
    late = solve(
        w,
        "l2_strategy",
        solver="scs",
        tolerance=1e-15,
        time_limit=0.2,
        progress=lambda progress: time.sleep(0.25),
    )
    assert late.status.stop == "time limit"
    still_certified(late)


def test_time_limit_in_the_middle_of_an_interior_point_run() -> None:
    w = Workload.from_matrix(np.tri(28))
    try:
        s = solve(w, "l2_strategy", solver="clarabel", time_limit=0.25)
    except SolverError as error:
        pytest.fail(f"no point was kept: {error}")
    assert s.status.stop in ("time limit", "gap reached")
    still_certified(s)


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
def test_a_gap_that_no_arithmetic_reaches(solver: str) -> None:
    s = solve(
        Workload.from_matrix(np.tri(6)), "l2_strategy", solver=solver, tolerance=1e-15, max_iterations=3000
    )
    assert s.status.stop in ("gap not reached", "iteration limit")
    assert s.gap is not None and 1e-15 < s.gap < 1e-6
    still_certified(s)


def test_a_limit_of_the_solver_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conic_solvers, "MOST_ITERATIONS", 20)
    s = solve(Workload.from_matrix(np.tri(6)), "l2_strategy", solver="scs", tolerance=1e-12)
    assert s.status.stop == "iteration limit"
    assert s.warnings[0].startswith("stopped at the iteration limit: the gap is ")


def test_stopping_from_the_progress_report() -> None:
    """An error raised by the caller ends the solve; nothing keeps Ctrl-C afterwards."""

    class Enough(Exception):
        pass

    def stop(progress: Progress) -> None:
        raise Enough

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Enough):
        solve(Workload.from_matrix(np.tri(6)), "l2_strategy", progress=stop)
    assert signal.getsignal(signal.SIGINT) is before


INTERRUPTED = """
    import numpy as np, mmopt
    w = mmopt.Workload.from_matrix(np.tri(96))
    def first(progress):
        print("running", flush=True)
    s = mmopt.solve(w, "l2_strategy", solver="scs", tolerance=1e-12, progress=first)
    assert s.bound is not None and 0 < s.bound <= s.objective
    assert s.error_bound <= s.error and s.sensitivity <= 1.0
    assert s.status.feasible and s.status.bound_valid
    print("stopped:", s.status.stop, s.strategy.supports(w), flush=True)
"""


def test_ctrl_c_while_it_is_solved() -> None:
    """It comes from outside, at any moment of the solver's work."""
    timers: list[threading.Timer] = []

    def first(progress: Progress) -> None:
        if not timers:
            timers.append(threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    w = Workload.from_matrix(np.tri(96))
    s = solve(w, "l2_strategy", solver="scs", tolerance=1e-15, progress=first)
    timers[0].cancel()
    assert s.status.stop == "interrupted" and s.strategy.supports(w)
    still_certified(s)


@pytest.mark.slow
def test_ctrl_c_gives_the_best_certified_point_so_far() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.splitlines()[-1] == "stopped: interrupted True"


EXPECTED = "expected a name ('clarabel'), 'module:function', or a function of a ConicProblem"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "a tolerance lies between 0 and 1, not 0.0"),
        ({"tolerance": 1.5}, "a tolerance lies between 0 and 1, not 1.5"),
        ({"tolerance": float("nan")}, "a tolerance lies between 0 and 1, not nan"),
        ({"time_limit": 0.0}, "a time limit is a positive number of seconds, not 0.0"),
        ({"time_limit": -1.0}, "a time limit is a positive number of seconds, not -1.0"),
        ({"max_iterations": 0}, "'max_iterations' is at least 1, not 0"),
        ({"threads": -2}, "'threads' is at least 1, not -2"),
        ({"solver": "sc"}, "there is no solver 'sc'\n  did you mean 'scs'?"),
        ({"solver": 3}, f"a int is no solver\n  {EXPECTED}"),
        ({"givens": {"V": np.eye(2)}}, "'l2_strategy' has no given 'V'\n  known: W"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        solve(Workload.from_matrix(np.tri(3)), "l2_strategy", **options)  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_an_option_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match=re.escape("unexpected keyword argument 'tolernace'")):
        solve(Workload.from_matrix(np.tri(3)), "l2_strategy", tolernace=1e-3)  # type: ignore[call-arg]


def test_a_program_that_does_not_exist() -> None:
    with pytest.raises(OptionError) as refused:
        solve(Workload.from_matrix(np.tri(3)), "l2_stratgy")
    assert "did you mean 'l2_strategy'?" in str(refused.value)


@pytest.mark.parametrize(
    ("program", "solver", "message"),
    [
        (
            "l2_strategy",
            "qoco",
            "'l2_strategy' does not work with qoco: it must have the psd cone\n"
            "  these have it: clarabel, scs, cvxopt, sdpa",
        ),
        (
            "query_weighting",
            "sdpa",
            "'query_weighting' does not work with sdpa: it must have the second-order cone\n"
            "  these have it: clarabel, scs, cvxopt, qoco",
        ),
    ],
)
def test_a_cone_that_the_solver_lacks_is_named(program: str, solver: str, message: str) -> None:
    with pytest.raises(SolverError) as refused:
        solve(Workload.from_matrix(np.tri(3)), program, solver=solver)
    assert str(refused.value) == message


def test_a_status_in_words() -> None:
    status = Status("time limit", True, 3.14e-5, False, "Whatever")
    assert str(status) == "time limit; feasible (before repair off by 3.1e-05)"
    status = Status("gap reached", False, 0.0, True, "")
    assert str(status) == "gap reached; not feasible (before repair off by 0.0e+00)"


@pytest.mark.parametrize("program", ["l2_strategy", "fitness_for_use", "query_weighting"])
def test_a_limit_that_passes_before_the_first_point_leaves_one(program: str) -> None:
    """The kernel has reported, and nothing is scored yet."""
    workload = Workload.from_matrix(np.tri(24), targets=np.ones(24))
    s = solve(workload, program, time_limit=0.05, tolerance=1e-12, progress=lambda _: time.sleep(0.1))
    assert s.status.feasible and s.bound is not None and 0 < s.bound <= s.objective
