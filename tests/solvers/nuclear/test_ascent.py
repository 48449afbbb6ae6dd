"""The search: its two bounds, and that it does not depend on how the problem is written."""

import itertools

import array_api_strict
import numpy as np
import pytest
import tolerances
from solvers.nuclear.problems import by_parts, plain

from mmopt.solvers.nuclear import ascent as module
from mmopt.solvers.nuclear.ascent import search
from mmopt.solvers.nuclear.nuclear_problem import Problem, QueryComponent, whole
from mmopt.solvers.nuclear.weighted_spectrum import Iterate

GAP = 1e-7
MOST = 60  # iterations


def solved(problem: Problem, gap: float = GAP) -> tuple[float, float, int]:
    """Both bounds when they have met, and the number of iterations."""
    iterates = search(problem)
    found: Iterate = next(iterates)
    upper, lower = found.upper, found.lower
    for count in range(1, MOST):
        if upper / lower - 1 <= gap:
            return upper, lower, count
        found = iterates.send(gap)
        upper, lower = min(upper, found.upper), max(lower, found.lower)
    raise AssertionError(f"gap {upper / lower - 1:.1e} after {MOST} iterations")


def value(problem: Problem) -> float:
    return solved(problem)[0]


def test_the_gap_closes(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for rank, targets in itertools.product([None, 1, 3], [False, True]):
        with subtests.test(rank=rank, targets=targets):
            for _ in range(5):
                solved(plain(rng, targets=targets, rank=rank))


def test_every_bound_holds(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """No lower bound of any iterate is above an upper one of any other."""
    for targets in [False, True]:
        with subtests.test(targets=targets):
            problem = plain(rng, targets=targets)
            iterates = search(problem)
            found = [next(iterates), *(iterates.send(1e-9) for _ in range(12))]
            lowest = min(one.upper for one in found)
            assert max(one.lower for one in found) <= lowest * (1 + tolerances.ROUNDING)


def test_permuted_scaled_and_signed(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Cells and queries in another order and with other signs; W scaled by t has t² the optimum."""
    for targets in [False, True]:
        with subtests.test(targets=targets):
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
    """With targets it counts once, the smaller target; for total error twice."""
    rows, c = rng.normal(size=(4, 5)), rng.uniform(1.0, 2.0, size=4)
    twice = np.concatenate([rows, rows[:1]])
    weaker = np.append(c, 1.5 * c[0])
    assert value(whole(twice, weaker)) == pytest.approx(value(whole(rows, c)), rel=2 * GAP)
    weighted = np.concatenate([np.sqrt(2.0) * rows[:1], rows[1:]])
    assert value(whole(twice)) == pytest.approx(value(whole(weighted)), rel=2 * GAP)


def test_parts_are_blocks_repeated(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """A component with multiplicity 2 is the same as two blocks whose orbits have two members each."""
    for targets in [False, True]:
        with subtests.test(targets=targets):
            rows = rng.normal(size=(4, 3))
            block = np.kron(np.eye(2), rows)
            c = rng.uniform(1.0, 2.0, size=4) if targets else None
            queries = np.arange(4) if targets else None
            part = QueryComponent(rows, 2.0, np.arange(3), queries)
            split = Problem((part,), np.full(3, 2.0), None if c is None else 2.0 * c)
            assert value(split) == pytest.approx(
                value(whole(block, None if c is None else np.tile(c, 2))), rel=2 * GAP
            )


def test_parts_with_shared_orbits(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for targets in [False, True]:
        with subtests.test(targets=targets):
            solved(by_parts(rng, targets=targets))


def test_queries_that_do_not_matter() -> None:
    """One query alone decides alpha, and the weights of all others go to zero."""
    rows = np.eye(4)
    upper, lower, _ = solved(whole(rows, np.array([1.0, 2.0, 4.0, 50.0])))
    assert lower == pytest.approx(1.0, rel=GAP) and upper == pytest.approx(1.0, rel=GAP)


def test_identity_and_prefix(subtests: pytest.Subtests) -> None:
    for n in [2, 16, 64]:
        with subtests.test(n=n):
            assert value(whole(np.eye(n))) == pytest.approx(n, rel=GAP)
            assert value(whole(np.eye(n), np.ones(n))) == pytest.approx(1.0, rel=GAP)


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
