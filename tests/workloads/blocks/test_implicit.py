"""Implicit matrices over a whole domain, against their dense twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from workloads.implicit_twins import BLOCKS, check_twin, random_matrix

from mmopt import limits
from mmopt.errors import OptionError, TooLargeError, WorkloadError
from mmopt.workloads.blocks import factor_blocks as f
from mmopt.workloads.blocks.kronecker_products import Kron, Stack
from mmopt.workloads.blocks.matrix_blocks import Dense, Sparse
from mmopt.workloads.blocks.modified_blocks import Scaled


@pytest.mark.draws(3)
@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_agree_with_their_matrix(kind, rng):
    block = BLOCKS[kind](rng, int(rng.integers(1, 14)))
    check_twin(block, block.take(np.arange(block.rows)), rng)


@pytest.mark.draws(20)
def test_compositions_agree_with_their_matrix(rng):
    check_twin(*random_matrix(rng, int(rng.integers(1, 13)), depth=3), rng)


def test_dense_and_sparse_matrices_are_copied():
    rows = np.eye(3)
    compressed = scipy.sparse.csr_array(rows)
    dense, sparse = Dense.read(rows), Sparse.read(compressed)
    rows[0, 0], compressed.data[0] = 7, 7
    np.testing.assert_array_equal(dense.matrix(), np.eye(3))
    np.testing.assert_array_equal(sparse.matrix(), np.eye(3))


def test_a_piece_used_twice_is_held_once():
    piece = f.predicates(np.tri(10))
    assert piece.sizes().implicit == 800
    assert Stack([Kron([piece, piece]), Kron([piece, f.total(10)])]).sizes().implicit == 808
    assert f.union(piece, piece).sizes().implicit == 800
    assert Scaled(piece, 2.0).sizes().implicit == 808
    assert f.hierarchy(8).sizes().implicit == 2 * 15 * 8
    assert Kron([f.prefix(1000)] * 4).sizes().explicit == 8 * 1000**8


# -- errors


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: Scaled(f.prefix(3), [1.0, 2.0]),
            "scales of shape (2,) for a matrix of 3 rows, expected one number or one per row",
        ),
        (lambda: Scaled(f.prefix(3), np.nan), "a scale is NaN or infinite, expected finite numbers"),
        (
            lambda: f.reordered(f.prefix(3), [0, 1]),
            "the order of the cells is an array of shape (2,) and type int64, expected 3 integers",
        ),
        (
            lambda: f.reordered(f.prefix(3), [0.0, 1.0, 2.0]),
            "the order of the cells is an array of shape (3,) and type float64, expected 3 integers",
        ),
        (
            lambda: f.reordered(f.prefix(3), [0, 1, 3]),
            "the order of the cells lacks 2, expected each number from 0 to 2 once",
        ),
        (lambda: Kron([]), "a Kronecker product needs at least one matrix, found none"),
        (lambda: Stack([]), "a stack needs at least one matrix, found none"),
        (
            lambda: Stack([f.prefix(3), f.prefix(1000)]),
            "a stack joins matrices of 3 and 1,000 columns, expected equal numbers",
        ),
        (lambda: Dense.read([[0.0, 0.0]]), "query 0 is all zero\n  leave it out: its answer is 0"),
        (
            lambda: Sparse.read(scipy.sparse.csr_array([[0.0, np.inf]])),
            "query 0 has the entry inf at cell 1, expected finite numbers",
        ),
        (
            lambda: f.prefix(3).apply(np.ones((3, 4))),
            "a product with prefix(3) takes vectors of 3 numbers along the last axis, "
            "found an array of shape (3, 4)",
        ),
        (
            lambda: Kron([f.total(3), f.prefix(2)]).adjoint(np.ones(6)),
            "a product with Kron(total(3) ⊗ prefix(2)) takes vectors of 2 numbers along the last axis, "
            "found an array of shape (6,)",
        ),
        (
            lambda: f.total(3).apply(1.0),
            "a product with total(3) takes vectors of 3 numbers along the last axis, "
            "found an array of shape ()",
        ),
    ],
)
def test_errors(make, text):
    with pytest.raises(WorkloadError) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["column_norms", "largest_column_norm"])
def test_another_norm_is_refused(name):
    with pytest.raises(OptionError) as caught:
        getattr(f.prefix(3), name)(3)
    assert str(caught.value) == "the norm of columns is 3, expected 1 (Laplace) or 2 (Gaussian)"


# -- nothing becomes dense in silence

N = 64
MATRICES = {
    **{kind: (lambda kind=kind: BLOCKS[kind](np.random.default_rng(1), N)) for kind in BLOCKS},
    "Dense": lambda: Dense.read(np.tri(N)),
    "Sparse": lambda: Sparse.read(scipy.sparse.eye_array(N)),
    "Scaled": lambda: Scaled(f.prefix(N), 2.0),
    "Scaled rows": lambda: Scaled(f.prefix(N), np.arange(1.0, N + 1)),
    "Kron": lambda: Kron([f.prefix(8), f.prefix(8)]),
    "Stack": lambda: Stack([f.prefix(N), f.identity(N)]),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_what_passes_the_limit_is_refused_by_its_size(kind, monkeypatch):
    matrix = MATRICES[kind]()
    m, n = matrix.shape
    requests = {
        f"matrix of {matrix!r}": (matrix.matrix, (m, n)),
        f"Gram matrix of {matrix!r}": (matrix.gram, (n, n)),
        f"product with {matrix!r}": (lambda: matrix.apply(np.zeros((n, n))), (n, m)),
        f"column norms of {matrix!r}": (lambda: matrix.column_norms(2), (n,)),
        f"vector for the operator of {matrix!r}": (matrix.operator, (m,)),
    }
    for what, (ask, shape) in requests.items():
        size = 8 * int(np.prod(shape))
        monkeypatch.setattr(limits, "MEMORY_LIMIT", size - 1)
        with pytest.raises(TooLargeError) as caught:
            ask()
        words = " × ".join(f"{length:,}" for length in shape)
        assert caught.value.message == (
            f"the {what} has {words} entries, {size / 2**30:,.1f} GiB; "
            f"the limit is {(size - 1) / 2**30:g} GiB"
        )
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * m * n - 1)
    back = (lambda: matrix.adjoint(np.zeros((m, m)))), (m, n)
    with pytest.raises(TooLargeError):
        back[0]()


@pytest.mark.parametrize("kind", BLOCKS)
def test_rows_and_roots_beyond_the_limit_are_refused(kind, monkeypatch):
    block = MATRICES[kind]()
    m, n = block.shape
    size = 8 * min(m, n) * n
    for what, ask in (
        (f"rows of {block!r}", lambda: block.take(np.arange(min(m, n)))),
        (f"root of the Gram matrix of {block!r}", block.root),
    ):
        monkeypatch.setattr(limits, "MEMORY_LIMIT", size - 1)
        with pytest.raises(TooLargeError) as caught:
            ask()
        assert caught.value.message.startswith(f"the {what} has {min(m, n)} × {n} entries, ")


def test_sizes_are_no_limit_for_what_stays_implicit():
    """A matrix of 2¹⁰⁰ rows and columns knows its shape, sizes and largest norms."""
    matrix = Stack([Scaled(Kron([f.prefix(1024)] * 10), 0.5), Kron([f.identity(1024)] * 10)])
    assert matrix.shape == (2 * 2**100, 2**100)
    assert matrix.sizes().explicit == 16 * 2**200
    assert matrix.sizes().implicit == 3 * 8
    assert matrix.largest_column_norm(1) == np.nextafter(2.0**99, np.inf)  # 2⁹⁹ + 1, rounded up
    with pytest.raises(TooLargeError) as caught:
        matrix.column_norms(1)
    assert caught.value.message.startswith("the column norms of Stack(2 blocks, ")
    assert caught.value.hint == "ask for the largest one"
