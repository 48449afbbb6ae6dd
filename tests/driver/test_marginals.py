"""Marginals over any number of cells: the exact optimum, for the sum of variances and for the largest.

The sum has a closed form; the values of the largest variance are those of Xiao, He, Zhang & Kifer 2023, An
optimal and scalable matrix mechanism for noisy marginals under convex loss functions (ResidualPlanner).
"""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tolerances

from mmopt import Solution, Workload, solve, verify
from mmopt.strategies import ComponentStrategy
from mmopt.testing.problem_registry import marginals
from mmopt.workloads import Product

ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
ADULT_BY_GROUPS = (2, 5, 16, 20, 75)
CPS = (100, 50, 7, 4, 2)
LOANS = (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15)
UP_TO_3 = (0, 1, 2, 3)


def closed_form(sizes: Sequence[int], ways: Sequence[int]) -> float:
    """The least sum of variances at sensitivity 1: (Σ √(v p))² over the residuals A of the marginals S.

    A's noise costs p = Π (n - 1)/n over A per unit of precision, and adds to a query of S its variance times
    p / Π n² over S without A.
    """
    variance: dict[tuple[int, ...], float] = {}
    for way in ways:
        for marginal in itertools.combinations(range(len(sizes)), way):
            queries = math.prod(sizes[i] for i in marginal)
            for count in range(way + 1):
                for residual in itertools.combinations(marginal, count):
                    rest = math.prod(sizes[i] ** 2 for i in marginal if i not in residual)
                    variance[residual] = variance.get(residual, 0.0) + queries / rest
    return math.fsum(math.sqrt(v) * _cost(sizes, residual) for residual, v in variance.items()) ** 2


def _cost(sizes: Sequence[int], residual: Sequence[int]) -> float:
    return math.prod((sizes[i] - 1) / sizes[i] for i in residual)


def is_proved(solution: Solution) -> bool:
    return solution.gap is not None and solution.gap <= tolerances.GAP_INTERIOR


def variances(solution: Solution, workload: Workload) -> np.ndarray:
    """Variances of every query, at sensitivity 1."""
    assert isinstance(solution.strategy, ComponentStrategy)
    return np.asarray(solution.strategy.variances(workload) * solution.sensitivity**2)


SUMS = [
    ((10,) * 10, UP_TO_3, 10888529.55),
    ((10,) * 20, UP_TO_3, 839859903.0),
    (ADULT, UP_TO_3, None),
    (LOANS, (1, 2, 3), None),
    (CPS, range(6), None),
    (ADULT_BY_GROUPS, (2,), 20682.04),
    (ADULT_BY_GROUPS, (0, 1, 2), 23560.71),
    (ADULT_BY_GROUPS, UP_TO_3, 311984.60),
    (ADULT_BY_GROUPS, range(6), 1800173.09),
]


@pytest.mark.some(1)
@pytest.mark.parametrize(("sizes", "ways", "value"), SUMS)
def test_the_sum_of_variances(sizes: tuple[int, ...], ways: Sequence[int], value: float | None) -> None:
    expected = closed_form(sizes, ways)
    assert value is None or expected == pytest.approx(value, rel=tolerances.PUBLISHED)
    workload = marginals(sizes, ways)
    solution = solve(workload, "l2_strategy")
    assert is_proved(solution) and solution.bound is not None
    assert solution.objective == pytest.approx(expected, rel=tolerances.RECOMPUTED)
    assert solution.bound <= expected * (1.0 + tolerances.ROUNDING)
    assert solution.error == pytest.approx(expected, rel=tolerances.RECOMPUTED)
    assert verify(solution, workload).holds


PRINTED = [
    (ADULT, (1,), 3.047, 12.047),
    pytest.param(ADULT, (2,), 6.359, 67.802, marks=pytest.mark.nightly),
    pytest.param(ADULT, (3,), 10.515, 236.843, marks=pytest.mark.nightly),
    (ADULT, UP_TO_3, 10.665, 253.605),
    (CPS, (1,), 1.744, 4.346),
    (CPS, (2,), 2.035, 7.897),
    (CPS, (3,), 2.048, 7.706),
    (CPS, UP_TO_3, 2.276, 13.216),
]


