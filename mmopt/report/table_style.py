"""Tables: how they and numbers look, and those of a workload file.

Tables fit 80 columns, and stay readable without colours.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import rich.table
from rich import box
from rich.console import JustifyMethod
from rich.text import Text

from mmopt.numerics.arrays import grouped, rounded
from mmopt.workloads import Bins, Categories, Domain, Workload

Row = Sequence[object]  # texts, plain or in a style, and sentences with formulas


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header, the same for a terminal, HTML and LaTeX. Texts are taken literally.

    Without words in the header rows are pairs of a name and a text.

    right : columns of numbers. whole : columns of names. Neither is ever cut or split: the text beside them
        is wrapped.
    first_names_row : the first cell of a row is its name.
    """

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    right: Collection[str] = ()
    title: str = ""
    whole: Collection[str] = ()
    first_names_row: bool = True

    def __rich__(self) -> rich.table.Table:
        table = (
            rich.table.Table(
                box=box.SIMPLE_HEAD,
                show_edge=False,
                pad_edge=False,
                collapse_padding=True,
                title=bold(self.title) if self.title else None,
                title_justify="left",
            )
            if any(self.header)
            else rich.table.Table.grid(padding=(0, 2))
        )
        for number, name in enumerate(self.header):
            justify: JustifyMethod = "right" if name in self.right else "left"
            is_whole = name in (*self.right, *self.whole) or not (number or any(self.header))
            table.add_column(cell(name), justify=justify, no_wrap=is_whole, overflow="fold")
        for first, *others in self.rows:
            table.add_row(cell(first, "bold" * isinstance(first, tuple)), *map(cell, others))
        return table


def cell(value: object, style: str = "") -> Text:
    """A table cell that is taken literally: no markup in names and file texts."""
    if isinstance(value, tuple):
        value = "".join(part if isinstance(part, str) else part.plain for part in value)
    return value if isinstance(value, Text) else Text(str(value), style=style, overflow="fold")


def bold(value: object) -> Text:
    """A cell that names its row."""
    return cell(value, "bold")


def rows_table(
    header: Sequence[str],
    rows: Iterable[Row],
    right: Collection[str] = (),
    title: str = "",
    whole: Collection[str] = (),
    *,
    first_names_row: bool = True,
) -> Table:
    """A ``Table`` of rows that may be any sequences."""
    return Table(tuple(header), tuple(map(tuple, rows)), right, title, whole, first_names_row)


def pairs_table(rows: Iterable[tuple[object, object]]) -> Table:
    """Names and texts in two columns, without a header."""
    return rows_table(("", ""), ((bold(name), text) for name, text in rows))


WARNING_ROWS = ("not private", "warning")  # names of rows that are shown as warnings
#: The names of rows in the order of reading: warnings, accuracy, what was chosen, the guarantee. The
#: technical ones follow.
ORDER = (
    *(*WARNING_ROWS, "missed targets", "not read", "only filters"),
    *("workload", "counted", "rows", "rmse", "intervals", "refined", "optimum"),
    *("chosen", "default program", "refining"),
    *("privacy cost", "privacy", "allowed", "neighbours", "not covered", "ledger"),
)


