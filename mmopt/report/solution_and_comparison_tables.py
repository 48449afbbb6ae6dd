"""Tables of a solution, of its history, and of programs and baselines compared.

The ranking has programs and baselines at a stated privacy, best first. Baselines have a table of the
catalogue, one of their costs, and one of their factors to the programs of a comparison. A comparison of
programs shows certificates, strategies, baselines, time and memory, and the reasons why some were not solved.

The history of a solution is the iterations of a solver, or the rounds of a search: as a table and as a frame.
Further tables show a solution, its checks, its slack, its sub-workloads, and solutions for several parts or
templates.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np
from rich.console import Group

from mmopt.comparison import (
    Factors,
    Outcome,
    Place,
    Ranking,
    Stated,
    TemplatePlace,
    best_first,
    ranking,
    ratio,
    standards,
)
from mmopt.driver import Tuned
from mmopt.errors import ResultError
from mmopt.mechanism import Plan
from mmopt.numerics.arrays import grouped, rounded
from mmopt.report.table_style import (
    Row,
    Table,
    bold,
    cell,
    clipped,
    duration,
    figure,
    gap,
    left_out,
    memory,
    pairs_table,
    rows_table,
)
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Frame, Solution, Verification, gap_between
from mmopt.results.solution_rows_and_json import levels
from mmopt.results.status_grade_and_verification import shown
from mmopt.strategies import ADD_REMOVE, ComponentStrategy, ProductStrategy, StrategyOfFew
from mmopt.strategies.baselines import NOISE_NAMES, Baseline, Cost, Evaluated
from mmopt.symmetry.components import Cells
from mmopt.workloads import (
    Domain,
    Workload,
    only,
    subworkloads,
)

CONTINUOUS = "*"  # after the name of a noise on real numbers


def ranking_table(ranked: Ranking, outcomes: Sequence[Outcome] = ()) -> Table:
    """A row for each place; errors and costs are rounded up, so that none is shown lower than it is.

    Factors are rounded to the nearest.

    Where queries have targets there is a column of their cost, in place of the column of factors to the best
    program for the same noise: there is no room for both. Without a program there is neither the latter nor
    the column of kinds.

    outcomes : all that were compared: a program is named with its solver where several are of it.
    """
    stated = ranked.stated
    assert stated is not None
    kinds = {type(place.entry) for place in ranked.places}
    needed = f"{stated.cost_name} needed" * any(place.cost is not None for place in ranked.places)
    last = needed or "same noise" * (Outcome in kinds)
    numbers = (needed, "factor", "rmse") if ranked.by_cost else ("rmse", "factor", *[last] * bool(last))

    def cells(place: Place) -> Row:
        is_program, name = isinstance(place.entry, Outcome), _entry_name(place.entry, outcomes)
        figures = {
            "rmse": figure(place.rmse, 4, up=True),
            "factor": figure(place.factor, 4),
            needed: figure(place.cost, 4, up=True),
            "same noise": figure(place.same_noise, 4) if isfinite(place.same_noise) else "-",
        }
        return (
            bold(name) if is_program else name,
            *["program" if is_program else "baseline"] * (len(kinds) > 1),
            f"{place.noise}{CONTINUOUS * place.is_continuous}",
            *(figures[column] for column in numbers),
        )

    title = (
        f"Best first, by the {stated.cost_name} at which every target is met; rmse at {stated}"
        if ranked.by_cost
        else f"Best first, by the root mean square of the standard errors, at {stated}"
    )
    heads = ("", "kind") if len(kinds) > 1 else ("program",) if Outcome in kinds else ("baseline",)
    return rows_table((*heads, "noise", *numbers), map(cells, ranked.places), numbers, title)


def ranking_legend(ranked: Ranking) -> list[str]:
    """Explain the words that occur in the ranking."""
    stated = ranked.stated
    if not ranked.places or stated is None:
        return []
    has_costs = any(place.cost is not None for place in ranked.places)
    kinds = {type(place.entry) for place in ranked.places}
    same_noise = " same noise: to the best program for the same noise." * (Outcome in kinds and not has_costs)
    at = "" if stated.privacy.delta is None else " at this delta"
    costs = f"{stated.cost_name} needed: the least{at} that meets every target."
    continuous = (
        f"{CONTINUOUS}: of noise on real numbers, where rows are too many to be rounded to integers; "
        "of what a release draws the last digits may differ."
    )
    return [
        "rmse: root mean square of the queries' standard errors, in counts, of a release at this privacy, "
        f"rounded up. factor: to the best.{same_noise}",
        *[costs] * has_costs,
        *[continuous] * any(place.is_continuous for place in ranked.places),
    ]


MOST_ROWS_IN_FULL = 10**9  # rows up to which all digits are shown
FACTOR_ROUNDING = 1e-6  # a factor nearer to 1 is no difference


def baselines_table(rows: Iterable[Baseline]) -> Table:
    """A row per baseline: its name and parameters, its title, the source."""
    return rows_table(
        ("baseline", "", "source"),
        ((bold("\n  ".join([row.name, *map(str, row.parameters)])), row.title, row.source) for row in rows),
    )


def baseline_costs(evaluated: Sequence[Evaluated], ranked: Ranking | None = None) -> list[object]:
    """Tables with the least error first; then choices made for the workload, and why some do not apply.

    ranked : the baselines at a stated privacy; without it there is a table for each noise, at unit noise.
    """
    notes = (
        [pairs_table(notes_by_name)]
        if (notes_by_name := [(one.name, n) for one in evaluated if (n := _note(one))])
        else []
    )
    if ranked is not None and ranked.stated is not None:
        blocks = [*([ranking_table(ranked)] if ranked.places else []), *notes]
        unranked = ((clipped(reason), f"{entry.noise} noise") for reason, entry in ranked.left_out)
        lines = [*left_out("Not ranked:", unranked), *ranking_legend(ranked)]
        return [*(part for block in blocks for part in (block, "")), *map(cell, lines)]
    numbers = ("rows", "sensitivity", "total error", "rmse")
    parts: list[object] = []
    for norm, noise in NOISE_NAMES.items():
        costs = [(one.name, cost) for one in evaluated for cost in one.costs if cost.norm == norm]
        if costs:
            rows = (
                (bold(name), *_cost(cost)) for name, cost in sorted(costs, key=lambda pair: pair[1].error)
            )
            title = f"{noise} noise (of variance 1 per unit of sensitivity)"
            parts += [rows_table(("baseline", *numbers), rows, numbers, title), ""]
    return [*parts, *notes] if notes else parts[:-1]


def _cost(cost: Cost) -> list[str]:
    """Rows, sensitivity and errors of a baseline, as texts."""
    errors = (cost.error, cost.rmse) if isfinite(cost.error) else (None, None)
    rows = f"{cost.rows:,}" if cost.rows <= MOST_ROWS_IN_FULL else figure(float(cost.rows), 3)
    return [rows, *(figure(value, up=True) for value in (cost.sensitivity, *errors))]


def _note(one: Evaluated) -> str:
    """The reason why a baseline does not apply, or what was chosen for the workload; "" without either."""
    if one.reason is not None:
        return f"does not apply: {one.reason}"
    lacking = ["cannot derive the answers"] * any(not isfinite(cost.error) for cost in one.costs)
    return clipped("; ".join([*filter(None, [one.detail]), *lacking]))


# -- beside the programs of a comparison


def factors_tables(factors: Sequence[Factors], programs: Mapping[int, str]) -> list[Table]:
    """A table for each noise: the program they are compared with, then the baselines, the least error first.

    Where queries have targets it is followed by a table of the privacy cost at which all are met.

    programs : the name of that program, by norm.
    """
    tables = []
    for norm, name in programs.items():
        costed = [(one.cost, one) for one in factors if one.cost is not None and one.cost.norm == norm]
        for heading, numbers, rows in (_baseline_rows(costed), _privacy_rows(costed)):
            title = f"{heading}, {NOISE_NAMES[norm]} noise: factors to {name}"
            tables += [rows_table(("baseline", *numbers), rows, numbers, title)] * bool(rows)
    return tables


def factors_legend(factors: Sequence[Factors]) -> list[str]:
    """Explain the words in the tables of factors."""
    if all(one.cost is None for one in factors):
        return []
    costs = [one.privacy for one in factors if one.privacy is not None]
    less = [
        *["less total error"] * any(one.error < 1.0 - FACTOR_ROUNDING for one in factors),
        *["less privacy cost"] * any(one.over_best < 1.0 - FACTOR_ROUNDING for one in costs),
    ]
    cost = (
        "privacy cost: the least Δ that meets every target; its square is what "
        "fitness_for_use minimizes. Factors are those of Δ, to the program with the least and to the "
        "proved bound of all strategies."
    )
    below = (
        f"A factor below 1: the baseline has {' or '.join(less)} than the program, which minimizes something "
        "else, or chooses among fewer strategies."
    )
    return [
        "factor: total error, or rmse, over that of the program in the first row. / bound: total error over "
        "the proved bound of all strategies. Both are to the nearest. 'mmopt baselines WORKLOAD' says what "
        "each baseline measures.",
        *[cost] * bool(costs),
        *[below] * bool(less),
    ]


def _baseline_rows(costed: Sequence[tuple[Cost, Factors]]) -> tuple[str, tuple[str, ...], list[Row]]:
    """Heading, columns and rows of the table of errors: the program, then the baselines."""
    heading, numbers = "Baselines", ("total error", "factor", "/ bound", "rmse", "factor")
    best = costed[0][1].against if costed else None
    if best is None or best.solution is None:
        return heading, numbers, []
    error, rmse, bound = best.solution.error, best.solution.rmse, costed[0][1].bound
    over = error / bound if bound > 0 else inf
    first = (bold(best.program), figure(error, up=True), "1", _times(over), figure(rmse, 4, up=True), "1")
    rest = (
        (
            one.name,
            figure(cost.error, up=True),
            _times(one.error),
            _times(one.over_bound),
            figure(cost.rmse, 4, up=True),
            _times(one.rmse),
        )
        for cost, one in sorted(costed, key=lambda pair: pair[0].error)
    )
    return heading, numbers, [first, *rest]


def _privacy_rows(costed: Sequence[tuple[Cost, Factors]]) -> tuple[str, tuple[str, ...], list[Row]]:
    """Heading, columns and rows of the table of privacy costs, as above."""
    costs = [(one.privacy, one.name) for _, one in costed if one.privacy is not None]
    rows: list[Row] = [
        (name, figure(cost.cost, up=True), _times(cost.over_best), _times(cost.over_bound))
        for cost, name in sorted(costs, key=lambda pair: pair[0].cost)
    ]
    for best, _ in costs[:1]:
        assert best.against is not None
        least = figure(best.least, up=True)
        rows.insert(0, (bold(best.against.program), least, "1", _times(ratio(best.least, best.bound))))
    return "Privacy cost", ("privacy cost", "factor", "/ bound"), rows


def _times(factor: float) -> str:
    """A factor to the nearest in four digits, or in two with an exponent; "-" where it is not finite."""
    near = figure(factor, 4) if 1e-3 <= factor < 1e4 else gap(factor)
    return near if isfinite(factor) else "-"


def comparison_report(
    outcomes: Sequence[Outcome], factors: Sequence[Factors] = (), ranked: Ranking | None = None
) -> Group:
    """The best first, then two tables with a row for each outcome that was tried, notes, and a list of the
    rest.

    Where a privacy is stated, one ranking has all that can be released there, programs and baselines. Else
    strategies and baselines are in a table for each noise, as their errors have no common unit.

    In the other tables a program and its formulations, which must agree in objective and bound up to their
    gaps, are next to each other; so are the solvers and tolerances of one program.

    ranked : a ranking of the same outcomes and factors; by default at unit noise.
    """
    ranked = ranked or ranking(outcomes, factors)
    ordered = in_groups(best_first(ranked, outcomes))
    tried = [o for o in ordered if o.was_tried]
    notes: dict[str, list[str]] = {}
    parts: list[object] = []
    if tried:
        title = (
            "Certificates"
            if ranked.stated is None
            else ("Certificates (objectives are for noise of variance 1)")
        )
        parts = [
            _certificates(title, tried, outcomes, notes),
            "",
            _table("Work", ("off by", "compile", "solve", "iter.", "memory"), tried, outcomes, _work),
        ]
    if ranked.stated is not None and ranked.places:
        parts = [ranking_table(ranked, outcomes), "", *parts]
    elif any(o.solution for o in tried):
        names = {norm: _only_name(best, outcomes) for norm, best in standards(outcomes).items()}
        tables = [*_strategies(ranked, outcomes), *factors_tables(factors, names)]
        parts[1:1] = [part for table in tables for part in ("", table)]
    unranked = ((clipped(reason), _entry_name(entry, outcomes)) for reason, entry in ranked.left_out)
    remarks = (f"({i}) {', '.join(names)}: {note}" for i, (note, names) in enumerate(notes.items(), 1))
    reasons = [
        *remarks,
        *left_out("Not ranked:", unranked),
        *left_out("Left out:", ((o.reason, o.program) for o in ordered if not o.was_tried)),
        *left_out("Baselines left out:", ((clipped(one.reason), one.name) for one in factors if one.reason)),
    ]
    about = factors_legend(factors) if ranked.stated is None else ranking_legend(ranked)
    sections = [reasons, [*about, *_legend(tried, ranked)]]
    parts += [line for section in sections if section for line in ("", *section)][0 if tried else 1 :]
    return Group(*(cell(part) if isinstance(part, str) else part for part in parts))  # type: ignore[arg-type]


def in_groups(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of a program and its formulations together, in the order in which the first appears."""
    bases = list(dict.fromkeys(o.formulation_of or o.program for o in outcomes))
    names = list(dict.fromkeys(o.program for o in outcomes))
    return sorted(
        outcomes,
        key=lambda o: (
            bases.index(o.formulation_of or o.program),
            bool(o.formulation_of),
            names.index(o.program),
        ),
    )