@pytest.mark.some(1)
@pytest.mark.parametrize(("sizes", "ways", "rmse", "largest"), PRINTED)
def test_the_tables_of_residual_planner(
    sizes: tuple[int, ...], ways: tuple[int, ...], rmse: float, largest: float
) -> None:
    """Root mean squared error and largest variance at sensitivity 1, as printed: three decimals."""
    workload = marginals(sizes, ways, target=1.0)
    assert workload.m == sum(math.prod(own) for way in ways for own in itertools.combinations(sizes, way))
    for_sum, for_largest = solve(workload, "l2_strategy"), solve(workload, "fitness_for_use")
    assert is_proved(for_sum) and is_proved(for_largest)
    assert math.sqrt(for_sum.objective / workload.m) == pytest.approx(rmse, abs=tolerances.DECIMALS_3)
    assert for_largest.objective == pytest.approx(largest, abs=tolerances.DECIMALS_3)


def products(sizes: tuple[int, ...], way: int, target: float) -> tuple[Product, ...]:
    return marginals(sizes, [way], target=target).products or ()


def test_targets_that_differ() -> None:
    """Twice the target of the two-way marginals: no cost can be lower, and not by more than half."""
    sizes = (10,) * 6
    tight = marginals(sizes, [1, 2], target=1.0)
    loose = Workload.from_products(
        tight.domain,
        [product for way, target in ((1, 1.0), (2, 2.0)) for product in products(sizes, way, target)],
    )
    one, two = solve(tight), solve(loose)
    assert is_proved(one) and is_proved(two)
    assert one.objective / 2 < two.objective < one.objective * (1.0 - tolerances.GAP)
    found = variances(two, loose) / two.objective
    assert (found <= loose.targets * (1.0 + tolerances.RECOMPUTED)).all()


@pytest.mark.parametrize(
    ("d", "value"), [(5, 17.262209), pytest.param(20, 768.94140, marks=pytest.mark.slow)]
)
def test_a_solution_over_10_to_the_d_cells(d: int, value: float, tmp_path: Path) -> None:
    """All marginals over up to three of d attributes: every query's variance, kept, loaded and verified."""
    workload = marginals((10,) * d, UP_TO_3, target=1.0)
    assert len(workload.blocks) == sum(math.comb(d, way) for way in UP_TO_3)
    solution = solve(workload)
    assert solution.program == "fitness_for_use" and is_proved(solution)
    assert solution.objective == pytest.approx(value, rel=tolerances.PUBLISHED)
    found = variances(solution, workload)
    assert found.shape == (workload.m,)
    assert found.sum() == pytest.approx(solution.error, rel=tolerances.RECOMPUTED)
    assert found.max() == pytest.approx(solution.objective, rel=tolerances.RECOMPUTED)
    path = solution.save(tmp_path / "marginals.npz")
    assert path.stat().st_size < 1_000_000
    loaded = Solution.load(path)
    assert loaded == solution
    assert [str(row) for row in verify(loaded, workload).failures] == []


@pytest.mark.nightly
def test_over_10_to_the_50_cells() -> None:
    """20,875 marginals and the total."""
    sizes = (10,) * 50
    workload = marginals(sizes, UP_TO_3, target=1.0)
    assert len(workload.blocks) == 20_876
    for_sum = solve(workload, "l2_strategy")
    assert is_proved(for_sum)
    assert for_sum.objective == pytest.approx(2.26899e11, rel=tolerances.PRINTED)
    exact = closed_form(sizes, UP_TO_3)
    assert exact <= for_sum.objective * (1 + tolerances.ROUNDING)
    assert for_sum.objective == pytest.approx(exact, rel=tolerances.FROM_SQUARES)
    for_largest = solve(workload)
    assert is_proved(for_largest)
    assert for_largest.objective == pytest.approx(11597.0378, rel=tolerances.PUBLISHED)
    assert for_largest.error_bound == pytest.approx(for_sum.bound, rel=tolerances.RECOMPUTED)
