"""Readable texts for queries: "age in [18, 25)", "age < 25", "25 <= exper < 40", "sex=Female"."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from mmopt.workloads.domain import Attribute, Bins, Values

__all__ = ["cell_label", "group_label", "join", "range_labels"]


def cell_label(attribute: Attribute, cell: int) -> str:
    """The query for one cell."""
    joint = " in " if isinstance(attribute.encoding, Bins) else "="
    return f"{attribute.name}{joint}{attribute.labels[cell]}"


def range_labels(attribute: Attribute, ranges: Iterable[tuple[int | None, int]]) -> list[str]:
    """The queries for cells low to high, both included; from the first cell if low is None."""
    name, labels, encoding = attribute.name, attribute.labels, attribute.encoding
    if isinstance(encoding, Bins):
        edges = [f"{edge:.12g}" for edge in encoding.edges]
        return [
            f"{name} < {edges[high + 1]}" if low is None else f"{edges[low]} <= {name} < {edges[high + 1]}"
            for low, high in ranges
        ]
    compared = isinstance(encoding, Values) and _increasing(encoding.values)
    texts = []
    for low, high in ranges:
        if low == high:
            texts.append(cell_label(attribute, high))
        elif compared:
            start = "" if low is None else f"{labels[low]} <= "
            texts.append(f"{start}{name} <= {labels[high]}")
        else:
            start = "up" if low is None else f"from {labels[low]}"
            texts.append(f"{name} {start} to {labels[high]}")
    return texts


def group_label(attribute: Attribute, group: str) -> str:
    """The query for a named group or predicate."""
    return f"{attribute.name} in {group}"


def join(parts: tuple[str, ...]) -> str:
    """One text for a query on several attributes; totals are left out."""
    return ", ".join(part for part in parts if part) or "everyone"


def _increasing(values: tuple[object, ...]) -> bool:
    """Whether all values are numbers in increasing order, so that "<=" says what a range of cells holds."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and all(a < b for a, b in itertools.pairwise(numbers))