def _entry_name(entry: Outcome | Factors, outcomes: Sequence[Outcome]) -> str:
    """The name of a program, as ``_only_name``, or of a baseline."""
    return _only_name(entry, outcomes) if isinstance(entry, Outcome) else entry.name


def _certificates(
    title: str, tried: Sequence[Outcome], outcomes: Sequence[Outcome], notes: dict[str, list[str]]
) -> Table:
    """A row for each outcome that was tried: objective, bound, gap and status.

    notes : each with the names of the outcomes that it is about; those of these outcomes are added.
    """

    def cells(outcome: Outcome) -> Row:
        solution, note = outcome.solution, outcome.reason
        figures = ("-", "-", "-")
        if solution is not None:
            grades = (("objective", solution.objective_grade), ("bound", solution.bound_grade))
            weaker = [
                f"{name} {grade}, not proved" for name, grade in grades if grade not in ("proved", None)
            ]
            neighbours = solution.strategy.neighbours
            others = [f"figures are for neighbours {neighbours}"] * (neighbours != ADD_REMOVE)
            note = "; ".join([*others, *weaker, *solution.warnings])
            value, bound, is_least = solution.objective, solution.bound, solution.sense == "minimize"
            sides = (None, None) if figure(value) == figure(bound) else (is_least, not is_least)
            least = "no bound" if bound is None else figure(bound, up=sides[1])
            figures = (figure(value, up=sides[0]), least, gap(solution.gap))
        status = cell(outcome.stop)
        if note:
            notes.setdefault(note, []).append(_name(outcome, outcomes))
            status.append(f" ({list(notes).index(note) + 1})")
        return (*figures, status)

    return _table(title, ("objective", "bound", "gap"), tried, outcomes, cells, "status")


