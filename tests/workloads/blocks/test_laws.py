"""Every kind of block against its matrix written out: a new kind is refused until it stands in this table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import scipy.sparse
from workloads.implicit_twins import check_block, random_rows

from mmopt.workloads.blocks import factor_blocks as f
from mmopt.workloads.blocks.implicit_matrix import Implicit
from mmopt.workloads.blocks.kronecker_products import Kron, Stack, Union
from mmopt.workloads.blocks.modified_blocks import RowWeighted, Scaled, ScaledRows

Twin = tuple[Implicit, np.ndarray]


def ranges(n: int, *ends: tuple[int, int]) -> np.ndarray:
    """Rows of 0 and 1: the cells from the first to the last of each."""
    cells = np.arange(n)
    return np.array([(low <= cells) & (cells <= high) for low, high in ends], dtype=float)


def _width_range(rng: np.random.Generator, n: int) -> Twin:
    width = int(rng.integers(1, n + 1))
    return f.width_range(n, width), ranges(n, *((i, i + width - 1) for i in range(n - width + 1)))


def _hierarchy(rng: np.random.Generator, n: int) -> Twin:
    """In two parts each, the longer one first."""
    level, found = [np.arange(n)], []
    while level:
        found += [(int(cells[0]), int(cells[-1])) for cells in level]
        level = [part for cells in level if len(cells) > 1 for part in np.array_split(cells, 2)]
    return f.hierarchy(n), ranges(n, *found)


def _haar(rng: np.random.Generator, n: int) -> Twin:
    """Kronecker sums: the rows of half the size on pairs of cells, then their differences."""
    rows = np.ones((1, 1))
    while 2 * len(rows) <= n:
        rows = np.vstack([np.kron(rows, [1, 1]), np.kron(np.eye(len(rows)), [1, -1])])
    return f.haar(len(rows)), rows


def _inner(rng: np.random.Generator, n: int) -> Twin:
    rows = random_rows(rng, n)
    return f.predicates(rows), rows


def _reordered(rng: np.random.Generator, n: int) -> Twin:
    order = rng.permutation(n)
    dense = np.zeros((n, n))
    dense[:, order] = np.tri(n)
    return f.reordered(f.prefix(n), order), dense


def _padded(rng: np.random.Generator, n: int) -> Twin:
    width, rows = _width_range(rng, n)
    return f.padded(width, n + 2), np.pad(rows, ((0, 0), (0, 2)))


def _stack(rng: np.random.Generator, n: int, join: Callable[..., Implicit]) -> Twin:
    first = (f.total(n), np.ones((1, n))) if join is Stack else _width_range(rng, n)
    blocks, rows = zip(first, _inner(rng, n), strict=True)
    return join(blocks), np.vstack(rows)


def _kron(rng: np.random.Generator, n: int) -> Twin:
    """Of counts only: elsewhere classes may be finer than equal columns."""
    (width, rows), (tree, blocks) = _width_range(rng, n), _hierarchy(rng, 3)
    return Kron([width, tree]), np.kron(rows, blocks)


def _scaled(rng: np.random.Generator, n: int, kind: Callable[[Implicit, np.ndarray], Implicit]) -> Twin:
    block, rows = _inner(rng, n)
    numbers = np.exp(rng.normal(size=len(rows)))
    scales = {Scaled: numbers, ScaledRows: np.sqrt(numbers), RowWeighted: np.ones(len(rows))}[kind]
    return kind(block, numbers), scales[:, None] * rows


LAWS: dict[str, Callable[[np.random.Generator, int], Twin]] = {
    "Identity": lambda rng, n: (f.identity(n), np.eye(n)),
    "Total": lambda rng, n: (f.total(n), np.ones((1, n))),
    "Prefix": lambda rng, n: (f.prefix(n), np.tri(n)),
    "AllRange": lambda rng, n: (
        f.all_range(n),
        ranges(n, *((i, j) for i in range(n) for j in range(i, n))),
    ),
    "WidthRange": _width_range,
    "Hierarchy": _hierarchy,
    "Haar": _haar,
    "Dense": _inner,
    "Sparse": lambda rng, n: (
        f.sparse_predicates(scipy.sparse.csr_array(rows := random_rows(rng, n))),
        rows,
    ),
    "Reordered": _reordered,
    "Padded": _padded,
    "Union": lambda rng, n: _stack(rng, n, Union),
    "Stack": lambda rng, n: _stack(rng, n, Stack),
    "Kron": _kron,
    "Scaled": lambda rng, n: _scaled(rng, n, Scaled),
    "ScaledRows": lambda rng, n: _scaled(rng, n, ScaledRows),
    "RowWeighted": lambda rng, n: _scaled(rng, n, RowWeighted),
}
"""By the name of its class, a block over about n cells and its matrix."""


def kinds(base: type[Implicit]) -> Iterator[type[Implicit]]:
    for kind in base.__subclasses__():
        yield from kinds(kind)
        if kind.__module__.startswith("mmopt.workloads") and not inspect.isabstract(kind):
            yield kind


@pytest.mark.quick
def test_every_kind_of_block_has_its_law(rng):
    assert {kind.__name__ for kind in kinds(Implicit)} == set(LAWS)
    for name, make in LAWS.items():
        assert type(make(rng, 4)[0]).__name__ == name


@pytest.mark.draws(3)
@pytest.mark.parametrize("kind", LAWS)
def test_a_block_is_its_matrix(kind, rng):
    check_block(*LAWS[kind](rng, int(rng.integers(1, 11))), rng)


@pytest.mark.quick
@pytest.mark.parametrize("kind", LAWS)
def test_a_small_block_is_its_matrix(kind, rng):
    check_block(*LAWS[kind](rng, 5), rng)


@pytest.mark.parametrize("kind", LAWS)
def test_blocks_are_equal_where_they_ask_the_same(kind):
    one, same = (LAWS[kind](np.random.default_rng(7), 3)[0] for _ in range(2))
    assert one == same and hash(one) == hash(same)
    others = [make(np.random.default_rng(8), 9)[0] for make in LAWS.values()]
    assert all(one != other for other in others)
