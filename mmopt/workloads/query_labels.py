"""Readable texts for queries: "age in [18, 25)", "age < 25", "25 <= exper < 40", "sex=Female"."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from mmopt.workloads.domain import Attribute
from mmopt.workloads.encodings import Bins, Values


def cell_label(attribute: Attribute, cell: int) -> str:
    """The query for one cell."""
    encoding = attribute.encoding
    if not isinstance(encoding, Bins) or cell >= encoding.size:
        return f"{attribute.name}={attribute.labels[cell]}"
    if None in encoding.ends(cell, cell):
        return _within(attribute.name, encoding, cell, cell)
    return f"{attribute.name} in {attribute.labels[cell]}"


def range_labels(attribute: Attribute, ranges: Iterable[tuple[int | None, int]]) -> list[str]:
    """The queries for cells low to high, both included; from the first cell if low is None."""
    name, labels, encoding = attribute.name, attribute.labels, attribute.encoding
    compared = isinstance(encoding, Values) and _increasing(encoding.values)
    texts = []
    for low, high in ranges:
        is_declared = high < encoding.size
        if isinstance(encoding, Bins) and is_declared:
            whole = f"known {name}" if encoding.size < attribute.size else name
            texts.append(_within(name, encoding, low, high, whole))
        elif low == high:
            texts.append(cell_label(attribute, high))
        elif compared and is_declared:
            start = "" if low is None else f"{labels[low]} <= "
            texts.append(f"{start}{name} <= {labels[high]}")
        else:
            start = "up" if low is None else f"from {labels[low]}"
            texts.append(f"{name} {start} to {labels[high]}")
    return texts


def _within(name: str, bins: Bins, low: int | None, high: int, whole: str = "") -> str:
    """The range from bin low (None: from below) to the end of bin high; ``whole``: a name for all."""
    is_from_below = low is None or bins.edges[low] == -math.inf
    start, end = "" if low is None else bins.edge_text(bins.edges[low]), bins.edge_text(bins.edges[high + 1])
    if bins.edges[high + 1] == math.inf:
        return f"any {whole or name}" if is_from_below else f"{name} >= {start}"
    return f"{name} < {end}" if is_from_below else f"{start} <= {name} < {end}"


def group_label(attribute: Attribute, group: str) -> str:
    """The query for a named group or predicate."""
    return f"{attribute.name} in {group}"


def join(parts: tuple[str, ...]) -> str:
    """One text for a query on several attributes; totals are left out."""
    return ", ".join(part for part in parts if part) or "everyone"


def _increasing(values: tuple[object, ...]) -> bool:
    """Whether all values are numbers in increasing order, so that "<=" describes a range of cells."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and all(a < b for a, b in itertools.pairwise(numbers))
