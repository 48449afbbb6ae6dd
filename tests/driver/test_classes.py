"""Programs of the other classes, and the other ends of a certificate: upper bounds, blocks, the point."""

import numpy as np
import pytest
from cases import random_workload
from tolerances import GAP_INTERIOR, RECOMPUTED, ROUNDING

from mmopt import OptionError, Program, Workload, solve

CLOSED = """program halves
class closed form
given
    W: matrix[m, n] = workload.matrix
let
    A = eye(n) / 2
minimize
    max(sum(A * A, axis=0)) * trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
certificate
    nuclear(W)**2 / n
"""
QUADRATIC = """program quadratic
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n]
minimize
    sum((x - 3)**2) + sum(x)
subject to
    floor: x >= OFFSET
strategy
    eye(n) norm 2
certificate y: vector[n] >= 0 from dual(floor)
    n * 9 + OFFSET * sum(y) - sum((5 + y)**2) / 4
"""


def test_a_closed_form_of_ones_own(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    found = solve(w, Program.parse(CLOSED))
    assert found.objective == pytest.approx((w.matrix**2).sum(), rel=RECOMPUTED)
    assert found.bound == pytest.approx(
        np.linalg.svd(w.matrix, compute_uv=False).sum() ** 2 / w.n, rel=RECOMPUTED
    )
    assert found.status.stop == "closed form" and found.bound <= found.objective
    assert found.error == pytest.approx(found.objective, rel=RECOMPUTED)


def test_a_closed_form_has_no_solver() -> None:
    with pytest.raises(OptionError, match="'halves' is a closed form; nothing is left to scs"):
        solve(Workload.from_matrix(np.eye(2)), Program.parse(CLOSED), solver="scs")


def test_a_quadratic_objective(subtests: pytest.Subtests) -> None:
    """Solvers that take quadratic objectives must not lose them; at 2.5 the objective has its minimum."""
    for solver in ["clarabel", "scs"]:
        for offset in ["0", "4"]:
            with subtests.test(solver=solver, offset=offset):
                n = 3
                found = solve(
                    Workload.from_matrix(np.eye(n)),
                    Program.parse(QUADRATIC.replace("OFFSET", offset)),
                    solver=solver,
                )
                x = max(2.5, float(offset))
                assert found.objective == pytest.approx(n * ((x - 3) ** 2 + x), rel=1e-4)
                assert found.bound is not None and found.bound <= found.objective


def test_a_negative_optimum_has_a_negative_bound() -> None:
    text = QUADRATIC.replace("sum((x - 3)**2) + sum(x)", "sum((x - 3)**2) + sum(x) - 100")
    text = text.replace("n * 9 +", "n * 9 - 100 +").replace("OFFSET", "0")
    found = solve(Workload.from_matrix(np.eye(2)), Program.parse(text), solver="clarabel")
    assert found.bound is not None and found.bound <= found.objective < 0
    assert found.gap is not None and 0 <= found.gap <= GAP_INTERIOR


def test_dual_programs_bound_from_above(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for name in ["l2_strategy", "query_weighting", "laplace_weighting"]:
        with subtests.test(name):
            w = (
                random_workload(rng)
                if name == "l2_strategy"
                else Workload.from_matrix(rng.normal(size=(6, 4)))
            )
            primal, dual = solve(w, name), solve(w, f"{name}_dual")
            assert dual.sense == "maximize" and primal.sense == "minimize"
            assert dual.bound is not None and primal.bound is not None
            # Each objective is a bound on the other: the intervals meet.
            assert dual.objective <= dual.bound and primal.bound <= primal.objective
            assert dual.objective <= primal.objective * (1 + ROUNDING)
            assert primal.bound <= dual.bound * (1 + ROUNDING)
            assert dual.gap is not None and dual.gap <= 1e-4


def test_a_multiplier_of_a_block_is_that_of_the_inequality(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(5, 4)), targets=rng.uniform(0.5, 2.0, size=5))
    plain, blocks = solve(w, "fitness_for_use"), solve(w, "fitness_lmi")
    assert blocks.multipliers["privacy[1, 1]"].shape == plain.multipliers["privacy"].shape == (w.n,)
    assert blocks.gap is not None and blocks.gap <= GAP_INTERIOR
