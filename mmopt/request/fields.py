"""Small readers: a node is a text, a number, a list or a mapping of known keys, or an error says why not."""

from __future__ import annotations

import math
from collections.abc import Iterable

from mmopt.errors import suggest
from mmopt.request.nodes import ListNode, Map, Node, Scalar, describe, fail

__all__ = [
    "integer",
    "items",
    "mapping",
    "number",
    "one_of",
    "positive",
    "read_choice",
    "record",
    "scalar",
    "text",
]


def mapping(node: Node, what: str) -> Map:
    """A mapping of any keys."""
    if not isinstance(node, Map):
        fail(node, f"{what} must be a mapping (key: value), found {describe(node)}")
    return node


def record(node: Node, what: str, known: Iterable[str], required: Iterable[str] = ()) -> Map:
    """A mapping with keys among ``known``, those of ``required`` among them."""
    found = mapping(node, what)
    names = tuple(known)
    for key, _ in found.entries:
        if key.text not in names:
            fail(
                key,
                f"{what} has no key '{key.text}', expected {_either(names)}",
                _did_you_mean(key.text, names),
            )
    for name in required:
        if found.get(name) is None:
            fail(node, f"{what} needs the key '{name}'", _has(found))
    return found


def one_of(found: Map, what: str, names: tuple[str, ...]) -> str:
    """The one key among ``names`` that the mapping has."""
    present = [name for name in names if found.get(name) is not None]
    if not present:
        fail(found, f"{what} needs one of the keys {', '.join(names)}", _has(found))
    if len(present) > 1:
        fail(
            found.key(present[1]),
            f"{what} has both '{present[0]}' and '{present[1]}', expected one of {', '.join(names)}",
        )
    return present[0]


def items(node: Node, what: str, hint: str = "") -> tuple[Node, ...]:
    """The items of a list that is not empty."""
    if not isinstance(node, ListNode):
        fail(node, f"{what} must be a list, found {describe(node)}", hint)
    if not node.items:
        fail(node, f"{what} must be a list with at least one item, found an empty list", hint)
    return node.items


def scalar(node: Node, what: str) -> Scalar:
    """A text, number or truth value; not null."""
    if not isinstance(node, Scalar) or node.value is None:
        fail(node, f"{what} must be a single value, found {describe(node)}")
    return node


def text(node: Node, what: str) -> str:
    """A text that is not empty."""
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        return node.value
    number_like = isinstance(node, Scalar) and node.value is not None and not isinstance(node.value, str)
    hint = f"write it in quotes: '{node.text}'" if isinstance(node, Scalar) and number_like else ""
    fail(node, f"{what} must be a text, found {describe(node)}", hint)


def number(node: Node, what: str, finite: bool = True) -> float:
    """A number; NaN and infinities are refused unless the caller does it."""
    if not isinstance(node, Scalar) or isinstance(node.value, str | bool) or node.value is None:
        quoted = isinstance(node, Scalar) and isinstance(node.value, str) and _is_number(node.value)
        fail(node, f"{what} must be a number, found {describe(node)}", "remove the quotes" if quoted else "")
    if finite and not math.isfinite(node.value):
        fail(node, f"{what} must be a finite number, found {node.text}")
    return float(node.value)


def integer(node: Node, what: str) -> int:
    """An integer, written without a decimal point."""
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or not isinstance(node.value, int):
        fail(node, f"{what} must be an integer, found {describe(node)}")
    return node.value


def positive(node: Node, what: str, hint: str = "") -> float:
    """A finite number > 0."""
    value = number(node, what)
    if value <= 0:
        assert isinstance(node, Scalar)
        fail(node, f"{what} must be greater than 0, found {node.text}", hint)
    return value


def read_choice(node: Node, what: str, choices: tuple[str, ...]) -> str:
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


def _did_you_mean(name: str, known: tuple[str, ...]) -> str:
    # The message lists what is known already.
    hint = suggest(name, known)
    return hint if hint.startswith("did") else ""


def _has(found: Map) -> str:
    return f"it has {describe(found).removeprefix('a mapping with ')}" if found.entries else ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
