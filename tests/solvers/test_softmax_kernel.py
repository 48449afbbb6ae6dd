"""Soft maxima in their weights: both sides are what the program file says, and a step climbs.

softmax_step and barrier_step through the pipeline: by their kernel, and by the general search or a conic
solver.
"""

import numpy as np
import pytest
from tolerances import DIFFERENCES, FINE, GAP_INTERIOR, RECOMPUTED, ROUNDING

from mmopt import Program, Workload, solve
from mmopt.compiler import Instance, bind
from mmopt.language import evaluate
from mmopt.solvers.softmax_kernel import TOLERANCE_WITH_BARRIER, Soft, direction, search, slacks_of, state

STEP = 1e-4


def case(rng: np.random.Generator, hybrid: float, t1: float = 3.0, t2: float = 5.0) -> tuple[Instance, Soft]:
    w = Workload.from_matrix(rng.normal(size=(7, 5)), targets=rng.uniform(0.5, 5.0, size=7))
    env = {"t1": t1, "t2": t2, "hybrid": hybrid}
    instance = bind(Program.load("softmax_step"), w, env)
    left, basis = instance.env["L"], instance.env["B"]
    return instance, Soft(left @ basis, instance.env["c"], hybrid, len(basis), t1, t2)


def test_both_sides_are_those_of_the_file(rng: np.random.Generator) -> None:
    for hybrid in [0.0, 0.2]:
        instance, soft = case(rng, hybrid)
        at = state(soft, rng.normal(size=5), rng.normal(size=7))
        program, basis = instance.program, instance.env["B"]
        sigma = basis @ at.noise @ at.noise.T @ basis.T
        assert program.objective is not None and program.certificate is not None
        env = {**instance.env, "Sigma": sigma}
        for let in program.lets:
            env[let.name] = evaluate(let.expr, env)
        assert at.upper == pytest.approx(evaluate(program.objective, env), rel=RECOMPUTED)
        env |= {"p": np.exp(at.p), "q": np.exp(at.q) / soft.targets}
        assert at.lower == pytest.approx(evaluate(program.certificate.expr, env), rel=RECOMPUTED)
        assert at.lower <= at.upper * (1 + ROUNDING)
        assert np.exp(at.p).sum() == pytest.approx(1.0, rel=ROUNDING)


def test_a_step_keeps_the_sums_and_climbs_as_fast_as_it_says(rng: np.random.Generator) -> None:
    for hybrid in [0.0, 0.2]:
        _, soft = case(rng, hybrid)
        at = state(soft, rng.normal(size=5), rng.normal(size=7))
        p, q = direction(soft, at, 0.0)
        assert np.exp(at.p) @ p == pytest.approx(0.0, abs=RECOMPUTED)
        assert np.exp(at.q) @ q == pytest.approx(0.0, abs=RECOMPUTED)
        ahead, behind = (state(soft, at.p + s * p, at.q + s * q).lower for s in (STEP, -STEP))
        slope = np.exp(at.p) * (at.costs - at.p / soft.cells) @ p
        slope += np.exp(at.q) * (at.variances - at.q / soft.queries) @ q
        assert slope > 0
        assert (ahead - behind) / (2 * STEP) == pytest.approx(slope, rel=10 * DIFFERENCES)


def barred(rng: np.random.Generator, t: float) -> tuple[Instance, Soft]:
    w = Workload.from_matrix(rng.normal(size=(7, 5)), targets=rng.uniform(0.5, 5.0, size=7))
    instance = bind(Program.load("barrier_step"), w, {"t": t})
    rows = instance.env["L"] @ instance.env["B"]
    return instance, Soft(rows, instance.env["c"], 0.0, 5, np.inf, np.inf, 1.0 / t)


