"""A solve that stops early says why, and what it has is still certified.

Guards ``mmopt/driver/run_solver.py``, driver/remarks.py, reasons_to_stop.py,
results/status_grade_and_verification.py.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest

from mmopt import OptionError, Solution, SolverError, Workload, certify, solve
from mmopt.driver import Progress
from mmopt.results import Status
from mmopt.solvers import conic_solvers
from mmopt.strategies.baselines import baseline


def still_certified(s: Solution) -> None:
    assert 0 < s.bound <= s.objective
    assert s.error_bound <= s.error
    assert s.status.feasible and s.status.bound_valid


def test_iteration_limit(subtests: pytest.Subtests) -> None:
    for program, solver, iterations in [
        ("l2_strategy", "scs", 3),
        ("l2_strategy", "scs", 40),
        ("l2_strategy", "clarabel", 6),
        ("query_weighting", "qoco", 6),
    ]:
        with subtests.test(program=program, solver=solver):
            s = solve(Workload.from_matrix(np.tri(12)), program, solver=solver, max_iterations=iterations)
            assert s.iterations <= iterations
            assert s.status.stop == "iteration limit"
            still_certified(s)


def test_a_point_at_the_time_limit_is_no_worse_than_a_baseline(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("mmopt.driver.run_solver"), "BASELINE_SECONDS", np.inf)
    monkeypatch.setattr("mmopt.limits.GRACE", 60.0)  # a busy machine judges the point slowly
    for program in ("lp_strategy", "l2_strategy_block", "fitness_lmi", "minimax_variance"):
        with subtests.test(program=program):
            w = Workload.from_matrix(np.tri(24), targets=1.0)
            s = solve(w, program, time_limit=1e-3)
            for name in ("identity", "workload", "hierarchical", "wavelet", "square_root"):
                known = certify(w, baseline(name, w), program=program).objective
                assert s.objective <= known * (1 + 1e-9), name
            if better := [text for text in s.warnings if "better" in text]:
                said = r"no point that \w+ had by then is better than the baseline \w+, which this is"
                assert re.fullmatch(said, *better)
                still_certified(s)
            # A named solver is judged by its own points.
            named = solve(w, program, solver=s.solver, time_limit=1e-3)
            assert not any("baseline" in text for text in named.warnings)


def test_iteration_limit_of_a_solver_that_then_gives_nothing() -> None:
    with pytest.raises(SolverError) as refused:
        solve(Workload.from_matrix(np.tri(12)), "l2_strategy", solver="cvxopt", max_iterations=5)
    first, hint = str(refused.value).splitlines()
    assert first.startswith(
        "cvxopt returned no point for 'l2_strategy' (SolverError: Solver 'CVXOPT' failed."
    )
    assert hint == "  allow more time or iterations, or try another solver"


def test_a_warning_says_what_to_change(subtests: pytest.Subtests) -> None:
    for solver, options, text in [
        (
            "scs",
            {"max_iterations": 20},
            r"stopped at the iteration limit of 20: the gap is [\d.]+e-\d\d, 1e-04 was requested; allow "
            r"more, or ask for a tolerance of \de-\d\d; before its repair the point violated constraint "
            r"'sensitivity' \(cell \d+\) by [\d.]+e-\d\d",
        ),
        (
            "scs",
            {"max_iterations": 1},
            r"stopped at the iteration limit of 1: the gap is 1\.0e\+00, 1e-04 was requested; "
            "allow more(; before .*)?",
        ),
        (
            "clarabel",
            {"time_limit": 1e-6},
            r"stopped at the time limit of 1e-06 s: .*1e-06 was (requested|not reached); "
            "allow more time(; before .*)?",
        ),
        (
            "clarabel",
            {"tolerance": 1e-15},
            r"clarabel got no further: the gap is [\d.]+e-1\d, 1e-15 was requested; try another solver "
            r"\(scs, cvxopt, sdpa\), or ask for a tolerance of \de-1\d",
        ),
    ]:
        with subtests.test(solver=solver, text=text):
            s = solve(Workload.from_matrix(np.tri(12)), "l2_strategy", solver=solver, **options)
            (warning,) = s.warnings
            assert re.fullmatch(text, warning)
            assert ("warning", warning) in s.rows()
            assert s.status.feasible and s.error_bound <= s.error


def test_the_tolerance_that_a_warning_names_is_reached() -> None:
    workload = Workload.from_matrix(np.tri(12))
    (warning,) = solve(workload, "l2_strategy", solver="scs", max_iterations=20).warnings
    named = re.search(r"ask for a tolerance of (\S+?);?( |$)", warning)
    s = solve(workload, "l2_strategy", solver="scs", max_iterations=20, tolerance=float(named[1]))
    assert (s.status.stop, s.warnings) == ("gap reached", ())


LIMIT = 1e5  # seconds


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Callable[[Progress], None]:
    """A progress report after which the time is over."""
    clock, passed = time.monotonic, []
    monkeypatch.setattr(time, "monotonic", lambda: clock() + (LIMIT if passed else 0.0))
    return passed.append


def test_time_that_runs_out_while_a_point_is_certified(late: Callable[[Progress], None]) -> None:
    """The first point is not the solver's last word."""
    w = Workload.from_matrix(np.tri(6))
    s = solve(w, "l2_strategy", solver="scs", tolerance=1e-15, time_limit=LIMIT, progress=late)
    assert s.status.stop == "time limit"
    still_certified(s)


