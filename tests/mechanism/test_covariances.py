"""The covariance of released estimates: against the law, and against what simulated releases do.

Guards release_plan.py.
"""

import numpy as np
import pytest

from mmopt.errors import TooLargeError
from mmopt.mechanism import measure, plan, release_plan
from mmopt.mechanism.release_plan import covariance
from mmopt.privacy import Privacy
from mmopt.strategies import Strategy
from mmopt.workloads import Workload
from tests.mechanism.test_intervals import release

FORMS = ("cells", "hierarchy", "dense", "product", "union", "marginals")


def test_the_diagonal_is_that_of_the_standard_errors(rng, subtests):
    for form in FORMS:
        privacy = rng.choice([Privacy(1.0, 1e-6), Privacy(epsilon=1.0)])
        with subtests.test(f"{form}, {privacy}"):
            asked, strategy, _ = release(form, 1 if privacy.is_pure else 2)
            found = plan(asked, strategy, privacy)
            rows = rng.permutation(asked.m)[: rng.integers(1, asked.m + 1)]
            matrix = covariance(found, rows)
            assert np.diag(matrix) == pytest.approx(found.standard_errors[rows] ** 2, rel=1e-9)
            assert (matrix == matrix.T).all() and np.linalg.eigvalsh(matrix).min() >= -1e-9 * matrix.max()


def test_a_combination_of_queries_has_the_variance_of_that_query(rng):
    """The combination as one more query of the same release: its standard error is what the matrix says."""
    for _ in range(2):
        matrix = rng.integers(-2, 3, size=(4, 5)) + np.eye(4, 5) * 3.0
        weights = rng.integers(1, 4, size=4) * rng.choice([-1.0, 1.0], size=4)
        asked = Workload.from_matrix(np.vstack([matrix, weights @ matrix]))
        strategy = Strategy(np.vstack([np.eye(5), np.tri(5)]) / np.sqrt(6))
        found = plan(asked, strategy, Privacy(rho=0.5))
        own = covariance(found, np.arange(4))
        assert weights @ own @ weights == pytest.approx(found.standard_errors[4] ** 2, rel=1e-9)


@pytest.mark.some(1)
@pytest.mark.parametrize("form", ["dense", "product", "union", "marginals"])
def test_simulated_releases_vary_so(form):
    asked, strategy, x = release(form, 2)
    found = plan(asked, strategy, Privacy(rho=0.5))
    rows = np.arange(0, asked.m, max(1, asked.m // 7))
    errors = np.array([measure(found, x, simulate=seed).estimates[rows] for seed in range(300)])
    matrix = covariance(found, rows)
    scale = np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    # An entry of a sample covariance of 300 is off by a 12th of the scale: five times that.
    assert (np.abs(np.cov(errors.T) - matrix) <= 5 * np.sqrt(2 / 300) * scale).all()


def test_what_would_take_too_long_is_refused(monkeypatch):
    asked, strategy, _ = release("marginals", 2)
    found = plan(asked, strategy, Privacy(rho=0.5))
    monkeypatch.setattr(release_plan, "_MOST_COEFFICIENTS", 10)
    with pytest.raises(TooLargeError) as caught:
        covariance(found, np.arange(2))
    assert str(caught.value) == (
        f"the covariance of estimates of {asked.m:,} queries over {asked.n:,} cells from "
        f"{found.integer.rows:,} measured ones would take too long\n"
        "  release a workload of the queries that are compared, or one whose sum or difference is a query: "
        "its standard error says how far that is off"
    )
