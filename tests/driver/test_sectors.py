"""Queries of few of many attributes: solved, judged, saved, verified and explained in their own space.

Guards sectors/row_space_cells_and_targets.py, sectors/row_space_cells_and_targets.py, results/solution.py,
strategies/component_strategies.py, proof/saved_values_by_component.py.
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tolerances
from dense_row_space import dense_sectors, few_of_many, swapped, ways
from few_attributes import few_ways

import mmopt
from mmopt import Solution, Workload, limits
from mmopt.compiler import Instance
from mmopt.compiler.reductions.symmetry_and_row_space import on_row_space
from mmopt.driver.judge.score_and_meaning import bound_of, candidate, meaning
from mmopt.driver.task_and_plan import plan_solve
from mmopt.errors import ResultError, TooLargeError
from mmopt.language import evaluate, shipped
from mmopt.limits import hard_limit
from mmopt.numerics.component_arrays import Measure, Split
from mmopt.results.saved_fields import pack, write_npz
from mmopt.sectors import design_search
from mmopt.sectors.error_bounds_of_measures import spectrum
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import row_space_of
from mmopt.sectors.row_space_cells_and_targets import RowSpaceCells, as_targets
from mmopt.solvers import Clock, Options, memory_limit, sector_kernel
from mmopt.strategies import RowSpaceStrategy
from mmopt.strategies.component_strategies import strategy_on
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, factors_and_products as f

GAP = 3e-3
"""Smaller than what strategies by sets of attributes reach."""
TARGET_GAP = 0.01


PLAIN = [pytest.param(ways((2, 3, 4)), id="plain"), pytest.param(swapped(), id="swapped")]


@pytest.fixture(scope="module")
def solved() -> Iterator[tuple[Workload, Solution]]:
    """All prefixes of one and two attributes, over more cells than are listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 50)
        workload = ways((3, 4, 5, 6))
        yield workload, mmopt.solve(workload, "l2_strategy", tolerance=GAP)


def test_a_solution_is_saved_and_verified(solved: tuple[Workload, Solution], tmp_path: Path) -> None:
    workload, solution = solved
    assert solution.solver == "sectors"
    assert solution.status.stop == "gap reached"
    assert solution.gap <= GAP
    assert (solution.objective_grade, solution.bound_grade) == ("proved", "proved")
    assert isinstance(solution.strategy, RowSpaceStrategy)
    assert solution.sensitivity <= 1.0
    assert solution.objective == pytest.approx(solution.error, rel=tolerances.PUBLISHED)
    again = Solution.load(solution.save(tmp_path / "found"))
    assert again == solution
    found = mmopt.verify(again, workload)
    assert all(row.holds for row in found.rows), str(found)
    json.dumps(solution.summary())
    words = mmopt.explain("l2_strategy", workload, solution=solution).text()
    assert "over cells that are not listed, of which the largest entry alone is known" in " ".join(
        words.split()
    )


def test_a_file_of_an_earlier_form_says_what_makes_it_anew(
    solved: tuple[Workload, Solution], tmp_path: Path
) -> None:
    fields = solved[1].fields()
    fields["strategy"]["core"] = {name: np.eye(2) for name in ("trivial", "standard", "sym", "alt")}
    path = write_npz(*pack(fields), tmp_path / "old")
    with pytest.raises(ResultError) as refused:
        Solution.load(path)
    assert refused.value.message == (
        f"'{path}' is not a saved solution: "
        "its strategy is by permutations of equal attributes, no longer read"
    )
    assert refused.value.hint == "make it anew: mmopt solve WORKLOAD --program PROGRAM --out FILE"


