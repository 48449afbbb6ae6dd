"""Weights of single queries: of ranges in closed form, of a block, of a product, of a normalised workload."""

import numpy as np
import pytest
import scipy.sparse
from tolerances import ROUNDING

from mmopt import Attribute, Domain, Workload
from mmopt.workloads import Product, factors_and_products as f
from mmopt.workloads.blocks.combined_blocks import RowWeighted, unit_rows
from mmopt.workloads.blocks.range_blocks import range_gram, range_root

PRODUCTS = {
    "uniform": ((f.identity(4), f.total(3)), (f.total(4), f.identity(3))),
    "prefix": ((f.prefix(4), f.total(3)), (f.identity(4), f.identity(3))),
    "ranges": ((f.all_range(4), f.prefix(3)),),
    "trees": ((f.hierarchy(4), f.total(3)), (f.haar(4), f.all_range(3))),
    "predicates": ((f.predicates([[1, 0, 2, 0], [0, 1, 1, 1.0]]), f.union(f.identity(3), f.total(3))),),
    "sparse": (
        (f.sparse_predicates(scipy.sparse.csr_array(np.tri(4))), f.reordered(f.prefix(3), [2, 0, 1])),
    ),
}


def domain(*sizes: int) -> Domain:
    return Domain(tuple(Attribute(f"a{i}", tuple(map(str, range(n)))) for i, n in enumerate(sizes)))


def of(name: str) -> Workload:
    products = [Product(factors, weight=0.5 + i, target=9.0) for i, factors in enumerate(PRODUCTS[name])]
    return Workload.from_products(domain(4, 3), products)


def dense(w: Workload) -> np.ndarray:
    """Queries scaled to unit length times the roots of their weights."""
    rows = w.queries
    return (np.sqrt(w.weights) / np.linalg.norm(rows, axis=1))[:, None] * rows


def test_weighted_ranges_in_closed_form(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for n in [1, 2, 3, 9]:
        with subtests.test(str(n)):
            block = f.all_range(n)
            weights = np.exp(rng.normal(scale=4.0, size=block.rows))
            rows = np.sqrt(weights)[:, None] * block.matrix()
            low, high = block.ends(np.arange(block.rows))
            gram, root = range_gram(n, low, high, weights), range_root(n, low, high, weights)
            np.testing.assert_allclose(gram, rows.T @ rows, rtol=ROUNDING)
            np.testing.assert_allclose(root.T @ root, rows.T @ rows, rtol=ROUNDING)
            np.testing.assert_array_equal(root, np.triu(root))


def test_root_of_weighted_ranges_keeps_small_singular_values() -> None:
    """Equal weights: the root must be that of ``all_range`` up to a rotation, to the last digits."""
    n = 100
    block = f.all_range(n)
    found = np.linalg.svd(block.root_of_weighted(np.ones(block.rows)), compute_uv=False)
    known = np.sqrt((n + 1) / (2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))))
    np.testing.assert_allclose(found, known, rtol=ROUNDING)


def test_normalised_products_against_their_matrix(subtests: pytest.Subtests) -> None:
    for name in PRODUCTS:
        with subtests.test(name):
            plain = of(name)
            w = plain.normalised()
            expected = dense(plain)
            assert w.is_normalised and not plain.is_normalised and w.normalised() is w
            np.testing.assert_array_equal(w.queries, plain.queries)
            np.testing.assert_array_equal(w.targets, plain.targets)
            assert w.labels() == plain.labels() and w.groups() == plain.groups()
            np.testing.assert_allclose(w.weights * w.squared_norms(), plain.weights, rtol=ROUNDING)
            np.testing.assert_allclose(w.matrix, expected, rtol=ROUNDING)
            np.testing.assert_allclose(w.implicit().matrix(), expected, rtol=ROUNDING)
            np.testing.assert_array_equal(w.implicit(weighted=False).matrix(), plain.queries)
            np.testing.assert_allclose(
                w.weighed.queries * np.sqrt(w.weighed.weights)[:, None], expected, rtol=ROUNDING
            )
            for gram in (w.gram, w.root.T @ w.root, w.weighed.gram):
                np.testing.assert_allclose(gram, expected.T @ expected, atol=ROUNDING * 10)
            np.testing.assert_allclose(w.unweighted.gram, plain.queries.T @ plain.queries, rtol=ROUNDING)
            assert w.rank == plain.rank and (w.hash == plain.hash) == bool(
                np.array_equal(w.weights, plain.weights)
            )


def test_a_matrix_and_the_same_product_agree(rng: np.random.Generator) -> None:
    rows = rng.integers(-2, 3, size=(5, 4)) + 0.5
    w = Workload.from_matrix(rows, weights=rng.uniform(1, 2, size=5))
    np.testing.assert_allclose(w.normalised().gram, dense(w).T @ dense(w), atol=ROUNDING * 10)
    np.testing.assert_array_equal(w.normalised().queries, rows)
    sparse = Workload.from_matrix(scipy.sparse.csr_array(rows), weights=w.weights).normalised()
    np.testing.assert_allclose(sparse.gram, w.normalised().gram, atol=ROUNDING * 10)


def test_queries_of_one_length_need_no_weights_of_their_own() -> None:
    """Marginals keep their factors, so that nothing that knows marginals sees a difference."""
    w = of("uniform").normalised()
    products = w.products
    assert products is not None and [p.factors for p in products] == list(PRODUCTS["uniform"])
    np.testing.assert_allclose([p.weight for p in products], [0.5 / 3, 1.5 / 4], rtol=ROUNDING)
    scale, block = unit_rows(f.width_range(6, 2))
    assert (scale, block) == (0.5, f.width_range(6, 2))


def test_scaling_a_query_does_not_change_what_is_optimised(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(6, 4))
    scaled = rng.uniform(0.1, 10, size=6)[:, None] * rows
    one, other = (Workload.from_matrix(r).normalised() for r in (rows, scaled))
    np.testing.assert_allclose(one.gram, other.gram, atol=ROUNDING * 10)


def test_weights_of_weights_multiply() -> None:
    own = np.array([1.0, 2.0, 3.0])
    scale, block = unit_rows(RowWeighted(f.prefix(3), own))
    assert scale == 1.0 and block.plain == f.prefix(3)
    np.testing.assert_allclose(block.row_weights, own / [1, 2, 3], rtol=ROUNDING)
