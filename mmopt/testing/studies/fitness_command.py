"""``python -m mmopt.testing.studies fitness``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.table import Table

from mmopt.cli.options import names_in
from mmopt.cli.output import note, show
from mmopt.errors import OptionError
from mmopt.report.style import cell, figure, gap, new_table, paragraphs
from mmopt.testing.studies.fitness import Line, lines
from mmopt.testing.studies.fitness_tables import FOOTNOTES, MECHANISMS, PRINTED, TITLES

__all__ = ["fitness", "table_of"]


def fitness(
    tables: Annotated[
        str | None, typer.Option(metavar="4,5", help="Tables of the paper, 4 to 11. Default: all.")
    ] = None,
    largest: Annotated[
        int, typer.Option(min=2, metavar="CELLS", help="Leave larger sizes out; 1024 for the long run.")
    ] = 256,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of each random workload, seeds 0 to N - 1.")
    ] = 5,
) -> None:
    """Tables 4 to 11 of fitness-for-use (PVLDB 2021): mechanisms over the optimum, beside print.

    Input perturbation (IP), hierarchies (HM), least total error (CA) and its weighted forms: the largest
    ratio of variance to target at the least privacy cost at which all targets can be met.
    """
    chosen = [_number(name) for name in names_in(tables, "--tables")] or list(PRINTED)
    for number, found in itertools.groupby(_told(lines(chosen, largest, draws)), lambda line: line.table):
        show(table_of(number, list(found)))
        for text in FOOTNOTES.get(number, ()):
            show(paragraphs(text))
        show("")
    show("ratio: the median of our draws over print; * print lies outside of them by more than 2 %")


def table_of(number: int, found: list[Line]) -> Table:
    """Four rows for each size: the median of our draws, their range, print, and the ratio."""
    title = f"Table {number}: {TITLES[number]} (gap {gap(max(line.gap for line in found))})"
    table = new_table("", "", *MECHANISMS, right=MECHANISMS, title=title)
    for line in found:
        table.add_row(cell(line.label, "bold"), "here", *(f"{line.ours(name):.2f}" for name in MECHANISMS))
        if any(len(own) > 1 for own in line.ratios.values()):
            ends = ((min(own), max(own)) for own in line.ratios.values())
            table.add_row("", "draws", *(f"{figure(low, 3)}-{figure(high, 3)}" for low, high in ends))
        table.add_row("", "print", *(f"{line.paper(name):.2f}" for name in MECHANISMS))
        ratios = (
            f"{line.ours(name) / line.paper(name):.3f}{' ' if line.agrees(name) else '*'}"
            for name in MECHANISMS
        )
        table.add_row("", "ratio", *ratios)
    return table


def _told(found: Iterable[Line]) -> Iterable[Line]:
    for line in found:
        note(f"Table {line.table}: {line.label}")
        yield line


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"--tables has '{text}', expected numbers of tables, such as 4,5") from None
