"""The cell of a row along one attribute, as an expression that the database evaluates.

A code below ``attribute.size`` is the index of a cell. ``STRAYS`` more codes tell apart what has no cell, so
that one query both fills the data vector and counts what does not fit:

=========  ============================================================================
size       outside: a value that the domain does not declare
size + 1   missing: NULL, a blank text, a word for missing, or NaN where numbers are declared
size + 2   unreadable: text that is no number (no boolean, no date) where those are declared
size + 3   usual: another word that often stands for a missing value, of ``USUAL_WORDS``
size + 4   header: the name of the column, as in a header that stands among the rows
size + 5…  spelled otherwise: a declared text but for what ``SPELLINGS`` names; then a number or a day of
           each of ``CONVENTIONS``, unreadable unless the file declares that one
=========  ============================================================================

A value that a cell lists is that value; all else is first compared with the words for missing, which are no
number and no day of a bin. All these tests compare with what the workload file declares; nothing that a row
holds leaves the engine.

Numbers and days in texts are read alike on every engine, whatever its own casts take. The grammar is that of
the embedded DuckDB: white space around, a sign, digits with a point and an exponent, or ``inf``, ``infinity``
and ``nan`` in any case. Spark's cast also takes ``1d``, and PostgreSQL's raises an error at a text that it
cannot read; on both a text is cast only if it matches the grammar. On PostgreSQL a text of over 1,000
characters, or with an exponent of over four digits, is no number, and a number nearer to 0 than 1e-307 is
read as 1e-307 with its sign.
"""

import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

import numpy as np

from mmopt.data.table_files_and_connections import DATA_FRAME, DICTIONARY, called, ibis, quoted, uncollated
from mmopt.errors import DataError
from mmopt.workloads import (
    Attribute,
    Bins,
    Categories,
    TableValue,
    date_of,
)

#: From this size on, whole numbers in a text are compared as text.
HUGE = 10**20
_MANTISSA = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"
_NUMBER = _MANTISSA + r"([eE][+-]?[0-9]+)?$"
_SHORT = r"([eE][+-]?0*[0-9]{1,2})?$"  # an exponent that leaves a number of few digits within doubles
_LONG = r"([eE][+-]?0*[0-9]{1,4})?$"  # one that PostgreSQL's decimals have room for
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"


def bare(text: Any) -> Any:
    """A column of text without the white space around it: spaces, tabs, ends of lines and pages."""
    # Ibis 12's ``strip`` on Spark removes the letters f and v, too: "false" becomes "alse".
    return text.re_replace(r"^\s+|\s+$", "") if _engine(text) == "pyspark" else text.strip()


def without_words(text: Any, null: Sequence[str]) -> Any:
    """A column of text, NULL where it is blank or a word for missing."""
    return ibis.ifelse(_is_among(uncollated(bare(text)), ["", *null]), ibis.null("string"), text)


def doubles_spelled(text: Any) -> Any:
    """A column of Ibis: the doubles that a column of text spells, NULL where it spells none."""
    if _engine(text) == "duckdb":
        # DuckDB reads 1_0 as 10 and +-1 as -1, which are no numbers; with a question mark they are not read.
        return text.replace("_", "?").replace("+-", "?").try_cast("float64")
    trimmed = bare(text)
    word = trimmed.lower()
    words = (
        (word.isin(["inf", "+inf", "infinity", "+infinity"]), ibis.literal(float("inf"))),
        (word.isin(["-inf", "-infinity"]), ibis.literal(float("-inf"))),
        (word.isin(["nan", "+nan", "-nan"]), ibis.literal(float("nan"))),
    )
    none = ibis.null("float64")
    if _engine(text) != "postgres":
        return ibis.cases((trimmed.re_search(_NUMBER), trimmed.try_cast("float64")), *words, else_=none)
    # PostgreSQL's casts raise above and below the range of doubles: only numbers within it are cast.
    short = (trimmed.length() <= 200) & trimmed.re_search(_MANTISSA + _SHORT)
    long = (trimmed.length() <= 1000) & trimmed.re_search(_MANTISSA + _LONG)
    return ibis.cases(
        (short, trimmed.cast("float64")),
        (long, _as_double(ibis.ifelse(long, trimmed, "0").cast("decimal"))),
        *words,
        else_=none,
    )


