"""Searches that start from a strategy: from it alone, and never ending above it."""

from pathlib import Path

import numpy as np
import pytest
from tolerances import GAP_INTERIOR, RECOMPUTED

from mmopt import OptionError, Program, Workload, certify, solve
from mmopt.strategies.baselines import baseline

PREFIX = Workload.from_matrix(np.tri(4))
COLUMNS = """program columns
class smooth
given
    W: matrix[r, n] = workload.root
parameter
    p: dim = n
choose
    B: matrix[p, n]
let
    A = B @ diag(1 / sqrt(sum(B * B, axis=0)))
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
from strategy S: matrix[p, n]
    B = S
bound
    l2_strategy
"""
SMOOTH = Program.parse(COLUMNS)


def test_a_smooth_program(subtests: pytest.Subtests) -> None:
    for name in ["identity", "haar", "hierarchical(branching=2)", "workload"]:
        with subtests.test(name):
            s = solve(PREFIX, SMOOTH, start=name)
            assert s.status.stop == "local optimum, 1 start"
            assert (
                s.strategy.p == baseline(name, PREFIX, 2).p
            )  # the rows are a parameter, taken from the strategy
            assert s.gap is not None and s.gap <= GAP_INTERIOR


@pytest.mark.quick
def test_where_the_search_starts() -> None:
    """Without a step, it is the strategy itself; its own optimum is where it ends."""
    started = solve(PREFIX, SMOOTH, start="haar", max_iterations=1)
    assert started.objective <= certify(PREFIX, "haar", SMOOTH, solve=False).objective * (1 + RECOMPUTED)
    best = solve(PREFIX, "l2_strategy")
    near, far = (solve(PREFIX, SMOOTH, start=start) for start in (best, "haar"))
    assert near.iterations < far.iterations


def test_a_program_with_a_rank_never_ends_above_its_start(subtests: pytest.Subtests) -> None:
    for name in ["haar", "hierarchical(branching=2)"]:
        with subtests.test(name):
            s = solve(PREFIX, "min_error", start=name, max_iterations=4)
            given = certify(PREFIX, name, "min_error", norm=1, solve=False)
            assert s.objective <= given.objective * (1 + RECOMPUTED)
            assert {row["start"] for row in s.history} == {1.0}
            assert s.strategy.norm == 1 and s.options["starts"] == 1
            again = solve(PREFIX, "min_error", start=name, max_iterations=4, seed=5)
            assert again.objective == s.objective  # nothing is drawn


def test_refused(subtests: pytest.Subtests) -> None:
    for program, arguments, message in [
        (
            "l2_strategy",
            {"start": "haar"},
            "'l2_strategy' is of class 'convex', which has no option 'start'\n  it belongs to class rank and "
            "smooth; a baseline can also be a given (--given NAME=haar)",
        ),
        (
            "min_error",
            {"start": "haar", "starts": 2},
            "'starts' has no effect with 'start': the search starts from there alone",
        ),
        ("min_error", {"start": "har"}, "the strategy 'har' is no baseline, and no .npy, .csv or .npz file"),
        (
            "min_error",
            {"start": np.ones((1, 4))},
            "the strategy does not support the workload: W A⁺ A differs from W for 3 of 4 queries",
        ),
        (
            "min_error",
            {"start": baseline("haar", PREFIX, 2)},
            "'min_error' is about strategies of norm 1, this one has norm 2",
        ),
    ]:
        with subtests.test(program=program, message=message):
            with pytest.raises(OptionError) as error:
                solve(PREFIX, program, **arguments)
            assert str(error.value).startswith(message)


def test_a_program_that_takes_no_strategy() -> None:
    with pytest.raises(OptionError) as error:
        solve(PREFIX, "p_identity", start="haar")
    assert str(error.value).startswith("'p_identity' has no section 'from strategy'")


def test_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "start.npy"
    np.save(path, np.eye(4))
    found, named = (solve(PREFIX, SMOOTH, start=start) for start in (path, "identity"))
    assert np.array_equal(found.strategy.matrix, named.strategy.matrix)