def test_a_changed_file_is_refused(solved: tuple[Workload, Solution]) -> None:
    workload, solution = solved
    strategy, measure = solution.strategy, solution.multipliers["sensitivity"]
    assert isinstance(strategy, RowSpaceStrategy)
    assert isinstance(measure, Measure)
    far = mmopt.verify(replace(solution, strategy=replace(strategy, scale=strategy.scale * 1.01)), workload)
    assert not all(row.holds for row in far.rows)
    less = replace(strategy, largest=strategy.largest * (1 - 1e-6))
    layout = strategy.layout
    turned = {id(own): own * 1.001 for own in layout.functions}
    bent = replace(layout, functions=tuple(turned[id(own)] for own in layout.functions))
    first, *rests = strategy.components
    bent_strategy = replace(strategy, components=(replace(first, layout=bent), *rests))
    rows = mmopt.verify(replace(solution, strategy=bent_strategy), workload).rows
    assert not {row.what: row.holds for row in rows}["strategy"]
    skewed = (own * np.arange(1, own.shape[1] + 1) for own in measure.mixture.factors)
    other = Mixture(measure.mixture.weights, tuple(own / own.sum(axis=1, keepdims=True) for own in skewed))
    x = solution.variables["X"]
    assert isinstance(x, Split)
    larger = replace(x, parts=tuple(part * (1 + 1e-6) for part in x.parts))
    wide = Mixture(
        measure.mixture.weights, tuple(np.hstack([own, own]) / 2 for own in measure.mixture.factors)
    )
    changed = (
        ("strategy", replace(solution, strategy=less)),
        ("bound", replace(solution, multipliers={"sensitivity": Measure(measure.space, other)})),
        ("feasible", replace(solution, variables={"X": larger})),
        ("error bound", replace(solution, error_multipliers=Measure(measure.space, other))),
        ("error bound", replace(solution, error_multipliers=Measure(measure.space, wide))),
    )
    for what, one in changed:
        rows = {row.what: row.holds for row in mmopt.verify(one, workload).rows}
        assert not rows[what], what


def in_sectors(workload: Workload) -> Instance:
    cells = RowSpaceCells.of(row_space_of(workload), workload)
    found = on_row_space(shipped("l2_strategy"), workload, {}, cells)
    assert not isinstance(found, str)
    return found[0]


def test_the_strategy_is_that_of_the_parts(rng: np.random.Generator) -> None:
    workload = few_of_many(rng) if rng.random() < 0.7 else ways([3] * int(rng.integers(2, 5)))
    instance = in_sectors(workload)
    cells = instance.env["W"].columns
    halves = [rng.normal(size=(d, d)) for d in cells.dims]
    x = Split(cells, cells, tuple(h @ h.T + len(h) * np.eye(len(h)) for h in halves))
    env = {**instance.env, "X": x}
    strategy = strategy_on(evaluate(instance.program.meaning.expr, env))
    columns = np.square(strategy.implicit().matrix()).sum(axis=0)
    assert columns.max() <= strategy.largest_column**2 <= columns.max() * (1 + tolerances.SHAPE)
    error = evaluate(instance.program.objective, env)
    assert strategy.squared_error(workload) == pytest.approx(error, rel=tolerances.SHAPE)


def test_queries_that_do_not_tell_all_values() -> None:
    """The strategy that is measured has the error that is stated, with fewer queries than functions."""
    few = f.predicates(np.array([[1, 0, 1, 0], [0, 1, 1, 0]]))
    instance = in_sectors(Workload.from_products(domain_of(4, 3), [Product((few, f.prefix(3)))]))
    options = Options(tolerance=0.1, max_iterations=3)
    for point in sector_kernel.points("l2_strategy", instance.env, options, Clock(math.inf)):
        if point.variables:
            found = candidate(instance, point.variables)
            strategy = meaning(instance, {**instance.env, **found.variables})[0]
            assert strategy.total_error(instance.workload) == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.parametrize("plain", PLAIN)
