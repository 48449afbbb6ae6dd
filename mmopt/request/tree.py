"""From text to nodes, through the event stream of ruamel.yaml's parser (YAML 1.2).

The stream is read instead of ready-made objects because its marks give line, column and width of every
value, and because depth and number of values are then limited *while* reading: deep nesting and aliases
that multiply cost nothing. Anchors and aliases work; tags, merge keys and several documents are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
)

from mmopt.errors import Location, WorkloadError
from mmopt.request.nodes import ListNode, Map, Node, Scalar, describe, fail
from mmopt.request.scalars import Surprise, resolve
from mmopt.request.syntax import syntax_error
from mmopt.request.text import Text

__all__ = ["MAX_DEPTH", "MAX_NODES", "parse_tree"]

MAX_DEPTH = 20
"""Deepest nesting of lists and mappings; the deepest form of the file needs about 8."""

MAX_NODES = 200_000
"""Most values in a file, those behind aliases counted each time they are used."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CORE = "tag:yaml.org,2002:"  # what "!!" stands for


def parse_tree(text: Text) -> Node:
    """The root value of a YAML text; WorkloadError for whatever is not one plain YAML 1.2 document."""
    builder = _Builder(text)
    try:
        for event in YAML(typ="rt", pure=True).parse(text.content):
            builder.take(event)
    except MarkedYAMLError as error:
        raise syntax_error(error, text) from None
    if builder.root is None:
        raise WorkloadError(
            "the workload file is empty, expected the keys domain and workload", where=text.at(0, 0)
        )
    return builder.root


@dataclass
class _Open:
    """A list or mapping that is not closed yet."""

    where: Location
    mapping: bool
    anchor: str | None
    children: list[Node] = field(default_factory=list)


@dataclass
class _Builder:
    text: Text
    root: Node | None = None
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    total: int = 0

    def take(self, event: Event) -> None:
        if isinstance(event, DocumentStartEvent):
            self._document(event)
        elif isinstance(event, AliasEvent):
            self._add(self._alias(event), None)
        elif isinstance(event, ScalarEvent | CollectionStartEvent):
            where = self._where(event)
            if event.tag is not None:
                tag = str(event.tag).replace(_CORE, "!!")
                raise WorkloadError(
                    f"the tag {tag} is not allowed: a workload file has plain values only",
                    where=where,
                    hint="write the value in quotes if it is a text",
                )
            if isinstance(event, ScalarEvent):
                self._add(self._scalar(event, where), event.anchor)
            else:
                if len(self.stack) == MAX_DEPTH:
                    raise WorkloadError(f"values are nested deeper than {MAX_DEPTH} levels", where=where)
                self.stack.append(_Open(where, isinstance(event, MappingStartEvent), event.anchor))
        elif isinstance(event, CollectionEndEvent):
            self._close()

    def _where(self, event: Event) -> Location:
        start, end = event.start_mark, event.end_mark
        one_line = isinstance(event, ScalarEvent | AliasEvent) and start.line == end.line
        return self.text.at(start.line, start.column, end.column - start.column if one_line else 1)

    def _document(self, event: DocumentStartEvent) -> None:
        where = self._where(event)
        if event.version is not None and tuple(event.version) != (1, 2):
            version = ".".join(map(str, event.version))
            raise WorkloadError(f"YAML {version} is asked for, workload files are YAML 1.2", where=where)
        if self.root is not None:
            raise WorkloadError(
                "a second document starts here, expected one workload in a file",
                where=where,
                hint="remove the line '---' or put the second part into a file of its own",
            )

    def _scalar(self, event: ScalarEvent, where: Location) -> Scalar:
        word = event.value
        if control := _CONTROL.search(word):
            raise WorkloadError(
                f"a text with the control character U+{ord(control.group()):04X} (a line break is one)",
                where=where,
                hint="texts of a workload file are single lines without control characters",
            )
        # implicit[0] is the parser's mark of an unquoted word; quoted and block texts are texts.
        if not event.implicit[0]:
            return Scalar(where, 1, word, word)
        parent = self.stack[-1] if self.stack else None
        if not word and parent is not None and parent.mapping and len(parent.children) % 2:
            # The parser puts a missing value where the next one begins; its key says more.
            where = parent.children[-1].where
        try:
            return Scalar(where, 1, word, resolve(word))
        except Surprise as surprise:
            raise WorkloadError(surprise.message, where=where, hint=surprise.hint) from None

    def _alias(self, event: AliasEvent) -> Node:
        name = event.anchor
        if node := self.anchors.get(name):
            return node
        where = self._where(event)
        if any(opened.anchor == name for opened in self.stack):
            raise WorkloadError(f"the alias *{name} stands inside the value that it names", where=where)
        raise WorkloadError(f"the alias *{name} names no anchor &{name} above it", where=where)

    def _add(self, node: Node, anchor: str | None) -> None:
        self.total += node.count
        if self.total > MAX_NODES:
            raise WorkloadError(
                f"the file has more than {MAX_NODES:,} values, aliases written out",
                where=node.where,
                hint="use range, bins, prefix or all_range instead of long lists",
            )
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.root = node

    def _close(self) -> None:
        opened = self.stack.pop()
        children = opened.children
        # The children were counted as they came, the collection itself counts now.
        count = 1 + sum(child.count for child in children)
        self.total -= count - 1
        node: Node
        if opened.mapping:
            entries = tuple(zip(map(_key, children[::2]), children[1::2], strict=True))
            _check_unique(entries)
            node = Map(opened.where, count, entries)
        else:
            node = ListNode(opened.where, count, tuple(children))
        self._add(node, opened.anchor)


def _key(node: Node) -> Scalar:
    if not isinstance(node, Scalar) or not node.text:
        fail(node, f"a key must be a non-empty text, found {describe(node)}")
    if node.text == "<<":
        fail(node, "the merge key << is not part of YAML 1.2", "write the keys out")
    return node


def _check_unique(entries: tuple[tuple[Scalar, Node], ...]) -> None:
    first: dict[str, Scalar] = {}
    for key, _ in entries:
        if earlier := first.get(key.text):
            fail(
                key,
                f"the key '{key.text}' stands twice, first in line {earlier.where.line}",
                "rename or remove one of them",
            )
        first[key.text] = key
