"""The search: its two bounds, that it does not depend on how the problem is written, and where it starts.

Guards ``interior_point.py``.

Guards programs_and_points.py.
"""

import itertools

import array_api_strict
import numpy as np
import pytest
import tolerances

from mmopt import Attribute, Domain, Workload
from mmopt.solvers.nuclear import interior_point as module
from mmopt.solvers.nuclear.interior_point import FEWEST_CELLS, coarse_start, search
from mmopt.solvers.nuclear.problem_and_iterates import NuclearProblem, QueryComponent, whole
from mmopt.solvers.nuclear.programs_and_points import FORMS
from mmopt.symmetry import symmetry
from mmopt.workloads import Product, factors_and_products
from tests.solvers.nuclear.problems import by_parts, plain

GAP = 1e-7
MOST = 60  # iterations


def value(problem: NuclearProblem, gap: float = GAP) -> float:
    """The upper bound when both have met; no lower bound of any iterate is above an upper one of another."""
    iterates = search(problem)
    found = next(iterates)
    upper, lower = found.upper, found.lower
    for _ in range(MOST):
        assert lower <= upper * (1 + tolerances.ROUNDING)
        if upper / lower - 1 <= gap:
            return upper
        found = iterates.send(gap)
        upper, lower = min(upper, found.upper), max(lower, found.lower)
    raise AssertionError(f"gap {upper / lower - 1:.1e} after {MOST} iterations")


def test_the_gap_closes(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for rank, targets in itertools.product([None, 1, 3], [False, True]):
        with subtests.test(rank=rank, targets=targets):
            for _ in range(5):
                value(plain(rng, targets=targets, rank=rank))
            value(by_parts(rng, targets=targets))


def test_optima_that_are_known() -> None:
    for n in (2, 16, 64):
        assert value(whole(np.eye(n))) == pytest.approx(n, rel=GAP)
        assert value(whole(np.eye(n), np.ones(n))) == pytest.approx(1.0, rel=GAP)
    # One query alone decides alpha, and the weights of all others go to zero.
    assert value(whole(np.eye(4), np.array([1.0, 2.0, 4.0, 50.0]))) == pytest.approx(1.0, rel=GAP)


def test_permuted_scaled_and_signed(rng: np.random.Generator) -> None:
    """Cells and queries in another order and with other signs; W scaled by t has t² the optimum."""
    for targets in [False, True]:
        problem = plain(rng, targets=targets)
        (part,) = problem.parts
        m, n = part.rows.shape
        order, cells = rng.permutation(m), rng.permutation(n)
        signs = rng.choice([-1.0, 1.0], size=(m, 1))
        rows = 3.0 * (signs * part.rows)[order][:, cells]
        c = None if problem.targets is None else problem.targets[order]
        assert value(whole(rows, c)) == pytest.approx(9.0 * value(problem), rel=2 * GAP)


def test_rotated_queries_have_the_same_total_error(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(7, 5))
    rotation, _ = np.linalg.qr(rng.normal(size=(7, 7)))
    assert value(whole(rotation @ rows)) == pytest.approx(value(whole(rows)), rel=2 * GAP)


def test_a_query_asked_twice(rng: np.random.Generator) -> None:
    """It counts once with targets, the smaller target; for total error twice."""
    rows, c = rng.normal(size=(4, 5)), rng.uniform(1.0, 2.0, size=4)
    twice = np.concatenate([rows, rows[:1]])
    weaker = np.append(c, 1.5 * c[0])
    assert value(whole(twice, weaker)) == pytest.approx(value(whole(rows, c)), rel=2 * GAP)
    weighted = np.concatenate([np.sqrt(2.0) * rows[:1], rows[1:]])
    assert value(whole(twice)) == pytest.approx(value(whole(weighted)), rel=2 * GAP)


def test_parts_are_blocks_repeated(rng: np.random.Generator) -> None:
    """A component with multiplicity 2 is the same as two blocks whose orbits have two members each."""
    for targets in [False, True]:
        rows = rng.normal(size=(4, 3))
        block = np.kron(np.eye(2), rows)
        c = rng.uniform(1.0, 2.0, size=4) if targets else None
        queries = np.arange(4) if targets else None
        part = QueryComponent(rows, 2.0, np.arange(3), queries)
        split = NuclearProblem((part,), np.full(3, 2.0), None if c is None else 2.0 * c)
        assert value(split) == pytest.approx(
            value(whole(block, None if c is None else np.tile(c, 2))), rel=2 * GAP
        )


def test_any_library_of_the_array_api_standard(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """array_api_strict has what the standard has and nothing else. Careless steps are in single precision."""
    for careful, targets in itertools.product([False, True], [False, True]):
        with subtests.test(careful=careful, targets=targets), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "CAREFUL_SHARES", 512 if careful else 0)
            rows = rng.normal(size=(9, 6))
            c = rng.uniform(1.0, 5.0, size=9) if targets else None
            found = []
            for xp in (np, array_api_strict):
                iterates = search(whole(xp.asarray(rows), None if c is None else xp.asarray(c)))
                found.append([next(iterates).norm, *(iterates.send(GAP).norm for _ in range(4))])
            assert np.allclose(*found, rtol=tolerances.RECOMPUTED if careful else tolerances.SINGLE)


def all_ranges(n: int) -> Workload:
    domain = Domain((Attribute("a", tuple(map(str, range(n)))),))
    return Workload.from_products(domain, [Product((factors_and_products.all_range(n),))])


def test_prefix_sums_start_close(subtests: pytest.Subtests) -> None:
    for n in [FEWEST_CELLS, 515]:
        with subtests.test(n=n):
            problem = whole(np.tri(n))
            shares = coarse_start(problem)
            assert shares is not None and shares.shape == (n,) and shares.min() > 0
            assert shares.sum() == pytest.approx(1.0, rel=tolerances.ROUNDING)
            near, far = next(search(problem, (shares, None))), next(search(problem))
            assert near.gap < far.gap / 10


def test_what_stretching_misses_is_taken_off() -> None:
    """A step of the fixed point from the start is enough for a gap of 1e-6."""
    for n in [600]:
        problem = whole(np.tri(n))
        iterates = search(problem, (coarse_start(problem), None))
        next(iterates)
        assert iterates.send(1e-6).gap <= 1e-6


def test_the_middle_of_an_attribute_is_no_end() -> None:
    """The orbits of all ranges under reflection end in the middle, where weights hardly change."""
    n = 800
    found = symmetry(all_ranges(n), False)
    assert found is not None
    problem = FORMS["l2_strategy"].problem({"W": found.sources["workload.root"]})
    assert len(problem.cells) == n // 2
    iterates = search(problem, (coarse_start(problem), None))
    first = next(iterates)
    assert first.gap < 1e-3 and iterates.send(1e-6).gap < 1e-5


def test_no_start_where_it_would_not_help(rng: np.random.Generator) -> None:
    assert coarse_start(whole(np.tri(FEWEST_CELLS - 1))) is None
    assert coarse_start(whole(np.tri(FEWEST_CELLS), np.ones(FEWEST_CELLS))) is None
    scales = np.exp(rng.normal(size=FEWEST_CELLS))
    assert coarse_start(whole(np.eye(FEWEST_CELLS) * scales)) is None  # each cell has a weight of its own
