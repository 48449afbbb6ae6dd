"""A planned release, its answers, and simulated errors as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from rich.table import Table
from rich.text import Text

from mmopt.mechanism import Plan
from mmopt.mechanism.simulated_releases import GroupErrors, Simulated
from mmopt.numerics.outward import rounded
from mmopt.report.accuracy_tables import unmet_words
from mmopt.report.table_style import bold, cell, counted, figure, percent, rows_table
from mmopt.results import Frame

__all__ = [
    "NOT_PRIVATE",
    "answer_groups",
    "answers_table",
    "cost_words",
    "decimals",
    "privacy_rows",
    "simulated_table",
]

NOT_PRIVATE = "SIMULATED ON THE DATA: these figures are not private and must not be published"
GROUPS_SHOWN = 12

Row = tuple[Text | str, ...]


def privacy_rows(plan: Plan) -> list[tuple[str, str]]:
    """What a release costs, under which theorem, and its noise, as (name, text)."""
    limit = "set by the targets (max_variance)"
    if plan.privacy is not None:
        limit = f"{plan.privacy}"
        limit += "; less is used, as the targets ask" if plan.absolute else ""
    unit = plan.neighbours
    counts = (
        f"at most {counted(unit.at_most, 'row')} of each {unit.column}: answers and intervals are of these "
        "rows, not of all"
    )
    said = (
        ("counted", counts if unit.column else ""),
        ("scaled", plan.scaled_from),
        ("not covered", plan.not_covered),
        ("wishes unmet", unmet_words(plan)),
        ("rounding", plan.rounding),
        ("warning", plan.warning),
    )
    return [
        ("privacy cost", cost_words(plan.rho, plan.epsilon, plan.delta)),
        ("allowed", limit),
        ("neighbours", plan.neighbours.words),
        ("sensitivity", plan.sensitivity_of),
        *((name, text) for name, text in said if text),
        ("theorem", plan.theorem),
        ("noise", f"{plan.kind} of scale {plan.noise:.6g} on the strategy's queries"),
        ("rmse", f"{rounded(plan.rmse, 6, up=True)} predicted, per query"),
    ]


def cost_words(rho: float | None, epsilon: float | None, delta: float | None) -> str:
    """What a release costs, rounded up."""
    if rho is None:
        return f"epsilon = {rounded(str(epsilon), 6, up=True)}, pure (delta = 0)"
    at = "" if epsilon is None else f", epsilon = {rounded(str(epsilon), 6, up=True)} at delta = {delta!r}"
    return f"rho = {rounded(str(rho), 6, up=True)}{at}"


def answer_groups(frame: Frame) -> list[tuple[str, slice]]:
    """Names and rows of the groups of queries of an ``answers_frame``, in their order."""
    names = frame["query"].tolist()
    starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    return [(names[a], slice(a, b)) for a, b in zip(starts, [*starts[1:], len(names)], strict=True)]


def answers_table(frame: Frame, first: int = 3) -> Table:
    """The first few answers of each group, with standard error and interval, of an ``answers_frame``."""
    interval = f"{percent(frame.metadata['confidence'])} interval"
    groups = answer_groups(frame)
    rows: list[Row] = []
    for name, part in groups[:GROUPS_SHOWN]:
        rows.append((bold(name),))
        rows += [_answer(frame, i) for i in range(part.start, min(part.stop, part.start + first))]
        if part.stop - part.start > first:
            rows.append((cell(f"  … {part.stop - part.start - first:,} more", "dim"),))
    if len(groups) > GROUPS_SHOWN:
        rows.append((cell(f"… {counted(len(groups) - GROUPS_SHOWN, 'group')} more", "dim"),))
    refined = ("refined",) if "refined" in frame.metadata else ()
    numbers = ("answer", "standard error", interval, *refined)
    return rows_table(("query", *numbers), rows, numbers)


def _answer(frame: Frame, i: int) -> Row:
    error = float(frame["standard_error"][i])
    places = decimals(error)
    shown = f"{error:.3g}" if 0 < error < 1e-6 else f"{error:,.{places}f}"
    return (
        f"  {frame['label'][i]}",
        f"{float(frame['estimate'][i]):,.{places}f}",
        shown,
        interval(frame, i, places),
        *([_refined(float(frame["refined"][i]), places)] if "refined" in frame.metadata else []),
    )


def _refined(value: float, places: int) -> str:
    """Whole numbers as they are."""
    return f"{value:,.{0 if value.is_integer() else places}f}"


def interval(frame: Frame, row: int, places: int) -> str:
    """The interval of an answer, its ends rounded outwards to so many decimals."""
    low = _outwards(frame["low"][row], places, ROUND_FLOOR)
    return f"[{low}, {_outwards(frame['high'][row], places, ROUND_CEILING)}]"


def _outwards(end: float, places: int, rounding: str) -> str:
    """An end of an interval, to so many decimals."""
    return (
        f"{Decimal(repr(float(end))).quantize(Decimal(1).scaleb(-places), rounding, Context(prec=400)):z,f}"
    )


def decimals(error: float) -> int:
    """Decimals that show three digits of a standard error, at most six."""
    if not error > 0:
        return 0
    # Rounded first: 9.9999 is shown as 10.0, not as 10.00.
    return max(0, min(6, 2 - math.floor(math.log10(float(f"{error:.3g}")))))


def simulated_table(runs: Sequence[tuple[str, Simulated]]) -> Table:
    """Strategies by name under one privacy: each group's errors, then those of all queries."""
    numbers = ("relative", "±", "expected", "rmse", "predicted")
    rows: list[Row] = []
    for name, run in runs:
        rows.append((bold(f"{name} ({run.noise})"),))
        groups = run.groups if len(run.groups) > 1 else ()
        rows += map(_errors, groups[:GROUPS_SHOWN])
        if len(groups) > GROUPS_SHOWN:
            rows.append((cell(f"  … {len(groups) - GROUPS_SHOWN:,} more", "dim"),))
        rows.append(_errors(run.whole))
    return rows_table(("queries", *numbers), rows, numbers, str(runs[0][1].privacy or "set by targets"))


def _errors(errors: GroupErrors) -> Row:
    values = (errors.relative, errors.spread, errors.expected, errors.rmse, errors.predicted)
    return f"  {errors.name}", *(figure(v, d) for v, d in zip(values, (4, 1, 4, 4, 4), strict=True))
