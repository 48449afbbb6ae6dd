"""Queries by orbits: squares add up to the workload's, a variance is that of each query of an orbit.

Guards row_space_cells_and_targets.py.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from dense_row_space import few_of_many, swapped
from tolerances import SHAPE

from mmopt.numerics.component_arrays import Level, Split
from mmopt.sectors.row_space import RowSpace, row_space_of
from mmopt.sectors.row_space_cells_and_targets import (
    RowSpaceCells,
    as_targets,
    matrix_of,
    sources_with_targets,
)
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f


@pytest.fixture(params=["few", "swapped", "weighted rows"])
def workload(request: pytest.FixtureRequest, rng: np.random.Generator) -> Workload:
    if request.param == "few":
        return few_of_many(rng)
    return swapped() if request.param == "swapped" else swapped().normalised()


@pytest.mark.quick
@pytest.mark.draws(2)
def test_squares_add_up_to_those_of_the_root(workload: Workload) -> None:
    rows = row_space_of(workload)
    matrix = matrix_of(rows, RowSpaceCells.of(rows, workload), workload)
    assert isinstance(matrix, Split)
    assert matrix.rows.total == workload.m
    assert matrix.rows.sizes is not None
    assert sum(matrix.rows.sizes) == workload.m
    for own, root in zip(matrix.parts, rows.root.parts, strict=True):
        assert own.T @ own == pytest.approx(root.T @ root, rel=SHAPE, abs=SHAPE * np.abs(root).max() ** 2)


@pytest.mark.draws(2)
def test_variances_are_those_of_each_query(workload: Workload, rng: np.random.Generator) -> None:
    """The covariance of the basis is the same on all copies; targets tell products apart."""
    products = [replace(p, target=1.0 + 0.1 * at) for at, p in enumerate(workload.products or ())]
    asked = Workload.from_products(workload.domain, products)
    rows = row_space_of(as_targets(asked))
    sources = sources_with_targets(rows, RowSpaceCells.of(rows, asked), asked)
    assert not isinstance(sources, str)
    queries, targets = sources["workload.representation"], sources["workload.targets"]
    assert isinstance(queries, Split)
    assert isinstance(targets, Level)
    assert queries.rows.sizes is not None
    halves = [rng.normal(size=(d, d)) for d in rows.space.dims]
    parts = [half @ half.T for half in halves]
    by_orbit = np.zeros(len(queries.rows.sizes))
    for own, label, part, often in zip(
        queries.parts, queries.rows.labels or (), parts, rows.space.multiplicities, strict=True
    ):
        np.add.at(by_orbit, label, often * np.einsum("qa,ab,qb->q", own, part, own))
    by_orbit /= queries.rows.sizes
    # Query by query over the cells: L = W Bᵀ / n, so that L Σ Lᵀ = W (Bᵀ Σ B) Wᵀ / n².
    dense = np.vstack([p.unweighted().implicit().matrix() for p in products])
    variances = np.einsum("qx,xy,qy->q", dense, over_cells(rows, parts), dense) / asked.n**2
    count = queries.rows.sizes.astype(int)
    assert sorted(zip(targets.values.repeat(count), by_orbit.repeat(count), strict=True)) == [
        (target, pytest.approx(variance, rel=1e-9))
        for target, variance in sorted(zip(asked.targets, variances, strict=True))
    ]


def over_cells(rows: RowSpace, parts: Sequence[np.ndarray]) -> np.ndarray:
    """(n, n) Bᵀ Σ B with every copy: the s - 1 functions of a rest have Σ r(x) r(y) = d (δ(x, y) - 1 / s)."""
    sizes = [basis.size for basis in rows.bases]
    cells = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    orbits = np.stack([basis.symmetry.orbit_of[cells[:, i]] for i, basis in enumerate(rows.bases)], axis=1)
    total = np.zeros((len(cells),) * 2)
    for component, part in zip(rows.components, parts, strict=True):
        values = component.values(rows.functions, orbits)
        own = values @ part @ values.T
        for i, o in component.rests:
            alike = np.equal.outer(cells[:, i], cells[:, i]) - 1.0 / rows.bases[i].sizes[o]
            is_here = np.logical_and.outer(orbits[:, i] == o, orbits[:, i] == o)
            own *= np.where(is_here, rows.bases[i].size * alike, 0.0)
        total += own
    return total


@pytest.mark.quick
def test_values_that_are_swapped_in_squares_alone_are_refused() -> None:
    """Rows turned into each other have the same Gram matrix, and no two queries are each other's image."""
    turned = f.predicates(np.array([[3.0, 4.0], [4.0, -3.0]]))
    workload = Workload.from_products(domain_of(2, 3), [Product((turned, f.prefix(3)), target=2.0)])
    rows = row_space_of(as_targets(workload))
    sources = sources_with_targets(rows, RowSpaceCells.of(rows, workload), workload)
    assert rows.bases[0].orbits == 1
    assert sources == "values can be swapped in the sum of the queries' squares, and not query by query"
