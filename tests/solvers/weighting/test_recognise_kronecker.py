"""Kronecker products are recognised from their entries, and nothing else is.

Guards weight_steps.py.
"""

import itertools
from functools import reduce

import numpy as np
import pytest
from query_rows import haar, identity
from tolerances import FINE, ROUNDING

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.solvers import Clock, Options
from mmopt.solvers.weighting import Kronecker, entrywise, needs, points, weight_steps
from mmopt.solvers.weighting.shipped_programs import SHIPPED
from mmopt.solvers.weighting.weight_steps import costs_of, factors_of, is_likely_product, places_of

POWERS = [1, 2]
SHAPES = [[(8, 8), (8, 8)], [(6, 9), (10, 4)], [(4, 4), (6, 5), (8, 8)], [(5, 5), (7, 7), (3, 2)]]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of test size count, and are taken apart as far as they can."""
    monkeypatch.setattr(weight_steps, "LEAST_ENTRIES", 1)
    monkeypatch.setattr(weight_steps, "SMALL_FACTOR", 1)
    monkeypatch.setattr(weight_steps, "ENTRIES_COMPARED", 100)


def product(rng: np.random.Generator, shapes: list[tuple[int, int]]) -> np.ndarray:
    return reduce(np.kron, [rng.normal(size=shape) for shape in shapes])


@pytest.mark.quick
def test_products_are_recognised(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Whatever the signs and the sizes of their rows."""
    for shapes, power in itertools.product(SHAPES, POWERS):
        with subtests.test(shapes=shapes, power=power):
            design = product(rng, shapes) * rng.choice([-1.0, 1.0], size=(np.prod(shapes, axis=0)))
            found = factors_of(design, power)
            assert found is not None and len(found) >= 2
            assert is_likely_product(design, power)
            known = entrywise(design, power)
            off = abs(reduce(np.kron, found) - known).max(axis=1)
            assert (off <= ROUNDING * known.max(axis=1)).all()
            assert sum(f.size for f in found) <= design.size / 8


def test_rows_of_very_different_sizes(rng: np.random.Generator) -> None:
    """Each row is judged next to its own largest entry."""
    sizes = 10.0 ** rng.uniform(-6, 6, size=8)
    factor = rng.normal(size=(8, 8)) * sizes[:, None]
    assert factors_of(np.kron(factor, rng.normal(size=(8, 8))), 1) is not None
    spoilt = np.kron(factor, rng.normal(size=(8, 8)))
    least = spoilt[8 * int(sizes.argmin()) + 3]
    least[abs(least).argmax()] *= 1 + 1e-9
    assert factors_of(spoilt, 1) is None


def test_what_is_no_product_is_not(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for power in POWERS:
        with subtests.test(power=power):
            design = product(rng, SHAPES[0])
            k, n = design.shape
            rows, cells = rng.permutation(k), rng.permutation(n)
            others = {
                "permuted rows": design[rows],
                "permuted cells": design[:, cells],
                "other rows": rng.normal(size=(k, n)),
                "a row left out": design[1:],
                "a cell left out": design[:, 1:],
                "a prime number of rows and cells": rng.normal(size=(61, 67)),
                "a first row of zeros": np.vstack([np.zeros((1, n)), design[1:]]),
            }
            for i in (0, 7, k // 2, k - 1):
                spoilt = design.copy()
                spoilt[i, abs(design[i]).argmax()] *= 1 + 1e-9
                others[f"an entry of row {i} is off"] = spoilt
            for name, other in others.items():
                assert factors_of(other, power) is None, name


def test_small_and_lopsided_designs_stay_whole(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert factors_of(np.kron(rng.normal(size=(32, 32)), np.ones((2, 2))), 1) is None
    design = product(rng, SHAPES[0])
    monkeypatch.setattr(weight_steps, "LEAST_ENTRIES", design.size + 1)
    assert factors_of(design, 1) is None and not is_likely_product(design, 1)


def test_rows_are_found_in_order(rng: np.random.Generator) -> None:
    matrix = rng.normal(size=(20, 5))
    rows = np.flatnonzero(rng.random(20) < 0.5)
    np.testing.assert_array_equal(places_of(matrix[rows], matrix), rows)
    assert places_of(matrix[rows[::-1]], matrix) is None
    assert places_of(matrix[rows] + 1e-15, matrix) is None


def test_costs(rng: np.random.Generator) -> None:
    parts = [10 ** rng.uniform(-3, 3, size=size) for size in (3, 1, 4, 5)]
    found = costs_of(reduce(np.kron, parts), [3, 1, 4, 5])
    assert found is not None and [len(c) for c in found] == [3, 1, 4, 5]
    np.testing.assert_allclose(reduce(np.kron, found), reduce(np.kron, parts), rtol=ROUNDING)
    assert costs_of(rng.uniform(1, 2, size=60), [3, 4, 5]) is None


def rectangles(sizes: list[int], count: int, rng: np.random.Generator) -> np.ndarray:
    """Random ranges in several dimensions: not a product, and neither are its costs."""
    rows = []
    for size in sizes:
        ends = np.sort(rng.integers(0, size, size=(count, 2)), axis=1)
        cells = np.arange(size)
        rows.append(((cells >= ends[:, :1]) & (cells <= ends[:, 1:])).astype(float))
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(count, -1), rows)


def solve_both(
    program: str, workload: Workload, design: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, np.ndarray]], list[type]]:
    """The last variables by factors and dense, and which operators they were found with."""
    instance = bind(Program.load(program), workload, {"Q": design})
    found, kinds = [], []
    for least in (1, design.size + 1):
        monkeypatch.setattr(weight_steps, "LEAST_ENTRIES", least)
        kinds.append(type(SHIPPED[program].parts(instance.env, 1e-3)[0].problem().operator))
        with Clock(60.0) as clock:
            offered = points(program, instance.env, Options(FINE), clock)
            found.append(next(point.variables for point in offered if point.variables))
    return found, kinds


def test_programs_use_the_factors(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Few ranges lean on some rows of the wavelet only, and the others are dropped."""
    for program, rows in itertools.product(
        ["query_weighting", "query_weighting_inverse", "laplace_weighting", "laplace_weighting_power"],
        [200, 5],
    ):
        with subtests.test(program, rows=rows), pytest.MonkeyPatch.context() as patch:
            workload = Workload.from_matrix(rectangles([8, 8], rows, rng))
            (one, other), kinds = solve_both(program, workload, np.kron(haar(8), haar(8)), patch)
            assert kinds[0] is Kronecker and kinds[1] is not Kronecker
            name = SHIPPED[program].weights
            np.testing.assert_allclose(one[name], other[name], rtol=1e-3, atol=1e-3 * other[name].max())


def test_the_dual_program_too(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload.from_matrix(rectangles([4, 4, 4], 100, rng))
    design = reduce(np.kron, [haar(4), identity(4), haar(4)])
    (one, other), kinds = solve_both("query_weighting_dual", workload, design, monkeypatch)
    assert kinds[0] is Kronecker
    assert one["mu"].sum() == pytest.approx(other["mu"].sum(), rel=1e-8)


def test_the_forecast_knows_products(rng: np.random.Generator) -> None:
    arrays = rng.normal(size=(1024, 1024))
    dense = needs("query_weighting", {"D": arrays, "Q": arrays})
    by_factors = needs("query_weighting", {"D": np.kron(haar(32), haar(32)), "Q": arrays})
    assert by_factors[0] < dense[0] and by_factors[1] < dense[1]
    assert needs("query_weighting", {"S": np.kron(haar(32), haar(32))}) == needs(
        "query_weighting", {"S": arrays}
    )
