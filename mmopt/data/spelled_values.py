"""Numbers and days that a text spells: the same on every engine, whatever its own casts take.

The grammar is that of the embedded DuckDB: white space around, a sign, digits with a point and an exponent,
or ``inf``, ``infinity`` and ``nan`` in any case. Spark's cast also takes ``1d``, and PostgreSQL's stops at
what it cannot read; there a text is cast only after it was found to be of the grammar. On PostgreSQL a number
of over 1,000 characters, or with an exponent of over four digits, is none, and one nearer to 0 than 1e-307 is
that, of its sign.
"""

from __future__ import annotations

from typing import Any

__all__ = ["HUGE", "bare", "by_days", "day_in", "day_of_time", "large_in", "number_in"]

#: From here on, whole numbers of a text are compared as text.
HUGE = 10**20
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_SHORT = r"([eE][+-]?0*[0-9]{1,2})?$"
_LONG = r"([eE][+-]?0*[0-9]{1,4})?$"
_MANTISSA = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"

_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"


def bare(text: Any) -> Any:
    """A column of text without the white space around it: spaces, tabs, ends of lines and pages."""
    # What Ibis 12 writes for Spark takes the letters f and v for white space, too: "false" becomes "alse".
    return text.re_replace(r"^\s+|\s+$", "") if _engine(text) == "pyspark" else text.strip()


def number_in(text: Any) -> Any:
    """The numbers that a column of text spells, NULL where it spells none."""
    if _engine(text) == "duckdb":
        # DuckDB reads 1_0 as 10 and +-1 as -1, which are no numbers; nor is anything with what is put there.
        return text.replace("_", "?").replace("+-", "?").try_cast("float64")
    import ibis

    own = bare(text)
    word = own.lower()
    words = (
        (word.isin(["inf", "+inf", "infinity", "+infinity"]), ibis.literal(float("inf"))),
        (word.isin(["-inf", "-infinity"]), ibis.literal(float("-inf"))),
        (word.isin(["nan", "+nan", "-nan"]), ibis.literal(float("nan"))),
    )
    none = ibis.null("float64")
    if _engine(text) != "postgres":
        return ibis.cases((own.re_search(_NUMBER), own.try_cast("float64")), *words, else_=none)
    # Its casts raise beyond the range of doubles, in both directions: only what is within is cast.
    short = (own.length() <= 200) & own.re_search(_MANTISSA + _SHORT)
    long = (own.length() <= 1000) & own.re_search(_MANTISSA + _LONG)
    return ibis.cases(
        (short, own.cast("float64")),
        (long, _clamped(ibis.ifelse(long, own, "0").cast("decimal"))),
        *words,
        else_=none,
    )


def large_in(text: Any, number: Any, largest: float) -> Any:
    """Numbers from 2^53 on that a column of text spells without an exponent, exactly; NULL for all others.

    number : of ``number_in``, which rounds them.
    largest : of the sizes that they are compared with; None is returned where doubles will do.
    """
    import ibis

    if largest < 2**53:
        return None
    is_large = (number.abs() >= 2.0**53) & (number.abs() < float(HUGE)) & ~text.re_search("[eE]")
    spelled = ibis.ifelse(is_large, bare(text), ibis.null("string"))
    return spelled.cast("decimal") if _engine(text) == "postgres" else spelled.try_cast("decimal(38, 18)")


def _clamped(number: Any) -> Any:
    """A decimal of any size as a double: infinite beyond the largest, of its sign below the least."""
    import ibis

    def power(exponent: int) -> Any:
        return ibis.literal(f"1e{exponent}").cast("decimal")

    size = number.abs()
    limit = ibis.literal("1.7976931348623158e308").cast("decimal")
    is_negative = number < power(0) - power(0)
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

    DuckDB takes the first and the last of nanoseconds for infinities, which Parquet does not have.
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
    import ibis

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
