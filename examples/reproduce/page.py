"""The page of what was reproduced: a summary of each source, then its items with their figures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from item import KINDS, Item, Source

from mmopt.errors import counted
from mmopt.report.table_style import duration

__all__ = ["FIELDS", "Figures", "figures_of", "page_of"]

Figures = Mapping[tuple[str, str], Sequence[Mapping[str, str]]]
"""By key of a source and name of an item: its rows, with ``FIELDS``."""

FIELDS = ("source", "item", "label", "relation", "paper", "ours", "bound", "verdict", "why", "seconds")
ERRATA = "errata.md"
"""The page of programs/ERRATA.md beside this one."""

INTRODUCTION = """# The papers, reproduced

Every table, figure, numbered example, theorem and program with a formula of the five sources, by its name in
the paper. `python examples/reproduce/run.py` computes them again (`--list` shows their names, `--only
pods2010,"Table 1"` takes some, `--long` takes the long ones as well); this page is written by it, from
`rows.csv` beside it.

- *agrees*: ours is the paper's figure, to the last digit that is printed; the two sides of a formula are
  equal but for rounding. *agrees within 2 %*: where the paper's figure is of random draws that are not ours,
  or was rounded on the way.
- *upper bound holds*, *lower bound holds*: the paper has an inequality, or ours is better than what it
  reached.
- *differs*: with the reason, and the erratum where the paper is wrong.

An item is *computed* (figures of the paper), *checked* (a formula, both sides computed on drawn instances) or
*explained*. Where a formula has two sides, a row names the paper's first and then ours; "worst of 20" is the
one of twenty random instances that is nearest to breaking it. Where a paper has only words or a picture for
a comparison, *less than the best rival*, the figure in its column is the rival's, computed by us, and is
printed nowhere. No strategy has less than a *bound*, which is proved."""


def figures_of(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], list[Mapping[str, str]]]:
    """Rows by source and item, in their order."""
    figures: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for row in rows:
        figures.setdefault((row["source"], row["item"]), []).append(row)
    return figures


def page_of(sources: Sequence[Source], figures: Figures) -> str:
    """The page as Markdown (MyST)."""
    parts = [INTRODUCTION, f"Together {_counts(sources, figures)}"]
    for source in sources:
        parts += [f"## {source.title}", *([source.note] if source.note else [])]
        parts += [_counts([source], figures), _summary(source, figures)]
        parts += [part for item in source.items for part in _details(source, item, figures)]
    return "\n\n".join(parts) + "\n"


def _counts(sources: Sequence[Source], figures: Figures) -> str:
    items = [(source, item) for source in sources for item in source.items]
    kinds = Counter(item.kind for _, item in items)
    verdicts = Counter(
        re.sub(r" within .*", " within some %", row["verdict"])
        for own in items
        for row in _rows(*own, figures)
    )
    return (
        f"{counted(len(items), 'item')}: "
        + ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)
        + f". {counted(sum(verdicts.values()), 'figure')}: "
        + _counted(verdicts)
        + "."
    )


def _summary(source: Source, figures: Figures) -> str:
    rows = []
    for item in source.items:
        unbroken = item.name.replace(" ", "\u00a0")
        name = f"[{unbroken}](#{_anchor(source, item)})"
        rows.append((name, item.what, item.kind, _agreement(source, item, figures)))
    return _table(("item", "what it says", "kind", "agreement"), rows)


def _agreement(source: Source, item: Item, figures: Figures) -> str:
    if item.rows is None:
        return "reason given"
    verdicts = Counter(row["verdict"] for row in _rows(source, item, figures))
    if not verdicts:
        return f"not run ({duration(item.seconds)})"
    if len(verdicts) == 1:
        return next(iter(verdicts))
    return _counted(verdicts)


def _counted(verdicts: Counter[str]) -> str:
    return ", ".join(f"{verdict} ({count})" for verdict, count in verdicts.most_common())


def _details(source: Source, item: Item, figures: Figures) -> list[str]:
    found = _rows(source, item, figures)
    parts = [f"({_anchor(source, item)})=\n### {item.name}", item.what]
    if item.remark:
        parts.append(item.remark)
    if item.errata:
        heading = re.sub(r"[^\w\s-]", "", source.title.lower()).replace(" ", "-")
        parts.append(f"[Errata]({ERRATA}#{heading}): " + "; ".join(item.errata) + ".")
    if found:
        with_bound = any(row["bound"] for row in found)
        header = ("", "paper", "ours", *(["bound"] if with_bound else []), "agreement")
        parts.append(_table(header, (_line(row, with_bound) for row in found)))
        if found[0]["seconds"]:
            parts.append(f"Took {duration(float(found[0]['seconds']))} of a processor core.")
    return parts


def _line(row: Mapping[str, str], with_bound: bool) -> list[str]:
    sign = {"=": "", "<=": "≤ ", ">=": "≥ "}[row["relation"]]
    bound = [_figure(row["bound"])] if with_bound else []
    why = f": {row['why']}" if row["why"] else ""
    return [row["label"], sign + _figure(row["paper"]), _figure(row["ours"]), *bound, row["verdict"] + why]


def _rows(source: Source, item: Item, figures: Figures) -> Sequence[Mapping[str, str]]:
    return figures.get((source.key, item.name), ())


def _figure(text: str) -> str:
    """A number of more than seven significant digits to six; other texts as they are."""
    if not re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text) or len(re.sub(r"e.*|\D", "", text)) <= 7:
        return text
    value = float(text)
    return f"{value:.6g}" if math.isfinite(value) else text


def _anchor(source: Source, item: Item) -> str:
    return f"{source.key}-" + re.sub(r"[^a-z0-9]+", "-", item.name.lower()).strip("-")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(entry) for entry in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