def large_in(text: Any, number: Any, largest: float) -> Any:
    """Numbers from 2^53 on that a column of text spells without an exponent, exactly; NULL for all others.

    number : the result of ``doubles_spelled``, which rounds them.
    largest : the largest size that they are compared with; where doubles are enough for it, returns None.
    """
    if largest < 2**53:
        return None
    is_large = (number.abs() >= 2.0**53) & (number.abs() < float(HUGE)) & ~text.re_search("[eE]")
    spelled = ibis.ifelse(is_large, bare(text), ibis.null("string"))
    return spelled.cast("decimal") if _engine(text) == "postgres" else spelled.try_cast("decimal(38, 18)")


def _as_double(number: Any) -> Any:
    """A decimal of any size as a double: infinite beyond the largest; nearer to 0 than 1e-307 as +-1e-307,
    and as 0 where it rounds to 0. PostgreSQL's cast raises where a decimal is out of range."""

    def power(exponent: int) -> Any:
        """A power of ten as a decimal."""
        return ibis.literal(f"1e{exponent}").cast("decimal")

    size = number.abs()
    limit = ibis.literal("1.7976931348623158e308").cast("decimal")
    is_negative = number < power(0) - power(0)  # 0 as a decimal
    is_inside = (size < limit) & (size > power(-307))
    return ibis.cases(
        (size >= limit, ibis.ifelse(is_negative, float("-inf"), float("inf"))),
        (is_inside, ibis.ifelse(is_inside, number, power(0)).cast("float64")),
        (size < ibis.literal("2.47e-324").cast("decimal"), 0.0),
        else_=ibis.ifelse(is_negative, -1e-307, 1e-307),
    )


def day_of_time(column: Any) -> Any:
    """The day of each date or timestamp, cut, never rounded."""
    kind = column.type()
    if kind.is_timestamp() and (kind.scale or 0) > 6:
        # DuckDB rounds nanoseconds to microseconds before it takes a day of them; printed they are cut.
        return column.strftime("%Y-%m-%d").cast("date")
    return column.cast("date")


def by_days(column: Any) -> Any:
    """A column of Parquet, with instants of nanoseconds cut to their days; others as they are.

    DuckDB takes the first and the last instant of nanoseconds for infinities, which Parquet does not have.
    """
    kind = column.type()
    if not (kind.is_timestamp() and kind.scale == 9):
        return column
    days = column.strftime("%Y-%m-%d").substitute({"-infinity": "1677-09-21", "infinity": "2262-04-11"})
    return days.cast("timestamp").name(column.get_name())


def day_in(text: Any) -> Any:
    """The days that the first ten characters of a column of text spell, NULL where they spell none."""
    first = text.substr(0, 10)
    if _engine(text) != "postgres":
        return first.try_cast("date")
    is_day = first.re_search(_DAY)
    safe = ibis.ifelse(is_day, first, "2000-01-01")
    year, month, day = (safe.substr(at, length).cast("int64") for at, length in ((0, 4), (5, 2), (8, 2)))
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = ibis.cases((month.isin([4, 6, 9, 11]), 30), (month != 2, 31), (is_leap, 29), else_=28)
    # The year 0 of ISO 8601 is 1 BC there.
    spelled = ibis.ifelse(year == 0, ibis.literal("0001") + safe.substr(4, 6) + ibis.literal(" BC"), safe)
    fits = is_day & (day <= days)
    return ibis.ifelse(fits, ibis.ifelse(fits, spelled, "2000-01-01").cast("date"), ibis.null("date"))


def _engine(column: Any) -> str:
    """The name of the backend that a column is computed on."""
    return str(column.get_backend().name)


# Beyond the cells: the code is ``attribute.size`` plus one of these, or, from the last on, one for each of
# ``SPELLINGS`` and of ``CONVENTIONS``.
OUTSIDE, MISSING, UNREADABLE, USUAL, HEADER, OTHERWISE = range(6)

#: Words that often stand for a missing value.
USUAL_WORDS = ("NA", "N/A", "n/a", "null", "NULL", "None", "nan", "-", ".", "?")


def _in_wholes(numbers: str, old: str, new: str) -> tuple[Callable[[str], str], Callable[[Any], Any]]:
    """A step of ``SPELLINGS``: replace a part of the texts that match ``numbers``."""
    return (
        lambda text: re.sub(old, new, text) if re.search(numbers, text) else text,
        lambda column: column.re_search(numbers).ifelse(column.re_replace(old, new), column),
    )


