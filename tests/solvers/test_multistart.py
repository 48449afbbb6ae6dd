"""p-Identity strategies: their error against dense inverses, the states and starts of the search.

Guards p_identity_kernel.py.
"""

import itertools

import numpy as np
import pytest
from tolerances import DERIVATIVE, RECOMPUTED

from mmopt import UnsuitableError, Workload, solve
from mmopt.numerics.arrays import Array
from mmopt.solvers import Clock
from mmopt.solvers.p_identity_kernel import (
    AGREEMENT,
    STARTS_AND_STEPS,
    Objective,
    rounds,
    search,
    starts,
)


def prefix(n: int) -> np.ndarray:
    return np.tri(n).T @ np.tri(n)


def test_states_get_better_and_tell_their_error() -> None:
    gram = prefix(40)
    found = list(search(gram, 10, count=6))
    assert [state.stop for state in found] == [None, None, "solved"]
    values = [state.value for state in found]
    assert values == sorted(values, reverse=True)
    for state in found:
        assert (state.rows >= 0).all() and len(state.rows) <= 10
        assert Objective.of(gram).value_and_gradient(state.rows)[0] == pytest.approx(
            state.value, rel=RECOMPUTED
        )
    # A third of six starts is followed after the first round.
    assert [len(state.values) for state in found] == [6, 2, 2]


