"""Integer strategies of marginals and of components, measured on tables over few attributes.

Guards norms_and_measured_integers.py.
"""

import numpy as np
import pytest

from mmopt.driver import solve
from mmopt.errors import DataError
from mmopt.mechanism import measure, plan
from mmopt.privacy.rounding.norms_and_measured_integers import WholeTable
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import MarginalStrategy
from mmopt.workloads import Domain, Workload

SIZES = (3, 2, 4)


def drawn_workload() -> Workload:
    domain = Domain.of(**{f"a{i}": range(n) for i, n in enumerate(SIZES)})
    return domain.marginals([0, 1, 2]) + domain.product(a0="total")


def drawn_marginals(rng: np.random.Generator) -> MarginalStrategy:
    """Random weights of all marginals but some, that determine the workload."""
    weights = rng.uniform(0.5, 2, size=8) * (rng.random(8) < 0.7)
    weights[[3, 5, 6]] = 1.0
    return MarginalStrategy(SIZES, weights)


def test_marginals_are_estimated_as_by_least_squares(rng: np.random.Generator) -> None:
    for _ in range(2):
        workload, strategy = drawn_workload(), drawn_marginals(rng)
        integer = round_any(strategy, workload)
        counts = rng.integers(0, 50, size=workload.n)
        exact = integer.answers(counts)
        np.testing.assert_array_equal(integer.answers_of(WholeTable(counts, SIZES)), exact)
        noisy = exact + rng.normal(size=len(exact)) * 5
        own = np.repeat([part.relative for part in integer.parts], [part.rows for part in integer.parts])
        rows = strategy.implicit().matrix()
        best = np.linalg.lstsq(rows, noisy / own, rcond=None)[0]
        np.testing.assert_allclose(integer.estimate(noisy), workload.queries @ best, rtol=1e-9, atol=1e-9)
        held = workload.answers(strategy.estimate(noisy / own))
        np.testing.assert_allclose(held, workload.queries @ best, rtol=1e-9, atol=1e-9)


def test_tables_that_do_not_fit_are_refused() -> None:
    workload = drawn_workload()
    planned = plan(workload, MarginalStrategy(SIZES, np.ones(8)), {"rho": 1.0})
    counts = np.arange(24)
    whole = WholeTable(counts, SIZES)
    answered = measure(planned, whole, simulate=3)
    np.testing.assert_array_equal(answered.estimates, measure(planned, counts, simulate=3).estimates)
    with pytest.raises(DataError) as raised:
        measure(planned, WholeTable(counts, (3, 4, 2)))
    assert str(raised.value) == (
        "the tables of counts are over attributes of 3 × 4 × 2 cells, the workload's domain has 3 × 2 × 4"
    )

    class Wrong(WholeTable):
        def of(self, attributes: tuple[int, ...]) -> np.ndarray:
            return super().of(attributes) + (len(attributes) == 2)

    with pytest.raises(DataError) as raised:
        measure(planned, Wrong(counts, SIZES))
    assert str(raised.value) == (
        "the table of counts by 'a0', 'a1' has shape (3, 2) and 282 rows, expected (3, 2) and 276 "
        "(confidential, do not publish)"
    )
    dense = plan(Workload.from_matrix(np.tri(4)), solve(Workload.from_matrix(np.tri(4))).strategy, {"rho": 1})
    with pytest.raises(DataError) as raised:
        measure(dense, WholeTable(np.arange(4), (4,)))
    assert str(raised.value) == (
        "the data are tables of counts, and this strategy is measured on a data vector\n"
        "  count the rows with mmopt.data.counts"
    )
