"""The number of rows, where neighbours keep it.

Guards integer_dense.py, norms_and_measured_integers.py, neighbours.py, measured_and_simulated_releases.py,
release_plan.py.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tolerances import RECOMPUTED

import mmopt
from mmopt import Domain, PrivacyError, Workload, solve
from mmopt.mechanism import measure, plan
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import Neighbours, Strategy
from mmopt.workloads import Explicit

REPLACED = Neighbours("replace-one")
OTHERS = (
    "add-remove",
    {"rows": 2},
    {"rows": 2, "column": "person"},
    {"participation": {"separation": 2, "at_most": 2}},
)
ROWS = {
    "two cells": np.eye(2),
    "histogram and total": np.vstack([np.eye(4), np.ones(4)]),
    "prefixes": np.tri(5),
    "marginals": np.vstack([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))]),
    "cells alike": np.kron(np.tri(3), np.ones(2)),
    "a cell in no query": np.eye(4)[:3],
    "multiples": np.diag([2.0, 3, 5]),
    "no whole numbers": np.array([[1.0, 0.3, 0.7], [0.0, 1.1, 0.2]]),
}


def ruled(rows: np.ndarray, rule: str) -> Workload:
    """Queries over cells with this rule for rows without one."""
    workload = Workload.from_matrix(rows)
    (cells,) = workload.domain.attributes
    return replace(
        workload, domain=replace(workload.domain, attributes=(replace(cells, outside=rule, missing=rule),))
    )


def strategies(workload: Workload) -> list[Strategy]:
    rng = np.random.default_rng(3)
    return [
        *(Strategy(rng.normal(size=(workload.n + 1, workload.n)), norm) for norm in (1, 2)),
        *(Strategy(np.eye(workload.n), norm) for norm in (1, 2)),
        solve(workload, "replace_one").strategy,
    ]


@pytest.mark.parametrize("name", ROWS)
def test_answers_are_exact_and_no_move_changes_more_than_is_claimed(name: str) -> None:
    workload = ruled(ROWS[name], "refuse")
    for strategy in strategies(workload):
        integer = round_any(strategy, workload, REPLACED)
        seen = integer.reconstruction.matrix @ integer.matrix + np.multiply.outer(
            np.broadcast_to(integer.of_total, workload.m), np.ones(workload.n)
        )
        np.testing.assert_allclose(seen, workload.queries, atol=2e-6)
        moves = [
            integer.matrix[:, i] - integer.matrix[:, j]
            for i, j in itertools.permutations(range(workload.n), 2)
        ]
        largest = max(
            int(np.abs(move).sum()) ** 2 if strategy.norm == 1 else int(move @ move) for move in moves
        )
        assert integer.squared_sensitivity == largest
        assert integer.loss <= 1.001  # beside the same strategy with the total unknown
        integer.check_total(workload)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", ROWS)
def test_where_neighbours_may_differ_in_it_it_is_never_used(name: str, norm: int) -> None:
    kept, dropped = ruled(ROWS[name], "refuse"), ruled(ROWS[name], "drop")
    strategy = Strategy(np.eye(kept.n), norm)
    used = round_any(strategy, kept, REPLACED)
    unused = ("a cell in no query", "no whole numbers") if norm == 2 else ("a cell in no query",)
    assert np.any(used.of_total) == (name not in unused)
    for workload, neighbours in [*((kept, Neighbours.of(one)) for one in OTHERS), (dropped, REPLACED)]:
        assert not np.any(round_any(strategy, workload, neighbours).of_total)
        forged = replace(used, workload=workload, neighbours=neighbours)
        if np.any(used.of_total):
            with pytest.raises(PrivacyError, match="the number of rows is used without noise"):
                forged.check_total(forged.workload)
            with pytest.raises(PrivacyError, match="the number of rows is used without noise"):
                used.check_total(dropped)  # as a plan that counts by other rules would
    assert not np.any(round_any(strategy, kept, REPLACED, uses_total=False).of_total)


def test_a_forged_plan_is_not_measured() -> None:
    workload = ruled(np.eye(2), "refuse")
    honest = plan(workload, Strategy(np.eye(2)), {"rho": 0.5}, "replace-one")
    assert honest.sensitivity_of.endswith(
        "; the number of rows, which no replaced row changes, is used without noise"
    )
    measure(honest, np.array([3, 4]))
    forged = replace(honest, integer=replace(honest.integer, neighbours=Neighbours()))
    with pytest.raises(PrivacyError, match="'add-remove' may change it"):
        measure(forged, np.array([3, 4]))


def test_two_cells_need_noise_on_one() -> None:
    workload = ruled(np.vstack([np.eye(2), np.ones(2)]), "refuse")
    found = mmopt.accuracy(workload, {"epsilon": 1.0}, neighbours="replace-one")
    assert found.plan.parts[0].rows == 1 and found.plan.epsilon == 1.0
    one, other, total = found.plan.standard_errors
    assert 1.35 < one == other <= 1.36 and total == 0.0
    for seed in range(5):
        estimates = measure(found.plan, np.array([3, 2**30]), simulate=seed).estimates
        assert estimates[0] + estimates[1] == estimates[2] == 3 + 2**30


def test_noise_of_estimates_is_that_of_their_standard_errors() -> None:
    workload, x = ruled(np.tri(4), "refuse"), np.array([5, 0, 20, 7])
    planned = plan(workload, solve(workload, "replace_one"), {"rho": 0.1}, "replace-one")
    drawn = np.array([measure(planned, x, simulate=seed).estimates for seed in range(400)])
    np.testing.assert_allclose(drawn.mean(axis=0), workload.queries @ x, atol=4 * planned.rmse / 400**0.5 * 2)
    np.testing.assert_allclose(drawn.std(axis=0), planned.standard_errors, rtol=0.15, atol=1e-9)


def test_rows_that_sum_to_ones_are_no_classes() -> None:
    """The number of rows does not stand for a row where there are negative entries."""
    rows = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]])
    workload = Workload(Domain.of(a=["p", "q", "r", "s"]), (Explicit.read(rows, None, None, ()),))
    integer = plan(workload, Strategy(rows / 3.0, 1), {"epsilon": 1.0}, "replace-one").integer
    counts = np.array([3, 6, 9, 12])
    estimates = integer.estimate(integer.answers(counts).astype(float)) + integer.of_total * counts.sum()
    assert estimates == pytest.approx(rows @ counts, rel=RECOMPUTED)
