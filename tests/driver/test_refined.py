"""fitness_refined has the least profile of all that solve fitness_for_use; a hybrid lies between its ends."""

import numpy as np
import pytest
from named_workloads import NAMED, named, random_workload
from numpy.typing import ArrayLike
from tolerances import PROFILE, PROFILE_FINE, SHAPE

from mmopt import Program, Solution, Workload, solve
from mmopt.compiler import bind
from mmopt.driver.judge.score_and_meaning import bound_of, candidate

FINE = 1e-9
"""The gap asked for where two profiles are compared: they agree to its square root."""


def profile(s: Solution) -> np.ndarray:
    """Privacy cost of every cell."""
    return np.square(s.strategy.matrix).sum(axis=0)


def refined(w: Workload, tolerance: float = FINE) -> np.ndarray:
    return profile(solve(w, "fitness_refined", solver="clarabel", tolerance=tolerance))


def close(one: np.ndarray, other: ArrayLike, tolerance: float = PROFILE_FINE) -> bool:
    return bool(np.abs(one - np.asarray(other)).max() <= tolerance * one.max())


def is_above(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    """Whether one sorted profile is clearly above another, which is not above it in any entry before.

    What is added to one level lowers the next by its square root, hence the two tolerances.
    """
    one, other = np.sort(one)[::-1], np.sort(other)[::-1]
    clearly = np.flatnonzero(one > other + tolerance * one.max())
    return bool(len(clearly)) and not np.any(other[: clearly[0]] > one[: clearly[0]] + FINE * one.max())


@pytest.mark.some(1)
@pytest.mark.parametrize("name", NAMED)
def test_no_solution_has_a_lower_profile(name: str) -> None:
    w = named(name)
    found = solve(w, "fitness_refined")
    assert found.gap is not None and found.gap <= 1e-6
    assert found.status.stop == "gap reached in every step"
    assert (found.strategy.variances(w) <= w.targets * (1 + SHAPE)).all()
    for solver in ("clarabel", "scs", "cvxopt"):
        other = solve(w, "fitness_for_use", solver=solver)
        assert other.bound <= found.objective
        assert found.bound <= other.objective
        assert not is_above(profile(found), profile(other), PROFILE)


def test_no_solution_of_a_random_workload_has_a_lower_profile(rng: np.random.Generator) -> None:
    """Neither the one that fitness_for_use finds, nor any mixture of it with this one."""
    for _ in range(2):
        w = random_workload(rng)
        found, other = (solve(w, p, tolerance=FINE) for p in ("fitness_refined", "fitness_for_use"))
        # A round that gets no further may cost the largest a millionth, as the program says.
        slack = 1e-7 if found.status.stop.startswith("gap reached") else 1.1e-6
        assert found.objective == pytest.approx(other.objective, rel=slack)
        for share in (0.5, 1.0):
            mixed = (1 - share) * found.covariance + share * other.covariance
            costs = np.einsum("ki,kl,li->i", found.basis, np.linalg.inv(mixed), found.basis)
            assert not is_above(profile(found), costs, PROFILE_FINE)


def test_the_same_queries_in_another_form(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    costs = refined(w)
    cells, queries, factor = rng.permutation(w.n), rng.permutation(w.m), rng.choice([1e-3, 30.0])
    order = Workload.from_matrix(w.queries[queries][:, cells], targets=w.targets[queries])
    assert close(costs[cells], refined(order))
    # The multiplier of a query that is asked twice may go to either, or to both.
    targets = np.concatenate([w.targets, w.targets * rng.choice([1.0, 2.0], size=w.m)])
    twice = Workload.from_matrix(np.vstack([w.queries, w.queries]), targets=targets)
    assert close(costs, refined(twice))
    assert close(factor**2 * costs, refined(Workload.from_matrix(factor * w.queries, targets=w.targets)))
    assert close(costs / factor, refined(Workload.from_matrix(w.queries, targets=factor * w.targets)))


@pytest.mark.some(1)
@pytest.mark.parametrize("solver", ["scs", "cvxopt"])
def test_other_solvers_find_the_same(solver: str, rng: np.random.Generator) -> None:
    for name in rng.permutation(["prefix", "marginals", "rank deficient", "identity and total"])[:1].tolist():
        found = solve(named(name), "fitness_refined", solver=solver, tolerance=1e-6)
        assert close(refined(named(name)), profile(found), PROFILE), (name, solver)


def test_cells_that_the_workload_treats_alike_cost_alike() -> None:
    """Targets 1, 2, 3, 1, 2, 3 for six cells: those with the same target cost the same."""
    costs = refined(named("identity and total"))
    assert close(costs[:3], costs[3:])
    plain = profile(solve(named("identity and total"), "fitness_for_use", solver="clarabel"))
    assert not close(plain[:3], plain[3:], 2 * PROFILE)


def test_counts_that_share_nothing() -> None:
    """Every cell costs what its own target asks for, however much less than the largest."""
    assert close(refined(Workload.from_matrix(np.diag([1.0, 2.0, 40.0]), targets=1.0)), [1.0, 4.0, 1600.0])


@pytest.mark.slow
def test_a_block_of_its_own_gets_its_own_optimum(rng: np.random.Generator) -> None:
    """The profile of queries on disjoint cells is that of each part; alpha sees the worse part only."""
    one, other = random_workload(rng), named("prefix")
    zeros = np.zeros((one.m, other.n))
    rows = np.block([[one.queries, zeros], [np.zeros((other.m, one.n)), other.queries]])
    both = Workload.from_matrix(rows, targets=np.concatenate([one.targets, other.targets]))
    assert close(refined(both), np.concatenate([refined(one), refined(other)]))


def test_a_level_with_nothing_held_is_fitness_for_use(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    level, whole = (solve(w, p, solver="clarabel") for p in ("fitness_level", "fitness_for_use"))
    assert level.bound <= whole.objective and whole.bound <= level.objective


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["prefix", "marginals", "identity and total", "duplicated columns"])
def test_the_bound_of_a_level_holds_at_any_multipliers(name: str, rng: np.random.Generator) -> None:
    w = named(name)
    first = solve(w, "fitness_for_use", tolerance=FINE)
    start = first.variables["Sigma"]
    multipliers = first.multipliers["accuracy"] * w.targets
    held = (multipliers > 1e-3 * multipliers.max()).astype(float)
    instance = bind(Program.load("fitness_level"), w, {"held": held, "S0": start})
    points = [candidate(instance, {"alpha": np.asarray(1.0), "P": start})]
    for _ in range(5):
        root = rng.normal(size=start.shape)
        sigma = start + rng.uniform(0, 3) * root @ root.T
        points.append(candidate(instance, {"alpha": np.asarray(1.0), "P": sigma}))
    assert all(p.is_feasible for p in points)
    least = min(p.objective for p in points)
    for _ in range(50):
        p, q = (np.exp(4 * rng.normal(size=size)) for size in (w.n, w.m))
        bound = bound_of(instance, {"privacy": p, "accuracy": q})
        assert bound <= least
    best = solve(w, "fitness_level", givens={"held": held, "S0": start}, tolerance=1e-7)
    assert best.bound <= best.objective <= least * (1 + 1e-9) and best.gap <= 1e-7


def test_a_round_that_fails_ends_the_rounds() -> None:
    """Held queries that are nearly the same: the level's own figures contradict each other."""
    rng = np.random.default_rng(45)
    n = int(rng.integers(3, 9))
    m = int(rng.integers(n, n + 4))
    queries = rng.normal(size=(m, n))
    queries[-1] = queries[0] + 10.0 ** -rng.integers(3, 9) * rng.normal(size=n)
    workload = Workload.from_matrix(queries, targets=10.0 ** rng.uniform(-4, 4, size=m))
    found = solve(workload, "fitness_refined")
    assert 0 <= found.gap < 1e-4


def test_soft_maxima_of_one_cell() -> None:
    found = solve(Workload.from_matrix([[3.0]], targets=[1.0]), "fitness_softmax")
    assert found.value == pytest.approx(9.0)


def test_a_hybrid_lies_between_its_ends(rng: np.random.Generator) -> None:
    """The objective, where a variance has weight h, is between 2 √(h E) and 2 √((h + 1 / least target) E)."""
    n = int(rng.integers(2, 8))
    rows = rng.normal(size=(int(rng.integers(2, 10)), n))
    w = Workload.from_matrix(rows, targets=rng.uniform(1.0, 20.0, size=len(rows)))
    # Without a weight of its own on total error it is fitness_penalty.
    one, other = (solve(w, p) for p in ("fitness_hybrid", "fitness_penalty"))
    assert one.bound <= other.objective and other.bound <= one.objective
    least, weight = solve(w, "l2_strategy"), 1e6
    h = weight / float(w.targets.sum())
    s = solve(w, "fitness_hybrid", givens={"total": weight})
    assert s.objective >= 2.0 * np.sqrt(h * least.bound)
    assert s.bound <= 2.0 * np.sqrt((h + 1.0 / float(w.targets.min())) * least.objective)
    # Soft maxima come near and not below.
    soft = solve(w, "fitness_softmax", givens={"hybrid": 0.1})
    exact = solve(w, "fitness_hybrid", givens={"total": 0.1 * float(w.targets.sum())})
    assert exact.bound <= soft.objective and exact.objective >= soft.bound


def test_every_query_counts_in_a_hybrid() -> None:
    """One that another makes superfluous for the targets still has its part in the sum."""
    rows = np.vstack([np.tri(4), 2 * np.tri(4)[1:2]])
    for target in (9.0, 4.0):
        w = Workload.from_matrix(rows, targets=[1.0, 1.0, 1.0, 1.0, target])
        given = {"total": 0.1}
        reduced, whole = (solve(w, "fitness_hybrid", givens=given, reduce=r) for r in (True, False))
        assert reduced.bound <= whole.objective and whole.bound <= reduced.objective
        assert solve(w, "fitness_penalty").reductions == ("parallel queries: 5 -> 4 queries",)
        assert reduced.reductions == ()