def in_order(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The rows in ``ORDER``, those of other names below; of several with one name the last."""
    places = {name: place for place, name in enumerate(ORDER)}
    return sorted(dict(rows).items(), key=lambda row: places.get(row[0], len(places)))


def more_rows(count: int, indent: str = "") -> list[Row]:
    """The row "… 5 more" where so many rows are left out; no row for 0 or less."""
    return [(cell(f"{indent}… {count:,} more", "dim"),)] * (count > 0)


def paragraphs(text: str) -> Text:
    """Prose, to be wrapped to the width of the screen; indented lines stay as they are."""
    # Lines that begin without a space, one after the other, are one.
    return cell(re.sub(r"^(\S.*)\n(?=\S)", r"\1 ", text, flags=re.MULTILINE))


def figure(value: float | None, digits: int = 6, up: bool | None = None) -> str:
    """A number to so many significant digits, to the nearest or to one side (``rounded``); ``-`` for None."""
    if up is not None:
        return rounded(value, digits, up=up)
    return "-" if value is None else f"{value:.{digits}g}"


def percent(confidence: float | str) -> str:
    """A confidence in per cent (``95%``), with all its digits: in six, 0.999999999999 would be 100%."""
    return f"{(100 * Decimal(str(confidence))).normalize():f}%"


def gap(value: float | None) -> str:
    """A relative gap, rounded up; ``-`` for None."""
    return rounded(value, 2, up=True, layout="e")


MOST_IN_FULL = 1e6  # days or GiB; more are written with an exponent


def duration(seconds: float) -> str:
    """Seconds in words: ``0.4 s``, ``12 s``, ``3 min``, ``5 h``, ``80 days``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    days = seconds / 86_400
    return f"{days:,.0f} days" if days < MOST_IN_FULL else f"{days:.0e} days"


def memory(size: float) -> str:
    """Bytes in words: ``160 MiB``, ``2.4 GiB``, ``3,100 GiB``."""
    if size < 2**30:
        return f"{math.ceil(size / 2**20)} MiB"
    gigabytes = size / 2**30
    if gigabytes < 10:
        return f"{gigabytes:.1f} GiB"
    return f"{gigabytes:,.0f} GiB" if gigabytes < MOST_IN_FULL else f"{gigabytes:.0e} GiB"


def storage(size: float) -> str:
    """Bytes in words, to three digits: ``512 B``, ``335 KiB``, ``1.53 GiB``, ``2.3e+21 TiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size = size / 1024 if size < 2**1000 else int(size) // 1024  # beyond doubles
    return f"{Decimal(size):.3g} TiB"


def few(texts: Sequence[str], between: str = ", ", most: int = 20) -> str:
    """Texts side by side; where there are more than ``most``, the first three and the last."""
    return between.join(texts if len(texts) <= most else (*texts[:3], "…", texts[-1]))


def clipped(text: str, longest: int = 200) -> str:
    """A text of at most so many characters; dots when it had more."""
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def by_reason(named: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Reasons in their order, each with the names that have it, once."""
    return [(reason, list(dict.fromkeys(names))) for reason, names in grouped(named).items()]


def left_out(title: str, named: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the names that have it, below a title; nothing without a reason."""
    lines = [f"  {', '.join(names)}: {reason}" for reason, names in by_reason(named)]
    return [title, *lines] if lines else []


def shortened(labels: Sequence[str], first: int = 3) -> str:
    """The first few labels; dots when there are more."""
    return "; ".join([*labels[:first], *(["…"] if len(labels) > first else [])])


NORMALISED = "rows: each query's weight is divided by its squared length (for relative error)"

# Labels are made for examples only; a larger workload is described without them.
MOST_LABELLED_QUERIES = 200_000
MOST_TABLE_ROWS = 50  # attributes of one table, groups of queries of the other


def domain_table(domain: Domain) -> Table:
    """A row for each attribute, up to ``MOST_TABLE_ROWS``: column, first cells, where other values go."""
    rows: list[Row] = []
    for a in domain.attributes[:MOST_TABLE_ROWS]:
        nested = f"nested in {', '.join(a.levels)}" if a.levels else "values"
        form = {Bins: "bins", Categories: "categories"}.get(type(a.encoding), nested)
        rules = ", ".join(dict.fromkeys(rule or "refuse" for rule in (a.outside, a.missing)))
        rows.append(
            (
                bold(a.name),
                ", ".join((*a.above, a.column)),
                f"{a.size:,}",
                form,
                shortened(a.labels),
                rules,
            )
        )
    rows += more_rows(len(domain.attributes) - MOST_TABLE_ROWS)
    return rows_table(
        ("attribute", "column", "cells", "form", "first cells", "outside, missing"), rows, ("cells",)
    )


def queries_table(workload: Workload) -> Table:
    """A row for each group of queries, up to ``MOST_TABLE_ROWS``: count, weight, target, first queries."""
    labels = workload.labels() if workload.m <= MOST_LABELLED_QUERIES else None
    groups, wanted = workload.groups(), [wish_words(each) for each in workload.wishes_by_group()]
    heading = ["target"] * any(wanted)
    rows: list[Row] = []
    for (name, part), block, wish in zip(groups[:MOST_TABLE_ROWS], workload.blocks, wanted, strict=False):
        first = shortened(labels[part], 2) if labels is not None else ""
        weights = dict.fromkeys(map(figure, (float(block.weights.min()), float(block.weights.max()))))
        shown = (f"{part.stop - part.start:,}", " to ".join(weights), *[wish] * len(heading))
        rows.append((bold(name), *shown, first))
    if len(groups) > MOST_TABLE_ROWS:
        unlisted = workload.m - groups[MOST_TABLE_ROWS - 1][1].stop
        rows.append((f"… {len(groups) - MOST_TABLE_ROWS:,} more", f"{unlisted:,}"))
    numbers = ("count", "weight")
    return rows_table(("queries", *numbers, *heading, "first"), rows, numbers, whole=heading)


def wish_words(wanted: Mapping[str, float]) -> str:
    """A group of ``Workload.wishes_by_group`` in words; "" without targets."""
    words = [f"± {wanted['within']:g} at {percent(wanted['confidence'])}"] if "within" in wanted else []
    if "least_variance" in wanted:
        ends = dict.fromkeys(f"{wanted[name]:g}" for name in ("least_variance", "largest_variance"))
        without = f" ({wanted['without']} without)" if wanted["without"] else ""
        words.append(f"variance {' to '.join(ends)}{without}")
    return ", ".join(words)
