"""The template of few attributes: its figures, and its bound over many cells.

Guards templates_and_bound.py, template_searches.py.
"""

import numpy as np
import pytest
import tolerances
from few_attributes import MIXED, few_ways

from mmopt import solve
from mmopt.driver.templates import sectorwise, templates, templates_and_bound
from mmopt.errors import OptionError
from mmopt.limits import deadline
from mmopt.numerics.arrays import EPS
from mmopt.sectors.residual_strategies import ResidualStrategy, best_residual_strategy
from mmopt.workloads import Workload
from mmopt.workloads.factors_and_products import predicates, prefix

MANY = (7,) * 5  # more cells than a matrix has rows


def test_the_strategy_has_the_error_that_was_found(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for name in rng.permutation(list(MIXED)).tolist()[:2]:
        with subtests.test(name):
            workload = few_ways(*MIXED[name])
            strategy = sectorwise(workload)
            assert strategy.sensitivity <= 1
            expected = best_residual_strategy(workload).error
            assert strategy.total_error(workload) == pytest.approx(expected, rel=tolerances.GAP_INTERIOR)
            inverse = np.linalg.pinv(strategy.implicit().matrix())
            told = np.square(workload.queries @ inverse).sum(axis=1)
            np.testing.assert_allclose(strategy.variances(workload), told, rtol=1e-7)


def test_next_to_the_optimum() -> None:
    """On all prefixes of one and two of four attributes of four values."""
    workload = few_ways((4,) * 4, (1, 2), prefix, weights=False)
    bound = solve(workload, "l2_strategy").bound
    assert 1 <= sectorwise(workload).total_error(workload) / bound < 1.01


def test_no_time_is_a_start_and_a_bound() -> None:
    """Under a time limit that is over each search ends with the first that it has, and both figures hold."""
    workload = few_ways(MANY, (1, 2), prefix)
    best = templates(workload, 2, ["product", "sectorwise"])
    with deadline(0.0):
        found = templates(workload, 2, ["product", "sectorwise"])
    for candidate in found.candidates:
        assert candidate.strategy.sensitivity <= 1
    assert 0 < found.bound < best.bound * (1 - 1e-6) and best.best.error * (1 + 1e-6) < found.best.error


def test_gaussian_noise_only() -> None:
    with pytest.raises(OptionError) as refused:
        sectorwise(few_ways((3, 3), (1,), prefix), norm=1)
    assert refused.value.message == (
        "sets of attributes are measured one by one with Gaussian noise (norm 2) only"
    )


def test_over_many_cells_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The template hands its residual strategy on to the bound."""
    calls = []

    def counted(workload: Workload) -> ResidualStrategy:
        calls.append(workload)
        return best_residual_strategy(workload)

    monkeypatch.setattr(templates_and_bound, "best_residual_strategy", counted)
    for orders, gap in (((1, 2), 0.01), ((3,), 0.02)):
        workload = few_ways(MANY, orders, prefix)
        found = templates(workload, 2, ["sectorwise"])
        assert calls.pop() is workload and not calls
        assert found.bound_from == "a product of measures" and 0 <= found.gap < gap
        assert found.bound == templates_and_bound.template_bound(workload)[0]


def test_the_bound_is_charged_with_the_rounding_of_gram_matrices(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is as many roundings as the largest factor has rows; another bound where nothing is
    proved."""
    workload, told = few_ways(MANY, (1, 2), lambda d: predicates(rng.integers(1, 4, (90, d)))), []

    def noted(products: object, measures: object, off: float) -> tuple[float, tuple[()]]:
        told.append(off)
        return 7.0, ()

    monkeypatch.setattr(templates_and_bound, "best_measure_bound", noted)
    assert templates_and_bound.template_bound(workload) == (7.0, "a product of measures")
    assert (90 + 2) * EPS <= told[0] <= 200 * EPS

    monkeypatch.setattr(templates_and_bound, "best_measure_bound", lambda *_: (0.0, ()))  # nothing is proved
    bound, source = templates_and_bound.template_bound(workload)
    assert bound > 0 and source == "multipliers that are products"


def test_where_the_bound_is_too_large_nothing_is_sought_for_it() -> None:
    """4,438 sets of one and two of six attributes and contrasts of their 18 values."""

    def sought(_: Workload) -> ResidualStrategy:
        raise AssertionError

    bound, source = templates_and_bound.template_bound(few_ways((18,) * 6, (3,), prefix), residual=sought)
    assert bound > 0 and source == "multipliers that are products"
