"""The values that the name of a part may spell.

One value has one account, however a copy of the table writes it. Each spelling has readings: the values that
a copy may mean by it. Two spellings that share a reading may name the same rows, and a cost of one counts for
the other, too. Two values that are taken for one count too much, which is safe; never too little. A text is
read as

- a truth value: true, t, yes, y, on, 1 and false, f, no, n, off, 0;
- a number: with a point or a comma before its decimals, thousands set apart (``1 000``, ``1'000``, ``1,000``,
  which may also be 1), an exponent, a fraction (``½``, ``1 1/2``), or in percent; in 15 digits, since
  spreadsheets keep so many and round the others or cut them off;
- a day or a moment: the year first, or the day or the month first and a year of four digits, the month in
  digits or by its English name; or ``20200101``, or ISO's weeks; with a time of 24 or of 12 hours and a zone;
  as written and in UTC; a day is midnight, a month (``2020-01``) its first day, 24:00 also the day after;
- a time of day: as one of the first day of 1900;
- otherwise itself.

Letters are compared without case, width and composition (Unicode's NFKD, case folded); digits, dashes and
quotes have one spelling; spaces and invisible characters do not count. Not recognised as one value: codes and
names, years of two digits, other languages, quarters, rounded numbers of fewer digits, epochs.
"""

import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

# Characters without a shape of their own.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Dashes, quotes, slashes and commas, each with the common one.
_ALIKE = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc\u0060\u00b4\u2032\u066c"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d"), '"'),
    **dict.fromkeys(map(ord, "\u2044\u2215"), "/"),
    ord("\u066b"): ",",
}
_TRUTH = dict.fromkeys(("true", "t", "yes", "y", "on"), "1") | dict.fromkeys(
    ("false", "f", "no", "n", "off"), "0"
)
_FRACTION = re.compile(r"^([+-]?) ?(?:(\d+) )?(\d+)/(0*[1-9]\d*)$")
# A mark between digits, one of {0}, that may set thousands apart; with two digits also Indian lakhs.
_THOUSANDS = r"(?<=\d)[{0}](?=(?:\d{{2,3}}[{0}])*\d{{3}}(?!\d))"
_DATE = re.compile(r"(\d{1,4})[-./ ](\d{1,2})[-./ ](\d{1,4})(?![-./\d])")
_TIME = re.compile(r"^(\S+?)[t ](\d{1,2})(?!\d)(:\d\d[\d:.,]*)?\s*(?:([ap])\.?m\.?)?\s*")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# A date with the name of its month: a day or a year before it, a day or a year, or both, after it.
_NAMED = re.compile(
    rf"^(?:(\d{{1,4}})[-./ ]*)?({_MONTHS})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?(?![a-z])[-./, ]*"
    r"(?:(\d{1,2})[-./, ]+)?(\d{1,4}(?!\d))?"
)
_CUT, _ROUNDED = (Context(prec=15, rounding=way) for way in (ROUND_DOWN, ROUND_HALF_UP))


def readings(value: str) -> frozenset[str]:
    """The values that a copy of the table may mean by this text, each in one spelling; at least one."""
    # NFKC makes 11/2 of 1½.
    apart = "".join(
        f" {c}" if len(unicodedata.normalize("NFKC", c)) > 1 and unicodedata.category(c) == "No" else c
        for c in value
    )
    text = _FRACTION.sub(_in_decimals, " ".join(_folded(apart).split()))
    bare = text.replace(" ", "")
    bare = _TRUTH.get(bare, bare)
    return frozenset(_numbers(bare) | _moments(text) or {bare})


def _folded(text: str) -> str:
    """The text in one spelling of letters, digits, dashes and quotes, without invisible characters."""
    for _ in range(2):  # the case folded of a text in NFKD may not be in NFKD, and the other way round
        text = unicodedata.normalize("NFKD", text.translate(_ALIKE)).casefold()
    visible = (c for c in _UNSEEN.sub("", text) if c.isspace() or unicodedata.category(c) not in ("Cf", "Cc"))
    with_digits = "".join(str(unicodedata.decimal(c, c)) for c in visible)
    return unicodedata.normalize("NFC", with_digits).translate(_ALIKE).replace("i\u0307", "i")


