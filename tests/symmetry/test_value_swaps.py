"""Interchangeable values against swapping every pair.

Guards attribute_queries.py.
"""

import itertools
from collections import Counter

import numpy as np
import pytest

from mmopt.symmetry.attribute_queries import Piece, interchangeable, keys, reverses, swappable_rows, terms_of
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f
from mmopt.workloads.blocks.query_matrices import Implicit as Factor


def piece_of(factor: Factor) -> Piece:
    product = Product((factor,), target=1.0)
    return terms_of(Workload.from_products(domain_of(factor.size), [product]), True)[1][0].pieces[0]


def swapped(matrix: np.ndarray, v: int, w: int) -> np.ndarray:
    out = matrix.copy()
    out[:, [v, w]] = out[:, [w, v]]
    return out


def rows_alike(a: np.ndarray, b: np.ndarray) -> bool:
    def counted(m: np.ndarray) -> Counter[tuple[float, ...]]:
        return Counter(max(tuple(row), tuple(-row)) for row in m + 0.0)

    return counted(a) == counted(b)


def random_matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows over n values that come in a few kinds, with some of their swaps."""
    kinds = rng.integers(0, 3, size=n)
    rows = rng.integers(-1, 2, size=(3, 3)).astype(float)[:, kinds]
    rows[:, 0] += 1
    extra = np.eye(n)[kinds == kinds[-1]]
    return np.vstack([rows[rows.any(axis=1)], extra * rng.choice([1.0, 0.3])])


@pytest.mark.parametrize("most", [5, 10, 25])
def test_classes_are_those_of_every_swap(most: int, rng: np.random.Generator) -> None:
    n = int(rng.integers(2, most))
    matrix = random_matrix(rng, n)
    piece = piece_of(f.predicates(matrix, [f"p{i}" for i in range(len(matrix))]))
    gram = piece.gram()
    by_gram = interchangeable(piece)
    by_rows = swappable_rows(piece.rows()[0], n, by_gram)
    for v in range(n):
        for w in range(v):
            other = swapped(swapped(gram, v, w).T, v, w).T
            assert (by_gram[v] == by_gram[w]) == np.allclose(gram, other, atol=1e-12)
            assert (by_rows[v] == by_rows[w]) == rows_alike(matrix, swapped(matrix, v, w))


SIZES = (1, 2, 3, 6)


def test_what_is_known_of_structured_factors(subtests: pytest.Subtests) -> None:
    for make, size in itertools.product((f.identity, f.total, f.prefix, f.all_range), SIZES):
        with subtests.test(make.__name__, size=size):
            known, matrix = piece_of(make(size)), make(size).matrix()
            found = piece_of(f.predicates(matrix, [f"p{i}" for i in range(len(matrix))]))
            start = np.zeros(size, dtype=np.int64)
            np.testing.assert_array_equal(interchangeable(known), interchangeable(found))
            one, other = (swappable_rows(piece.rows()[0], size, start) for piece in (known, found))
            np.testing.assert_array_equal(one, other)
            for with_targets in (False, True):
                assert reverses(known, with_targets) == reverses(found, with_targets)


def test_what_is_said_of_a_block_beside_further_cells_is_so(subtests: pytest.Subtests) -> None:
    """Alone and in a union with all cells; swaps that are there may be missed."""
    for make, size, beside in itertools.product((f.prefix, f.all_range, f.hierarchy), SIZES, (1, 2)):
        padded = f.padded(make(size), size + beside)
        with subtests.test(make.__name__, size=size, beside=beside):
            for known in (padded, f.union(f.identity(size + beside), padded)):
                found = piece_of(f.predicates(known.matrix()))
                said, so = interchangeable(piece_of(known), True), interchangeable(found, True)
                assert len(np.unique(np.column_stack([said, so]), axis=0)) == len(np.unique(said))
                for with_targets in (False, True):
                    assert not reverses(piece_of(known), with_targets) and not reverses(found, with_targets)


def test_parts_of_a_union_are_read_together() -> None:
    """Neither part can be swapped by itself."""
    union = f.union(f.predicates([[1, 0, 0]], ["a"]), f.predicates([[0, 1, 0]], ["b"]))
    rows = piece_of(union).rows()
    assert len(rows) == 1
    np.testing.assert_array_equal(swappable_rows(rows[0], 3, np.zeros(3, dtype=np.int64)), [0, 0, 1])


def test_keys_forget_the_sign_and_know_the_target() -> None:
    matrix = np.array([[0.0, 1.0], [-0.0, -1.0], [0.0, 1.0]])
    first, second, third = keys(matrix, np.array([1.0, 1.0, 2.0]))
    assert first == second != third
