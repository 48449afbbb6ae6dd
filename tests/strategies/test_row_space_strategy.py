"""Strategies on a row space, as a core or by sectors one by one: what the law of forms has no room for.

Guards component_strategies.py, set_strategy_and_cells.py and sectors/row_space_cells_and_targets.py.
"""

from dataclasses import replace

import numpy as np
import pytest
import tolerances
from few_attributes import few_ways
from sector_strategies import layout, near_identity, pairs, prefixes, strategy_of, with_rests

from mmopt.errors import OptionError, WorkloadError
from mmopt.privacy.rounding.norms_and_measured_integers import WholeTable
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.sectors.row_space_cells_and_targets import RestComponent
from mmopt.strategies import RowSpaceStrategy, SetStrategy
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import identity, predicates, prefix, total


def near(found: object, expected: object) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerances.RECOMPUTED, atol=tolerances.RECOMPUTED)


def test_errors_and_answers_are_those_of_the_matrix(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for k, d in [(2, 4), (3, 3), (4, 3)]:
        with subtests.test(k=k, d=d):
            own = pairs(rng, k, d)
            strategy = strategy_of(own, near_identity(rng, own.size), 0.3)
            workload, a = prefixes((d,) * k), strategy.implicit().matrix()
            inverse = workload.queries @ np.linalg.pinv(a)
            noisy = rng.normal(size=strategy.p)
            near(strategy.variances(workload), np.square(inverse).sum(axis=1))
            near(strategy.squared_error(workload), np.square(inverse).sum())
            near(strategy.answers_from(workload, noisy), inverse @ noisy)
            fields = {name: own for name, own in strategy.fields().items() if name != "form"}
            near(RowSpaceStrategy.from_fields(fields).implicit().matrix(), a)


def test_of_sets_of_three_attributes_and_weights_of_rows(rng: np.random.Generator) -> None:
    sizes = (2, 3, 2)
    own = layout(rng, sizes, [(0, 1, 2)])
    strategy = strategy_of(own, near_identity(rng, own.size))
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
    near(RowSpaceStrategy.from_fields(fields).implicit().matrix(), a)
    near(strategy.divided(2.0).implicit().matrix(), a / 2)
    without = replace(strategy, components=(strategy.components[0], *strategy.components[2:]))
    assert np.isinf(without.variances(workload)[:3]).all() and not without.supports(workload)
    with pytest.raises(OptionError) as error:
        without.answers_from(workload, noisy[: without.p])
    assert error.value.message == "the strategy does not support the queries whose answers are requested"


def test_what_no_sector_has_is_not_supported(rng: np.random.Generator) -> None:
    """The rows of a product that look at fewer attributes are, where these are measured."""
    strategy = strategy_of(own := layout(rng, (2, 3), [(0,), (1,)]), np.eye(4))
    workload = Workload.from_products(
        prefixes((2, 3)).domain, [Product((prefix(2), prefix(3))), Product((identity(2), total(3)))]
    )
    assert np.isfinite(strategy.variances(workload)).tolist() == [False, False, True, *[True] * 5]
    assert not strategy.supports(workload) and own.size == 4


def test_more_cells_than_can_be_counted(rng: np.random.Generator) -> None:
    """10^60 cells: the total has one variance and one estimate, whatever product asks it."""
    k, d = 60, 10
    own = layout(rng, (d,) * k, [*((i,) for i in range(k)), (58, 59)])
    strategy = RowSpaceStrategy((RestComponent((), own, near_identity(rng, own.size)),), 1.0)
    workload = prefixes((d,) * k, [(0,), (58, 59)])
    assert strategy.n == d**k and strategy.p == 1 + 60 * 9 + 81
    variances = strategy.variances(workload)
    near(variances[9], variances[-1])  # both are the total
    noisy = rng.normal(size=strategy.p)
    answers = strategy.answers_from(workload, noisy)
    near(answers[9], answers[-1])
    near(strategy.components[0].core @ strategy.sums_from(noisy)[()][:, 0], noisy)


def test_refused(rng: np.random.Generator) -> None:
    own = layout(rng, (2, 3), [(0,), (1,)])
    wrong = np.eye(4)
    wrong[0, 0] = np.nan
    cases = [
        ((np.eye(3), 1.0), "the core is for 3 functions, the sectors have 4"),
        ((wrong, 1.0), "the core has NaN or infinite entries, expected finite numbers"),
        ((np.eye(4), 0.0), "the largest column is 0.0, expected a finite number above 0"),
        (
            (np.zeros((4, 4)), 1.0),
            "the core has no inverse: some functions would not be measured",
        ),
    ]
    for (core, largest), message in cases:
        with pytest.raises(OptionError) as error:
            RowSpaceStrategy((RestComponent((), own, core),), largest)
        assert error.value.message == message


SIZES = (3, 2, 4)
SETS = ((), (0,), (1,), (2,), (0, 2), (1, 2))


def drawn(rng: np.random.Generator, sizes: tuple[int, ...] = SIZES) -> SetStrategy:
    """Rows about bases of their own, some of negative entries."""
    rows = tuple(np.eye(n)[1:] + rng.uniform(-0.4, 0.4, (n - 1, n)) for n in sizes)
    return SetStrategy(rows, SETS, rng.uniform(0.3, 2.0, len(SETS)))


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
    many = SetStrategy((*few.matrices, *(np.zeros((0, 10)) for _ in others)), SETS, few.weights)
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
    assert refused.value.message == "the strategy does not support the queries whose answers are requested"
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
                SetStrategy(**given)
            assert refused.value.message == message


def test_classes_of_values_are_whole_numbers(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """A file, whoever wrote it, is refused at reading: no IndexError where they are first used."""
    strategy = strategy_of(own := pairs(rng, 2, 3), near_identity(rng, own.size), 0.3)
    fields = {name: own for name, own in strategy.fields().items() if name != "form"}
    for wrong in (
        np.arange(3.0),
        np.array([0, -1, 2]),
        np.zeros((3, 1), dtype=np.int64),
        np.zeros(0, np.int64),
    ):
        with (
            subtests.test(str(wrong)),
            pytest.raises(OptionError, match="are whole numbers from 0, one a value"),
        ):
            RowSpaceStrategy.from_fields({**fields, "labels": {"0": wrong, "1": np.arange(3)}})
