"""The bound at a strategy's measures: figures, and what is mixed where measures say nothing.

Guards total_error_bounds.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from few_attributes import few_ways, up_to

from mmopt.limits import deadline
from mmopt.sectors import total_error_bounds
from mmopt.sectors.residual_strategies import best_residual_strategy, products_of_few
from mmopt.sectors.total_error_bounds import best_measure_bound, root_trace_below
from mmopt.workloads.blocks.query_matrices import Implicit as Factor
from mmopt.workloads.factors_and_products import all_range, predicates, prefix


def test_figures(subtests: pytest.Subtests) -> None:
    """Within a per cent of a strategy: prefixes of 10^10 cells, ranges of attributes of all sizes."""
    for sizes, block, least in [
        ((10,) * 10, prefix, 404_920),
        ((4, 7, 9, 13, 6, 5, 11), all_range, 1_258_950),
    ]:
        with subtests.test(sizes=sizes):
            workload = up_to(sizes, 2, block)
            strategy = best_residual_strategy(workload)
            bound, measures = best_measure_bound(products_of_few(workload), strategy.measures)
            assert least <= bound <= strategy.error
            assert bound <= root_trace_below(products_of_few(workload), measures) ** 2
            less, _ = best_measure_bound(products_of_few(workload), strategy.measures, 1e-6)
            assert 0 < less < bound * (1 - 1e-4)


def test_where_a_measure_says_nothing_one_is_searched(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two values; one predicate. The measure of a design that asks for one value alone is no good."""
    tried = []

    def noted(*arguments: object) -> float:
        tried.append(root_trace_below(*arguments))
        return tried[-1]

    monkeypatch.setattr(total_error_bounds, "root_trace_below", noted)

    def predicate(d: int) -> Factor:
        return predicates(np.array([[1] * 2 + [0] * (d - 2)]), ["first"])

    for name, workload, free in [
        ("two values", up_to((2, 5, 4), 2), 0),
        ("a predicate", few_ways((3, 5, 4), (1, 2), [prefix, predicate, prefix]), 1),
    ]:
        with subtests.test(name):
            products = products_of_few(workload)
            measures = [np.arange(1.0, d + 1) / (d * (d + 1) / 2) for d in workload.domain.shape]
            measures[free] = np.full(len(measures[free]), 1e-9)
            measures[free][-1] = 1.0
            before = root_trace_below(products, measures) ** 2
            tried.clear()
            bound, found = best_measure_bound(products, measures)
            assert before * 1.05 < bound <= max(tried) ** 2 < bound * (1 + 1e-12)
            for i, measure in enumerate(measures):
                assert np.array_equal(found[i], measure) == (i != free)
            with deadline(0.0):
                start, at = best_measure_bound(products, measures)
            assert np.ptp(at[free]) == 0
            assert before < start <= bound * (1 + 1e-3)


def test_measures_that_are_next_to_one_another_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    products = products_of_few(up_to((3, 3, 3), 2))
    own = np.array([0.4, 0.3, 0.3])
    other, far = np.array([0.4 + 1e-6, 0.3 - 1e-6, 0.3]), np.array([0.3, 0.4, 0.3])
    _, found = best_measure_bound(products, [own, other, far])
    assert found[1] is own and found[2] is far
    monkeypatch.setattr(total_error_bounds, "ALIKE", 0.0)
    _, found = best_measure_bound(products, [own, other, far])
    assert found[1] is other
