"""How table values become cells of one attribute: values, bins, range with width, categories."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

from mmopt.errors import placed
from mmopt.request.yaml_nodes import (
    Map,
    Scalar,
    YamlNode,
    describe,
    fail,
    items,
    mapping,
    number,
    one_of,
    too_large,
)
from mmopt.workloads import Bins, Categories, Values

__all__ = ["FORMS", "MAX_CELLS", "Encoding", "label_of", "read_encoding"]

FORMS = ("values", "bins", "range", "categories")

MAX_CELLS = 100_000
"""Most cells of one attribute."""

Encoding = Values | Bins | Categories
Plain = str | int | float | bool


def read_encoding(form: Map, name: str) -> tuple[tuple[str, ...], Encoding]:
    """Labels and encoding of an attribute declared by one of the four forms."""
    what = f"attribute '{name}'"
    kind = one_of(form, what, FORMS)
    node = form.by_key[kind]
    width = form.get("width")
    if width is not None and kind != "range":
        fail(form.key("width"), f"{what} has a width with {kind}; width belongs to range: [low, high]")
    if kind == "values":
        return _values(node, f"values of {what}")
    if kind == "categories":
        return _categories(node, f"categories of {what}")
    if kind == "bins":
        encoding = _bins(node, f"bins of {what}")
        return encoding.labels(), encoding
    if width is None:
        fail(node, f"{what} has a range without a width", "width: 1 gives one cell per integer")
    return _range(node, width, f"range of {what}")


def label_of(value: Plain) -> str:
    """The text that stands for a table value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def table_value(node: YamlNode, what: str) -> Plain:
    """A value that a table may hold: a text that is not empty, an integer, a finite number, true or false."""
    missing = "rows without a value are the business of 'missing: refuse', 'drop' or a label"
    if not isinstance(node, Scalar):
        fail(node, f"each of the {what} must be a single value, found {describe(node)}")
    value = node.value
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        found = "an empty text" if value == "" else node.text or "nothing"
        fail(node, f"each of the {what} must be a value, found {found}", missing)
    if isinstance(value, float) and math.isinf(value):
        fail(node, f"each of the {what} must be finite, found {node.text}")
    return value


def _values(node: YamlNode, what: str) -> tuple[tuple[str, ...], Values]:
    nodes = items(node, what)
    _check_count(node, len(nodes), what)
    values: list[Plain] = []
    labels: dict[str, YamlNode] = {}
    seen: dict[Plain, YamlNode] = {}
    for item in nodes:
        value = table_value(item, what)
        _check_new(item, value, seen, what)
        label = label_of(value)
        if label in labels:
            fail(
                item,
                f"{what}: {describe(item)} and {describe(labels[label])} would have the same label",
                "use categories: {label: [value, …]} to give them labels",
            )
        labels[label] = item
        values.append(value)
    return tuple(labels), Values(tuple(values))


def _categories(node: YamlNode, what: str) -> tuple[tuple[str, ...], Categories]:
    found = mapping(node, what)
    if not found.entries:
        fail(node, f"{what} are empty, expected at least one label with its values")
    _check_count(node, found.count, what)
    seen: dict[Plain, YamlNode] = {}
    members = []
    for key, entry in found.entries:
        if isinstance(entry, Scalar) and entry.value is not None:
            nodes: tuple[YamlNode, ...] = (entry,)
        else:
            nodes = items(entry, f"category '{key.text}'")
        values = []
        for item in nodes:
            value = table_value(item, f"values of category '{key.text}'")
            _check_new(item, value, seen, what)
            values.append(value)
        members.append(tuple(values))
    # A key is its text: 1 and '1' are the same label.
    return tuple(key.text for key, _ in found.entries), Categories(tuple(members))


def _bins(node: YamlNode, what: str) -> Bins:
    nodes = items(node, what, "write the edges: [0, 18, 65, 115] means [0, 18), [18, 65), [65, 115)")
    _check_count(node, len(nodes), what)
    if len(nodes) < 2:
        fail(node, f"{what}: one edge found, expected at least two")
    edges = [number(item, f"an edge of the {what}") for item in nodes]
    for low, high, item in zip(edges, edges[1:], nodes[1:], strict=False):
        if not low < high:
            fail(
                item,
                f"{what} must increase, found {_show(high)} after {_show(low)}",
                "half-open bins [a, b) share their edges; each edge is written once",
            )
    with placed(node.where):
        return Bins(tuple(edges))


def _range(node: YamlNode, width_node: YamlNode, what: str) -> tuple[tuple[str, ...], Bins]:
    ends = items(node, what)
    if len(ends) != 2:
        fail(node, f"{what} must be [low, high], found {describe(node)}")
    low, high = (_exact(number(end, f"an end of the {what}")) for end in ends)
    width = _exact(number(width_node, f"width of the {what}"))
    if width <= 0:
        fail(width_node, f"width of the {what} must be greater than 0, found {_show(width)}")
    if not low < high:
        fail(node, f"{what} must be [low, high] with low < high, found [{_show(low)}, {_show(high)}]")
    count = (high - low) / width
    if count > MAX_CELLS:
        _check_count(node, math.ceil(count), what)
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


def _check_new(item: YamlNode, value: Plain, seen: dict[Plain, YamlNode], what: str) -> None:
    if first := seen.get(value):
        found, earlier = describe(item), describe(first)
        if found == earlier:
            fail(item, f"{what}: {found} stands twice, first in {first.where.inside(column=True)}")
        fail(item, f"{what}: {found} and {earlier} are the same value of a table")
    seen[value] = item


def _check_count(node: YamlNode, count: int, what: str) -> None:
    if count > MAX_CELLS:
        too_large(
            node, f"{what}: {count:,} cells, at most {MAX_CELLS:,} are possible", "use fewer or wider cells"
        )


def _exact(value: float) -> Fraction:
    """The decimal number that the file spells: 0.1 is one tenth, so that widths divide without rounding."""
    return Fraction(Decimal(repr(value)))


def _show(value: Fraction | float) -> str:
    return f"{float(value):.12g}"
