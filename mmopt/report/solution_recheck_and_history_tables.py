"""Tables of a solution and of its history.

The history is the iterations of a solver, or the rounds of a search: as a table and as a frame. Further
tables show a solution, its checks, its slack, its sub-workloads, and solutions for several parts or
templates.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group

from mmopt.comparison import Stated, TemplatePlace
from mmopt.driver import Tuned
from mmopt.errors import ResultError
from mmopt.mechanism import Plan
from mmopt.numerics.outward import rounded
from mmopt.report.comparison_tables import CONTINUOUS
from mmopt.report.table_style import Table, bold, cell, duration, figure, gap, rows_table
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Frame, Solution, Verification, gap_between
from mmopt.results.solution_rows_and_json import levels
from mmopt.results.status_grade_and_verification import shown
from mmopt.strategies import ComponentStrategy, ProductStrategy, StrategyOfFew
from mmopt.symmetry.components import Cells
from mmopt.workloads import Domain, Workload
from mmopt.workloads.workload import only, subworkloads

ROWS_SHOWN = 20  # of a history
ORDER = ("part", "run", "iteration", "seconds", "objective", "bound", "gap")  # of columns
# Names of columns in a table, which has less room than a file.
HEADS = {"iteration": "iter", "seconds": "sec", "primal residual": "primal", "dual residual": "dual"}

Row = Mapping[str, float | bool]


def history_table(solution: Solution) -> Table:
    """The history of a solution, at most ``ROWS_SHOWN`` rows of it.

    Among rounds the best and the last row of each start are kept, then the best of the others; among
    iterations the certified ones, the first and the last, and others evenly spaced. All are in their order.
    """
    history, up = solution.history, solution.sense == "minimize"
    if any("certified" in row for row in history):
        return _iterations(solution, up)
    places = _rounds_shown(history, 1.0 if up else -1.0)
    # Entries, such as eigenvalues, have no room here.
    columns = list(dict.fromkeys(name for row in history for name in row if not name[-1].isdigit()))
    rows = ([history_text(name, history[i].get(name), up) for name in columns] for i in places)
    return rows_table(columns, rows, columns, f"Rounds{_shown_of(places, history)}")


def history_frame(solution: Solution) -> Frame:
    """Every row of the history, and of the histories of its steps, in columns (rows,); NaN where a row has
    none.

    step : the name of the step of a procedure, or of the factor of a product. certified : whether objective
    and bound are those of a repaired point, by the program file; else they are the solver's count, not
    checked. gap : the gap between the two, where it is finite.
    """
    rows_by_step = list(_with_steps(solution, ""))
    steps = {"step": np.array([step for step, _ in rows_by_step], dtype=object)} if solution.steps else {}
    columns: dict[str, Any] = {
        name: np.array([row.get(name, math.nan) for _, row in rows_by_step], dtype=float)
        for name in _columns(row for _, row in rows_by_step)
    }
    certified = [row.get("certified", "objective" in row) for _, row in rows_by_step]
    return Frame({**steps, **columns, "certified": np.array(certified, dtype=bool)})


def _columns(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The names in rows, without ``certified``: those in ``ORDER`` first, in that order."""
    names = dict.fromkeys(name for row in rows for name in row if name != "certified")
    return [*(name for name in ORDER if name in names), *(name for name in names if name not in ORDER)]


def _with_steps(solution: Solution, step: str) -> Iterator[tuple[str, dict[str, float | bool]]]:
    """The rows of a history with their gaps, then those of its steps, each with the name of its step."""
    for row in solution.history:
        ratio = _gap(row, solution.sense)
        yield step, {**row, **({} if ratio is None else {"gap": ratio})}
    for name, inner in solution.steps.items():
        yield from _with_steps(inner, f"{step}/{name}" if step else name)


def _gap(row: Row, sense: str) -> float | None:
    """The gap of a row; None where it has none that is finite."""
    ratio = gap_between(row["objective"], row.get("bound"), sense) if "objective" in row else None
    return None if ratio is None or not math.isfinite(ratio) else ratio


def _iterations(solution: Solution, up: bool) -> Table:
    """The history of a solver; ``up``: its objectives are rounded up, its bounds down."""
    history, places = solution.history, _iterations_shown(solution.history)
    shown = [{**history[i], "gap": _gap(history[i], solution.sense)} for i in places]
    columns = [name for name in _columns(shown) if any(row.get(name) is not None for row in shown)]
    if "part" in columns or len({row.get("run") for row in shown}) == 1:  # there is no room for both
        columns = [name for name in columns if name != "run"]
    rows = (
        [
            *(history_text(name, row.get(name), up if row["certified"] else None) for name in columns),
            "certified" if row["certified"] else "own count",
        ]
        for row in shown
    )
    heads = [HEADS.get(name, name) for name in columns]
    is_apart = solution.bound is not None and not any("bound" in row for row in shown if row["certified"])
    title = (
        f"Iterations{_shown_of(places, history)}: the solver's own count where not certified"
        + "; a gap below 0: not feasible yet" * any((row["gap"] or 0) < 0 for row in shown)
        + "; the proved bound is read off the lines, in no row" * is_apart
    )
    return rows_table([*heads, "by"], rows, heads, title, whole=("by",))


