"""Every kind of block against its matrix written out: a new kind is refused until it stands in this table.

Guards combined_blocks.py, query_matrices.py and range_blocks.py.
"""

import inspect
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import scipy.sparse

from mmopt.workloads import factors_and_products as f
from mmopt.workloads.blocks.combined_blocks import (
    AtLevel,
    Kron,
    RowWeighted,
    Scaled,
    ScaledRows,
    Stack,
    Union,
)
from mmopt.workloads.blocks.query_matrices import Implicit
from mmopt.workloads.domain import Attribute
from tests.workloads.implicit_twins import TWINS, check_block, random_rows

Twin = tuple[Implicit, np.ndarray]


def _twin(word: str) -> Callable[[np.random.Generator, int], Twin]:
    return lambda rng, n: (getattr(f, word)(n), np.array(TWINS[word](n)))


def _width_range(rng: np.random.Generator, n: int) -> Twin:
    width = int(rng.integers(1, n + 1))
    return f.width_range(n, width), np.array(TWINS["width_range"](n, width))


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


def _at_level(rng: np.random.Generator, n: int) -> Twin:
    width, rows = _width_range(rng, n)
    sets = rng.permutation(np.concatenate([np.arange(n), rng.integers(0, n, 3)]))
    level = Attribute("level", tuple(map(str, range(n))))
    return AtLevel(width, level, sets), rows[:, sets]


def _stack(rng: np.random.Generator, n: int, join: Callable[..., Implicit]) -> Twin:
    first = (f.total(n), np.ones((1, n))) if join is Stack else _width_range(rng, n)
    blocks, rows = zip(first, _inner(rng, n), strict=True)
    return join(blocks), np.vstack(rows)


def _kron(rng: np.random.Generator, n: int) -> Twin:
    """Kronecker products of counts only: elsewhere classes may be finer than equal columns."""
    (width, rows), (tree, blocks) = _width_range(rng, n), _twin("hierarchy")(rng, 3)
    return Kron([width, tree]), np.kron(rows, blocks)


def _scaled(rng: np.random.Generator, n: int, kind: Callable[[Implicit, np.ndarray], Implicit]) -> Twin:
    block, rows = _inner(rng, n)
    numbers = np.exp(rng.normal(size=len(rows)))
    scales = {Scaled: numbers, ScaledRows: np.sqrt(numbers), RowWeighted: np.ones(len(rows))}[kind]
    return kind(block, numbers), scales[:, None] * rows


LAWS: dict[str, Callable[[np.random.Generator, int], Twin]] = {
    "Identity": _twin("identity"),
    "Total": _twin("total"),
    "Prefix": _twin("prefix"),
    "AllRange": _twin("all_range"),
    "WidthRange": _width_range,
    "Hierarchy": _twin("hierarchy"),
    "Haar": lambda rng, n: _twin("haar")(rng, 1 << (n.bit_length() - 1)),
    "Dense": _inner,
    "Sparse": lambda rng, n: (
        f.sparse_predicates(scipy.sparse.csr_array(rows := random_rows(rng, n))),
        rows,
    ),
    "Reordered": _reordered,
    "Padded": _padded,
    "AtLevel": _at_level,
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


def test_every_kind_of_block_has_its_law(rng):
    assert {kind.__name__ for kind in kinds(Implicit)} == set(LAWS)
    for name, make in LAWS.items():
        assert type(make(rng, 4)[0]).__name__ == name


@pytest.mark.quick
def test_a_block_is_its_matrix(subtests, rng):
    for kind, make in LAWS.items():
        with subtests.test(kind):
            for n in (5, 8, *rng.integers(1, 11, size=2)):
                check_block(*make(rng, int(n)), rng)


def test_blocks_are_equal_where_they_ask_the_same():
    others = [make(np.random.default_rng(8), 9)[0] for make in LAWS.values()]
    for kind, make in LAWS.items():
        one, same = (make(np.random.default_rng(7), 3)[0] for _ in range(2))
        assert one == same and hash(one) == hash(same), kind
        assert all(one != other for other in others), kind
