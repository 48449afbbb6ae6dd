"""Sets of attributes measured one by one: as the matrix over the cells says, and over any number of them."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances
from few_ways import few_ways

from mmopt.errors import OptionError, WorkloadError
from mmopt.privacy.rounding.counted_tables import WholeTable
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import SectorwiseStrategy
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks.factor_blocks import identity, predicates, prefix, total

SIZES = (3, 2, 4)
SETS = ((), (0,), (1,), (2,), (0, 2), (1, 2))


def drawn(rng: np.random.Generator, sizes: tuple[int, ...] = SIZES) -> SectorwiseStrategy:
    """Rows about bases of their own, some of negative entries."""
    rows = tuple(np.eye(n)[1:] + rng.uniform(-0.4, 0.4, (n - 1, n)) for n in sizes)
    return SectorwiseStrategy(rows, SETS, rng.uniform(0.3, 2.0, len(SETS)))


def asked(sizes: tuple[int, ...] = SIZES) -> Workload:
    """Different queries of the same attributes, one product with weights of rows."""
    first, second, third = sizes
    ends = predicates(np.eye(third)[[0, -1]])
    products = [
        Product((prefix(first), total(second), prefix(third)), weight=2.0),
        Product((identity(first), total(second), ends)).normalised(),
        Product((total(first), identity(second), prefix(third))),
        Product((total(first), total(second), total(third)), weight=0.5),
    ]
    return Workload.from_products(few_ways(sizes, (1,), prefix).domain, products)


@pytest.mark.quick
def test_variances_and_estimates_are_those_of_least_squares(rng: np.random.Generator) -> None:
    for _ in range(2):
        strategy, workload = drawn(rng), asked()
        inverse = np.linalg.pinv(strategy.implicit().matrix())
        expected = np.square(workload.queries @ inverse).sum(axis=1)
        assert strategy.variances(workload) == pytest.approx(expected, rel=tolerances.RECOMPUTED)
        total_error = float(workload.weights @ expected)
        assert strategy.squared_error(workload) == pytest.approx(total_error, rel=tolerances.RECOMPUTED)
        noisy = rng.normal(size=strategy.p)
        answers = workload.queries @ inverse @ noisy
        np.testing.assert_allclose(strategy.answers_from(workload, noisy), answers, atol=1e-9)


@pytest.mark.draws(3)
@pytest.mark.parametrize("norm", [1, 2])
def test_the_largest_column_is_that_of_some_cell_rounded_up(rng: np.random.Generator, norm: int) -> None:
    one = drawn(rng)
    strategy = SectorwiseStrategy(one.matrices, one.sets, one.weights, norm)
    largest = np.linalg.norm(strategy.implicit().matrix(), ord=norm, axis=0).max()
    assert largest * (1 - tolerances.ROUNDING) <= strategy.sensitivity <= largest * (1 + tolerances.ROUNDING)


def test_integers_answer_from_tables_and_have_no_bias(rng: np.random.Generator) -> None:
    workload = asked()
    integer = round_any(drawn(rng), workload)
    assert integer.tables == ((0, 2), (1, 2))
    counts = rng.integers(0, 50, workload.n)
    exact = integer.answers_of(WholeTable(counts, SIZES))
    k = np.column_stack([integer.answers(unit) for unit in np.eye(workload.n, dtype=np.int64)])
    np.testing.assert_array_equal(exact, k @ counts)
    ends = np.cumsum([part.rows for part in integer.parts])[:-1]
    lengths = [int(np.square(rows.astype(object)).sum(axis=0).max()) for rows in np.split(k, ends)]
    assert integer.squared_sensitivities() == lengths
    np.testing.assert_allclose(integer.estimate(exact), workload.answers(counts), rtol=1e-9)


def test_over_many_cells_nothing_is_of_their_number(rng: np.random.Generator) -> None:
    """10^40 cells, of which three attributes are asked: as over the cells of these three."""
    others = (10,) * 37
    few, workload = drawn(rng), asked()
    many = SectorwiseStrategy((*few.matrices, *(np.zeros((0, 10)) for _ in others)), SETS, few.weights)
    domain = few_ways((*SIZES, *others), (1,), prefix).domain
    products = [Product((*p.factors, *map(total, others)), weight=p.weight) for p in workload.products or ()]
    wide = Workload.from_products(domain, products)
    assert many.n > 10**37 and many.p == few.p
    np.testing.assert_allclose(many.variances(wide), few.variances(workload), rtol=tolerances.RECOMPUTED)
    assert many.squared_error(wide) == pytest.approx(few.squared_error(workload), rel=tolerances.RECOMPUTED)
    assert many.sensitivity == few.sensitivity


def test_a_query_of_attributes_that_are_not_measured_together(rng: np.random.Generator) -> None:
    strategy = drawn(rng)
    pair = few_ways(SIZES, (1,), prefix) + few_ways(SIZES, (2,), prefix, weights=False)
    variances = strategy.variances(pair)
    at = sum(SIZES) + np.arange(SIZES[0] * SIZES[1])  # the products of the first two attributes
    assert np.isinf(variances[at][:2]).any() and np.isfinite(variances[: sum(SIZES)]).all()
    assert not strategy.supports(pair)
    with pytest.raises(OptionError) as refused:
        strategy.answers_from(pair, np.zeros(strategy.p))
    assert refused.value.message == "the strategy does not support the queries whose answers are asked"
    with pytest.raises(WorkloadError) as unrounded:
        round_any(strategy, pair)
    assert unrounded.value.message.startswith("the strategy does not support the workload")


def test_what_is_no_strategy(subtests: pytest.Subtests) -> None:
    for changed, message in [
        ({"matrices": (np.ones((1, 3)),)}, "the rows of attribute 0 and the constant are dependent"),
        (
            {"matrices": (np.array([[1.0, np.nan, 0.0]]),)},
            "the matrix of attribute 0 has NaN or infinite entries",
        ),
        ({"sets": ((0,), (0,))}, "the sets of attributes repeat, or are not ascending places of attributes"),
        ({"sets": ((), (1,))}, "the sets of attributes repeat, or are not ascending places of attributes"),
        ({"weights": [1.0, 0.0]}, "the weights must be 2 finite numbers above 0, one for each set"),
    ]:
        with subtests.test(changed=changed, message=message):
            given = {"matrices": (np.eye(3)[1:],), "sets": ((), (0,)), "weights": [1.0, 1.0]} | changed
            with pytest.raises(OptionError) as refused:
                SectorwiseStrategy(**given)
            assert refused.value.message == message