def _in_decimals(match: re.Match[str]) -> str:
    """The fraction that ``_FRACTION`` matches, with more decimals than can be thousands."""
    return f"{match[1]}{int(match[2] or 0) + int(match[3]) / int(match[4]):.40f}"


def _numbers(text: str) -> set[str]:
    """The numbers that a text spells, with a point before decimals and with a comma; empty for no number."""
    numbers = set()
    for mark, others in ((".", ",'_"), (",", ".'_")):
        spelled = re.sub(_THOUSANDS.format(others), "", text).replace(mark, ".")
        try:
            double = float(spelled.removesuffix("%")) / (100.0 if "%" in spelled else 1.0)
        except ValueError:  # no number
            continue
        numbers.add(f"{double + 0.0:.15g}")
        if math.isfinite(double) and double:
            number = Decimal(spelled.removesuffix("%")).scaleb(-2 if "%" in spelled else 0)
            numbers |= {f"{each:.15g}" for each in map(float, _in_15_digits(number))}
    return numbers


def _in_15_digits(number: Decimal) -> set[Decimal]:
    """The number in 15 digits, cut off and rounded; and the next below, where rounding up may give it."""
    size = abs(number)
    candidates = {_CUT.plus(size), _ROUNDED.plus(size)}
    below = _CUT.next_minus(size)
    if size in candidates and (size > 10**15 or below % 1):  # whole numbers up to 10^15 are exact
        candidates.add(below)
    return {each.copy_sign(number) for each in candidates}


def _moments(text: str) -> set[str]:
    """The moments that a text spells, in ISO 8601 without zone: as written and in UTC; a day is midnight."""
    text = _NAMED.sub(_year_first, re.sub(" ?([-./]) ?", r"\1", text))
    text = re.sub(r"^(\d{4}-\d{1,2})$", r"\1-1", text)
    text = re.sub(r"^(?=\d{1,2} ?(:\d\d|[ap]\.?m))", "1900-1-1 ", text)
    date, spelled, moments = _DATE.match(text), [text], set()
    if date is not None:
        orders = (date.group(*order) for order in ((1, 2, 3), (3, 2, 1), (3, 1, 2)))
        days = [f"{year}-{month:0>2}-{day:0>2}" for year, month, day in orders if len(year) == 4]
        spelled = [day + text[date.end() :] for day in days]
    for each in spelled:
        time, zoned = _TIME.match(each), re.sub("utc|gmt", "z", _TIME.sub(_in_24_hours, each))
        try:
            moment = datetime.fromisoformat(zoned.upper())
            in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
            day_after = timedelta(days=1 if time and time[2] == "24" else 0)
            meant = (moment, moment + day_after, in_utc, in_utc + day_after)
            moments |= {one.replace(tzinfo=None).isoformat() for one in meant}
        except (ValueError, OverflowError):  # no day, or one beyond the calendar
            continue
    return moments


def _year_first(match: re.Match[str]) -> str:
    """The date that ``_NAMED`` matches, year first, the month in digits; without a day the first of it."""
    day, name, next_day, last = match.groups()
    year, day = (day, last or "1") if day and len(day) == 4 else (last, day or next_day or "1")
    return f"{year}-{_MONTHS.index(name) // 4 + 1:02}-{day}"


def _in_24_hours(match: re.Match[str]) -> str:
    """The day and time that ``_TIME`` matches, its hour from 0 to 23."""
    hour = int(match[2]) % 12 + 12 * (match[4] == "p") if match[4] else int(match[2].replace("24", "0"))
    return f"{match[1]}T{hour:02}{match[3] or ':00'}"
