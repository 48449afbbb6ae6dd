"""The least error of prefix sums under Laplace noise, proved by cases.

The proofs stand in examples/site/notes/branching-bound.md, the computation in examples/pure-bound/branch.py.
"""

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tolerances import RECOMPUTED

from mmopt.numerics.arrays import Array
from tests.examples.scripts import scripts, status

branch = scripts("pure-bound").branch


def error(a: Array) -> float:
    """The sum of the squares of W A⁺ for prefix sums."""
    return float(np.linalg.norm(np.tri(a.shape[1]) @ np.linalg.pinv(a)) ** 2)


def strategy(rng: np.random.Generator, rows: int, n: int) -> Array:
    """A random strategy with columns of norm 1: some flat, some nearly unit vectors."""
    a = rng.normal(size=(rows, n)) * rng.random((rows, n)) ** rng.integers(0, 12)
    return np.asarray(a / np.abs(a).sum(axis=0))


@pytest.mark.parametrize("n, target", [(2, Fraction(3)), (3, Fraction(6)), (4, Fraction(48, 5))])
def test_no_strategy_has_a_smaller_error(n: int, target: Fraction) -> None:
    """Theorem 1."""
    assert branch.prove(n, target)


def test_more_than_is_reached_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise on the cells has 3 and 6."""
    assert branch.prove(2, Fraction(3001, 1000)) is None
    assert branch.prove(3, Fraction(6001, 1000)) is None
    monkeypatch.setattr(branch.Case, "near_identity", lambda case: False)
    assert branch.prove(2, Fraction(3)) is None, "the identity is no strict case"


def cover(a: Array) -> tuple[Any, Array]:
    """The case at the start that covers a strategy, and the strategy with its rows and signs as there."""
    n = a.shape[1]
    leads = [int(np.abs(c).argmax()) if np.abs(c).max() > 0.5 else None for c in a.T]
    order = list(dict.fromkeys(lead for lead in leads if lead is not None))
    a = a[[*order, *(r for r in range(len(a)) if r not in order)]]
    named = tuple(branch.SMALL if lead is None else order.index(lead) for lead in leads)
    for row in range(len(order)):
        a[row] *= np.sign(a[row, named.index(row)])
    signs = tuple(1 if lead < 0 else int(np.sign(a[lead, j])) for j, lead in enumerate(named))
    (case,) = (case for case in branch.cases(n) if (case.leads, case.signs) == (named, signs))
    return case, a


def test_the_corners_of_a_case_bound_its_strategies(rng: np.random.Generator) -> None:
    """Lemmas 1 and 2: tr(H AᵀA) is at most the largest over the corners, also in a narrow case."""
    kinds = set()
    for _ in range(100):
        n = int(rng.integers(2, 5))
        case, a = cover(strategy(rng, int(rng.integers(n, n + 4)), n))
        kinds.add(case.leads)
        lengths = [0.0 if lead < 0 else abs(a[lead, j]) * branch.UNIT for j, lead in enumerate(case.leads)]
        narrow = dataclasses.replace(
            case,
            least=tuple(0 if lead < 0 else int(x) for x, lead in zip(lengths, case.leads, strict=True)),
            largest=tuple(0 if lead < 0 else int(x) + 1 for x, lead in zip(lengths, case.leads, strict=True)),
        )
        for some in (case, narrow):
            corners = branch.corners(some)
            assert all(np.all(np.abs(c).sum(axis=1) == branch.UNIT) for c in corners)
            y = rng.integers(-branch.FINE, branch.FINE, size=(n, n))
            if rng.random() < 0.5:
                y = branch.whole(a.T @ a + 1e-6 * np.eye(n))
            largest = branch.costs(y @ y.T, corners).max()
            assert np.sum((a @ y) ** 2) * branch.UNIT**2 <= largest * (1.0 + RECOMPUTED)
            below = Fraction(int(np.trace(np.tri(n, dtype=int) @ y)) ** 2 * branch.UNIT**2, int(largest))
            if np.trace(np.tri(n) @ y) > 0.0:
                assert error(a) >= float(below) * (1.0 - RECOMPUTED)
                assert branch.proves(y, corners, below * Fraction(999, 1000))
                assert not branch.proves(y, corners, below)
    assert len(kinds) > 20


def test_costs_are_those_of_the_strategies(rng: np.random.Generator) -> None:
    """The table of whole numbers against the product itself, for all choices."""
    for case in itertools.islice(branch.cases(3), 0, None, 5):
        corners = branch.corners(case)
        y = rng.integers(-9, 9, size=(3, 3))
        values = branch.costs(y @ y.T, corners)
        for choice in itertools.islice(np.ndindex(values.shape), 0, None, 17):
            a = np.array([c[k] for c, k in zip(corners, choice, strict=True)]).T
            assert values[choice] == np.sum((a @ y) ** 2)


def test_every_strategy_is_in_a_case(rng: np.random.Generator) -> None:
    """Lemma 1: the rows and signs of a strategy can be changed so that one of the cases covers it."""
    for _ in range(100):
        case, a = cover(strategy(rng, 5, 4))
        for j, lead in enumerate(case.leads):
            assert lead < 0 or 0.5 <= case.signs[j] * a[lead, j] <= 1.0
    for n, count in ((1, 2), (2, 6)):
        assert len(list(branch.cases(n))) == count


def test_the_halves_of_a_case_are_all_of_it(rng: np.random.Generator) -> None:
    for case in branch.cases(3):
        least = tuple(int(x) for x in rng.integers(case.least, np.add(case.largest, 1)))
        some = dataclasses.replace(case, least=least)
        widths = np.subtract(some.largest, some.least)
        halves, j = some.halves(), int(widths.argmax())
        assert (halves is None) == (widths[j] < 2)
        if halves is not None:
            one, other = halves
            assert one.largest[j] == other.least[j] and some.least[j] < one.largest[j] < some.largest[j]
            ends = (one.least, other.largest) == (some.least, some.largest)
            apart = np.flatnonzero(
                np.not_equal(one.largest, some.largest) | np.not_equal(other.least, some.least)
            )
            assert ends and apart.tolist() == [j]


def test_a_matrix_of_the_wrong_sign_or_size_proves_nothing() -> None:
    """Squares hide the sign, and whole numbers above 2^63 wrap around."""
    corners = branch.corners(next(branch.cases(2)))
    y = branch.whole(np.eye(2))
    target = Fraction(1, 10**30)
    assert branch.proves(y, corners, target)
    assert not branch.proves(-y, corners, target)
    assert not branch.proves(2 * y, corners, target) and not branch.proves(
        y - 2 * branch.FINE, corners, target
    )


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 12])
def test_near_the_identity_noise_on_the_cells_is_best(n: int, rng: np.random.Generator) -> None:
    """Theorem 2, and the second-order directions of its proof: positive entries above the diagonal."""
    largest = 1.0 / (5 * n**2)
    units = int(largest * branch.UNIT)
    for under, covered in ((units, True), (units + 1, False)):
        lengths = (branch.UNIT,) * (n - 1) + (branch.UNIT - under,)
        case = branch.Case(tuple(range(n)), (1,) * n, lengths, (branch.UNIT,) * n)
        assert case.near_identity() is covered
    assert not branch.Case((0,) * n, (1,) * n, (branch.UNIT,) * n, (branch.UNIT,) * n).near_identity()
    for kind in range(60):
        rest = rng.random((n + 2, n)) ** rng.integers(1, 9)
        rest[:n] *= np.triu(np.ones((n, n)), 1) if kind % 2 else 1.0 - np.eye(n)
        rest[n:] *= 0.0 if kind % 2 else 1.0
        rest *= 1.0 if kind % 3 else rng.choice((-1.0, 1.0), size=rest.shape)
        share = largest * rng.random(n) ** rng.integers(0, 3) * (np.abs(rest).sum(axis=0) > 0)
        rest = rest / np.maximum(np.abs(rest).sum(axis=0), 1e-300) * share
        rest[np.arange(n), np.arange(n)] = 1.0 - share
        assert error(rest) >= n * (n + 1) / 2 * (1.0 - RECOMPUTED)
        above = np.triu(np.maximum(rest[:n], 0.0), 1)
        b = np.eye(n) + above - np.diag(above.sum(axis=0))
        t = np.linalg.inv(b)
        p = t @ (np.tri(n) @ t).T @ (np.tri(n) @ t)
        gamma = p @ t.T
        prices = [
            min(p[j, j] - abs(p[j, i]) if i > j else p[j, j] + p[j, i] for i in range(n) if i != j)
            for j in range(n)
        ]
        assert min(*prices, *np.diag(p)) > np.abs(gamma).sum(axis=0).max() * largest
        assert error(b) >= n * (n + 1) / 2 * (1.0 - RECOMPUTED)


@pytest.mark.parametrize("n", [2, 3])
def test_a_search_ends_at_noise_on_the_cells(n: int, rng: np.random.Generator) -> None:
    """Steps down from random strategies: none ends below the theorem."""
    for _ in range(3):
        best = strategy(rng, n + 2, n)
        size = 0.3
        for _ in range(800):
            tried = best + size * rng.normal(size=best.shape) * (rng.random(best.shape) < 0.4)
            tried = tried / np.abs(tried).sum(axis=0)
            if error(tried) < error(best):
                best = tried
            else:
                size = max(0.99 * size, 1e-4)
        assert error(best) >= n * (n + 1) / 2 * (1.0 - RECOMPUTED)


def test_the_script_says_what_is_proved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof, and none."""
    assert status(monkeypatch, "pure-bound/branch.py", "2") == 0
    assert "every strategy has an error of 3 at least, in " in capsys.readouterr().out
    assert status(monkeypatch, "pure-bound/branch.py", "2", "--target", "3.5") == "2 cells: nothing proved"
