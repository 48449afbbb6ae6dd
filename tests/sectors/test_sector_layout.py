"""Functions of sectors in one vector: their values, and queries as combinations of them.

Guards row_space_cells_and_targets.py.
"""

import numpy as np
import pytest
import tolerances
from sector_strategies import layout, prefixes

from mmopt.errors import OptionError
from mmopt.sectors.functions_of_few import all_subsets
from mmopt.sectors.row_space_cells_and_targets import SectorLayout
from mmopt.workloads.blocks.query_matrices import Dense
from mmopt.workloads.factors_and_products import identity, predicates, prefix, total

SIZES = (2, 3, 4)


def test_queries_are_combinations_of_functions(rng: np.random.Generator) -> None:
    for _ in range(2):
        own, workload = layout(rng, SIZES, [(0, 1), (2,)]), prefixes(SIZES, [(0, 1), (2,)])
        codes = np.stack(np.unravel_index(np.arange(24), SIZES), axis=1)
        values = own.values(codes)
        assert values.shape == (own.size, 24) == (1 + 1 + 2 + 3 + 2, 24)
        found = []
        for product in workload.products or ():
            rows = np.ones((1, 1))
            for i in product.looked_at:
                rows = np.kron(rows, own.attribute_rows(i, product.factors[i]).flat)
            found.append(rows @ values[own.place(product.looked_at)])
        np.testing.assert_allclose(np.concatenate(found), workload.matrix, atol=tolerances.RECOMPUTED)


def test_what_a_query_looks_at() -> None:
    functions = (np.array([[0.0, 1.0]]),)
    own = SectorLayout((np.array([0, 0, 1, 1]),), functions, ((), (0,)))
    asked = predicates([np.array([0, 0, 1, 1]), np.ones(4), np.array([1, 0, 0, 0])])
    found = own.attribute_rows(0, asked)
    assert found.varies.tolist() == [True, False, True]
    np.testing.assert_allclose(found.flat, [[0, 1], [1, 0], [0.5, -0.5]], atol=tolerances.RECOMPUTED)
    np.testing.assert_allclose(found.rest, [[0] * 4] * 2 + [[0.5, -0.5, 0, 0]], atol=tolerances.RECOMPUTED)
    assert not found.rest[:2].any()
    rests = own.attribute_rows(0, prefix(4)).rest
    assert rests.any(axis=1).tolist() == [True, False, True, False]
    assert (
        not own.attribute_rows(0, total(4)).varies.any()
        and own.attribute_rows(0, identity(4)).rest.any(axis=1).all()
    )


@pytest.mark.quick
def test_a_small_difference_is_looked_at() -> None:
    own = SectorLayout((np.arange(2),), (np.array([[0.0, 1.0]]),), ((), (0,)))
    assert own.attribute_rows(0, Dense.read([[1e10, 1e10 + 1.0], [0.1, 0.1]])).varies.tolist() == [
        True,
        False,
    ]


def test_all_subsets_of_sets() -> None:
    assert all_subsets([(0, 2), (1,)]) == ((), (0,), (1,), (2,), (0, 2))
    assert all_subsets([]) == ()


def test_refused() -> None:
    with pytest.raises(OptionError) as error:
        SectorLayout((np.arange(3),), (np.ones((1, 3)),), ((),))
    assert error.value.message == (
        "the functions of an attribute have shape (1, 3), expected (2, 3) for its classes of values"
    )
    with pytest.raises(OptionError) as error:
        SectorLayout((np.arange(2),) * 2, (np.array([[0.0, 1.0]]),) * 2, ((), (0,), (0, 1)))
    assert error.value.message == "the sectors have (0, 1), but not all of its subsets"