@pytest.mark.parametrize("program", ["weighted_l2", "fitness_for_use"])
def test_targets_are_met_as_densely(rng: np.random.Generator, program: str, plain: Workload) -> None:
    """A random point, repaired: what it means has the variances and the privacy cost that the lines say."""
    products = [
        replace(p, target=1.0 + sum(f.kind != "total" for f in p.factors)) for p in plain.products or ()
    ]
    workload = Workload.from_products(plain.domain, products)
    cells = RowSpaceCells.of(row_space_of(as_targets(workload)), workload)
    found = on_row_space(shipped(program), workload, {}, cells)
    assert not isinstance(found, str)
    instance, _ = found
    halves = [rng.normal(size=(d, d)) for d in cells.dims]
    parts = tuple(h @ h.T + len(h) * np.eye(len(h)) for h in halves)
    inner = instance.env["B"].rows
    values = {
        "weighted_l2": {"X": Split(cells, cells, parts)},
        "fitness_for_use": {"Sigma": Split(inner, inner, parts), "alpha": 1.0},
    }[program]
    point = candidate(instance, values)
    assert point.is_feasible
    assert point.proved
    strategy, covariance, _ = meaning(instance, point.env, {})
    assert isinstance(covariance, Split)
    ratios = strategy.variances(workload) / workload.targets
    assert ratios.max() == pytest.approx(1.0, rel=tolerances.SHAPE)
    columns = np.square(strategy.implicit().matrix()).sum(axis=0)
    assert strategy.largest_column**2 == pytest.approx(columns.max(), rel=tolerances.SHAPE)
    if program == "fitness_for_use":
        assert point.objective == pytest.approx(columns.max(), rel=tolerances.SHAPE)
    else:  # the error of the queries divided by their targets, at sensitivity 1
        weighted = [replace(p, weight=p.target**-2) for p in products]
        error = strategy.squared_error(Workload.from_products(plain.domain, weighted))
        assert point.objective == pytest.approx(columns.max() * error, rel=tolerances.SHAPE)


def with_targets(plain: Workload) -> Workload:
    """Queries of one and two attributes, to be answered with variances of at most 1 and 4."""
    products = [
        replace(p, target=float(sum(f.kind != "total" for f in p.factors)) ** 2) for p in plain.products or ()
    ]
    return Workload.from_products(plain.domain, products)


def assert_as_densely(instance: Instance, program: str, optimum: Solution) -> None:
    assert optimum.solver == "nuclear" and optimum.bound is not None
    points = sector_kernel.points(program, instance.env, Options(tolerance=TARGET_GAP), Clock(math.inf))
    point = next(point for point in points if point.variables)
    reached, bound = candidate(instance, point.variables), bound_of(instance, point.multipliers)
    assert reached.proved and bound is not None
    assert bound <= optimum.objective
    assert optimum.bound <= reached.objective <= (1 + TARGET_GAP) * bound


@pytest.mark.some(1)
@pytest.mark.parametrize("plain", PLAIN)
@pytest.mark.parametrize(
    ("program", "givens"),
    [
        ("fitness_for_use", {}),
        ("fitness_hybrid", {"total": 1.0}),
        ("fitness_budget", {"budget": 2.0}),
    ],
)
def test_targets_cost_what_they_cost_densely(plain: Workload, program: str, givens: dict[str, float]) -> None:
    workload = with_targets(plain)
    optimum = mmopt.solve(workload, program, givens=givens)
    cells = RowSpaceCells.of(row_space_of(as_targets(workload)), workload)
    found = on_row_space(shipped(program), workload, givens, cells)
    assert not isinstance(found, str)
    assert_as_densely(found[0], program, optimum)


@pytest.mark.some(1)
@pytest.mark.parametrize("plain", PLAIN)
def test_the_least_total_error_is_what_it_is_densely(plain: Workload) -> None:
    optimum = mmopt.solve(plain, "l2_strategy")
    found = on_row_space(shipped("l2_strategy"), plain, {}, RowSpaceCells.of(row_space_of(plain), plain))
    assert not isinstance(found, str)
    assert_as_densely(found[0], "l2_strategy", optimum)


@pytest.mark.parametrize("plain", PLAIN)
def test_the_largest_variance_is_what_it_is_densely(plain: Workload) -> None:
    """Queries of one attribute have four times the weight of those of two."""
    products = [
        replace(p, weight={1: 4.0, 2: 1.0}[sum(f.kind != "total" for f in p.factors)])
        for p in plain.products or ()
    ]
    workload = Workload.from_products(plain.domain, products)
    optimum = mmopt.solve(workload, "minimax_variance")
    cells = RowSpaceCells.of(row_space_of(workload), workload)
    found = on_row_space(shipped("minimax_variance"), workload, {}, cells)
    assert not isinstance(found, str)
    assert_as_densely(found[0], "minimax_variance", optimum)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["minimax_variance", "fitness_for_use"])