def _strategies(ranked: Ranking, outcomes: Sequence[Outcome]) -> Iterator[Table]:
    """A table for each noise, the best first, at unit noise."""
    scaled = _is_scaled(outcomes)
    costs = {id(place.entry): place.cost for place in ranked.places} if ranked.by_cost else {}

    def cells(outcome: Outcome) -> Row:
        solution = outcome.solution
        assert solution is not None
        value = [figure(solution.value)] * scaled
        cost = [figure(costs.get(id(outcome)), 4, up=True)] * ranked.by_cost
        return (*value, *cost, figure(solution.error, up=True), figure(solution.rmse, 4, up=True))

    numbers = (*["value"] * scaled, *["privacy cost"] * ranked.by_cost, "total error", "rmse")
    ordered = [o for o in best_first(ranked, outcomes) if o.noise]
    for noise in dict.fromkeys(o.noise for o in ordered):
        yield _table(
            f"Strategies, {noise} noise",
            numbers,
            [o for o in ordered if o.noise == noise],
            outcomes,
            cells,
        )


def _work(outcome: Outcome) -> Row:
    """The work of a solve: violation before the repair, seconds, iterations, memory."""
    solution = outcome.solution
    figures = ["-", "-", "-", "-"]
    if solution is not None:
        took = (solution.seconds[name] for name in ("compile", "solve"))
        figures = [
            gap(solution.status.violation),
            *(f"{t:.2f} s" if t < 100 else f"{t:.0f} s" for t in took),
            str("-" if (n := solution.iterations) is None else n),
        ]
    return (*figures, "-" if outcome.memory is None else memory(outcome.memory))


