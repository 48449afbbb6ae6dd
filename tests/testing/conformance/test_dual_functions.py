"""Derivatives that are right pass, wrong ones are found.

Guards checks_and_report.py.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.testing import Dual
from mmopt.testing.conformance import check_dual
from mmopt.testing.conformance.checks_and_report import kernel_duals


def nuclear(rows: np.ndarray, at: np.ndarray) -> Dual:
    """The certificate of l2_strategy, log ‖W diag(√d)‖²∗ − log Σd, without its second derivative."""

    def value(d: np.ndarray) -> float:
        return float(2 * np.log(np.linalg.svd(rows * np.sqrt(d), compute_uv=False).sum()) - np.log(d.sum()))

    def gradient(d: np.ndarray) -> np.ndarray:
        _, sizes, right = np.linalg.svd(rows * np.sqrt(d), full_matrices=False)
        return np.asarray((sizes @ right**2) / (d * sizes.sum()) - 1 / d.sum())

    return Dual(value, gradient, at)


def barrier(at: np.ndarray, rng: np.random.Generator) -> Dual:
    """Σ log x − xᵀ P x / 2."""
    rows = rng.normal(size=(at.size, at.size))
    matrix = rows.T @ rows
    return Dual(
        lambda x: float(np.log(x).sum() - x @ matrix @ x / 2),
        lambda x: np.asarray(1 / x - matrix @ x),
        at,
        lambda x: np.asarray(-np.diag(x**-2) - matrix),
    )


def test_right_ones_pass(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """Also where entries of the point differ by many orders of magnitude."""
    for spread in [0.0, 2.0, 6.0]:
        with subtests.test(str(spread)):
            at = 10.0 ** rng.uniform(-spread, 0.0, size=6)
            assert check_dual(nuclear(np.tri(6), at), rng) == []
            assert check_dual(barrier(at, rng), rng) == []


def wrong_scale(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: 1.001 * f(x)


def wrong_entry(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def changed(x: np.ndarray) -> np.ndarray:
        found = f(x).copy()
        found[..., 0] *= 1.01
        return found

    return changed


def test_what_a_kernel_climbs(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for kernel, program in [
        ("nuclear", "l2_strategy"),
        ("weighting", "query_weighting"),
        ("banded", "banded_strategy"),
    ]:
        with subtests.test(kernel):
            duals = kernel_duals(kernel)
            assert duals is not None
            dual = duals(Workload.from_matrix(np.tri(6)), Program.load(program))
            assert dual is not None and check_dual(dual, rng) == []
            assert check_dual(replace(dual, gradient=wrong_scale(dual.gradient)), rng) != []


def test_wrong_ones_are_found(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for wrong in [wrong_scale, wrong_entry]:
        with subtests.test(wrong.__name__):
            at = rng.uniform(0.5, 2.0, size=6)
            one, other = nuclear(np.tri(6), at), barrier(at, rng)
            for dual in (one, other):
                found = check_dual(replace(dual, gradient=wrong(dual.gradient)), rng)
                what, expected, got = found[0]
                assert what.startswith("derivative along direction ") and expected != got
            assert other.hessian is not None
            found = check_dual(replace(other, hessian=wrong(other.hessian)), rng)
            assert found[-1][0].startswith("second derivative along direction ")
            uneven = "largest difference between the second derivative and its transpose"
            assert (found[0][0] == uneven) is (wrong is wrong_entry)


def test_a_nan_is_no_derivative(rng: np.random.Generator) -> None:
    dual = replace(barrier(np.ones(3), rng), gradient=lambda x: np.full(3, np.nan))
    assert len(check_dual(dual, rng)) > 0
