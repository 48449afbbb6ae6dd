"""Printed sensitivities against exact rational numbers: never below, and no more than rounding above."""

import numpy as np
import pytest
from judge import balls
from judge.measured import exact_sensitivity

from mmopt import Strategy

ABOVE = 1e-14  # relative: rounding up of sums of this length


def adversarial(rng: np.random.Generator) -> np.ndarray:
    """Entries over many sizes, near ties, sums that round down, subnormal numbers, one row or column."""
    p, n = (int(k) for k in rng.integers(1, 12, size=2))
    kind = int(rng.integers(6))
    a = rng.normal(size=(p, n))
    if kind == 0:
        a = a * 10.0 ** rng.integers(-150, 150)
    elif kind == 1:
        a = a * 10.0 ** rng.uniform(-12, 12, size=(p, n))
    elif kind == 2:  # 1 and many numbers that are lost beside it, one by one
        a = np.vstack([np.ones((1, n)), rng.uniform(0, 2.0**-53, size=(p, n))])
    elif kind == 3:  # columns that differ in the last bit
        a = np.repeat(a[:, :1], n, axis=1)
        a[int(rng.integers(p))] = np.nextafter(a[0, 0], rng.choice([-9.0, 9.0], size=n))
    elif kind == 4:
        a = a * rng.choice([0.0, 1.0, 2.0**-1040, 2.0**-530], size=(p, n))
    else:
        a = rng.integers(-3, 4, size=(p, n)) / 3.0
    return a * rng.choice([-1.0, 1.0], size=a.shape)


@pytest.mark.parametrize("draws", [100, pytest.param(15_000, marks=pytest.mark.nightly)])
def test_no_sensitivity_is_below_the_exact_one(draws: int, rng: np.random.Generator) -> None:
    for draw in range(2 * draws):
        a, norm = adversarial(rng), 1 + draw % 2
        printed, truth = balls.exact(Strategy(a, norm).sensitivity) ** norm, exact_sensitivity(a, norm)
        assert printed >= truth
        if truth > balls.exact(2.0**-900):
            assert printed <= truth * balls.exact(1 + ABOVE) ** norm
