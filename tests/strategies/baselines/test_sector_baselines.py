"""QuerySmasher, ResidualPlanner, weighted Fourier: published figures, closed forms, dense variances.

Guards few_attribute_baselines.py.
"""

import itertools
import math

import numpy as np
import pytest
from few_attributes import up_to
from tolerances import FINE, ROUNDING

from mmopt.strategies.baselines import baseline_call, evaluate
from mmopt.strategies.baselines.few_attribute_baselines import query_smasher, weighted_fourier
from mmopt.testing.problem_registry import domain_of, marginals
from mmopt.workloads import Product, Workload, factors_and_products as f
from tests.strategies.asked import line, marginals_of

THEIR_SEARCH = 1e-4  # of their error: how far above the optimum it ends


def error(name: str, workload: Workload) -> float:
    (cost,) = evaluate(name, workload, (2,)).costs
    return cost.error


def test_prefixes_are_query_smasher(subtests: pytest.Subtests) -> None:
    """The figure that its own program prints comes from a search, and so is a little larger."""
    for sizes, theirs in [
        ((10,) * 2, 818.932627),
        ((6,) * 3, 1015.819263),
        ((10,) * 20, 6205606.0),
    ]:
        with subtests.test(sizes=sizes, theirs=theirs):
            workload = up_to(sizes, 2)
            found = error("query_smasher", workload)
            assert theirs * (1 - THEIR_SEARCH) <= found <= theirs
            assert found <= error("weighted_fourier", workload)


def test_marginals_are_residual_planner(subtests: pytest.Subtests) -> None:
    """(Σ_S √E_S)² with E_S = Σ over marginals that hold S of Π (n - 1)² / n over S, Π 1 / n over the rest."""
    for sizes, ways in [((2, 5, 16, 20, 75), [0, 1, 2, 3]), ((10,) * 20, [1, 2])]:
        with subtests.test(sizes=sizes, ways=ways):
            sums = 0.0
            for size in range(max(ways) + 1):
                for own in itertools.combinations(range(len(sizes)), size):
                    rest = [i for i in range(len(sizes)) if i not in own]
                    shares = math.fsum(
                        math.prod(1 / sizes[i] for i in more)
                        for way in ways
                        if way >= size
                        for more in itertools.combinations(rest, way - size)
                    )
                    sums += math.sqrt(shares * math.prod((sizes[i] - 1) ** 2 / sizes[i] for i in own))
            workload = marginals(list(sizes), ways)
            assert error("residual_planner", workload) == pytest.approx(sums**2, rel=FINE)
            assert error("weighted_fourier", workload) == pytest.approx(sums**2, rel=FINE)


def test_variances_are_those_over_the_cells(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Rows with weights, several products that are no multiples of each other in one sector."""
    for build in [query_smasher, weighted_fourier]:
        with subtests.test(build.__name__):
            sizes = (2, 3, 3)
            blocks = [f.total, f.identity, f.prefix, f.all_range]
            products = [
                Product(tuple(blocks[rng.integers(4)](n) for n in sizes), weight=float(rng.uniform(0.2, 3)))
                for _ in range(3)
            ]
            workload = Workload.from_products(domain_of(*sizes), products).normalised()
            design = build(workload, 2)
            rows = design.rows.matrix()
            inverse = np.linalg.pinv(rows.T @ rows, rcond=1e-10, hermitian=True)
            expected = np.einsum("qx,xy,qy->q", workload.queries, inverse, workload.queries)
            assert design.errors.variances(workload) == pytest.approx(expected, rel=FINE)
            total = workload.weights @ expected
            assert design.errors.squared_error(workload) == pytest.approx(total, rel=FINE)


def test_columns_over_many_cells_are_bounded(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of the sectors' largest is no less than the largest sum, and for norm 2 hardly more."""
    workload, names = up_to((4, 3, 3), 2), ("query_smasher", "weighted_fourier")
    exact = [[cost.sensitivity for cost in evaluate(name, workload).costs] for name in names]
    monkeypatch.setattr("mmopt.strategies.baselines.few_attribute_baselines.MOST_LISTED_CELLS", 1)
    for name, (first, second) in zip(names, exact, strict=True):
        with subtests.test(name):
            bounds = [cost.sensitivity for cost in evaluate(name, workload).costs]
            assert bounds[0] >= first and bounds[1] >= second * (1 - ROUNDING)
            assert bounds[1] == pytest.approx(1.0, rel=FINE)


def test_reasons_against(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.strategies.baselines.few_attribute_baselines.MOST_PARTS", 200)
    matrix = Workload.from_matrix(np.eye(3))
    of_nine = up_to((2,) * 9, 9, f.prefix, least=9)
    of_all = up_to((2,) * 9, 2)
    for name in ("query_smasher", "weighted_fourier"):
        against = baseline_call(name).baseline.reason_against
        assert against(matrix) == "the queries are a matrix, not products over attributes"
        assert against(of_nine) == "a query looks at 9 attributes, more than 8"
        assert against(of_all) == "46 sectors over 9 attributes have 414 parts; the limit is 200"
        assert against(line(f.prefix(4))) is None
    assert baseline_call("residual_planner").baseline.reason_against(line(f.prefix(4))) == (
        "the queries are not marginals: products of identities and totals"
    )
    assert baseline_call("query_smasher").baseline.reason_against(marginals_of((2, 3), (0, 1))) == (
        "for marginals it is residual_planner"
    )