def test_five_attributes_are_proved(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every prefix of one attribute with a variance of at most 1, of two of at most 4: 6^5 cells."""
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 50)
    plain = ways((6,) * 5)
    workload = plain if program == "minimax_variance" else with_targets(plain)
    solution = mmopt.solve(workload, program, tolerance=2e-2)
    assert solution.solver == "sectors" and solution.gap <= 2e-2
    assert (solution.objective_grade, solution.bound_grade) == ("proved", "proved")
    assert isinstance(solution.strategy, RowSpaceStrategy)
    most = solution.objective if program == "minimax_variance" else workload.targets
    assert (solution.strategy.variances(workload) <= most * (1 + tolerances.SHAPE)).all()
    again = Solution.load(solution.save(tmp_path / "found"))
    assert all(row.holds for row in mmopt.verify(again, workload).rows)


def test_the_plan_is_as_it_was_where_there_are_few_cells() -> None:
    assert plan_solve(shipped("l2_strategy"), ways((6, 6, 6))).split == ""
    marginals = ways((10,) * 6, block=f.identity)
    assert "components" in plan_solve(shipped("l2_strategy"), marginals).split
    assert "space of the queries" not in plan_solve(shipped("l2_strategy"), marginals).split


def test_a_component_that_does_not_fit_is_no_plan() -> None:
    """Values in halves that can be swapped: one component of 2^20 orbits, but 21 functions of the cells."""
    halves = f.predicates([np.repeat([1.0, 0.0], 3), np.repeat([1.0, 2.0], 3)])
    products = [Product(tuple(halves if i == at else f.total(6) for i in range(20))) for at in range(20)]
    plan = plan_solve(shipped("l2_strategy"), Workload.from_products(domain_of(*(6,) * 20), products))
    assert plan.split == "21 sets of attributes"
    then = plan.further()
    assert then.split == "space of the queries: 21 functions of the cells, 1 component of size up to 21"


def test_what_does_not_fit_is_refused_with_what_does(subtests: pytest.Subtests) -> None:
    nine = [Product((*[f.prefix(3)] * 9, f.total(3))), Product((f.total(3), *[f.prefix(3)] * 9))]
    many = [f.prefix(200_000), f.identity(30), f.total(30)]
    for workload, message in [
        (
            Workload.from_products(domain_of(*(3,) * 10), nine),
            "'l2_strategy' cannot be solved by component: no two values of an attribute can be swapped, so "
            "the workload does not split; nor in the space of the queries: a query looks at 9 attributes, "
            "more than 8, and 32,805 functions span its queries, a matrix of 8 GiB; over 59,049 cells "
            f"one matrix alone takes 26 GiB, and the limit here is {memory_limit() / 2**30:,.0f} GiB for 12 "
            "of them",
        ),
        (
            Workload.from_products(
                domain_of(200_000, 30, 30), [Product((*many,)), Product((many[0], f.total(30), many[1]))]
            ),
            "the root of the Gram matrix of prefix(200000) has 200,000 × 200,000 entries, 298.0 GiB; the "
            "limit is 4 GiB",
        ),
    ]:
        with subtests.test(message):
            with pytest.raises(TooLargeError) as refused:
                plan_solve(shipped("l2_strategy"), workload)
            assert message == refused.value.message
            fewer = "ask queries of fewer attributes at a time; or group values of the attributes"
            assert refused.value.hint == fewer


def test_the_forecast_is_within_a_factor_of_ten_of_what_was_measured(subtests: pytest.Subtests) -> None:
    for sizes, blocks, measured in [
        ((10,) * 5, [f.prefix], 10.7),
        ((3, 4, 5, 6, 30), [f.prefix], 2.6),
        ((2, 3, 5, 8, 12, 20, 30), [f.prefix], 152.0),
        ((2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30), [f.prefix, f.identity], 10.5),
    ]:
        with subtests.test(sizes=sizes):
            kinds = (blocks * len(sizes))[: len(sizes)]
            env = in_sectors(few_ways(sizes, (1, 2), kinds, False)).env
            _, seconds = sector_kernel.needs("l2_strategy", env)
            assert measured / 10 < seconds < measured * 10


@pytest.fixture
def mixed(monkeypatch: pytest.MonkeyPatch) -> Workload:
    """Prefixes of some attributes and values of others, whose components are larger than a kernel takes."""
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 50)
    return few_ways((3, 4, 5, 2, 3), (1, 2), [f.prefix] * 3 + [f.identity] * 2)


def test_components_that_are_too_large_are_not_put_together(
    mixed: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmopt.symmetry.find_symmetries.blocks_of", None)
    plan = plan_solve(shipped("l2_strategy"), mixed)
    assert plan.lines == ("16 sets of attributes",)
    assert plan.further().split.startswith("space of the queries: 68 functions of the cells")


def test_components_are_put_together_where_there_is_no_other_way(mixed: Workload) -> None:
    whole = Product(tuple(f.prefix(n) for n in (3, 4, 5)) + tuple(f.identity(n) for n in (2, 3)))
    workload = Workload.from_products(mixed.domain, [*(mixed.products or ()), whole])
    (line,) = plan_solve(shipped("l2_strategy"), workload).lines
    assert line == "symmetry between attribute values: 360 cells -> 60 orbits, 4 components of size up to 60"


def test_a_time_that_is_over_at_once_leaves_a_proved_point(
    mixed: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells are looked at once; where the proof of it would be too late, no known strategy is asked."""
    monkeypatch.setattr("mmopt.driver.task_and_plan._by_sets", lambda *a: "not by sets")
    looks, known = [], []
    monkeypatch.setattr(design_search, "spectrum", lambda *a: looks.append(a) or spectrum(*a))
    first = RowSpaceCells.first_strategy.fget
    monkeypatch.setattr(RowSpaceCells, "first_strategy", property(lambda c: known.append(c) or first(c)))
    for limit, asked in ((hard_limit, 1), (lambda seconds: seconds, 0)):
        monkeypatch.setattr(sector_kernel, "hard_limit", limit)
        solution = mmopt.solve(mixed, "l2_strategy", time_limit=1e-6)
        assert (len(looks), len(known)) == (1, asked)
        assert (solution.status.stop, solution.iterations) == ("time limit", 1)
        assert (solution.objective_grade, solution.bound_grade) == ("proved", "proved")
        assert solution.bound <= solution.objective
        assert all(row.holds for row in mmopt.verify(solution, mixed).rows)
        looks.clear()
        known.clear()


def test_the_search_ends_where_a_proof_would_not_be_in_time() -> None:
    """The limit is a thousand seconds; after the first look five times its seconds and 300 must be left."""
    for looked, is_reached in [(1.0, False), (150.0, False), (180.0, True), (800.0, True)]:
        started = time.monotonic() - looked
        assert sector_kernel._Reserve(Clock(1000.0, started=started)).is_reached() == is_reached
        assert sector_kernel._Reserve(Clock(math.inf, started=started)).is_short() is False


def test_all_is_given_up_in_the_middle_of_a_proof(mixed: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is asked before each node of an expression and before each component."""
    monkeypatch.setattr("mmopt.driver.task_and_plan._by_sets", lambda *a: "not by sets")
    instance = plan_solve(shipped("l2_strategy"), mixed).instance
    (point,) = sector_kernel.points("l2_strategy", instance.env, Options(max_iterations=1), Clock(math.inf))
    monkeypatch.setattr(limits, "GRACE", 0.0)
    with limits.deadline(1e-9):
        with pytest.raises(mmopt.TimeLimitError):
            candidate(instance, point.variables)
        with pytest.raises(mmopt.TimeLimitError):
            bound_of(instance, point.multipliers)


def test_a_near_multiple_is_not_searched_again(rng: np.random.Generator) -> None:
    workload = few_of_many(rng)
    rows = dense_sectors(workload)
    cells = RowSpaceCells.of(rows, workload)
    half = rng.normal(size=(len(rows.basis),) * 2)
    gram = half @ half.T
    exact = rows.profile([gram]).max()
    first = cells.largest_entry([gram])
    assert cells.longest > 0
    object.__setattr__(cells, "rows", None)  # nobody may ask it again
    assert cells.largest_entry([gram / 3]) >= exact / 3
    assert cells.largest_entry([gram / 3]) <= first / 3 * (1 + tolerances.SHAPE)
