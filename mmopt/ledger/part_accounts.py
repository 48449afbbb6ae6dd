"""Which values the name of a part may spell, so that one value has one account in every copy of the table.

Another copy may write the value of a row in another way. Each spelling has the readings that a copy may mean
by it. Two that share one may name the same rows, and what is spent on one counts for the other. Taking two
values for one counts too much, which is safe; never too little. A text is read as

- a truth value: true, t, yes, y, on, 1 and false, f, no, n, off, 0;
- a number: with a point or a comma before its decimals, thousands set apart (``1 000``, ``1'000``, ``1,000``,
  which may also be 1), an exponent, or a fraction (``½``, ``1 1/2``); in 15 digits, as spreadsheets keep it;
- a day or a moment: the year first, or the day or the month first and a year of four digits, with a time of
  24 or of 12 hours and a zone, or in the basic form of ISO 8601; as written and in UTC; a day is midnight;
- else as itself.

All of it in one spelling of letters, great and small, wide and composed (Unicode's NFKD, case folded), of
dashes and of quotes, without spaces and what is not seen.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

__all__ = ["readings"]

_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
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
_THOUSANDS = r"(?<=\d)[{0}](?=(?:\d{{2,3}}[{0}])*\d{{3}}(?!\d))"
_DATE = re.compile(r"(\d{1,4})[-./ ](\d{1,2})[-./ ](\d{1,4})(?![-./\d])")
_TIME = re.compile(r"^(\S+?)[t ](\d{1,2})(:\d\d[\d:.,]*)\s*(?:([ap])\.?m\.?)?\s*")


def readings(value: str) -> frozenset[str]:
    """What a copy of the table may mean by this text, each in one spelling; one at least."""
    # NFKC makes 11/2 of 1½.
    apart = "".join(
        f" {c}" if len(unicodedata.normalize("NFKC", c)) > 1 and unicodedata.category(c) == "No" else c
        for c in value
    )
    text = _FRACTION.sub(_in_decimals, " ".join(_folded(apart).split()))
    bare = text.replace(" ", "")
    return frozenset(_numbers(bare) | _moments(text) or {_TRUTH.get(bare, bare)})


def _folded(text: str) -> str:
    """In one spelling of letters, dashes and quotes, without what is not seen."""
    for _ in range(2):  # folding undoes the form, and the form what was folded
        text = unicodedata.normalize("NFKD", text.translate(_ALIKE)).casefold()
    seen = (c for c in _UNSEEN.sub("", text) if c.isspace() or unicodedata.category(c) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFC", "".join(seen)).translate(_ALIKE)


def _in_decimals(found: re.Match[str]) -> str:
    """A fraction with more decimals than can be thousands."""
    return f"{found[1]}{int(found[2] or 0) + int(found[3]) / int(found[4]):.40f}"


def _numbers(text: str) -> set[str]:
    """With a point for decimals, and with a comma."""
    found = set()
    for mark, others in ((".", ",'_"), (",", ".'_")):
        try:
            number = float(re.sub(_THOUSANDS.format(others), "", text).replace(mark, "."))
            found.add(f"{number + 0.0:.15g}")
        except ValueError:  # no number
            continue
    return found


def _moments(text: str) -> set[str]:
    """As ISO 8601 has them, a day with its midnight, without a zone: as written, and in UTC."""
    date, spelled, found = _DATE.match(text), [text], set()
    if date is not None:
        orders = (date.group(*order) for order in ((1, 2, 3), (3, 2, 1), (3, 1, 2)))
        days = [f"{year}-{month:0>2}-{day:0>2}" for year, month, day in orders if len(year) == 4]
        spelled = [day + text[date.end() :] for day in days]
    for each in spelled:
        try:
            moment = datetime.fromisoformat(_TIME.sub(_in_24_hours, each).replace("utc", "z").upper())
            in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
            found |= {one.replace(tzinfo=None).isoformat() for one in (moment, in_utc)}
        except (ValueError, OverflowError):  # no day, or one beyond the calendar
            continue
    return found


def _in_24_hours(found: re.Match[str]) -> str:
    """A day and its time, whose hour may be of 12."""
    hour = int(found[2]) % (12 if found[4] else 24) + 12 * (found[4] == "p")
    return f"{found[1]}T{hour:02}{found[3]}"
