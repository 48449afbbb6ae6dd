"""The search: what it promises of its states, its starts, and when it merges cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tolerances import RECOMPUTED

from mmopt.solvers.p_identity import Objective, Start, search, starts
from mmopt.solvers.p_identity.search import default_starts, rounds


def prefix(n: int) -> np.ndarray:
    return np.tri(n).T @ np.tri(n)


def test_states_get_better_and_tell_their_error() -> None:
    gram = prefix(40)
    found = list(search(gram, 10, count=6))
    assert [state.stop for state in found] == ["", "", "solved"]
    values = [state.value for state in found]
    assert values == sorted(values, reverse=True)
    for state in found:
        assert (state.rows >= 0).all() and len(state.rows) <= 10
        assert Objective.of(gram).value(state.rows) == pytest.approx(state.value, rel=RECOMPUTED)
    # A third of six starts is followed after the first round.
    assert [len(state.values) for state in found] == [6, 2, 2]


def test_the_same_seed_gives_the_same_strategy_and_another_another() -> None:
    gram = prefix(24)
    one, two, three = (next(search(gram, 6, count=9, seed=s)).rows for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert one.shape != three.shape or not np.array_equal(one, three)


def test_it_stops_when_told_and_at_its_limit() -> None:
    gram = prefix(24)
    told = list(search(gram, 6, over=lambda: True))
    assert [(state.stop, state.iterations) for state in told] == [("stopped", 0)]
    assert told[0].value == np.trace(gram) and not told[0].rows.any()  # the identity
    few = list(search(gram, 6, limit=7))
    assert [state.stop for state in few] == ["iteration limit"] and few[0].iterations == 7


def test_the_caller_may_give_the_first_start() -> None:
    gram = prefix(32)
    rows = np.repeat(np.eye(2), 16, axis=1)
    (*_, last) = search(gram, 4, count=1, first=(Start("mine", rows),))
    assert len(last.rows) == 2 and last.count == 1


@pytest.mark.parametrize("most", [1, 5, 70])
def test_starts_have_no_more_rows_than_there_may_be(most: int) -> None:
    for n in (1, 2, 9, 64):
        for start in itertools.islice(starts(n, most, 0, np.tri(n)), 25):
            assert 1 <= len(start.rows) <= most and start.rows.shape[1] == n
            assert (start.rows >= 0).all() and np.isfinite(start.rows).all()


def test_queries_are_a_start_where_they_are_few() -> None:
    wide = np.array([[1.0, 1, 0, 0], [0, 2, 2, 2], [0, 0, 0, 1], [1, -1, 0, 0]])
    named = {start.name: start.rows for start in itertools.islice(starts(4, 2, 0, wide), 3)}
    assert np.array_equal(named["queries"] > 0.1, [[True, True, False, False], [False, True, True, True]])


def test_cells_are_merged_only_where_neighbours_are_alike(rng: np.random.Generator) -> None:
    gram = prefix(1024)
    assert [block for block, _ in rounds(gram)] == [4, 4, 2, 1]
    order = rng.permutation(1024)
    assert [block for block, _ in rounds(gram[np.ix_(order, order)])] == [1, 1, 1]
    assert [block for block, _ in rounds(prefix(64))] == [1, 1, 1]
    assert default_starts(64) > default_starts(1024) > default_starts(10**4)
