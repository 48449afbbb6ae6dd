"""A workload as an implicit matrix: the queries, and W with the weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from random_workloads import domain_of, random_workload
from workloads.implicit_twins import check_twin, random_block

from mmopt import limits
from mmopt.errors import TooLargeError
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f


@pytest.mark.draws(6)
def test_products(rng):
    w = random_workload(rng)
    check_twin(w.implicit(), np.array(w.matrix), rng)
    check_twin(w.implicit(weighted=False), np.array(w.queries), rng)
    np.testing.assert_array_equal(w.implicit(weighted=False).matrix(), w.queries)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("weights", [None, 4.0, [1.0, 0.25, 3.0]])
def test_matrices(form, weights):
    rng = np.random.default_rng(3)
    rows = rng.integers(-2, 3, size=(3, 5)).astype(float)
    w = Workload.from_matrix(form(rows), weights=weights)
    check_twin(w.implicit(), np.array(w.matrix), rng)
    check_twin(w.implicit(weighted=False), rows, rng)


@pytest.mark.draws(6)
def test_answers_are_products(rng):
    """Of one data vector (n,) and of several, as columns (n, c)."""
    sizes = [int(size) for size in rng.integers(1, 6, size=3)]
    blocks = [random_block(rng, size) for size in sizes]
    blocks = [b if b.size == size else f.hierarchy(size) for b, size in zip(blocks, sizes, strict=True)]
    w = Workload.from_products(domain_of(*sizes), [Product(tuple(blocks), weight=2.0)])
    x = rng.integers(0, 9, size=(w.n, 4)).astype(float)
    np.testing.assert_allclose(w.answers(x), w.queries @ x, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(w.answers(x[:, 0]), w.queries @ x[:, 0], rtol=1e-12, atol=1e-11)
    assert w.answers(x[:, :0]).shape == (w.m, 0)


def test_answers_do_not_share_memory_with_the_data():
    w = Workload.from_products(domain_of(3), [Product((f.identity(3),))])
    x = np.arange(3.0)
    w.answers(x)[0] = 7.0
    assert x[0] == 0.0


def test_a_large_workload_is_solved_by_least_squares():
    """LSMR on 160,000 cells finds data with the same answers, without the matrix of 21 GiB."""
    sizes = (20, 20, 400)
    products = [
        Product((f.identity(20), f.total(20), f.hierarchy(400))),
        Product((f.total(20), f.prefix(20), f.identity(400)), weight=0.25),
    ]
    w = Workload.from_products(domain_of(*sizes), products)
    sizes_held = w.implicit(weighted=False).sizes()
    assert sizes_held.explicit == 8 * w.m * w.n == 8 * (20 * 799 + 20 * 400) * 160_000
    assert sizes_held.implicit < 40_000
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, size=w.n).astype(float)
    right = w.implicit().apply(x)
    found = scipy.sparse.linalg.lsmr(w.implicit().operator(), right, atol=1e-12, btol=1e-12, maxiter=500)[0]
    np.testing.assert_allclose(w.implicit().apply(found), right, rtol=1e-6, atol=1e-6 * np.abs(right).max())


def test_answers_beyond_the_limit_are_refused(monkeypatch):
    w = Workload.from_products(domain_of(5, 5), [Product((f.all_range(5), f.all_range(5)))])
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 200)
    with pytest.raises(TooLargeError) as caught:
        w.answers(np.ones(25))
    assert caught.value.message == (
        "the product with Kron(all_range(5) ⊗ all_range(5)) has 225 entries, 0.0 GiB; "
        "the limit is 1.49012e-06 GiB"
    )
