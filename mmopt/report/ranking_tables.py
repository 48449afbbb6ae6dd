"""Programs and baselines at a stated privacy, best first."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from rich.table import Table

from mmopt.comparison import Factors, Outcome, Place, Ranking
from mmopt.report.table_style import bold, figure, rows_table

__all__ = ["CONTINUOUS", "ranking_legend", "ranking_table"]

CONTINUOUS = "*"  # after a noise


def ranking_table(ranked: Ranking, name: Callable[[Outcome], str] | None = None) -> Table:
    """A row for each place; errors and costs are rounded up, so that none is shown lower than it is.

    Factors are rounded to the nearest.

    Where queries have targets there is a column of what they cost, and none for the best program for the same
    noise: there is no room for both. Where there is no program, there is neither that nor the kind.

    name : of an outcome; by default its program's.
    """
    stated = ranked.stated
    assert stated is not None
    kinds = {type(place.entry) for place in ranked.places}
    needed = f"{stated.cost_name} needed" * any(place.cost is not None for place in ranked.places)
    last = needed or "same noise" * (Outcome in kinds)
    numbers = (needed, "factor", "rmse") if ranked.by_cost else ("rmse", "factor", *[last] * bool(last))

    def cells(place: Place) -> tuple[object, ...]:
        is_program = isinstance(place.entry, Outcome)
        figures = {
            "rmse": figure(place.rmse, 4, up=True),
            "factor": figure(place.factor, 4),
            needed: figure(place.cost, 4, up=True),
            "same noise": figure(place.same_noise, 4) if isfinite(place.same_noise) else "-",
        }
        return (
            _called(place.entry, name),
            *["program" if is_program else "baseline"] * (len(kinds) > 1),
            f"{place.noise}{CONTINUOUS * place.is_continuous}",
            *(figures[column] for column in numbers),
        )

    title = f"Best first, by the root mean square of the standard errors, at {stated}"
    if ranked.by_cost:
        title = f"Best first, by the {stated.cost_name} at which every target is met; rmse at {stated}"
    columns = (_heading(kinds), *["kind"] * (len(kinds) > 1), "noise", *numbers)
    return rows_table(columns, map(cells, ranked.places), numbers, title)


def ranking_legend(ranked: Ranking) -> list[str]:
    """What the words in the ranking mean, as far as they occur."""
    stated = ranked.stated
    if not ranked.places or stated is None:
        return []
    has_costs = any(place.cost is not None for place in ranked.places)
    kinds = {type(place.entry) for place in ranked.places}
    same_noise = " same noise: to the best program for the same noise." * (Outcome in kinds and not has_costs)
    lines = [
        "rmse: root mean square of the queries' standard errors, in counts, of a release at this privacy, "
        f"rounded up. factor: to the best.{same_noise}"
    ]
    if has_costs:
        at = "" if stated.privacy.delta is None else " at this delta"
        lines.append(f"{stated.cost_name} needed: the least{at} at which every query with a target meets it.")
    if any(place.is_continuous for place in ranked.places):
        lines.append(
            f"{CONTINUOUS}: of noise on real numbers, where rows are too many to be rounded to integers; "
            "of what a release draws the last digits may differ."
        )
    return lines


def _called(entry: Outcome | Factors, name: Callable[[Outcome], str] | None) -> object:
    if isinstance(entry, Factors):
        return entry.name
    return bold(entry.program if name is None else name(entry))


def _heading(kinds: set[type]) -> str:
    return "" if len(kinds) > 1 else "program" if Outcome in kinds else "baseline"
