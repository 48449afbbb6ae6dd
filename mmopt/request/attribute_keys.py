"""How table values become cells of one attribute: values, bins, range with width, categories."""

from __future__ import annotations

import math

from mmopt.request.bin_keys import check_count, read_bins, read_range
from mmopt.request.yaml_nodes import (
    Map,
    Scalar,
    YamlNode,
    describe,
    fail,
    items,
    mapping,
    one_of,
)
from mmopt.workloads import Bins, Categories, Values
from mmopt.workloads.encodings import TableValue, label_of

__all__ = ["FORMS", "Encoding", "read_encoding"]

FORMS = ("values", "bins", "range", "categories")

Encoding = Values | Bins | Categories


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
        encoding = read_bins(node, f"bins of {what}")
        return encoding.labels(), encoding
    return read_range(node, width, what)


def table_value(node: YamlNode, what: str) -> TableValue:
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
    check_count(node, len(nodes), what)
    values: list[TableValue] = []
    labels: dict[str, YamlNode] = {}
    seen: dict[TableValue, YamlNode] = {}
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
    check_count(node, found.count, what)
    seen: dict[TableValue, YamlNode] = {}
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


def _check_new(item: YamlNode, value: TableValue, seen: dict[TableValue, YamlNode], what: str) -> None:
    if first := seen.get(value):
        found, earlier = describe(item), describe(first)
        if found == earlier:
            fail(item, f"{what}: {found} stands twice, first in {first.where.inside(column=True)}")
        fail(item, f"{what}: {found} and {earlier} are the same value of a table")
    seen[value] = item
