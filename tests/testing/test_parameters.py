"""Shipped certificates hold at other values of the parameters than those that a file states.

Guards certificate_trials.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mmopt import Program, Workload, solve
from mmopt.compiler import bind
from mmopt.driver.judge.score_and_meaning import bound_of
from mmopt.language import program_names
from mmopt.testing.certificate_trials import draw_multiplier

ROUNDING = 1e-9


def _held(w: Workload, rng: np.random.Generator) -> dict[str, Any]:
    """The givens that fitness_refined passes on after its first round, for one query: some have to be
    free."""
    first = solve(w, "fitness_for_use")
    tight = w.targets * first.multipliers["accuracy"]
    return {"held": (tight == tight.max()).astype(float), "S0": first.covariance}


# Programs with parameters that a certificate or objective depends on, and values of them.
VALUES: dict[str, Callable[[Workload, np.random.Generator], dict[str, Any]]] = {
    "barrier_step": lambda w, rng: {"t": rng.uniform(0.1, 100.0)},
    "banded_strategy": lambda w, rng: {"b": rng.integers(1, 3), "k": rng.integers(1, 5)},
    "common_mechanism": lambda w, rng: {"S2": np.diag(rng.uniform(0.1, 4.0, w.rank))},
    "fitness_budget": lambda w, rng: {"budget": rng.uniform(2.0, 9.0)},
    "fitness_hybrid": lambda w, rng: {"total": rng.uniform(0.1, 3.0)},
    "fitness_level": _held,
    "group_weighting": lambda w, rng: {"u0": rng.uniform(0.1, 2.0, w.rank)},
    "low_rank_gaussian_strategy": lambda w, rng: {
        "beta": rng.uniform(1.0, 5.0),
        "near": rng.uniform(0.5, 2.0),
    },
    "low_rank_reconstruction": lambda w, rng: {"beta": rng.uniform(1.0, 5.0)},
    "low_rank_strategy": lambda w, rng: {"beta": rng.uniform(1.0, 5.0)},
    # The first two are known, of one row in each cell; the third may be out of reach.
    "refine_counts": lambda w, rng: {
        "y": np.append(w.queries[:2].sum(axis=1), 100.0 * rng.normal()),
        "s": rng.uniform(0.5, 2.0, w.m),
        "known": np.array([1.0, 1.0, 0.0]),
        "low": -rng.uniform(0.0, 0.1, w.n),
        "most": 1000.0,
    },
    # A sum of counts, and one row in each cell.
    "refine_tables": lambda w, rng: {
        "y": 10.0 * rng.normal(size=w.m),
        "s": rng.uniform(0.5, 2.0, w.m),
        "K": np.array([[1.0, 1.0, -1.0, 0.0], [0.0, 1.0, 1.0, 1.0]]),
        "v": np.array([1.0, 3.0]),
        "low": -rng.uniform(0.0, 0.1, w.n),
        "most": 1000.0,
    },
    "separate_weighting": lambda w, rng: {"size": 2.0},
    "user_level_strategy": lambda w, rng: {"k": rng.integers(1, 6)},
    "weighted_l2": lambda w, rng: {"power": rng.uniform(0.0, 2.0)},
}


def test_every_convex_program_with_parameters_is_here() -> None:
    known = {name: Program.load(name) for name in program_names()}
    assert set(VALUES) == {n for n, p in known.items() if p.parameters and p.problem_class == "convex"}


@pytest.mark.some(4, rest="slow")
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("draw", [0, 1, 2])
def test_no_multipliers_beat_a_feasible_point(name: str, draw: int, rng: np.random.Generator) -> None:
    program = Program.load(name)
    w = Workload.from_matrix(rng.normal(size=(3, 4)), targets=rng.uniform(0.5, 3.0, 3))
    own = {d.name: np.vstack([np.eye(4), np.ones((1, 4))]) for d in program.givens if not d.source}
    givens = {**own, **VALUES[name](w, rng)}
    s = solve(w, program, givens=givens, reduce=False)
    assert s.gap is not None and 0 <= s.gap <= 1e-4
    instance, certificate = bind(program, w, givens), program.certificate
    assert certificate is not None
    sign = 1.0 if program.sense == "minimize" else -1.0
    least = sign * s.objective - ROUNDING * abs(s.objective)
    for _ in range(60):
        multipliers = {key: np.exp(rng.normal(size=np.shape(v))) * v for key, v in s.multipliers.items()}
        if rng.random() < 0.5:
            multipliers = {key: draw_multiplier(rng, np.shape(v)) for key, v in s.multipliers.items()}
        bound = bound_of(instance, multipliers)
        assert bound is None or sign * bound <= least + 2 * ROUNDING * abs(least)
