"""Rounding for Laplace noise keeps the rows, their L1 norms, and the answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from privacy.rounding.test_integer_dense import CASES, marginals

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy.rounding.integer_dense import round_rows
from mmopt.privacy.rounding.rounded_rows import LOSS_LIMIT, kept_rows
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import Neighbours, Strategy
from mmopt.workloads import Workload

INTEGER = [name for name in CASES if name != "real, rank 3"]


def strategies(workload: Workload) -> dict[str, np.ndarray]:
    """The queries themselves, the cells, and the cells with rows over all that the workload tells apart."""
    n = workload.n
    rng = np.random.default_rng(3)
    touched = np.abs(workload.queries).sum(axis=0) > 0
    extra = rng.uniform(0, 1, (3, n)) * touched
    return {
        "queries": workload.queries,
        "cells": np.eye(n),
        "identity and rows": np.vstack([np.eye(n), extra]) / (1 + extra.sum(axis=0)),
    }


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", ["queries", "cells", "identity and rows"])
@pytest.mark.parametrize("name", INTEGER)
def test_rounding_keeps_the_answers_the_cost_and_the_variances(name, kind, neighbours):
    workload = CASES[name]
    strategy = Strategy(strategies(workload)[kind], 1)
    rounded = round_rows(strategy, workload, Neighbours.of(neighbours))
    assert rounded.norm == 1
    assert (rounded.matrix == rounded.core @ rounded.basis).all()
    # Unbiased: the queries come back from the rounded matrix, whatever the data.
    size = np.abs(workload.queries).max()
    assert np.abs(rounded.reconstruction.matrix @ rounded.matrix - workload.queries).max() <= 1e-12 * size
    # At equal privacy the variances are at most the strategy's, as far as rounding allows.
    before = strategy.sensitivity
    if neighbours == "replace-one":
        before = max(before, strategy.sensitivity_to(Neighbours.of("replace-one")))
    after = math.ldexp(rounded.sensitivity / rounded.relative, -rounded.bits)
    assert after <= before * (1 + 1e-6)
    assert (rounded.variances * after**2 <= strategy.variances(workload) * before**2 * (1 + 1e-4)).all()
    assert rounded.loss <= LOSS_LIMIT
    # The sensitivity is that of the integers, exactly.
    listed = [[0] * rounded.rows, *([int(v) for v in column] for column in rounded.matrix.T)]
    if neighbours == "add-remove":
        exact = max(sum(map(abs, c)) for c in listed)
    else:
        exact = max(sum(abs(a - b) for a, b in zip(c, d, strict=True)) for c in listed for d in listed)
    assert rounded.squared_sensitivity == exact**2 and rounded.sensitivity == exact


@pytest.mark.parametrize("name", [name for name in INTEGER if name != "duplicated rows"])
def test_the_rows_are_the_strategy_s_own(name):
    """A rotation of them would have other L1 norms."""
    workload = CASES[name]
    rounded = round_rows(Strategy(workload.queries, 1), workload)
    kept = workload.queries[np.abs(workload.queries).sum(axis=1) > 0]
    size = np.abs(kept).max()
    np.testing.assert_allclose(
        np.ldexp(rounded.matrix / rounded.relative, -rounded.bits), kept, rtol=0, atol=1e-6 * size
    )


def test_rows_of_zeros_are_not_measured():
    workload = Workload.from_matrix(np.tri(4))
    strategy = Strategy(np.vstack([np.eye(4), np.zeros((2, 4))]), 1)
    assert round_any(strategy, workload).rows == 4


@pytest.mark.parametrize("norm", [1, 2])
def test_cells_that_are_asked_for_together_are_counted_once(norm):
    """The identity's rows become equal on merged cells: two halves of one count."""
    workload = Workload.from_matrix(np.kron(np.eye(3), np.ones(2)))
    rows = kept_rows(Strategy(np.eye(6), norm), workload)
    np.testing.assert_allclose(rows.real @ rows.basis, workload.queries * (1 if norm == 1 else 0.5**0.5))
    if norm == 1:
        rounded = round_rows(Strategy(np.eye(6), norm), workload)
        assert (rounded.matrix == workload.queries).all() and rounded.relative == pytest.approx(1)


def test_cells_that_nobody_asks_for_are_not_measured():
    workload = CASES["zero columns"]
    rounded = round_rows(Strategy(np.eye(workload.n), 1), workload)
    assert (rounded.matrix[:, :2] == 0).all() and rounded.rows == 6


def test_refusals():
    workload = marginals()
    rng = np.random.default_rng(0)
    real = Workload.from_matrix(rng.normal(size=(9, 3)) @ rng.normal(size=(3, 8)))
    cases = [
        (
            PrivacyError,
            (Strategy(np.eye(12)), workload),
            "the strategy bounds the L2 norm of its columns (Gaussian noise), expected L1 (Laplace)\n"
            "  solve a program with 'norm 1', such as p_identity",
        ),
        (WorkloadError, (Strategy(np.eye(6), 1), workload), "the strategy has 6 cells, the workload 12"),
        (
            WorkloadError,
            (Strategy(np.ones((1, 12)), 1), workload),
            "the strategy does not support the workload: some query is no combination of its rows\n"
            "  solve the strategy for this workload",
        ),
        (
            WorkloadError,
            (Strategy(real.queries, 1), real),
            "the strategy has fewer than 8 dimensions, one for each cell or class of cells, and the queries "
            "have no integer basis\n"
            "  write the queries with integers (multiply them by a common denominator)",
        ),
    ]
    for kind, arguments, message in cases:
        with pytest.raises(kind) as caught:
            round_rows(*arguments)
        assert str(caught.value) == message


def test_a_strategy_that_needs_more_bits_than_there_are_is_refused():
    workload = Workload.from_matrix(np.eye(2))
    with pytest.raises(WorkloadError) as caught:
        round_rows(Strategy(np.diag([1.0, 2.6e-9]), 1), workload)
    assert str(caught.value).startswith("rounding the strategy to 29 bits multiplies a query's variance by ")
