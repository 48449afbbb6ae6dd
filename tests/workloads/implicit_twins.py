"""Random implicit matrices, and each operation of one against the same matrix written out."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from tolerances import ROUNDING

from mmopt.workloads import Attribute, Factor, factors_and_products as f
from mmopt.workloads.blocks.combined_blocks import RowWeighted
from mmopt.workloads.blocks.query_matrices import Implicit, rooted

BLOCKS: dict[str, Callable[[np.random.Generator, int], Factor]] = {
    "identity": lambda rng, n: f.identity(n),
    "total": lambda rng, n: f.total(n),
    "prefix": lambda rng, n: f.prefix(n),
    "all_range": lambda rng, n: f.all_range(n),
    "width_range": lambda rng, n: f.width_range(n, int(rng.integers(1, n + 1))),
    "hierarchy": lambda rng, n: f.hierarchy(n, int(rng.integers(2, n + 3))),
    "haar": lambda rng, n: f.haar(1 << (n.bit_length() - 1)),
    "predicates": lambda rng, n: f.predicates(random_rows(rng, n)),
    "sparse": lambda rng, n: f.sparse_predicates(scipy.sparse.csr_array(random_rows(rng, n))),
    "reordered": lambda rng, n: _reordered(rng, random_block(rng, n)),
    "padded": lambda rng, n: _padded(rng, n),
    "union": lambda rng, n: f.union(*(_of_size(rng, n) for _ in range(int(rng.integers(1, 4))))),
    "weighted": lambda rng, n: _weighted(rng, random_block(rng, n)),
    "scaled rows": lambda rng, n: _weighted(rng, random_block(rng, n)).weighed(),
}
"""Each kind of block over about so many cells (the Haar wavelet: the power of two below)."""


def of(n: int, *ranges: range) -> list[float]:
    """1 at the cells of the first range, -1 at those of the second."""
    signs = (1.0, -1.0)
    return [sum(sign for sign, own in zip(signs, ranges, strict=False) if cell in own) for cell in range(n)]


def parts(cells: range, count: int) -> list[range]:
    """Split as equally as possible, the longer parts first; none of a single cell."""
    if len(cells) == 1:
        return []
    split = np.array_split(cells, min(count, len(cells)))
    return [range(int(own[0]), int(own[-1]) + 1) for own in split]


def levels(n: int, count: int) -> list[range]:
    found, level = [], [range(n)]
    while level:
        found += level
        level = [part for cells in level for part in parts(cells, count)]
    return found


TWINS: dict[str, Callable[..., list[list[float]]]] = {
    "identity": lambda n: [of(n, range(i, i + 1)) for i in range(n)],
    "total": lambda n: [of(n, range(n))],
    "prefix": lambda n: [of(n, range(i + 1)) for i in range(n)],
    "all_range": lambda n: [of(n, range(i, j + 1)) for i in range(n) for j in range(i, n)],
    "width_range": lambda n, width: [of(n, range(i, i + width)) for i in range(n - width + 1)],
    "hierarchy": lambda n, branching=2: [of(n, cells) for cells in levels(n, branching)],
    "haar": lambda n: [of(n, range(n)), *(of(n, *parts(c, 2)) for c in levels(n, 2) if len(c) > 1)],
}
"""By the word of a block, its rows over n cells by definition."""


def random_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """A few rows of -2 to 2, or of real numbers; none of zeros, some columns are."""
    m = int(rng.integers(1, 5))
    rows = rng.integers(-2, 3, size=(m, n)).astype(float)
    if rng.random() < 0.3:
        rows = rows * rng.normal(size=rows.shape)
    rows[:, rng.random(n) < 0.2] = 0.0
    rows[~rows.any(axis=1), int(rng.integers(n))] = 1.0
    return rows


def random_block(rng: np.random.Generator, n: int) -> Factor:
    return BLOCKS[str(rng.choice(list(BLOCKS)[:-5]))](rng, n)


def _of_size(rng: np.random.Generator, n: int) -> Factor:
    """Not the Haar wavelet, unless it has this size."""
    block = random_block(rng, n)
    return block if block.size == n else f.hierarchy(n)


def _weighted(rng: np.random.Generator, block: Factor) -> Factor:
    return RowWeighted(block, rng.uniform(0.1, 3.0, size=block.rows))


def _reordered(rng: np.random.Generator, block: Factor) -> Factor:
    return f.reordered(block, rng.permutation(block.size))


def _padded(rng: np.random.Generator, n: int) -> Factor:
    block = random_block(rng, max(1, n - int(rng.integers(3))))
    return f.padded(block, max(n, block.size))


def check_twin(matrix: Implicit, dense: np.ndarray, rng: np.random.Generator) -> None:
    """Shape, products, Gram matrix, norms, operator and sizes; norms against exact rational arithmetic."""
    m, n = dense.shape
    assert matrix.shape == (m, n)
    _close(matrix.matrix(), dense)
    _close(matrix.gram(), dense.T @ dense)
    for shape in ((), (3,), (2, 0), (2, 3)):
        x, y = rng.normal(size=(*shape, n)), rng.normal(size=(*shape, m))
        _close(matrix.apply(x), x @ dense.T)
        _close(matrix.adjoint(y), y @ dense)
    for columns in (1, n, n + 2):
        directions = rng.normal(size=(n, columns))
        _close(matrix.squared_lengths(directions), np.square(dense @ directions).sum(axis=1))
    for norm in (1, 2):
        _close(matrix.entrywise(norm).matrix(), np.abs(dense) ** norm)
        _check_norms(matrix, norm)
    _check_operator(matrix, dense, rng)
    sizes = matrix.sizes()
    assert sizes.explicit == 8 * m * n
    assert sizes.implicit > 0


def check_block(block: Factor, dense: np.ndarray, rng: np.random.Generator) -> None:
    """Check what a block has besides an implicit matrix, weighted rows among it."""
    m, n = dense.shape
    check_twin(block, dense, rng)
    np.testing.assert_array_equal(block.matrix(), dense)
    index = rng.integers(0, m, size=5)
    np.testing.assert_array_equal(block.take(index), dense[index])
    np.testing.assert_array_equal(np.vstack([*block.chunks(int(rng.integers(1, m + 1)))]), dense)
    weights = np.exp(rng.normal(scale=2.0, size=m))
    scaled = np.sqrt(weights)[:, None] * dense
    weighed = RowWeighted(block.plain, weights).weighed()
    check_twin(weighed, scaled, rng)
    _close(block.plain.gram_of_weighted(weights), scaled.T @ scaled)
    for root, rows in (
        (block.root(), dense),
        (block.plain.root_of_weighted(weights), scaled),
        (weighed.root(), scaled),
    ):
        assert root.shape[0] <= min(m, n)
        _close(root.T @ root, rows.T @ rows)
    np.testing.assert_allclose(block.squared_norms(), np.square(dense).sum(axis=1))
    np.testing.assert_allclose(weighed.squared_norms(), np.square(scaled).sum(axis=1))
    for norm in (1, 2):
        for found, rows in ((block, dense), (weighed, scaled)):
            exact = (abs(np.vectorize(Fraction, otypes=[object])(rows)) ** norm).sum(axis=0)
            slack = 1 if rows is dense else 1 + Fraction(1, 2**46)  # the entries scaled are rounded here
            powers = found.column_powers(norm)
            assert all(Fraction(float(p)) * slack >= e for p, e in zip(powers, exact, strict=True))
    rank, spanning = np.linalg.matrix_rank(dense), block.spanning().matrix()
    assert not block.full_rank or rank == n
    assert np.linalg.matrix_rank(spanning) == np.linalg.matrix_rank(np.vstack([spanning, dense])) == rank
    classes = block.classes()
    same = (dense[:, :, None] == dense[:, None, :]).all(axis=0)
    np.testing.assert_array_equal(classes[:, None] == classes, same)
    np.testing.assert_array_equal(classes == -1, ~dense.any(axis=0))
    assert len(block.labels(Attribute("a", tuple(f"v{i}" for i in range(n))))) == m


def _check_norms(matrix: Implicit, norm: int) -> None:
    """At least the exact norms of the entries, and no more than rounding above; exact for integers."""
    entries = np.vectorize(Fraction, otypes=[object])(matrix.matrix())
    powers = (abs(entries) ** norm).sum(axis=0)
    found = [Fraction(float(value)) for value in rooted(matrix.column_powers(norm), norm)]
    # A scaled matrix is the product of exact numbers, of which the dense twin has rounded each entry.
    slack = Fraction(0) if all(v.denominator == 1 for v in entries.ravel()) else Fraction(1, 2**46)
    for value, power in zip(found, powers, strict=True):
        assert value**norm * (1 + slack) >= power
        assert value**norm <= power * (1 + Fraction(512 + 16 * len(entries), 2**51))
        if not slack:
            assert value == power if norm == 1 else _is_root(value, power)
    assert matrix.largest_column_norm(norm) == float(max(found))


def _is_root(value: Fraction, power: Fraction) -> bool:
    """Whether the float is the least one not below the square root."""
    below = Fraction(float(np.nextafter(float(value), 0.0)))
    return value**2 >= power and (value == 0 or below**2 < power)


def _check_operator(matrix: Implicit, dense: np.ndarray, rng: np.random.Generator) -> None:
    operator = matrix.operator()
    assert isinstance(operator, scipy.sparse.linalg.LinearOperator)
    (m, n) = operator.shape
    for x, y in (
        (rng.normal(size=n), rng.normal(size=m)),
        (rng.normal(size=(n, 1)), rng.normal(size=(m, 1))),
        (rng.normal(size=(n, 4)), rng.normal(size=(m, 4))),
    ):
        _close(operator @ x, dense @ x)
        _close(operator.T @ y, dense.T @ y)
    _close((operator.H @ operator) @ np.eye(n), dense.T @ dense)


def _close(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    scale = float(np.abs(expected).max(initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * ROUNDING * scale)
