"""Queries solved by sets of attributes: a feasible point of the program, saved, verified and gone on from.

Guards symmetry_and_row_space.py, task_and_plan.py, solve_convex.py, recheck.py, saved_values_by_component.py
and set_strategy_and_cells.py (queries that are not measured).
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tolerances
from dense_row_space import ways

import mmopt
from mmopt import Solution, Workload
from mmopt.driver import task_and_plan
from mmopt.driver.judge.total_error_bound import bound_in_form
from mmopt.errors import TimeLimitError, TooLargeError
from mmopt.limits import Stop
from mmopt.numerics.component_arrays import Level, Measure, Split
from mmopt.sectors.functions_of_few import Mixture
from mmopt.strategies import RowSpaceStrategy, SetStrategy, Strategy
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, factors_and_products as f

GIVENS: dict[str, dict[str, float]] = {
    "l2_strategy": {},
    "minimax_variance": {},
    "fitness_for_use": {},
    "fitness_budget": {"budget": 2.0},
    "fitness_penalty": {},
    "fitness_hybrid": {"total": 1.0},
}
LOOSE = 0.9  # a gap that sets always reach: nothing goes on


@pytest.fixture(scope="module", autouse=True)
def few_are_many() -> Iterator[None]:
    """Cells that are not listed from a few on, and searches of few rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 20)
        patch.setattr("mmopt.sectors.row_space_cells_and_targets.MOST_FUNCTIONS_PER_CELL", 1.0)
        patch.setattr("mmopt.strategies.set_strategy_and_cells.ROUNDS", 2)
        # So few cells are never split, but here: their constraint matrix would be built.
        patch.setattr(import_module("mmopt.report.explain.compiled_and_solved_facts"), "MOST_ROWS", 100)
        yield


def workload() -> Workload:
    """Two kinds of factors on an attribute; variances of at most 1 and 4, weights 4 and 1."""
    two, three, four = f.prefix(2), f.prefix(3), f.prefix(4)
    asked = [
        {0: two},
        {1: three},
        {2: four},
        {0: two, 1: three},
        {0: two, 2: four},
        {1: three, 2: f.identity(4)},
    ]
    sizes = (2, 3, 4)
    products = [
        Product(
            tuple(own.get(i, f.total(size)) for i, size in enumerate(sizes)),
            weight=5.0 - len(own) ** 2,
            target=float(len(own)) ** 2,
        )
        for own in asked
    ]
    return Workload.from_products(domain_of(*sizes), products)


WORKLOAD = workload()
BY_SETS = {"7 sets of attributes", "7 sets of attributes, with rows for the largest variance"}


@pytest.fixture(scope="module")
def solutions(few_are_many: None) -> dict[str, Solution]:
    return {
        program: mmopt.solve(WORKLOAD, program, givens=givens, tolerance=LOOSE, time_limit=60)
        for program, givens in GIVENS.items()
    }


@pytest.mark.parametrize("program", GIVENS)
def test_a_solution_is_saved_and_verified(
    program: str, solutions: dict[str, Solution], tmp_path: Path
) -> None:
    solution = solutions[program]
    assert solution.solver == "sectors" and solution.status.stop == Stop.REACHED
    assert set(solution.reductions) <= BY_SETS
    assert (solution.objective_grade, solution.bound_grade) == ("proved", "proved")
    assert isinstance(solution.strategy, SetStrategy)
    if program in ("l2_strategy", "minimax_variance"):
        assert solution.sensitivity <= 1
    elif program == "fitness_for_use":
        assert solution.sensitivity**2 <= solution.objective
    assert 0 < solution.bound <= solution.objective
    assert 0 < solution.error_bound <= solution.error
    again = Solution.load(solution.save(tmp_path / "found"))
    assert again == solution
    found = mmopt.verify(again, WORKLOAD)
    assert all(row.holds for row in found.rows), str(found)
    assert {row.what: row.recomputed for row in found.rows}["components"] == "those of the workload"
    json.dumps(solution.summary())
    assert "7 sets of attributes" in mmopt.explain(program, WORKLOAD, solution=solution).text()