def test_both_sides_with_a_barrier_are_those_of_the_file(rng: np.random.Generator) -> None:
    for t in (2.0, 300.0):
        instance, soft = barred(rng, t)
        # Weights of queries this large leave all of them slack.
        at = state(soft, rng.normal(size=5), rng.normal(size=7) + 5.0)
        assert np.isfinite(at.upper)
        basis, env = instance.env["B"], dict(instance.env)
        env |= {
            "Sigma": basis @ at.noise @ at.noise.T @ basis.T,
            "alpha": at.costs[0] + slacks_of(at.costs, t)[0],
        }
        for let in instance.program.lets:
            env[let.name] = evaluate(let.expr, env)
        assert t * at.upper == pytest.approx(evaluate(instance.program.objective, env), rel=RECOMPUTED)
        env |= {"p": np.exp(at.p), "q": t * np.exp(at.q) / soft.targets}
        assert t * at.lower == pytest.approx(evaluate(instance.program.certificate.expr, env), rel=RECOMPUTED)
        assert at.lower <= at.upper
        above, below = (env["alpha"] * (1 + s) for s in (1e-4, -1e-4))
        best, *others = (
            evaluate(instance.program.objective, env | {"alpha": a}) for a in (env["alpha"], above, below)
        )
        assert best < min(others)


def test_a_step_with_a_barrier_climbs_as_fast_as_it_says(rng: np.random.Generator) -> None:
    _, soft = barred(rng, 50.0)
    at = state(soft, rng.normal(size=5), rng.normal(size=7))
    p, q = direction(soft, at, soft.barrier)
    assert np.exp(at.p) @ p == pytest.approx(0.0, abs=RECOMPUTED)
    ahead, behind = (state(soft, at.p + s * p, at.q + s * q).lower for s in (STEP, -STEP))
    slope = (np.exp(at.p) * at.costs + soft.barrier) @ p
    slope += (np.exp(at.q) * (at.variances - 1.0) + soft.barrier) @ q
    assert slope > 0
    assert (ahead - behind) / (2 * STEP) == pytest.approx(slope, rel=10 * DIFFERENCES)


def test_weights_that_vanish_lose_no_digits(rng: np.random.Generator) -> None:
    _, soft = case(rng, 0.0)
    q = np.zeros(7)
    q[0] = -500.0
    at = state(soft, np.zeros(5), q)
    without = Soft(soft.rows[1:], soft.targets[1:], 0.0, soft.rank, soft.cells, soft.queries)
    left = state(without, np.zeros(5), np.zeros(6))
    assert at.costs == pytest.approx(left.costs, rel=RECOMPUTED)
    assert at.variances[1:] == pytest.approx(left.variances, rel=RECOMPUTED)
    sigma = at.noise @ at.noise.T
    assert at.variances[0] == pytest.approx(soft.rows[0] @ sigma @ soft.rows[0] / soft.targets[0], rel=1e-8)


SHARP = {"t1": 2e4, "t2": 1e4}


def workload(rng: np.random.Generator, m: int = 9, n: int = 6) -> Workload:
    return Workload.from_matrix(rng.normal(size=(m, n)), targets=rng.uniform(0.5, 5.0, size=m))


def test_the_kernel_and_the_general_search_agree(rng: np.random.Generator) -> None:
    for hybrid in [0.0, 0.1]:
        w = workload(rng)
        givens = {"t1": 20.0, "t2": 5.0, "hybrid": hybrid}
        kernel, general = (solve(w, "softmax_step", solver=s, givens=givens) for s in (None, "lbfgs"))
        assert (kernel.solver, general.solver) == ("softmax", "lbfgs")
        assert kernel.gap is not None and kernel.gap <= GAP_INTERIOR
        assert kernel.objective == pytest.approx(general.objective, rel=2 * GAP_INTERIOR)


def test_the_kernel_of_a_barrier_and_a_conic_solver_agree(rng: np.random.Generator) -> None:
    for t in (0.1, 100.0):
        w = workload(rng)
        kernel, conic = (solve(w, "barrier_step", solver=s, givens={"t": t}) for s in (None, "clarabel"))
        assert (kernel.solver, conic.solver) == ("barrier", "clarabel")
        assert kernel.gap is not None and kernel.gap <= TOLERANCE_WITH_BARRIER
        assert kernel.objective == pytest.approx(conic.objective, abs=2 * TOLERANCE_WITH_BARRIER)


