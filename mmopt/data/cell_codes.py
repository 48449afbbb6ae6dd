"""The cell index of a row along one attribute, as an expression that the database evaluates.

A code below ``attribute.size`` is a cell. Three more codes tell apart what has no cell, so that one query
both fills the data vector and counts what does not fit:

=========  ============================================================================
size       outside: a value that the domain does not declare
size + 1   missing: NULL, an empty CSV field, or NaN where numbers are declared
size + 2   unreadable: text that is no number (no boolean, no date) where those are declared
=========  ============================================================================
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

from mmopt.data.spelled_values import bare, day_in, day_of_time, number_in
from mmopt.errors import DataError
from mmopt.workloads import Attribute, Bins
from mmopt.workloads.calendar_periods import date_of
from mmopt.workloads.encodings import TableValue

__all__ = [
    "MISSING",
    "OUTSIDE",
    "UNREADABLE",
    "Reading",
    "code_of",
    "declared_kinds",
    "reading_of",
    "shown_type",
    "typed",
]

OUTSIDE, MISSING, UNREADABLE = 0, 1, 2

#: From here on, doubles no longer tell neighbouring integers apart.
_EXACT = 2**53

#: Of the largest double with all decimals of a type: what rounding an edge to the type needs.
_DIGITS = 400

#: A day, or a day and a time of ISO 8601.
_DATE = (
    r"^\d{4}-\d{2}-\d{2}([T ]([01]\d|2[0-3])(:[0-5]\d(:([0-5]\d|60)([.,]\d+)?)?)?"
    r" ?(Z|UTC|[+-]\d{2}(:?\d{2})?)?)?$"
)


@dataclass(frozen=True)
class Reading:
    """One column seen as each kind of value that is declared; None where it cannot be."""

    text: Any
    number: Any  # or the day
    boolean: Any
    single: bool
    missing: Any
    unreadable: Any
    exact: Any = None  # whole numbers and decimals as they are stored: a double may round them over an edge

    def columns(self) -> dict[str, Any]:
        """What is there, by name."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name != "single" and getattr(self, f.name) is not None
        }

    def named(self, columns: Mapping[str, Any]) -> Reading:
        """The same by other expressions, of the names of ``columns()``."""
        return replace(self, **columns)


def code_of(attribute: Attribute, reading: Reading) -> Any:
    """An Ibis integer expression with the code of each row, of a reading of its column."""
    import ibis

    size = attribute.size
    branches = [(reading.missing, size + MISSING)]
    if reading.unreadable is not None:
        branches.append((reading.unreadable, size + UNREADABLE))
    encoding = attribute.encoding
    if isinstance(encoding, Bins):
        rest = _bin(reading, encoding, size + OUTSIDE)
    else:
        branches += [(_holds(reading, members), cell) for cell, members in enumerate(encoding.members)]
        rest = ibis.literal(size + OUTSIDE, "int64")
    code = ibis.cases(*((test, ibis.literal(code, "int64")) for test, code in branches), else_=rest)
    return code.cast("int64")


def reading_of(attribute: Attribute, column: Any, file: str) -> Reading:
    """One column seen as each kind of value that is declared.

    Parameters
    ----------
    column : Ibis column expression; text, integer, floating, decimal, boolean, date or timestamp. Of a time
        its day counts, of a text with a time zone the day as written. A timestamp with a time zone is no day
        before a zone is chosen, and is refused.
    file : path for messages.

    Raises
    ------
    DataError : the column's type can never hold what the attribute declares.
    """
    import ibis

    column = typed(column)
    kind = column.type()
    declared = _kinds(attribute)
    blank = column.isnull()
    if kind.is_string():
        number: Any = number_in(column)
        boolean: Any = bare(column).lower()
        missing, unreadable = blank, None
        if declared == {"numbers"}:
            missing = blank | number.isnan()
            unreadable = number.isnull()
        elif declared == {"dates"}:
            date = bare(column)
            number = day_in(date)
            unreadable = number.isnull() | ~date.re_search(_DATE)
        elif declared == {"booleans"}:
            unreadable = boolean.notin(["true", "false"])
        return Reading(column, number, boolean, False, missing, unreadable)
    if kind.is_boolean() and declared == {"booleans"}:
        return Reading(None, None, ibis.ifelse(column, "true", "false"), False, blank, None)
    if kind.is_integer() and not declared & {"booleans", "dates"}:
        return Reading(column.cast("string"), column.cast("float64"), None, False, blank, None, column)
    if (kind.is_floating() or kind.is_decimal()) and declared == {"numbers"}:
        number = column.cast("float64")
        # Decimals of any size, PostgreSQL's, may be NaN too.
        missing = blank | number.isnan() if kind.is_floating() or kind.scale is None else blank
        whole = column.cast("string") if kind.is_decimal() and kind.scale == 0 else None
        exact = column if kind.is_decimal() else None
        return Reading(whole, number, None, kind.is_float32(), missing, None, exact)
    if declared == {"dates"} and (kind.is_date() or (kind.is_timestamp() and not kind.timezone)):
        return Reading(None, day_of_time(column), None, False, blank, None)
    if kind.is_date() and declared == {"text"}:
        return Reading(column.cast("string"), None, None, False, blank, None)
    hint = "declare values of the column's type in the workload file, or convert the column first"
    if kind.is_boolean():
        hint = "declare {values: [false, true]} in the workload file"
    elif kind.is_timestamp() and kind.timezone and declared == {"dates"}:
        hint = "its day depends on the time zone: convert it first"
    elif (kind.is_date() or kind.is_timestamp()) and declared == {"numbers"}:
        hint = "declare bins of dates in the workload file: {bins: [2020-01-01, 2021-01-01]}"
    raise DataError(
        f"{file}: column '{attribute.column}' is of type {shown_type(kind)}; "
        f"attribute '{attribute.name}' declares {declared_kinds(attribute)}",
        hint=hint,
    )


