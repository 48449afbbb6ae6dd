"""The kernel of banded strategies: its gradient, its gap, what it takes, and the sets of steps behind it."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from edited_programs import edited
from tolerances import GAP

from mmopt import Workload, solve
from mmopt.numerics.float_functions import windows
from mmopt.solvers.banded_kernel import Banded, takes


def problem(rng: np.random.Generator, n: int, b: int) -> tuple[Banded, np.ndarray]:
    """Random queries, and a random point."""
    made = Banded(rng.normal(size=(n + 1, n)), windows(np.ones(n), b), b)
    start = made.start()
    return made, start + rng.uniform(0.05, 0.5, size=len(start))


def test_gradient_and_gram_matrix(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for n, b in [(7, 1), (7, 3), (5, 5)]:
        with subtests.test(n=n, b=b):
            made, x = problem(rng, n, b)
            value, slope = made.value(x)
            gram, shares = made.gram(x)
            assert value == pytest.approx(
                np.trace(made.queries @ np.linalg.inv(gram) @ made.queries.T), rel=1e-9
            )
            assert np.diag(gram) == pytest.approx(made.cover.T @ shares, rel=1e-12)
            assert shares.sum() == pytest.approx(1.0) and not np.tril(gram, -b).any()
            numeric = scipy.optimize.approx_fprime(x, lambda y, made=made: made.value(y)[0], 1e-7)
            assert slope == pytest.approx(numeric, rel=1e-4, abs=1e-4 * np.abs(slope).max())


def largest_sum(diagonal: np.ndarray, b: int, k: int) -> float:
    """Over all sets of at most k steps of which any two are b apart."""
    sets = (s for size in range(1, k + 1) for s in itertools.combinations(range(len(diagonal)), size))
    return float(
        max(diagonal[list(s)].sum() for s in sets if all(j - i >= b for i, j in itertools.pairwise(s)))
    )


def test_as_a_conic_solver_and_no_set_of_steps_sums_to_more(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """The shares of windows say exactly that: at the optimum some set of steps sums to one."""
    for b, k in [(1, 3), (2, 9), (3, 2), (4, 1)]:
        with subtests.test(b=b, k=k):
            w = Workload.from_matrix(rng.normal(size=(7, 6)))
            givens = {"b": b, "k": k}
            one = solve(w, "banded_strategy", givens=givens)
            other = solve(w, "banded_strategy", givens=givens, solver="clarabel")
            assert (one.solver, other.solver) == ("banded", "clarabel")
            assert one.gap is not None and one.gap <= GAP and other.gap is not None
            assert one.objective == pytest.approx(other.objective, rel=1e-5)
            for x in (one.variables["X"], other.variables["X"]):
                assert largest_sum(np.diag(x), b, k) == pytest.approx(1.0, abs=1e-5)
                assert not np.triu(x, b).any()


def test_the_strategy_is_for_the_steps_of_one_person(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(7, 6)))
    found = solve(w, "banded_strategy", givens={"b": 2, "k": 2})
    assert str(found.strategy.neighbours) == "participation separation 2 at most 2"
    assert found.strategy.sensitivity == pytest.approx(1.0, abs=1e-6)
    assert found.error == pytest.approx(found.objective, rel=1e-6)
    # Over all strategies, banded or not.
    assert 0.0 < found.error_bound <= found.bound


def test_a_window_over_all_steps_is_one_row(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(6, 5)))
    found = solve(w, "banded_strategy", givens={"b": 9})
    assert found.objective == pytest.approx(solve(w, "l2_strategy").objective, rel=1e-5)


def test_columns_of_equal_length_are_not_the_best(subtests: pytest.Subtests) -> None:
    """They are jax_privacy's BandMF: the least error of those over 64 steps, times the participations."""
    for b, least in [(4, 0.08), (16, 0.04)]:
        with subtests.test(b=b):
            equal = {4: 660.35755, 16: 336.39018}[b] * 64 / b
            found = solve(Workload.from_matrix(np.tri(64)), "banded_strategy", givens={"b": b})
            assert found.gap is not None and found.gap <= GAP
            assert equal / found.objective - 1.0 >= least


def test_only_bands_are_taken() -> None:
    good = {"near": np.eye(3), "C": np.ones((1, 3)), "W": np.tri(3)}
    assert takes(good)
    assert not takes({**good, "near": np.eye(3)[::-1]})
    assert not takes({**good, "near": 2 * np.eye(3)})
    assert not takes({**good, "C": -np.ones((1, 3))})
    assert not takes({**good, "C": np.eye(3)[:2]})
    assert not takes({**good, "W": np.tri(3)[:2]})


def test_other_masks_and_dependent_cells_go_to_a_conic_solver() -> None:
    w = Workload.from_matrix(np.tri(4))
    assert solve(w, "banded_strategy", givens={"b": 2}).solver == "banded"
    blocks = "consecutive(ones(n), b).T @ consecutive(ones(n), b)"
    program = edited("banded_strategy", ("min(S.T @ S, 1)", blocks))
    assert solve(w, program, givens={"b": 2}).solver != "banded"
    assert solve(Workload.from_matrix(np.tri(4)[1:]), "banded_strategy").solver != "banded"
