"""``python -m mmopt.testing.studies adaptive``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from rich.table import Table

from mmopt.cli.output import note, show
from mmopt.errors import OptionError
from mmopt.report.style import cell, gap, new_table, paragraphs
from mmopt.testing.studies.adaptive import DESIGNS, Line, designs, lines
from mmopt.testing.studies.adaptive_cases import ALWAYS, RIVALS, cases
from mmopt.testing.studies.adaptive_tables import (
    FIGURE_5,
    FOOTNOTES,
    FROM_BOUND,
    GAINS,
    LARGEST,
    PAPER_CELLS,
    TABLE_2,
)

__all__ = ["adaptive", "designs_table", "figure_table", "printed_table"]

PARTS = {"--figure": (3, 5), "--table": (2,)}


def adaptive(
    figure: Annotated[int | None, typer.Option(metavar="3|5", help="Only this figure of the paper.")] = None,
    table: Annotated[int | None, typer.Option(metavar="2", help="Only this table of the paper.")] = None,
    cells: Annotated[
        int, typer.Option(metavar="CELLS", help="A power of two. The paper has 2048 (long).")
    ] = 256,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of each random workload, seeds 0 to N - 1.")
    ] = 3,
) -> None:
    """Figures 3 and 5 and Table 2 of the adaptive mechanism (PVLDB 2012): rivals over the eigen-strategy.

    Factors of root mean square errors under Gaussian noise: of a rival over that of the eigen-strategy
    (program eigen_design), and of the least possible (l2_strategy) and the singular value bound over it.
    Relative errors, which need the paper's data, are left out.
    """
    chosen = _parts(figure, table)
    known = cases(cells)
    for part, kind in (("3", "ranges"), ("3", "marginals"), ("2", "")):
        if part not in chosen:
            continue
        own = [case for case in known if case.part == part and kind in ("", case.kind)]
        found = list(_told(lines(own, draws)))
        show(printed_table(found, cells) if part == "2" else figure_table(found, kind, cells))
        show(paragraphs(_programs(found)))
        if part == "3":
            show(paragraphs(_said(found, kind)))
        for text in FOOTNOTES.get(kind or part, ()):
            show(paragraphs(text))
        show("")
    if "5" in chosen:
        note("Figure 5")
        show(designs_table(designs(cells), cells))
        for text in FOOTNOTES.get("5", ()):
            show(paragraphs(text))
        show("")
    if cells != PAPER_CELLS:
        show(f"print: {PAPER_CELLS} cells, here {cells}")


def figure_table(found: Sequence[Line], kind: str, cells: int) -> Table:
    """Figure 3, errors at ε = ½, δ = 10⁻⁴, and factors."""
    rivals = (*found[0].case.rivals, *ALWAYS)
    columns = ("eigen", *rivals, "best", "bound")
    title = f"Figure 3 ({'a' if kind == 'ranges' else 'c'}): {kind}, {cells} cells"
    table = new_table("", *columns, right=columns, title=title)
    for line in found:
        factors = (_factor(line.factor(name)) for name in rivals)
        ends = (f"{line.best:.3f}", f"{line.bound:.3f}")
        table.add_row(cell(line.case.label, "bold"), f"{line.eigen:.2f}", *factors, *ends)
    return table


def printed_table(found: Sequence[Line], cells: int) -> Table:
    """Table 2: the median of our draws, print, and at the paper's size the ratio."""
    columns = (*RIVALS, "best", "bound")
    table = new_table("", "", *columns, right=columns, title=f"Table 2: {cells} cells")
    for line in found:
        print_ = TABLE_2[line.case.kind]
        ours = (_factor(line.factor(name)) if name in line.draws[0].rivals else "" for name in RIVALS)
        label = cell(line.case.kind, "bold")
        table.add_row(label, "here", *ours, f"{line.best:.3f}", f"{line.bound:.3f}")
        theirs = (_factor(print_.factors.get(name)) for name in RIVALS)
        table.add_row("", "print", *theirs, "", f"{print_.bound:.2f}")
        if cells == PAPER_CELLS:
            ratios = (_ratio(line, name, print_.factors.get(name)) for name in RIVALS)
            table.add_row("", "ratio", *ratios, "", f"{line.bound / print_.bound:.3f}")
    return table


def designs_table(found: Iterable[tuple[str, str, dict[str, float]]], cells: int) -> Table:
    """Figure 5."""
    columns = (*DESIGNS, "text")
    title = f"Figure 5: weighted design queries over eigen-queries, {cells} cells"
    table = new_table("", "", *columns, right=columns, title=title)
    for kind, state, ratios in found:
        row = (f"{ratios[name]:.3f}" for name in DESIGNS)
        table.add_row(cell(kind, "bold"), state, *row, FIGURE_5[kind, state])
    return table


def _programs(found: Sequence[Line]) -> str:
    """Which program the ends of every row come from."""
    return (
        "eigen: program eigen_design. best: program l2_strategy, its total error within "
        f"{gap(max(line.gap for line in found))} of the least. bound: the singular value bound, of no "
        "program."
    )


def _said(found: Sequence[Line], kind: str) -> str:
    """What the text says of a part of Figure 3, and what there is here."""
    gains = [line.gain for line in found]
    apart = max(1 / line.bound for line in found)
    low, high = GAINS[kind]
    rivals = found[0].case.rivals
    largest = {
        name: max(line.factor(name) for line in found if line.factor(name) < math.inf) for name in rivals
    }
    most = ", ".join(f"{name} {largest[name]:.2f} (text {LARGEST[name]:g})" for name in rivals)
    return (
        f"Best rival over eigen-strategy: here {min(gains):.2f} to {max(gains):.2f}, "
        f"text {low:g} to {high:g}. "
        f"Eigen-strategy over bound: here at most {apart:.2f}, text at most {FROM_BOUND[kind]:g}. "
        f"Most over each rival: {most}."
    )


def _factor(value: float | None) -> str:
    if value is None:
        return ""
    return "-" if math.isinf(value) else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _ratio(line: Line, name: str, printed: float | None) -> str:
    if printed is None:
        return ""
    return f"{line.factor(name) / printed:.3f}{' ' if line.agrees(name, printed) else '*'}"


def _parts(figure: int | None, table: int | None) -> set[str]:
    """The parts asked for; all of them when none is named."""
    given = {"--figure": figure, "--table": table}
    for option, number in given.items():
        if number is not None and number not in PARTS[option]:
            known = " or ".join(map(str, PARTS[option]))
            raise OptionError(f"{option} is {number}, expected {known}")
    chosen = {str(number) for number in given.values() if number is not None}
    return chosen or {"2", "3", "5"}


def _told(found: Iterable[Line]) -> Iterable[Line]:
    for line in found:
        note(f"{'Table 2' if line.case.part == '2' else 'Figure 3'}: {line.case.label}")
        yield line