@pytest.mark.some(3, rest="slow")
@pytest.mark.parametrize("program", GIVENS)
def test_it_is_a_point_of_the_program_over_the_cells(program: str, solutions: dict[str, Solution]) -> None:
    """It has the same objective there, and the optimum lies between that and the bound."""
    found, givens = solutions[program], GIVENS[program]
    strategy = Strategy(found.strategy.implicit().matrix(), 2)
    assert strategy.sensitivity == pytest.approx(found.sensitivity, rel=tolerances.SHAPE)
    assert strategy.total_error(WORKLOAD) == pytest.approx(found.error, rel=tolerances.FROM_SQUARES)
    adopted = mmopt.certify(WORKLOAD, strategy, program=program, givens=givens, solve=False)
    assert adopted.objective == pytest.approx(found.objective, rel=tolerances.RECOMPUTED)
    optimum = mmopt.solve(WORKLOAD, program, givens=givens, reduce=False)
    assert optimum.solver == "nuclear" and optimum.bound is not None and found.bound is not None
    assert found.bound <= optimum.objective
    assert optimum.bound <= found.objective
    assert found.objective <= 1.1 * optimum.objective
    assert found.error_bound <= mmopt.solve(WORKLOAD, "l2_strategy", reduce=False).objective


def test_variances_are_within_their_targets(solutions: dict[str, Solution]) -> None:
    strategy = solutions["fitness_for_use"].strategy
    assert isinstance(strategy, SetStrategy)
    ratios = strategy.variances(WORKLOAD) / WORKLOAD.targets
    assert ratios.max() <= 1 + tolerances.FEASIBLE
    assert ratios.max() == pytest.approx(1, rel=tolerances.SHAPE)


def rows_of(changed: Solution) -> dict[str, bool]:
    return {row.what: row.holds for row in mmopt.verify(changed, WORKLOAD).rows}


def skewed(measure: Any) -> Measure:
    """Another product of measures."""
    assert isinstance(measure, Measure)
    factors = (own * np.arange(1, own.shape[1] + 1) ** 2 for own in measure.mixture.factors)
    rows = tuple(own / own.sum(axis=1, keepdims=True) for own in factors)
    return Measure(measure.space, Mixture(measure.mixture.weights, rows))


def scaled(value: Any, by: float) -> Split:
    assert isinstance(value, Split)
    return replace(value, parts=tuple(part * by for part in value.parts))


@pytest.mark.parametrize("program", ["l2_strategy", "fitness_for_use"])
def test_a_changed_file_is_refused(
    program: str, solutions: dict[str, Solution], subtests: pytest.Subtests
) -> None:
    solution = solutions[program]
    strategy, name = solution.strategy, "X" if program == "l2_strategy" else "Sigma"
    price = "sensitivity" if program == "l2_strategy" else "privacy"
    assert isinstance(strategy, SetStrategy)
    uneven = strategy.weights.copy()
    uneven[2] *= 0.99
    first, *others = strategy.matrices
    bent = others[0] + 0.01 * np.arange(others[0].size).reshape(others[0].shape)
    x = solution.variables[name]
    assert isinstance(x, Split)
    moved = replace(x, parts=(x.parts[0] * 0.9, *x.parts[1:]))
    two = Mixture(
        np.ones(2), tuple(np.vstack([own] * 2) for own in solution.error_multipliers.mixture.factors)
    )
    changed = {
        "its weights": (
            replace(solution, strategy=replace(strategy, weights=strategy.weights * 1.01)),
            "strategy",
        ),
        "one weight": (replace(solution, strategy=replace(strategy, weights=uneven)), "strategy"),
        "an attribute's rows": (
            replace(solution, strategy=replace(strategy, matrices=(first * 1.01, *others))),
            "strategy",
        ),
        "other rows": (
            replace(solution, strategy=replace(strategy, matrices=(first, bent, *others[1:]))),
            "objective",
        ),
        "the sets in another order": (
            replace(solution, strategy=replace(strategy, sets=strategy.sets[::-1])),
            "objective",
        ),
        "a set less": (
            replace(
                solution,
                strategy=replace(strategy, sets=strategy.sets[:-1], weights=strategy.weights[:-1]),
            ),
            "components",
        ),
        "a row less": (
            replace(solution, strategy=replace(strategy, matrices=(first, others[0], others[1][1:]))),
            "components",
        ),
        "the variable": (
            replace(solution, variables={**solution.variables, name: scaled(x, 1 + 1e-6)}),
            "feasible",
        ),
        "one set of the variable": (
            replace(solution, variables={**solution.variables, name: moved}),
            "objective" if program == "l2_strategy" else "feasible",
        ),
        "the measure": (
            replace(
                solution, multipliers={**solution.multipliers, price: skewed(solution.multipliers[price])}
            ),
            "bound",
        ),
        "the measure of the error": (
            replace(solution, error_multipliers=skewed(solution.error_multipliers)),
            "error bound",
        ),
        "a mixture": (
            replace(solution, error_multipliers=Measure(solution.error_multipliers.space, two)),
            "error bound",
        ),
        "the bound": (replace(solution, bound=solution.bound * (1 + 1e-7)), "bound"),
        "the objective": (replace(solution, objective=solution.objective * (1 - 1e-8)), "objective"),
    }
    if program == "fitness_for_use":
        level = solution.multipliers["accuracy"]
        assert isinstance(level, Level)
        falling = Level(level.space, level.values * np.linspace(0.1, 1, len(level.values)))
        changed["the queries' weights"] = (
            replace(solution, multipliers={**solution.multipliers, "accuracy": falling}),
            "bound",
        )
    for what, (one, row) in changed.items():
        with subtests.test(what):
            assert rows_of(one)[row] is False


