"""The accounts of a ledger: what is declared, spent and composed.

What a ledger declares, and what was spent from it: values, read from the file and never changed.

Which values the name of a part may spell, so that one value has one account in every copy of the table.

Another copy may write the value of a row in another way. Each spelling has the readings that a copy may mean
by it. Two that share one may name the same rows, and what is spent on one counts for the other. Taking two
values for one counts too much, which is safe; never too little. A text is read as

- a truth value: true, t, yes, y, on, 1 and false, f, no, n, off, 0;
- a number: with a point or a comma before its decimals, thousands set apart (``1 000``, ``1'000``, ``1,000``,
  which may also be 1), an exponent, a fraction (``½``, ``1 1/2``), or in percent; in 15 digits, as
  spreadsheets keep it, which round the others or cut them off;
- a day or a moment: the year first, or the day or the month first and a year of four digits, the month in
  digits or by its English name; or ``20200101``, or ISO's weeks; with a time of 24 or of 12 hours and a zone;
  as written and in UTC; a day is midnight, a month (``2020-01``) its first day, 24:00 also the day after;
- a time of day: as one of the first day of 1900;
- else as itself.

All of it in one spelling of letters, great and small, wide and composed (Unicode's NFKD, case folded), of
digits, dashes and quotes, without spaces and what is not seen. Not recognised as one value: codes
and names, years of two digits, other languages, quarters, rounded numbers of fewer digits, epochs.

What a release costs in the measure of a ledger, and what many cost together, exactly.

Costs are doubles; they are added as fractions, so that no rounding lets a total be passed.

**Why the total holds.** A pair of neighbouring tables is fixed, and what is released one after another is a
random walk: each step's law, its cost too, may depend on what was released before, never on the data beside.
A step of cost ρ_t is ρ_t-zCDP: the α-th moment of its likelihood ratio is at most exp((α - 1) α ρ_t) for each
α > 1, given what went before. So the α-th power of the ratio up to step t, times exp(-(α - 1) α Σ ρ_s), is a
supermartingale, and where Σ ρ_s <= ρ always, all together is ρ-zCDP (for costs fixed beforehand Bun and
Steinke 2016, Lemma 1.7; for costs that are chosen on the way Feldman and Zrnic 2021). For pure ε the
logarithm of each ratio is at most ε_t, and they add up (Dwork et al. 2006; Rogers, Roth, Ullman and Vadhan
2016). A release that fails after it was charged has released nothing more than it would have.

**Noise that costs ε** in a ledger of ρ costs ε²/2 (Bun and Steinke 2016, Proposition 1.4).

**Parts.** Neighbours differ by one row, which has one value in the partition's column. A release of the rows
of another value has the same law on both tables: it costs this pair nothing, so the pair's walk costs what
was spent on the whole table and on the part of its row, at most the largest of these sums over the parts
(McSherry 2009, Theorem 4, for ε). A row without a value is in no part. Rows of one person may stand in
several parts, and a row that is replaced may move from one to another: there parts do not compose so, and a
ledger of other units has no partition. Another copy of the table may spell a row's value otherwise (``1``,
``1.0``, ``true``): each part has the ``readings`` of its text, and the row's value is one of them. So the
pair's walk costs at most what was spent on the whole table and on the parts that share a reading, at the
reading of which most was.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Literal

from mmopt.errors import OptionError, PrivacyError
from mmopt.numerics.outward import rounded
from mmopt.privacy.guarantee import float_above, zcdp_epsilon

Measure = Literal["rho", "epsilon"]
State = Literal["spent", "released"]

MEASURES = {"rho": "rho, zero-concentrated", "epsilon": "pure epsilon"}
"""In what a total may be declared, and the words for it."""

LONGEST = 200  # characters of a name
_ADDRESS = re.compile(r"://|:[^/\s]*@")  # of a database, with or without a password in it
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Terms:
    """What a ledger declares.

    Attributes
    ----------
    data_set : its name. measure : what is counted. total : how much of it may be spent, exactly.
    neighbours : the unit of privacy, in the words of ``Neighbours``, which that of each release has to be.
    partition : the column whose values part the rows, so that releases of parts compose in parallel.
    declared : the total at creation; ``total`` may have been lowered since, by hand.
    created : when, in UTC (ISO 8601).
    """

    data_set: str
    measure: Measure
    total: Fraction
    neighbours: str
    partition: str | None
    declared: Fraction
    created: str


@dataclass(frozen=True)
class Entry:
    """One release, of which nothing about the data is kept.

    Attributes
    ----------
    number : from 1 on. time : of spending, in UTC (ISO 8601). spent : in the measure of the ledger, exactly.
    workload : the name of its file, or nothing. workload_hash : SHA-256 of the queries, as in the manifest.
    part : the value of the partition's column in the rows that were counted; None where all were.
    state : "spent" before noise is drawn, "released" once the folder stands there whole.
    folder, manifest_hash : its path as it was given, and the SHA-256 of its manifest; empty until then.
    """

    number: int
    time: str
    spent: Fraction
    workload: str
    workload_hash: str
    part: str | None
    state: State = "spent"
    folder: str = ""
    manifest_hash: str = ""


@dataclass(frozen=True)
class Account:
    """A ledger as it was read: terms, and entries in the order in which they were spent."""

    terms: Terms
    entries: Sequence[Entry] = ()


def checked_name(what: str, name: object) -> str:
    """A name that may stand in a ledger for all who read it.

    Raises
    ------
    OptionError : no text, an empty or a long one, one of several lines, or one that looks like the address
        of a database, which may hold a password: the message does not repeat it.
    """
    if not isinstance(name, str):
        raise OptionError(f"{what} is of type {type(name).__name__}, expected a text")
    if _ADDRESS.search(name):
        raise OptionError(
            f"{what} looks like the address of a database, which may hold a password; nothing was written",
            hint="give it a name: a ledger is read by others",
        )
    if not name.strip() or len(name) > LONGEST or _CONTROL.search(name):
        shown = ascii(name if len(name) <= 40 else f"{name[:40]}…")
        raise OptionError(f"{what} is {shown}, expected a name of 1 to {LONGEST} characters in one line")
    return name


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
_TIME = re.compile(r"^(\S+?)[t ](\d{1,2})(?!\d)(:\d\d[\d:.,]*)?\s*(?:([ap])\.?m\.?)?\s*")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_NAMED = re.compile(
    rf"^(?:(\d{{1,4}})[-./ ]*)?({_MONTHS})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?(?![a-z])[-./, ]*"
    r"(?:(\d{1,2})[-./, ]+)?(\d{1,4}(?!\d))?"
)
_CUT, _ROUNDED = (Context(prec=15, rounding=way) for way in (ROUND_DOWN, ROUND_HALF_UP))


def readings(value: str) -> frozenset[str]:
    """What a copy of the table may mean by this text, each in one spelling; one at least."""
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
    """In one spelling of letters, digits, dashes and quotes, without what is not seen."""
    for _ in range(2):  # folding undoes the form, and the form what was folded
        text = unicodedata.normalize("NFKD", text.translate(_ALIKE)).casefold()
    seen = (c for c in _UNSEEN.sub("", text) if c.isspace() or unicodedata.category(c) not in ("Cf", "Cc"))
    digits = "".join(str(unicodedata.decimal(c, c)) for c in seen)
    return unicodedata.normalize("NFC", digits).translate(_ALIKE).replace("i\u0307", "i")


def _in_decimals(found: re.Match[str]) -> str:
    """A fraction with more decimals than can be thousands."""
    return f"{found[1]}{int(found[2] or 0) + int(found[3]) / int(found[4]):.40f}"


def _numbers(text: str) -> set[str]:
    """With a point for decimals, and with a comma."""
    found = set()
    for mark, others in ((".", ",'_"), (",", ".'_")):
        spelled = re.sub(_THOUSANDS.format(others), "", text).replace(mark, ".")
        try:
            double = float(spelled.removesuffix("%")) / (100.0 if "%" in spelled else 1.0)
        except ValueError:  # no number
            continue
        found.add(f"{double + 0.0:.15g}")
        if math.isfinite(double) and double:
            number = Decimal(spelled.removesuffix("%")).scaleb(-2 if "%" in spelled else 0)
            found |= {f"{each:.15g}" for each in map(float, _in_15_digits(number))}
    return found


def _in_15_digits(number: Decimal) -> set[Decimal]:
    """The number in 15 digits, cut off and rounded; and the next below, if it may be rounded up."""
    size = abs(number)
    found = {_CUT.plus(size), _ROUNDED.plus(size)}
    below = _CUT.next_minus(size)
    if size in found and (size > 10**15 or below % 1):  # of neighbouring whole numbers neither was rounded
        found.add(below)
    return {each.copy_sign(number) for each in found}


def _moments(text: str) -> set[str]:
    """As ISO 8601 has them, a day with its midnight, without a zone: as written, and in UTC."""
    text = _NAMED.sub(_year_first, re.sub(" ?([-./]) ?", r"\1", text))
    text = re.sub(r"^(\d{4}-\d{1,2})$", r"\1-1", text)
    text = re.sub(r"^(?=\d{1,2} ?(:\d\d|[ap]\.?m))", "1900-1-1 ", text)
    date, spelled, found = _DATE.match(text), [text], set()
    if date is not None:
        orders = (date.group(*order) for order in ((1, 2, 3), (3, 2, 1), (3, 1, 2)))
        days = [f"{year}-{month:0>2}-{day:0>2}" for year, month, day in orders if len(year) == 4]
        spelled = [day + text[date.end() :] for day in days]
    for each in spelled:
        time, zoned = _TIME.match(each), re.sub("utc|gmt", "z", _TIME.sub(_in_24_hours, each))
        try:
            moment = datetime.fromisoformat(zoned.upper())
            in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
            later = timedelta(days=1 if time and time[2] == "24" else 0)
            both = (moment, moment + later, in_utc, in_utc + later)
            found |= {one.replace(tzinfo=None).isoformat() for one in both}
        except (ValueError, OverflowError):  # no day, or one beyond the calendar
            continue
    return found


def _year_first(found: re.Match[str]) -> str:
    """A day whose month has a name; the first of it where there is no day."""
    day, name, next_day, last = found.groups()
    year, day = (day, last or "1") if day and len(day) == 4 else (last, day or next_day or "1")
    return f"{year}-{_MONTHS.index(name) // 4 + 1:02}-{day}"


def _in_24_hours(found: re.Match[str]) -> str:
    """A day and its time, whose hour may be of 12."""
    hour = int(found[2]) % 12 + 12 * (found[4] == "p") if found[4] else int(found[2].replace("24", "0"))
    return f"{found[1]}T{hour:02}{found[3] or ':00'}"


def cost_in(measure: Measure, rho: float | None, epsilon: float | None) -> Fraction:
    """What a release costs.

    Parameters
    ----------
    rho : of its noise; None where that costs epsilon. epsilon : of noise that costs epsilon.

    Raises
    ------
    PrivacyError : Gaussian noise, which has no epsilon, in a ledger of epsilon; a cost that is not finite.
    """
    cost = epsilon if rho is None else rho
    if cost is None or not math.isfinite(cost) or cost < 0:
        raise PrivacyError(f"the release costs {cost!r}, which no ledger can add up")
    if measure == "rho":
        return Fraction(cost) if rho is not None else Fraction(cost) ** 2 / 2
    if rho is not None:
        raise PrivacyError(
            f"the ledger counts pure epsilon, and this release has Gaussian noise (rho {rho!r}), "
            "which satisfies none",
            hint="release with Laplace noise: privacy {epsilon: …} without a delta; or use a ledger of rho",
        )
    return Fraction(cost)


def spent(entries: Iterable[Entry], part: str | None) -> Fraction:
    """What a release of this part adds to: what was spent on the whole table, and on the part.

    Of the whole table (None): on the whole table, and on the parts of which most was. Parts that may be one
    value count together.
    """
    whole, parts = Fraction(0), defaultdict[str, Fraction](Fraction)
    for entry in entries:
        if entry.part is None:
            whole += entry.spent
        else:
            for reading in readings(entry.part):
                parts[reading] += entry.spent
    counted = parts if part is None else readings(part)
    return whole + max((parts.get(reading, Fraction(0)) for reading in counted), default=Fraction(0))


def same_account(entries: Iterable[Entry], part: str) -> list[str]:
    """Other spellings of which releases were made that may be the value of this part."""
    names = {entry.part for entry in entries if entry.part is not None}
    return sorted(name for name in names - {part} if readings(name) & readings(part))


def total_spent(account: Account) -> Fraction:
    """The cost of all releases together."""
    return spent(account.entries, None)


def left(account: Account, part: str | None = None) -> Fraction:
    """What a release of this part, or of the whole table, may cost; below 0 where the total was lowered."""
    return account.terms.total - spent(account.entries, part)


def left_for_new_part(account: Account) -> Fraction:
    """What a release of a part may cost of which none was released."""
    return account.terms.total - sum(
        (entry.spent for entry in account.entries if entry.part is None), Fraction(0)
    )


def epsilon_of(rho: Fraction, delta: float) -> float:
    """The epsilon that so much rho amounts to at a delta, rounded up (Canonne, Kamath and Steinke 2020)."""
    return zcdp_epsilon(above(rho), delta)


def above(cost: Fraction) -> float:
    """The smallest double that is not below."""
    return float_above(cost)


def below(cost: Fraction) -> float:
    """The largest double that is not above."""
    return 0.0 - float_above(-cost)  # no -0


def shown(cost: Fraction, *, is_left: bool = False) -> str:
    """In six digits: what is spent rounded up, what is left rounded down."""
    nearest = below(cost) if is_left else above(cost)
    return rounded(str(nearest), 6, up=not is_left)
