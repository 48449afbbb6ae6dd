from __future__ import annotations

import numpy as np
import pytest

from mmopt.workloads.blocks.implicit_matrix import ordered, refine
from mmopt.workloads.blocks.matrix_blocks import column_classes


def test_numbered_by_first_cell():
    np.testing.assert_array_equal(ordered(np.array([7, -1, 3, 7, 3, 9])), [0, -1, 1, 0, 1, 2])
    np.testing.assert_array_equal(ordered(np.array([-1, -1])), [-1, -1])


def test_columns():
    matrix = np.array([[1.0, 0.0, 1.0, -0.0], [2.0, 0.0, 2.0, 1.0]])
    np.testing.assert_array_equal(column_classes(matrix), [0, -1, 0, 1])


@pytest.mark.draws(6)
def test_refining_is_stacking(rng):
    n = int(rng.integers(1, 12))
    parts = [rng.integers(-1, 2, size=(int(rng.integers(1, 3)), n)).astype(float) for _ in range(3)]
    np.testing.assert_array_equal(
        refine([column_classes(part) for part in parts]), column_classes(np.vstack(parts))
    )