def test_a_limit_that_passes_before_the_first_point_leaves_one(
    late: Callable[[Progress], None], subtests: pytest.Subtests
) -> None:
    """The kernel has reported, and nothing is scored yet."""
    workload = Workload.from_matrix(np.tri(12), targets=np.ones(12))
    for program in ["l2_strategy", "fitness_for_use", "query_weighting"]:
        with subtests.test(program):
            s = solve(workload, program, time_limit=LIMIT, tolerance=1e-12, progress=late)
            assert s.status.feasible and s.bound is not None and 0 < s.bound <= s.objective


def test_a_gap_that_no_arithmetic_reaches(subtests: pytest.Subtests) -> None:
    for solver in ["clarabel", "scs"]:
        with subtests.test(solver):
            w = Workload.from_matrix(np.tri(6))
            s = solve(w, "l2_strategy", solver=solver, tolerance=1e-15, max_iterations=1000)
            assert s.status.stop in ("gap not reached", "iteration limit")
            assert 1e-15 < s.gap < 1e-6
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


def test_ctrl_c_keeps_the_best_certified_point() -> None:
    w = Workload.from_matrix(np.tri(6))
    press = lambda _: signal.raise_signal(signal.SIGINT)  # noqa: E731
    s = solve(w, "l2_strategy", solver="scs", tolerance=1e-15, progress=press)
    assert s.status.stop == "interrupted" and s.strategy.supports(w)
    still_certified(s)


