"""What a reduction leads back proves as much as the unreduced solve, before anything is repaired.

Guards solve_blocks_apart.py, solve_kronecker_factors.py, split_by_sectors.py, split_by_symmetry.py.
"""

import itertools

import numpy as np
import pytest
from scipy.linalg import block_diag

from mmopt import Attribute, Domain, Program, Workload, solve
from mmopt.compiler import bind
from mmopt.compiler.reductions import REDUCTIONS, SolvedPart, traits_of
from mmopt.driver.judge.score_point import bound_of
from mmopt.driver.solve_convex import solve_convex
from mmopt.driver.solve_plan import SolvePlan, Task
from mmopt.numerics.split_arrays import Level
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks

# Of parts, of which each is solved to a gap of 1e-8.
CLOSE = 1e-6


def workloads(rng: np.random.Generator) -> dict[str, Workload]:
    """For each reduction one that it makes smaller, and which is none of its special cases."""
    rows = rng.normal(size=(5, 4))
    several = block_diag(rng.normal(size=(3, 2)), 5.0 * rng.normal(size=(4, 3)), rng.normal(size=(1, 1)))
    domain = Domain((Attribute("a", ("x", "y", "z")), Attribute("b", ("u", "v"))))
    made = Product((factor_blocks.prefix(3), factor_blocks.identity(2)), weight=2.5, target=3.0)
    return {
        "merge cells": _asked(np.repeat(rows, [1, 3, 2, 1], axis=1), rng),
        "Kronecker product": Workload.from_products(domain, [made]),
        "independent blocks": _asked(several, rng),
        "parallel queries": _asked(np.vstack([rows, 3.0 * rows[:2], -0.5 * rows[:2]]), rng),
        "value symmetry": Workload.from_matrix(
            np.vstack([np.ones(4), np.eye(4)]), rng.uniform(0.5, 3.0, 2)[[0, 1, 1, 1, 1]]
        ),
    }


def _asked(rows: np.ndarray, rng: np.random.Generator) -> Workload:
    return Workload.from_matrix(rows, targets=rng.uniform(0.5, 3.0, len(rows)))


def scaled(value: np.ndarray | Level, size: float) -> np.ndarray | Level:
    return Level(value.space, size * value.values) if isinstance(value, Level) else size * value


@pytest.mark.quick
def test_a_lift_has_the_bound_and_the_strategy(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for name, reduction in itertools.product(["l2_strategy", "fitness_for_use"], REDUCTIONS):
        with subtests.test(reduction.name, name=name):
            w = workloads(rng)[reduction.name]
            instance = bind(Program.load(name), w)
            plan = reduction.applies(instance, traits_of(instance))
            assert plan is not None
            solved = [solve_convex(Task(SolvePlan(part), asked={"tolerance": 1e-8})) for part in plan.parts]
            # A certificate does not depend on the size of its multipliers, and neither may a lift.
            sizes = 10.0 ** rng.uniform(-2, 2, len(solved))
            parts = [
                {n: scaled(v, size) for n, v in s.multipliers.items()}
                for s, size in zip(solved, sizes, strict=True)
            ]
            lifted = plan.lift(
                [SolvedPart(s.strategy, m, s.bound) for s, m in zip(solved, parts, strict=True)]
            )
            whole = solve(w, name, reduce=False, tolerance=1e-8)
            assert whole.bound is not None and lifted.bound is not None
            proved = bound_of(instance, lifted.multipliers)
            assert proved == pytest.approx(whole.bound, rel=CLOSE)
            assert lifted.bound == pytest.approx(whole.bound, rel=CLOSE)
            a = lifted.strategy.matrix
            variances = np.square(w.queries @ np.linalg.pinv(a, rcond=1e-12)).sum(axis=1)
            cost = np.square(a).sum(axis=0).max()
            worth = (w.weights * variances).sum() if name == "l2_strategy" else (variances / w.targets).max()
            assert cost * worth == pytest.approx(whole.objective, rel=CLOSE)
