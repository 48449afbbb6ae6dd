"""Displays, frames and charts of the objects that users hold, by kind.

``display`` shows an object in a notebook: the paragraphs and tables of reports, as HTML in one way.
``framed`` gives named columns: figures of charts, queries, outcomes compared. ``chart`` draws a solution, a
strategy or a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from mmopt.comparison import Baselines, Comparison, Factors, Outcome, ranking
from mmopt.driver import Tuned
from mmopt.errors import OptionError, ProgramError, ResultError, TooLargeError, suggest, whole
from mmopt.language import Program, check
from mmopt.ledger import Ledger
from mmopt.mechanism import Answers, Plan
from mmopt.mechanism.release_plan import accuracy_columns
from mmopt.mechanism.release_writing import answers_frame
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.privacy.epsilon_delta_rho import Privacy, privacy_warning
from mmopt.report.accuracy_release_and_ledger_tables import accuracy_by_group, entries_table, privacy_rows
from mmopt.report.chart_parts import need_matplotlib
from mmopt.report.charts import (
    convergence_figure,
    entries,
    error_curves,
    error_figure,
    heat_map,
    profile_of_cells,
)
from mmopt.report.explain.explained_facts import statements
from mmopt.report.explain.explanation_html_and_mathml import fragment
from mmopt.report.explain.explanation_sections import Block, Excerpt, Listing, Paragraph
from mmopt.report.solution_and_comparison_tables import (
    comparison_report,
    factors_legend,
    factors_tables,
    history_frame,
    solved_workload,
    tuning_table,
    verification_report,
)
from mmopt.report.table_style import (
    NORMALISED,
    WARNING_ROWS,
    Table,
    domain_table,
    figure,
    left_out,
    pairs_table,
    queries_table,
    rows_table,
)
from mmopt.request import Request, WorkloadLike, as_workload
from mmopt.results import Frame, Solution, Verification
from mmopt.results.frame import as_text
from mmopt.results.solution_rows_and_json import levels
from mmopt.results.status_grade_and_verification import shown
from mmopt.strategies import Strategy, StrategyForm
from mmopt.workloads import Attribute, Domain, Workload
from mmopt.workloads.tidy_columns import query_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chart(value: Any, kind: str = "", workload: WorkloadLike | None = None) -> Figure:
    """The chart of this kind; parameters and errors as ``display_base_classes.Charted.plot``."""
    need_matplotlib()
    is_compared = isinstance(value, Comparison)
    kind = _kind_of(kind, ("convergence",) if is_compared else tuple(_frames(value)), "chart")
    if is_compared:
        return convergence_figure(value)
    if kind == "convergence":
        return convergence_figure([value], f"{value.program} by {value.solver}")
    strategy, title = _strategy_of(value), getattr(value, "program", type(value).__name__)
    if kind != "errors":
        return {"strategy": heat_map, "profile": profile_of_cells}[kind](strategy, title)
    # For a strategy alone nothing is proved.
    bound = value.error_bound if getattr(value, "error_bound_grade", "") == "proved" else None
    return error_figure(strategy, _errors_workload(value, workload, "plot"), title, bound)


# Columns of the table of a comparison: attributes of an outcome, then of its solution.
TEXTS = ("program", "solver", "stop", "reason", "formulation_of", "noise")
NUMBERS = ("tolerance", "rmse", "seconds", "cpu", "memory")
FIGURES = ("objective", "bound", "gap", "error", "error_bound")
GRADES = ("objective_grade", "bound_grade")
# Columns of the table of baselines.
OF_BASELINES = ("name", "noise", "reason", "sensitivity", "error", "rmse", "error_factor", "rmse_factor")


def _kind_of(kind: str, kinds: Sequence[str], what: str) -> str:
    """The kind, by default the first; OptionError for one that is not among the kinds."""
    if kind and kind not in kinds:
        expected = ", ".join(f"'{one}'" for one in kinds)
        raise OptionError(
            f"there is no {what} '{kind}' of it, expected {expected}", hint=suggest(kind, kinds)
        )
    return kind or kinds[0]


def _strategy_of(value: Solution | StrategyForm) -> StrategyForm:
    """A strategy itself, or that of a solution; ResultError where its program has none."""
    if isinstance(value, StrategyForm):
        return value
    if not value.has_strategy:
        raise ResultError(f"the program '{value.program}' has no strategy, so there is none to show")
    return value.strategy


def _errors_workload(value: object, workload: WorkloadLike | None, call: str) -> Workload:
    """The workload whose errors are shown; OptionError without one, else as ``solved_workload``."""
    if workload is None:
        raise OptionError("errors are those of queries", hint=f"{call}('errors', workload)")
    return solved_workload(value, workload)


def framed(value: Any, kind: str = "", workload: WorkloadLike | None = None) -> Frame:
    """The table of this kind; parameters and errors as ``display_base_classes.Charted.frame``."""
    frames = _frames(value)
    return frames[_kind_of(kind, tuple(frames), "table")](value, workload)


def _frames(value: Any) -> _Frames:
    """The tables of a value by kind, also those of its charts (except for a comparison)."""
    if isinstance(value, Solution) and value.template:
        return _OF_STRATEGIES
    return next(frames for kind, frames in FRAMES.items() if isinstance(value, kind))


def _queries(value: Workload | Request, _: object) -> Frame:
    """A row for each query: its weight, requested largest variance (NaN: none) and squared length.

    The squared length of a query that counts cells is their number.
    """
    workload = as_workload(value)
    columns = {
        "weight": workload.weights,
        "max_variance": np.where(np.isfinite(workload.targets), workload.targets, np.nan),
        "squared_length": workload.squared_norms(),
    }
    return Frame({**query_columns(workload, columns), **columns})


def _outcomes(comparison: Comparison, _: object) -> Frame:
    """A row for each outcome: the program, its figures, time and memory; unknown values are missing."""
    return Frame(
        {
            **{name: _texts(getattr(o, name) for o in comparison) for name in TEXTS},
            **{name: _numbers(getattr(o, name) for o in comparison) for name in NUMBERS},
            **{name: _numbers(getattr(o.solution, name, None) for o in comparison) for name in FIGURES},
            **{name: _texts(getattr(o.solution, name, None) for o in comparison) for name in GRADES},
        }
    )


def _factors(baselines: Baselines, _: object) -> Frame:
    """A row for each baseline and noise, and a reason where it has no figures."""
    rows = [one.summary() for one in baselines]
    column_of = {name: _texts if name in ("name", "noise", "reason") else _numbers for name in OF_BASELINES}
    return Frame({name: column(row[name] for row in rows) for name, column in column_of.items()})


def _checks(verification: Verification, _: object) -> Frame:
    """A row for each figure that was checked."""
    rows = verification.rows
    return Frame(
        {
            "what": _texts(row.what for row in rows),
            "stated": _texts(shown(row.stated) for row in rows),
            "recomputed": _texts(shown(row.recomputed) for row in rows),
            "holds": np.array([row.holds for row in rows], dtype=bool),
        }
    )


def _entries(value: Any, _: object) -> Frame:
    """A column for each cell, a row for each measured query."""
    return Frame({f"cell {i}": column for i, column in enumerate(entries(_strategy_of(value)).T)})


def _profile(value: Any, _: object) -> Frame:
    """A row for each squared length of a column, with the number of cells that have it."""
    costs, sizes = levels(_strategy_of(value).profile)
    return Frame({"squared_column": costs, "cells": sizes})


def _errors(value: Any, workload: WorkloadLike | None) -> Frame:
    """A row for each query: its standard errors under the strategy and under baselines."""
    queried, strategy = _errors_workload(value, workload, "frame"), _strategy_of(value)
    curves = error_curves(strategy, queried, "standard_error")
    return Frame({**query_columns(queried, curves), **curves})


_Frames = Mapping[str, Callable[[Any, WorkloadLike | None], Frame]]
_OF_STRATEGIES: _Frames = MappingProxyType({"strategy": _entries, "profile": _profile, "errors": _errors})
#: The tables of each class by kind, the default first.
FRAMES: Mapping[type, _Frames] = MappingProxyType(
    {
        Comparison: {"outcomes": _outcomes},
        Baselines: {"baselines": _factors},
        Solution: {"convergence": lambda solution, _: history_frame(solution), **_OF_STRATEGIES},
        StrategyForm: _OF_STRATEGIES,
        Workload: {"queries": _queries},
        Request: {"queries": _queries},
        Tuned: {
            "errors": lambda tuned, _: Frame(
                {"part": _texts(tuned.rmse), "rmse": _numbers(tuned.rmse.values())}
            )
        },
        Plan: {"errors": lambda plan, _: accuracy_columns(plan, 0.95)},
        Answers: {"answers": lambda answers, _: answers_frame(answers)},
        Verification: {"checks": _checks},
    }
)


def _texts(values: Iterable[str | None]) -> Array:
    """A column of texts, None for an empty one."""
    return np.array([value or None for value in values], dtype=object)


def _numbers(values: Iterable[float | None]) -> Array:
    """A column of numbers, NaN for None."""
    return np.array([math.nan if value is None else value for value in values], dtype=float)


ROWS_SHOWN = 10  # in a frame
ENTRIES_SHOWN = 12  # rows and columns of a strategy, up to which its entries are shown
NOISE_WORDS = {
    1: "Laplace, scaled to the L1 norm of columns",
    2: "Gaussian, scaled to the L2 norm of columns",
}


def display(*values: object, is_styled: bool = True) -> str:
    """HTML for a notebook: objects that users hold, rows (name, text), tables and text, one below the other.

    All texts are escaped; nothing is loaded. TypeError for a value of another type.

    is_styled : with the style, which a page has once.
    """
    return fragment([block for value in values for block in _blocks(value)], is_styled=is_styled)


def _blocks(value: object) -> Iterable[Block]:
    """The paragraphs, tables and listings that show an object; TypeError for one without a display."""
    match value:
        case Program():
            return _program(value)
        case Domain():
            return [domain_table(value)]
        case Attribute():
            return [domain_table(Domain((value,)))]
        case Request():
            privacy = "not said" if value.privacy is None else str(value.privacy)
            neighbours = "those of the program" if value.neighbours is None else value.neighbours.words
            rows = [("file", value.path), ("privacy", privacy), ("neighbours", neighbours)]
            return [pairs_table(rows), *_blocks(value.workload)]
        case Privacy():
            warning = privacy_warning(value.epsilon, value.delta, value.rho)
            return _blocks([("privacy", str(value)), *[("warning", warning)] * bool(warning)])
        case Workload():
            size = f"{value.m:,} queries over {whole(value.n)} cells"
            words = f"{size}; {NORMALISED}" if value.is_normalised else size
            return [Paragraph((words,), "strong"), domain_table(value.domain), queries_table(value)]
        case StrategyForm():
            return _strategy(value)
        case Frame():
            return _frame(value)
        case Comparison():
            return _blocks(comparison_report(value, ranked=ranking(value, (), value.workload, value.stated)))
        case Outcome():
            return _blocks(comparison_report([value]))
        case Baselines():
            return _baselines(value)
        case Factors():
            return _baselines(Baselines([value]))
        case Tuned():
            return [tuning_table([value])]
        case Plan():
            return [*_blocks(privacy_rows(value)), accuracy_by_group(value, 0.95)]
        case Answers():
            return _frame(framed(value))
        case Verification():
            table, *_, unchecked = verification_report(value).renderables
            verdict = Paragraph((value.verdict(),), "strong" if value.holds else "loud")
            return [verdict, *_blocks(table), *_blocks(unchecked)]
        case Ledger():
            return [*_blocks(value.rows()), entries_table(value)]
        case Solution():
            return _blocks(value.rows())
        case list():  # rows (name, text)
            return _blocks(pairs_table(value))
        case Group():
            return [block for part in value.renderables for block in _blocks(part)]
        case Table() if not any(value.header):  # pairs, below the warnings among them
            loud = [row for row in value.rows if str(row[0]) in WARNING_ROWS]
            others = replace(value, rows=tuple(row for row in value.rows if row not in loud))
            warnings = [Paragraph((f"{name}: {text}",), "loud") for name, text in loud]
            return [*warnings, *[others] * bool(others.rows)]
        case Table():
            return [value]
        case str() | Text():
            text = str(value).strip()
            return [Paragraph((text,))] * bool(text)
    raise TypeError(f"a {type(value).__name__} has no display")


def _program(program: Program) -> Iterator[Block]:
    """A program in formulas, or what is wrong with it; and its file."""
    yield Paragraph((program.title or program.name,), "strong")
    about = (("program", program.name), ("class", program.problem_class), ("source", program.cite))
    yield pairs_table(row for row in about if row[1])
    try:
        yield Listing(statements(check(program)))
    except ProgramError as error:
        yield Paragraph((error.message,), "loud")
        yield Excerpt(str(error))
    yield Excerpt(program.text, "the whole file")


def _baselines(baselines: Baselines) -> list[Block]:
    """The factors of baselines, and the reasons why some have none."""
    against = {one.cost.norm: one.against.program for one in baselines if one.cost and one.against}
    left = left_out("Baselines left out:", ((one.reason, one.name) for one in baselines if one.reason))
    lines = (Paragraph((line,)) for line in [*left, *factors_legend(baselines)])
    return [*factors_tables(baselines, against), *lines]


def _strategy(strategy: StrategyForm) -> Iterator[Block]:
    """The size, form and sensitivity of a strategy; the entries of a small one."""
    rows = [
        ("strategy", f"{strategy.measured:,} measured queries over {whole(strategy.n)} cells"),
        ("form", type(strategy).__name__),
        ("noise", NOISE_WORDS[strategy.norm]),
        ("sensitivity", f"{rounded(strategy.sensitivity, 10, up=True)}   (rounded up)"),
        ("chosen for", f"neighbours {strategy.neighbours.words}"),
    ]
    with suppress(TooLargeError):  # too many cells for a list
        squared, _ = levels(strategy.profile)
        ends = dict.fromkeys((figure(float(squared.min())), figure(float(squared.max()))))
        rows.append(("squared column norms", " to ".join(ends)))
    yield pairs_table(rows)
    if isinstance(strategy, Strategy) and max(strategy.p, strategy.n) <= ENTRIES_SHOWN:
        heads = [f"cell {i}" for i in range(strategy.n)]
        shown_entries = (
            (str(i), *(figure(x, 3) if abs(x) >= 5e-13 else "0" for x in row))
            for i, row in enumerate(strategy.matrix.tolist())
        )
        yield rows_table(("", *heads), shown_entries, heads)


def _frame(frame: Frame) -> Iterator[Block]:
    """The first rows of a frame, below its warning."""
    if warning := frame.metadata.get("warning"):
        yield Paragraph((warning,), "loud")
    columns = (map(_value, values[:ROWS_SHOWN].tolist()) for values in frame.columns.values())
    numbers = [name for name, values in frame.columns.items() if values.dtype.kind in "fiu"]
    yield rows_table(
        frame.names, zip(*columns, strict=True), numbers, whole=frame.names, first_names_row=False
    )
    if len(frame) > ROWS_SHOWN:
        yield Paragraph((f"… {len(frame) - ROWS_SHOWN:,} more rows",))


def _value(value: object) -> str:
    """An entry of a frame as text."""
    return figure(value) if isinstance(value, float) and not math.isnan(value) else as_text(value)
