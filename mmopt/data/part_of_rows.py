"""The rows with one value of a column: a part of a table, which no other part shares a row with."""

from __future__ import annotations

import hashlib
from typing import Any

from mmopt.data.cell_codes import shown_type, typed
from mmopt.data.engine import hash_of
from mmopt.errors import DataError

__all__ = ["Part", "is_in_part"]

Part = tuple[str, str]
"""A column, and its value as a text."""


def is_in_part(column: Any, table: str, part: Part) -> Any:
    """An Ibis boolean expression: whether the text of a row's value is that of the part, byte by byte.

    By its SHA-256, as databases may hold a column for which ``f`` equals ``F``: then a row would be in two
    parts. NULL is in none.

    Raises
    ------
    DataError : a column of neither texts nor whole numbers; others have several texts for a value.
    """
    column = typed(column)
    kind = column.type()
    if not (kind.is_string() or kind.is_integer()):
        raise DataError(
            f"{table}: column '{part[0]}' is of type {shown_type(kind)}, and a partition is by texts or "
            "whole numbers",
            hint="make a column of texts of it in every copy of the table",
        )
    text = column if kind.is_string() else column.cast("string")
    return (hash_of(text) == hashlib.sha256(part[1].encode()).hexdigest()).fill_null(False)
