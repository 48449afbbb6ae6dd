"""Implicit matrices against dense twins: Kronecker products, scales, classes of columns
(query_matrices), and what passes the limit of memory.
"""

from functools import partial

import numpy as np
import pytest
import scipy.sparse

from mmopt import limits
from mmopt.errors import OptionError, TooLargeError, WorkloadError
from mmopt.workloads import factors_and_products as f
from mmopt.workloads.blocks.combined_blocks import Kron, Scaled, Stack
from mmopt.workloads.blocks.query_matrices import (
    Dense,
    Implicit,
    Sparse,
    column_classes,
    ordered,
    refine,
    rooted,
)
from tests.workloads.implicit_twins import BLOCKS, random_block


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


def test_errors(subtests):
    for make, text in [
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
            lambda: f.reordered(f.prefix(3), [0, 1, 3]),
            "the order of the cells lacks 2, expected each number from 0 to 2 once",
        ),
        (lambda: Kron([]), "a Kronecker product needs at least one matrix, found none"),
        (lambda: Stack([]), "a stack needs at least one matrix, found none"),
        (
            lambda: Stack([f.prefix(3), f.prefix(1000)]),
            "a stack joins matrices of 3 and 1,000 columns, expected equal numbers",
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
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                make()
            assert str(caught.value) == text


def test_another_norm_is_refused():
    with pytest.raises(OptionError) as caught:
        f.prefix(3).largest_column_norm(3)
    assert str(caught.value) == "the norm of columns is 3, expected 1 (Laplace) or 2 (Gaussian)"


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


def test_what_passes_the_limit_is_refused_by_its_size(subtests, monkeypatch):
    for kind, make in MATRICES.items():
        matrix = make()
        m, n = matrix.shape
        least = min(m, n)
        requests = {
            "matrix of": (matrix.matrix, (m, n)),
            "Gram matrix of": (matrix.gram, (n, n)),
            "product with": (partial(matrix.apply, np.zeros((n, n))), (n, m)),
            "vector for the operator of": (matrix.operator, (m,)),
        }
        if kind in BLOCKS:
            requests["rows of"] = (partial(matrix.take, np.arange(least)), (least, n))
            requests["root of the Gram matrix of"] = (matrix.root, (least, n))
        for what, (ask, shape) in requests.items():
            size = 8 * int(np.prod(shape))
            monkeypatch.setattr(limits, "MEMORY_LIMIT", size - 1)
            with subtests.test(f"{what} {kind}"):
                with pytest.raises(TooLargeError) as caught:
                    ask()
                words = " × ".join(f"{length:,}" for length in shape)
                assert caught.value.message == (
                    f"the {what} {matrix!r} has {words} entries, {size / 2**30:,.1f} GiB; "
                    f"the limit is {(size - 1) / 2**30:g} GiB"
                )
        monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * m * n - 1)
        with subtests.test(f"adjoint of {kind}"), pytest.raises(TooLargeError):
            matrix.adjoint(np.zeros((m, m)))


def test_sizes_are_no_limit_for_what_stays_implicit():
    """A matrix of 2¹⁰⁰ rows and columns knows its shape, sizes and largest norms."""
    matrix = Stack([Scaled(Kron([f.prefix(1024)] * 10), 0.5), Kron([f.identity(1024)] * 10)])
    assert matrix.shape == (2 * 2**100, 2**100)
    assert matrix.sizes().explicit == 16 * 2**200
    assert matrix.sizes().implicit == 3 * 8
    assert matrix.largest_column_norm(1) == np.nextafter(2.0**99, np.inf)  # 2⁹⁹ + 1, rounded up


def products(rng: np.random.Generator) -> list[Implicit]:
    """Scaled products over the same attributes."""
    sizes = rng.integers(1, 6, size=int(rng.integers(1, 4)))
    found = []
    for _ in range(int(rng.integers(2, 5))):
        blocks = (random_block(rng, int(size)) for size in sizes)
        kept = [b if b.size == s else f.hierarchy(int(s)) for b, s in zip(blocks, sizes, strict=True)]
        found.append(Scaled(Kron(kept), float(rng.choice([0.5, 1.0, 1 / 3]))))
    return found


def test_the_largest_norm_of_products_needs_no_number_per_cell(rng, monkeypatch):
    for norm in (1, 2) * 5:
        stack = Stack(products(rng))
        largest = float(rooted(stack.column_powers(norm), norm).max())
        with monkeypatch.context() as patch:
            patch.setattr(Stack, "column_powers", None)
            assert stack.largest_column_norm(norm) == largest


def test_the_largest_norm_without_products_is_a_bound(monkeypatch):
    """The largest columns of the two blocks are different ones."""
    stack = Stack([Dense.read([[3.0, 1.0, 0.0]]), f.predicates([[0.0, 1.0, 2.0]])])
    assert stack.largest_column_norm(1) == 3.0
    blocks = [Kron([block]) if isinstance(block, Dense) else block for block in stack.blocks]
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 2)
    with pytest.raises(TooLargeError):
        Stack(blocks).largest_column_norm(1)  # not even those of one block


def test_a_bound_where_the_cells_are_too_many():
    """Over 10¹² cells, cut into attributes in two ways."""
    first = Kron([f.prefix(10**4)] * 3)
    second = Kron([f.prefix(10**6)] * 2)
    assert Stack([first, second]).largest_column_norm(1) == 2e12
    assert Stack([first, first]).largest_column_norm(1) == 2e12
    assert Stack([first]).largest_column_norm(2) == 1e6


def test_attributes_contract_before_they_expand(monkeypatch):
    """All ranges of 100 cells times 100 totals: the totals come first, or 505,000 numbers would be held."""
    product = Kron([f.all_range(100), f.total(100)])
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 5050)
    np.testing.assert_array_equal(product.apply(np.ones(10_000)), 100 * f.all_range(100).squared_norms())


def test_classes_are_numbered_by_their_first_cell():
    np.testing.assert_array_equal(ordered(np.array([7, -1, 3, 7, 3, 9])), [0, -1, 1, 0, 1, 2])
    np.testing.assert_array_equal(ordered(np.array([-1, -1])), [-1, -1])
    matrix = np.array([[1.0, 0.0, 1.0, -0.0], [2.0, 0.0, 2.0, 1.0]])
    np.testing.assert_array_equal(column_classes(matrix), [0, -1, 0, 1])


def test_refining_is_stacking(rng):
    for n in rng.integers(1, 12, size=6):
        parts = [rng.integers(-1, 2, size=(int(rng.integers(1, 3)), n)).astype(float) for _ in range(3)]
        found = refine([column_classes(part) for part in parts])
        np.testing.assert_array_equal(found, column_classes(np.vstack(parts)))