#: How a text may differ from a declared one, in words, each with the step that makes both alike: for texts,
#: and for columns. A step comes after those above it. Texts are alike where all steps make them equal.
SPELLINGS: Mapping[str, tuple[Callable[[str], str], Callable[[Any], Any]]] = {
    "blanks around": (lambda text: text.strip(" \t\n\r\v\f"), bare),
    "upper and lower case": (str.lower, lambda column: column.lower()),
    "a point and zeros after a whole number": _in_wholes(r"^[0-9]+\.0*$", r"\.0*$", ""),
    "zeros in front": _in_wholes("^[0-9]+$", "^0*", "0"),
}


def _iso(text: Any, month: int, day: int) -> Any:
    """Days with the year last, by the places of month and day, as days of ISO 8601 without a time."""
    parts = [text.re_extract("([0-9]+)[./]([0-9]+)[./]([0-9]+)", place) for place in (3, month, day)]
    return parts[0] + "-" + parts[1].lpad(2, "0") + "-" + parts[2].lpad(2, "0")


_TIME = "( +[0-9]{1,2}:[0-9]{2}[0-9:.,APMapm ]*)?$"

#: Ways to write a number or a day, declared by ``spelling``: the kind of its values; what such a text is, in
#: words; the pattern of these texts, counted by the first that they match; and how one becomes one that is
#: read. A decimal point needs no declaration, and is unreadable only where the decimal mark is a comma.
CONVENTIONS: Mapping[str, tuple[str, str, str, Callable[[Any], Any]]] = {
    "thousands commas": (
        "numbers",
        "a number with commas at thousands",
        r"^[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?$",
        lambda text: text.replace(",", ""),
    ),
    "thousands apostrophes": (
        "numbers",
        "a number with apostrophes at thousands",
        r"^[+-]?[1-9][0-9]{0,2}(['’][0-9]{3})+(\.[0-9]*)?$",
        lambda text: text.replace("'", "").replace("’", ""),
    ),
    "decimal comma": (
        "numbers",
        "a number with a decimal comma",
        r"^[+-]?(([1-9][0-9]{0,2}(\.[0-9]{3})+|[0-9]+)(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?$",
        lambda text: text.replace(".", "").replace(",", "."),
    ),
    "decimal point": (
        "numbers",
        "a number with a decimal point",
        _NUMBER,
        lambda text: text,
    ),
    "MM/DD/YYYY": (
        "dates",
        "a date such as 12/31/2020",
        "^(0?[1-9]|1[0-2])/[0-9]{1,2}/[0-9]{4}" + _TIME,
        lambda text: _iso(text, 1, 2),
    ),
    "DD/MM/YYYY": (
        "dates",
        "a date such as 31/12/2020",
        "^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}" + _TIME,
        lambda text: _iso(text, 2, 1),
    ),
    "DD.MM.YYYY": (
        "dates",
        "a date such as 31.12.2020",
        r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}" + _TIME,
        lambda text: _iso(text, 2, 1),
    ),
}

#: Codes of rows without a cell.
STRAYS = OTHERWISE + len(SPELLINGS) + len(CONVENTIONS)

#: The types unknown to Ibis 12 whose texts are values: DuckDB's whole numbers of over 64 bits, and NULLs.
_TEXTS = ("UINT128", "BIGNUM", "VARINT", '"NULL"')

#: DuckDB's instants of nanoseconds, unknown to Ibis 12, too.
_NANOSECONDS = "TIMESTAMPTZ_NS"

#: The types whose values attributes may declare, as ``is_string`` and so on name them.
_COUNTED = ("string", "boolean", "numeric", "date", "timestamp", "uuid")

#: By type, as ``is_array`` and so on name it: SQL with a value that can be counted in place of a column's.
_VALUES_OF = {
    "array": "{0}[1]",
    "json": "{0} ->> 'key'",
    "time": "extract(hour FROM {0})",
    "interval": "extract(epoch FROM {0})",
    "inet": "host({0})",
}