def typed(column: Any) -> Any:
    """A column of a type: one of Parquet without any value has none, and is text."""
    return column.cast("string") if column.type().is_unknown() or column.type().is_null() else column


def shown_type(kind: Any) -> str:
    """An Ibis type for messages; without fields, which for a column of dictionaries are keys of the data."""
    return str(kind).partition("struct<")[0] + "struct" if "struct<" in str(kind) else str(kind)


def declared_kinds(attribute: Attribute) -> str:
    """The kinds of values that an attribute declares, in words: "numbers", "numbers and text"."""
    return " and ".join(sorted(_kinds(attribute)))


def _kinds(attribute: Attribute) -> set[str]:
    if isinstance(attribute.encoding, Bins):
        return {"dates" if attribute.encoding.dates else "numbers"}
    return {_kind(value) for members in attribute.encoding.members for value in members}


def _kind(value: TableValue) -> str:
    if isinstance(value, bool):  # before int: True is an int in Python
        return "booleans"
    return "text" if isinstance(value, str) else "numbers"


def _holds(reading: Reading, members: tuple[TableValue, ...]) -> Any:
    """Whether a row holds one of the declared values, each compared as its own kind."""
    import ibis

    tests: list[Any] = []
    text = [value for value in members if isinstance(value, str)]
    booleans = ["true" if value else "false" for value in members if isinstance(value, bool)]
    numbers = [v for v in members if isinstance(v, int | float) and not isinstance(v, bool)]
    large = [v for v in numbers if isinstance(v, int) and abs(v) >= _EXACT]
    small = [v for v in numbers if not (isinstance(v, int) and abs(v) >= _EXACT)]
    if reading.text is not None:
        # Large integers have one spelling and no exact double, so they are compared as text.
        text += [str(value) for value in large]
    else:
        # Of those only what a double is: 2^53 is not 2^53 + 1, though that rounds to it.
        small += [value for value in large if abs(value) < 2**1023 and float(value) == value]
    if text and reading.text is not None:
        tests.append(reading.text.isin(text))
    if booleans:
        tests.append(reading.boolean.isin(booleans))
    if small and reading.exact is not None and reading.exact.type().is_decimal():
        tests += [test for value in small if (test := _equals(reading.exact, value)) is not None]
    elif small:
        exact = [_single(value) if reading.single else float(value) for value in small]
        tests.append(reading.number.isin(exact))
    return functools.reduce(operator.or_, tests, ibis.literal(False))


def _bin(reading: Reading, bins: Bins, outside: int) -> Any:
    """The bin of a value that there is, by halves, so that few comparisons are made; or ``outside``."""
    import ibis

    edges = [edge for edge in bins.edges if math.isfinite(edge)]
    below, above = ([] if math.isinf(edge) else [outside] for edge in (bins.edges[0], bins.edges[-1]))
    codes = [*below, *range(bins.size), *above]  # of the values below each edge and not below the one before

    def among(low: int, high: int) -> Any:
        if low == high:
            return ibis.literal(codes[low], "int64")
        middle = (low + high) // 2
        is_below = _is_below(reading, edges[middle], bins)
        return ibis.ifelse(is_below, among(low, middle), among(middle + 1, high))

    return among(0, len(edges))


def _is_below(reading: Reading, edge: float, bins: Bins) -> Any:
    """Whether a value is below an edge, compared as it is stored."""
    import ibis

    if bins.dates:
        return reading.number < ibis.literal(date_of(edge))
    if reading.exact is None:
        return reading.number < (_single(edge) if reading.single else float(edge))
    least = _decimal(reading.exact, edge, ROUND_CEILING)
    return reading.exact < least if least is not None else ibis.literal(edge > 0)


def _equals(column: Any, value: float) -> Any:
    """Whether a decimal is a declared number, exactly; None where none of the column's type is."""
    same = _decimal(column, value, None)
    return None if same is None else column == same


def _decimal(column: Any, value: float, rounding: str | None) -> Any:
    """A number as it is written (0.1, not the double nearest to it) as a literal of a column's type: whole
    numbers or decimals. None where the type holds no such number, or none so large.

    rounding : ``ROUND_CEILING`` for the least of the type that is not below it, None for itself alone.
    """
    import ibis

    if not math.isfinite(value):  # which no whole number and no decimal is
        return None
    kind = column.type()
    scale = kind.scale if kind.is_decimal() else 0
    number = Decimal(int(value) if float(value).is_integer() else repr(float(value)))
    if scale is not None:
        with localcontext(prec=_DIGITS):
            fitted = number.quantize(Decimal(1).scaleb(-scale), rounding=rounding or ROUND_CEILING)
        if rounding is None and fitted != number:
            return None
        number = fitted
    if kind.is_integer():
        return ibis.literal(int(number), kind) if kind.bounds.lower <= number <= kind.bounds.upper else None
    if kind.precision is not None and abs(number) >= Decimal(1).scaleb(kind.precision - (scale or 0)):
        return None
    return ibis.literal(number, kind)


def _single(value: float) -> float:
    """The nearest value that a 32-bit column can hold: 0.1 stored there is not the double 0.1."""
    try:
        return float(struct.unpack("f", struct.pack("f", float(value)))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
