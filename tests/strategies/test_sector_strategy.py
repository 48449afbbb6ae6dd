"""Strategies on a row space: what the law of forms has no room for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tolerances
from sector_examples import as_matrix, equal_operator, layout, pairs, prefixes, strategy_of, with_rests

from mmopt.errors import OptionError
from mmopt.sectors.measured.sector_operators import DenseOperator
from mmopt.strategies import SectorStrategy
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks.factor_blocks import identity, prefix, total


def near(found: object, expected: object) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerances.RECOMPUTED, atol=tolerances.RECOMPUTED)


@pytest.mark.quick
def test_errors_and_answers_of_equal_attributes_are_those_of_the_matrix(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for k, d in [(2, 4), (3, 3), (4, 3)]:
        with subtests.test(k=k, d=d):
            strategy = strategy_of(pairs(rng, k, d), equal_operator(rng, k, d - 1), 0.3)
            workload, a = prefixes((d,) * k), strategy.implicit().matrix()
            inverse = workload.queries @ np.linalg.pinv(a)
            noisy = rng.normal(size=strategy.p)
            for own in (strategy, as_matrix(strategy)):
                near(own.variances(workload), np.square(inverse).sum(axis=1))
                near(own.squared_error(workload), np.square(inverse).sum())
                near(own.answers_from(workload, noisy), inverse @ noisy)
            assert strategy.fields().keys() == as_matrix(strategy).fields().keys()
            fields = {name: own for name, own in strategy.fields().items() if name != "form"}
            near(SectorStrategy.from_fields(fields).implicit().matrix(), a)


def test_of_sets_of_three_attributes_and_weights_of_rows(rng: np.random.Generator) -> None:
    sizes = (2, 3, 2)
    own = layout(rng, sizes, [(0, 1, 2)])
    strategy = strategy_of(own, DenseOperator(np.eye(own.size) + rng.uniform(-0.1, 0.1, (own.size,) * 2)))
    workload = prefixes(sizes, [(0, 1, 2), (1,), ()]).normalised()
    inverse = workload.queries @ np.linalg.pinv(strategy.implicit().matrix())
    near(strategy.variances(workload), np.square(inverse).sum(axis=1))
    near(strategy.squared_error(workload), workload.weights @ np.square(inverse).sum(axis=1))
    noisy = rng.normal(size=strategy.p)
    near(strategy.answers_from(workload, noisy), inverse @ noisy)


def test_values_that_are_alike(rng: np.random.Generator) -> None:
    strategy, workload = with_rests(rng)
    a = strategy.implicit().matrix()
    inverse = workload.queries @ np.linalg.pinv(a)
    near(inverse @ a, workload.queries)
    near(strategy.variances(workload), np.square(inverse).sum(axis=1))
    near(strategy.squared_error(workload), workload.weights @ np.square(inverse).sum(axis=1))
    noisy = rng.normal(size=strategy.p)
    near(strategy.answers_from(workload, noisy), inverse @ noisy)
    near(workload.queries @ strategy.estimate(noisy), inverse @ noisy)
    fields = {name: own for name, own in strategy.fields().items() if name != "form"}
    near(SectorStrategy.from_fields(fields).implicit().matrix(), a)
    near(strategy.divided(2.0).implicit().matrix(), a / 2)
    without = replace(strategy, rests=strategy.rests[1:])
    assert np.isinf(without.variances(workload)[:3]).all() and not without.supports(workload)
    with pytest.raises(OptionError) as error:
        without.answers_from(workload, noisy[: without.p])
    assert error.value.message == "the strategy does not support the queries whose answers are asked"


def test_what_no_sector_has_is_not_supported(rng: np.random.Generator) -> None:
    """The rows of a product that look at fewer attributes are, where these are measured."""
    strategy = strategy_of(own := layout(rng, (2, 3), [(0,), (1,)]), DenseOperator(np.eye(4)))
    workload = Workload.from_products(
        prefixes((2, 3)).domain, [Product((prefix(2), prefix(3))), Product((identity(2), total(3)))]
    )
    assert np.isfinite(strategy.variances(workload)).tolist() == [False, False, True, *[True] * 5]
    assert not strategy.supports(workload) and own.size == 4


def test_more_cells_than_can_be_counted(rng: np.random.Generator) -> None:
    """10^60 cells: the total has one variance and one estimate, whatever product asks it."""
    k, d = 60, 10
    strategy = SectorStrategy(pairs(rng, k, d), equal_operator(rng, k, d - 1), 1.0)
    workload = prefixes((d,) * k, [(0,), (58, 59)])
    assert strategy.n == d**k and strategy.p == 1 + 60 * 9 + 1770 * 81
    variances = strategy.variances(workload)
    near(variances[9], variances[-1])  # both are the total
    noisy = rng.normal(size=strategy.p)
    answers = strategy.answers_from(workload, noisy)
    near(answers[9], answers[-1])
    near(strategy.core.apply(strategy.functions_from(noisy)[()][:, 0]), noisy)


def test_refused(rng: np.random.Generator) -> None:
    own = layout(rng, (2, 3), [(0,), (1,)])
    wrong = np.eye(4)
    wrong[0, 0] = np.nan
    cases = [
        ((DenseOperator(np.eye(3)), 1.0), "the core is for 3 functions, the sectors have 4"),
        ((DenseOperator(wrong), 1.0), "the core has NaN or infinite entries, expected finite numbers"),
        ((DenseOperator(np.eye(4)), 0.0), "the largest column is 0.0, expected a finite number above 0"),
        (
            (DenseOperator(np.zeros((4, 4))), 1.0),
            "the core has no inverse: some functions would not be measured",
        ),
    ]
    for arguments, message in cases:
        with pytest.raises(OptionError) as error:
            SectorStrategy(own, *arguments)
        assert error.value.message == message
