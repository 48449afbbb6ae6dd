"""The accounts of a ledger, and the values that the name of a part may spell.

**Names of parts.** One value has one account, however a copy of the table writes it. Each spelling has
readings: the values that a copy may mean by it. Two spellings that share a reading may name the same rows,
and a cost of one counts for the other, too. Two values that are taken for one count too much, which is safe;
never too little. A text is read as

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

**Accounts.** ``Terms``, ``Entry`` and ``Account`` are what a ledger declares and what was spent from it:
values, read from the file and never changed.

**Sums.** A cost in the measure of a ledger is a double. Costs are added as fractions, exactly, so that no
rounding lets the sum pass the total.

**Decimals.** A stated epsilon or rho, and a total, mean the decimals that they are written as: 0.2 is 1/5,
though its double is more. Noise is calibrated for a double that is not above the decimal
(``within_decimal``), and what is charged is the claim of that noise, which is at most this double. So with
stated costs c and their charges s, Σ s <= Σ c: five releases at 0.2 fit into a total of 1, and none costs
more than is charged. Noise of epsilon s in a ledger of rho is charged s²/2 <= c²/2, and the sum over each
part is at most that of its decimals. Targets cost what they cost: that double is charged as it is. What is
added up is never read anew: totals and charges that were stored as doubles stay what they were.

**Why the total holds.** Fix a pair of neighbouring tables. Releases one after another are a random walk: the
mechanism and the cost of a step may depend on earlier releases, and on the data in no other way. A step of
cost ρ_t is ρ_t-zCDP: the α-th moment of its likelihood ratio is at most exp((α - 1) α ρ_t) for each α > 1,
given the earlier steps. So the α-th power of the ratio up to step t, times exp(-(α - 1) α Σ ρ_s), is a
supermartingale, and where Σ ρ_s <= ρ always, all together is ρ-zCDP (for costs fixed beforehand Bun and
Steinke 2016, Lemma 1.7; for costs that are chosen on the way Feldman and Zrnic 2021). For pure ε the
logarithm of each ratio is at most ε_t, and they add up (Dwork et al. 2006; Rogers, Roth, Ullman and Vadhan
2016). A release that fails after it was charged has released no more than a complete one.

**Noise that costs ε** in a ledger of ρ costs ε²/2 (Bun and Steinke 2016, Proposition 1.4).

**Parts.** Neighbours differ by one row, which has one value in the partition's column. A release of the rows
of another value has the same law on both tables and costs this pair nothing. So the pair's walk costs the sum
of what was spent on the whole table and on the part of its row, at most the largest of these sums over the
parts (McSherry 2009, Theorem 4, for ε). A row without a value is in no part. Where the rows of one person may
be in several parts, or a row that is replaced may move from one to another, parts do not compose in parallel:
a ledger of such a unit has no partition. Another copy of the table may spell a row's value otherwise (``1``,
``1.0``, ``true``): each part has the ``readings`` of its text (above), and the row's value is one
of them. So the pair's walk costs at most what was spent on the whole table and on the parts that share a
reading, at the reading for which this is most.
"""

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
from mmopt.numerics.arrays import rounded
from mmopt.privacy.epsilon_delta_rho import float_above, zcdp_epsilon

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


Measure = Literal["rho", "epsilon"]
State = Literal["spent", "released"]

# The measures in which a total may be declared, and the words for them.
MEASURES = {"rho": "rho, zero-concentrated", "epsilon": "pure epsilon"}

LONGEST_NAME = 200  # characters
_ADDRESS = re.compile(r"://|:[^/\s]*@")  # of a database, with or without a password in it
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Terms:
    """The terms that a ledger declares.

    Attributes
    ----------
    data_set : its name. measure : what is counted. total : how much of it may be spent, exactly.
    neighbours : the unit of privacy, in the words of ``Neighbours``; each release must have the same.
    partition : the column whose values divide the rows into parts, whose releases compose in parallel.
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
    """One release; it keeps nothing about the data.

    Attributes
    ----------
    number : from 1 on. time : of spending, in UTC (ISO 8601). spent : in the measure of the ledger, exactly.
    workload : the name of its file, or nothing. workload_hash : SHA-256 of the queries, as in the manifest.
    part : the value of the partition's column in the rows that were counted; None where all were.
    state : "spent" before noise is drawn, "released" once the folder is complete.
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
    """A ledger as read: its terms, and its entries in the order in which they were spent."""

    terms: Terms
    entries: Sequence[Entry] = ()


def checked_name(what: str, name: object) -> str:
    """The name, where a ledger may show it to all its readers.

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
    if not name.strip() or len(name) > LONGEST_NAME or _CONTROL.search(name):
        shown = ascii(name if len(name) <= 40 else f"{name[:40]}…")
        raise OptionError(f"{what} is {shown}, expected a name of 1 to {LONGEST_NAME} characters in one line")
    return name


def cost_in(measure: Measure, rho: float | None, epsilon: float | None) -> Fraction:
    """The cost of a release in the measure of a ledger.

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
    """The sum to which a release of this part adds: spent on the whole table, and on the part.

    For the whole table (None): spent on the whole table, and the largest sum of a part. Parts that may be one
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
    """Other parts with a release whose names may spell the value of this part."""
    names = {entry.part for entry in entries if entry.part is not None}
    return sorted(name for name in names - {part} if readings(name) & readings(part))


def left(account: Account, part: str | None = None) -> Fraction:
    """The most that a release of this part, or of all rows, may cost; below 0 where the total was lowered."""
    return account.terms.total - spent(account.entries, part)


def left_for_new_part(account: Account) -> Fraction:
    """The most that the first release of a part may cost."""
    return account.terms.total - sum(
        (entry.spent for entry in account.entries if entry.part is None), Fraction(0)
    )


above = float_above  # the smallest double that is not below a cost


def epsilon_of(rho: Fraction, delta: float) -> float:
    """The epsilon of this rho at a delta, rounded up (Canonne, Kamath and Steinke 2020)."""
    return zcdp_epsilon(above(rho), delta)


def below(cost: Fraction) -> float:
    """The largest double that is not above, itself or the decimal that it is read as.

    A release at it costs no more: its noise is calibrated for less than either (``within_decimal``).
    """
    return 0.0 - _written_above(-cost)  # no -0


def _written_above(cost: Fraction) -> float:
    """The smallest double that is not below, itself or its decimal."""
    double = above(cost)
    smaller = math.nextafter(double, -math.inf)
    return smaller if Fraction(repr(smaller)) >= cost else double


# Less is the rounding of costs: a release at epsilon 1 may cost 1 - 1.1e-16.
LEAST_LEFT = Fraction(1, 10**12)
NEXT_TO_NOTHING = Fraction(1, 1000)  # of the total: a release at so little answers nothing


def shown(cost: Fraction, *, is_left: bool = False) -> str:
    """A cost in six digits: rounded up where spent, rounded down where left, to 0 below ``LEAST_LEFT``."""
    if is_left and 0 < cost < LEAST_LEFT:
        return "0"
    return rounded(str(below(cost) if is_left else _written_above(cost)), 6, up=not is_left)