def _iterations_shown(history: Sequence[Row]) -> list[int]:
    """The places of the iterations to show, ascending: the certified ones, and others evenly spaced."""
    certified = [i for i, row in enumerate(history) if row.get("certified")][-ROWS_SHOWN:]
    others = [i for i, row in enumerate(history) if not row.get("certified")]
    count = min(len(others), ROWS_SHOWN - len(certified))
    chosen = np.linspace(0, len(others) - 1, count).round().astype(int)
    return sorted([*certified, *(others[place] for place in chosen)])


def _shown_of(places: Sequence[int], history: Sequence[Row]) -> str:
    """How many rows of a history are shown, for a title; "" where all are."""
    return "" if len(places) == len(history) else f", {len(places)} of {len(history)}"


def _rounds_shown(history: Sequence[Row], sign: float) -> list[int]:
    """The places of the rounds to show, ascending: the best and the last of each start, then the best.

    sign : 1 where objectives are minimised, -1 where they are maximised.
    """

    def worth(i: int) -> float:
        return sign * history[i].get("objective", sign * math.inf)

    starts: dict[float, list[int]] = {}
    for i, row in enumerate(history):
        starts.setdefault(row.get("start", 0), []).append(i)
    best = [min(places, key=worth) for places in starts.values()]
    last = [places[-1] for places in starts.values()]
    order = [*sorted(best, key=worth), *sorted(last, key=worth), *sorted(range(len(history)), key=worth)]
    return sorted(list(dict.fromkeys(order))[:ROWS_SHOWN])


def history_text(name: str, value: float | None, up: bool | None) -> str:
    """A value as text. ``up`` rounds an objective up and a bound down; None: plain numbers."""
    if name in ("gap", "residual", "primal residual", "dual residual"):
        return gap(value)
    if up is not None and name in ("objective", "bound"):
        return figure(value, up=up == (name == "objective"))
    return figure(value, 3 if name == "seconds" else 6)


CELLS_SHOWN = 10  # of those with slack
AT_UNIT_NOISE = ("total error", "error bound")  # rows that a plan has at its privacy
UNITS = f"{', '.join(AT_UNIT_NOISE)} and rmse are at unit noise and sensitivity 1, whatever the privacy"
VALUES_SHOWN = 2  # of an attribute, in the name of an orbit


def verification_report(verification: Verification) -> Group:
    """A row per check, then the verdict and a list of what is not checked."""
    table = rows_table(
        ("what", "stated", "recomputed", "holds"),
        (
            (row.what, shown(row.stated), shown(row.recomputed), "yes" if row.holds else bold("NO"))
            for row in verification.shown
        ),
    )
    units = [cell(UNITS)] if any(row.what == "rmse" for row in verification.shown) else []
    return Group(
        table,
        cell(""),
        *units,
        cell(verification.verdict()),
        cell(f"not checked, no figure depends on them: {', '.join(verification.unchecked)}"),
    )


def solution_rows(solution: Solution, plan: Plan | None = None) -> list[tuple[str, str]]:
    """The most important figures; with a plan errors are those of that release, not at unit noise.

    For a template error and bound are shown with a plan, too: the gap is between them, and is not proved.
    """
    rows = solution.rows()
    if plan is None:
        return rows
    name, spent = plan.spent
    cost = f"{name} = {rounded(str(spent), 6, up=True)}" + (f", delta = {plan.delta:g}" if plan.delta else "")
    error = f"{rounded(plan.rmse, 6, up=True)}   (per query, predicted at {cost}: {plan.kind} noise)"
    hidden = () if solution.template else AT_UNIT_NOISE
    return [(name, error if name == "rmse" else text) for name, text in rows if name not in hidden]


def solved_workload(value: object, workload: WorkloadLike) -> Workload:
    """The workload; ResultError where it is not that of the solution. A strategy is for any workload."""
    resolved = as_workload(workload)
    theirs = getattr(value, "workload_hash", resolved.hash)
    if theirs != resolved.hash:
        message = f"the solution is for the workload {theirs[:12]}…, this one is {resolved.hash[:12]}…"
        raise ResultError(message, hint="give the workload that was solved")
    return resolved


def slack_table(solution: Solution, workload: Workload) -> Table | None:
    """The cells that pay less than the largest privacy cost, the most slack first; None when there are none.

    None also where cells are not listed: only the largest cost is known.

    Measuring the count of cell i with variance v adds 1 / v to its cost and to no other, so a variance of
    1 / slack leaves the privacy cost of the whole as it is (PVLDB 2021, section 4: personalised costs).
    """
    if isinstance(solution.strategy, StrategyOfFew | ProductStrategy):
        return None
    slack, sizes = levels(solution.slack)
    order = [int(i) for i in np.argsort(-slack, kind="stable") if slack[i] > 0]
    if not order:
        return None
    profile, _ = levels(solution.profile)
    largest = profile.max()
    rows = [
        (
            _cell_name(solution, workload, i),
            f"{profile[i] / largest:.4f}",
            f">= {figure(1 / slack[i], 4, up=True)}",
        )
        for i in order[:CELLS_SHOWN]
    ]
    rows += [(f"and {int(sizes[order[CELLS_SHOWN:]].sum())} more", "", "")] * (len(order) > CELLS_SHOWN)
    return rows_table(("cell with slack", "cost / Δ²", "its count could be answered with variance"), rows)


