"""The values of a YAML text, each with its place in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from mmopt.errors import Location, TooLargeError, WorkloadError

__all__ = ["ListNode", "Map", "Node", "Scalar", "describe", "fail", "too_large"]


@dataclass(frozen=True)
class Node:
    """A value of the file. ``count`` is the number of values in it, itself included, aliases written out."""

    where: Location
    count: int


@dataclass(frozen=True)
class Scalar(Node):
    """A text, number, truth value or null. ``text`` is how the file spells it, quotes removed."""

    text: str
    value: str | int | float | bool | None


@dataclass(frozen=True)
class ListNode(Node):
    """A list."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Map(Node):
    """A mapping; keys are unique."""

    entries: tuple[tuple[Scalar, Node], ...]
    by_key: dict[str, Node] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", {key.text: node for key, node in self.entries})

    def get(self, key: str) -> Node | None:
        """The value of a key, or None."""
        return self.by_key.get(key)

    def key(self, name: str) -> Scalar:
        """The key itself, for its place."""
        return next(key for key, _ in self.entries if key.text == name)


def describe(node: Node) -> str:
    """What was found, for a message: "the text 'abc'", "the integer 3", "a list of 2"."""
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


def fail(node: Node, message: str, hint: str = "") -> NoReturn:
    """Raise WorkloadError at a node."""
    raise WorkloadError(message, where=node.where, hint=hint)


def too_large(node: Node, message: str, hint: str = "") -> NoReturn:
    """Raise TooLargeError at a node."""
    raise TooLargeError(message, where=node.where, hint=hint)
