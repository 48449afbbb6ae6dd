"""What an unquoted word of the file means: YAML 1.2's core schema, and nothing more.

``NO``, ``yes``, ``12:30`` and ``2001-01-01`` are texts. Where the schema's reading would surprise, the
word is refused and the message says how to write it: ``01`` (a text or the integer 1?), integers beyond
64 bits, numbers beyond floating point.
"""

from __future__ import annotations

import math
import re

__all__ = ["Surprise", "resolve"]

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INF = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")


class Surprise(Exception):
    """A word that is refused: what it is and how to write what was meant."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def resolve(word: str) -> str | int | float | bool | None:
    """The value of an unquoted word; Surprise for one that is refused."""
    if _NULL.fullmatch(word):
        return None
    if _BOOL.fullmatch(word):
        return word.lower() == "true"
    if _INT.fullmatch(word):
        return _integer(word)
    if _FLOAT.fullmatch(word):
        value = float(word)
        if math.isinf(value):
            raise Surprise(f"{word} is beyond the largest floating-point number, about 1.8e308", "")
        return value
    if infinite := _INF.fullmatch(word):
        return -math.inf if infinite.group(1) == "-" else math.inf
    if _NAN.fullmatch(word):
        return math.nan
    return word


def _integer(word: str) -> int:
    if _LEADING_ZERO.fullmatch(word):
        plain = word.lstrip("+-").lstrip("0") or "0"
        raise Surprise(
            f"{word} starts with a zero: it would be read as the integer {plain}",
            f"write '{word}' in quotes for the text, or {plain} for the number",
        )
    if len(word) <= 20:
        value = int(word, 0) if word[:2] in ("0o", "0x") else int(word)
        if -(2**63) <= value < 2**63:
            return value
    shown = word if len(word) <= 30 else f"{word[:20]}… ({len(word)} digits)"
    raise Surprise(f"the integer {shown} does not fit into 64 bits", "write it in quotes if it is a text")