#: A day, or a day and a time of ISO 8601.
_DATE = (
    r"^\d{4}-\d{2}-\d{2}([T ]([01]\d|2[0-3])(:[0-5]\d(:([0-5]\d|60)([.,]\d+)?)?)?"
    r" ?(Z|UTC|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?)?$"
)


@dataclass(frozen=True)
class Reading:
    """One column as each kind of value that an attribute may declare; None for a kind that it cannot be."""

    text: Any  # uncollated, as is the boolean
    number: Any  # a double, or the day
    boolean: Any
    missing: Any
    unreadable: Any
    exact: Any = (
        None  # decimals and whole numbers, which a double may round over an edge; NULL: see ``number``
    )
    single: bool = False  # numbers of 32 bits
    written: Any = None  # the column of texts or whole numbers itself, for what no cell holds

    def columns(self) -> dict[str, Any]:
        """The expressions that are not None, by the names of their fields."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name != "single" and getattr(self, f.name) is not None
        }


def code_of(attribute: Attribute, reading: Reading, null: Sequence[str] = ()) -> Any:
    """An Ibis integer expression with the code of each row, from a reading of its column.

    null : words that stand for a missing value where no cell holds them.
    """
    encoding, words = attribute.encoding, _words(attribute, reading, null)
    stray = _stray(attribute, reading, words)
    members = () if isinstance(encoding, Bins) else encoding.members
    missing = ibis.literal(attribute.size + MISSING, "int64")
    return ibis.cases(
        (reading.missing, missing),
        *((test, missing) for test in words if null and isinstance(encoding, Bins)),
        *(() if reading.unreadable is None else ((reading.unreadable, stray),)),
        *((_holds(reading, values), ibis.literal(cell, "int64")) for cell, values in enumerate(members)),
        else_=_bin(reading, encoding, stray) if isinstance(encoding, Bins) else stray,
    ).cast("int64")


def _words(attribute: Attribute, reading: Reading, null: Sequence[str]) -> list[Any]:
    """The tests whether a row holds a blank or a word for missing: as a text, a number, a day."""
    written, kinds = reading.written, _kinds(attribute)
    is_text = written is not None and (null or _texts(attribute) or written.type().is_string())
    numbers = tuple(float(word) for word in null if re.search(_MANTISSA + _SHORT, word))
    days = [uncollated(reading.number.cast("string"))] if null and "dates" in kinds else []
    return [
        *([_is_among(uncollated(bare(written.cast("string"))), ["", *null])] if is_text else []),
        *([_holds(reading, numbers)] if numbers and "numbers" in kinds else []),
        *(_is_among(day, null) for day in days),
    ]


def _stray(attribute: Attribute, reading: Reading, words: Sequence[Any]) -> Any:
    """The code of a row that is not NULL and that no cell holds."""
    branches: list[tuple[Any, int]] = [(test, MISSING) for test in words]
    declared = _texts(attribute)
    if reading.written is not None and (declared or reading.written.type().is_string()):
        text = reading.written.cast("string")
        word = bare(text)
        branches.append((_is_listed(word, [attribute.column]), HEADER))
        for place, (of_text, of_column) in enumerate(SPELLINGS.values() if declared else ()):
            text, declared = of_column(text), list(map(of_text, declared))
            branches.append((_is_listed(text, declared), OTHERWISE + place))
        branches.append((_is_listed(word, USUAL_WORDS), USUAL))
        for place, (kind, _, pattern, read) in enumerate(CONVENTIONS.values(), OTHERWISE + len(SPELLINGS)):
            if {kind} == _kinds(attribute):
                is_value = kind == "numbers" or day_in(read(word)).notnull()  # 31.02.2023 is none
                branches.append((reading.unreadable & word.re_search(pattern) & is_value, place))
    if reading.unreadable is not None:
        branches.append((reading.unreadable, UNREADABLE))
    codes = [(test, ibis.literal(attribute.size + code, "int64")) for test, code in branches]
    outside = ibis.literal(attribute.size + OUTSIDE, "int64")
    return ibis.cases(*codes, else_=outside) if codes else outside


def loosened(attribute: Attribute, reading: Reading) -> tuple[Attribute, Reading]:
    """Both with texts made alike, so that a text counts as a declared one to which it is alike.

    As they are where texts of two cells are alike.
    """
    encoding = attribute.encoding
    if isinstance(encoding, Bins) or reading.written is None or not _texts(attribute):
        return attribute, reading
    members = tuple(tuple(dict.fromkeys(map(_alike, values))) for values in encoding.members)
    text = functools.reduce(
        lambda text, step: step[1](text), SPELLINGS.values(), reading.written.cast("string")
    )
    return replace(attribute, encoding=Categories(members)), replace(reading, text=uncollated(text))


def _alike(value: TableValue) -> TableValue:
    """A declared text after all steps of ``SPELLINGS``; another value as it is."""
    steps = SPELLINGS.values() if isinstance(value, str) else ()
    return functools.reduce(lambda text, step: step[0](text), steps, value)


def _texts(attribute: Attribute) -> list[str]:
    """The declared texts; none where those of two cells are alike."""
    members = () if isinstance(attribute.encoding, Bins) else attribute.encoding.members
    texts = [[value for value in values if isinstance(value, str)] for values in members]
    alike = [form for values in texts for form in set(map(_alike, values))]
    return list(itertools.chain(*texts)) if len(set(alike)) == len(alike) else []


def _is_listed(text: Any, words: Sequence[str]) -> Any:
    """Whether a text is one of these, for counts by kind: one literal is compiled faster than one a word."""
    # Ibis 12 looks for no column in a text on polars.
    return (
        text.isin(words)
        if _engine(text) == "polars"
        else ibis.literal("\x1f".join(["", *words, ""])).contains("\x1f" + text + "\x1f")
    )


def in_our_way(column: Any, kinds: Collection[str], spelling: str) -> Any:
    """A column; of texts with the numbers or days of the ``spelling`` as they are written here.

    kinds : which of ``numbers`` and ``dates`` are read.
    """
    for name, (kind, _, pattern, read) in CONVENTIONS.items():
        if name in spelling and kind in kinds and column.type().is_string():
            # Where 1.500 is 1500, another point would be read as a decimal one: with a question mark none is.
            column = (
                bare(column)
                .re_search(pattern)
                .ifelse(read(bare(column)), column.replace(".", "?") if name == "decimal comma" else column)
            )
    return column


def reading_of(attribute: Attribute, column: Any, file: str, spelling: str = "exact") -> Reading:
    """One column as each kind of value that the attribute declares.

    Parameters
    ----------
    spelling : which of ``CONVENTIONS`` numbers and days in texts are of.
    column : Ibis column expression; text, integer, floating, decimal, boolean, date, timestamp or UUID. A
        time counts as its day, a text with a time zone as the day that is written. A timestamp with a time
        zone has no day before a zone is declared, and without one is refused.
    file : path for messages.

    Raises
    ------
    DataError : the column's type can never hold what the attribute declares.
    """
    column = typed(column)
    kind = column.type()
    declared = _kinds(attribute)
    blank = column.isnull()
    exact: Any = None
    if kind.is_string() and declared != {"instants"}:
        ours = in_our_way(column, declared, spelling)
        number: Any = doubles_spelled(ours)
        boolean: Any = uncollated(bare(column).lower())
        missing, unreadable = blank, None
        if declared == {"numbers"}:
            missing = blank | number.isnan()
            unreadable = number.isnull()
        elif declared == {"dates"}:
            date = bare(ours)
            number = day_in(date)
            unreadable = number.isnull() | ~date.re_search(_DATE)
        elif declared == {"booleans"}:
            unreadable = ~_is_among(boolean, ["true", "false"])
        if "numbers" in declared:
            exact = large_in(ours, number, _largest(attribute))
        return Reading(uncollated(column), number, boolean, missing, unreadable, exact, written=column)
    if kind.is_boolean() and declared == {"booleans"}:
        return Reading(None, None, ibis.ifelse(column, "true", "false"), blank, None)
    if kind.is_integer() and not declared & {"booleans", "dates", "instants"}:
        return Reading(uncollated(column.cast("string")), None, None, blank, None, column, written=column)
    is_number = kind.is_floating() or kind.is_decimal()
    if is_number and declared == {"numbers"}:
        number = column.cast("float64")
        # PostgreSQL's decimals of any size may be NaN, too.
        missing = blank | number.isnan() if kind.is_floating() or kind.scale is None else blank
        number, exact = (None, column) if kind.is_decimal() else (number, None)
        return Reading(None, number, None, missing, None, exact, kind.is_float32())
    if is_number and declared == {"text"} and "".join(_texts(attribute)).isdigit():
        is_small = column.cast("float64").abs() < 2.0**53
        whole = ibis.ifelse(is_small, column, 0).cast("int64")
        written = ibis.ifelse(is_small & (whole == column), whole, ibis.null("int64"))
        missing = blank | column.isnan() if kind.is_floating() or kind.scale is None else blank
        return Reading(uncollated(written.cast("string")), None, None, missing, None, written=written)
    if declared == {"dates"} and (kind.is_date() or (kind.is_timestamp() and not kind.timezone)):
        return Reading(None, day_of_time(column), None, blank, None)
    if (kind.is_date() or kind.is_uuid()) and declared == {"text"}:
        return Reading(uncollated(column.cast("string")), None, None, blank, None, written=column)
    if declared == {"instants"} and is_instant(kind):
        if shown_type(kind) != _NANOSECONDS:
            return Reading(None, column, None, blank, None)
        # DuckDB takes the first and the last for infinities, which are no number of nanoseconds.
        end = ibis.ifelse(column.cast("string") == "-infinity", -(2**63) + 1, 2**63 - 1)
        return Reading(None, None, None, blank, None, called("epoch_ns", "int64", column).fill_null(end))
    hint = (
        uncounted_hint(column, attribute.column)
        or "declare values of the column's type in the workload file, or convert the column first"
    )
    in_python = hint.replace(" in the workload file", "")
    if file in (DATA_FRAME, DICTIONARY) and uncounted_hint(column, attribute.column):
        seconds = ": .dt.total_seconds() of a duration" if kind.is_interval() else ""
        in_python = f"count a text or a number made of it, in another column of the same table{seconds}"
    if declared == {"instants"}:
        hint = in_python = (
            "if the texts have an offset (Z, +01:00), make them timestamps with a time zone in a copy of "
            f"the table, in DuckDB with CAST({quoted(attribute.column)} AS timestamptz): without zone "
            "each day is that of the row's offset; if they have none, leave its zone out"
            if kind.is_string()
            else "leave its zone out: it is for instants, and days are read as they are written"
        )
    elif declared == {"dates"} and is_instant(kind):
        start = "its day depends on the time zone: write "
        hint = f"{start}'{attribute.name}: {{…, zone: Europe/Berlin}}'"
        in_python = f"{start}{{{attribute.name!r}: {{…, 'zone': 'Europe/Berlin'}}}}"
    elif kind.is_boolean():
        hint, in_python = "declare {values: [false, true]} in the workload file", "declare [False, True]"
    elif (kind.is_date() or kind.is_timestamp()) and declared == {"numbers"}:
        hint = "declare bins of dates in the workload file: {bins: [2020-01-01, 2021-01-01]}"
        in_python = "declare bins of dates: {'bins': ['2020-01-01', '2021-01-01']}"
    raise DataError(
        f"{file}: column '{attribute.column}' is of type {shown_type(kind)}; "
        f"attribute '{attribute.name}' declares {declared_kinds(attribute)}",
        hint=hint,
        in_python=in_python,
    )


def typed(column: Any) -> Any:
    """A column of a type that Ibis knows: text where it knows none, as of a column without any value."""
    kind = column.type()
    if kind.is_string() and _engine(column) == "postgres":  # Ibis 12 takes enums for texts, and casts none
        return called("text", "string", column)
    is_text = kind.is_null() or (kind.is_unknown() and shown_type(kind) in _TEXTS)
    return column.cast("string") if is_text else column


def is_instant(kind: Any) -> bool:
    """Whether values of a type are instants, whose days depend on a time zone."""
    return bool(kind.is_timestamp() and kind.timezone) or shown_type(kind) == _NANOSECONDS


def uncounted_hint(column: Any, name: str) -> str:
    """A hint on a column whose type no attribute can declare; empty for any other type."""
    kind = typed(column).type()
    if is_instant(kind) or any(getattr(kind, f"is_{one}")() for one in _COUNTED):
        return ""
    fits = (sql for one, sql in _VALUES_OF.items() if getattr(kind, f"is_{one}")())
    is_spark = _engine(column) == "pyspark"
    spark_sql = f"get(`{name}`, 0)" if kind.is_array() else f"CAST(`{name}` AS string)"
    sql = spark_sql if is_spark else next(fits, "CAST({0} AS text)").format(quoted(name))
    return f"count a value made of it, in a view or a copy of the table, for instance {sql}"


def shown_type(kind: Any) -> str:
    """A type for messages, without its fields: those of a column of dictionaries are keys in the data."""
    if kind.is_unknown():  # to Ibis
        return re.split("[(<]", str(kind.raw_type))[0]
    return str(kind).partition("struct<")[0] + "struct" if "struct<" in str(kind) else str(kind)


def declared_kinds(attribute: Attribute) -> str:
    """The kinds of values that an attribute declares, in words: "numbers", "numbers and text"."""
    return " and ".join(sorted(_kinds(attribute)))


def _kinds(attribute: Attribute) -> set[str]:
    """The kinds of values that an attribute declares."""
    if isinstance(attribute.encoding, Bins):
        bins = attribute.encoding
        return {"instants" if bins.zone else "dates" if bins.dates else "numbers"}
    return {_kind(value) for members in attribute.encoding.members for value in members}


def _largest(attribute: Attribute) -> float:
    """The largest size of a declared number, but for infinity; 0 where there is none."""
    encoding = attribute.encoding
    declared = encoding.edges if isinstance(encoding, Bins) else itertools.chain(*encoding.members)
    sizes = (abs(value) for value in declared if isinstance(value, int | float))
    return max((size for size in sizes if size != math.inf), default=0)


def _kind(value: TableValue) -> str:
    """The kind of a declared value: "booleans", "text" or "numbers"."""
    if isinstance(value, bool):  # before int: True is an int in Python
        return "booleans"
    return "text" if isinstance(value, str) else "numbers"


def _holds(reading: Reading, members: tuple[TableValue, ...]) -> Any:
    """Whether a row holds one of the declared values, each compared as its own kind."""
    tests: list[Any] = []
    text = [value for value in members if isinstance(value, str)]
    booleans = ["true" if value else "false" for value in members if isinstance(value, bool)]
    numbers = [v for v in members if isinstance(v, int | float) and not isinstance(v, bool)]
    huge = [v for v in numbers if isinstance(v, int) and abs(v) >= HUGE and reading.text is not None]
    text += [str(value) for value in huge]
    numbers = [v for v in numbers if v not in huge]
    if text and reading.text is not None:
        tests.append(_is_among(reading.text, text))
    if booleans:
        tests.append(_is_among(reading.boolean, booleans))
    if numbers:
        # A large number equals only the double that it is: 2^53 is not 2^53 + 1, which rounds to it.
        doubles = [_double(reading, v) for v in numbers if isinstance(v, float) or abs(v) < 2**1023]
        tests.append(
            _compared(
                reading,
                lambda exact: _is_among(
                    exact, [same for v in numbers if (same := _decimal(exact, v)) is not None]
                ),
                lambda number: _is_among(number, [least for least, is_same in doubles if is_same]),
            )
        )
    return functools.reduce(operator.or_, tests, ibis.literal(False))


def _is_among(column: Any, declared: Sequence[Any]) -> Any:
    """Whether a value is one of these; a column of texts may hold their bytes."""
    values = [one.encode() for one in declared] if column.type().is_binary() else declared
    return column == values[0] if len(values) == 1 else column.isin(values)  # DuckDB is faster at the former


def _compared(reading: Reading, exact: Callable[[Any], Any], double: Callable[[Any], Any]) -> Any:
    """A test of a row's number: the exact one where there is one, else the double."""
    if reading.exact is None or reading.number is None:
        return double(reading.number) if reading.exact is None else exact(reading.exact)
    return reading.exact.isnull().ifelse(double(reading.number), exact(reading.exact))


