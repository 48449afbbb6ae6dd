"""A report: one HTML page about queries, strategy, proofs and a release. It loads and runs nothing."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from mmopt.comparison import Comparison
from mmopt.errors import TooLargeError
from mmopt.installation_and_files import version, write_whole
from mmopt.language import Program
from mmopt.mechanism import Plan
from mmopt.mechanism.release_writing import SIMULATED
from mmopt.report.accuracy_release_and_ledger_tables import accuracy_by_group, release_tables
from mmopt.report.chart_parts import need_matplotlib, picture
from mmopt.report.charts import accuracy_figure, release_figure
from mmopt.report.displays_frames_and_charts import chart, display
from mmopt.report.explain import explain
from mmopt.report.explain.explanation_html_and_mathml import STYLE, fragment, page
from mmopt.report.explain.explanation_sections import DocumentSection, arranged
from mmopt.report.solution_and_comparison_tables import solution_rows, solved_workload
from mmopt.request import WorkloadLike
from mmopt.results import Frame, Solution
from mmopt.workloads import Workload

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
    "errors": "The standard error of each query beside two baselines, and the bound, where it is proved.",
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
        yield "Errors", _errors(c)
        yield "The strategy", _strategy(c.solution, c.plan, c.chosen)
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


def _strategy(solution: Solution, plan: Plan | None, chosen: str) -> Iterator[str]:
    """The figures of the solution, and its strategy in words and charts."""
    yield _shown([*[("chosen", chosen)] * bool(chosen), *solution_rows(solution, plan)])
    if solution.has_strategy:
        yield _shown(solution.strategy)
        yield from (_chart(kind, partial(chart, solution, kind)) for kind in ("strategy", "profile"))


def _errors(c: Contents) -> Iterator[str]:
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
    s, rows = c.solution, [("mmopt", version())]
    if s is not None and not s.template:
        rows += [row for row in s.rows() if row[0] == "solver"]
        rows.append(("program, SHA-256", s.about_program()["program"]["sha256"]))
    if c.workload is not None:
        rows.append(("queries, hash", c.workload.hash))
    if c.file_hash:
        rows.append(("workload file, SHA-256", c.file_hash))
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