def _cell_name(solution: Solution, workload: Workload, number: int) -> str:
    """A cell by its values, or an orbit of cells."""
    if isinstance(solution.strategy, ComponentStrategy):
        return orbit_label(solution.strategy.cells, workload.domain, number)
    return ", ".join(workload.domain.cell(number))


def orbit_label(cells: Cells, domain: Domain, orbit: int) -> str:
    """The values of each attribute in an orbit, and how many cells it has.

    As in "F, any hispanic, 3 or 5 or 13 more (1,300 cells)".
    """
    numbers = np.unravel_index(orbit, cells.joint.shape)
    words = []
    for a, number, orbits in zip(domain.attributes, numbers, cells.joint.attributes, strict=True):
        members = np.flatnonzero(orbits.orbit_of == number)
        more = [f"{len(members) - VALUES_SHOWN} more"] * (len(members) > VALUES_SHOWN)
        labels = [*(a.labels[i] for i in members[:VALUES_SHOWN]), *more]
        words.append(f"any {a.name}" if len(members) == a.size > 1 else " or ".join(labels))
    size = cells.sizes[orbit]
    count = f"{int(size):,}" if size < 1e15 else f"{size:.0e}"
    return f"{', '.join(words)} ({count} cell{'' if size == 1 else 's'})"


def subworkloads_table(solution: Solution, workload: Workload, plan: Plan | None = None) -> Table:
    """A row for each sub-workload: queries and errors, planned or for unit noise per unit of sensitivity."""
    rows, strategy = [], solution.strategy
    for name in subworkloads(workload):
        part = only(workload, name)
        variances = strategy.sensitivity**2 * strategy.variances(part)
        if plan is not None:
            ends = itertools.accumulate(block.m for block in workload.blocks)
            numbered = zip(workload.products or (), ends, strict=True)
            places = [np.arange(end - p.m, end) for p, end in numbered if p.subworkload == name]
            variances = np.square(plan.standard_errors[np.concatenate(places)])
        errors = (figure(float(np.sqrt(v)), 5, up=True) for v in (variances.mean(), variances.max()))
        rows.append((bold(name), f"{part.m:,}", *errors))
    columns = ("queries", "rmse", "largest")
    return rows_table(("sub-workload", *columns), rows, columns)


def tuning_table(tuned: Sequence[Tuned], noise: float = 1.0) -> Table:
    """A row per strategy: the root mean square error per query of each part, and the gap of total error.

    noise : the standard deviation of the noise per unit of sensitivity.
    """
    parts = list(dict.fromkeys(part for row in reversed(tuned) for part in row.rmse))
    rows = (
        (bold(row.optimised), *(_error(row.rmse.get(part), noise) for part in parts), gap(row.gap))
        for row in tuned
    )
    return rows_table(("optimised for", *parts, "gap"), rows, (*parts, "gap"))


def _error(rmse: float | None, noise: float) -> str:
    """An error at unit noise as that at this noise, rounded up; "-" for None."""
    return figure(None if rmse is None else noise * rmse, 5, up=True)


def templates_table(
    places: Sequence[TemplatePlace], bound: float, bound_from: str, stated: Stated | None
) -> Table:
    """A row per template and noise, then the bound on total error at unit noise, which holds for all.

    At a stated privacy rmse is the root mean square of a release's standard errors, rounded up; without one
    it is at unit noise, beside the total error. Factors are rounded to the nearest.
    """
    best = min((place.rmse for place in places), default=math.inf)

    def text(value: float, digits: int = 6, up: bool | None = True) -> str:
        return figure(value if math.isfinite(value) else None, digits, up=up)

    rows = []
    for place in places:
        c = place.candidate
        errors = [text(c.error), text(c.rmse)]
        if stated is not None:
            factor = place.rmse / best if math.isfinite(place.rmse) else math.inf
            mark = CONTINUOUS * place.predicted.is_continuous
            errors = [f"{text(place.rmse, 5)}{mark}", text(factor, 4, None)]
        over, took = text(c.error / bound, 5, None), duration(c.seconds)
        about = repr(c.strategy) if c.strategy is not None and not place.reason else place.reason
        rows.append((bold(c.template), place.noise, *errors, over, took, about))
    least = ["", ""] if stated is not None else [figure(bound, up=False), ""]
    rows.append((bold("bound"), "", *least, "1", "", f"by {bound_from}"))
    errors = ["rmse", "factor"] if stated is not None else ["total error", "rmse"]
    numbers = (*errors, "error / bound", "time")
    title = "" if stated is None else f"Best first, at {stated}"
    return rows_table(("template", "noise", *numbers, "strategy"), rows, numbers, title)
