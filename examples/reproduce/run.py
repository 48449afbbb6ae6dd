"""Tables, figures, examples and theorems of the papers, computed again by name.

python examples/reproduce/run.py                               all quick ones, under two minutes
python examples/reproduce/run.py --only pods2010,"Table 1"     a source, an item of any source, or both
python examples/reproduce/run.py --long --out examples/reproduce/results     all, and the page of them
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import cikm2013
import hdmm
import numpy as np
import pods2010
import pvldb2012
import pvldb2021
import typer
from item import DIFFERS, RELATIONS, Item, Row, Source
from page import FIELDS, figures_of, page_of

from mmopt import OptionError
from mmopt.cli.app import run_alone
from mmopt.cli.command_output import REFUTED, note, show
from mmopt.installation_and_files import write_whole
from mmopt.report.table_style import bold, duration, rows_table

SOURCES: tuple[Source, ...] = (
    pods2010.SOURCE,
    pvldb2012.SOURCE,
    cikm2013.SOURCE,
    hdmm.SOURCE,
    pvldb2021.SOURCE,
)
"""The sources, as the page has them."""


def chosen(only: str | None, *, with_long: bool) -> list[tuple[Source, Item]]:
    """The items asked for; OptionError for a name that no source and no item has.

    only : keys of sources and names of items, with commas; of sources and items named together those items of
    these sources. Long items are left out unless asked for.
    """
    every = [(source, item) for source in SOURCES for item in source.items]
    keys, items = {source.key for source in SOURCES}, {item.name for _, item in every}
    names = _names_in(only or "", keys | items)
    of, named = keys.intersection(names) or keys, items.intersection(names) or items
    return [
        (source, item)
        for source, item in every
        if source.key in of and item.name in named and (with_long or not item.is_long)
    ]


def _names_in(text: str, known: Collection[str]) -> set[str]:
    """The names of a list with commas, which a name may have itself ("Section 3.4, A_l")."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = set()
    while parts:
        for count in range(len(parts), 0, -1):
            name = ", ".join(parts[:count])
            if name in known:
                break
        else:
            raise OptionError(
                f"--only has '{name}', expected one of {', '.join(source.key for source in SOURCES)}, "
                "or the name of an item (--list)"
            )
        names.add(name)
        del parts[:count]
    return names


def reproduced(source: Source, item: Item, seed: int) -> tuple[list[Row], float]:
    """The rows of an item, and the processor's seconds that they took; none of an explained one."""
    start = time.process_time()
    rows = [] if item.rows is None else list(item.rows(np.random.default_rng(seed)))
    return rows, time.process_time() - start


def fields_of(source: Source, item: Item, rows: Sequence[Row], seconds: float) -> Iterator[dict[str, str]]:
    """Rows as lines of rows.csv: figures to ten digits, what is zero but for rounding as 0.

    Seconds only of long items: another run of the others writes the same file.
    """
    took = f"{seconds:.0f}" if item.is_long else ""
    for row in rows:
        paper = row.paper if isinstance(row.paper, str) else f"{row.paper:.10g}"
        ours = f"{0.0 if row.paper == 0 and row.verdict == RELATIONS['='] else row.ours:.10g}"
        bound = "" if row.bound is None else f"{row.bound:.10g}"
        values = (
            source.key,
            item.name,
            row.label,
            row.relation,
            paper,
            ours,
            bound,
            row.verdict,
            row.why,
            took,
        )
        yield dict(zip(FIELDS, values, strict=True))


def write(folder: Path, lines: Sequence[Mapping[str, str]], done: set[tuple[str, str]]) -> None:
    """rows.csv and page.md; rows of other items that the folder has stay, in the order of the catalogue."""
    file = folder / "rows.csv"
    kept: list[Mapping[str, str]] = []
    if file.exists():
        with file.open(encoding="utf-8", newline="") as text:
            kept = [line for line in csv.DictReader(text) if (line["source"], line["item"]) not in done]
    figures = figures_of([*kept, *lines])
    table = io.StringIO()
    writer = csv.DictWriter(table, FIELDS, lineterminator="\n")
    writer.writeheader()
    for source in SOURCES:
        for item in source.items:
            writer.writerows(figures.get((source.key, item.name), ()))
    write_whole(file, table.getvalue().encode())
    write_whole(folder / "page.md", page_of(SOURCES, figures).encode())


def reproduce(
    only: Annotated[str | None, typer.Option(metavar="NAMES", help="Sources and items, with commas.")] = None,
    long: Annotated[bool, typer.Option("--long", help="The long ones as well.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where page.md and rows.csv go.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random instances.")] = 0,
    names: Annotated[bool, typer.Option("--list", help="Say what there is, and compute nothing.")] = False,
) -> None:
    """Tables, figures, examples and theorems of the papers, computed again by name."""
    asked = chosen(only, with_long=long or names)
    if names:
        listed = [
            (source.key, item.name, item.kind, duration(item.seconds) if item.is_long else "", item.what)
            for source, item in asked
        ]
        show(rows_table(("source", "item", "kind", "long", "what it says"), listed, whole=("source", "item")))
        return
    found: list[dict[str, str]] = []
    wrong: list[str] = []
    for source, item in asked:
        if item.rows is None:
            continue
        note(f"{source.key}: {item.name}")
        rows, seconds = reproduced(source, item, seed)
        lines = list(fields_of(source, item, rows, seconds))
        found += lines
        if out is not None and item.is_long:  # at once: a run that is stopped has not been for nothing
            write(out, lines, {(source.key, item.name)})
        wrong += [f"{source.key}, {item.name}, {row.label}" for row in rows if not row.is_accounted_for]
    columns = ("item", "", "paper", "", "ours", "agreement")
    for source in {id(source): source for source, _ in asked}.values():
        table = [
            (
                row["item"],
                row["label"],
                _short(row["paper"]),
                row["relation"],
                _short(row["ours"]),
                row["verdict"],
            )
            for row in found
            if row["source"] == source.key
        ]
        show(rows_table(columns, table, right=("paper", "ours"), title=source.title), "")
    explained = sum(item.rows is None for _, item in asked)
    differing = sum(row["verdict"] == DIFFERS for row in found)
    show(
        f"{len(asked)} items, {explained} of them explained; {len(found)} figures, {differing} differ "
        f"from print with a reason, {len(wrong)} without"
    )
    if out is not None:
        write(out, found, {(source.key, item.name) for source, item in asked})
        show(f"written: {out / 'page.md'}, {out / 'rows.csv'}")
    if wrong:
        show(*(bold(f"not accounted for: {line}") for line in wrong))
        raise typer.Exit(REFUTED)


def _short(text: str) -> str:
    return f"{float(text):.6g}" if len(text) > 8 else text


if __name__ == "__main__":
    run_alone(reproduce, "python examples/reproduce/run.py")
