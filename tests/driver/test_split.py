"""Solutions by component: at a small size they are what a solve over the cells gives, in every figure."""

from pathlib import Path

import numpy as np
import pytest
import tolerances
from edited_programs import edited
from named_workloads import census
from symmetric_workloads import random_products, random_symmetric_matrix

from mmopt import Program, Solution, SolverError, Strategy, TooLargeError, Workload, certify, solve, verify
from mmopt.driver.judge.score_and_meaning import charged_error
from mmopt.driver.task_and_plan import plan_solve
from mmopt.numerics.component_arrays import Level, Split, lift
from mmopt.strategies import ComponentStrategy, as_dense
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import domain_of, marginals
from mmopt.workloads import Product, factors_and_products

PROGRAMS = (
    "l2_strategy",
    "weighted_l2",
    "fitness_for_use",
    "fitness_penalty",
    "fitness_budget",
    "fitness_hybrid",
)


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 1)


def draw(rng: np.random.Generator, kind: int) -> Workload:
    """A workload with symmetries worth the while."""
    while True:
        workload = random_products(rng) if kind % 3 else random_symmetric_matrix(rng)
        found = symmetry(workload, True), symmetry(workload, False)
        if all(own is not None and own.cells.largest <= 0.8 * workload.n for own in found):
            return workload


def by_component(solution: Solution) -> ComponentStrategy:
    assert isinstance(solution.strategy, ComponentStrategy)
    return solution.strategy


@pytest.mark.some(2)
@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", range(3))
def test_the_same_figures_as_over_the_cells(
    rng: np.random.Generator, program: str, kind: int, tmp_path: Path
) -> None:
    workload = draw(rng, kind)
    solution = solve(workload, program)
    dense = solve(workload, program, reduce=False)
    strategy = by_component(solution)
    assert isinstance(dense.strategy, Strategy)
    assert solution.status.stop == "gap reached"
    (line,) = solution.reductions
    assert line.endswith(strategy.cells.words)
    for name in ("objective", "bound", "value"):
        assert getattr(solution, name) == pytest.approx(getattr(dense, name), rel=tolerances.GAP), name
    assert max(solution.bound, dense.bound) <= min(solution.objective, dense.objective)
    # Over the cells the bound is improved by a few steps alone, here by more; none is above the least error.
    assert dense.error_bound * (1 - 1e-5) <= solution.error_bound <= min(solution.error, dense.error)
    least = solve(workload, "l2_strategy", reduce=False).error
    assert solution.error_bound <= least * (1 + tolerances.ROUNDING)
    # The very same strategy, as a matrix.
    matrix = Strategy(lift(strategy.split))
    exact = {
        "error": charged_error(matrix, workload),
        "rmse": matrix.rmse(workload),
        "sensitivity": matrix.sensitivity,
    }
    for name, wanted in exact.items():
        assert getattr(solution, name) == pytest.approx(wanted, rel=1e-7), name
    np.testing.assert_allclose(strategy.variances(workload), matrix.variances(workload), rtol=1e-6)
    assert isinstance(solution.profile, Level) and isinstance(solution.slack, Level)
    np.testing.assert_allclose(lift(solution.profile), np.square(matrix.matrix).sum(axis=0), rtol=1e-9)
    # As a point of the program, and with the multipliers over the cells.
    assert Program.load(program).certificate is not None
    given = {name: lift(v) for name, v in solution.multipliers.items() if isinstance(v, Level)}
    again = certify(workload, matrix, program, multipliers=given, solve=False)
    assert again.objective <= solution.objective * (1 + tolerances.GAP)
    assert again.bound >= solution.bound * (1 - 1e-8)
    # Kept and rechecked.
    assert [str(row) for row in verify(solution, workload).failures] == []
    loaded = Solution.load(solution.save(tmp_path / "saved"))
    assert loaded == solution and loaded.summary() == solution.summary()
    assert [str(row) for row in verify(loaded, workload).failures] == []
    np.testing.assert_array_equal(lift(by_component(loaded).split), lift(strategy.split))
    assert loaded.rows() == solution.rows()


