"""The tables of solvers, the forecast, the choice between them, and what they are handed.

Guards ``choice_and_forecast.py``, ``options_points_and_clock.py``,
``conic_solvers.py`` and ``conic_problem.py``, whose numbers are read back in ``tests/exchange``.

Guards sector_kernel.py.
"""

import signal
import sys
from typing import Any

import numpy as np
import pytest
import scs
from processes import linux_only
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import OptionError, Program, SolverError, TooLargeError, Workload, solve
from mmopt.comparison_process import limited
from mmopt.compiler import Cone, bind, lower
from mmopt.solvers import (
    SOLVERS,
    Clock,
    Options,
    SolverRow,
    choose_solver,
    claims,
    forecast,
    memory_limit,
    missing_cones,
    quickest,
    refuse_too_large,
    run,
    solver_row,
)
from mmopt.solvers.choice_and_forecast import too_large
from mmopt.solvers.conic_problem import ConeBlock, Cones, conic_problem, hand_over
from mmopt.solvers.nuclear import QUERIES

PSD = Cone("psd", 32, 1, "objective")


def row(name: str) -> SolverRow:
    return solver_row(name)


def test_names_are_found_in_any_case() -> None:
    assert [row(r.name.upper()) for r in SOLVERS] == list(SOLVERS)
    assert all(r.is_installed and r.version for r in SOLVERS)


def test_solver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SolverError) as error:
        solver_row("qoco")
    assert str(error.value) == "the solver 'qoco' is not installed\n  pip install qoco"


def test_missing_cones() -> None:
    both = [PSD, Cone("second-order", 3, 5, "inverse")]
    assert missing_cones(row("clarabel"), both) == []
    assert missing_cones(row("qoco"), both) == ["psd"]
    assert missing_cones(row("sdpa"), both) == ["second-order"]


def test_forecast_grows_with_size_and_number() -> None:
    for name in ["clarabel", "scs"]:
        small, large, many = ([Cone("psd", s, c, "x")] for s, c in ((20, 1), (40, 1), (20, 8)))
        first = forecast(row(name), small, 100)
        for more in (large, many):
            then = forecast(row(name), more, 100)
            assert then.memory > first.memory
            assert then.seconds > first.seconds


def test_blocks_that_share_their_variables_need_memory() -> None:
    """l2_strategy_lmi over 20 cells held 309 MB; one block holds little, and so do many small ones."""
    family, one = [Cone("psd", 21, 20, "lmi")], [Cone("psd", 21, 1, "block")]
    assert 309e6 <= forecast(row("clarabel"), family, 230).memory <= 400e6
    assert forecast(row("clarabel"), one, 230).memory <= 175e6
    assert forecast(row("clarabel"), [Cone("psd", 2, 10_000, "pairs")], 230).memory <= 300e6


def test_rows_that_are_filled_need_memory() -> None:
    few, many = (forecast(row("scs"), [PSD], 528, 2048 * filled) for filled in (528, 5280))
    assert many.memory > few.memory + 9 * 2048 * 528 * 8


def test_a_product_that_fills_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "given\n    V: matrix[k, n]\nchoose\n    d: vector[n] >= 0\nmaximize\n    logdet(V @ diag(d) @ V.T)\n"
    )
    program = Program.parse(f"program design\n{text}subject to\n    one: sum(d) <= 1\n")
    monkeypatch.setattr("mmopt.solvers.choice_and_forecast.memory_limit", lambda: 1e9)
    choose_solver(bind(program, Workload.from_matrix([[1.0]]), {"V": np.ones((10, 4000))}), None)
    with pytest.raises(TooLargeError, match="'design' with scs would need about 1 GiB of memory"):
        choose_solver(bind(program, Workload.from_matrix([[1.0]]), {"V": np.ones((40, 4000))}), None)


def test_choice_by_size() -> None:
    rows = [row("clarabel"), row("scs")]
    assert quickest(rows, [PSD], 500).name == "clarabel"
    assert quickest(rows, [Cone("psd", 400, 1, "objective")], 40_000).name == "scs"


def test_too_large_names_the_size_and_the_limit() -> None:
    cones = [Cone("psd", 2000, 1, "objective"), Cone("nonnegative", 1, 1000, "sensitivity")]
    refuse_too_large("p", row("scs"), cones, 10)
    with pytest.raises(TooLargeError) as error:
        refuse_too_large("p", row("clarabel"), cones, 10)
    text = str(error.value)
    assert text.startswith("'p' with clarabel would need about ")
    assert "GiB of memory; the limit here is " in text
    assert text.endswith(
        "it has 1 psd cone of size 2000 (from 'objective'); use a first-order solver (scs), "
        "another formulation of the same problem, fewer cells"
    )


@linux_only
def test_the_limit_of_a_task_is_named_where_it_is_less() -> None:
    needed = forecast(solver_row("clarabel"), [Cone("psd", 10**4, 1, "x")], 10**8)
    for size, limit in ((2**30, 2**30), (2**60, memory_limit()), (None, memory_limit())):
        with limited(size):
            message = str(too_large("p", needed, ""))
        assert message.endswith(f"the limit here is {limit / 2**30:.0f} GiB")


