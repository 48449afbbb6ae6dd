"""The text of a workload file, its values with their places, and small readers of them.

The file is read from disk, decoded, and split into lines that errors can point at. Nodes come from the event
stream of ruamel.yaml's parser (YAML 1.2) instead of ready-made objects: its marks give line, column and width
of every value, and depth and number of values are limited *while* reading, so that deep nesting and aliases
that multiply cost nothing. Anchors and aliases work; tags, merge keys and several documents are refused.

A reader takes a node as a text, a number, a list or a mapping of certain keys, or its error says why not.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeVar

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

from mmopt.errors import Location, TooLargeError, WorkloadError, counted, placed, suggest

Value = TypeVar("Value")

#: The word of a draft where something is to be filled in.
OPEN = "FILL-IN"


@dataclass(frozen=True)
class YamlNode:
    """A value of the file. ``count`` is the number of values in it, itself included, aliases written out."""

    where: Location
    count: int


@dataclass(frozen=True)
class Scalar(YamlNode):
    """A text, number, truth value or null. ``text`` is its spelling in the file, quotes removed."""

    text: str
    value: str | int | float | bool | None


@dataclass(frozen=True)
class ListNode(YamlNode):
    """A list."""

    items: tuple[YamlNode, ...]


@dataclass(frozen=True)
class Map(YamlNode):
    """A mapping; keys are unique."""

    entries: tuple[tuple[Scalar, YamlNode], ...]
    by_key: dict[str, YamlNode] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", {key.text: node for key, node in self.entries})

    def get(self, key: str) -> YamlNode | None:
        """The value of a key, or None."""
        return self.by_key.get(key)

    def read(self, key: str, reader: Callable[[YamlNode], Value], default: Value) -> Value:
        """The value of a key, through a reader; the default where there is none."""
        node = self.get(key)
        return default if node is None else reader(node)

    def key(self, name: str) -> Scalar:
        """The key itself, for its place."""
        return next(key for key, _ in self.entries if key.text == name)


def describe(node: YamlNode) -> str:
    """A node in words, for a message: "the text 'abc'", "the integer 3", "a list of 2"."""
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}" if node.items else "an empty list"
    if isinstance(node, Map):
        keys = [f"'{key.text}'" for key, _ in node.entries]
        return (
            f"a mapping with {', '.join(keys[:3])}{', …' if keys[3:] else ''}" if keys else "an empty mapping"
        )
    assert isinstance(node, Scalar)
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return f"the truth value {node.text}"
    if isinstance(node.value, str):
        return f"the text '{node.text[:57] + '…' if len(node.text) > 60 else node.text}'"
    return f"the {'integer' if isinstance(node.value, int) else 'number'} {node.text}"


def fail(node: YamlNode, message: str, hint: str = "") -> NoReturn:
    """Raise WorkloadError at a node."""
    raise WorkloadError(message, where=node.where, hint=hint)


def require(holds: object, node: YamlNode, message: str, hint: str = "") -> None:
    """Raise WorkloadError at a node unless a condition holds."""
    if not holds:
        fail(node, message, hint)


def too_large(node: YamlNode, message: str, hint: str = "") -> NoReturn:
    """Raise TooLargeError at a node."""
    raise TooLargeError(message, where=node.where, hint=hint)


def mapping(node: YamlNode, what: str) -> Map:
    """A mapping of any keys."""
    if not isinstance(node, Map):
        fail(node, f"{what} must be a mapping (key: value), found {describe(node)}")
    return node


def record(node: YamlNode, what: str, keys: Iterable[str], required: Iterable[str] = ()) -> Map:
    """A mapping with some of the ``keys``, and all of the ``required``."""
    fields = mapping(node, what)
    names = tuple(keys)
    for key, _ in fields.entries:
        if key.text not in names:
            fail(
                key,
                f"{what} has no key '{key.text}', expected {_either(names)}",
                _did_you_mean(key.text, names),
            )
    for name in required:
        if fields.get(name) is None:
            fail(node, f"{what} needs the key '{name}'", _has(fields))
    return fields


def one_of(fields: Map, what: str, names: tuple[str, ...]) -> str:
    """The one key among ``names`` that the mapping has."""
    present = [name for name in names if fields.get(name) is not None]
    require(present, fields, f"{what} needs one of the keys {', '.join(names)}", _has(fields))
    if len(present) > 1:
        fail(
            fields.key(present[1]),
            f"{what} has both '{present[0]}' and '{present[1]}', expected one of {', '.join(names)}",
        )
    return present[0]


def items(node: YamlNode, what: str, hint: str = "") -> tuple[YamlNode, ...]:
    """The items of a list that is not empty."""
    if not isinstance(node, ListNode):
        fail(node, f"{what} must be a list, found {describe(node)}", hint)
    if not node.items:
        fail(node, f"{what} must be a list with at least one item, found an empty list", hint)
    return node.items


def scalar(node: YamlNode, what: str) -> Scalar:
    """A text, number or truth value; not null."""
    if not isinstance(node, Scalar) or node.value is None:
        fail(node, f"{what} must be a single value, found {describe(node)}")
    return node


def text(node: YamlNode, what: str) -> str:
    """A text that is not empty."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        return node.value
    number_like = isinstance(node, Scalar) and node.value is not None and not isinstance(node.value, str)
    hint = f"write it in quotes: '{node.text}'" if isinstance(node, Scalar) and number_like else ""
    fail(node, f"{what} must be a text, found {describe(node)}", hint)


