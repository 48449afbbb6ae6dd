"""Bounds at product measures by resolvents, against decompositions over the cells.

Guards pair_gram.py, pair_resolvents.py, rational_root.py.
"""

import math
from functools import reduce

import numpy as np
import pytest
import tolerances
from few_attributes import dense, up_to

from mmopt.errors import WorkloadError
from mmopt.sectors.bounds.bound_of_large import SLACK, best_product_bound, product_bound
from mmopt.sectors.bounds.pair_gram import pair_gram
from mmopt.sectors.bounds.pair_resolvents import resolvent
from mmopt.sectors.bounds.rational_root import SLACK as SLACK_OF_ROOT, rational_root
from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.testing.census_workloads import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f


def mixed(sizes: tuple[int, int, int], rng: np.random.Generator) -> Workload:
    """Different factors on the same attribute, weights, a pair that nobody asks for."""
    a, b, c = sizes
    predicates = f.predicates(rng.uniform(-1, 1, (3, b)), ["p", "q", "r"])
    products = [
        Product((f.prefix(a), f.identity(b), f.total(c)), weight=2.0),
        Product((f.all_range(a), f.total(b), f.prefix(c)), weight=0.3),
        Product((f.total(a), predicates, f.total(c))),
        Product((f.identity(a), f.total(b), f.total(c)), weight=1.7),
    ]
    return Workload.from_products(domain_of(*sizes), products)


@pytest.mark.quick
def test_resolvents_and_means_are_those_over_the_cells(rng: np.random.Generator) -> None:
    for _ in range(2):
        sizes = (3, 4, 5)
        workload = mixed(sizes, rng)
        products = products_of_few(workload)
        factors = [rng.dirichlet(np.full(n, 3.0)) for n in sizes]
        measure = reduce(np.kron, factors)
        _, singular, rows = np.linalg.svd(dense(workload) * np.sqrt(measure), full_matrices=False)
        gram = pair_gram(products, factors)
        assert gram.trace == pytest.approx((singular**2).sum(), rel=tolerances.RECOMPUTED)
        for shift in (1e-3, 1.0, 1e2):
            share, _ = resolvent(gram, shift)
            assert share == pytest.approx(
                (singular**2 / (singular**2 + shift)).sum(), rel=tolerances.RECOMPUTED
            )
        found = product_bound(products, factors)
        exact = singular.sum() ** 2
        assert exact * (1 - tolerances.RESOLVENTS) <= found.bound <= exact
        # f by the same inequality in place of the square root, so that only rounding remains
        root = rational_root(gram.least, gram.trace)
        below = root.at(singular**2).sum()
        assert found.bound == pytest.approx((below * (1 - SLACK)) ** 2, rel=SLACK / 4)
        lengths = (rows.T**2 @ root.at(singular**2)) / measure
        lengths = (lengths / (lengths @ measure)).reshape(sizes)
        for i, mean in enumerate(found.means):
            others = [np.ones(n) if j == i else factors[j] for j, n in enumerate(sizes)]
            axes = tuple(j for j in range(3) if j != i)
            outside = reduce(np.multiply.outer, others)
            assert mean == pytest.approx((lengths * outside).sum(axis=axes), rel=1e-6)


@pytest.mark.quick
def test_the_rational_root_is_below_the_root(rng: np.random.Generator) -> None:
    for _ in range(3):
        least = float(10 ** rng.uniform(-6, 0))
        largest = least * float(10 ** rng.uniform(0.1, 8))
        for step in (0.6, 1.2):
            root = rational_root(least, largest, step)
            x = np.exp(rng.uniform(math.log(least) - 9, math.log(largest), 5000))
            x = np.append(x, [0.0, least, largest])
            assert (root.at(x) <= np.sqrt(x)).all()
            assert root.at(np.array([largest])) >= math.sqrt(largest) * (1 - 2 * tolerances.RESOLVENTS)


@pytest.mark.quick
def test_the_rational_root_keeps_off_where_it_touches() -> None:
    """At 1, where a node stands and which is the largest, far above the least: less by its slack alone."""
    found = float(rational_root(1e-30, 1.0).at(np.array([1.0]))[0])
    assert 2 * SLACK_OF_ROOT >= 1 - found >= SLACK_OF_ROOT / 2


def test_best_product_measures(subtests: pytest.Subtests) -> None:
    """The figures are those of dense searches over product measures."""
    for sizes, best in [((10, 10), 719.6935), ((6,) * 3, 915.633), ((6,) * 4, 2664.895)]:
        with subtests.test(sizes=sizes):
            found = best_product_bound(up_to(sizes, 2))
            assert best * (1 - tolerances.RESOLVENTS) <= found.bound <= best * (1 + 1e-6)
            assert max(np.abs(mean - 1).max() for mean in found.means) < 1e-2


def test_other_products_are_refused(subtests: pytest.Subtests) -> None:
    for workload, message in [
        (
            up_to((2, 3, 2), 3),
            "attributes 0, 1, 2 are looked at together, expected two at most\n"
            "  this bound takes products of one or two attributes, one for each two of them",
        ),
        (
            Workload.from_products(
                domain_of(2, 3),
                [Product((f.prefix(2), f.prefix(3))), Product((f.identity(2), f.identity(3)))],
            ),
            "attributes 0, 1 are looked at together, by products that differ\n"
            "  this bound takes products of one or two attributes, one for each two of them",
        ),
    ]:
        with subtests.test(message):
            with pytest.raises(WorkloadError) as caught:
                best_product_bound(workload)
            assert str(caught.value) == message
