"""A saved solution by component is rechecked on the workload's own components.

Guards saved_values_by_component.py.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mmopt import Solution, Workload, solve, verify
from mmopt.numerics.component_arrays import Level, Split
from mmopt.strategies import ComponentStrategy
from mmopt.testing.problem_registry import marginals
from mmopt.workloads import factors_and_products as f
from mmopt.workloads.factors_and_products import Product

WORKLOAD = Workload.from_products(
    marginals([3, 4], [1], target=2.0).domain,
    [
        Product((f.identity(3), f.total(4)), target=2.0),
        Product((f.total(3), f.prefix(4)), target=1.0),
    ],
)


@pytest.fixture(params=["l2_strategy", "fitness_for_use"])
def solution(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Solution:
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 1)
    found = solve(WORKLOAD, request.param)
    assert isinstance(found.strategy, ComponentStrategy)
    assert verify(found, WORKLOAD).holds
    return found


def failed(solution: Solution) -> list[str]:
    return [row.what for row in verify(solution, WORKLOAD).failures]


def matrix_of(solution: Solution) -> tuple[str, Split]:
    return next((n, v) for n, v in solution.variables.items() if isinstance(v, Split))


def changed(split: Split, by: float) -> Split:
    return Split(split.rows, split.columns, tuple(part * by for part in split.parts))


def test_changed_values_are_seen(solution: Solution) -> None:
    name, split = matrix_of(solution)
    assert failed(replace(solution, variables={**solution.variables, name: changed(split, 1.01)})) != []
    strategy = ComponentStrategy(changed(solution.strategy.split, 0.99))  # type: ignore[union-attr]
    assert "strategy" in failed(replace(solution, strategy=strategy))
    for key, value in solution.multipliers.items():
        assert isinstance(value, Level)
        moved = Level(value.space, value.values * np.linspace(1.0, 2.0, len(value.values)))
        assert "bound" in failed(replace(solution, multipliers={**solution.multipliers, key: moved}))
    for figure in ("objective", "error", "error_bound", "rmse", "sensitivity"):
        stated = getattr(solution, figure) * 1.001
        assert any(failed(replace(solution, **{figure: stated})))


@pytest.mark.parametrize("solution", ["l2_strategy"], indirect=True)  # a basis has no labels
def test_labels_in_the_file_count_for_nothing(solution: Solution) -> None:
    """A space that says that all its basis vectors lie in one orbit hides a large diagonal."""
    name, split = matrix_of(solution)
    lying = replace_labels(split.columns)
    wrong = Split(lying, lying, split.parts)
    again = verify(replace(solution, variables={**solution.variables, name: wrong}), WORKLOAD)
    assert again.holds, "put onto the workload's own components it is the same point"
    key, value = next(iter(solution.multipliers.items()))
    assert isinstance(value, Level)
    level = Level(replace_labels(value.space), value.values)
    assert verify(replace(solution, multipliers={**solution.multipliers, key: level}), WORKLOAD).holds


def replace_labels(space: Any) -> Any:
    return replace(space, labels=tuple(np.zeros_like(own) for own in space.labels))


def test_components_of_another_workload(solution: Solution) -> None:
    """They carry the hash of this one."""
    other = marginals([3, 4], [1], target=2.0)
    theirs = replace(solve(other, solution.program), workload_hash=WORKLOAD.hash)
    assert failed(theirs) == ["components"]


def test_a_workload_without_symmetries(solution: Solution) -> None:
    plain = Workload.from_matrix(np.tri(4), targets=np.arange(1.0, 5.0))
    rows = verify(replace(solution, workload_hash=plain.hash), plain).failures
    assert [(row.what, row.recomputed) for row in rows] == [
        ("components", "the workload has none for this program")
    ]


def test_values_over_the_cells_do_not_fit(solution: Solution) -> None:
    name, _ = matrix_of(solution)
    dense = replace(solution, variables={**solution.variables, name: np.eye(12)})
    assert failed(dense) == ["variables"]


def test_another_basis_of_the_same_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine may compute it."""
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 1)
    products = [Product((f.identity(3), f.prefix(4)), target=2.0)]
    groups = f.predicates(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]]), ["a", "b"])
    products = [Product((f.identity(3), groups), target=2.0)]
    workload = Workload.from_products(WORKLOAD.domain, products)
    found = solve(workload)
    basis = found.bases["basis"]
    assert isinstance(basis, Split) and isinstance(found.covariance, Split)
    rng = np.random.default_rng(1)
    turns = [np.linalg.qr(rng.normal(size=(len(part), len(part))))[0] for part in basis.parts]
    turned = Split(basis.rows, basis.columns, tuple(q @ b for q, b in zip(turns, basis.parts, strict=True)))
    sigma = found.covariance
    rotated = Split(
        sigma.rows, sigma.columns, tuple(q @ s @ q.T for q, s in zip(turns, sigma.parts, strict=True))
    )
    other = replace(
        found,
        bases={"basis": turned},
        basis=turned,
        covariance=rotated,
        variables={**found.variables, "Sigma": rotated},
    )
    assert verify(found, workload).holds
    assert verify(other, workload).holds
    skewed = Split(basis.rows, basis.columns, tuple(1.1 * part for part in basis.parts))
    (row,) = verify(replace(other, bases={"basis": skewed}), workload).failures
    assert str(row.recomputed).startswith("the basis by component is not one of the workload: it is off by ")