def test_a_bound_that_is_rounded_in_another_way_holds(solutions: dict[str, Solution]) -> None:
    """Roots by logarithms of determinants that are nearly 0 differ from one machine to another."""
    solution = solutions["fitness_for_use"]
    assert solution.bound is not None
    near = replace(solution, bound=solution.bound * (1 + 2e-8), error_bound=solution.error_bound * (1 + 2e-8))
    rows = rows_of(near)
    assert rows["bound"] and rows["error bound"] and rows["gap"]


def test_the_bound_beside_another_program_is_that_of_the_total_error(solutions: dict[str, Solution]) -> None:
    bound, measure = bound_in_form(WORKLOAD, SetStrategy)
    assert isinstance(measure, Measure) and measure.mixture.count == 1
    assert bound == solutions["fitness_for_use"].error_bound
    assert bound == pytest.approx(solutions["l2_strategy"].bound, rel=tolerances.RECOMPUTED)


# -- going on ----------------------------------------------------------------------------------------


@pytest.mark.some(1, rest="slow")
@pytest.mark.parametrize("program", ["l2_strategy", "fitness_penalty"])
def test_it_goes_on_where_the_gap_is_open(program: str, solutions: dict[str, Solution]) -> None:
    """In the space of the queries, and never to a worse point."""
    first, asked = solutions[program], 0.02
    found = mmopt.solve(WORKLOAD, program, tolerance=asked)
    assert first.gap is not None and found.gap is not None and asked < first.gap
    assert isinstance(found.strategy, RowSpaceStrategy) and found.status.stop == Stop.REACHED
    assert found.gap <= asked and found.objective <= first.objective * (1 + asked)
    *by_sets, last = found.reductions
    assert set(by_sets) <= BY_SETS
    assert last == "space of the queries: 18 functions of the cells, 1 component of size up to 18"
    assert len(by_sets) == (1 if program == "l2_strategy" else 2)
    assert found.iterations > first.iterations and not found.warnings
    assert mmopt.verify(found, WORKLOAD).holds
    # no strategy is taken for one of the other kind
    for one, other in ((first, found), (found, first)):
        assert not mmopt.verify(replace(one, strategy=other.strategy), WORKLOAD).holds


def test_a_plan_is_by_sets_first_and_made_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    by_sectors = task_and_plan.by_sectors
    monkeypatch.setattr(task_and_plan, "by_sectors", lambda *asked: calls.append(True) or by_sectors(*asked))
    plan = task_and_plan.plan_solve(mmopt.Program.load("fitness_for_use"), WORKLOAD)
    assert plan.lines == ("7 sets of attributes",) and plan.further is not None and not calls
    second = plan.further()
    assert isinstance(second, task_and_plan.SolvePlan) and second.further is not None and not calls
    last = second.further()
    assert isinstance(last, task_and_plan.SolvePlan) and last.further is None and calls == [True]