INTERRUPTED = """
import numpy as np, mmopt
w = mmopt.Workload.from_matrix(np.tri(96))
running = lambda progress: print("running", flush=True)
s = mmopt.solve(w, "l2_strategy", solver="scs", tolerance=1e-15, progress=running)
assert 0 < s.bound <= s.objective and s.status.feasible and s.status.bound_valid
print("stopped:", s.status.stop, s.strategy.supports(w), flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_from_outside_at_any_moment_of_the_solver_s_work() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a shell may ignore
    )
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert output.splitlines()[-1] == "stopped: interrupted True"


EXPECTED = "expected a name ('clarabel'), 'conic', 'module:function', or a function of a ConicProblem"


def test_options_that_are_refused(subtests: pytest.Subtests) -> None:
    w = Workload.from_matrix(np.tri(3))
    for program, options, message in [
        ("l2_strategy", {"tolerance": 0.0}, "a tolerance lies between 0 and 1, not 0.0"),
        ("l2_strategy", {"tolerance": 1.5}, "a tolerance lies between 0 and 1, not 1.5"),
        ("l2_strategy", {"tolerance": float("nan")}, "a tolerance lies between 0 and 1, not nan"),
        ("l2_strategy", {"time_limit": 0.0}, "a time limit is a positive number of seconds, not 0.0"),
        ("l2_strategy", {"time_limit": -1.0}, "a time limit is a positive number of seconds, not -1.0"),
        ("l2_strategy", {"max_iterations": 0}, "'max_iterations' is at least 1, not 0"),
        ("l2_strategy", {"threads": -2}, "'threads' is at least 1, not -2"),
        ("l2_strategy", {"history": "it.csv"}, "'history' is True or False, not 'it.csv'"),
        ("l2_strategy", {"derive": 1}, "'derive' is True or False, not 1"),
        ("l2_strategy", {"reduce": "no"}, "'reduce' is True or False, not 'no'"),
        ("l2_strategy", {"solver": "sc"}, "there is no solver 'sc'\n  did you mean 'scs'?"),
        ("l2_strategy", {"solver": "nucelar"}, "there is no solver 'nucelar'\n  did you mean 'nuclear'?"),
        ("l2_strategy", {"solver": 3}, f"a int is not a solver\n  {EXPECTED}"),
        ("l2_strategy", {"givens": {"V": np.eye(2)}}, "'l2_strategy' has no given 'V'\n  known: W"),
        *(
            (
                "l2_strategy",
                {option: 3},
                f"'l2_strategy' is of class 'convex', which has no option '{option}'\n  it is an option of "
                f"class {classes}",
            )
            for option, classes in (
                ("starts", "rank and smooth"),
                ("seed", "rank and smooth"),
            )
        ),
        *(
            ("min_error", {"givens": {name: value}}, f"the parameter '{name}' of a search is {words}")
            for name, value, words in (
                ("penalty", 0.0, "positive, not 0"),
                ("growth", 0.5, "at least 1, not 0.5"),
                ("zero", 1.0, "between 0 and 1, not 1"),
                ("rounds", 2.5, "a whole number, at least 1, not 2.5"),
            )
        ),
        ("min_error", {"starts": 0}, "'starts' is at least 1, not 0"),
        ("min_error", {"seed": -1}, "a seed is at least 0, not -1"),
    ]:
        with subtests.test(message):
            with pytest.raises(OptionError) as refused:
                solve(w, program, **options)
            assert str(refused.value) == message
    with pytest.raises(OptionError, match="did you mean 'l2_strategy'"):
        solve(w, "l2_stratgy")
    with pytest.raises(OptionError, match="there is no option 'tolernace'\\n  did you mean 'tolerance'"):
        solve(w, "l2_strategy", tolernace=1e-3)


def test_a_cone_that_the_solver_lacks_is_named() -> None:
    for program, solver, cone, others in [
        ("l2_strategy", "qoco", "psd", "clarabel, scs, cvxopt, sdpa"),
        ("query_weighting", "sdpa", "second-order", "clarabel, scs, cvxopt, qoco"),
    ]:
        with pytest.raises(SolverError) as refused:
            solve(Workload.from_matrix(np.tri(3)), program, solver=solver)
        assert str(refused.value) == (
            f"'{program}' does not work with {solver}: it lacks the {cone} cone\n  these have it: {others}"
        )


def test_a_status_in_words() -> None:
    status = Status("time limit", True, 3.14e-5, False, "Whatever")
    assert str(status) == "time limit; feasible (violation before repair 3.1e-05)"
    status = Status("gap reached", False, 0.0, True, "")
    assert str(status) == "gap reached; not feasible (violation before repair 0.0e+00)"
    words = (
        "gap reached; feasible (before it was moved inside, a constraint was violated by more than the "
        "size of its terms)"
    )
    assert str(Status("gap reached", True, 1.2, True, "")) == words
