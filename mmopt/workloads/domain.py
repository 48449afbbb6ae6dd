"""The domain: attributes, their cells, the one place that defines the order of cells, and texts of queries.

A domain is the cross product of its attributes. Cells are numbered in **row-major** order: the last
attribute varies fastest, as in ``numpy.ravel`` with order "C". Every Kronecker product of this package
lists its factors in the order of the attributes, so that it agrees with this numbering.

Domains written in Python, and queries over them, are read by the reader of workload files; the reference is
in ``mmopt/request/__init__.py``. ``mmopt.request`` is above this folder: it is imported when called, because
users hold a Domain or a Workload.

A query has a readable text: "age in [18, 25)", "age < 25", "25 <= exper < 40", "sex=Female".

A table value has its cell by values, by bins of numbers or dates, or by categories. Days are numbers since
1970-01-01. The periods of the calendar have names: "2020" (a year), "2020-Q1" (a quarter), "2020-03" (a
month) or "2020-03-05" (a day).
"""

from __future__ import annotations

import bisect
import calendar
import datetime
import itertools
import math
import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.display_base_classes import Displayed
from mmopt.errors import TooLargeError, WorkloadError, counted, suggest, whole
from mmopt.limits import require_memory

if TYPE_CHECKING:
    from mmopt.workloads.workload import Workload


PERIOD = re.compile(r"([0-9]{4})(?:-Q([1-4])|-([0-9]{2})(?:-([0-9]{2}))?)?")  # year, quarter, month, day
EPOCH = datetime.date(1970, 1, 1).toordinal()
LAST_DAY = datetime.date.max.toordinal() - EPOCH
MONTHS = {"month": 1, "quarter": 3, "year": 12}  # in each unit
DAYS = {"day": 1, "week": 7}  # in each unit


def day_of(date: datetime.date) -> int:
    """The number of a day, 0 on 1970-01-01."""
    return date.toordinal() - EPOCH


def date_of(day: float) -> datetime.date:
    """The day of a number; ValueError or OverflowError before the year 1 and after 9999."""
    return datetime.date.fromordinal(int(day) + EPOCH)


def period_name(first: int, end: int) -> str:
    """The name of the period of the days first to end - 1; "" where the calendar has none."""
    start = date_of(first)
    if end == first + 1:
        return start.isoformat()
    if start.day > 1 or start.year == datetime.MAXYEAR:
        return ""
    for unit, name in (
        ("month", start.isoformat()[:7]),
        ("quarter", f"{start.year:04d}-Q{start.month // 3 + 1}"),
        ("year", f"{start.year:04d}"),
    ):
        if end == day_after(first, 1, unit) and (start.month - 1) % MONTHS[unit] == 0:
            return name
    return ""


def period_days(name: str) -> tuple[int, int] | None:
    """First day of the period of this name, and the day after its last one; None for another text.

    ValueError, in words, for a period that the calendar lacks: "February 2021 has 28 days".
    """
    parts = PERIOD.fullmatch(name)
    if parts is None:
        return None
    year, quarter, month, day = (int(part) if part else 0 for part in parts.groups())
    if year < 1:
        raise ValueError(f"years go from 0001 to {datetime.MAXYEAR}")
    if parts[3] and not 1 <= month <= 12:
        raise ValueError("months go from 01 to 12")
    length = calendar.monthrange(year, month or 1)[1]
    if parts[4] and not 1 <= day <= length:
        raise ValueError(f"{calendar.month_name[month]} {year} has {length} days")
    first = day_of(datetime.date(year, month or 3 * max(quarter, 1) - 2, day or 1))
    return first, day_after(
        first, 1, "day" if day else "month" if month else "quarter" if quarter else "year"
    )


def day_after(day: int, count: int, unit: str) -> int:
    """The day that is so many days, weeks, months, quarters or years after a day.

    ValueError, in words, where that month has no such day, and beyond the year 9999.
    """
    if unit in DAYS:
        return day + count * DAYS[unit]
    date = date_of(day)
    year, month = divmod(date.year * 12 + date.month - 1 + count * MONTHS[unit], 12)
    if year > datetime.MAXYEAR:
        raise ValueError(f"the calendar ends in {datetime.MAXYEAR}")
    if date.day > calendar.monthrange(year, month + 1)[1]:
        raise ValueError(f"{calendar.month_name[month + 1]} {year} has no day {date.day}")
    return day_of(datetime.date(year, month + 1, date.day))


