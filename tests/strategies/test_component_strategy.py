"""A strategy by component against its own matrix.

Guards symmetry/find_symmetries.py, symmetry/workload_by_component.py.
"""

import numpy as np
import pytest
import tolerances
from symmetric_workloads import random_factor, random_products, random_symmetric_matrix

from mmopt import OptionError, Strategy, TooLargeError, Workload
from mmopt.numerics.component_arrays import Space, Split, lift
from mmopt.strategies import ComponentStrategy, Neighbours, as_dense, normalise
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals
from mmopt.workloads import Product

# A random strategy may be nearly singular, which both ways of computing feel.
RANDOM = 1e-6

REPLACED = Neighbours.of("replace-one")


@pytest.fixture(autouse=True)
def nothing_is_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.strategies.component_strategies.MOST_CELLS", 1)


def random_strategy(rng: np.random.Generator, workload: Workload, loss: bool) -> ComponentStrategy | None:
    """Random parts on the components of the workload; with ``loss`` some directions are not measured."""
    found = symmetry(workload, bool(rng.random() < 0.5))
    if found is None:
        return None
    cells = found.cells
    parts = [rng.normal(size=(d + 1, d)) for d in cells.dims]
    if loss:
        parts = [np.where(rng.random(part.shape[1]) < 0.3, 0.0, part) for part in parts]
    return ComponentStrategy(Split(cells.abstract(tuple(d + 1 for d in cells.dims)), cells, tuple(parts)))


def others(rng: np.random.Generator, workload: Workload) -> Workload:
    """Queries over the same attributes, with other symmetries or none."""
    if workload.products is None:
        return Workload.from_matrix(rng.normal(size=(3, workload.n)), weights=rng.uniform(0.5, 2.0, 3))
    shape = workload.domain.shape
    weights = (2.0, 0.3)
    made = [Product(tuple(random_factor(rng, size) for size in shape), weight=w) for w in weights]
    return Workload.from_products(workload.domain, made)


def check_figures(strategy: ComponentStrategy, workload: Workload) -> None:
    dense = as_dense(strategy)
    assert strategy.supports(workload) == dense.supports(workload)
    for name in ("total_error", "variances", "mean_variance"):
        found, wanted = getattr(strategy, name)(workload), getattr(dense, name)(workload)
        np.testing.assert_allclose(found, wanted, rtol=RANDOM, err_msg=name)
    if strategy.supports(workload):
        assert strategy.condition(workload) <= strategy.largest_condition * (1 + RANDOM)