def number(node: YamlNode, what: str, finite: bool = True) -> float:
    """A number; NaN and infinities are refused, or left to the caller."""
    if not isinstance(node, Scalar) or isinstance(node.value, str | bool) or node.value is None:
        word = node.value.strip() if isinstance(node, Scalar) and isinstance(node.value, str) else "text"
        quoted = _INT.fullmatch(word) or _FLOAT.fullmatch(word)
        fail(node, f"{what} must be a number, found {describe(node)}", "remove the quotes" if quoted else "")
    if finite and not math.isfinite(node.value):
        fail(node, f"{what} must be a finite number, found {node.text}")
    value = float(node.value)
    if value != node.value and isinstance(node.value, int):
        fail(node, f"{what} is {node.text}, which a double cannot hold", f"the nearest is {int(value)}")
    return value


def integer(node: YamlNode, what: str) -> int:
    """An integer, written without a decimal point."""
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or not isinstance(node.value, int):
        fail(node, f"{what} must be an integer, found {describe(node)}")
    return node.value


def positive(node: YamlNode, what: str, hint: str = "") -> float:
    """A finite number > 0."""
    value = number(node, what)
    if value <= 0:
        assert isinstance(node, Scalar)
        fail(node, f"{what} must be greater than 0, found {node.text}", hint)
    return value


