"""Charts and displays of the objects that users hold, by kind.

``chart`` draws a solution, a strategy or a comparison. ``display`` shows an object in a notebook: the
paragraphs and tables of reports, as HTML in one way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table as RichTable

from mmopt.comparison import Baselines, Comparison, Factors, Outcome, ranking
from mmopt.driver import Tuned
from mmopt.errors import ProgramError, TooLargeError, whole
from mmopt.language import Program, check
from mmopt.ledger import Ledger
from mmopt.mechanism import Answers, Plan
from mmopt.numerics.outward import rounded
from mmopt.privacy import Privacy
from mmopt.privacy.guarantee import privacy_warning
from mmopt.report.charts import error_figure, heat_map, need_matplotlib, profile_of_cells
from mmopt.report.comparison_tables import comparison_report, factors_legend, factors_tables
from mmopt.report.convergence_chart import convergence_figure
from mmopt.report.explain.explained_facts import statements
from mmopt.report.explain.explanation import Block, Excerpt, Listing, Paragraph, Table
from mmopt.report.explain.explanation_html import Folded, fragment
from mmopt.report.frames import errors_workload, framed, kind_of, kinds_of, strategy_of
from mmopt.report.release_tables import accuracy_by_group, entries_table, privacy_rows
from mmopt.report.solution_tables import tuning_table, verification_report
from mmopt.report.table_style import figure, left_out
from mmopt.report.workload_tables import NORMALISED, domain_table, queries_table
from mmopt.request import Request, WorkloadLike
from mmopt.results import Frame, Solution, Verification
from mmopt.results.frame import as_text
from mmopt.results.rows_and_json import levels
from mmopt.strategies import Strategy, StrategyForm
from mmopt.workloads import Attribute, Domain, Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chart(value: Any, kind: str = "", workload: WorkloadLike | None = None) -> Figure:
    """The chart of this kind; parameters and errors as ``notebook.Charted.plot``."""
    need_matplotlib()
    kinds = ("convergence",) if isinstance(value, Comparison) else kinds_of(value)
    kind = kind_of(kind, kinds, "chart")
    if isinstance(value, Comparison):
        return convergence_figure(value)
    if kind == "convergence":
        return convergence_figure([value], f"{value.program} by {value.solver}")
    strategy = strategy_of(value)
    title = getattr(value, "program", type(value).__name__)
    if kind == "strategy":
        return heat_map(strategy, title)
    if kind == "profile":
        return profile_of_cells(strategy, title)
    is_proved = getattr(value, "error_bound_grade", "") == "proved"  # for a strategy alone nothing is proved
    bound = value.error_bound if is_proved else None
    return error_figure(strategy, errors_workload(value, workload, "plot"), title, bound)


ROWS_SHOWN = 10  # in a frame
ENTRIES_SHOWN = 12  # rows and columns of a strategy, up to which its entries are shown
WARNINGS = ("not private", "warning")  # names of rows
NOISES = {1: "Laplace: of L1 norms of columns", 2: "Gaussian: of L2 norms of columns"}


def display(*values: object) -> str:
    """HTML for a notebook: objects that users hold, rows (name, text), tables of rich and text, in turn.

    All texts are escaped; nothing is loaded. TypeError for a value of another type.
    """
    return fragment([block for value in values for block in _blocks(value)])


def _blocks(value: object) -> Iterable[Block | Folded]:
    match value:
        case Program():
            return _program(value)
        case Domain():
            return _rich(domain_table(value))
        case Attribute():
            return _rich(domain_table(Domain((value,))))
        case Request():
            return _request(value)
        case Privacy():
            warning = privacy_warning(value.epsilon, value.delta, value.rho)
            return _rows([("privacy", str(value)), *[("warning", warning)] * bool(warning)])
        case Workload():
            return _workload(value)
        case StrategyForm():
            return _strategy(value)
        case Frame():
            return _frame(value)
        case Comparison():
            ranked = ranking(value, (), value.workload, value.stated)
            return _rich(comparison_report(value, ranked=ranked))
        case Outcome():
            return _rich(comparison_report([value]))
        case Baselines():
            return _baselines(value)
        case Factors():
            return _baselines(Baselines([value]))
        case Tuned():
            return _rich(tuning_table([value]))
        case Plan():
            return [*_rows(privacy_rows(value)), *_rich(accuracy_by_group(value, 0.95))]
        case Answers():
            return _frame(framed(value))
        case Verification():
            table, *_, unchecked = verification_report(value).renderables
            tone = "strong" if value.holds else "loud"
            return [Paragraph((value.verdict(),), tone), *_rich(table), *_rich(unchecked)]
        case Ledger():
            return [*_rows(value.rows()), *_rich(entries_table(value))]
        case Solution():
            return _rows(value.rows())
        case list():
            return _rows(value)
        case Group() | RichTable() | str():
            return _rich(value)
    raise TypeError(f"a {type(value).__name__} has no display")


def _program(program: Program) -> Iterator[Block | Folded]:
    yield Paragraph((program.title or program.name,), "strong")
    about = (("program", program.name), ("class", program.problem_class), ("source", program.cite))
    yield _facts([row for row in about if row[1]])
    try:
        yield Listing(statements(check(program)))
    except ProgramError as error:
        yield Paragraph((error.message,), "loud")
        yield Excerpt(str(error))
    yield Folded("the whole file", program.text)


def _request(request: Request) -> Iterator[Block]:
    privacy = "not said" if request.privacy is None else str(request.privacy)
    neighbours = "those of the program" if request.neighbours is None else request.neighbours.words
    yield _facts([("file", request.path), ("privacy", privacy), ("neighbours", neighbours)])
    yield from _workload(request.workload)


def _baselines(factors: Baselines) -> Iterator[Block]:
    against = {one.cost.norm: one.against.program for one in factors if one.cost and one.against}
    for part in factors_tables(factors, against):
        yield from _rich(part)
    left = left_out("Baselines left out:", ((one.reason, one.name) for one in factors if one.reason))
    yield from (Paragraph((line,)) for line in [*left, *factors_legend(factors)])


def _workload(workload: Workload) -> Iterator[Block]:
    size = f"{workload.m:,} queries over {whole(workload.n)} cells"
    yield Paragraph((f"{size}; {NORMALISED}" if workload.is_normalised else size,), "strong")
    yield from _rich(domain_table(workload.domain))
    yield from _rich(queries_table(workload))


def _strategy(strategy: StrategyForm) -> Iterator[Block]:
    yield _facts(
        [
            ("strategy", f"{strategy.p:,} measured queries over {whole(strategy.n)} cells"),
            ("form", type(strategy).__name__),
            ("noise", NOISES[strategy.norm]),
            ("sensitivity", f"{rounded(strategy.sensitivity, 10, up=True)}   (rounded up)"),
            ("neighbours", strategy.neighbours.words),
            *_columns(strategy),
        ]
    )
    if isinstance(strategy, Strategy) and max(strategy.p, strategy.n) <= ENTRIES_SHOWN:
        heads = ("", *(f"cell {i}" for i in range(strategy.n)))
        rows = [(str(i), *map(_entry, row)) for i, row in enumerate(strategy.matrix.tolist())]
        yield _table(heads, rows, range(1, strategy.n + 1))


def _columns(strategy: StrategyForm) -> list[tuple[str, str]]:
    """The least and the largest squared column; nothing where there are too many cells for a list."""
    try:
        costs, _ = levels(strategy.profile)
    except TooLargeError:
        return []
    ends = dict.fromkeys((figure(float(costs.min())), figure(float(costs.max()))))
    return [("squared columns", " to ".join(ends))]


def _entry(value: float) -> str:
    return figure(value, 3) if abs(value) >= 5e-13 else "0"


def _frame(frame: Frame) -> Iterator[Block]:
    if warning := frame.metadata.get("warning"):
        yield Paragraph((warning,), "loud")
    columns = [values[:ROWS_SHOWN].tolist() for values in frame.columns.values()]
    rows = [tuple(map(_value, row)) for row in zip(*columns, strict=True)]
    right = [i for i, values in enumerate(frame.columns.values()) if values.dtype.kind in "fiu"]
    yield _table(frame.names, rows, right, is_named=False)
    if len(frame) > ROWS_SHOWN:
        yield Paragraph((f"… {len(frame) - ROWS_SHOWN:,} more rows",))


def _value(value: object) -> str:
    return figure(value) if isinstance(value, float) and not math.isnan(value) else as_text(value)


def _rows(rows: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """Rows as a table, below the warnings among them."""
    yield from (Paragraph((f"{name}: {text}",), "loud") for name, text in rows if name in WARNINGS)
    yield _facts([row for row in rows if row[0] not in WARNINGS])


def _rich(report: object) -> Iterator[Block]:
    """The blocks of what a terminal prints: tables, their titles, and lines between them."""
    match report:
        case Group():
            for part in report.renderables:
                yield from _rich(part)
        case RichTable():
            if report.title:
                yield Paragraph((str(report.title),), "strong")
            right = [i for i, column in enumerate(report.columns) if column.justify == "right"]
            cells = ([str(cell) for cell in column.cells] for column in report.columns)
            heads = tuple(str(column.header) for column in report.columns)
            yield _table(heads, list(zip(*cells, strict=True)), right)
        case _:
            if text := str(report).strip():
                yield Paragraph((text,))


def _facts(rows: Iterable[tuple[str, str]]) -> Table:
    return _table(("", ""), list(rows))


def _table(
    heads: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    right: Iterable[int] = (),
    *,
    is_named: bool = True,
) -> Table:
    return Table((*heads,), tuple(tuple((cell,) for cell in row) for row in rows), frozenset(right), is_named)