def test_a_barrier_far_beyond_rounding_says_that_the_gap_is_not_reached() -> None:
    for size, t in ((1e3, 1e8), (1e8, 1e12)):
        w = Workload.from_matrix(size * np.vstack([np.eye(3), np.ones((2, 3))]), targets=np.arange(1.0, 6.0))
        s = solve(w, "barrier_step", givens={"t": t})
        assert s.status.stop == "gap not reached" and s.bound is not None and s.bound <= s.objective
        assert s.objective == pytest.approx(t * s.privacy_cost**2, rel=1e-3)


@pytest.mark.some(2)
@pytest.mark.parametrize("m, n", [(30, 12), (7, 5), (12, 12), (5, 9)])
def test_the_steps_of_a_barrier_end_within_its_gap(m: int, n: int, rng: np.random.Generator) -> None:
    """The central path ends at the optimum of fitness_for_use, no further from it than (n + m) / t."""
    rows = (rng.random((m, n)) < 0.4) + np.eye(m, n)
    w = Workload.from_matrix(rows, targets=rng.uniform(0.5, 5.0, size=m))
    s, best = solve(w, "fitness_barrier", givens={"precision": 1e-3}), solve(w, "fitness_for_use")
    assert s.status.stop == "gap reached in every step"
    assert best.bound is not None and best.bound <= s.objective <= best.objective * (1 + 1e-3)
    assert s.gap is not None and 0 <= s.gap <= 1e-3


def test_a_coarse_precision_is_of_the_gap() -> None:
    """One query of nearly equal cells: (n + m) / t is nearly half of the cost, and so most of the bound."""
    rows = np.full((1, 100), 0.7)
    rows[0, 0] = 1.0
    precision = 0.4951  # n + m over t, over the cost, at the first step
    s = solve(Workload.from_matrix(rows, targets=[1.0]), "fitness_barrier", givens={"precision": precision})
    assert s.gap is not None and 0 <= s.gap <= precision


def test_sharp_maxima_to_a_fine_gap(rng: np.random.Generator) -> None:
    s = solve(workload(rng, 40, 16), "softmax_step", givens=SHARP, tolerance=FINE)
    assert s.status.stop == "gap reached" and s.gap is not None and 0 <= s.gap <= FINE


def test_queries_that_do_not_count_and_cells_alike() -> None:
    w = Workload.from_matrix(np.vstack([np.eye(4), np.ones((1, 4))]), targets=[1.0, 1.0, 1.0, 1.0, 1e6])
    s = solve(w, "softmax_step", givens=SHARP)
    assert s.gap is not None and s.gap <= GAP_INTERIOR
    assert s.privacy_cost**2 == pytest.approx(1.0, rel=1e-3)


def test_any_queries_reach_their_gap(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Also where some queries, or cells, could do with no noise at all or with any amount of it."""
    for m, n in [(30, 12), (7, 5), (60, 20), (12, 12)]:
        with subtests.test(m=m, n=n):
            rows = rng.normal(size=(m, n)) if rng.random() < 0.5 else (rng.random((m, n)) < 0.4) * 1.0
            t = float(rng.choice([1e3, 30.0, 1e5]))
            rank = int(np.linalg.matrix_rank(rows))
            iterates = search(
                Soft(rows, rng.uniform(0.5, 5.0, size=m), float(rng.choice([0.0, 0.1])), rank, t, t)
            )
            with np.errstate(all="ignore"):
                at, place = next(iterates)
                for _ in range(40):
                    if place == "there" and at.gap <= GAP_INTERIOR:
                        break
                    at, place = iterates.send(GAP_INTERIOR / 2)
            assert place == "there" and -1e-12 <= at.gap <= GAP_INTERIOR
