"""From components of row spaces to what is measured: the same profile and the same errors.

Guards component_strategies.py.
"""

import numpy as np
import pytest
import tolerances
from sector_strategies import prefixes

from mmopt.sectors.row_space import RowSpace, row_space_of
from mmopt.strategies import RowSpaceStrategy
from mmopt.strategies.component_strategies import definite_parts, measured_parts
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import identity, predicates, prefix, total


def mixed() -> Workload:
    """Values all alike, none alike, and some: of the last one class is asked as a whole."""
    some = predicates([np.array([1, 1, 0, 0, 0]), np.array([0, 0, 1, 0, 0])])
    kinds = ((total(3), identity(3)), (total(2), prefix(2)), (total(5), some))
    sets = ((0,), (0, 1), (1, 2), (0, 2))
    return Workload.from_products(
        domain_of(3, 2, 5), [Product(tuple(kinds[i][i in one] for i in range(3))) for one in sets]
    )


CASES = {
    "equal attributes": prefixes((3,) * 3),
    "one at a time": prefixes((3,) * 3, [(0,), (1,), (2,)]),
    "pairs": prefixes((2, 3, 4), [(0, 1), (1, 2)]),
    "values alike": mixed(),
}


def strategy_for(space: RowSpace, factors: list[np.ndarray]) -> tuple[RowSpaceStrategy, float]:
    components, added = measured_parts(space, factors)
    return RowSpaceStrategy(components, 1.0), added


@pytest.mark.quick
def test_lengths_and_errors_are_those_of_the_parts(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for name, workload in CASES.items():
        with subtests.test(name):
            space = row_space_of(workload)
            factors = [np.eye(d) + rng.uniform(-0.3, 0.3, (d, d)) / d for d in space.space.dims]
            strategy, added = strategy_for(space, factors)
            assert added == 0.0
            a = strategy.implicit().matrix()
            mean = float(space.space.multiplicities @ [np.square(own).sum() for own in factors])
            np.testing.assert_allclose(np.square(a).sum(axis=0).mean(), mean, rtol=tolerances.RECOMPUTED)
            lengths = np.square(a).sum(axis=0)
            parts = [own.T @ own for own in factors]
            largest = space.largest(parts, 10.0)
            np.testing.assert_allclose(lengths.max(), largest.upper, rtol=tolerances.RECOMPUTED)
            # Σ μ tr R N⁻¹ Rᵀ, and least squares from the rows that are measured.
            error = sum(
                often * float(np.trace(root @ np.linalg.inv(part) @ root.T))
                for often, root, part in zip(space.space.multiplicities, space.root.parts, parts, strict=True)
            )
            np.testing.assert_allclose(strategy.squared_error(workload), error, rtol=tolerances.RECOMPUTED)
            inverse = workload.queries @ np.linalg.pinv(a)
            np.testing.assert_allclose(strategy.squared_error(workload), np.square(inverse).sum(), rtol=1e-8)


@pytest.mark.quick
def test_what_no_query_asks_is_measured_with_next_to_no_weight() -> None:
    """Two queries of an attribute of three values tell two functions of three."""
    few = predicates([np.array([1, 0, 1, 0]), np.array([0, 1, 1, 0])])
    workload = Workload.from_products(domain_of(4, 2), [Product((few, prefix(2)))])
    space = row_space_of(workload)
    factors = [np.asarray(root) for root in space.root.parts]
    strategy, added = strategy_for(space, factors)
    assert 0 < added < 1e-5 * max(float(np.square(own).sum()) for own in factors)
    error = float(sum(space.space.multiplicities * [len(root) for root in factors]))  # N = H: Σ μ rank
    np.testing.assert_allclose(strategy.squared_error(workload), error, rtol=1e-4)
    assert strategy.supports(workload) and strategy.squared_error(workload) <= error
    longest = space.largest([np.eye(d) for d in space.space.dims], 10.0).upper
    before = space.largest([own.T @ own for own in factors], 10.0).upper
    assert np.square(strategy.implicit().matrix()).sum(axis=0).max() <= before + added * longest


def test_a_definite_part_is_measured_as_it_is() -> None:
    """The error that a kernel states is that of the measured strategy: nothing is added to its factors."""
    few = predicates([np.array([1, 0, 1, 0]), np.array([0, 1, 1, 0])])
    space = row_space_of(Workload.from_products(domain_of(4, 2), [Product((few, prefix(2)))]))
    parts = [root.T @ root for root in space.root.parts]
    found = definite_parts(space.space, parts)
    factors = [np.linalg.cholesky(part).T for part in found]
    assert strategy_for(space, factors)[1] == 0.0
    for new, own in zip(found, parts, strict=True):
        assert np.linalg.norm(new - own) <= 1e-5 * np.linalg.norm(own)
    assert definite_parts(space.space, factors := [np.eye(len(own)) for own in parts])[0] is factors[0]
