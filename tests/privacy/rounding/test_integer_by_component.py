"""Integer strategies by component against the integer matrix that they stand for.

Guards integer_components_and_sectors.py, norms_and_measured_integers.py, workloads/factors_and_products.py.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import tolerances
from symmetric_workloads import random_products, random_symmetric_matrix

from mmopt import PrivacyError, Strategy, Workload, WorkloadError, solve
from mmopt.mechanism import measure, plan
from mmopt.numerics.component_arrays import lift
from mmopt.privacy import Privacy
from mmopt.privacy.rounding.integer_components_and_sectors import IntegerComponents
from mmopt.privacy.rounding.integer_dense import IntegerStrategy
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS, WholeTable
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import ComponentStrategy
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals
from mmopt.workloads import Product, factors_and_products
from tests.privacy.rounding.test_integer_dense import UNSUPPORTED


@pytest.fixture(autouse=True)
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 1)
    monkeypatch.setattr("mmopt.privacy.rounding.integer_components_and_sectors.MOST_CELLS", 1)
    monkeypatch.setattr("mmopt.strategies.component_strategies.MOST_CELLS", 1)


def drawn(rng: np.random.Generator, kind: int) -> Workload:
    """A workload with symmetries: products, or a matrix of whole numbers."""
    while True:
        w = random_products(rng) if kind else random_symmetric_matrix(rng)
        found = symmetry(w, False)
        if found is not None and found.cells.largest <= 0.8 * w.n and (w.queries == np.rint(w.queries)).all():
            return w


def rounded(w: Workload) -> tuple[ComponentStrategy, IntegerComponents]:
    strategy = solve(w, "l2_strategy").strategy
    assert isinstance(strategy, ComponentStrategy)
    found = round_any(strategy, w)
    assert isinstance(found, IntegerComponents)
    return strategy, found


def matrix_of(found: IntegerComponents) -> np.ndarray:
    """The measured matrix (rows, n), from its answers on the cells."""
    return np.array([found.answers(row) for row in np.eye(found.workload.n, dtype=np.int64)]).T


def test_it_is_the_matrix_that_it_says(
    subtests: pytest.Subtests, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Estimates are least squares; of the last from the components of a product's attributes alone."""
    for kind in range(4):
        if kind == 3:
            monkeypatch.setattr("mmopt.privacy.rounding.integer_components_and_sectors.MOST_HELD", 0)
        with subtests.test(kind=kind):
            w = drawn(rng, min(kind, 1))
            strategy, found = rounded(w)
            dense = matrix_of(found)
            assert dense.shape == (found.rows, w.n)
            exact = (dense.astype(object) ** 2).sum(axis=0).max()
            assert found.squared_sensitivity == exact
            assert Fraction(found.sensitivity) ** 2 >= exact
            assert abs(dense).max() * MAX_ROWS <= found.parts[0].largest_answer < 2**62
            plain = Strategy(np.ldexp(dense.astype(float), -found.bits))
            assert plain.supports(w)
            assert found.variances == pytest.approx(plain.variances(w), rel=tolerances.SHAPE)
            # Next to no loss against the strategy that was rounded, at the same sensitivity.
            matrix = Strategy(lift(strategy.split))
            assert plain.total_error(w) == pytest.approx(matrix.total_error(w), rel=1e-6)
            x = rng.integers(0, 1000, size=w.n)
            exact = w.answers(x)
            assert found.estimate(found.answers(x)) == pytest.approx(exact, abs=1e-9 * np.abs(exact).max())
            noisy = rng.integers(-(2**30), 2**30, size=found.rows)
            expected = w.queries @ (np.linalg.pinv(dense.astype(float)) @ noisy)
            assert found.estimate(noisy) == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())
            if kind:
                tables = WholeTable(x, w.domain.shape)
                assert all(tables.of(own).sum() == x.sum() for own in found.tables)
                np.testing.assert_array_equal(found.answers_of(tables), dense @ x)


def test_queries_below_full_rank_on_a_component() -> None:
    """Ranges of three neighbours: the reversal splits them, and some directions are not asked."""
    rows = np.array([[i <= c < i + 3 for c in range(9)] for i in range(7)], dtype=float)
    w = Workload.from_matrix(rows)
    _, found = rounded(w)
    assert sum(len(c.matrix) for c in found.components) == np.linalg.matrix_rank(rows) == 7
    x = np.arange(9)
    assert found.estimate(found.answers(x)) == pytest.approx(rows @ x, abs=1e-9)


def test_a_matrix_is_rounded_where_components_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real queries, or replaced rows, over few cells."""
    monkeypatch.setattr("mmopt.privacy.rounding.integer_components_and_sectors.MOST_CELLS", 8)
    real = np.array([[1.0, 1.0, 0.3, 0.3, 0.7, 0.7, 0, 0]])
    for neighbours, rows in (("add-remove", real), ("replace-one", np.ones((2, 8)))):
        w = Workload.from_matrix(np.vstack([rows, np.repeat(np.eye(4), 2, axis=1)]))
        strategy = solve(w, "l2_strategy").strategy
        assert isinstance(strategy, ComponentStrategy)
        found = round_any(strategy, w, neighbours)
        assert isinstance(found, IntegerStrategy)
        assert str(found.neighbours) == neighbours
        assert found.variances == pytest.approx(strategy.variances(w), rel=1e-6)


def test_what_is_refused() -> None:
    strategy, _ = rounded(marginals((3, 4), (1,)))
    with pytest.raises(WorkloadError) as error:
        round_any(strategy, marginals((3, 4), (2,)))
    assert str(error.value) == UNSUPPORTED
    part = np.array([[1.0, 1.0, 0.3, 0.3, 0.7, 0.7], [0.2, 0.2, 1.0, 1.0, 0.4, 0.4]])
    w = Workload.from_products(
        marginals((6, 2), (1,)).domain,
        [Product((factors_and_products.predicates(part), factors_and_products.total(2)))],
    )
    strategy = solve(w, "l2_strategy").strategy
    with pytest.raises(WorkloadError) as error:
        round_any(strategy, w)
    assert str(error.value) == (
        "the queries have no small integer basis on the components of the strategy\n"
        "  write the queries with small integers (multiply them by a common denominator)"
    )


def test_a_release_recomputes_the_sensitivity(rng: np.random.Generator) -> None:
    w = drawn(rng, 1)
    honest = plan(w, rounded(w)[0], Privacy(rho=0.5))
    assert honest.integer.hash == rounded(w)[1].hash != rounded(marginals((3, 4, 2), (1, 2)))[1].hash
    x = np.arange(w.n)
    assert measure(honest, x).private
    forged = replace(honest.integer, squared_sensitivity=honest.integer.squared_sensitivity - 1)
    with pytest.raises(PrivacyError, match=r"the squared sensitivities are .* under add-remove, the release"):
        measure(replace(honest, integer=forged), x)
