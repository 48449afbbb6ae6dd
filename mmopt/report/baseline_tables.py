"""Baselines: the catalogue, what they cost, and how they stand beside the programs of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite

from rich.table import Table

from mmopt.comparison import Factors, Ranking
from mmopt.report.ranking_tables import ranking_legend, ranking_table
from mmopt.report.table_style import bold, cell, clipped, figure, gap, left_out, pairs_table, rows_table
from mmopt.strategies.baselines import NOISES, Baseline, Cost, Evaluated

__all__ = ["baseline_costs", "baselines_table", "factors_legend", "factors_tables"]

MOST_ROWS_IN_FULL = 10**9  # rows up to which all digits are shown
FACTOR_ROUNDING = 1e-6  # a factor nearer to 1 is no difference


def baselines_table(rows: Iterable[Baseline]) -> Table:
    """A row per baseline: name with its parameters, what it is, the source."""
    return rows_table(
        ("baseline", "", "source"),
        ((bold("\n  ".join([row.name, *map(str, row.parameters)])), row.title, row.source) for row in rows),
    )


def baseline_costs(evaluated: Sequence[Evaluated], ranked: Ranking | None = None) -> list[object]:
    """The least error first; then what was chosen for the workload, and why some do not apply.

    ranked : of the baselines at a stated privacy; without it a table for each noise, at unit noise.
    """
    notes = [(one.name, note) for one in evaluated if (note := _note(one))]
    if ranked is not None and ranked.stated is not None:
        tables = [ranking_table(ranked)] if ranked.places else []
        blocks: list[object] = [*tables, *[pairs_table(notes)] * bool(notes)]
        unranked = ((clipped(reason), f"{entry.noise} noise") for reason, entry in ranked.left_out)
        lines = [*left_out("Not ranked:", unranked), *ranking_legend(ranked)]
        return [part for block in blocks for part in (block, "")] + [cell(line) for line in lines]
    numbers = ("rows", "sensitivity", "total error", "rmse")
    parts: list[object] = []
    for norm, noise in NOISES.items():
        costs = [(one.name, cost) for one in evaluated for cost in one.costs if cost.norm == norm]
        costs.sort(key=lambda named: named[1].error)
        rows = ((bold(name), *_cost(cost)) for name, cost in costs)
        title = f"{noise} noise (for unit noise per unit of sensitivity)"
        if costs:
            parts += [rows_table(("baseline", *numbers), rows, numbers, title), ""]
    return [*parts, pairs_table(notes)] if notes else parts[:-1]


def _cost(cost: Cost) -> list[str]:
    errors = (cost.error, cost.rmse) if isfinite(cost.error) else (None, None)
    rows = f"{cost.rows:,}" if cost.rows <= MOST_ROWS_IN_FULL else figure(float(cost.rows), 3)
    return [rows, *(figure(value, up=True) for value in (cost.sensitivity, *errors))]


def _note(one: Evaluated) -> str:
    if one.reason is not None:
        return f"does not apply: {one.reason}"
    lacking = ["does not tell the answers"] * any(not isfinite(cost.error) for cost in one.costs)
    return clipped("; ".join([*filter(None, [one.detail]), *lacking]))


# -- beside the programs of a comparison


def factors_tables(factors: Sequence[Factors], programs: Mapping[int, str]) -> list[Table]:
    """A table for each noise: the program they stand beside, then the baselines, the least error first.

    Where queries have targets, another one after it: the privacy cost at which all are met.

    programs : how that program is called, by norm.
    """
    tables = []
    for norm, name in programs.items():
        beside = [(one.cost, one) for one in factors if one.cost is not None and one.cost.norm == norm]
        tables += [_table(beside, norm, name), _privacy_table([one for _, one in beside], norm)]
    return [table for table in tables if table is not None]


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
    below = "less total error" * any(one.error < 1.0 - FACTOR_ROUNDING for one in factors)
    cheaper = "less privacy cost" * any(one.over_best < 1.0 - FACTOR_ROUNDING for one in costs)
    if below or cheaper:
        lines.append(
            f"A factor below 1: the baseline has {' or '.join(filter(None, (below, cheaper)))} than the "
            "program, which minimizes something else, or chooses among fewer strategies."
        )
    return lines


def _table(beside: Sequence[tuple[Cost, Factors]], norm: int, program: str) -> Table | None:
    best = beside[0][1].against if beside else None
    if best is None or best.solution is None:
        return None
    error, rmse, bound = best.solution.error, best.solution.rmse, beside[0][1].bound
    over = _times(error / bound if bound > 0 else inf, up=True)
    first = (bold(best.program), figure(error, up=True), "1", over, figure(rmse, 4, up=True), "1")
    rest = (
        (
            one.name,
            figure(cost.error, up=True),
            _times(one.error),
            _times(one.over_bound, up=True),
            figure(cost.rmse, 4, up=True),
            _times(one.rmse),
        )
        for cost, one in sorted(beside, key=lambda pair: pair[0].error)
    )
    numbers = ("total error", "factor", "/ bound", "rmse", "factor")
    title = f"Baselines, {NOISES[norm]} noise: factors to {program}"
    return rows_table(("baseline", *numbers), [first, *rest], numbers, title)


def _privacy_table(beside: Sequence[Factors], norm: int) -> Table | None:
    costs = [(one.privacy, one.name) for one in beside if one.privacy is not None]
    if not costs:
        return None
    best = costs[0][0]
    assert best.against is not None
    program = best.against.program
    first = (bold(program), figure(best.least, up=True), "1", _times(best.best_over_bound, up=True))
    rest = (
        (name, figure(cost.cost, up=True), _times(cost.over_best), _times(cost.over_bound, up=True))
        for cost, name in sorted(costs, key=lambda pair: pair[0].cost)
    )
    numbers = ("privacy cost", "factor", "/ bound")
    title = f"Privacy cost, {NOISES[norm]} noise: factors to {program}"
    return rows_table(("baseline", *numbers), [first, *rest], numbers, title)


def _times(factor: float, up: bool | None = None) -> str:
    """Four digits, or two where the exponent needs the room."""
    if not isfinite(factor):
        return "-"
    return figure(factor, 4, up) if 1e-3 <= factor < 1e4 else gap(factor)
