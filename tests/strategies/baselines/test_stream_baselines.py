"""Noise filters: the square root is one, buffers do better on prefix sums, and both are Toeplitz.

Guards attribute_baselines.py.
"""

import numpy as np
import pytest

from mmopt import Strategy, Workload, solve
from mmopt.strategies.baselines import baseline, evaluate
from mmopt.strategies.baselines.attribute_baselines import buffered_column, root_column
from tests.strategies.asked import marginals_of


def filtered(column: np.ndarray) -> np.ndarray:
    n = len(column)
    return np.asarray(sum(entry * np.eye(n, k=-k) for k, entry in enumerate(column)))


def worth(column: np.ndarray) -> float:
    """The total error of prefix sums, from the matrix."""
    return Strategy(filtered(column)).total_error(Workload.from_matrix(np.tri(len(column))))


@pytest.mark.quick
def test_the_square_root_of_the_prefix_sums(subtests: pytest.Subtests) -> None:
    for n in [1, 2, 17]:
        with subtests.test(n=n):
            root = filtered(root_column(n))
            assert root @ root == pytest.approx(np.tri(n), abs=1e-12)
            column = np.cumsum(root_column(n) ** 2)
            assert worth(root_column(n)) == pytest.approx(column.sum() * column[-1])


def test_buffers_come_near_the_best_filter_and_more_are_no_worse(subtests: pytest.Subtests) -> None:
    for n in [2, 24]:
        with subtests.test(n=n):
            best = solve(Workload.from_matrix(np.tri(n)), "toeplitz_strategy").objective
            found = [worth(buffered_column(n, buffers)) for buffers in (1, 2, 3)]
            assert found[2] <= found[1] * (1 + 1e-6) and found[1] <= found[0] * (1 + 1e-6)
            assert best * (1 - 1e-6) <= found[2] <= best * 1.001 < worth(root_column(n))


def test_a_buffered_filter_decays_in_as_many_ways_as_it_has_buffers() -> None:
    """From the second on the coefficients are a sum of so many geometric series."""
    column = buffered_column(24, 2)
    values = np.linalg.svd(column[1:21][np.add.outer(range(8), range(8))], compute_uv=False)
    assert column[0] == 1.0 and values[2] <= 1e-9 * values[0] < values[1]


def test_steps_are_the_cells_of_one_attribute(subtests: pytest.Subtests) -> None:
    for name in ["square_root", "blt", "blt(buffers=1)"]:
        with subtests.test(name=name):
            rows = baseline(name, Workload.from_matrix(np.tri(9))).matrix
            assert rows.shape == (9, 9) and not np.triu(rows, 1).any()
            assert np.linalg.norm(rows, axis=0).argmax() == 0
            reason = evaluate(name, marginals_of((2, 2), (0, 1))).reason
            assert reason == "its steps are the cells of one attribute, the workload has 2"
