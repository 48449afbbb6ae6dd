"""Nodes from Python values, as ``yaml_tree.py`` makes them from text.

The place of a node is its path: ``workload[2].product.age``.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmopt.errors import Location, TooLargeError, WorkloadError, placed
from mmopt.request.domain_and_data_keys import DomainNode
from mmopt.request.yaml_tree import MAX_DEPTH, MAX_NODES, ListNode, Map, Scalar, YamlNode, check_text, resolve
from mmopt.workloads import Domain
from mmopt.workloads.arrays_and_frames import Plain, listed, plain_value
from mmopt.workloads.domain import label_of

FILE_KEYS = "the keys of a workload file"


def node_of(value: object, place: str) -> YamlNode:
    """The node of a value.

    Parameters
    ----------
    value : a text, number, truth value, None or date; a list, tuple, range, array, series or index of values;
        a categorical, read as the list of its categories; a dictionary of values.
    place : its name in messages.

    Raises
    ------
    WorkloadError : any other value, a text with a control character, an integer beyond 64 bits, a key that
        is not a text or is there twice, or values nested too deep. TooLargeError : too many values.
    """
    return _Converter().node(value, place, 1)


def domain_node(value: object) -> YamlNode:
    """The node of the key ``domain``: a Domain, or a dictionary; an attribute may be a list of its values."""
    if isinstance(value, Domain):
        return DomainNode(_place("domain"), 1, value)
    node = node_of(value, "domain")
    if not isinstance(node, Map):
        return node
    return Map(node.where, node.count, tuple((key, _as_form(form)) for key, form in node.entries))


def _as_form(node: YamlNode) -> YamlNode:
    """The form of an attribute; for a list that of its values."""
    if not isinstance(node, ListNode):
        return node
    return Map(node.where, node.count, ((Scalar(node.where, 1, "values", "values"), node),))


def file_node(values: Mapping[str, object]) -> Map:
    """The node of a dictionary with the keys of a workload file."""
    root = _Converter().mapping(
        {key: value for key, value in values.items() if key != "domain"}, _place("the dictionary"), "", 1
    )
    if "domain" not in values:
        return root
    node = domain_node(values["domain"])
    key = Scalar(_place("domain"), 1, "domain", "domain")
    return Map(root.where, root.count + node.count, ((key, node), *root.entries))


def united(first: object, more: Mapping[str, object], what: str) -> dict[str, object]:
    """Arguments in a dictionary and by keyword, as one dictionary; WorkloadError for one given twice."""
    if first is None:
        return dict(more)
    if not isinstance(first, Mapping):
        raise WorkloadError(
            f"a {type(first).__name__} is given, expected a dictionary or keywords: {what}",
            hint="Workload.load(path) reads a file"
            if isinstance(first, str | os.PathLike) and what == FILE_KEYS
            else "",
        )
    for key in more:
        if key in first:
            raise WorkloadError(f"'{key}' is given twice, in the dictionary and by keyword")
    return {**first, **more}


def key_place(place: str, key: str) -> str:
    """The place of the value of a key."""
    return f"{place}.{key}".removeprefix(".") if key.isidentifier() else f"{place}[{key!r}]"


def _place(name: str) -> Location:
    """The location of a value in Python, whose place has this name."""
    return Location(name, 0, 0)


@dataclass
class _Converter:
    """Nodes from values, and the ``total`` of values so far."""

    total: int = 0

    def node(self, value: Any, place: str, depth: int) -> YamlNode:
        """The node of a value at this place, so many levels deep; errors as ``node_of``."""
        where = _place(place)
        with placed(where):
            self.total += 1
            if self.total > MAX_NODES:
                raise TooLargeError(
                    f"more than {MAX_NODES:,} values",
                    hint="use range, bins, prefix or all_range instead of long lists",
                )
            if isinstance(value, set | frozenset):
                raise WorkloadError("a set has no order", hint="write a list: cells and queries have one")
            items = listed(value, MAX_NODES)
            if (items is not None or isinstance(value, Mapping)) and depth > MAX_DEPTH:
                raise WorkloadError(f"values are nested deeper than {MAX_DEPTH} levels")
            if isinstance(value, Mapping):
                return self.mapping(value, where, place, depth)
            if items is None:
                return _scalar(plain_value(value), where)
            nodes = tuple(self.node(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(items))
            return ListNode(where, 1 + sum(node.count for node in nodes), nodes)

    def mapping(self, value: Mapping[Any, Any], where: Location, place: str, depth: int) -> Map:
        """The node of a dictionary; its values have the places of their keys."""
        entries: dict[str, tuple[Scalar, YamlNode]] = {}
        for key, inside in value.items():
            with placed(where):
                word = _scalar(plain_value(key), where)
                if not word.text:
                    raise WorkloadError(f"a key must be a non-empty text, found {key!r}")
                if word.text in entries:
                    raise WorkloadError(
                        f"the key '{word.text}' stands twice", hint="rename or remove one of them"
                    )
            at = key_place(place, word.text)
            if word.text == "column" and place.startswith(("domain.", "domain[")):
                # In data frames a column may be named by a tuple: it is read by its text.
                inside = str(inside) if isinstance(inside, tuple) else inside
            entries[word.text] = (
                Scalar(_place(at), 1, word.text, word.value),
                self.node(inside, at, depth + 1),
            )
        return Map(where, 1 + sum(1 + node.count for _, node in entries.values()), tuple(entries.values()))


def _scalar(value: Plain, where: Location) -> Scalar:
    """The node of a text, number, truth value or None; WorkloadError for one that no file could hold."""
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        resolve(str(value))  # integers beyond 64 bits
    return Scalar(where, 1, "" if value is None else label_of(value), value)
