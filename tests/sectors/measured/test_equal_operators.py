"""Matrices that commute with permutations of attributes: blocks and components are those of the matrix.

Guards equal_blocks.py, sector_operators.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import tolerances
from sector_strategies import equal_operator, matrix_of, pairs

from mmopt.sectors.measured.equal_blocks import applied, components_of, symmetrised
from mmopt.sectors.measured.equal_operators import EqualOperator, change_of_equal
from mmopt.sectors.measured.sector_operators import change_of_functions

SHAPES = [(2, 3), (3, 2), (3, 3), (4, 2), (5, 3), (6, 1)]


@pytest.fixture(params=SHAPES, ids=lambda shape: "of".join(map(str, shape)))
def shape(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


def near(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerances.RECOMPUTED)


@pytest.mark.draws(2)
def test_blocks_and_components_are_one_matrix(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    k, c = shape
    one, other = equal_operator(rng, k, c), equal_operator(rng, k, c)
    for part, back in zip(one.components, components_of(k, one.blocks), strict=True):
        near(back, part)
    matrix, right = matrix_of(one), matrix_of(other)
    near(matrix_of(one.times(other)), matrix @ right)
    near(matrix_of(one.inverse()), np.linalg.inv(matrix))
    near(matrix_of(one.gram()), matrix.T @ matrix)
    near(matrix_of(one.transposed()), matrix.T)
    root = matrix_of(one.gram().root())
    near(root @ root, matrix.T @ matrix)
    near(root, root.T)
    for kind, block in symmetrised(one.blocks).items():
        near(block, one.blocks[kind])


def test_it_commutes_with_permutations(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    k, c = shape
    own = pairs(rng, k, c + 1)
    order = rng.permutation(k).tolist()
    moved = np.arange(own.size)
    for one in own.sets:
        place = np.arange(c ** len(one)).reshape((c,) * len(one))
        target = [order[i] for i in one]
        if target != sorted(target):
            place, target = place.T, sorted(target)
        at = own.starts[tuple(target)]
        moved[own.starts[one] : own.starts[one] + place.size] = at + np.argsort(place.ravel())
    matrix = matrix_of(equal_operator(rng, k, c))
    near(matrix[np.ix_(moved, moved)], matrix)


def test_a_block_is_a_part_of_the_matrix(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    k, c = shape
    operator, own = equal_operator(rng, k, c), pairs(rng, k, c + 1)
    matrix = matrix_of(operator)
    for attributes in [(), (0,), (k - 1,), (0, 1), (k - 2, k - 1)]:
        place = own.place(attributes)
        near(operator.block(own, attributes), matrix[np.ix_(place, place)])


def test_a_change_of_functions_commutes_too(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    k, c = shape
    own = pairs(rng, k, c + 1)
    expected = change_of_functions(own, own.indicators()).matrix
    near(matrix_of(change_of_equal(own, own.indicators())), expected)
    codes = np.stack(np.unravel_index(np.arange((c + 1) ** k), own.shape), axis=1)
    near(expected @ own.indicators().values(codes), own.values(codes))


def test_whole_numbers_are_exact_beyond_what_doubles_hold(rng: np.random.Generator) -> None:
    k, c = 4, 2
    operator = equal_operator(rng, k, c)
    blocks = {
        kind: np.rint(block * 2.0**40).astype(np.int64)
        for kind, block in symmetrised(operator.blocks).items()
    }
    whole = EqualOperator(k, components_of(k, blocks))
    matrix = np.rint(matrix_of(whole)).astype(np.int64).astype(object)
    vector = rng.integers(0, 2**20, operator.size)
    assert applied(blocks, k, vector).tolist() == (matrix @ vector.astype(object)).tolist()