@pytest.mark.usefixtures("all_large")
def test_covariances_by_component() -> None:
    """Σ on B is the covariance of the estimates at unit noise, and its queries meet their targets."""
    workload = marginals([2, 3, 4], [1, 2], target=1.5)
    solution = solve(workload)
    assert solution.program == "fitness_for_use"
    covariance, basis = solution.covariance, solution.basis
    assert isinstance(covariance, Split) and isinstance(basis, Split)
    a, b = by_component(solution).matrix, lift(basis)
    np.testing.assert_allclose(b @ np.linalg.pinv(a.T @ a) @ b.T, lift(covariance), atol=1e-9)
    variances = by_component(solution).variances(workload)
    assert variances.max() == pytest.approx(1.5, rel=tolerances.RECOMPUTED)
    # The profile of a covariance program is shown.
    assert dict(solution.rows())["profile"] == "Δ² at 24 of 24 cells"
    profile = solution.summary()["profile"]
    assert profile["cells"] == [24.0]
    assert profile["values"] == pytest.approx([solution.objective], rel=tolerances.GAP)
    assert solution.summary()["components"] == {"orbits": 1, "components": 7, "largest": 1}


@pytest.mark.usefixtures("all_large")
def test_weights_without_the_symmetry_of_the_targets() -> None:
    """Total error is then judged by all weights, and its bound is the singular value bound."""
    rows = np.vstack([np.tri(6), np.tri(6)[:, ::-1]])
    workload = Workload.from_matrix(rows, targets=1.0, weights=np.arange(1.0, 13.0))
    solution = solve(workload, "fitness_for_use")
    strategy = by_component(solution)
    assert solution.error == pytest.approx(charged_error(as_dense(strategy), workload), rel=1e-9)
    singular = np.linalg.svd(workload.root, compute_uv=False)
    assert solution.error_bound == pytest.approx(singular.sum() ** 2 / 6, rel=tolerances.RECOMPUTED)
    assert verify(solution, workload).holds


@pytest.mark.usefixtures("all_large")
def test_numbers_may_be_given() -> None:
    workload = marginals([2, 3, 4], [1, 2], target=1.5)
    plain, doubled = (solve(workload, "fitness_budget", givens=g) for g in ({}, {"budget": 2.0}))
    assert doubled.objective == pytest.approx(plain.objective / 2, rel=tolerances.GAP)
    assert verify(doubled, workload).holds
    assert float(doubled.givens["budget"]) == 2.0


@pytest.mark.usefixtures("all_large")
def test_a_solve_that_is_cut_short(subtests: pytest.Subtests) -> None:
    for limits in [{"max_iterations": 1}, {"time_limit": 1e-6}]:
        with subtests.test(limits=limits):
            rows = np.vstack([np.tri(6), np.tri(6)[:, ::-1]])  # reflected, with orbits of two cells
            solution = solve(Workload.from_matrix(rows), "l2_strategy", tolerance=1e-12, **limits)
            assert solution.status.feasible and solution.bound is not None
            assert solution.status.stop in ("iteration limit", "time limit")
            assert any("was requested" in text for text in solution.warnings)


LARGE = census()
SHIPPED = "fitness_budget, fitness_for_use, fitness_hybrid, fitness_penalty, l2_strategy, weighted_l2"


OF_TWO = (
    factors_and_products.prefix,
    factors_and_products.identity,
)  # one product alone is solved in factors


def test_what_is_refused_at_this_size(subtests: pytest.Subtests) -> None:
    prefixes = [Product((factors_and_products.prefix(200), other(200))) for other in OF_TWO]
    d = domain_of(400, 300)
    for program, workload, why in [
        (
            "min_error",
            LARGE,
            "it is of class rank, where no solution needs to have the workload's symmetries",
        ),
        (
            "l2_strategy_lmi",
            LARGE,
            "it takes workload.matrix, which is not known by component; nor in the space of the queries: the "
            "family 'lmi' (not one vector inequality) has no form by components",
        ),
        ("l2_strategy_block", LARGE, "the block matrix in 'block' has no form by components"),
        (
            edited("l2_strategy", ("diag(X) <= 1", "diag(X) <= 2")),
            LARGE,
            "no kernel knows the program, and conic solvers need matrices over the cells",
        ),
        (
            "l2_strategy",
            Workload.from_products(domain_of(200, 200), prefixes),
            "no two values of an attribute can be swapped, so the workload does not split; nor in the space "
            "of the queries: its queries span 40,000 functions of 40,000 cells",
        ),
        (
            "barrier_step",  # whose kernel takes matrices only
            d.marginal("a0", max_variance=4.0) + d.marginal("a0", "a1", max_variance=20.0),
            "no kernel knows the program, and conic solvers need matrices over the cells; nor in the space "
            "of the queries: its queries span 120,000 functions of 120,000 cells",
        ),
    ]:
        with subtests.test(why), pytest.raises(TooLargeError) as error:
            solve(workload, program)
        text = str(error.value)
        assert (
            f"cannot be solved by component: {why}; over {workload.n:,} cells one matrix alone takes " in text
        )
        if isinstance(program, str) and workload is LARGE:
            assert "1,866 GiB, and the limit here is " in text
            assert text.endswith(
                f" for 12 of them\n  these are: {SHIPPED}; or group values of the attributes, so that there "
                "are fewer cells"
            )


