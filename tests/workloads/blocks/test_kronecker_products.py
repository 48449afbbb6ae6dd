"""Largest column norms of stacks of Kronecker products, and products whose steps would be too large."""

from __future__ import annotations

import numpy as np
import pytest
from workloads.implicit_twins import random_block

from mmopt import limits
from mmopt.errors import TooLargeError
from mmopt.workloads.blocks import factor_blocks as f
from mmopt.workloads.blocks.implicit_matrix import Implicit
from mmopt.workloads.blocks.kronecker_products import Kron, Stack
from mmopt.workloads.blocks.matrix_blocks import Dense
from mmopt.workloads.blocks.modified_blocks import Scaled


def products(rng: np.random.Generator) -> list[Implicit]:
    """Scaled products over the same attributes."""
    sizes = rng.integers(1, 6, size=int(rng.integers(1, 4)))
    found = []
    for _ in range(int(rng.integers(2, 5))):
        blocks = (random_block(rng, int(size)) for size in sizes)
        kept = [b if b.size == s else f.hierarchy(int(s)) for b, s in zip(blocks, sizes, strict=True)]
        found.append(Scaled(Kron(kept), float(rng.choice([0.5, 1.0, 1 / 3]))))
    return found


@pytest.mark.draws(8)
@pytest.mark.parametrize("norm", [1, 2])
def test_the_largest_norm_of_products_needs_no_number_per_cell(rng, norm, monkeypatch):
    stack = Stack(products(rng))
    largest = float(stack.column_norms(norm).max())
    with monkeypatch.context() as patch:
        patch.setattr(Stack, "column_powers", None)
        found = stack.largest_column_norm(norm)
    assert found == largest


@pytest.mark.quick
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


def test_attributes_contract_before_they_expand():
    """All ranges of 100 cells times 100 totals: the totals come first, or 505,000 numbers would be held."""
    product = Kron([f.all_range(100), f.total(100)])
    limit, limits.MEMORY_LIMIT = limits.MEMORY_LIMIT, 8 * 5050
    try:
        x = np.ones(10_000)
        np.testing.assert_array_equal(product.apply(x), 100 * f.all_range(100).squared_norms())
    finally:
        limits.MEMORY_LIMIT = limit
