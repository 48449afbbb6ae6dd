"""The exponent of a power law is found; small sizes and what was not solved are left out."""

from collections.abc import Callable

import numpy as np
import pytest
from examples.scripts import scripts

Row = scripts("scaling").measure.Row
report = scripts("scaling").report


@pytest.mark.parametrize("power", [-1.0, 0.0, 2.5, 4.0])
def test_a_power_law(power: float, rng: np.random.Generator) -> None:
    sizes = rng.uniform(1, 1000, size=5)
    scale = float(rng.uniform(0.1, 10))
    assert report.fitted([(n, scale * n**power) for n in sizes]) == pytest.approx(power, abs=1e-9)


def test_noise_is_averaged() -> None:
    exact = [(n, n**3.0) for n in (10, 20, 40, 80)]
    assert report.fitted(
        [(n, y * f) for (n, y), f in zip(exact, (2, 1, 1, 2), strict=True)]
    ) == pytest.approx(3.0)


def test_one_size_says_nothing() -> None:
    assert report.fitted([]) is None
    assert report.fitted([(8, 1.0), (8, 2.0)]) is None


def test_exponents_of_a_measurement(row: Callable[..., Row]) -> None:
    top = 64 * report.SPAN
    rows = [row("a", n, 1e-9 * n**3) for n in (64, top // 4, top)]
    rows += [row("a", 63, 100.0), row("a", 2 * top, None), row("b", 8, 1.0)]
    rows += [row("a", 3 * top, 1.0, stop="time limit"), row("a", 32, 1.0, problem="blocks")]
    (found,) = report.exponents(rows)
    assert (found.program, found.problem, found.solver) == ("l2_strategy", "prefix", "a")
    assert found.cpu == pytest.approx(3.0) and found.memory == pytest.approx(2.0)
    assert (found.low, found.high, found.count) == (64, top, 3)


def test_memory_that_is_not_known(row: Callable[..., Row]) -> None:
    (found,) = report.exponents([row("a", n, float(n), memory=None) for n in (8, 16)])
    assert found.cpu == pytest.approx(1.0) and found.memory is None


@pytest.mark.slow
def test_a_measured_one(measured: list[Row]) -> None:
    found = report.exponents(measured)
    assert [(e.solver, e.low, e.high, e.count) for e in found] == [("scs", 4, 6, 2), ("clarabel", 4, 6, 2)]
    assert all(np.isfinite(e.cpu) for e in found)
