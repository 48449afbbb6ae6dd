"""The baselines in a comparison: sorted, beside their program, within 80 columns."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from mmopt.comparison import Factors, Outcome
from mmopt.comparison.least_costs import PrivacyFactors
from mmopt.driver import solve
from mmopt.report import comparison_report
from mmopt.report.table_style import figure, gap
from mmopt.strategies.baselines import Cost
from mmopt.workloads import Workload

LONG_NAME = "hierarchical(branching=2)"


def printed(part: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


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
        ["l2_strategy", up(error), "1", up(error / 2, 4), up(rmse, 4), "1"],
        ["wavelet", up(2 * error), "2", up(error, 4), "3.25", "1.5"],
        [LONG_NAME, up(4 * error), "4", up(2 * error, 4), "3.25", "1.5"],
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
    assert "privacy cost: the least Δ at which every query with a target meets it;" in shown
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


def test_reasons_are_said_once_and_not_at_length(outcome: Outcome) -> None:
    factors = [
        Factors("fourier", "", reason="no marginals"),
        Factors("quadtree", "", reason="x" * 300),
        Factors("datacube", "", reason="no marginals"),
    ]
    text = printed(comparison_report([outcome], factors), 400)
    assert f"Baselines left out:\n  fourier, datacube: no marginals\n  quadtree: {'x' * 198} …\n" in text
    assert "Baselines, " not in text and "factor:" not in text


def test_without_baselines(outcome: Outcome) -> None:
    assert "aselines" not in printed(comparison_report([outcome]))
