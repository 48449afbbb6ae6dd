"""Optimal designs: Kiefer's equivalence theorem, for the dual of l2_strategy too.

A design of weights d is optimal for a mean of the eigenvalues of its information M exactly when no point has
a larger derivative than the mean over d (Pukelsheim, Optimal design of experiments, chapter 7):
v.T M**(p - 1) v is at most trace(M**p), with equality where d is positive. p = 1/2: l2_strategy_dual; 0: D;
-1: A.
"""

import numpy as np
import pytest

from mmopt import Workload, solve

POWERS = {"l2_strategy_dual": 0.5, "d_optimal_design": 0.0, "a_optimal_design": -1.0}


def power(m: np.ndarray, p: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(m)
    return np.asarray((vectors * values**p) @ vectors.T)


def points(workload: Workload) -> np.ndarray:
    """Independent rows with the Gram matrix of the queries."""
    b = workload.basis
    return power(b @ workload.gram @ b.T, 0.5) @ b


def test_equivalence_theorem(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in POWERS:
        with subtests.test(program):
            workload = Workload.from_matrix(rng.normal(size=(4, 9)))
            d = np.asarray(solve(workload, program, tolerance=1e-8).variables["d"])
            d, v, p = d / d.sum(), points(workload), POWERS[program]
            m = (v * d) @ v.T
            slope = ((power(m, p - 1.0) @ v) * v).sum(axis=0) / np.trace(power(m, p))
            assert slope.max() <= 1 + 1e-5
            assert slope[d > 1e-3] == pytest.approx(1.0, abs=1e-4)


def test_a_design_for_another_mean_is_not_one_for_total_error(rng: np.random.Generator) -> None:
    """The trace of the root, squared, bounds l2_strategy from below; its dual has the largest of all."""
    workload = Workload.from_matrix(rng.normal(size=(4, 9)))
    v, roots = points(workload), {}
    for program in (*POWERS, "e_optimal_design"):
        d = np.asarray(solve(workload, program).variables["d"])
        roots[program] = np.trace(power((v * (d / d.sum())) @ v.T, 0.5)) ** 2
    best = roots.pop("l2_strategy_dual")
    assert best == pytest.approx(solve(workload, "l2_strategy").objective, rel=1e-5)
    assert max(roots.values()) < best


def test_the_worst_directions_of_an_e_optimal_design(rng: np.random.Generator) -> None:
    workload = Workload.from_matrix(rng.normal(size=(4, 9)))
    found = solve(workload, "e_optimal_design", tolerance=1e-8)
    d, v = np.asarray(found.variables["d"]), points(workload)
    y = np.asarray(found.multipliers["least[0, 0]"])
    reach = ((y @ v) * v).sum(axis=0) / np.trace(y)
    assert np.linalg.eigvalsh((v * d) @ v.T)[0] == pytest.approx(found.objective)
    assert reach.max() == pytest.approx(found.objective, rel=1e-5)
    assert reach[d > 1e-3] == pytest.approx(found.objective, rel=1e-4)


def test_what_two_mechanisms_have_in_common_has_a_closed_form_without_its_sign(
    rng: np.random.Generator,
) -> None:
    """Where S1 less the positive part of S1 - S2 is psd; and it is an upper bound everywhere."""
    workload = Workload.from_matrix(rng.normal(size=(4, 4)))
    for size in (0.3, 3.0):
        s1 = size * (lambda a: a.T @ a)(rng.normal(size=(5, 4)))
        values, vectors = np.linalg.eigh(s1 - np.eye(4))
        closed = s1 - (vectors * np.maximum(values, 0.0)) @ vectors.T
        found = solve(workload, "common_mechanism", givens={"S1": s1})
        assert found.objective <= np.trace(closed) * (1 + 1e-9) + 1e-9
        if np.linalg.eigvalsh(closed)[0] >= 0:
            assert found.objective == pytest.approx(np.trace(closed), rel=1e-5)
