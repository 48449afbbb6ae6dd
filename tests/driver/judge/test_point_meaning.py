"""The charge on total error for rounding covers the rounding, against rational arithmetic.

Guards score_and_meaning.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from tolerances import RECOMPUTED

from mmopt import solve
from mmopt.driver.judge.score_and_meaning import rounding_of_error, without_rounding
from mmopt.strategies import Strategy, normalise
from mmopt.workloads import Workload

AS_ZERO = 8 * 8 * np.finfo(float).eps  # singular values below this part of the largest (8 cells)


def total_error_of_cells(a: np.ndarray) -> Fraction:
    """‖A‖² tr (AᵀA)⁻¹ of the floats in A, exactly."""
    n = a.shape[1]
    rows = [[Fraction(float(v)) for v in row] for row in a]
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(n)] for i in range(n)]
    largest = max(gram[i][i] for i in range(n))
    both = [[*gram[i], *(Fraction(int(i == j)) for j in range(n))] for i in range(n)]
    for c in range(n):
        pivot = next(r for r in range(c, n) if both[r][c] != 0)
        both[c], both[pivot] = both[pivot], both[c]
        both[c] = [v / both[c][c] for v in both[c]]
        for r in range(n):
            if r != c:
                both[r] = [x - both[r][c] * y for x, y in zip(both[r], both[c], strict=True)]
    return largest * sum((both[i][n + i] for i in range(n)), Fraction(0))


def test_rounding_of_total_error_is_covered(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for condition in [1e1, 1e3, 1e5, 1e6, 1e8]:
        with subtests.test(condition=condition):
            for _ in range(5):
                left, right = (np.linalg.qr(rng.normal(size=(5, 5)))[0] for _ in range(2))
                strategy = Strategy(left @ np.diag(np.geomspace(1.0, 1.0 / condition, 5)) @ right)
                cells = Workload.from_matrix(np.eye(5))
                found = Fraction(strategy.total_error(cells))
                true = total_error_of_cells(strategy.matrix)
                assert abs(found - true) <= Fraction(rounding_of_error(strategy, cells)) * true


def test_what_is_rounding_next_to_the_strategy_is_not_measured() -> None:
    """W - R @ A has a direction of 1e-14, for which the queries of rank 3 have no use."""
    rows = [[3, 2, 1, 3, 5, 0, 3, 2], [1, 0, 1, 1, 1, 0, 1, 0], [3, 2, 1, 2, 4, 0, 2, 1]]
    w = Workload.from_matrix([*rows, [0, 0, 0, 2, 2, 0, 2, 2]])
    s = solve(w, "low_rank_reconstruction")
    values = np.linalg.svd(s.strategy.matrix, compute_uv=False)
    assert (values[3:] <= AS_ZERO * values[0]).all()
    inverse = np.linalg.pinv(s.strategy.matrix, rcond=1e-10)
    error = np.abs(s.strategy.matrix).sum(axis=0).max() ** 2 * ((w.matrix @ inverse) ** 2).sum()
    assert s.error == pytest.approx(error, rel=RECOMPUTED)
    # How large that direction is depends on the processor; this one counts as zero on none.
    only = np.array([0, 0, 0, 1, -1, 0, 0, 0]) * 1e-13
    found = without_rounding(normalise(Strategy(np.vstack([w.basis, only]), 1)), w)
    values = np.linalg.svd(found.matrix, compute_uv=False)
    assert (values[3:] <= AS_ZERO * values[0]).all()
