"""Displays, named columns and charts of the objects that users hold; a report: one page of all of it.

``display`` shows an object in a notebook: the paragraphs and tables of reports, as HTML in one way.
``framed`` gives named columns: figures of charts, queries, outcomes compared. ``chart`` draws a solution, a
strategy or a comparison.

The report is one HTML page about queries, strategy, proofs and a release. It loads and runs nothing.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from mmopt.comparison import Baselines, Comparison, Factors, Outcome, ranking
from mmopt.driver import Tuned
from mmopt.errors import OptionError, ProgramError, ResultError, TooLargeError, suggest, whole
from mmopt.installation_and_files import version, write_whole
from mmopt.language import Program, check
from mmopt.ledger import Ledger
from mmopt.mechanism import Answers, Plan
from mmopt.mechanism.release_plan import accuracy_columns
from mmopt.mechanism.release_writing import SIMULATED, answers_frame
from mmopt.numerics.arrays import Array, rounded
from mmopt.privacy.epsilon_delta_rho import Privacy, privacy_warning
from mmopt.report.accuracy_release_and_ledger_tables import (
    accuracy_by_group,
    entries_table,
    privacy_rows,
    release_tables,
)
from mmopt.report.chart_parts import need_matplotlib, picture
from mmopt.report.charts import (
    accuracy_figure,
    convergence_figure,
    entries,
    error_curves,
    error_figure,
    heat_map,
    profile_of_cells,
    release_figure,
)
from mmopt.report.explain import explain
from mmopt.report.explain.explained_facts import statements
from mmopt.report.explain.explanation_html_and_mathml import STYLE, fragment, page
from mmopt.report.explain.explanation_sections import (
    Block,
    DocumentSection,
    Excerpt,
    Listing,
    Paragraph,
    arranged,
)
from mmopt.report.solution_and_comparison_tables import (
    comparison_report,
    factors_legend,
    factors_tables,
    history_frame,
    solution_rows,
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
from mmopt.results.frame import as_text, texts_column
from mmopt.results.solution_rows_and_json import levels
from mmopt.results.status_grade_and_verification import shown
from mmopt.strategies import Strategy, StrategyForm
from mmopt.workloads import (
    Attribute,
    Domain,
    Workload,
    query_columns,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chart(value: Any, kind: str = "", workload: WorkloadLike | None = None) -> "Figure":
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


def _frames(value: Any) -> "_Frames":
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
            **{name: texts_column(getattr(o, name) for o in comparison) for name in TEXTS},
            **{name: _numbers(getattr(o, name) for o in comparison) for name in NUMBERS},
            **{name: _numbers(getattr(o.solution, name, None) for o in comparison) for name in FIGURES},
            **{name: texts_column(getattr(o.solution, name, None) for o in comparison) for name in GRADES},
        }
    )


def _factors(baselines: Baselines, _: object) -> Frame:
    """A row for each baseline and noise, and a reason where it has no figures."""
    rows = [one.summary() for one in baselines]
    column_of = {
        name: texts_column if name in ("name", "noise", "reason") else _numbers for name in OF_BASELINES
    }
    return Frame({name: column(row[name] for row in rows) for name, column in column_of.items()})


def _checks(verification: Verification, _: object) -> Frame:
    """A row for each figure that was checked."""
    rows = verification.rows
    return Frame(
        {
            "what": texts_column(row.what for row in rows),
            "stated": texts_column(shown(row.stated) for row in rows),
            "recomputed": texts_column(shown(row.recomputed) for row in rows),
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
                {"part": texts_column(tuned.rmse), "rmse": _numbers(tuned.rmse.values())}
            )
        },
        Plan: {"errors": lambda plan, _: accuracy_columns(plan, 0.95)},
        Answers: {"answers": lambda answers, _: answers_frame(answers)},
        Verification: {"checks": _checks},
    }
)


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
    columns = (
        [
            figure(value) if isinstance(value, float) and not math.isnan(value) else as_text(value)
            for value in values[:ROWS_SHOWN].tolist()
        ]
        for values in frame.columns.values()
    )
    numbers = [name for name, values in frame.columns.items() if values.dtype.kind in "fiu"]
    yield rows_table(
        frame.names, zip(*columns, strict=True), numbers, whole=frame.names, first_names_row=False
    )
    if len(frame) > ROWS_SHOWN:
        yield Paragraph((f"… {len(frame) - ROWS_SHOWN:,} more rows",))


GROUPS_SHOWN, ANSWERS_SHOWN = 100, 200  # answers of each group, in the table; the chart has all
# The style of charts and columns. A chart is drawn on white: in dark mode its lightness is inverted, its hues
# are not.
CHARTS_STYLE = """
body { max-width: 76rem; }
figure { margin: 1em 0; overflow-x: auto; } figure svg { max-width: 100%; min-width: 30rem; height: auto; }
figcaption { font-size: .9em; } h1 { line-height: 1.2; overflow-wrap: anywhere; }
body > section > h2 { margin-top: 2.2em; border-bottom: 2px solid; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
  gap: 0 2rem; }