TableValue = str | int | float | bool


@dataclass(frozen=True)
class Values:
    """Cell i holds the table value ``values[i]``."""

    values: tuple[TableValue, ...]

    def __post_init__(self) -> None:
        refuse_repeated(self.values, _in_two_cells)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.values)

    @property
    def members(self) -> tuple[tuple[TableValue, ...], ...]:
        """The table values of each cell, one each."""
        return tuple((value,) for value in self.values)

    def describe(self) -> list[object]:
        """Plain data that determines the encoding."""
        return ["values", [_describe_value(value) for value in self.values]]


@dataclass(frozen=True)
class Bins:
    """Cell i holds the half-open interval ``[edges[i], edges[i + 1])``.

    Parameters
    ----------
    edges : increasing. The first may be -infinity and the last infinity: such a bin is open, and holds
        infinite table values too.
    dates : whether the edges are days since 1970-01-01, whole numbers.
    zone : of dates: the time zone whose days they are, where the table holds instants; else empty.

    Raises
    ------
    WorkloadError : edges that are fewer than two, all infinite, NaN, not increasing, or no days; a zone that
        is not known, or of numbers.
    """

    edges: tuple[float, ...]
    dates: bool = False
    zone: str = ""

    def __post_init__(self) -> None:
        if len(self.edges) < 2:
            raise WorkloadError(f"bins need at least two edges, found {len(self.edges)}")
        finite = slice(int(self.edges[0] == -math.inf), self.size + int(self.edges[-1] != math.inf))
        inner = self.edges[finite]
        if not (inner and all(math.isfinite(edge) for edge in inner)):
            raise WorkloadError(
                "bin edges must be finite numbers, but for a first -inf and a last inf, "
                f"found {list(self.edges)}"
            )
        for edge in inner if self.dates else ():
            try:
                is_day = float(edge).is_integer() and bool(date_of(edge))
            except (ValueError, OverflowError):
                is_day = False
            if not is_day:
                raise WorkloadError(
                    "edges of dates are whole days since 1970-01-01, of the years 1 to 9999, "
                    f"found {edge:.12g}"
                )
        for low, high in itertools.pairwise(self.edges):
            if not low < high:
                raise WorkloadError(
                    f"bin edges must increase, found {self.edge_text(low)} before {self.edge_text(high)}"
                )
        if self.zone and not self.dates:
            raise WorkloadError(f"the zone '{self.zone}' is of dates, and the bins are of numbers")
        try:
            for edge in inner if self.zone else ():
                self.instant(edge)
        except (KeyError, OSError, ValueError, OverflowError):
            raise WorkloadError(
                f"there is no time zone '{self.zone}', or it has none of the days of the bins",
                hint="for example Europe/Berlin, or UTC, and days of the years 2 to 9998",
            ) from None

    def instant(self, edge: float) -> datetime.datetime:
        """The moment at which the clocks of the zone first show the date of an edge, or a later one.

        Clocks that are put forward over midnight show it at once; those put back may show the day before once
        more, which then counts as part of the new one.
        """
        zone, day = zoneinfo.ZoneInfo(self.zone), date_of(edge)
        # Where the clocks leave out midnight, it is this number of seconds after an earlier time of theirs.
        last = int(datetime.datetime.combine(day, datetime.time(), zone).timestamp())
        seconds = range(last - 86_400, last)
        clock = datetime.datetime.fromtimestamp
        first = bisect.bisect_left(seconds, day, key=lambda second: clock(second, zone).date())
        return clock(seconds.start + first, datetime.UTC)

    @staticmethod
    def between_dates(*edges: datetime.date | None) -> Bins:
        """Bins between these dates; None for a first or a last edge that is open."""
        open_ends = {0: -math.inf, len(edges) - 1: math.inf}
        return Bins(
            tuple(open_ends.get(i, math.nan) if e is None else day_of(e) for i, e in enumerate(edges)), True
        )

    @property
    def size(self) -> int:
        """Number of cells, one less than there are edges."""
        return len(self.edges) - 1

    def describe(self) -> list[object]:
        """Plain data that determines the encoding."""
        edges = [describe_number(edge) for edge in self.edges]
        return ["bins of dates" if self.dates else "bins", edges, *([self.zone] if self.zone else [])]

    def ends(self, low: int, high: int) -> tuple[float | datetime.date | None, float | datetime.date | None]:
        """The begin and end of cells low to high, both included: the end itself is outside; None: open."""
        first, end = (
            None if math.isinf(edge) else date_of(edge) if self.dates else edge
            for edge in (self.edges[low], self.edges[high + 1])
        )
        return first, end

    def edge_text(self, edge: float) -> str:
        """An edge for labels, a number or an ISO date."""
        return date_of(edge).isoformat() if self.dates and math.isfinite(edge) else f"{edge:.12g}"

    def labels(self) -> tuple[str, ...]:
        """The intervals as text: ``[0, 18)``, open ones ``< 0`` and ``>= 65``; ``2020-01`` for a month."""
        return tuple(self._label(low, high) for low, high in itertools.pairwise(self.edges))

    def _label(self, low: float, high: float) -> str:
        """The label of the bin between two edges."""
        if math.isinf(low) or math.isinf(high):
            return f"< {self.edge_text(high)}" if math.isinf(low) else f">= {self.edge_text(low)}"
        name = period_name(int(low), int(high)) if self.dates else ""
        return name or f"[{self.edge_text(low)}, {self.edge_text(high)})"