def test_figures_are_those_of_the_matrix(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for of_matrix, has_weights, loss in ((1, 1, 0), (1, 0, 1), (0, 0, 0), (0, 0, 1)):
        with subtests.test(of_matrix=of_matrix, has_weights=has_weights, loss=loss):
            strategy = None
            while strategy is None:
                workload = random_symmetric_matrix(rng) if of_matrix else random_products(rng)
                if has_weights:  # that have no symmetry
                    weights = rng.uniform(0.5, 2.0, workload.m)
                    workload = Workload.from_matrix(
                        workload.queries, targets=workload.targets, weights=weights
                    )
                strategy = random_strategy(rng, workload, loss=bool(loss))
            dense = as_dense(strategy)
            assert (strategy.p, strategy.n, strategy.norm) == (dense.p, dense.n, 2)
            assert strategy.sensitivity == pytest.approx(dense.sensitivity, rel=tolerances.ROUNDING)
            lengths = np.square(dense.matrix).sum(axis=0)
            np.testing.assert_allclose(lift(strategy.profile), lengths, rtol=RANDOM)
            assert strategy.sensitivity_to(REPLACED) == dense.sensitivity_to(REPLACED)
            check_figures(strategy, workload)
            check_figures(strategy, others(rng, workload))


def test_the_sensitivity_is_an_upper_bound(rng: np.random.Generator) -> None:
    """Against sums in higher precision; scaled to one it stays there."""
    for _ in range(8):
        strategy = random_strategy(rng, marginals([3, 2, 4], [1, 2], target=1.0), loss=False)
        assert strategy is not None
        scaled = normalise(strategy)
        for own in (strategy, scaled):
            cells = own.cells
            assert cells.labels is not None and cells.sizes is not None
            total = np.zeros(len(cells.sizes), dtype=np.longdouble)
            for part, often, labels in zip(own.split.parts, cells.multiplicities, cells.labels, strict=True):
                np.add.at(total, labels, often * np.square(part.astype(np.longdouble)).sum(axis=0))
            exact = np.sqrt((total / cells.sizes).max())
            assert exact <= own.sensitivity <= exact * (1 + tolerances.ROUNDING)
        assert 1.0 - tolerances.ROUNDING <= scaled.sensitivity <= 1.0


def test_single_queries_by_the_matrix_where_components_are_large(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    rows = np.array([[i <= c < i + 3 for c in range(9)] for i in range(7)], dtype=float)
    w = Workload.from_matrix(rows, targets=np.ones(7))
    found = symmetry(w, False)
    assert found is not None and 8 * found.cells.largest > w.n
    measured = random_strategy(rng, w, loss=False)
    assert measured is not None
    by_component = measured.variances(w)
    monkeypatch.setattr("mmopt.strategies.component_strategies.MOST_CELLS", 9)
    assert measured.is_better_dense
    np.testing.assert_allclose(measured.variances(w), by_component, rtol=tolerances.FINE)


def test_more_cells_than_any_machine_holds() -> None:
    """10^30 cells: the identity measures every marginal."""
    workload = marginals([10] * 30, [1])
    found = symmetry(workload, False)
    assert found is not None
    cells = found.cells
    rows = cells.abstract(cells.dims)
    strategy = ComponentStrategy(Split(rows, cells, tuple(np.eye(d) for d in cells.dims)))
    assert strategy.n == 10**30
    # The total has 10^30 cells, each of 30 marginals 10 times as many queries of a tenth of the cells; a kept
    # component of multiplicity 9 for each, and one for the total.
    assert strategy.p == 1 + 30 * 9
    assert strategy.sensitivity**2 == pytest.approx(strategy.p / 1e30, rel=tolerances.ROUNDING)
    assert strategy.mean_variance(workload) == pytest.approx(1e29, rel=tolerances.ROUNDING)
    variances = strategy.variances(workload)
    assert variances.shape == (300,)
    np.testing.assert_allclose(variances, 1e29, rtol=tolerances.ROUNDING)
    with pytest.raises(TooLargeError) as error:
        as_dense(strategy)
    assert str(error.value).startswith("the strategy matrix has 271 × 10^30 entries, ")
    with pytest.raises(TooLargeError):
        _ = strategy.sensitivity_to(REPLACED)
    assert repr(strategy).startswith("ComponentStrategy(271 × 1,000,")


def test_what_is_refused(subtests: pytest.Subtests) -> None:
    found = symmetry(marginals([2, 3], [1]), False)
    assert found is not None
    cells = found.cells
    eyes = tuple(np.eye(d) for d in cells.dims)
    split = Split(cells, cells, eyes)
    dense = Strategy(np.eye(3))
    assert as_dense(dense) is dense
    np.testing.assert_allclose(as_dense(ComponentStrategy(split)).matrix, ComponentStrategy(split).matrix)
    abstract = Space(cells.multiplicities, cells.dims)
    broken = (np.full((1, 1), np.nan), *eyes[1:])
    wrong = (np.eye(2), *eyes[1:])
    for made, message in (
        (lambda: ComponentStrategy(split, 1), "a strategy by component has norm 2 (Gaussian), not 1"),
        (
            lambda: ComponentStrategy(Split(abstract, abstract, eyes)),
            "a strategy by component needs the symmetries of its cells",
        ),
        (
            lambda: ComponentStrategy(Split(cells, cells, wrong)),
            "the parts of the strategy do not have the sizes of its components",
        ),
        (
            lambda: ComponentStrategy(Split(cells, cells, broken)),
            "the strategy has NaN or infinite entries, expected finite numbers",
        ),
        (
            lambda: normalise(ComponentStrategy(Split(cells, cells, tuple(0 * e for e in eyes)))),
            "a strategy of sensitivity 0 cannot be scaled to sensitivity 1",
        ),
        (
            lambda: ComponentStrategy(split).total_error(marginals([2, 2], [1])),
            "the strategy is by component over 2 x 3 cells, the queries have 2 x 2",
        ),
        (
            lambda: ComponentStrategy(split).variances(Workload.from_matrix(np.eye(6))),
            "the strategy is by component over 2 x 3 cells, the queries have 6",
        ),
    ):
        with subtests.test(message):
            with pytest.raises(OptionError) as error:
                made()
            assert str(error.value) == message
