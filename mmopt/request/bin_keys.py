"""Bins of one attribute: edges, or a range with a width; of numbers or of dates, with open ends."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from mmopt.errors import placed
from mmopt.request.yaml_nodes import Scalar, YamlNode, describe, fail, items, number, too_large
from mmopt.workloads import Bins
from mmopt.workloads.calendar_periods import LAST_DAY, date_of, later, period_days

__all__ = ["MAX_CELLS", "check_count", "read_bins", "read_range"]

MAX_CELLS = 100_000
"""Most cells of one attribute."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LIKE_A_DATE = re.compile(r"\d{4}[-/.]\d.*|\d{1,2}[-/.]\d{1,2}[-/.]\d.*")
_WIDTH = re.compile(r"(?:([1-9]\d{0,5}) )?(day|week|month|quarter|year)s?")
_DATE_HINT = "a date is written 2020-01-31"
_OPEN_HINT = "an open end belongs to the first or the last of the edges of bins: [open, 18, 65, open]"


def read_bins(node: YamlNode, what: str) -> Bins:
    """Half-open bins between edges, numbers or dates; the first and the last edge may be ``open``."""
    nodes = items(node, what, "write the edges: [0, 18, 65, 115] means [0, 18), [18, 65), [65, 115)")
    check_count(node, len(nodes), what)
    if len(nodes) < 2:
        fail(node, f"{what}: one edge found, expected at least two")
    edges = [_open(item, i, len(nodes), what) for i, item in enumerate(nodes)]
    closed = [item for item, edge in zip(nodes, edges, strict=True) if edge is None]
    if not closed:
        fail(node, f"{what} are open at both ends and have no edge between", "leave the attribute out")
    dates = _are_dates(closed, what)
    read = _day if dates else number
    values = [
        read(item, f"an edge of the {what}") if edge is None else edge
        for item, edge in zip(nodes, edges, strict=True)
    ]
    for low, high, item in zip(values, values[1:], nodes[1:], strict=False):
        if not low < high:
            earlier, this = (date_of(edge).isoformat() if dates else _show(edge) for edge in (low, high))
            fail(
                item,
                f"{what} must increase, found {this} after {earlier}",
                "half-open bins [a, b) share their edges; each edge is written once",
            )
    with placed(node.where):
        return Bins(tuple(values), dates)


def read_range(node: YamlNode, width: YamlNode | None, name: str) -> tuple[tuple[str, ...], Bins]:
    """Labels and bins of one width from low to high."""
    what = f"range of {name}"
    ends = items(node, what)
    if len(ends) != 2:
        fail(node, f"{what} must be [low, high], found {describe(node)}")
    for end in ends:
        if isinstance(end, Scalar) and end.value == "open":
            fail(end, f"an end of the {what} is open: a range has two ends", _OPEN_HINT)
    dates = _are_dates(ends, what)
    if width is None:
        each = "width: month gives one cell per month" if dates else "width: 1 gives one cell per integer"
        fail(node, f"{name} has a range without a width", each)
    if dates:
        bins = _dates(node, ends, width, what)
        return bins.labels(), bins
    return _numbers(node, ends, width, what)


def check_count(node: YamlNode, count: int, what: str) -> None:
    """TooLargeError for more cells than one attribute may have."""
    if count > MAX_CELLS:
        too_large(
            node, f"{what}: {count:,} cells, at most {MAX_CELLS:,} are possible", "use fewer or wider cells"
        )


def _open(node: YamlNode, place: int, count: int, what: str) -> float | None:
    """The infinity that an open edge stands for, None for another edge."""
    value = node.value if isinstance(node, Scalar) else None
    ends = {0: -math.inf, count - 1: math.inf}
    if value == "open" and place not in ends:
        fail(node, f"{what}: an edge between others is open", _OPEN_HINT)
    if value == "open" or (isinstance(value, float) and value == ends.get(place)):
        return ends[place]
    return None


def _are_dates(nodes: Sequence[YamlNode], what: str) -> bool:
    """Whether the edges are dates; else they are read as numbers. A mix is refused."""
    first: dict[bool, YamlNode] = {}
    for node in nodes:
        value = node.value if isinstance(node, Scalar) else None
        is_date = isinstance(value, str) and bool(_LIKE_A_DATE.fullmatch(value))
        if is_date or (isinstance(value, int | float) and not isinstance(value, bool)):
            first.setdefault(is_date, node)
    if len(first) == 2:
        earlier, other = first.values()
        fail(
            other,
            f"{what}: dates and numbers are mixed, {describe(earlier)} and {describe(other)}",
            _DATE_HINT,
        )
    return True in first