def test_the_same_seed_gives_the_same_strategy_and_another_another() -> None:
    gram = prefix(24)
    one, two, three = (next(search(gram, 6, count=9, seed=s)).rows for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert one.shape != three.shape or not np.array_equal(one, three)


def test_it_stops_when_told_and_at_its_limit() -> None:
    gram = prefix(24)
    told = list(search(gram, 6, clock=Clock(1e-9)))
    assert [(state.stop, state.iterations) for state in told] == [("stopped", 0)]
    assert told[0].value == np.trace(gram) and not told[0].rows.any()  # the identity
    few = list(search(gram, 6, limit=7))
    assert [state.stop for state in few] == ["iteration limit"] and few[0].iterations == 7


def test_the_caller_may_give_the_first_start() -> None:
    gram = prefix(32)
    rows = np.repeat(np.eye(2), 16, axis=1)
    (*_, last) = search(gram, 4, count=1, first=(rows,))
    assert len(last.rows) == 2 and last.count == 1


def test_starts_have_no_more_rows_than_there_may_be() -> None:
    for most in [1, 5, 70]:
        for n in (1, 2, 9, 64):
            for start in itertools.islice(starts(n, most, 0, np.tri(n)), 25):
                assert 1 <= len(start) <= most and start.shape[1] == n
                assert (start >= 0).all() and np.isfinite(start).all()


def test_queries_are_a_start_where_they_are_few() -> None:
    wide = np.array([[1.0, 1, 0, 0], [0, 2, 2, 2], [0, 0, 0, 1], [1, -1, 0, 0]])
    total, queries = itertools.islice(starts(4, 2, 0, wide), 2)
    assert total.shape == (1, 4) and (total > 0.1).all()
    assert np.array_equal(queries > 0.1, [[True, True, False, False], [False, True, True, True]])


def test_cells_are_merged_only_where_neighbours_are_alike(rng: np.random.Generator) -> None:
    gram = prefix(1024)
    assert [block for block, _ in rounds(gram)] == [4, 4, 2, 1]
    order = rng.permutation(1024)
    assert [block for block, _ in rounds(gram[np.ix_(order, order)])] == [1, 1, 1]
    assert [block for block, _ in rounds(prefix(64))] == [1, 1, 1]
    counts = [next(search(prefix(n), 2, limit=1)).count for n in (64, 1024)]
    assert counts == [STARTS_AND_STEPS[0][1], STARTS_AND_STEPS[1][1]]


def test_nothing_is_started_where_the_identity_is_the_best(rng: np.random.Generator) -> None:
    diagonal = np.diag(rng.uniform(0.5, 2.0, 6))
    (state,) = search(diagonal, 2)
    assert (state.count, state.iterations, state.value) == (0, 0, np.trace(diagonal)) and not state.rows.any()
    # No strategy with columns of L1 norm 1 has less error.
    for matrix in rng.normal(size=(50, 8, 6)):
        scaled = matrix / np.abs(matrix).sum(axis=0)
        assert np.trace(diagonal @ np.linalg.inv(scaled.T @ scaled)) > state.value
    diagonal[0, 1] = diagonal[1, 0] = 0.1
    *_, last = search(diagonal, 2)
    assert last.count > 0


def test_no_more_is_started_once_two_agree() -> None:
    """Where cells are merged; not where the caller says how many, nor where the best has far to go."""
    gram = prefix(256)
    (*_, few), (*_, told) = search(gram, 64), search(gram, 64, count=18)
    assert few.count == 3 and told.count == 18
    assert told.value <= few.value <= told.value * (1 + AGREEMENT)
    # HDMM's search ends at 5.1985.
    assert np.sqrt(few.value / 256) <= 5.18
    ends = np.random.default_rng(5).integers(0, 257, (64, 2))
    ranges = (np.arange(256) >= ends.min(axis=1)[:, None]) & (np.arange(256) < ends.max(axis=1)[:, None])
    root = ranges.astype(float)
    for other in (root.T @ root, prefix(128)):
        assert next(search(other, 32)).count == 18


def test_the_kernel_takes_it_and_the_file_scores_it() -> None:
    w = Workload.from_matrix(np.tri(32))
    s = solve(w, "p_identity")
    assert s.solver == "p_identity"
    assert s.status.stop.startswith("local optimum, 18 starts, 6 followed, spread ")
    theta = s.variables["Theta"]
    assert theta.shape == (8, 32) and (theta >= 0).all()
    whole = np.vstack([np.eye(32), theta])
    a = whole / whole.sum(axis=0)
    assert s.objective == pytest.approx(np.trace(w.gram @ np.linalg.inv(a.T @ a)), rel=RECOMPUTED)
    assert s.error == pytest.approx(s.objective, rel=RECOMPUTED)
    assert s.bound == s.error_bound < s.objective


def test_the_general_search_by_name_and_what_is_refused() -> None:
    w = Workload.from_matrix(np.tri(6))
    general, kernel = solve(w, "p_identity", solver="lbfgs", starts=3), solve(w, "p_identity")
    assert general.solver == "lbfgs" and kernel.objective <= general.objective * (1 + 1e-6)
    with pytest.raises(UnsuitableError) as wrong:
        solve(w, "p_identity", solver="weighting")
    assert str(wrong.value) == (
        "the kernel 'weighting' does not know 'p_identity'\n  these do: p_identity, lbfgs"
    )
    with pytest.raises(UnsuitableError):
        solve(w, "l2_strategy", solver="p_identity")


def test_few_cells() -> None:
    """The identity is the best that is known there."""
    for n in [1, 2, 3]:
        s = solve(Workload.from_matrix(np.tri(n)), "p_identity")
        assert s.objective <= n * (n + 1) / 2 * (1 + 1e-6)


def dense(gram: Array, theta: Array) -> float:
    whole = np.vstack([np.eye(len(gram)), theta])
    a = whole / whole.sum(axis=0)
    return float(np.trace(gram @ np.linalg.inv(a.T @ a)))


def test_the_value_is_total_error(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for n, k in [(1, 1), (7, 2), (12, 15)]:
        with subtests.test(n=n, k=k):
            w, theta = rng.normal(size=(n + 2, n)), rng.random((k, n))
            error, _ = Objective.of(w.T @ w).value_and_gradient(theta)
            assert error == pytest.approx(dense(w.T @ w, theta), rel=RECOMPUTED)


@pytest.mark.quick
def test_the_gradient(rng: np.random.Generator) -> None:
    for block in [1, 3]:
        w = rng.normal(size=(9, 11))
        objective = Objective.of(w.T @ w, block)
        t, way = rng.random((2, 3, len(objective.cells)))
        step = 1e-5
        up, down = (objective.value_and_gradient(t + sign * step * way)[0] for sign in (1, -1))
        _, gradient = objective.value_and_gradient(t)
        assert (up - down) / (2 * step) == pytest.approx(float((gradient * way).sum()), rel=DERIVATIVE)


def test_merged_cells_have_the_error_of_all(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for n, block in [(12, 3), (11, 4), (5, 8)]:
        with subtests.test(n=n, block=block):
            w = rng.normal(size=(n, n))
            gram = w.T @ w
            merged = Objective.of(gram, block)
            t = rng.random((2, len(merged.cells)))
            theta = merged.spread(t)
            assert merged.value_and_gradient(t)[0] == pytest.approx(dense(gram, theta), rel=RECOMPUTED)
            assert merged.merged(theta) == pytest.approx(t)
