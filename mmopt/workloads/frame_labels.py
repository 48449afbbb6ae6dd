"""Labels and entries of data frames, series and arrays. Their libraries are not imported.

A series or an array is taken as a list of labels where each stands once. One that repeats a label is data:
which labels occur in data is a fact of the data, and confidential, so that none are taken from it. A
categorical declares its labels (pandas ``CategoricalDtype``, polars ``Enum``), whatever data it holds. That
they come from a code book, and not from the data as ``astype("category")`` takes them, is for the caller to
see to.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.workloads.domain import Attribute, Domain, Values

__all__ = ["Frame", "Plain", "check_labels", "is_frame", "listed", "plain_value"]

Plain = str | int | float | bool | None


def plain_value(value: object) -> Plain:
    """A text, number, truth value or None, as Python's own type; a date is its ISO text.

    Raises
    ------
    WorkloadError : anything else; a date with a time of day.
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, datetime.datetime):
        return _date_of(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    kind = type(value).__name__
    hint = "taken are texts, numbers, True, False, None, dates, and lists and dictionaries of them"
    if kind == "Interval":
        hint = "write the edges of half-open intervals: {'bins': [0, 18, 65]} means [0, 18), [18, 65)"
    raise WorkloadError(f"a value of type {kind} means nothing here", hint=hint)


def _date_of(value: datetime.datetime) -> str | None:
    if value != value:  # pandas' NaT
        return None
    if value.time() != datetime.time() or value.tzinfo is not None:
        hint = "cells of dates are whole days: pass datetime.date values or texts as '2026-01-31'"
        raise WorkloadError("a date with a time of day or a time zone means nothing here", hint=hint)
    return value.date().isoformat()


def listed(value: Any, most: int) -> Sequence[object] | None:
    """The items of a list, tuple, range, series, index or array, the labels of a categorical; else None.

    Raises
    ------
    WorkloadError : a series or an array that holds a value twice. TooLargeError : more than ``most`` items.
    """
    if isinstance(value, list | tuple | range):
        _check_length(value, most)
        return value
    declared = getattr(getattr(value, "dtype", value), "categories", None)
    # polars' Categories, of a Categorical, has no length: it grows with whatever data are read.
    if isinstance(declared, Iterable) and isinstance(declared, Sized):
        return list(declared)
    if not hasattr(value, "dtype") or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return None
    _check_length(value, most)
    items = list(value)
    if all(isinstance(item, Hashable) for item in items) and len(set(items)) < len(items):
        raise WorkloadError(
            f"a {type(value).__name__} that holds a value twice is data, no list of labels",
            hint="which labels occur in data is confidential: write them as a list, or as a categorical with "
            "declared categories (pandas.CategoricalDtype, polars.Enum)",
        )
    return items


def _check_length(value: Any, most: int) -> None:
    if len(value) > most:
        raise TooLargeError(
            f"a {type(value).__name__} of more than {most:,} values",
            hint="use range, bins, prefix or all_range instead of long lists",
        )


def is_frame(value: object) -> bool:
    """Whether this is a data frame: it has columns, and can become an array."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame of queries × cells. names : of the queries, or (). domain : its columns, one cell each."""

    entries: npt.NDArray[Any]
    names: tuple[str, ...]
    domain: Domain

    @staticmethod
    def read(frame: Any) -> Frame:
        """The entries of a frame, its index as names of queries and its columns as cells.

        The attribute is called as the columns are (pandas ``columns.name``), or "cell". An index that only
        counts 0, 1, … (and polars has none) gives no names.

        Raises
        ------
        WorkloadError : no column, a column label that stands twice, or a label of no plain type.
        """
        columns = tuple(_label(label) for label in frame.columns)
        name = str(getattr(frame.columns, "name", None) or "cell")
        texts = tuple(_text(label) for label in columns)
        entries = frame.to_numpy()
        if entries.dtype == object and all(isinstance(e, Real | np.bool_) for e in entries.flat):
            entries = entries.astype(np.float64)  # columns of several types, numbers all of them
        domain = Domain((Attribute(name, texts, encoding=Values(columns)),))
        return Frame(entries, _names(getattr(frame, "index", None)), domain)


def check_labels(values: object, names: Sequence[str], what: str) -> None:
    """WorkloadError for a series whose index is not that of the queries, as pandas would align it."""
    index = getattr(values, "index", None)
    if not names or index is None or callable(index):
        return
    found = _names(index)
    if found and found != tuple(names):
        kind = "the same labels in another order" if set(found) == set(names) else "other labels"
        raise WorkloadError(
            f"the {what}s have {kind} than the queries", hint=f"pass {what}s.reindex(queries.index)"
        )


def _names(index: Any) -> tuple[str, ...]:
    is_count = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return () if index is None or is_count else tuple(_text(_label(label)) for label in index)


def _label(label: object) -> str | int | float | bool:
    if isinstance(label, tuple):  # of an index of several levels
        return ", ".join(_text(_label(part)) for part in label)
    value = plain_value(label)
    if value is None or value == "":
        raise WorkloadError("a query or a cell of the frame has an empty label")
    return value


def _text(label: str | float | bool) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)