def test_options_that_are_refused(subtests: pytest.Subtests) -> None:
    for name, value, message in (
        ("tolerance", 0.0, "a tolerance lies between 0 and 1, not 0.0"),
        ("tolerance", 1.0, "a tolerance lies between 0 and 1, not 1.0"),
        ("tolerance", float("nan"), "a tolerance lies between 0 and 1, not nan"),
        ("tolerance", "x", "'tolerance' is a number, not 'x'"),
        ("time_limit", 0.0, "a time limit is a positive number of seconds, not 0.0"),
        ("max_iterations", 0, "'max_iterations' is at least 1, not 0"),
        ("max_iterations", 1.5, "'max_iterations' is a whole number, not 1.5"),
        ("threads", -1, "'threads' is at least 1, not -1"),
        ("threads", 1.5, "'threads' is a whole number, not 1.5"),
        ("starts", True, "'starts' is a whole number, not True"),
        ("verbose", "no", "'verbose' is True or False, not 'no'"),
        ("arrays", 1, "'arrays' is a text, not 1"),
    ):
        with subtests.test(message):
            with pytest.raises(OptionError) as error:
                Options(**{name: value})
            assert str(error.value) == message
    assert Options(tolerance=np.float32(0.5), threads=np.int64(2)).threads == 2  # type: ignore[arg-type]


def test_ctrl_c_while_compiling_ends_at_once_and_later_keeps_the_point() -> None:
    clock = Clock(60.0, compiling=True)
    with pytest.raises(KeyboardInterrupt):
        clock.press()
    assert clock.interrupted and clock.is_over, "also where a library loses the exception"
    clock = Clock(60.0, compiling=True)
    clock.hand_over({"gets": "a problem"})
    clock.press()
    assert clock.interrupted and clock.is_over
    with pytest.raises(KeyboardInterrupt):
        clock.press()


def test_the_clock_knows_when_the_solver_had_the_problem(subtests: pytest.Subtests) -> None:
    for row in [row for row in SOLVERS if "psd" in row.cones]:
        with subtests.test(row.name):
            # cvxpy's part of compiling happens on the way: it must count as that, not as solving.
            lowered = lower(bind(Program.load("l2_strategy"), Workload.from_matrix(np.tri(4))))
            with Clock(60.0) as clock:
                assert clock.handed_over == 0.0
                next(run(row, lowered, Options(), clock))
                assert 0.0 < clock.handed_over < clock.elapsed


def of_rank(rng: np.random.Generator, rank: int) -> Workload:
    rows = rng.integers(-2, 3, (12, rank)) @ rng.integers(0, 2, (rank, 7)).astype(float)
    return Workload.from_matrix(rows[rows.any(axis=1)], rng.uniform(1.0, 5.0, int(rows.any(axis=1).sum())))


def test_a_kernel_gets_the_queries_of_a_workload_where_all_have_targets(rng: np.random.Generator) -> None:
    """They stand for their representation in the basis; not for what the caller passed."""
    program, w = Program.load("fitness_for_use"), of_rank(rng, 3)

    def handed(w: Workload, givens: dict[str, np.ndarray]) -> dict[str, Any]:
        instance = bind(program, w, givens)
        (claim,) = claims(instance)
        return dict(claim.givens(instance))

    found = handed(w, {})
    assert found[QUERIES] is w.queries
    np.testing.assert_allclose(w.queries, found["L"] @ found["B"], atol=ROUNDING * np.abs(w.queries).max())
    loose = Workload.from_matrix(np.vstack([w.queries, w.queries[:1]]), np.append(w.targets, np.inf))
    assert QUERIES not in handed(loose, {})
    own = {"L": 2.0 * w.representation, "B": w.basis}
    assert QUERIES not in handed(w, own)
    one, other = solve(w, program), solve(w, program, givens=own)
    assert other.objective == pytest.approx(4.0 * one.objective, rel=2 * GAP_INTERIOR)


@pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be held back")
def test_ctrl_c_while_it_sets_up_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = scs.SCS

    def forgetful(*arguments: Any, **options: Any) -> Any:
        """A solver as in C: its own listener while it sets up, whose word nobody asks for."""
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        signal.raise_signal(signal.SIGINT)
        found = setup(*arguments, **options)
        signal.signal(signal.SIGINT, before)
        return found

    monkeypatch.setattr(scs, "SCS", forgetful)
    row = next(row for row in SOLVERS if row.name == "scs")
    lowered = lower(bind(Program.load("l2_strategy"), Workload.from_matrix(np.tri(4))))
    with Clock(60.0) as clock:
        (point,) = run(row, lowered, Options(), clock)
        assert clock.interrupted
    assert (point.stop, point.variables) == ("stopped", {})


TARGETS = Workload.from_matrix(np.tri(3), targets=[1.0, 2.0, 1.0])


def test_blocks_follow_one_another_in_the_order_of_the_fields() -> None:
    cones = Cones(2, 3, (3, 4), (2,), 1, (0.3,))
    assert cones.blocks == (
        ConeBlock("zero", 0, 2, 2),
        ConeBlock("nonnegative", 2, 5, 3),
        ConeBlock("second-order", 5, 8, 3),
        ConeBlock("second-order", 8, 12, 4),
        ConeBlock("psd", 12, 15, 2),
        ConeBlock("exponential", 15, 18, 3),
        ConeBlock("power", 18, 21, 3, 0.3),
    )
    assert Cones().blocks == () and Cones(psd=(1,)).kinds == {"psd"}


def test_a_solver_cannot_change_the_problem() -> None:
    problem = conic_problem(hand_over(lower(bind(Program.load("l2_strategy"), TARGETS)), "SCS"))
    for array in (problem.b, problem.c, problem.A.data, problem.A.indices, problem.A.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
