"""Whether the fields of a saved result are of the kinds that the dataclass declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.errors import ResultError
from mmopt.results.by_component import KINDS
from mmopt.results.status import GRADES

__all__ = ["check_kinds"]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiu"


def _is_value(value: Any) -> bool:
    """An array, or a matrix or vector by component, whose fields its own reader checks."""
    return _is_array(value) or (isinstance(value, Mapping) and value.get("kind") in KINDS)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or _is_number(value)


def _or_none(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or inner(value)


def _mapping(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(inner, value.values()))


def _several(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(inner, value))


# How a field is annotated -> whether a value fits.
_KINDS: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "str": _is_text,
        "bool": lambda value: isinstance(value, bool),
        "int": _is_whole,
        "float": _is_number,
        "Grade": lambda value: value in GRADES,
        "Grade | None": lambda value: value is None or value in GRADES,
        "float | None": _or_none(_is_number),
        "Array": _is_array,
        "Array | None": _or_none(_is_array),
        "Mapping[str, Array]": _mapping(_is_array),
        "Value": _is_value,
        "Value | None": _or_none(_is_value),
        "Mapping[str, Value]": _mapping(_is_value),
        "Mapping[str, float]": _mapping(_is_number),
        "Mapping[str, float | int | bool | str | None]": _mapping(_is_plain),
        "tuple[str, ...]": _several(_is_text),
        "tuple[Mapping[str, float], ...]": _several(_mapping(_is_number)),
        "Mapping[str, Solution]": _mapping(lambda value: isinstance(value, Mapping)),
        # Read by the classes themselves.
        "Status": lambda value: isinstance(value, Mapping),
        "AnyStrategy": lambda value: isinstance(value, Mapping),
    }
)


def check_kinds(fields: Mapping[str, Any], annotations: Mapping[str, str]) -> None:
    """Raise :class:`~mmopt.errors.ResultError` at the first field that is not what its annotation says.

    A field without a value is left to the dataclass; an annotation without a row above is a KeyError.
    """
    for name, annotation in annotations.items():
        if name in fields and not _KINDS[annotation](fields[name]):
            found = type(fields[name]).__name__
            raise ResultError(f"its field '{name}' is a {found}, expected {annotation}")
