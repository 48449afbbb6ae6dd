"""Soft maxima in their weights: both sides are what the program file says, and a step climbs."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import DIFFERENCES, RECOMPUTED, ROUNDING

from mmopt import Program, Workload
from mmopt.compiler import Instance, bind
from mmopt.language import evaluate
from mmopt.solvers.softmax import Soft, direction, state

pytestmark = pytest.mark.quick

STEP = 1e-4


def case(rng: np.random.Generator, hybrid: float, t1: float = 3.0, t2: float = 5.0) -> tuple[Instance, Soft]:
    w = Workload.from_matrix(rng.normal(size=(7, 5)), targets=rng.uniform(0.5, 5.0, size=7))
    env = {"t1": t1, "t2": t2, "hybrid": hybrid}
    instance = bind(Program.load("softmax_step"), w, env)
    left, basis = instance.env["L"], instance.env["B"]
    return instance, Soft(left @ basis, instance.env["c"], hybrid, len(basis), t1, t2)


@pytest.mark.parametrize("hybrid", [0.0, 0.2])
def test_both_sides_are_those_of_the_file(hybrid: float, rng: np.random.Generator) -> None:
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


@pytest.mark.parametrize("hybrid", [0.0, 0.2])
def test_a_step_keeps_the_sums_and_climbs_as_fast_as_it_says(hybrid: float, rng: np.random.Generator) -> None:
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