#: About how many edges of bins are compared one by one; those between two of them are counted in a list.
MOST_COMPARED = 64


def _bin(reading: Reading, bins: Bins, outside: Any) -> Any:
    """The bin of a value that is not missing, or ``outside``: by halves, so that few comparisons are made."""
    edges = [edge for edge in bins.edges if math.isfinite(edge)]
    # The codes below each edge and not below the one before are bins from ``first`` to ``last``.
    first = 0 if math.isinf(bins.edges[0]) else 1
    last = first + bins.size - 1
    # Each comparison takes long to write down. DuckDB alone counts edges in a list about as fast.
    listed = len(edges) // MOST_COMPARED
    if listed and _engine(next(iter(reading.columns().values()))) != "duckdb":
        listed = 0

    def among(low: int, high: int) -> Any:
        """The code of a value that is not below edge low - 1, and below edge high."""
        if low == high:
            return ibis.literal(low - first, "int64") if first <= low <= last else outside
        if high - low < listed and first <= low and high <= last:
            return _compared_with(edges[low:high], reading, bins, _up_to) + (low - first)
        middle = (low + high) // 2
        is_below = _compared_with(edges[middle : middle + 1], reading, bins, _is_below)
        return ibis.ifelse(is_below, among(low, middle), among(middle + 1, high))

    return among(0, len(edges))


