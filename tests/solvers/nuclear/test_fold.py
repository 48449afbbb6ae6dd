"""Weights that are kept equal: the optimum is the same, and colours see what they should."""

import numpy as np
import pytest
import tolerances

from mmopt import Workload, solve
from mmopt.numerics.component_arrays import Level, Split
from mmopt.solvers.nuclear import interior_point as searching
from mmopt.solvers.nuclear.problem_and_iterates import NuclearProblem, QueryComponent, fold_of
from mmopt.solvers.nuclear.programs_and_points import FORMS
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals


def problem_of(workload: Workload) -> NuclearProblem:
    found = symmetry(workload, True)
    assert found is not None
    names = {"L": "representation", "B": "basis", "c": "targets"}
    return FORMS["fitness_for_use"].problem({k: found.sources[f"workload.{v}"] for k, v in names.items()})


def repeated(rng: np.random.Generator) -> NuclearProblem:
    """Parts of one column, and the same again under other queries, with numbers that are off by rounding."""
    targets, entries = rng.uniform(1.0, 3.0, size=4), rng.normal(size=(3, 4))
    parts = [
        QueryComponent(
            rows=(entries[part] * (1.0 + rng.uniform(-1e-14, 1e-14, size=4)))[order][:, None],
            multiplicity=float(2 + part),
            cells=np.zeros(1, dtype=np.int64),
            queries=4 * copy + order,
        )
        for copy in range(3)
        for part in range(3)
        for order in [rng.permutation(4)]
    ]
    return NuclearProblem(tuple(parts), np.array([20.0]), np.tile(targets, 3))


def seen(problem: NuclearProblem, labels: np.ndarray) -> dict[tuple[float, int], list[np.ndarray]]:
    """By multiplicity and number of queries the squares that parts see of each colour, added up."""
    out: dict[tuple[float, int], list[np.ndarray]] = {}
    for part in problem.parts:
        own = np.bincount(labels[part.queries], np.square(part.rows[:, 0]), minlength=labels.max() + 1)
        out.setdefault((part.multiplicity, len(part.queries)), []).append(own)
    return out


def test_attributes_of_one_size() -> None:
    """All marginals over up to three of six: four kinds, and 42 products."""
    problem = problem_of(marginals([5] * 6, [0, 1, 2, 3], target=1.0))
    fold = fold_of(problem)
    assert fold is not None
    assert sorted(fold.counts.tolist()) == [1.0, 6.0, 15.0, 20.0]
    assert fold.problem.targets.sum() == pytest.approx(problem.targets.sum(), rel=tolerances.ROUNDING)
    for own in seen(problem, fold.labels).values():
        np.testing.assert_allclose(own, np.broadcast_to(own[0], (len(own), 4)), rtol=tolerances.ROUNDING)


def test_attributes_of_two_sizes() -> None:
    fold = fold_of(problem_of(marginals([5, 3, 5, 3, 5], [1, 2], target=1.0)))
    assert fold is not None
    assert sorted(fold.counts.tolist()) == [1.0, 2.0, 3.0, 3.0, 6.0]


def test_targets_tell_queries_apart() -> None:
    problem = problem_of(marginals([4, 4, 4], [1], target=1.0))
    fold = fold_of(problem)
    assert fold is not None and fold.counts.tolist() == [3.0]
    problem.targets[1] *= 2.0
    fold = fold_of(problem)
    assert fold is not None and sorted(fold.counts.tolist()) == [1.0, 2.0]


def test_what_is_not_folded(rng: np.random.Generator) -> None:
    assert fold_of(problem_of(marginals([2, 3, 4, 5], [1, 2], target=1.0))) is None, "all are different"
    parts = repeated(rng).parts
    wide = QueryComponent(rng.normal(size=(4, 2)), 1.0, np.zeros(2, dtype=np.int64), np.arange(4))
    assert fold_of(NuclearProblem((*parts, wide), np.array([20.0]), np.ones(12))) is None, (
        "a part of two columns"
    )
    assert fold_of(NuclearProblem(parts[:0], np.array([20.0]))) is None, "no parts"


def bounds(problem: NuclearProblem, gap: float) -> tuple[float, float]:
    iterates = searching.search(problem)
    at = next(iterates)
    for _ in range(60):
        if at.gap <= gap:
            break
        at = iterates.send(gap)
    return at.lower, at.upper


def test_the_optimum_is_the_same(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for problem in (repeated(rng), problem_of(marginals([3, 3, 3, 2], [1, 2], target=1.0))):
        fold = fold_of(problem)
        assert fold is not None and len(fold.counts) < len(problem.targets)
        lower, upper = bounds(problem, tolerances.GAP_INTERIOR)
        assert upper / lower - 1.0 <= tolerances.GAP_INTERIOR
        with monkeypatch.context() as patch:
            patch.setattr(searching, "fold_of", lambda problem: None)
            low, high = bounds(problem, tolerances.GAP_INTERIOR)
        assert lower <= high * (1.0 + tolerances.ROUNDING)
        assert low <= upper * (1.0 + tolerances.ROUNDING)


def test_the_shares_spread(rng: np.random.Generator) -> None:
    fold = fold_of(repeated(rng))
    assert fold is not None
    shares = rng.uniform(size=len(fold.counts))
    spread = fold.spread(shares)
    assert spread.sum() == pytest.approx(shares.sum(), rel=tolerances.ROUNDING)
    np.testing.assert_allclose(np.bincount(fold.labels, spread), shares, rtol=tolerances.ROUNDING)


def test_the_multipliers_of_a_solve_are_of_all_queries() -> None:
    workload = marginals([10, 10, 10, 9, 10], [1, 2], target=1.0)
    solution = solve(workload, "fitness_for_use")
    found = solution.multipliers["accuracy"]
    assert isinstance(found, Level) and found.values.shape == (15,)
    assert len(np.unique(found.values)) == 4
    assert isinstance(solution.variables["Sigma"], Split)
