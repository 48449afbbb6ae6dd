"""The tables of a comparison: grouped, numbered, and whole at 80 and 100 columns."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from mmopt import Privacy
from mmopt.comparison import Factors, Outcome, Predicted, Stated, ranking
from mmopt.driver import solve
from mmopt.report import comparison_report
from mmopt.report.comparison_tables import in_groups
from mmopt.report.table_style import figure, gap
from mmopt.results import Solution
from mmopt.strategies import Neighbours
from mmopt.strategies.baselines import Cost
from mmopt.workloads import Workload


def printed(part: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(part)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


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
    words = printed(comparison_report(outcomes), 100).split()
    text = " ".join(words)
    objective, bound = figure(solution.objective, up=True), figure(solution.bound, up=False)
    assert f"one scs 1e-06 {objective} {bound} {gap(solution.gap)} gap reached" in text
    assert f"clarabel 0.0015 {objective} no bound - gap reached" in text
    error, rmse = figure(solution.error, up=True), figure(solution.rmse, 4, up=True)
    assert f"one scs 1e-06 {error} {rmse}" in text
    seconds = " ".join(f"{solution.seconds[name]:.2f} s" for name in ("compile", "solve"))
    assert f"one scs 1e-06 {gap(solution.status.violation)} {seconds} {solution.iterations} 3 MiB" in text
    assert words.count("one") == 3  # once in each table
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


@pytest.mark.parametrize("width", [80, 100])
def test_numbers_and_names_stay_whole(solution: Solution, width: int) -> None:
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
    text = printed(comparison_report(outcomes), width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    assert words.count(name) == 3
    for word in ("1.23457e-05", "1.23459e-05", "200000"):
        assert words.count(word) == 4, word
    for part in ("12.50 s  3600 s", "123 GiB", " 123457  "):
        assert text.count(part) == 4, part
    for word in ("clarabel", "cvxopt", "1e-03", "1e-06"):
        assert words.count(word) == 6, word


def test_what_is_printed_claims_no_more_than_was_proved() -> None:
    w = Workload.from_matrix(np.tri(16))
    each = [solve(w, name) for name in ("l2_strategy", "query_weighting")]
    outcomes = [Outcome(s.program, s.solver, s, stop=s.status.stop) for s in each]
    tables = " ".join(printed(comparison_report(outcomes), 200).split())
    found = [o.solution for o in outcomes if o.solution is not None]
    (said,) = re.findall(r"has less than (\S+)\. rmse", tables)
    assert len(found) == 2 and float(said) <= max(s.error_bound for s in found)
    for s in found:
        (row,) = re.findall(rf"{s.program} \S+ (\S+) (\S+) (\S+) gap reached", tables)
        rows = {name: text.split()[0] for name, text in s.rows()}
        assert s.bound is not None and s.gap is not None
        for bound in (row[1], rows["bound"]):
            assert s.bound * (1 - 1e-5) < float(bound) <= s.bound
        for objective in (row[0], rows["objective"]):
            assert s.objective <= float(objective) < s.objective * (1 + 1e-5)
        assert min(float(row[2]), float(rows["gap"])) >= s.gap
        assert float(rows["error bound"]) <= s.error_bound <= s.error <= float(rows["total error"])
        assert float(rows["sensitivity"]) >= s.sensitivity


def test_a_program_that_maximizes_is_rounded_the_other_way(solution: Solution) -> None:
    found = solved("dual", solution, objective=1 / 3, bound=2 / 3, sense="maximize")
    assert "0.333333 0.666667" in " ".join(printed(comparison_report([found])).split())
    assert found.solution is not None
    rows = dict(found.solution.rows())
    assert rows["objective"].startswith("0.3333333333 ") and rows["bound"].startswith("0.6666666667 ")
    assert "objective 0.33333333," in repr(found.solution)


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
    words = " ".join(text.split())
    assert (
        "Best first, by the root mean square of the standard errors, at epsilon = 1, delta = 1e-06" in words
    )
    assert "epsilon needed: the least at this delta at which every query with a target meets it." in words
    assert "*: of noise on real numbers, where rows are too many to be rounded to integers;" in words
    assert text.index("first ") < text.index("Certificates") < text.index("Work")
    # Where a bound or an objective is shown, it is said to be at unit noise.
    assert "Certificates (objectives are at unit noise)" in text and "total error" not in text