def _compared_with(
    edges: Sequence[float], reading: Reading, bins: Bins, compare: Callable[[Any, list[Any]], Any]
) -> Any:
    """A comparison of the values, as they are stored, with the least of their type not below each
    edge; where the type holds none, whether the edge is above all that it holds."""
    instants = [bins.instant(edge) for edge in edges] if bins.zone else []

    def exact(column: Any) -> Any:
        wholes = [int(one.timestamp()) * 10**9 for one in instants] or edges
        least = ((_decimal(column, edge, ROUND_CEILING), edge > 0) for edge in wholes)
        return compare(column, [is_above if one is None else one for one, is_above in least])

    def double(column: Any) -> Any:
        days: Sequence[Any] = instants or [date_of(edge) for edge in edges if bins.dates]
        return compare(column, [*days] or [_double(reading, edge)[0] for edge in edges])

    return _compared(reading, exact, double)


def _is_below(column: Any, least: list[Any]) -> Any:
    """Whether a value is below an edge."""
    return ibis.literal(least[0]) if isinstance(least[0], bool) else column < ibis.literal(least[0])


def _up_to(column: Any, least: list[Any]) -> Any:
    """The number of edges, in ascending order, that a value is not below; on DuckDB."""
    values = [one.op().value if hasattr(one, "op") else one for one in least if not isinstance(one, bool)]
    texts = (f"{one:f}" if isinstance(one, Decimal) else str(one) for one in values)
    kind = ibis.expr.datatypes.Array(column.type())
    # One text is one literal, which DuckDB reads once. In descending order, those above the value come first.
    listed = ibis.literal(",".join(texts)).split(",").cast(kind) if values else ibis.literal([], kind)
    above = called("list_reverse_sort", kind, listed.concat(ibis.array([column]))).index(column)
    return len(values) + sum(one is False for one in least) - above


