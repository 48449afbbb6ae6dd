"""A start from every fourth cell: near where neighbours are alike, none where they are not."""

import numpy as np
import pytest
import tolerances

from mmopt import Attribute, Domain, Workload
from mmopt.solvers.nuclear.ascent import search
from mmopt.solvers.nuclear.nuclear_kernel import FEWEST_CELLS, start
from mmopt.solvers.nuclear.nuclear_problem import whole
from mmopt.solvers.nuclear.shipped_programs import FORMS
from mmopt.symmetry import symmetry
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks


def all_ranges(n: int) -> Workload:
    domain = Domain((Attribute("a", tuple(map(str, range(n)))),))
    return Workload.from_products(domain, [Product((factor_blocks.all_range(n),))])


def test_prefix_sums_start_close(subtests: pytest.Subtests) -> None:
    for n in [FEWEST_CELLS, 515]:
        with subtests.test(n=n):
            problem = whole(np.tri(n))
            shares = start(problem)
            assert shares is not None and shares.shape == (n,) and shares.min() > 0
            assert shares.sum() == pytest.approx(1.0, rel=tolerances.ROUNDING)
            near, far = next(search(problem, (shares, None))), next(search(problem))
            assert near.gap < far.gap / 10


def test_what_stretching_misses_is_taken_off(subtests: pytest.Subtests) -> None:
    """A step of the fixed point from the start is enough for a gap of 1e-6."""
    for n in [600, 1024]:
        with subtests.test(n=n):
            problem = whole(np.tri(n))
            iterates = search(problem, (start(problem), None))
            next(iterates)
            assert iterates.send(1e-6).gap <= 1e-6


def test_the_middle_of_an_attribute_is_no_end() -> None:
    """The orbits of all ranges under reflection end in the middle, where weights hardly change."""
    n = 800
    found = symmetry(all_ranges(n), False)
    assert found is not None
    problem = FORMS["l2_strategy"].problem({"W": found.sources["workload.root"]})
    assert len(problem.cells) == n // 2
    iterates = search(problem, (start(problem), None))
    first = next(iterates)
    assert first.gap < 1e-3 and iterates.send(1e-6).gap < 1e-5


def test_none_where_it_would_not_help(rng: np.random.Generator) -> None:
    assert start(whole(np.tri(FEWEST_CELLS - 1))) is None
    assert start(whole(np.tri(FEWEST_CELLS), np.ones(FEWEST_CELLS))) is None
    scales = np.exp(rng.normal(size=FEWEST_CELLS))
    assert start(whole(np.eye(FEWEST_CELLS) * scales)) is None  # each cell has a weight of its own
