"""Reconstructions with an implicit factor are the matrices that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances

from mmopt import Attribute, Domain, Strategy, Workload
from mmopt.privacy.rounding.integer_dense import Reconstruction, as_is, round_strategy
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks
from mmopt.workloads.blocks.kronecker_products import Kron


@pytest.mark.parametrize("columns", [2, 8])
def test_an_implicit_factor(rng: np.random.Generator, columns: int) -> None:
    left = Kron([factor_blocks.all_range(8)])
    right = rng.normal(size=(8, columns))
    found = Reconstruction(left, right)
    matrix = left.matrix() @ right
    np.testing.assert_allclose(found.matrix, matrix, atol=tolerances.FINE)
    x = rng.normal(size=columns)
    np.testing.assert_allclose(found.apply(x), matrix @ x, atol=tolerances.FINE)
    np.testing.assert_allclose(found.squared_lengths(), np.square(matrix).sum(axis=1), rtol=1e-9)


def test_a_matrix_as_it_is(rng: np.random.Generator) -> None:
    matrix = rng.normal(size=(5, 3))
    found = as_is(matrix)
    np.testing.assert_array_equal(found.matrix, matrix)
    np.testing.assert_allclose(found.apply(np.ones(3)), matrix.sum(axis=1), rtol=tolerances.ROUNDING)
    np.testing.assert_allclose(found.squared_lengths(), np.square(matrix).sum(axis=1))


def test_no_query_is_written_out_to_round_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ranges over many cells: a number for each query and cell would take all memory."""
    domain = Domain((Attribute("a", tuple(map(str, range(40)))),))
    workload = Workload.from_products(domain, [Product((factor_blocks.all_range(40),))])
    expected = Strategy(np.tri(40)).variances(workload)

    def refused(self: Workload) -> np.ndarray:
        raise AssertionError("the queries were written out")

    for name in ("queries", "representation"):
        monkeypatch.setattr(Workload, name, property(refused))
    found = round_strategy(Strategy(np.tri(40)), workload)
    np.testing.assert_allclose(found.variances, expected, rtol=1e-4)
    x = np.arange(40)
    answers = found.estimate(found.answers(x))
    np.testing.assert_allclose(answers, workload.answers(x), rtol=1e-9, atol=1e-9)
