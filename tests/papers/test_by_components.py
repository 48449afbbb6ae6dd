"""Known optima at sizes where no matrix over the cells exists: a plain fixed point over components.

Both sides come from the program file, evaluated on structured values: the bound is its certificate at the
multipliers, the objective that of the repaired point.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import tolerances
from named_workloads import census
from symmetric_workloads import random_products

from mmopt import Program, Workload
from mmopt.language import evaluate, evaluate_ball, worst
from mmopt.numerics.component_arrays import Level, Space, Split, floored
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals


def halves(parts: tuple[np.ndarray, ...]) -> tuple[list[np.ndarray], list[np.ndarray], list[float]]:
    """(KᵀK)^½, the diagonal of (KKᵀ)^½ and the nuclear norm of each K."""
    right, left, sums = [], [], []
    for part in parts:
        u, s, vt = np.linalg.svd(part, full_matrices=False)
        right.append((vt.T * s) @ vt)
        left.append((u**2) @ s)
        sums.append(float(s.sum()))
    return right, left, sums


def means(space: Space, diagonals: list[np.ndarray]) -> np.ndarray:
    """Diagonals of components as levels."""
    out = np.zeros(len(space.sizes))
    for copies, labels, own in zip(space.multiplicities, space.labels, diagonals, strict=True):
        np.add.at(out, labels, copies * own)
    return out / space.sizes


def fixed_point(root: Split, steps: int) -> tuple[Level, Split, list[float]]:
    """p <- p diag(X)² with X = D^-½ (D^½ G D^½)^½ D^-½, D = diag(p): cell weights, X, nuclear norms."""
    cells, norms = root.columns, []
    p = np.full(len(cells.sizes), 1.0 / cells.sizes.sum())
    for _ in range(steps):
        scales = [np.sqrt(p[own]) for own in cells.labels]
        roots, _, sums = halves(tuple(r * d for r, d in zip(root.parts, scales, strict=True)))
        norms.append(float(cells.multiplicities @ sums))
        x = Split(cells, cells, tuple(h / np.outer(d, d) for h, d in zip(roots, scales, strict=True)))
        weights = Level(cells, p)
        p = p * means(cells, [np.diag(part) for part in x.parts]) ** 2
        p = p / (cells.sizes @ p)
    return weights, x, norms


def both_sides(program: Program, env: Mapping[str, Any], point: Mapping[str, Any]) -> tuple[float, float]:
    """The certificate rounded down and the objective of the repaired point rounded up."""
    assert program.certificate is not None
    assert program.objective is not None
    low = evaluate_ball(program.certificate.expr, {**env, **point})
    own = {**env, **{k: floored(v) if isinstance(v, Split) else v for k, v in point.items()}}
    for step in program.repair:
        own[step.name] = evaluate(step.expr, own)
    assert all(worst(c, own)[0] <= 1e-12 for c in program.constraints)
    high = evaluate_ball(program.objective, own)
    assert float(low.lower) <= float(high.upper)
    return float(low.lower), float(high.upper)


def total_error(workload: Workload, steps: int) -> tuple[float, float]:
    found = symmetry(workload, False)
    assert found is not None
    root = found.sources["workload.root"]
    assert isinstance(root, Split)
    weights, x, _ = fixed_point(root, steps)
    return both_sides(Program.load("l2_strategy"), {"W": root}, {"X": x, "d": weights})


MARGINALS = [([2], 20682.04), ([0, 1, 2], 23560.71), ([0, 1, 2, 3], 311984.60), (range(6), 1800173.09)]


def test_marginals(subtests: pytest.Subtests) -> None:
    """Over 2 × 5 × 16 × 20 × 75 cells: one orbit, so the first weights are optimal."""
    for ways, value in MARGINALS:
        with subtests.test(str(ways)):
            low, high = total_error(marginals([2, 5, 16, 20, 75], ways), 1)
            assert low == pytest.approx(value, rel=tolerances.PUBLISHED)
            assert high == pytest.approx(low, rel=1e-9)


def test_the_census_workload_measured_cell_by_cell() -> None:
    found = symmetry(census(), False)
    assert found is not None
    root = found.sources["workload.root"]
    program = Program.load("l2_strategy")
    cells = root.columns
    same = Split(cells, cells, tuple(np.eye(d) for d in cells.dims))
    uniform = Level(cells, np.ones(len(cells.sizes)))
    assert program.objective is not None
    identity = evaluate(program.objective, {"W": root, "X": same})
    assert identity == pytest.approx(67.6525**2 * 4151, rel=tolerances.PRINTED)
    low, _ = both_sides(program, {"W": root}, {"X": same, "d": uniform})
    assert low == pytest.approx(9079.62, rel=tolerances.PUBLISHED)  # the singular value bound


@pytest.mark.slow
def test_the_census_workload_in_a_few_steps() -> None:
    low, high = total_error(census(), 30)
    assert low == pytest.approx(15050.845, rel=tolerances.PUBLISHED)
    assert high < 1.01 * low


@pytest.mark.nightly
def test_the_census_workload_to_the_end() -> None:
    """The optimum over all strategies of 4,151 queries over 500,480 cells."""
    low, high = total_error(census(), 600)
    assert 15050.845 < low < high < 15051.4


def test_components_go_the_way_of_the_dense_matrices(rng: np.random.Generator) -> None:
    """The fixed point from uniform weights keeps the symmetry, so each of its norms is the same."""
    found = None
    while found is None:
        workload = random_products(rng)
        found = symmetry(workload, False)
    n = workload.n
    alone = Space(np.ones(1), (n,), (np.arange(n),), np.ones(n))
    dense = Split(alone.abstract((len(workload.root),)), alone, (workload.root,))
    untouched = ~workload.root.any(axis=0)  # no weight after the first step
    steps = 1 if untouched.any() else 4
    found_norms, dense_norms = (fixed_point(r, steps)[2] for r in (found.sources["workload.root"], dense))
    np.testing.assert_allclose(found_norms, dense_norms, rtol=1e-6)


def privacy_cost(workload: Workload, steps: int) -> tuple[float, float]:
    """``fitness_for_use`` by the fixed point over cell weights p and query weights q."""
    found = symmetry(workload, True)
    assert found is not None
    left, right = found.sources["workload.representation"], found.sources["workload.basis"]
    targets = found.sources["workload.targets"]
    cells, queries, c = right.columns, left.rows, targets.values
    p = np.full(len(cells.sizes), 1.0 / cells.sizes.sum())
    q = 1.0 / (queries.sizes.sum() * c)
    asked = [a @ b for a, b in zip(left.parts, right.parts, strict=True)]
    for _ in range(steps):
        by_cell, by_query = ([np.sqrt(w[own]) for own in s.labels] for w, s in ((p, cells), (q, queries)))
        scaled = tuple(e[:, None] * w * d for e, w, d in zip(by_query, asked, by_cell, strict=True))
        roots, diagonals, _ = halves(scaled)
        x = tuple(h / np.outer(d, d) for h, d in zip(roots, by_cell, strict=True))
        point = {"p": Level(cells, p), "q": Level(queries, q)}
        p = p * means(cells, [np.diag(part) for part in x])
        q = means(queries, diagonals) / c
        p, q = p / (cells.sizes @ p), q / (queries.sizes @ (c * q))
    inner = left.columns
    sigma = Split(
        inner, inner, tuple(np.linalg.inv(b @ m @ b.T) for b, m in zip(right.parts, x, strict=True))
    )
    env = {"B": right, "L": left, "c": targets}
    return both_sides(Program.load("fitness_for_use"), env, {**point, "Sigma": sigma, "alpha": 1.0})


def test_privacy_cost_of_marginals(subtests: pytest.Subtests) -> None:
    """All one- and two-way marginals over side³ cells, targets 1."""
    for side, root in ((2, 1.47731), (4, 1.86330), (6, 2.02964), (8, 2.12236)):
        with subtests.test(str(side)):
            low, high = privacy_cost(marginals([side] * 3, [1, 2], target=1.0), 200)
            assert np.sqrt(low) == pytest.approx(root, rel=tolerances.FITNESS)
            assert np.sqrt(high) == pytest.approx(root, rel=tolerances.FITNESS)


@pytest.mark.nightly
def test_privacy_cost_of_the_census_workload() -> None:
    """All targets 1: both sides close in."""
    low, high = privacy_cost(census(target=1.0), 40)
    assert 0 < low < high < 2 * low
