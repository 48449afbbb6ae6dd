"""Equal attributes are told exactly, whatever the order of the products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mmopt.sectors.equal.kinds_of_products import kinds_of_products
from mmopt.testing.census_workloads import domain_of, products_on
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f
from mmopt.workloads.blocks.modified_blocks import RowWeighted
from tests.sectors.equal.equal_workloads import of_one_and_two, random_workload


@pytest.mark.draws(3)
def test_any_order_of_products_and_attributes_is_told(rng: np.random.Generator) -> None:
    k = int(rng.integers(2, 6))
    workload = random_workload(rng, k, 3)
    known = kinds_of_products(workload)
    assert known is not None
    assert [len(kind.factors) for kind in known] == [1, 1, 2, 2]
    order = rng.permutation(k)
    products = [
        replace(p, factors=tuple(p.factors[i] for i in order))
        for p in rng.permutation(np.array(workload.products, dtype=object))
    ]
    found = kinds_of_products(Workload.from_products(workload.domain, products))
    assert found is not None
    one, other = ({(frozenset(kind.factors), kind.weight) for kind in own} for own in (known, found))
    assert one == other


def test_a_product_that_stands_twice_everywhere_counts_twice() -> None:
    prefix = f.prefix(4)
    once = of_one_and_two(3, [prefix], [(prefix, prefix)], [1.0, 1.0])
    twice = Workload.from_products(once.domain, (*once.products, *once.products))
    found = kinds_of_products(twice)
    assert found is not None
    assert [kind.weight for kind in found] == [2.0, 2.0]


def test_rows_with_weights_of_their_own_are_weighed() -> None:
    rows = np.vstack([np.tri(3), np.ones(3)])
    weighed = RowWeighted(f.predicates(rows, list("abcd")), np.array([1.0, 2.0, 3.0, 4.0]))
    found = kinds_of_products(of_one_and_two(2, [weighed], [], [1.0]))
    assert found is not None
    gram = found[0].factors[0].gram()
    assert np.allclose(gram, rows.T @ np.diag([1.0, 2.0, 3.0, 4.0]) @ rows, rtol=1e-12, atol=0)


PREFIX, RANGES = f.prefix(4), f.all_range(4)
WHOLE = of_one_and_two(3, [PREFIX], [(PREFIX, PREFIX)], [1.0, 1.0])


def _of(products: list[Product]) -> Workload:
    return Workload.from_products(WHOLE.domain, products)


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(_of([*WHOLE.products][1:]), id="a product lacks"),
        pytest.param(_of([*WHOLE.products][:-1]), id="a pair lacks"),
        pytest.param(_of([replace(WHOLE.products[0], weight=2.0), *WHOLE.products[1:]]), id="weights differ"),
        pytest.param(_of([*WHOLE.products, WHOLE.products[0]]), id="one stands twice"),
        pytest.param(products_on([4, 4, 5], [(0,), (1,), (2,)], f.prefix), id="sizes differ"),
        pytest.param(products_on([4], [(0,)], f.prefix), id="one attribute"),
        pytest.param(products_on([1, 1], [(0,), (1,)], f.prefix), id="one value"),
        pytest.param(products_on([4] * 3, [(0, 1, 2)], f.prefix), id="three factors"),
        pytest.param(products_on([4] * 3, [(0,), (1,), (2,)], f.identity), id="values can be swapped"),
        pytest.param(Workload.from_matrix(np.tri(4)), id="a matrix"),
        pytest.param(
            Workload.from_products(
                domain_of(4, 4, 4),
                [
                    Product(tuple({i: PREFIX, j: RANGES}.get(at, f.total(4)) for at in range(3)))
                    for i, j in ((0, 1), (1, 2), (2, 0))
                ],
            ),
            id="only cyclic orders",
        ),
    ],
)
def test_what_is_not_equal_is_none(workload: Workload) -> None:
    assert kinds_of_products(workload) is None