@dataclass(frozen=True)
class Categories:
    """Cell i holds any of the table values ``members[i]``."""

    members: tuple[tuple[TableValue, ...], ...]

    def __post_init__(self) -> None:
        if not all(self.members):
            raise WorkloadError("a category has no values, expected at least one")
        refuse_repeated([value for cell in self.members for value in cell], _in_two_cells)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.members)

    def describe(self) -> list[object]:
        """Plain data that determines the encoding."""
        return ["categories", [[_describe_value(value) for value in cell] for cell in self.members]]


def label_of(value: TableValue) -> str:
    """The text for a table value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def refuse_repeated(values: Iterable[TableValue], message: Callable[[TableValue], str]) -> None:
    """WorkloadError with a message about the first value that is there twice."""
    seen: set[TableValue] = set()
    for value in values:
        if value in seen:
            raise WorkloadError(message(value))
        seen.add(value)


def _in_two_cells(value: TableValue) -> str:
    """The message about a value of two cells."""
    return f"the value {value!r} appears twice, expected in one cell only"


def describe_number(value: float) -> str:
    """The exact value, as hexadecimal digits, for hashes; minus zero counts as zero."""
    return (float(value) + 0.0).hex()


def _describe_value(value: TableValue) -> list[object]:
    """Type and exact value of a table value, for hashes."""
    return [type(value).__name__, describe_number(value) if isinstance(value, float) else value]


UNSAID = Values(())
LABEL_SIZE = 16  # of its memory in doubles
LARGEST_DOMAIN = 10**300  # cells; their number is a double, and so are small multiples of it


@dataclass(frozen=True, repr=False)
class Attribute(Displayed):
    """One attribute of the domain.

    Parameters
    ----------
    name : the name that queries use.
    labels : one text per cell, in the order of the cells: those of the encoding, the declared ones, then
        cells that hold only the values that ``outside`` or ``missing`` sends there by their label.
    column : the column of the table that is read; the attribute's name if empty.
    encoding : how a table value becomes a cell; ``Values(labels)`` if absent or empty.
    groups : named groups of cells, for queries.
    outside : what to do with a table value in no cell: ``"refuse"``, ``"drop"``, or the label of the cell
        that takes it. The two words win over labels of the same spelling.
    missing : the same for NULL and NaN. By default either is empty: no rule. ``mmopt.data`` then refuses
        such rows, and a privacy claim is made for a table without them.
    levels : by name, from the coarsest, one text per cell: that of the set of cells that it is in. No cell
        beyond the declared ones shares its set.
    above : columns of the table whose texts stand before that of ``column``, with "/" between: "VT/003".

    Raises
    ------
    WorkloadError : no cell, a repeated label, an encoding of another size, a group with a cell that does
        not exist, a level of another size or with such a set, or ``outside`` or ``missing`` naming no cell.
    """

    name: str
    labels: tuple[str, ...]
    column: str = ""
    encoding: Values | Bins | Categories = UNSAID
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    outside: str = ""
    missing: str = ""
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    above: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", self.column or self.name)
        object.__setattr__(self, "groups", {name: tuple(cells) for name, cells in self.groups.items()})
        if not self.name:
            raise WorkloadError("an attribute has an empty name")
        if not self.labels:
            raise WorkloadError(f"attribute '{self.name}' has no cells")
        refuse_repeated(self.labels, lambda label: f"attribute '{self.name}' has the label '{label}' twice")
        if not self.encoding.size:
            object.__setattr__(self, "encoding", Values(self.labels))
        if self.declared > self.size or any(
            label in ("refuse", "drop") or label not in (self.outside, self.missing)
            for label in self.labels[self.declared :]
        ):
            raise WorkloadError(
                f"attribute '{self.name}' has {self.size} labels, "
                f"but its encoding has {self.encoding.size} cells"
            )
        for name, cells in self.groups.items():
            if not cells:
                raise WorkloadError(f"attribute '{self.name}': group '{name}' is empty")
            if outside := [cell for cell in cells if not 0 <= cell < self.size]:
                raise WorkloadError(
                    f"attribute '{self.name}': group '{name}' has cell {outside[0]}, "
                    f"expected 0 to {self.size - 1}"
                )
        for name, texts in self.levels.items():
            # An added cell is a set of its own.
            if len(texts) != self.size or len({*texts[: self.declared]} & {*texts[self.declared :]}):
                raise WorkloadError(
                    f"attribute '{self.name}': level '{name}' has {len(texts)} texts, expected one for each "
                    f"of {self.size} cells, of added cells one of their own"
                )
        for key in ("outside", "missing"):
            choice = getattr(self, key)
            if choice not in ("", "refuse", "drop", *self.labels):
                raise WorkloadError(
                    f"attribute '{self.name}': {key} is '{choice}', "
                    "expected refuse, drop or one of its labels",
                    hint=suggest(choice, ["refuse", "drop", *self.labels]),
                )

    def __repr__(self) -> str:
        return f"Attribute({self.name}: {self.size:,} cell{'s' * (self.size > 1)})"

    def at_level(self, name: str) -> tuple[Attribute, np.typing.NDArray[np.int64]]:
        """The level as an attribute, whose cells are its sets, and the number of each cell's set."""
        texts = self.levels[name]
        numbers = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        return Attribute(name, tuple(numbers)), np.array([numbers[text] for text in texts])

    @property
    def declared(self) -> int:
        """Number of cells that hold table values, the first ones; the others take other values."""
        return self.encoding.size

    @property
    def size(self) -> int:
        """Number of cells of this attribute."""
        return len(self.labels)