def test_all_cells_are_proposed_where_a_matrix_over_them_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.driver.task_and_plan.memory_limit", lambda: 2**30)
    with pytest.raises(TooLargeError) as error:
        solve(marginals([9000], [1]), "min_error")
    assert error.value.hint == (
        f"these are: {SHIPPED}; or group values of the attributes, so that there are fewer cells; or try it "
        "as it is with reduce=False (--no-reduce)"
    )


@pytest.mark.usefixtures("all_large")
def test_a_conic_solver_does_not_work_by_component() -> None:
    workload = marginals([2, 3], [1])
    with pytest.raises(SolverError) as error:
        solve(workload, solver="clarabel")
    assert str(error.value) == (
        "clarabel does not work by component (symmetry between attribute values: 6 cells -> 1 orbit, "
        "3 components of size up to 1)\n"
        "  leave the solver out, or solve over all cells with reduce=False (--no-reduce)"
    )


@pytest.mark.usefixtures("all_large")
def test_what_does_not_split_is_solved_over_the_cells() -> None:
    """Small enough for memory: as ever."""
    assert isinstance(solve(Workload.from_matrix(np.tri(4))).strategy, Strategy)
    assert isinstance(solve(marginals([2, 2], [1]), "p_identity").strategy, Strategy)
    assert plan_solve(Program.load("l2_strategy"), marginals([2, 3], [1]), {}, reduce=False).split == ""


def test_between_the_two_sizes_it_is_by_component_where_those_are_small() -> None:
    """1,331 cells; a conic solver gets matrices over the cells, a workload with large components too."""
    workload = marginals((11, 11, 11), (1, 2))
    assert plan_solve(Program.load("l2_strategy"), workload, None).split.startswith(
        "symmetry between attribute values: 1331 cells"
    )
    assert not plan_solve(Program.load("l2_strategy"), workload, None, solver="scs").split
    assert plan_solve(Program.load("l2_strategy"), workload, None, solver="Nuclear").split
    assert not plan_solve(Program.load("l2_strategy"), workload, None, reduce=False).split
    assert not plan_solve(Program.load("query_weighting"), workload, {"Q": np.eye(1331)}).split
    assert not plan_solve(Program.load("l2_strategy"), marginals((8, 8, 8), (1, 2)), None).split
    halves = Workload.from_products(domain_of(1331), [Product((factors_and_products.prefix(1331),))])
    assert not plan_solve(Program.load("l2_strategy"), halves, None).split
    assert isinstance(solve(workload).strategy, ComponentStrategy)


def nearly_symmetric(n: int, large: float) -> Workload:
    """A large total, and six cells: in its Gram matrix they are beyond the last digit."""
    return Workload.from_matrix(np.vstack([np.full((1, n), large), np.eye(n)[:6]]))


def test_no_bound_passes_a_strategy_where_a_symmetry_is_nearly_one(subtests: pytest.Subtests) -> None:
    """520 cells, each like the others next to the total: a strategy that measures six of them is better."""
    for large in [8.4e6 + 1 / 3, 2.0**30, 1e12 + 1 / 3]:
        with subtests.test(large=large):
            n = 520
            workload = nearly_symmetric(n, large)
            found = solve(workload, "l2_strategy")
            assert "2 orbits" in found.reductions[0]
            assert found.gap >= 0 and found.error_gap >= 0
            # The total, and a little of each of the six cells.
            rows = np.vstack([np.ones((1, n)), np.eye(n)[:6] / np.sqrt(large)])
            rows[0, :6] = np.sqrt(1 - 1 / large)
            assert found.bound <= Strategy(rows).total_error(workload)
