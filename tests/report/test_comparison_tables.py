"""comparison_tables, ranking_tables, baseline_tables: sorted, whole at 80 columns, never too good.

Guards solution_and_comparison_tables.py.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from mmopt import Privacy
from mmopt.comparison import Factors, Outcome, Predicted, Stated, ranking
from mmopt.comparison.baselines_against_programs import PrivacyFactors
from mmopt.driver import solve
from mmopt.report import comparison_report
from mmopt.report.solution_and_comparison_tables import in_groups
from mmopt.report.table_style import figure, gap
from mmopt.results import Solution
from mmopt.strategies import Neighbours
from mmopt.strategies.baselines import Cost
from mmopt.workloads import Workload
from tests.report.printed import printed, words


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(Workload.from_matrix(np.tri(4)), "query_weighting")


def solved(name: str, solution: Solution, **changes: object) -> Outcome:
    names = {"formulation_of", "tolerance", "memory", "solver"}
    own = {key: changes.pop(key) for key in list(changes) if key in names}
    found = replace(solution, program=name, **changes)  # type: ignore[arg-type]
    fields = {"solver": "scs", "stop": found.status.stop, **own}
    return Outcome(name, solution=found, **fields)  # type: ignore[arg-type]


def refused(name: str, reason: str, stop: str = "refused") -> Outcome:
    return Outcome(name, "", None, reason, reason, stop)


def test_formulations_stand_below_their_base(solution: Solution) -> None:
    outcomes = [
        solved("z_form", solution, formulation_of="base", value=3.0),
        solved("other", solution),
        solved("base", solution),
    ]
    assert [o.program for o in in_groups(outcomes)] == ["base", "z_form", "other"]
    text = printed(comparison_report(outcomes))
    assert next(line for line in text.splitlines() if line.startswith("  ")).startswith("  z_form")
    assert "Indented: another formulation of the program above" in text
    assert "value: the objective on the scale that all formulations of a program share." in text
    alone = printed(comparison_report(outcomes[:1]))
    assert "\nz_form " in alone and "Indented" not in alone


def test_a_table_shows_the_figures(solution: Solution) -> None:
    outcomes = [
        solved("one", solution, memory=3 * 2**20, tolerance=1e-6),
        solved("one", solution, bound=None, solver="clarabel", tolerance=1.5e-3),
    ]
    text = words(comparison_report(outcomes), 100)
    objective = figure(solution.objective, up=True)
    alike = figure(solution.objective)  # in six digits that of the bound too
    assert figure(solution.bound) == alike and "equal where they agree in six digits" in text
    assert f"one scs 1e-06 {alike} {alike} {gap(solution.gap)} gap reached" in text
    assert f"clarabel 0.0015 {objective} no bound - gap reached" in text
    error, rmse = figure(solution.error, up=True), figure(solution.rmse, 4, up=True)
    assert f"one scs 1e-06 {error} {rmse}" in text
    seconds = " ".join(f"{solution.seconds[name]:.2f} s" for name in ("compile", "solve"))
    assert f"one scs 1e-06 {gap(solution.status.violation)} {seconds} {solution.iterations} 3 MiB" in text
    assert text.split().count("one") == 3  # once in each table
    assert f"has less than {figure(solution.error_bound, up=False)}." in text


def test_reasons_are_said_once(solution: Solution) -> None:
    outcomes = [
        refused("a", "no [targets]; write some", "does not apply"),
        solved("b", solution, warnings=("careful",)),
        Outcome("c", "scs", None, "stopped\n  hint", "stopped", "time limit", memory=2**31),
        Outcome("c", "cvxopt", None, "stopped\n  hint", "stopped", "time limit"),
        refused("d", "no [targets]; write some", "does not apply"),
        refused("e", "too large", "too large"),
    ]
    text = printed(comparison_report(outcomes))
    assert "(1) b with scs: careful\n(2) c with scs, c with cvxopt: stopped\n" in text
    assert "Left out:\n  a, d: no [targets]; write some\n  e: too large\n" in text
    table = text[: text.index("Strategies")]
    assert table.count("time limit (2)") == 2 and "gap reached (1)" in table
    assert "2.0 GiB" in text


def test_a_program_for_other_neighbours_says_so(solution: Solution) -> None:
    persons = replace(solution, strategy=replace(solution.strategy, neighbours=Neighbours.of("rows 2")))
    text = printed(comparison_report([solved("rows", solution), solved("persons", persons)]))
    assert "(1) persons with scs: figures are for neighbours rows 2\n" in text
    assert "figures are for" not in printed(comparison_report([solved("rows", solution)]))


def test_a_closed_form_has_no_solver(solution: Solution) -> None:
    status = replace(solution.status, stop="closed form")
    text = printed(comparison_report([solved("svd", solution, solver="closed form", status=status)]))
    assert text.count("closed form") == 1 and text.count("svd      -  ") == 3


def test_nothing_tried() -> None:
    assert printed(comparison_report([refused("a", "no targets")])) == "Left out:\n  a: no targets\n"


def test_numbers_and_names_stay_whole(solution: Solution) -> None:
    name = "l2_strategy_second_order"
    outcomes = [
        solved(
            name,
            solution,
            solver=solver,
            tolerance=tolerance,
            objective=1.23457e-05,
            bound=1.234591e-05,
            value=123457.0,
            seconds={"compile": 12.5, "solve": 3600.0},
            status=replace(solution.status, stop="gap reached in every step"),
            iterations=200_000,
            memory=123 * 2**30,
        )
        for solver in ("clarabel", "cvxopt")
        for tolerance in (1e-3, 1e-6)
    ]
    outcomes = [replace(o, stop="gap reached in every step") for o in outcomes]
    for width in (80, 100):
        text = printed(comparison_report(outcomes), width)
        assert max(map(len, text.splitlines())) <= width
        found = text.split()
        assert found.count(name) == 3
        for word in ("1.23457e-05", "1.23459e-05", "200000"):
            assert found.count(word) == 4, word
        for part in ("12.50 s  3600 s", "123 GiB", " 123457  "):
            assert text.count(part) == 4, part
        for word in ("clarabel", "cvxopt", "1e-03", "1e-06"):
            assert found.count(word) == 6, word


def test_what_is_printed_claims_no_more_than_was_proved() -> None:
    w = Workload.from_matrix(np.tri(16))
    each = [solve(w, name) for name in ("l2_strategy", "query_weighting")]
    outcomes = [Outcome(s.program, s.solver, s, stop=s.status.stop) for s in each]
    tables = words(comparison_report(outcomes), 200)
    found = [o.solution for o in outcomes if o.solution is not None]
    (said,) = re.findall(r"has less than (\S+)\. rmse", tables)
    assert len(found) == 2 and float(said) <= max(s.error_bound for s in found)
    for s in found:
        (row,) = re.findall(rf"{s.program} \S+ (\S+) (\S+) (\S+) gap reached", tables)
        rows = {name: text.split()[0] for name, text in s.rows()}
        assert s.bound is not None and s.gap is not None
        if f"{s.bound:.6g}" == f"{s.objective:.6g}":  # shown as one number
            assert row[:2] == (f"{s.bound:.6g}",) * 2
            row = (rows["objective"], rows["bound"], row[2])
        for bound in (row[1], rows["bound"]):
            assert s.bound * (1 - 1e-5) < float(bound) <= s.bound
        for objective in (row[0], rows["objective"]):
            assert s.objective <= float(objective) < s.objective * (1 + 1e-5)
        assert min(float(row[2]), float(rows["gap"])) >= s.gap
        assert float(rows["error bound"]) <= s.error_bound <= s.error <= float(rows["total error"])
        assert float(rows["sensitivity"]) >= s.sensitivity


def test_a_program_that_maximizes_is_rounded_the_other_way(solution: Solution) -> None:
    found = solved("dual", solution, objective=1 / 3, bound=2 / 3, sense="maximize")
    assert "0.333333 0.666667" in words(comparison_report([found]))
    assert found.solution is not None
    rows = dict(found.solution.rows())
    assert rows["objective"].startswith("0.3333333333 ") and rows["bound"].startswith("0.6666666667 ")
    assert "objective 0.33333333," in repr(found.solution)


@pytest.mark.quick
def test_a_ranking_shows_no_error_lower_than_it_is(solution: Solution) -> None:
    """Errors and costs are rounded up, factors to the nearest; baselines and programs in one list."""
    stated = Stated(Privacy(epsilon=1.0, delta=1e-6))
    w = Workload.from_matrix(np.tri(4))
    outcomes = [
        replace(solved("second", solution), predicted=Predicted(2.00001, 0.500001)),
        replace(solved("refused", solution), predicted=Predicted(reason="not allowed")),
        replace(solved("first", solution), predicted=Predicted(1.00001, 0.25)),
    ]
    factors = [
        Factors("huge", "", cost=Cost(1, 4, 1.0, 4.0, 1.0), predicted=Predicted(3.0, is_continuous=True))
    ]
    text = printed(comparison_report(outcomes, factors, ranking(outcomes, factors, w, stated)))
    rows = [line.split() for line in text[: text.index("Certificates")].splitlines()[-5:] if line.split()]
    assert rows[-3:] == [
        ["first", "program", "Gaussian", "1.001", "1", "0.25"],
        ["second", "program", "Gaussian", "2.001", "2", "0.5001"],
        ["huge", "baseline", "Laplace*", "3", "3", "-"],
    ]
    assert "Not ranked:\n  refused: not allowed\n" in text
    said = " ".join(text.split())
    assert "Best first, by the root mean square of the standard errors, at epsilon = 1, delta = 1e-06" in said
    assert "epsilon needed: the least at this delta that meets every target." in said
    assert "*: of noise on real numbers, where rows are too many to be rounded to integers;" in said
    assert text.index("first ") < text.index("Certificates") < text.index("Work")
    # Where a bound or an objective is shown, it is said to be at unit noise.
    assert "Certificates (objectives are for noise of variance 1)" in text and "total error" not in text


LONG_NAME = "hierarchical(branching=2)"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    s = solve(Workload.from_matrix(np.tri(4)), "l2_strategy")
    return Outcome("l2_strategy", "nuclear", s, stop=s.status.stop)


def beside(outcome: Outcome, name: str, error: float, bound: float = 2.0) -> Factors:
    solution = outcome.solution
    assert solution is not None
    factors = (error / solution.error, 1.5, error / bound if bound else math.inf)
    cost = Cost(solution.strategy.norm, 7, 1.0, error, 3.25)
    return Factors(name, "", "", "", cost, outcome, bound, *factors)


def up(value: float, digits: int = 6) -> str:
    return figure(value, digits, up=True)


def test_a_table_shows_the_factors_the_least_first(outcome: Outcome) -> None:
    assert outcome.solution is not None
    error, rmse = outcome.solution.error, outcome.solution.rmse
    factors = [beside(outcome, LONG_NAME, 4 * error), beside(outcome, "wavelet", 2 * error)]
    text = printed(comparison_report([outcome], factors))
    assert max(map(len, text.splitlines())) <= 80
    table = text[text.index("Baselines, Gaussian noise: factors to l2_strategy\n") : text.index("Work\n")]
    rows = [line.split() for line in table.splitlines()[3:] if line]
    assert rows == [
        ["l2_strategy", up(error), "1", f"{error / 2:.4g}", up(rmse, 4), "1"],
        ["wavelet", up(2 * error), "2", f"{error:.4g}", "3.25", "1.5"],
        [LONG_NAME, up(4 * error), "4", f"{2 * error:.4g}", "3.25", "1.5"],
    ]
    assert "factor: total error, or rmse, over that of the program in the first row." in text


def test_privacy_costs_have_a_table_of_their_own(outcome: Outcome) -> None:
    costs = [PrivacyFactors(cost, outcome, 2.0, 1.6) for cost in (8.0, 4.0, 1.0)]
    names = (LONG_NAME, "wavelet", "haar")
    each = zip(names, costs, strict=True)
    factors = [replace(beside(outcome, name, 100.0), privacy=privacy) for name, privacy in each]
    text = printed(comparison_report([outcome], factors))
    assert max(map(len, text.splitlines())) <= 80
    start = text.index("Privacy cost, Gaussian noise: factors to l2_strategy\n")
    rows = [line.split() for line in text[start : text.index("Work\n")].splitlines()[3:] if line]
    assert rows == [
        ["l2_strategy", "2", "1", "1.25"],
        ["haar", "1", "0.5", "0.625"],
        ["wavelet", "4", "2", "2.5"],
        [LONG_NAME, "8", "4", "5"],
    ]
    shown = " ".join(text.split())
    assert "privacy cost: the least Δ that meets every target;" in shown
    assert "A factor below 1: the baseline has less privacy cost than the program" in shown
    unknown = replace(factors[1], privacy=replace(costs[1], bound=math.nan))
    assert ["wavelet", "4", "2", "-"] in [
        line.split() for line in printed(comparison_report([outcome], [unknown])).splitlines()
    ]


def test_a_factor_below_one_is_explained(outcome: Outcome) -> None:
    assert outcome.solution is not None
    for times, is_said in ((0.99, True), (1.0, False)):
        factors = [beside(outcome, "wavelet", times * outcome.solution.error)]
        assert ("A factor below 1:" in printed(comparison_report([outcome], factors))) is is_said


def test_numbers_are_whole_beside_long_names(outcome: Outcome) -> None:
    long = "hierarchical(branching=12345, root=True)"
    factors = [beside(outcome, long, 1.23457e20), beside(outcome, LONG_NAME, 1.23457e25, bound=1e-30)]
    text = printed(comparison_report([outcome], factors))
    assert max(map(len, text.splitlines())) <= 80
    rows = [line.split()[-5:] for line in text.splitlines() if "e+2" in line]
    assert outcome.solution is not None
    assert rows == [
        [up(error), gap(error / outcome.solution.error), gap(error / bound), "3.25", "1.5"]
        for error, bound in ((1.23457e20, 2.0), (1.23457e25, 1e-30))
    ]


def test_the_solver_is_named_where_there_are_several(outcome: Outcome) -> None:
    other = Outcome("l2_strategy", "scs", None, "stopped", "stopped", "time limit")
    text = printed(comparison_report([outcome, other], [beside(outcome, "wavelet", 30.0)]))
    # A title is folded to the width of its table.
    assert "Baselines, Gaussian noise: factors to l2_strategy with nuclear " in " ".join(text.split())


def test_a_bound_of_zero_says_nothing(outcome: Outcome) -> None:
    text = printed(comparison_report([outcome], [beside(outcome, "wavelet", 30.0, bound=0.0)]))
    (row,) = [line.split() for line in text.splitlines() if line.startswith("wavelet ")]
    assert row[3] == "-"


def test_reasons_of_baselines_are_said_once_and_not_at_length(outcome: Outcome) -> None:
    factors = [
        Factors("fourier", "", reason="no marginals"),
        Factors("quadtree", "", reason="x" * 300),
        Factors("datacube", "", reason="no marginals"),
    ]
    text = printed(comparison_report([outcome], factors), 400)
    assert f"Baselines left out:\n  fourier, datacube: no marginals\n  quadtree: {'x' * 198} …\n" in text
    assert "Baselines, " not in text and "factor:" not in text
    assert "aselines" not in printed(comparison_report([outcome]))