@dataclass(frozen=True, repr=False)
class Domain(Displayed):
    """The cross product of attributes; n = ``size`` cells. ``Domain.of`` builds one.

    Raises
    ------
    WorkloadError : no attribute, or two of the same name. TooLargeError : more than ``LARGEST_DOMAIN`` cells.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise WorkloadError("a domain needs at least one attribute, found none")
        if self.size > LARGEST_DOMAIN:
            raise TooLargeError(f"the domain has more than {counted(LARGEST_DOMAIN, 'cell')}")
        refuse_repeated(
            [name for a in self.attributes for name in (a.name, *a.levels)],
            lambda name: f"the domain has the attribute '{name}' twice",
        )

    @staticmethod
    def of(attributes: Mapping[str, object] | None = None, /, **more: object) -> Domain:
        """A domain from attributes as in a workload file, in their order; the last one varies fastest.

        Parameters
        ----------
        attributes, more : by name, a form of the workload file as a dictionary ({"bins": [0, 18, 65]},
            {"range": [0, 60], "width": 5}, {"categories": {…}}, with column, groups, outside, missing if
            wanted), or a list of table values. A tuple, range, array or series will do for a list, if it
            holds each value once: one that repeats values is data, and which values occur in data is
            confidential. A categorical (pandas, polars ``Enum``) gives its categories, in their order;
            where these were taken from the data, as ``astype("category")`` does, they are facts of the data,
            and no differential privacy covers their publication.

        Raises
        ------
        WorkloadError : as for a workload file, with the place, as ``domain.age.bins[2]``.
        TooLargeError : too many cells.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> d
        Domain(sex 2 × age 3: 6 cells)
        """
        from mmopt.request import read_attributes

        return read_attributes(attributes, more)

    def marginal(self, *attributes: Any, **options: object) -> Workload:
        """Every combination of the cells of some attributes: one query each.

        Parameters
        ----------
        attributes : names, or one list of them.
        options : the further keys of an entry in a workload file: name, weight, max_variance, subworkload.

        Raises
        ------
        WorkloadError : an unknown attribute or option (the nearest is named), or a value out of range.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> d.marginal("sex", "age", weight=2.0) + d.marginal("age")
        Workload(9 queries over 6 cells, 2 products)
        """
        from mmopt.request import read_entry

        names = attributes[0] if len(attributes) == 1 and not isinstance(attributes[0], str) else attributes
        return read_entry(self, "marginal", names, options)

    def marginals(
        self,
        ways: Any,
        of: Any = None,
        **options: object,
    ) -> Workload:
        """All marginals of so many attributes.

        Parameters
        ----------
        ways : a number, or a list of numbers; 0 is the number of all rows.
        of : the attributes that they are taken from; by default all.
        options : as for ``marginal``.

        Raises
        ------
        WorkloadError, TooLargeError : as ``marginal``; more products than a workload may have.

        >>> import mmopt
        >>> mmopt.Domain.of(a=[1, 2], b=[1, 2, 3], c=[1, 2]).marginals(ways=2)
        Workload(16 queries over 12 cells, 3 products)
        """
        from mmopt.request import read_entry

        return read_entry(self, "marginals", {"ways": ways} | ({} if of is None else {"of": of}), options)

    def products(self, ways: Any, each: Any, of: Any = None, **options: object) -> Workload:
        """Every product of so many attributes, each with the same block.

        Parameters
        ----------
        ways, of : as ``marginals``. each : a block as in a workload file, such as "prefix".
        options : as for ``marginal``.

        Raises
        ------
        WorkloadError, TooLargeError : as ``marginals``.

        >>> import mmopt
        >>> mmopt.Domain.of(**{name: range(10) for name in "abcd"}).products(ways=[1, 2], each="prefix")
        Workload(640 queries over 10,000 cells, 10 products)
        """
        from mmopt.request import read_entry

        return read_entry(
            self, "products", {"ways": ways, "each": each} | ({} if of is None else {"of": of}), options
        )

    def product(self, blocks: Any = None, /, **more: object) -> Workload:
        """Every combination of the queries of blocks, one block per attribute; attributes not named: total.

        Parameters
        ----------
        blocks, more : by attribute, a block as in a workload file: "identity", "prefix", {"width_range": 2},
            a group, [["[0, 18)", "[18, 65)"]]. Among ``more`` are the options of ``marginal``; an attribute
            with the name of an option is given in ``blocks``.

        Raises
        ------
        WorkloadError : as ``marginal``, with the place, as ``product.age[0]``. TooLargeError : long lists.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> young = d.product(sex="identity", age=[["[0, 18)", "[18, 65)"]], max_variance=50.0)
        >>> young.labels()
        ['sex=Female, age in [0, 18) or [18, 65)', 'sex=Male, age in [0, 18) or [18, 65)']
        >>> d.product(agee="prefix")
        Traceback (most recent call last):
        ...
        mmopt.errors.WorkloadError: product.agee: the domain has no attribute 'agee'
          did you mean 'age'?
        """
        from mmopt.request import read_product

        return read_product(self, blocks, more)

    @staticmethod
    def anonymous(n: int) -> Domain:
        """A domain of one attribute "cell" with the labels "0" to "n-1", for plain matrices."""
        if n < 1:
            raise WorkloadError(f"a domain needs at least one cell, found {n}")
        require_memory((n, LABEL_SIZE), "list of the labels of the cells")
        return Domain((Attribute("cell", tuple(map(str, range(n))), encoding=Values(tuple(range(n)))),))

    def __repr__(self) -> str:
        shape = " × ".join(f"{a.name} {a.size:,}" for a in self.attributes)
        return f"Domain({shape}: {whole(self.size)} cells)"

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The attributes' sizes, in order."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def size(self) -> int:
        """Number of cells, n."""
        return math.prod(self.shape)

    @property
    def may_drop(self) -> bool:
        """Whether a row of data may be in no cell: a rule drops it, or leaves open what happens to it."""
        return any(rule in ("", "drop") for a in self.attributes for rule in (a.outside, a.missing))

    def describe(self) -> list[object]:
        """Plain data that determines the domain, for hashes; names of groups do not matter."""
        # Without a rule rows are refused when they are counted.
        return [
            [
                a.name,
                list(a.labels),
                a.encoding.describe(),
                [*a.above, a.column, a.outside or "refuse", a.missing or "refuse"],
            ]
            for a in self.attributes
        ]

    @property
    def strides(self) -> tuple[int, ...]:
        """Cells between neighbours along each attribute: a cell's number is the sum of code × stride."""
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def axis(self, name: str) -> int:
        """Position of an attribute; WorkloadError with a suggestion if there is none of that name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise WorkloadError(
                f"the domain has no attribute '{name}'", hint=suggest(name, self.names)
            ) from None

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; WorkloadError with a suggestion if there is none."""
        return self.attributes[self.axis(name)]

    def cell(self, i: int) -> tuple[str, ...]:
        """The labels of cell i, one per attribute."""
        if not 0 <= i < self.size:
            raise WorkloadError(f"there is no cell {i}, expected 0 to {self.size - 1}")
        # In Python's whole numbers: there may be more cells than 64 bits count.
        return tuple(
            a.labels[i // stride % a.size] for a, stride in zip(self.attributes, self.strides, strict=True)
        )

    def index(self, labels: Sequence[str]) -> int:
        """The number of the cell with these labels, one per attribute."""
        if len(labels) != len(self.attributes):
            raise WorkloadError(f"a cell has {len(self.attributes)} labels, found {len(labels)}")
        i = 0
        for attribute, label, stride in zip(self.attributes, labels, self.strides, strict=True):
            if label not in attribute.labels:
                raise WorkloadError(
                    f"attribute '{attribute.name}' has no cell '{label}'",
                    hint=suggest(label, attribute.labels),
                )
            i += attribute.labels.index(label) * stride
        return i

    def ravel(self, codes: Sequence[np.typing.ArrayLike]) -> np.typing.NDArray[np.int64]:
        """Cell numbers of rows of data, from one array of codes (positions of cells) per attribute."""
        if len(codes) != len(self.attributes):
            raise WorkloadError(f"expected codes for {len(self.attributes)} attributes, found {len(codes)}")
        total = np.zeros((), dtype=np.int64)
        for attribute, code, stride in zip(self.attributes, codes, self.strides, strict=True):
            array = np.asarray(code, dtype=np.int64)
            if array.size and not (array.min() >= 0 and array.max() < attribute.size):
                raise WorkloadError(
                    f"attribute '{attribute.name}' has codes 0 to {attribute.size - 1}, "
                    f"found {array.min()} to {array.max()}"
                )
            total = total + array * stride
        return total


def cell_label(attribute: Attribute, cell: int) -> str:
    """The query for one cell."""
    encoding = attribute.encoding
    if not isinstance(encoding, Bins) or cell >= encoding.size:
        return f"{attribute.name}={attribute.labels[cell]}"
    if None in encoding.ends(cell, cell):
        return _within(attribute.name, encoding, cell, cell)
    return f"{attribute.name} in {attribute.labels[cell]}"


def range_labels(attribute: Attribute, ranges: Iterable[tuple[int | None, int]]) -> list[str]:
    """The queries for cells low to high, both included; from the first cell if low is None."""
    name, labels, encoding = attribute.name, attribute.labels, attribute.encoding
    compared = isinstance(encoding, Values) and _increasing(encoding.values)
    texts = []
    for low, high in ranges:
        is_declared = high < encoding.size
        if isinstance(encoding, Bins) and is_declared:
            whole = f"known {name}" if encoding.size < attribute.size else name
            texts.append(_within(name, encoding, low, high, whole))
        elif low == high:
            texts.append(cell_label(attribute, high))
        elif compared and is_declared:
            start = "" if low is None else f"{labels[low]} <= "
            texts.append(f"{start}{name} <= {labels[high]}")
        else:
            start = "up" if low is None else f"from {labels[low]}"
            texts.append(f"{name} {start} to {labels[high]}")
    return texts


def _within(name: str, bins: Bins, low: int | None, high: int, whole: str = "") -> str:
    """The range from bin low (None: from below) to the end of bin high; ``whole``: a name for all."""
    is_from_below = low is None or bins.edges[low] == -math.inf
    start, end = "" if low is None else bins.edge_text(bins.edges[low]), bins.edge_text(bins.edges[high + 1])
    if bins.edges[high + 1] == math.inf:
        return f"any {whole or name}" if is_from_below else f"{name} >= {start}"
    return f"{name} < {end}" if is_from_below else f"{start} <= {name} < {end}"


def join(parts: tuple[str, ...]) -> str:
    """One text for a query on several attributes; totals are left out."""
    return ", ".join(part for part in parts if part) or "everyone"


def _increasing(values: tuple[object, ...]) -> bool:
    """Whether all values are numbers in increasing order, so that "<=" describes a range of cells."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and all(a < b for a, b in itertools.pairwise(numbers))
