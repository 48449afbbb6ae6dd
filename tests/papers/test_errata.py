"""What programs/ERRATA.md says of the papers, shown."""

from __future__ import annotations

import numpy as np
import pytest

import mmopt


def test_eigen_design_depends_on_the_eigenvectors_of_a_repeated_eigenvalue() -> None:
    """PVLDB 2012, Propositions 5 and 6, for the identity over six cells and the total of three."""
    workload = mmopt.Workload.from_matrix(np.vstack([np.eye(6), [1, 1, 1, 0, 0, 0]]))
    assert workload.eigenvalues == pytest.approx([4, 1, 1, 1, 1, 1])
    ours = mmopt.solve(workload, "eigen_design").objective
    rng = np.random.default_rng(0)
    rotated = workload.eigenqueries.copy()
    rotated[1:] = np.linalg.qr(rng.normal(size=(5, 5)))[0] @ rotated[1:]
    assert np.allclose(rotated.T @ np.diag(workload.eigenvalues) @ rotated, workload.gram)
    other = mmopt.solve(workload, "eigen_design", givens={"Q": rotated}).objective
    assert ours == pytest.approx(25 / 3, rel=1e-6)
    assert other > 1.001 * ours