def _decimal(column: Any, value: float, rounding: str | None = None) -> Any:
    """A number as it is written (0.1, not the double nearest to it) as a literal of a column's type: whole
    numbers or decimals. None where the type holds no such number, or none so large.

    rounding : ``ROUND_CEILING`` for the least number of the type that is not below it, None for the number
        itself only.
    """
    if abs(value) == math.inf:  # which no whole number and no decimal is
        return None
    kind = column.type()
    scale = kind.scale if kind.is_decimal() else 0
    number = Decimal(int(value) if value == value // 1 else repr(float(value)))
    if scale is not None:
        with localcontext(prec=abs(number.adjusted()) + scale + 2):  # all digits
            fitted = number.quantize(Decimal(1).scaleb(-scale), rounding=rounding or ROUND_CEILING)
        if rounding is None and fitted != number:
            return None
        number = fitted
    if kind.is_integer():
        return ibis.literal(int(number), kind) if kind.bounds.lower <= number <= kind.bounds.upper else None
    if kind.precision is not None and abs(number) >= Decimal(1).scaleb(kind.precision - (scale or 0)):
        return None
    return ibis.literal(number, kind)


def _double(reading: Reading, value: float) -> tuple[float, bool]:
    """The least double of a reading that is not below a number, and whether it is that number.

    A number of 32 bits also equals the number that it is written as: 0.7, which is stored as 0.69999999.
    """
    kind: Any = np.float32 if reading.single else np.float64
    with np.errstate(all="ignore"):
        near = kind(value)
        around = (np.nextafter(near, kind(-np.inf)), near, np.nextafter(near, kind(np.inf)))
    least = next(one for one in around if max(float(one), float(str(one))) >= value)
    return float(least), value in (float(least), float(str(least)))
