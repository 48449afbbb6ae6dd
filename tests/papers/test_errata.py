"""Entries of programs/ERRATA.md, shown: the printed fails, the other holds."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from query_rows import haar, hierarchy

from mmopt import Strategy, Workload
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_scale

HERE = Path(__file__).parent


def test_every_entry_names_its_test_and_every_test_is_named() -> None:
    text = (HERE.parents[1] / "programs" / "ERRATA.md").read_text(encoding="utf-8")
    named = set()
    for entry in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
        found = re.findall(r"`(test_\w+\.py)::(test_\w+)`", entry)
        assert found, entry
        named.update(found)
    there = {
        (file.name, test)
        for file in HERE.glob("test_*.py")
        for test in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert named <= there, named - there
    ours = {(file, test) for file, test in there if file.startswith("test_errata")}
    assert ours - named == {("test_errata.py", "test_every_entry_names_its_test_and_every_test_is_named")}


# -- Li et al., PODS 2010


def test_smallest_eigenvalue_of_the_wavelet_is_2(subtests: pytest.Subtests) -> None:
    """Section 6.1: the eigenvalues of the two Gram matrices differ by one, so not both start at 1."""
    for n in (4, 8, 16):
        with subtests.test(str(n)):
            wavelet, tree = (np.linalg.eigvalsh(A.T @ A) for A in (haar(n), hierarchy(n)))
            assert tree[0] == pytest.approx(1) and wavelet[0] == pytest.approx(2)
            assert wavelet[:-1] - 1 == pytest.approx(tree[:-1])
            assert wavelet[-1] == pytest.approx(n) and tree[-1] == pytest.approx(2 * n - 1)


def test_completing_a_column_need_not_improve_the_queries_that_use_it() -> None:
    """Section 5.3, after Theorem 5.27."""
    A = np.array([[1.0, 0.5], [0.0, 0.2]])
    completed = np.vstack([A, [0.0, 0.3]])
    for strategy in (A, completed):
        assert Strategy(strategy, norm=1).sensitivity == pytest.approx(1, rel=1e-12)
    queries = Workload.from_matrix(np.vstack([A, np.eye(2)]))  # all but the third use the second cell
    before, after = Strategy(A).variances(queries), Strategy(completed).variances(queries)
    assert after[0] == pytest.approx(before[0], rel=1e-12)  # uses it, and gains nothing
    assert np.all(after[1:] < 0.99 * before[1:])  # the third does not, and gains
    # The theorem's own condition: no gain exactly for w = q AᵀA with B qᵀ = 0.
    assert np.linalg.solve(A.T @ A, A[0])[1] == pytest.approx(0, abs=1e-12)


def test_relaxed_privacy_is_not_always_more_accurate() -> None:
    """Section 5.2.1: identity queries, (1, 1e-5) against 1; both noises as small as they may be."""
    gaussian, laplace = continuous_gaussian_scale(1.0, 1e-5), math.sqrt(2)
    assert gaussian > 2.5 * laplace
    # The relaxation pays where the L1 sensitivity is much larger than the L2 one.
    tree = hierarchy(2**14 // 64)
    many = np.vstack([tree] * 8)
    ratio = Strategy(many, norm=1).sensitivity / Strategy(many, norm=2).sensitivity
    assert gaussian < ratio * laplace


# -- The slides on HDMM


def test_wavelet_of_four_cells_has_an_equivalent_of_sensitivity_2() -> None:
    Y = haar(4)
    printed = np.vstack([np.kron(np.eye(2), [1.0, 1.0]), math.sqrt(2) * np.eye(4)])
    values, vectors = np.linalg.eigh(Y.T @ Y)
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    for A, sensitivity in ((Y, 3), (printed, 1 + math.sqrt(2)), (root, 2)):
        assert np.allclose(A.T @ A, Y.T @ Y)
        assert Strategy(A, norm=1).sensitivity == pytest.approx(sensitivity, rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2])
def test_error_of_a_union_needs_a_split_of_the_budget(norm: int, rng: np.random.Generator) -> None:
    """OPT₊ with both parts answered: the error passes the sum unless each part gets a share."""
    rows = [np.ones((1, 4)), np.eye(4)]  # the total and the cells, each measured as it is
    parts, strategies = [Workload.from_matrix(A) for A in rows], [Strategy(A, norm=norm) for A in rows]
    both = Workload.from_matrix(np.vstack(rows))
    errors = np.array([A.total_error(w) for A, w in zip(strategies, parts, strict=True)])

    def union(shares: np.ndarray) -> float:
        rows = [share * A.matrix for share, A in zip(shares, strategies, strict=True)]
        return Strategy(np.vstack(rows), norm=norm).total_error(both)

    def split(shares: np.ndarray) -> float:  # each part answered from its own measurements
        return float((errors / shares**2).sum()) if norm == 1 else float((errors / shares).sum())

    def scaled(shares: np.ndarray) -> np.ndarray:  # of sensitivity 1 together
        return shares if norm == 1 else np.sqrt(shares)

    assert union(np.ones(2)) > 1.5 * errors.sum()  # as printed
    power = 1 / 3 if norm == 1 else 1 / 2
    best = errors**power / (errors**power).sum()
    assert split(best) == pytest.approx((errors**power).sum() ** (1 / power), rel=1e-12)
    for share in rng.uniform(0.05, 0.95, size=20):
        shares = np.array([share, 1 - share])
        assert union(scaled(shares)) <= split(shares) * (1 + 1e-9)
        assert split(best) <= split(shares) * (1 + 1e-12)


def test_error_of_a_product_counts_the_noise_once(rng: np.random.Generator) -> None:
    """Error as defined there, 2/ε² ‖A‖² ‖W A⁺‖²: the product of two errors has 2/ε² once too often."""
    epsilon = 0.5

    def error(A: np.ndarray, W: np.ndarray) -> float:
        return 2 / epsilon**2 * Strategy(A, norm=1).total_error(Workload.from_matrix(W))

    A, W = [haar(4), hierarchy(3)], [np.tri(4), rng.normal(size=(5, 3))]
    whole, product = error(np.kron(*A), np.kron(*W)), error(A[0], W[0]) * error(A[1], W[1])
    assert whole == pytest.approx(product / (2 / epsilon**2), rel=1e-9)
    assert whole < 0.2 * product


# -- Huang et al., CIKM 2013

EXAMPLE_1 = np.array(
    [
        [0.3657, 0, 0.9812, 0],
        [0, 0.0645, 0, 0],
        [0, 0.5879, 0.7602, 0],
        [0, 0, 0, 0.7310],
        [0, 0.7313, 0, 0],
        [0, 0, 0.7122, 0.9053],
    ]
)
CELLS = np.eye(4)[[1, 2, 0, 3]]


def algorithm_3(W: np.ndarray, parts: np.ndarray, rows: int) -> np.ndarray:
    """The matrix B as printed, from a zero matrix of len(W) times `rows`."""
    B = np.zeros((len(W), rows))
    for i, query in enumerate(W):
        for j, part in enumerate(parts):
            inside = part != 0
            if np.all(query[inside] != 0):
                restricted = np.where(inside, query, 0)
                if np.linalg.matrix_rank([restricted, part]) == 1:
                    B[i, j] = restricted @ part / (part @ part)
    return B


def test_orthogonal_mechanism_needs_a_linear_system_within_a_block() -> None:
    """Algorithm 3, Corollary 1: two independent queries over one block, a third parallel to neither."""
    parts = np.array([[1.0, 2.0], [2.0, 1.0]]) / 3
    W = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    assert not np.allclose(algorithm_3(W, parts, 2) @ parts, W)
    holds = np.linalg.lstsq(parts.T, W.T, rcond=None)[0].T
    np.testing.assert_allclose(holds @ parts, W)
    assert np.allclose(algorithm_3(EXAMPLE_1, CELLS, 4) @ CELLS, EXAMPLE_1)  # where it works


def test_orthogonal_mechanism_reconstructs_from_a_matrix_of_m_by_s() -> None:
    """Algorithm 3 starts from a zero matrix of m by m, which does not fit the s new queries."""
    square = algorithm_3(EXAMPLE_1, CELLS, len(EXAMPLE_1))
    with pytest.raises(ValueError, match="mismatch"):
        square @ CELLS
    np.testing.assert_allclose(algorithm_3(EXAMPLE_1, CELLS, len(CELLS)) @ CELLS, EXAMPLE_1)


def test_orthogonal_mechanism_example_1() -> None:
    """Sensitivity sums over all m queries, not over n; by Theorem 5 the new error is 8.84, far below 18."""
    m, n = EXAMPLE_1.shape
    sensitivity = Strategy(EXAMPLE_1, norm=1).sensitivity
    assert sensitivity == pytest.approx(2.4536) and 2 * m * sensitivity**2 == pytest.approx(72.24, abs=0.01)
    assert np.abs(EXAMPLE_1[:n]).sum(axis=0).max() == pytest.approx(1.7414)  # as printed
    B = algorithm_3(EXAMPLE_1, CELLS, 4)
    assert 2 * np.trace(B @ B.T) * Strategy(CELLS, norm=1).sensitivity ** 2 == pytest.approx(8.84, abs=0.005)


def test_orthogonal_mechanism_can_lose_to_noise_on_the_queries() -> None:
    W = np.array([[1.0, 2.0], [20.0, 10.0]])
    laplace = 2 * len(W) * Strategy(W, norm=1).sensitivity ** 2
    for order in (1, 2, np.inf):  # however the new queries are normalised
        parts = W / np.linalg.norm(W, ord=order, axis=1, keepdims=True)
        B = algorithm_3(W, parts, 2)
        np.testing.assert_allclose(B @ parts, W)
        assert 2 * np.trace(B @ B.T) * Strategy(parts, norm=1).sensitivity ** 2 > 1.02 * laplace