def _day(node: YamlNode, what: str) -> float:
    """A date, as days since 1970-01-01."""
    word = node.text if isinstance(node, Scalar) and isinstance(node.value, str) else ""
    if not _DATE.fullmatch(word):
        fail(node, f"{what} must be a date, found {describe(node)}", _DATE_HINT)
    try:
        days = period_days(word)
    except ValueError as error:
        fail(node, f"{what} is {word}, which is no date: {error}")
    assert days is not None
    return float(days[0])


def _dates(node: YamlNode, ends: Sequence[YamlNode], width: YamlNode, what: str) -> Bins:
    low, high = (int(_day(end, f"an end of the {what}")) for end in ends)
    parts = _WIDTH.fullmatch(width.text) if isinstance(width, Scalar) else None
    if parts is None:
        fail(
            width,
            f"width of the {what} must be day, week, month, quarter or year, found {describe(width)}",
            "several of them are written '10 days'",
        )
    if not low < high:
        texts = ", ".join(date_of(day).isoformat() for day in (low, high))
        fail(node, f"{what} must be [low, high] with low < high, found [{texts}]")
    often, unit = int(parts[1] or 1), parts[2]
    step = f"{often} {unit}{'s' * (often > 1)}"
    edges = [low]
    try:
        while edges[-1] < high:
            edges.append(later(low, len(edges) * often, unit))
    except ValueError as error:
        fail(
            width,
            f"{what}: steps of {step} from {date_of(low)} lead to no date: {error}",
            "start on a day up to 28, end before 9999, or choose another width",
        )
    check_count(node, len(edges) - 1, what)
    if edges[-1] > high:
        better = [date_of(day).isoformat() for day in edges[-2:] if low < day <= LAST_DAY]
        fail(
            width,
            f"{what}: {date_of(low)} to {date_of(high)} is {len(edges) - 2} times {step} and "
            f"{high - edges[-2]} days, expected a whole number of widths",
            " or ".join([f"end the range at {end}" if not i else end for i, end in enumerate(better)])
            + ", or choose another width"
            if better
            else "choose another width",
        )
    with placed(node.where):
        return Bins(tuple(map(float, edges)), dates=True)


def _numbers(
    node: YamlNode, ends: Sequence[YamlNode], width_node: YamlNode, what: str
) -> tuple[tuple[str, ...], Bins]:
    low, high = (_exact(number(end, f"an end of the {what}")) for end in ends)
    width = _exact(number(width_node, f"width of the {what}"))
    if width <= 0:
        fail(width_node, f"width of the {what} must be greater than 0, found {_show(width)}")
    if not low < high:
        fail(node, f"{what} must be [low, high] with low < high, found [{_show(low)}, {_show(high)}]")
    count = (high - low) / width
    if count > MAX_CELLS:
        check_count(node, math.ceil(count), what)
    if count.denominator != 1:
        below, above = low + math.floor(count) * width, low + math.ceil(count) * width
        better = [_show(end) for end in (below, above) if end > low]
        fail(
            width_node,
            f"{what}: {_show(low)} to {_show(high)} is {float(count):.6g} widths of {_show(width)}, "
            "expected a whole number",
            f"end the range at {' or '.join(better)}, or choose another width",
        )
    edges = tuple(float(low + i * width) for i in range(int(count) + 1))
    if any(a >= b for a, b in itertools.pairwise(edges)):
        fail(
            width_node,
            f"{what}: a width of {_show(width)} is below the precision of numbers near {_show(high)}",
        )
    encoding = Bins(edges)
    if width == 1 and low.denominator == 1:
        return tuple(str(int(low) + i) for i in range(int(count))), encoding
    return encoding.labels(), encoding


def _exact(value: float) -> Fraction:
    """The decimal number that the file spells: 0.1 is one tenth, so that widths divide without rounding."""
    return Fraction(Decimal(repr(value)))


def _show(value: Fraction | float) -> str:
    return f"{float(value):.12g}"
