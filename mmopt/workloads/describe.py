"""Plain data that determines an array, a number or a domain exactly, for hashes."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import numpy.typing as npt

from mmopt.workloads.domain import Categories, Domain, Values

__all__ = ["describe_array", "describe_domain", "describe_number", "digest"]


def describe_number(value: float) -> str:
    """The exact value, as hexadecimal digits; minus zero counts as zero."""
    return (float(value) + 0.0).hex()


def describe_array(array: npt.ArrayLike) -> list[object]:
    """Shape and SHA-256 of the values as little-endian doubles in row-major order."""
    values = np.ascontiguousarray(np.asarray(array, dtype="<f8") + 0.0)
    return [list(values.shape), hashlib.sha256(values.tobytes()).hexdigest()]


def describe_domain(domain: Domain) -> list[object]:
    """Plain data that determines a domain; names of groups do not matter."""
    described: list[object] = []
    for attribute in domain.attributes:
        encoding = attribute.encoding
        if isinstance(encoding, Values):
            cells: object = ["values", [_describe_value(value) for value in encoding.values]]
        elif isinstance(encoding, Categories):
            cells = ["categories", [[_describe_value(v) for v in member] for member in encoding.members]]
        else:
            cells = ["bins", [describe_number(edge) for edge in encoding.edges]]
        # Without a rule rows are refused when they are counted.
        rules = [attribute.column, attribute.outside or "refuse", attribute.missing or "refuse"]
        described.append([attribute.name, list(attribute.labels), cells, rules])
    return described


def digest(description: object) -> str:
    """SHA-256, hexadecimal, of plain data (lists, dicts, text, numbers)."""
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _describe_value(value: str | int | float | bool) -> list[object]:
    return [type(value).__name__, describe_number(value) if isinstance(value, float) else value]
