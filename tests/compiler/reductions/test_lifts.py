"""A lifted solution proves as much as the unreduced solve, before anything is repaired.

Guards merge_and_split.py, symmetry_and_row_space.py.
"""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from mmopt import Attribute, Domain, Program, Workload, solve
from mmopt.compiler import bind
from mmopt.compiler.reductions import REDUCTIONS, SolvedPart, traits_of
from mmopt.compiler.reductions.merge_and_split import IndependentBlocks
from mmopt.driver.judge.score_and_meaning import bound_of
from mmopt.driver.solve_convex import solve_convex
from mmopt.driver.task_and_plan import SolvePlan, Task
from mmopt.numerics.component_arrays import Level
from mmopt.workloads import Factor, Product, factors_and_products

FACTORS: tuple[Callable[[int], Factor], ...] = (
    factors_and_products.identity,
    factors_and_products.total,
)

# Of parts, of which each is solved to a gap of 1e-8.
CLOSE = 1e-6


def workloads(rng: np.random.Generator) -> dict[str, Workload]:
    """For each reduction one that it makes smaller, and which is none of its special cases."""
    rows = rng.normal(size=(5, 4))
    several = block_diag(rng.normal(size=(3, 2)), 5.0 * rng.normal(size=(4, 3)), rng.normal(size=(1, 1)))
    domain = Domain((Attribute("a", ("x", "y", "z")), Attribute("b", ("u", "v"))))
    made = Product((factors_and_products.prefix(3), factors_and_products.identity(2)), weight=2.5, target=3.0)
    return {
        "merge cells": _asked(np.repeat(rows, [1, 3, 2, 1], axis=1), rng),
        "Kronecker product": Workload.from_products(domain, [made]),
        "independent blocks": _asked(several, rng),
        "parallel queries": _asked(np.vstack([rows, 3.0 * rows[:2], -0.5 * rows[:2]]), rng),
        "symmetry between attribute values": Workload.from_matrix(
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
            solved = [
                solve_convex(Task(SolvePlan(part), overrides={"tolerance": 1e-8})) for part in plan.parts
            ]
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


@pytest.mark.quick
def test_blocks_of_products_are_those_of_their_queries(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found factor by factor; the queries are listed only where there are two blocks or more."""
    listed = Workload.queries.func
    found, several = [], 0
    for _ in range(60):
        sizes = rng.integers(1, 5, size=rng.integers(1, 4)).tolist()
        domain = Domain(tuple(Attribute(f"a{i}", tuple(map(str, range(n)))) for i, n in enumerate(sizes)))
        made = [Product(tuple(drawn(rng, n) for n in sizes)) for _ in range(rng.integers(1, 4))]
        w = Workload.from_products(domain, made)
        with monkeypatch.context() as patch:
            patch.setattr(Workload, "queries", property(lambda own: found.append(own) or listed(own)))
            step = _step_of_blocks(w)
        touched = csr_array(listed(w) != 0)
        graph = block_array([[None, touched], [touched.T, None]])
        labels = connected_components(graph, directed=False)[1][w.m :]
        apart = [np.flatnonzero(labels == label).tolist() for label in dict.fromkeys(labels.tolist())]
        is_touched = bool((w.cell_classes >= 0).all())
        blocks = [] if step is None else [own.tolist() for own in step.cells]
        assert blocks == (apart if len(apart) > 1 and is_touched else []) and bool(found) == bool(blocks)
        several += bool(blocks)
        found.clear()
    assert several > 5
    block = np.kron(np.eye(2), np.tri(300))  # looked at in several pieces
    step = _step_of_blocks(Workload.from_matrix(block))
    assert step is not None and [len(own) for own in step.cells] == [300, 300]


def _step_of_blocks(w: Workload) -> IndependentBlocks | None:
    instance = bind(Program.load("l2_strategy"), w)
    step = next(row for row in REDUCTIONS if row.name == "independent blocks").applies(
        instance, traits_of(instance)
    )
    assert step is None or isinstance(step, IndependentBlocks)
    return step


def drawn(rng: np.random.Generator, n: int) -> Factor:
    """Often all cells, or one by one; else a few queries, which may leave a cell untouched."""
    if rng.random() < 0.4:
        return FACTORS[int(rng.integers(2))](n)
    rows = (rng.random((int(rng.integers(1, 4)), n)) < 0.4) * rng.choice([1.0, -1.0, 2.0])
    rows[0, int(rng.integers(n))] = 1.0
    return factors_and_products.predicates(np.unique(rows[rows.any(axis=1)], axis=0))
