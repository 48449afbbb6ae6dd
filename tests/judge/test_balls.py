"""The judge's own arithmetic, on what is known."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from judge import balls
from judge.measured import Measured, exact_sensitivity

SINGULAR = {
    "equal": (1, 1, 1, 1),
    "rank 3": (3, 2, 1, 0),
    "graded": (2.0**60, 1, 2.0**-60, 2.0**-60),
    "close": (1 + 2.0**-50, 1, 1 - 2.0**-50, 0),
}


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    with ctx.workdps(60):
        yield


def test_nuclear_norms_are_enclosed_tightly(subtests: pytest.Subtests) -> None:
    """Matrices are U diag(s) V with rational orthogonal factors, wide and tall."""
    v = np.ones(4) / 2
    reflection = np.eye(4) - 2 * np.outer(v, v)
    for (name, singular), digits in product(SINGULAR.items(), (60, 120)):
        wide = np.kron(reflection @ np.diag(singular), np.array([[3.0, 4.0]]))  # singular values 5 s
        with subtests.test(name, digits=digits), ctx.workdps(digits):
            turned = balls.matrix(wide) * balls.matrix(np.kron(reflection, np.eye(2)))
            truth = 5 * sum((arb(s) for s in singular), arb(0))
            for a in (turned, turned.transpose()):
                found = balls.nuclear(a)
                assert found.contains(truth)
                assert found.rad() < truth * arb(10) ** -15


def test_a_root_is_enclosed() -> None:
    a = balls.matrix(np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 0]]))
    root = balls.psd_root(a * a)
    gaps = [x - y for x, y in zip(root.entries(), a.entries(), strict=True)]
    assert all(g.contains(0) and g.rad() < arb(10) ** -50 for g in gaps)


def test_comparisons_are_decided_by_more_digits() -> None:
    third = lambda: arb(1) / 3  # noqa: E731
    assert balls.decided(lambda: (third(), third() + arb(10) ** -90))
    assert not balls.decided(lambda: (third() + arb(10) ** -90, third()))
    assert balls.decided(lambda: (third() * 3, arb(1)))
    with pytest.raises(balls.Undecided):
        balls.decided(lambda: (arb(1, 1), arb(1)))


def test_definiteness() -> None:
    near = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    assert balls.is_positive_definite(balls.matrix(near))
    assert not balls.is_positive_definite(balls.matrix(np.ones((2, 2))))
    assert not balls.is_positive_definite(balls.matrix(near - np.diag([0, 2.0**-51])))


def test_what_a_strategy_tells() -> None:
    """B1: two rows that are almost one. The exact variance is not that of the pseudo-inverse."""
    a = np.array([[1.0, 1.0], [1e-12, -1e-12]])
    queries = balls.matrix(np.array([[1.0, 1 + 9e-10]]))
    strategy = Measured.dense(a, 2)
    variances, missed = strategy.told(queries)
    assert missed == 0
    assert 202500 < variances[0] < 202502
    rough, missed = strategy.nearly(queries)
    assert 1 < rough[0] < 1.00000001
    assert 0 < missed < 1e-18


def test_dependent_rows_and_what_they_miss() -> None:
    rows = np.array([[1.0, 1, 0], [2, 2, 0], [0, 0, 1]])
    assert balls.independent_rows(rows) == [0, 2]
    variances, missed = Measured.dense(rows, 1).told(balls.matrix(np.array([[1.0, 1, 0], [0, 0, 2]])))
    assert (missed, variances[1]) == (0, 4)
    assert balls.decided(lambda: (abs(variances[0] - arb(1) / 5), arb(10) ** -50))
    assert Measured.dense(rows, 1).told(balls.matrix(np.array([[1.0, 0, 0]])))[1].contains(arb(0.5))


def test_exact_sensitivities() -> None:
    a = np.array([[1e200, 1.0], [-1e-200, 1e-20]])
    assert exact_sensitivity(a, 1) == balls.exact(1e200) + balls.exact(1e-200)
    assert exact_sensitivity(a, 2) == balls.exact(1e200) ** 2 + balls.exact(1e-200) ** 2