def test_what_ends_the_search_leaves_the_first_answer(
    solutions: dict[str, Solution], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Time that is over, Ctrl-C, what does not fit, and a plan that there is none."""
    first = solutions["l2_strategy"]

    def late(*_: Any) -> None:
        raise TimeLimitError("this takes longer")

    def large(*_: Any) -> None:
        raise TooLargeError("the root has too many entries")

    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    plan_by = task_and_plan._plan_without_lift
    ended = "the gap is 3.5e-02; the search ends there:"
    for name, further, stop, said in [
        ("no time", late, Stop.TIME, "this takes longer"),
        ("no room", large, Stop.MISSED, "the root has too many entries"),
        ("no way", lambda *_: "looks at nine", Stop.MISSED, f"{ended} looks at nine"),
        ("no room for the plan", lambda *_: TooLargeError("9 GiB"), Stop.MISSED, f"{ended} 9 GiB"),
        ("Ctrl-C", pressed, Stop.INTERRUPTED, None),
    ]:
        with subtests.test(name):

            def planned(reduction: Any, *where: Any, further: Any = further, **limits: Any) -> Any:
                is_last = reduction is task_and_plan.by_sectors
                return further() if is_last else plan_by(reduction, *where, **limits)

            monkeypatch.setattr(task_and_plan, "_plan_without_lift", planned)
            found = mmopt.solve(WORKLOAD, "l2_strategy", tolerance=0.001)
            assert found.objective == first.objective and found.bound == first.bound
            assert found.status.stop == stop
            assert found.status.is_interrupted == (stop == Stop.INTERRUPTED)
            assert (found.warnings[-1] if found.warnings else None) == said
            assert all(row.holds for row in mmopt.verify(found, WORKLOAD).rows)


def test_a_worse_second_answer_is_not_taken(
    solutions: dict[str, Solution], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The space of the queries is left after its first point, which is worse, or made to seem so after its
    second one: why it ended is why the whole did."""
    first = solutions["l2_strategy"]
    for iterations in (2, 3):
        if iterations == 3:
            module = import_module("mmopt.driver.solve_convex")
            monkeypatch.setattr(
                module, "_gap_or_infinity", lambda one: float(isinstance(one.strategy, RowSpaceStrategy))
            )
        found = mmopt.solve(WORKLOAD, "l2_strategy", tolerance=1e-3, max_iterations=iterations)
        assert found.objective == first.objective and isinstance(found.strategy, SetStrategy)
        assert found.status.stop == Stop.ITERATIONS and len(found.reductions) == 2 and found.warnings
        assert found.iterations == iterations and mmopt.verify(found, WORKLOAD).holds


def test_a_time_limit_that_is_over_is_the_first_answer() -> None:
    for program in ("l2_strategy", "fitness_for_use"):
        found = mmopt.solve(WORKLOAD, program, tolerance=1e-3, time_limit=1e-6)
        assert found.status.stop == Stop.TIME and len(found.reductions) == 1
        assert found.warnings[0].startswith("stopped at the time limit of 1e-06 s: the gap is ")
        assert (found.objective_grade, found.bound_grade) == ("proved", "proved")
        assert all(row.holds for row in mmopt.verify(found, WORKLOAD).rows)


def test_queries_of_many_attributes_have_no_other_way() -> None:
    """Five attributes: too many for the space of the queries, few for sets alone."""
    products = [Product((f.prefix(2),) * 5)]
    found = mmopt.solve(Workload.from_products(domain_of(*(2,) * 5), products), tolerance=1e-6)
    assert isinstance(found.strategy, SetStrategy)
    assert "the search ends there: a query looks at 5 attributes, more than 4" in found.warnings[-1]


def test_advice_outlives_the_rows_for_the_largest_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    # What sets take by forecast.
    monkeypatch.setattr(import_module("mmopt.driver.solve_convex"), "SECONDS_UNASKED", 3.0)
    found = mmopt.solve(WORKLOAD, "fitness_for_use")
    assert found.status.stop == Stop.MISSED and len(found.reductions) == 2
    (said,) = found.warnings
    assert "may close it" in said and "by forecast" in said


def test_a_long_search_is_asked_for(solutions: dict[str, Solution], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("mmopt.driver.solve_convex"), "SECONDS_UNASKED", 0.0)
    found = mmopt.solve(WORKLOAD, "l2_strategy")
    assert found.objective == solutions["l2_strategy"].objective and found.status.stop == Stop.MISSED
    assert found.warnings == (
        "the gap is 3.5e-02; a search in the space of the queries: 18 functions of the cells, 1 component of "
        "size up to 18 may close it, in some 3 s by forecast: ask for it with a tolerance (--tolerance 0.01) "
        "or a time limit",
    )


def test_ten_to_the_twenty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """All prefixes of one and two of twenty attributes: within half a percent, and verified."""
    many = ways((10,) * 20)
    found = mmopt.solve(many, "l2_strategy")
    assert found.status.stop == Stop.REACHED and found.reductions == ("211 sets of attributes",)
    assert found.objective == pytest.approx(5_807_929, rel=1e-4)
    assert found.gap is not None and found.gap < 0.006
    assert mmopt.verify(found, many).holds
    planned = mmopt.mechanism.plan(many, found, mmopt.Privacy(rho=0.5))
    assert planned.rmse == pytest.approx(found.rmse, rel=1e-4)