def _table(
    title: str,
    numbers: Sequence[str],
    shown: Sequence[Outcome],
    outcomes: Sequence[Outcome],
    cells: Callable[[Outcome], Row],
    *words: str,
) -> Table:
    """A row for each outcome of ``shown``: program, solver, columns of numbers, then of words.

    outcomes : all that were compared. cells : gives the numbers and words of an outcome.
    """
    present = {o.program for o in shown}
    rows = (
        (
            # A program is named once, indented below one that it restates.
            "" if o.program == before else "  " * (o.formulation_of in present) + o.program,
            _solver(o, outcomes),
            *cells(o),
        )
        for before, o in zip([None, *(o.program for o in shown)], shown, strict=False)
    )
    return rows_table(("program", "solver", *numbers, *words), rows, numbers, title, whole=("program",))


def _solver(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The solver, and its tolerance where outcomes have several."""
    tolerance = ""
    if outcome.tolerance is not None and len({o.tolerance for o in outcomes}) > 1:
        short = f"{outcome.tolerance:.0e}"
        tolerance = f" {short}" if float(short) == outcome.tolerance else f" {outcome.tolerance:g}"
    # Where nothing is solved (a closed form), the name of the solver is the status.
    return "-" if outcome.solver in ("", outcome.stop) else outcome.solver + tolerance


def _name(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The name of the program, with its solver where it has one."""
    solver = _solver(outcome, outcomes)
    return outcome.program if solver == "-" else f"{outcome.program} with {solver}"


def _only_name(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The name of the program, with the solver where several outcomes are of that program."""
    several = sum(o.program == outcome.program for o in outcomes) > 1
    return _name(outcome, outcomes) if several else outcome.program


def _legend(tried: Sequence[Outcome], ranked: Ranking) -> list[str]:
    """Explain the words that occur in the tables of a comparison."""
    solutions = [o.solution for o in tried if o.solution is not None]
    present = {o.program for o in tried}
    indented = "Indented: another formulation of the program above; both must agree up to their gaps."
    lines = [indented] * any(o.formulation_of in present for o in tried)
    if solutions:
        bounds = [o.solution.error_bound for o in tried if o.solution and o.noise]
        lines += [
            f"gap: {_gap_words(solutions)}, recomputed from the program file, not taken from the solver. "
            "Objective and bound are proved unless a note says otherwise. They are rounded to the safe "
            "side, and shown as equal where they agree in six digits.",
            *[
                "total error: estimated in floating point, squared, of all queries, for noise of variance "
                f"1, with the strategy scaled to sensitivity 1; proved: no strategy of L2 sensitivity 1 "
                f"has less than {figure(max(bounds), up=False)}. "
                "rmse: per query, unweighted."
                for _ in bounds[: ranked.stated is None]
            ],
            "off by: largest relative violation of a constraint by the solver's point, before its repair.",
            "memory: the peak of the process, less what it held at its start.",
        ]
    if _is_scaled(tried) and ranked.stated is None:
        lines.insert(1, "value: the objective on the scale that all formulations of a program share.")
    return lines


def _gap_words(solutions: Sequence[Solution]) -> str:
    """Describe how the gaps of these solutions are computed."""
    bounded = [s for s in solutions if s.gap is not None]
    senses = {s.sense for s in bounded if not s.kind_of_gap} or {"minimize"}
    minimized, maximized = "objective / bound - 1", "bound / objective - 1"
    words = minimized if "minimize" in senses else maximized
    words += f" ({maximized} of what is maximized)" * (len(senses) > 1)
    for kind in dict.fromkeys(s.kind_of_gap for s in bounded if s.kind_of_gap):
        names = ", ".join(dict.fromkeys(s.program for s in bounded if s.kind_of_gap == kind))
        words += f"; of {names} {kind}"
    return words


def _is_scaled(tried: Sequence[Outcome]) -> bool:
    """Whether an objective has another scale than the value that formulations of a strategy share."""
    return any(o.solution is not None and o.noise and o.solution.value != o.solution.objective for o in tried)


ROWS_SHOWN = 20  # of a history
ORDER = ("part", "run", "iteration", "seconds", "objective", "bound", "gap")  # of columns
# Names of columns in a table, which has less room than a file.
HEADS = {"iteration": "iter", "seconds": "sec", "primal residual": "primal", "dual residual": "dual"}

HistoryRow = Mapping[str, float | bool]


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


def _gap(row: HistoryRow, sense: str) -> float | None:
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
        + "; the proved bound is derived from the constraints and is in no row" * is_apart
    )
    return rows_table([*heads, "by"], rows, heads, title, whole=("by",))


def _iterations_shown(history: Sequence[HistoryRow]) -> list[int]:
    """The places of the iterations to show, ascending: the certified ones, and others evenly spaced."""
    certified = [i for i, row in enumerate(history) if row.get("certified")][-ROWS_SHOWN:]
    others = [i for i, row in enumerate(history) if not row.get("certified")]
    count = min(len(others), ROWS_SHOWN - len(certified))
    chosen = np.linspace(0, len(others) - 1, count).round().astype(int)
    return sorted([*certified, *(others[place] for place in chosen)])


def _shown_of(places: Sequence[int], history: Sequence[HistoryRow]) -> str:
    """How many rows of a history are shown, for a title; "" where all are."""
    return "" if len(places) == len(history) else f", {len(places)} of {len(history)}"


def _rounds_shown(history: Sequence[HistoryRow], sign: float) -> list[int]:
    """The places of the rounds to show, ascending: the best and the last of each start, then the best.

    sign : 1 where objectives are minimised, -1 where they are maximised.
    """

    def worth(i: int) -> float:
        return sign * history[i].get("objective", sign * math.inf)

    starts = grouped((row.get("start", 0), i) for i, row in enumerate(history))
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
UNITS = (
    f"{', '.join(AT_UNIT_NOISE)} and rmse are for noise of variance 1 and sensitivity 1, whatever the privacy"
)
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
        raise ResultError(
            f"the solution is for the workload {theirs[:12]}…, this one is {resolved.hash[:12]}…",
            hint="give the workload that was solved",
        )
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
            orbit_label(solution.strategy.cells, workload.domain, i)
            if isinstance(solution.strategy, ComponentStrategy)
            else ", ".join(workload.domain.cell(i)),
            f"{profile[i] / largest:.4f}",
            f">= {figure(1 / slack[i], 4, up=True)}",
        )
        for i in order[:CELLS_SHOWN]
    ]
    rows += [(f"and {int(sizes[order[CELLS_SHOWN:]].sum())} more", "", "")] * (len(order) > CELLS_SHOWN)
    return rows_table(("cell with slack", "cost / Δ²", "its count could be answered with variance"), rows)


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
        (
            bold(row.optimised),
            *(
                figure(noise * row.rmse[part] if part in row.rmse else None, 5, up=True)  # None is "-"
                for part in parts
            ),
            gap(row.gap),
        )
        for row in tuned
    )
    return rows_table(("optimised for", *parts, "gap"), rows, (*parts, "gap"))


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
