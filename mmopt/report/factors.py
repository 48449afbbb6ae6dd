"""Baselines beside the programs of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite

from rich.table import Table

from mmopt.comparison import Factors
from mmopt.report.style import cell, figure, gap, new_table

__all__ = ["factors_left_out", "factors_legend", "factors_tables"]

NOISES = {1: "Laplace", 2: "Gaussian"}
LONGEST = 200  # characters of a reason
ROUNDING = 1e-6  # a factor nearer to 1 is no difference


def factors_tables(factors: Sequence[Factors], programs: Mapping[int, str]) -> list[Table]:
    """A table for each noise: the program they stand beside, then the baselines, the least error first.

    Where queries have targets, another one after it: the privacy cost at which all are met.

    programs : how that program is called, by norm.
    """
    found = []
    for norm, name in programs.items():
        found += [_table(factors, norm, name), _privacy_table(factors, norm)]
    return [table for table in found if table is not None]


def factors_left_out(factors: Sequence[Factors]) -> list[str]:
    """A line for each reason, with the baselines that have it."""
    reasons: dict[str, dict[str, None]] = {}
    for one in factors:
        if one.reason:
            said = one.reason if len(one.reason) <= LONGEST else f"{one.reason[: LONGEST - 2]} …"
            reasons.setdefault(said, {})[one.name] = None
    lines = [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return [*(["Baselines left out:"] if lines else []), *lines]


def factors_legend(factors: Sequence[Factors]) -> list[str]:
    """What the words in the tables mean."""
    if all(one.cost is None for one in factors):
        return []
    lines = [
        "factor: total error, or rmse, over that of the program in the first row. / bound: total error over "
        "the proved bound of all strategies. 'mmopt baselines WORKLOAD' says what each baseline measures."
    ]
    costs = [one.privacy for one in factors if one.privacy is not None]
    if costs:
        lines.append(
            "privacy cost: the least Δ at which every query with a target meets it; its square is what "
            "fitness_for_use minimizes. Factors are those of Δ, to the program with the least and to the "
            "proved bound of all strategies."
        )
    below = "less total error" * any(one.error < 1.0 - ROUNDING for one in factors)
    cheaper = "less privacy cost" * any(one.over_best < 1.0 - ROUNDING for one in costs)
    if below or cheaper:
        lines.append(
            f"A factor below 1: the baseline has {' or '.join(filter(None, (below, cheaper)))} than the "
            "program, which minimizes something else, or chooses among fewer strategies."
        )
    return lines


def _table(factors: Sequence[Factors], norm: int, program: str) -> Table | None:
    rows = [(one.cost, one) for one in factors if one.cost is not None and one.cost.norm == norm]
    best = rows[0][1].against if rows else None
    if best is None or best.solution is None:
        return None
    numbers = ("total error", "factor", "/ bound", "rmse", "factor")
    title = f"Baselines, {NOISES[norm]} noise: factors to {program}"
    table = new_table("baseline", *numbers, right=numbers, title=title)
    error, rmse, bound = best.solution.error, best.solution.rmse, rows[0][1].bound
    over = _times(error / bound if bound > 0 else inf, up=True)
    table.add_row(
        cell(best.program, "bold"), figure(error, up=True), "1", over, figure(rmse, 4, up=True), "1"
    )
    for cost, one in sorted(rows, key=lambda row: row[0].error):
        table.add_row(
            cell(one.name),
            figure(cost.error, up=True),
            _times(one.error),
            _times(one.over_bound, up=True),
            figure(cost.rmse, 4, up=True),
            _times(one.rmse),
        )
    return table


def _privacy_table(factors: Sequence[Factors], norm: int) -> Table | None:
    rows = [
        (one.privacy, one)
        for one in factors
        if one.privacy is not None and one.cost is not None and one.cost.norm == norm
    ]
    if not rows:
        return None
    first = rows[0][0]
    assert first.against is not None
    program = first.against.program
    numbers = ("privacy cost", "factor", "/ bound")
    title = f"Privacy cost, {NOISES[norm]} noise: factors to {program}"
    table = new_table("baseline", *numbers, right=numbers, title=title)
    over = _times(first.best_over_bound, up=True)
    table.add_row(cell(program, "bold"), figure(first.least, up=True), "1", over)
    for cost, one in sorted(rows, key=lambda row: row[0].cost):
        over = _times(cost.over_bound, up=True)
        table.add_row(cell(one.name), figure(cost.cost, up=True), _times(cost.over_best), over)
    return table


def _times(factor: float, up: bool | None = None) -> str:
    """Four digits, or two where the exponent needs the room."""
    if not isfinite(factor):
        return "-"
    return figure(factor, 4, up) if 1e-3 <= factor < 1e4 else gap(factor)
