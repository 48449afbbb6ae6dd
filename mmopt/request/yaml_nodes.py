"""The values of a YAML text with their places, and small readers of them.

A reader takes a node as a text, a number, a list or a mapping of certain keys, or its error says why not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from mmopt.errors import Location, TooLargeError, WorkloadError, suggest

Value = TypeVar("Value")

OPEN = "FILL-IN"
"""The word of a draft where something is to be filled in."""


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
    if isinstance(node, Scalar) and node.value == OPEN:
        hint = f"{OPEN} is a place that 'mmopt init' left open: fill it in as the comment beside it says"
    raise WorkloadError(message, where=node.where, hint=hint)


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
    if not present:
        fail(fields, f"{what} needs one of the keys {', '.join(names)}", _has(fields))
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
        quoted = isinstance(node, Scalar) and isinstance(node.value, str) and _is_number(node.value)
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
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _did_you_mean(name: str, names: tuple[str, ...]) -> str:
    # The message lists the names already.
    hint = suggest(name, names)
    return hint if hint.startswith("did") else ""


def _has(fields: Map) -> str:
    return f"it has {describe(fields).removeprefix('a mapping with ')}" if fields.entries else ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
