"""Marginals of weights that are far apart: estimates keep their digits."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt import Attribute, Domain, Workload
from mmopt.strategies import MarginalStrategy
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks as f

SIZES = (3, 5)
TAIL = 8.0  # standard errors that no normal error of thousands is beyond


def both_marginals() -> Workload:
    domain = Domain((Attribute("s", tuple("abc")), Attribute("t", tuple("01234"))))
    products = [Product((f.identity(3), f.total(5))), Product((f.identity(3), f.identity(5)))]
    return Workload.from_products(domain, products)


@pytest.mark.quick
def test_errors_are_those_of_the_weights_however_far_apart(rng: np.random.Generator) -> None:
    """Differences of 1 / λ lost all digits: errors were a thousand times the standard error."""
    for _ in range(12):
        weights = np.concatenate([[0.0], 10.0 ** rng.uniform(-15, 0, 3)])
        strategy, workload = MarginalStrategy(SIZES, weights), both_marginals()
        x = rng.integers(0, 10**6, 15).astype(float)
        noise = rng.normal(size=strategy.p)
        matrix, queries = strategy.implicit().matrix(), workload.matrix
        # Without noise the truth; with it, errors of the size that is stated.
        size = float(np.abs(queries @ x).max())
        np.testing.assert_allclose(queries @ strategy.estimate(matrix @ x), queries @ x, atol=1e-9 * size)
        errors = np.abs(queries @ strategy.estimate(noise))
        assert (errors <= TAIL * np.sqrt(strategy.variances(workload))).all()