.beside > div, figure { min-width: 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) {
  .mmopt-explain td:is(:last-child, :nth-child(n+4):not(.number)) { min-width: 9em; }
  .mmopt-explain td:nth-child(n+4):last-child:not(.number) { min-width: 15em; } }
@media (prefers-color-scheme: dark) { @media screen {
  figure svg { filter: invert(.93) hue-rotate(180deg); } } }
@media print { body { max-width: none; padding: 0; font-size: 11px; } figure, tr { break-inside: avoid; }
  figure svg { min-width: 0; max-height: 24cm; } h2, h3 { break-after: avoid; } .beside { display: block; } }
"""
# What the page says of private data: without a release, and with one.
UNTOUCHED = (
    "Private data: none. No table was read for this page; all of it follows from the queries, the program "
    "and the solver."
)
RELEASED = (
    "Private data: the answers under 'The release', and nothing else. They were measured with the noise "
    "stated there, which is what the guarantee is about. All other parts follow from the queries, the "
    "program, the solver and the privacy asked for, and are the same whatever the table holds. What the "
    "guarantee leaves out is named there as well."
)

CAPTIONS = {
    "gap": "Gap between the objective and its bound. Certified: at the repaired point, by the program.",
    "strategy": "What is measured: each row is a query, its noise is added to it.",
    "profile": "What each cell costs: where all cost the same, nobody's privacy is worth more than "
    "another's.",
    "errors": "The standard error of each query, next to two baselines, and the bound if it is proved.",
    "accuracy": "Half widths of the intervals at the privacy that is spent, known before any data.",
    "compared": "Gap of each program and solver against time and iterations.",
    "answers": "Answers with their intervals; each by itself holds the count of the rows that are counted, "
    "with the probability stated.",
}


@dataclass(frozen=True)
class Contents:
    """The contents of a page. A part that is None has no section.

    title : of the page. workload : the queries. file_hash : SHA-256 of their file, if they have one.
    solution : the solution whose strategy is measured. plan : a release with it, before any data.
    comparison : programs or solvers side by side.
    manifest, answers : those of a release, both or none. chosen : what was chosen and why, without a release.
    """

    title: str
    workload: Workload | None = None
    file_hash: str = ""
    solution: Solution | None = None
    plan: Plan | None = None
    comparison: Comparison | None = None
    manifest: Mapping[str, Any] | None = None
    answers: Frame | None = None
    chosen: str = ""

    @property
    def confidence(self) -> float:
        """The confidence of intervals: that of the answers, else 95 %."""
        return 0.95 if self.manifest is None else float(self.manifest["accuracy"]["confidence"])


def write_page(contents: Contents, path: str | Path | None) -> str:
    """The HTML of a report, also written to a path, if any, whole or not at all; the same contents give the
    same text.

    Raises
    ------
    OptionError : matplotlib is not installed.
    ResultError : the solution is one of another workload; the file cannot be written.
    """
    need_matplotlib()
    parts = [f"<h1>{escape(contents.title)}</h1>"]
    for heading, pieces in _sections(contents):
        if shown := "\n".join(filter(None, pieces)):
            head = f"<h2>{escape(heading)}</h2>\n" if heading else ""
            parts.append(f"<section>\n{head}{shown}\n</section>")
    text = page(contents.title, "\n".join(parts), STYLE + CHARTS_STYLE) + "\n"
    if path is not None:
        write_whole(Path(path), text.encode())
    return text


def solution_page(solution: Any, path: str | Path | None, workload: WorkloadLike | None) -> str:
    """The page of a solution alone; parameters and errors as ``display_base_classes.Reported.report``."""
    given = None if workload is None else solved_workload(solution, workload)
    return write_page(Contents(solution.program, given, solution=solution), path)


def _sections(c: Contents) -> Iterator[tuple[str, Iterator[str]]]:
    """The sections of the page, each with its heading and its pieces of HTML."""
    yield "", _about(c)
    if c.manifest is not None and c.answers is not None:
        yield "The release", _release(c.manifest, c.answers)
    if c.workload is not None:
        yield "What is asked", iter([_shown(c.workload)])
    if c.solution is not None:
        yield "Errors", _errors_section(c)
        yield "The strategy", _strategy_section(c.solution, c.plan, c.chosen)
    if c.solution is not None and not c.solution.template:
        yield "The program, and what was compiled", _explained(c.solution, c.workload)
    if c.solution is not None and c.solution.history:
        yield "How the gap closed", iter([_chart("gap", partial(chart, c.solution, "convergence"))])
    if c.comparison is not None:
        yield "Side by side", iter([_shown(c.comparison), _chart("compared", partial(chart, c.comparison))])
    yield "Made with", _made_with(c)


def _about(c: Contents) -> Iterator[str]:
    """The private data on the page, in words."""
    if c.manifest is None:
        yield f"<p>{escape(UNTOUCHED)}</p>"
    elif c.manifest["private"]:
        yield f"<p>{escape(RELEASED)}</p>"
    else:
        yield f'<div class="mmopt-explain"><p class="loud">{escape(SIMULATED)}</p></div>'


def _explained(solution: Solution, workload: Workload | None) -> Iterator[str]:
    """The program as written, and beside it as compiled and solved."""
    program = Program.parse(solution.program_text, solution.program)
    try:
        explanation = explain(program, workload, solution=solution)
    except TooLargeError as error:
        yield _shown(f"What was compiled is not shown: {error.message}")
        explanation = explain(program, solution=solution)
    if (solved := explanation.solved) is not None:  # its rows are in the section of the strategy
        explanation = replace(explanation, solved=replace(solved, rows=()) if solved.lines else None)
    first, listing, *reasons = arranged(replace(explanation, compiled=None, solved=None, steps=()))
    folded = (
        f"<details><summary>{escape(one.title)}</summary>{fragment(one.blocks, is_styled=False)}</details>"
        for one in reasons
    )
    written = [_section(first), _section(listing), *folded]
    compiled = map(_section, list(arranged(explanation))[2 + len(reasons) :])
    columns = ["\n".join(["<div>", *side, "</div>"]) for side in (written, compiled)]
    yield "\n".join(['<div class="beside">', *columns, "</div>"])


def _section(section: DocumentSection) -> str:
    """A section of an explanation, its title above it."""
    return f"<h3>{escape(section.title)}</h3>\n{fragment(section.blocks, is_styled=False)}"


def _strategy_section(solution: Solution, plan: Plan | None, chosen: str) -> Iterator[str]:
    """The figures of the solution, and its strategy in words and charts."""
    yield _shown([*[("chosen", chosen)] * bool(chosen), *solution_rows(solution, plan)])
    if solution.has_strategy:
        yield _shown(solution.strategy)
        yield from (_chart(kind, partial(chart, solution, kind)) for kind in ("strategy", "profile"))


def _errors_section(c: Contents) -> Iterator[str]:
    """The errors of the release, as planned, and those of the queries at unit noise."""
    solution, plan = c.solution, c.plan
    assert solution is not None
    if plan is not None:
        yield _shown(accuracy_by_group(plan, c.confidence))
        yield _chart("accuracy", partial(accuracy_figure, plan, c.confidence))
    if c.workload is not None and solution.has_strategy:
        yield _chart("errors", partial(chart, solution, "errors", c.workload))


def _release(manifest: Mapping[str, Any], answers: Frame) -> Iterator[str]:
    """A release: the facts of its manifest, its answers and their chart."""
    *shown, errors, about = release_tables(manifest, answers, first=ANSWERS_SHOWN, groups=GROUPS_SHOWN)
    yield from map(_shown, shown)
    yield _chart("answers", partial(release_figure, answers))
    yield from map(_shown, (errors, about))


def _made_with(c: Contents) -> Iterator[str]:
    """The versions, and the hashes by which queries, files and strategy are recognised."""
    solved = None if c.solution is None or c.solution.template else c.solution
    program = {} if solved is None else solved.about_program()["program"]
    rows = [
        ("mmopt", version()),
        *(row for row in (() if solved is None else solved.rows()) if row[0] == "solver"),
        *([("program, SHA-256", program["sha256"])] if program else []),
        *([] if c.workload is None else [("queries, hash", c.workload.hash)]),
        *([("workload file, SHA-256", c.file_hash)] if c.file_hash else []),
    ]
    if c.manifest is not None:
        versions = ", ".join(f"{name} {number}" for name, number in c.manifest["versions"].items())
        rows += [("released with", versions), ("measured strategy, hash", c.manifest["strategy"]["hash"])]
        files = c.manifest.get("files", {})
        rows += [(f"{name}, SHA-256", about["sha256"]) for name, about in files.items() if "sha256" in about]
    yield _shown(rows)


# -- pieces


def _shown(value: object) -> str:
    """The display of a value; the page has the style once."""
    return display(value, is_styled=False)


def _chart(name: str, draw: Callable[[], Any]) -> str:
    """A chart as SVG above its caption, whose ids begin with its name; a text where there is too much."""
    try:
        svg = picture(draw, "svg").decode()
    except TooLargeError as error:
        return _shown(f"No chart: {error.message}")
    # In tags alone, not in words of the chart: those have no bare ">", so that a "<" is next.
    svg = re.sub(
        r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*| xmlns[^\s>]*(?=[^<>]*>)",
        "",
        svg[svg.index("<svg") :],
        flags=re.DOTALL,
    )
    svg = re.sub(r'(\bid="|href="#|url\(#)(?=[^<>]*>)', rf"\1{name}-", svg)
    words = escape(CAPTIONS[name])
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
    return f"<figure>\n{svg.strip()}\n<figcaption>{words}</figcaption>\n</figure>"
