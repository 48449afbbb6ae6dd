"""A dataclass of numbers, texts, arrays and mappings as a JSON record and plain arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.numerics.components import Array

__all__ = ["are_equal", "pack", "unpack"]


def pack(fields: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
    """Split a mapping of fields: arrays (also inside mappings) by their path, the rest as JSON values."""
    record: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for name, value in fields.items():
        path = f"{prefix}{name}"
        if isinstance(value, np.ndarray):
            arrays[path] = value
            record[name] = {"array": path}
        elif isinstance(value, Mapping):
            inner, inner_arrays = pack(value, path + "/")
            record[name] = {"mapping": inner}
            arrays |= inner_arrays
        else:
            record[name] = list(value) if isinstance(value, tuple) else value
    return record, arrays


def are_equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two mappings of fields are packed alike: JSON values, and arrays entry by entry."""
    (mine, my_arrays), (theirs, their_arrays) = pack(one), pack(other)
    same = mine == theirs and my_arrays.keys() == their_arrays.keys()
    return same and all(np.array_equal(my_arrays[k], their_arrays[k]) for k in my_arrays)


def unpack(record: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """The fields that ``pack`` took apart; lists stay lists."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping) and set(value) == {"array"}:
            fields[name] = arrays[value["array"]]
        elif isinstance(value, Mapping) and set(value) == {"mapping"}:
            fields[name] = unpack(value["mapping"], arrays)
        else:
            fields[name] = value
    return fields