def read_choice(node: YamlNode, what: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if isinstance(node, Scalar) and isinstance(node.value, str):
        if node.value in choices:
            return node.value
        fail(
            node, f"{what} must be {_either(choices)}, found '{node.text}'", _did_you_mean(node.text, choices)
        )
    fail(node, f"{what} must be {_either(choices)}, found {describe(node)}")


def _either(names: tuple[str, ...]) -> str:
    """Names in words: "a, b or c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _did_you_mean(name: str, names: tuple[str, ...]) -> str:
    """A hint with the nearest name, for a message that lists the names already."""
    hint = suggest(name, names)
    return hint if hint.startswith("did") else ""


def _has(fields: Map) -> str:
    """A hint with the keys that a mapping has."""
    return f"it has {describe(fields).removeprefix('a mapping with ')}" if fields.entries else ""


#: Longest workload file in bytes: far above any written by hand, and read in seconds.
MAX_BYTES = 2 * 2**20

# YAML's own line breaks, so that our line numbers are those of the parser.
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# What YAML does not allow, and what shows a text in another order.
_NOT_PRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


@dataclass(frozen=True)
class YamlText:
    """A file's text and its lines."""

    file: str
    content: str
    lines: tuple[str, ...]

    @staticmethod
    def of(content: str, file: str) -> "YamlText":
        """Split into lines; WorkloadError for a character that YAML does not allow, or too long a text."""
        content = content.removeprefix("\ufeff")
        # Lines are shown in messages; a control character must not reach the terminal.
        text = YamlText(file, content, tuple(_BREAK.split(_NOT_PRINTABLE.sub("\ufffd", content))))
        if len(content) > MAX_BYTES:
            raise _too_large(file)
        if bad := _NOT_PRINTABLE.search(content):
            before = _BREAK.split(content[: bad.start()])
            raise WorkloadError(
                f"the character U+{ord(bad.group()):04X} is not allowed in a workload file",
                where=text.at(len(before) - 1, len(before[-1])),
                hint="remove it, or write it as an escape inside double quotes",
            )
        return text

    def at(self, line: int, column: int, width: int = 1) -> Location:
        """The place at a 0-based line and column; past the last text, the end of the last line with any."""
        if line >= len(self.lines) or (line == len(self.lines) - 1 and not self.lines[line]):
            filled = [i for i, text in enumerate(self.lines) if text.strip()]
            line = filled[-1] if filled else 0
            column = len(self.lines[line].rstrip())
        return Location(self.file, line + 1, column + 1, self.lines[line], max(1, width))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a workload file.

    Raises
    ------
    WorkloadError : missing, a folder, not readable, or longer than ``MAX_BYTES``.
    """
    file = Path(path)
    try:
        if file.is_dir():
            raise WorkloadError(f"'{file}' is a folder, expected a workload file (YAML)")
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise WorkloadError(f"there is no workload file '{file}'", hint=_nearby(file)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkloadError(f"the workload file '{file}' cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise _too_large(str(file))
    return data


def decode(data: bytes, file: str) -> str:
    """The text of UTF-8 bytes; WorkloadError for an archive, and at the first byte that is not UTF-8."""
    if data.startswith(b"PK\x03\x04"):
        raise WorkloadError(
            f"'{file}' is an archive, such as a saved result, expected a workload file (YAML)",
            hint="'mmopt verify RESULT WORKLOAD' takes the result first",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _BREAK.split(data[: error.start].decode("utf-8"))
        line = _BREAK.split(data[error.start : error.start + 200].decode("utf-8", errors="replace"))[0]
        raise WorkloadError(
            f"byte 0x{data[error.start]:02X} is not valid UTF-8",
            where=Location(
                file, len(before), len(before[-1]) + 1, _NOT_PRINTABLE.sub("\ufffd", before[-1] + line)
            ),
            hint="save the file as UTF-8 (it may be in Latin-1 or UTF-16 now)",
        ) from None


def _too_large(file: str) -> WorkloadError:
    """The error for a file of more than ``MAX_BYTES``."""
    return WorkloadError(
        f"the workload file '{file}' is longer than {MAX_BYTES // 2**20} MiB",
        hint="a workload file declares the domain and the queries; the data go into a table",
    )


def _nearby(file: Path) -> str:
    """A suggestion among the YAML files of the same folder."""
    try:
        names = [entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    except (OSError, ValueError):
        return ""
    return suggest(file.name, names) if len(names) <= 20 else ""


#: Deepest nesting of lists and mappings; the deepest form of the file needs about 8.
MAX_DEPTH = 20

#: Most values in a file; those of an alias count each time it is used.
MAX_NODES = 200_000


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CORE = "tag:yaml.org,2002:"  # what "!!" stands for

# The words of YAML's core schema that are no texts.
_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INF = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")

# A part of the parser's message, its meaning here, and a hint. The first that fits is used; "{line}" is the
# line where the parser began the construct that failed.
_MEANINGS = (
    ("found character '\\t'", "a tab character", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a ':' that starts a second value here",
        "a text with ': ' in it needs quotes; else check the indentation of this line and the one above",
    ),
    (
        "expected <block end>",
        "this line does not fit the indentation of the lines above",
        "entries of one list or mapping start in the same column",
    ),
    (
        "expected ',' or ']'",
        "the list opened with '[' in line {line} is not closed before this",
        "add ']' or ','",
    ),
    (
        "expected ',' or '}'",
        "the mapping opened with '{{' in line {line} is not closed before this",
        "add '}' or ','",
    ),
    ("found unexpected end of stream", "the quotes opened here are never closed", "close them"),
    (
        "could not find expected ':'",
        "a key without ':'",
        "write 'key: value'; several-line keys are not allowed",
    ),
    (
        "expected '<document start>'",
        "something after the end of the file's first value",
        "a workload file is one mapping with the keys domain and workload",
    ),
    ("incompatible YAML document", "another version of YAML is declared", "workload files are YAML 1.2"),
    (
        "found unknown escape character",
        "an escape that YAML does not know",
        "write the text in single quotes, where \\ is itself",
    ),
    ("that cannot start any token", "a character that cannot start a value", "write the text in quotes"),
)


def parse_tree(text: YamlText) -> YamlNode:
    """The root value of a YAML text; WorkloadError for anything but one plain YAML 1.2 document."""
    builder = _TreeBuilder(text)
    for event in _events(text):
        builder.take(event)
    if builder.root is None:
        raise WorkloadError(
            "the workload file is empty, expected the keys domain and workload", where=text.at(0, 0)
        )
    if builder.open:
        lines = {where.line: where.text.partition(" #")[0].strip() for where in builder.open}
        raise WorkloadError(
            f"'{OPEN}' is still to be filled in, in {counted(len(lines), 'line')}",
            where=builder.open[0],
            hint="\n".join(
                [
                    "'mmopt init' left it open: write what the comment next to it describes, in",
                    *(f"    line {line}: {written}" for line, written in lines.items()),
                ]
            ),
        )
    return builder.root


def _events(text: YamlText) -> Iterator[Event]:
    """The parser's events; WorkloadError where the text is not YAML."""
    end = 0, 0
    try:
        for event in YAML(typ="rt", pure=True).parse(text.content):
            end = event.end_mark.line, event.end_mark.column
            yield event
    except MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except (ValueError, OverflowError):  # of Python, which takes such a number for no character or integer
        raise WorkloadError(
            "not valid YAML: a number after this is too large, of an escape or a version",
            where=text.at(*end),
            hint="the last character is \\U0010FFFF; workload files are YAML 1.2",
        ) from None


@dataclass
class _Open:
    """A list or mapping that is not closed yet."""

    where: Location
    mapping: bool
    anchor: str | None
    children: list[YamlNode] = field(default_factory=list)


@dataclass
class _TreeBuilder:
    """The nodes made so far of the parser's events.

    ``root`` once it is closed, ``stack`` the lists and mappings around the next event, ``anchors`` the nodes
    by their names, ``total`` the number of values with aliases written out; ``open`` the places of the words
    that are still to be filled in.
    """

    text: YamlText
    root: YamlNode | None = None
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, YamlNode] = field(default_factory=dict)
    total: int = 0
    open: list[Location] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Add what an event begins, or close what it ends."""
        if isinstance(event, DocumentStartEvent):
            self._document(event)
        elif isinstance(event, AliasEvent):
            self._add(self._alias(event), None)
        elif isinstance(event, ScalarEvent | CollectionStartEvent):
            where = self._where(event)
            if event.tag is not None:
                raise WorkloadError(
                    f"the tag {str(event.tag).replace(_CORE, '!!')} is not allowed: a workload file has "
                    "plain values only",
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
        """The place of an event, as wide as its word on one line."""
        start, end = event.start_mark, event.end_mark
        one_line = isinstance(event, ScalarEvent | AliasEvent) and start.line == end.line
        return self.text.at(start.line, start.column, end.column - start.column if one_line else 1)

    def _document(self, event: DocumentStartEvent) -> None:
        """Refuse another version of YAML, and a second document."""
        where = self._where(event)
        if event.version is not None and tuple(event.version) != (1, 2):
            raise WorkloadError(
                f"YAML {'.'.join(map(str, event.version))} is declared, workload files are YAML 1.2",
                where=where,
            )
        if self.root is not None:
            raise WorkloadError(
                "a second document starts here, expected one workload in a file",
                where=where,
                hint="remove the line '---' or put the second part into a file of its own",
            )

    def _scalar(self, event: ScalarEvent, where: Location) -> Scalar:
        """The node of a word; one without quotes may be a number, a truth value or null."""
        word = event.value
        with placed(where):
            check_text(word)
        # implicit[0] is the parser's mark of an unquoted word; quoted and block texts are texts.
        if not event.implicit[0]:
            return Scalar(where, 1, word, word)
        if word == OPEN:
            self.open.append(where)
        parent = self.stack[-1] if self.stack else None
        if not word and parent is not None and parent.mapping and len(parent.children) % 2:
            # The parser puts a missing value where the next one begins; the place of its key says more.
            where = parent.children[-1].where
        with placed(where):
            return Scalar(where, 1, word, resolve(word))

    def _alias(self, event: AliasEvent) -> YamlNode:
        """The node that an alias stands for."""
        name = event.anchor
        if node := self.anchors.get(name):
            return node
        where = self._where(event)
        if any(opened.anchor == name for opened in self.stack):
            raise WorkloadError(f"the alias *{name} stands inside the value that it names", where=where)
        raise WorkloadError(f"the alias *{name} names no anchor &{name} above it", where=where)

    def _add(self, node: YamlNode, anchor: str | None) -> None:
        """Put a finished node into the list or mapping around it, or make it the root."""
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
        """Make a node of the innermost list or mapping."""
        opened = self.stack.pop()
        children = opened.children
        # The children were counted as they came, the collection itself counts now.
        count = 1 + sum(child.count for child in children)
        self.total -= count - 1
        node: YamlNode
        if opened.mapping:
            entries = tuple(zip(map(_key, children[::2]), children[1::2], strict=True))
            first: dict[str, Scalar] = {}
            for key, _ in entries:
                if earlier := first.get(key.text):
                    fail(
                        key,
                        f"the key '{key.text}' appears twice, first in {earlier.where.inside()}",
                        "rename or remove one of them",
                    )
                first[key.text] = key
            node = Map(opened.where, count, entries)
        else:
            node = ListNode(opened.where, count, tuple(children))
        self._add(node, opened.anchor)


def check_text(word: str) -> None:
    """Refuse a text with a control character (WorkloadError)."""
    if control := _CONTROL.search(word):
        raise WorkloadError(
            f"a text with the control character U+{ord(control.group()):04X} (a line break is one)",
            hint="texts of a workload file are single lines without control characters",
        )


def _key(node: YamlNode) -> Scalar:
    """The node as a key of a mapping: a text that is not empty."""
    if not isinstance(node, Scalar) or not node.text:
        fail(node, f"a key must be a non-empty text, found {describe(node)}")
    require(node.text != "<<", node, "the merge key << is not part of YAML 1.2", "write the keys out")
    return node


def resolve(word: str) -> str | int | float | bool | None:
    """The value of an unquoted word of the file, by YAML 1.2's core schema and nothing more.

    ``NO``, ``yes``, ``12:30`` and ``2001-01-01`` are texts. Where the schema's reading would surprise, the
    word is refused (WorkloadError) and the message says how to write it: ``01`` (a text or the integer 1?),
    integers beyond 64 bits, numbers beyond floating point.
    """
    if _NULL.fullmatch(word):
        return None
    if _BOOL.fullmatch(word):
        return word.lower() == "true"
    if _INT.fullmatch(word):
        return _integer(word)
    if _FLOAT.fullmatch(word):
        value = float(word)
        if math.isinf(value):
            raise WorkloadError(f"{word} is beyond the largest floating-point number, about 1.8e308")
        return value
    if infinite := _INF.fullmatch(word):
        return -math.inf if infinite.group(1) == "-" else math.inf
    return math.nan if _NAN.fullmatch(word) else word


def _integer(word: str) -> int:
    """The integer of a word that ``_INT`` matches; errors as ``resolve``."""
    if _LEADING_ZERO.fullmatch(word):
        plain = word.lstrip("+-").lstrip("0") or "0"
        raise WorkloadError(
            f"{word} starts with a zero: it would be read as the integer {plain}",
            hint=f"write '{word}' in quotes for the text, or {plain} for the number",
        )
    if len(word) <= 20:
        value = int(word, 0) if word[:2] in ("0o", "0x") else int(word)
        if -(2**63) <= value < 2**63:
            return value
    shown = word if len(word) <= 30 else f"{word[:20]}… ({len(word)} digits)"
    raise WorkloadError(
        f"the integer {shown} does not fit into 64 bits",
        hint="write it in quotes if it is a text, and with an exponent if it is a number: 1.8e19",
    )


def _syntax_error(error: MarkedYAMLError, text: YamlText) -> WorkloadError:
    """A WorkloadError at the place where the parser stopped."""
    problem = str(error.problem or error.context or "not YAML")
    mark = error.problem_mark or error.context_mark
    if "found unexpected end of stream" in problem:
        mark = error.context_mark  # the end of the file says nothing, the opening quotes do
    where = text.at(mark.line, mark.column) if mark is not None else text.at(0, 0)
    opened = error.context_mark.line + 1 if error.context_mark is not None else where.line
    for part, meaning, hint in _MEANINGS:
        if part in problem:
            return WorkloadError(f"not valid YAML: {meaning.format(line=opened)}", where=where, hint=hint)
    return WorkloadError(f"not valid YAML: {problem}", where=where)
