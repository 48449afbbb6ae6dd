"""The cells of one attribute in a workload file, and the words for them and for queries on it.

Table values become cells by one of four forms: values, categories, bins between edges, or a range with a
width; bins are of numbers or of dates, and may be open at the ends. A word for an attribute is a block of
queries, or names cells: by a label, a table value, or a run such as 18-64.
"""

import bisect
import csv
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TypeGuard

from mmopt.errors import Location, placed, suggest, whole
from mmopt.request.yaml_tree import (
    ListNode,
    Map,
    Scalar,
    YamlNode,
    describe,
    fail,
    items,
    mapping,
    number,
    one_of,
    record,
    require,
    scalar,
    text,
    too_large,
)
from mmopt.workloads import (
    LAST_DAY,
    Bins,
    Categories,
    Factor,
    TableValue,
    Values,
    all_range,
    date_of,
    day_after,
    haar,
    hierarchy,
    identity,
    label_of,
    padded,
    period_days,
    prefix,
    total,
    width_range,
)

#: Most cells of one attribute.
MAX_CELLS = 100_000

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LIKE_A_DATE = re.compile(r"\d{4}[-/.]\d.*|\d{1,2}[-/.]\d{1,2}[-/.]\d.*")
_WIDTH = re.compile(r"(?:([1-9]\d{0,5}) )?(day|week|month|quarter|year)s?")
_DATE_HINT = "a date is written 2020-01-31"
_REPEATED = "give each a name of its own, or a column of the table for each level: column: [state, county]"
_OPEN_HINT = "an open end belongs to the first or the last of the edges of bins: [open, 18, 65, open]"


def read_bins(node: YamlNode, what: str) -> tuple[tuple[str, ...], Bins]:
    """Labels and half-open bins between edges, numbers or dates; the end ones may be ``open``."""
    nodes = items(node, what, "write the edges: [0, 18, 65, 115] means [0, 18), [18, 65), [65, 115)")
    check_count(node, len(nodes), what)
    require(len(nodes) >= 2, node, f"{what}: one edge found, expected at least two")
    infinities = [_open_edge(item, i, len(nodes), what) for i, item in enumerate(nodes)]
    closed = [item for item, infinity in zip(nodes, infinities, strict=True) if infinity is None]
    require(closed, node, f"{what} are open at both ends and have no edge between", "leave the attribute out")
    dates = _are_dates(closed, what)
    reader = _day if dates else number
    values = [
        reader(item, f"an edge of the {what}") if infinity is None else infinity
        for item, infinity in zip(nodes, infinities, strict=True)
    ]
    for low, high, item in zip(values, values[1:], nodes[1:], strict=False):
        if not low < high:
            earlier, this = (date_of(edge).isoformat() if dates else _show(edge) for edge in (low, high))
            fail(
                item,
                f"{what} must increase, found {this} after {earlier}",
                "half-open bins [a, b) share their edges; each edge is written once",
            )
    with placed(node.where):
        bins = Bins(tuple(values), dates)
    return bins.labels(), bins


def read_range(node: YamlNode, width: YamlNode | None, name: str) -> tuple[tuple[str, ...], Bins]:
    """Labels and bins of one width from low to high."""
    what = f"range of {name}"
    ends = items(node, what)
    require(len(ends) == 2, node, f"{what} must be [low, high], found {describe(node)}")
    for end in ends:
        require(
            not isinstance(end, Scalar) or end.value != "open",
            end,
            f"an end of the {what} is open: a range has two ends",
            _OPEN_HINT,
        )
    dates = _are_dates(ends, what)
    if width is None:
        each = "width: month gives one cell per month" if dates else "width: 1 gives one cell per integer"
        fail(node, f"{name} has a range without a width", each)
    if dates:
        bins = _bins_of_dates(node, ends, width, what)
        return bins.labels(), bins
    return _bins_of_numbers(node, ends, width, what)


def check_count(node: YamlNode, count: int, what: str) -> None:
    """Raise TooLargeError for more cells than one attribute may have."""
    if count > MAX_CELLS:
        too_large(
            node,
            f"{what}: {whole(count)} cells, at most {MAX_CELLS:,} are possible",
            "use fewer or wider cells",
        )


def _open_edge(node: YamlNode, place: int, count: int, what: str) -> float | None:
    """The infinity of an open edge, at this place of ``count`` edges; None for another edge."""
    value = node.value if isinstance(node, Scalar) else None
    ends = {0: -math.inf, count - 1: math.inf}
    require(value != "open" or place in ends, node, f"{what}: an edge between others is open", _OPEN_HINT)
    return ends[place] if value == "open" or (isinstance(value, float) and value == ends.get(place)) else None


def _are_dates(nodes: Sequence[YamlNode], what: str) -> bool:
    """Whether the edges are dates; else they are read as numbers. A mix is refused."""
    first: dict[bool, YamlNode] = {}
    for node in nodes:
        value = node.value if isinstance(node, Scalar) else None
        is_date = isinstance(value, str) and bool(_LIKE_A_DATE.fullmatch(value))
        if is_date or _numeric(value):
            first.setdefault(is_date, node)
    if len(first) == 2:
        earlier, other = first.values()
        fail(
            other,
            f"{what}: dates and numbers are mixed, {describe(earlier)} and {describe(other)}",
            _DATE_HINT,
        )
    return True in first


def _day(node: YamlNode, what: str) -> float:
    """A date, as days since 1970-01-01."""
    word = node.text if isinstance(node, Scalar) and isinstance(node.value, str) else ""
    require(_DATE.fullmatch(word), node, f"{what} must be a date, found {describe(node)}", _DATE_HINT)
    try:
        days = period_days(word)
    except ValueError as error:
        fail(node, f"{what} is {word}, which is not a date: {error}")
    assert days is not None
    return float(days[0])


def _bins_of_dates(node: YamlNode, ends: Sequence[YamlNode], width: YamlNode, what: str) -> Bins:
    """Bins of one width of the calendar between two days; errors at the ``node`` of the range."""
    low, high = (int(_day(end, f"an end of the {what}")) for end in ends)
    parts = _WIDTH.fullmatch(width.text) if isinstance(width, Scalar) else None
    if parts is None:
        fail(
            width,
            f"width of the {what} must be day, week, month, quarter or year, found {describe(width)}",
            "several of them are written '10 days'",
        )
    if not low < high:
        texts = ", ".join(date_of(day).isoformat() for day in (low, high))
        fail(node, f"{what} must be [low, high] with low < high, found [{texts}]")
    count, unit = int(parts[1] or 1), parts[2]
    step = f"{count} {unit}{'s' * (count > 1)}"
    edges = [low]
    try:
        while edges[-1] < high:
            edges.append(day_after(low, len(edges) * count, unit))
    except ValueError as error:
        fail(
            width,
            f"{what}: steps of {step} from {date_of(low)} do not lead to a date: {error}",
            "start on a day up to 28, end before 9999, or choose another width",
        )
    check_count(node, len(edges) - 1, what)
    if edges[-1] > high:
        better = [date_of(day).isoformat() for day in edges[-2:] if low < day <= LAST_DAY]
        fail(
            width,
            f"{what}: {date_of(low)} to {date_of(high)} is {len(edges) - 2} times {step} and "
            f"{high - edges[-2]} days, expected a whole number of widths",
            " or ".join([f"end the range at {end}" if not i else end for i, end in enumerate(better)])
            + ", or choose another width"
            if better
            else "choose another width",
        )
    with placed(node.where):
        return Bins(tuple(map(float, edges)), dates=True)


def _bins_of_numbers(
    node: YamlNode, ends: Sequence[YamlNode], width_node: YamlNode, what: str
) -> tuple[tuple[str, ...], Bins]:
    """Labels and bins of one width between two numbers; a bin of one integer is labelled by it."""
    low, high = (_exact(number(end, f"an end of the {what}")) for end in ends)
    width = _exact(number(width_node, f"width of the {what}"))
    require(width > 0, width_node, f"width of the {what} must be greater than 0, found {_show(width)}")
    require(
        low < high, node, f"{what} must be [low, high] with low < high, found [{_show(low)}, {_show(high)}]"
    )
    count = (high - low) / width
    check_count(node, math.ceil(count), what)
    if count.denominator != 1:
        below, above = low + math.floor(count) * width, low + math.ceil(count) * width
        better = [_show(end) for end in (below, above) if end > low]
        fail(
            width_node,
            f"{what}: {_show(low)} to {_show(high)} is {float(count):.6g} widths of {_show(width)}, "
            "expected a whole number",
            f"end the range at {' or '.join(better)}, or choose another width",
        )
    edges = tuple(float(low + i * width) for i in range(int(count) + 1))
    require(
        all(a < b for a, b in itertools.pairwise(edges)),
        width_node,
        f"{what}: a width of {_show(width)} is below the precision of numbers near {_show(high)}",
    )
    encoding = Bins(edges)
    if width == 1 and low.denominator == 1:
        return tuple(str(int(low) + i) for i in range(int(count))), encoding
    return encoding.labels(), encoding


def _exact(value: float) -> Fraction:
    """The decimal number as the file spells it: 0.1 is one tenth, so that widths divide without rounding."""
    return Fraction(Decimal(repr(value)))


def _show(value: Fraction | float) -> str:
    """The number for a message, in 12 digits."""
    return f"{float(value):.12g}"


FORMS = ("values", "bins", "range", "categories", "nested")

Encoding = Values | Bins | Categories
Levels = dict[str, tuple[str, ...]]


def read_encoding(form: Map, name: str, names: set[str]) -> tuple[tuple[str, ...], Encoding, Levels]:
    """Labels, encoding and levels of an attribute declared by one of the five forms.

    names : of attributes and of the levels of those above; the levels of this one are added.
    """
    what = f"attribute '{name}'"
    kind = one_of(form, what, FORMS)
    node = form.by_key[kind]
    for key, home, words in (
        ("width", "range", "a width with {0}; width belongs to range: [low, high]"),
        ("levels", "nested", "levels with {0}; levels belong to nested: {{name: [value, …]}}"),
    ):
        if form.get(key) is not None and kind != home:
            fail(form.key(key), f"{what} has {words.format(kind)}")
    node, levels = _nested(form, node, name, names) if kind == "nested" else (node, {})
    readers: dict[str, Callable[[YamlNode, str], tuple[tuple[str, ...], Encoding]]] = {
        "values": _values,
        "nested": partial(_values, hint=_REPEATED),
        "categories": _categories,
        "bins": read_bins,
    }
    labels, encoding = (
        read_range(node, form.get("width"), what)
        if kind == "range"
        else readers[kind](node, f"{kind} of {what}")
    )
    if (zone := form.get("zone")) is not None:
        if not (isinstance(encoding, Bins) and encoding.dates):
            fail(
                form.key("zone"), f"{what} has a zone, and no dates; zone belongs to bins or a range of dates"
            )
        with placed(zone.where):
            encoding = replace(encoding, zone=text(zone, f"zone of {what}"))
    return labels, encoding, levels


def table_value(node: YamlNode, what: str) -> TableValue:
    """A value that a table may hold: a text that is not empty, an integer, a finite number, true or false."""
    hint = "rows without a value are the business of 'missing: refuse', 'drop' or a label"
    if not isinstance(node, Scalar):
        fail(node, f"each of the {what} must be a single value, found {describe(node)}")
    value = node.value
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        shown = "an empty text" if value == "" else node.text or "nothing"
        fail(node, f"each of the {what} must be a value, found {shown}", hint)
    require(
        not isinstance(value, float) or not math.isinf(value),
        node,
        f"each of the {what} must be finite, found {node.text}",
    )
    return value


def _values(node: YamlNode, what: str, hint: str = "") -> tuple[tuple[str, ...], Values]:
    """Labels and encoding of a list of values, a cell each."""
    nodes = items(node, what)
    check_count(node, len(nodes), what)
    values: list[TableValue] = []
    labels: dict[str, YamlNode] = {}
    seen: dict[TableValue, YamlNode] = {}
    for item in nodes:
        value = table_value(item, what)
        _check_new(item, value, seen, what, hint)
        label = label_of(value)
        if label in labels:
            fail(
                item,
                f"{what}: {describe(item)} and {describe(labels[label])} would have the same label",
                "use categories: {label: [value, …]} to give them labels",
            )
        labels[label] = item
        values.append(value)
    return tuple(labels), Values(tuple(values))


def _categories(node: YamlNode, what: str) -> tuple[tuple[str, ...], Categories]:
    """Labels and encoding of a mapping from labels to the value, or the values, of their cells."""
    labelled = mapping(node, what)
    require(labelled.entries, node, f"{what} are empty, expected at least one label with its values")
    check_count(node, labelled.count, what)
    seen: dict[TableValue, YamlNode] = {}
    members = []
    for key, entry in labelled.entries:
        if isinstance(entry, Scalar) and entry.value is not None:
            nodes: tuple[YamlNode, ...] = (entry,)
        else:
            nodes = items(entry, f"category '{key.text}'")
        values = []
        for item in nodes:
            value = table_value(item, f"values of category '{key.text}'")
            _check_new(item, value, seen, what)
            values.append(value)
        members.append(tuple(values))
    # A key is its text: 1 and '1' are the same label.
    return tuple(key.text for key, _ in labelled.entries), Categories(tuple(members))


def _nested(form: Map, node: YamlNode, name: str, names: set[str]) -> tuple[ListNode, Levels]:
    """The leaves of a tree, and its levels; a leaf that is higher up is a set of its own below."""
    what = f"nested of attribute '{name}'"
    listed = record(form, f"attribute '{name}'", form.by_key, ("levels",)).by_key["levels"]
    levels = [scalar(item, f"each level of attribute '{name}'") for item in items(listed, "levels")]
    branches = [
        *(
            _branches_in_file(node, levels, name)
            if isinstance(node, Scalar) and isinstance(node.value, str)
            else _branches(node, what)
        )
    ]
    for one in itertools.chain(*branches):
        require(
            not is_block_word(one.text),
            one,
            f"{what} has '{one.text}', which is a word for a block of queries",
            "give it another name",
        )
    deepest = max(branches, key=len)
    require(
        len(deepest) == len(levels) + 1,
        deepest[-1],
        f"{what} is {len(deepest)} deep here, expected {len(levels) + 1}: "
        f"{', '.join([*(level.text for level in levels), name])}",
    )
    # With a column for each level names may repeat between branches: each has those above it in front.
    start = 0 if isinstance(column := form.get("column"), ListNode) and len(column.items) > 1 else -1
    result: Levels = {}
    for level in levels:
        require(
            level.text not in names,
            level,
            f"'{level.text}' is an attribute, or another level: queries name them alike",
        )
        names.add(level.text)
        first: dict[str, tuple[Scalar, ...]] = {}
        tops = [branch[: len(result) + 1] for branch in branches]
        result[level.text] = tuple("/".join(one.text for one in top[start:]) for top in tops)
        for top, label in zip(tops, result[level.text], strict=True):
            earlier = first.setdefault(label, top)
            require(
                [one.text for one in earlier] == [one.text for one in top],
                top[-1],
                f"level '{level.text}' has '{label}' in two branches, first in "
                f"{earlier[-1].where.inside(column=True)}",
                _REPEATED,
            )
    leaves = (
        branch[-1] if start else replace(branch[-1], text=way, value=way)
        for branch in branches
        for way in ["/".join(one.text for one in branch)]
    )
    return ListNode(node.where, len(branches), tuple(leaves)), result


def _branches(node: YamlNode, what: str, above: tuple[Scalar, ...] = ()) -> Iterator[tuple[Scalar, ...]]:
    """The names on the way to each leaf of a tree, from the top."""
    within = f"'{above[-1].text}' in {what}" if above else what
    for key, inside in (
        node.entries
        if isinstance(node, Map) and node.entries
        else [(leaf, None) for leaf in items(node, within, "without parts: {Vermont: [Addison], Guam: }")]
    ):
        branch = (*above, scalar(key, f"each value of {what}"))
        if inside is None or (isinstance(inside, Scalar) and inside.value is None):
            yield branch
        else:
            yield from _branches(inside, what, branch)


def _branches_in_file(node: Scalar, levels: Sequence[Scalar], name: str) -> Iterator[tuple[Scalar, ...]]:
    """The names in each row of a CSV file, in the columns of the levels and in that of the attribute.

    Its path is relative to the workload file. A branch ends where the fields after it are blank.
    """
    base = Path(node.where.file if node.where.line else "")
    file = base.parent / node.text
    # A text is no file, and reads none, whatever lies in the working folder: its name has no suffix.
    require(
        base.suffix and base.is_file(),
        node,
        f"'{file}' is found from the folder of a workload file; '{base}' is none",
    )
    try:
        lines = file.read_text("utf-8-sig").splitlines()
        reader = csv.DictReader(
            lines, restval="", delimiter=max(",;\t|", key="".join(lines[:1]).count), skipinitialspace=True
        )
        rows = [(reader.line_num, row) for row in reader]
    except (OSError, ValueError, csv.Error) as error:
        fail(node, f"the file '{file}' cannot be read: {getattr(error, 'strerror', None) or error}")
    require(rows, node, f"the file '{file}' has no row below its header")
    columns = (*levels, replace(node, text=name))
    header = [*(reader.fieldnames or ())]
    for level in columns:
        count = header.count(level.text)
        require(
            count == 1,
            level,
            f"the file '{file}' has {'two columns' if count else 'no column'} '{level.text}'",
            "" if count else suggest(level.text, header),
        )
    for at, row in rows:
        line = lines[at - 1]
        here = replace(node, where=Location(str(file), at, 1, line, len(line)))
        require(None not in row, here, f"this row has more fields than the header, {len(header)}")
        fields, end = {}, 0
        for column, value in row.items():
            field = value.strip()
            start = max(end, line.find(field, end))
            fields[column] = Scalar(Location(str(file), at, start + 1, line, len(field)), 1, field, field)
            end = start + len(field)
        nodes = [fields[level.text] for level in columns]
        branch = (*itertools.takewhile(lambda one: one.text, nodes),)
        require(
            branch and not any(one.text for one in nodes[len(branch) :]),
            here,
            "a level is blank above one that is not",
        )
        yield branch


def _check_new(
    item: YamlNode, value: TableValue, seen: dict[TableValue, YamlNode], what: str, hint: str = ""
) -> None:
    """Refuse a value that was seen before, with the place where; else add it."""
    if first := seen.get(value):
        shown, earlier = describe(item), describe(first)
        if shown == earlier:
            fail(item, f"{what}: {shown} appears twice, first in {first.where.inside(column=True)}", hint)
        fail(item, f"{what}: {shown} and {earlier} are the same value of a table")
    seen[value] = item


#: An inclusive run of integers: 18-64, -5--1.
RUN = re.compile(r"(-?[0-9]{1,18})-(-?[0-9]{1,18})")

_MOST_LISTED = 12  # names that a hint lists in full


@dataclass(eq=False)
class CellWords:
    """The cells of one attribute and the words for them.

    Parameters
    ----------
    name : the attribute's name.
    labels, encoding : as in ``mmopt.workloads.Attribute``; labels beyond the encoding's are of cells without
        a declared value.
    """

    name: str
    labels: tuple[str, ...]
    encoding: Encoding

    @cached_property
    def by_label(self) -> dict[str, int]:
        """The numbers of the cells by their labels."""
        return {label: i for i, label in enumerate(self.labels)}

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @property
    def declared(self) -> int:
        """Number of cells with declared values, which come first."""
        return self.encoding.size

    def find(self, node: YamlNode, others: tuple[str, ...] = (), noun: str = "value") -> tuple[int, ...]:
        """The cells that a word names.

        Parameters
        ----------
        node : a label or value of one cell, or a run of integers, both ends included; for bins of dates a
            day, month, quarter or year that is made up of cells.
        others : further words that the caller takes (groups), for the suggestion.
        noun : the possible meanings of the word, for the message.
        """
        word = scalar(node, f"a value of attribute '{self.name}'")
        if (cell := self._one(word)) is not None:
            return (cell,)
        if isinstance(self.encoding, Bins) and self.encoding.dates:
            return self._period(word, self.encoding, others, noun)
        if isinstance(word.value, str) and (run := RUN.fullmatch(word.value)):
            return self._run(word, int(run.group(1)), int(run.group(2)))
        value = word.value
        if isinstance(value, int) and not isinstance(value, bool) and isinstance(self.encoding, Bins):
            alone = [i for i, ends in self._integers.items() if ends == (value, value)]
            if alone:
                return (alone[0],)
        fail(word, f"attribute '{self.name}' has no {noun} {_spelled(word)}", self._hint(word, others))

    def find_one(self, node: YamlNode) -> int | None:
        """The one cell with this label or value, or None."""
        return self._one(node) if isinstance(node, Scalar) and node.value is not None else None

    def _one(self, word: Scalar) -> int | None:
        """The cell with this label, or of this number in ``values``; None where there is none."""
        assert word.value is not None
        cell = self.by_label.get(label_of(word.value))
        if cell is None and isinstance(self.encoding, Values) and _numeric(word.value):
            # 1 and 1.0 are the same table value.
            cell = self._by_number.get(word.value)
        return cell

    @cached_property
    def _by_number(self) -> dict[object, int]:
        """The cells of the numbers among ``values``."""
        assert isinstance(self.encoding, Values)
        return {value: i for i, value in enumerate(self.encoding.values) if _numeric(value)}

    @cached_property
    def _integers(self) -> dict[int, tuple[int, int]]:
        """First and last integer of each cell that is a run of integers."""
        if isinstance(self.encoding, Bins):
            if any(math.isfinite(edge) and not edge.is_integer() for edge in self.encoding.edges):
                return {}
            return {
                i: (int(a), int(b) - 1)
                for i, (a, b) in enumerate(itertools.pairwise(self.encoding.edges))
                if math.isfinite(b - a)
            }
        if isinstance(self.encoding, Values):
            return {
                i: (v, v)
                for i, v in enumerate(self.encoding.values)
                if isinstance(v, int) and not isinstance(v, bool)
            }
        return {}

    def _run(self, word: Scalar, first: int, last: int) -> tuple[int, ...]:
        """The cells of the integers first to last, which are all of their integers."""
        if not self._integers:
            fail(
                word,
                f"the run {word.text} needs a cell per integer or bins with integer edges, "
                f"attribute '{self.name}' has neither",
                self._hint(word, ()),
            )
        require(first <= last, word, f"the run {word.text} goes down, expected {last}-{first}")
        for end, side, edges in (
            (first, "starts", sorted({low for low, _ in self._integers.values()})),
            (last, "ends", sorted({high for _, high in self._integers.values()})),
        ):
            if end not in edges:
                nearest = min(edges, key=lambda value, end=end: abs(value - end))  # type: ignore[misc]
                fail(
                    word,
                    f"the run {word.text} {side} at {end}, where no cell of attribute '{self.name}' {side}",
                    f"the nearest cell {side} at {nearest}; both ends of a run are included",
                )
        return tuple(i for i, (low, high) in self._integers.items() if first <= low and high <= last)

    def _period(self, word: Scalar, bins: Bins, others: tuple[str, ...], noun: str) -> tuple[int, ...]:
        """The cells that make up a period of the calendar."""
        try:
            period = period_days(word.text)
        except ValueError as error:
            fail(word, f"{word.text} is not a date: {error}")
        if period is None:
            fail(word, f"attribute '{self.name}' has no {noun} {_spelled(word)}", self._hint(word, others))
        first, end = (bisect.bisect_left(bins.edges, day) for day in period)
        if first >= end or [bins.edges[first], bins.edges[min(end, bins.size)]] != list(period):
            fail(
                word,
                f"{word.text} is not made up of cells of attribute '{self.name}'",
                f"the cells are {', '.join(bins.labels()[:3])}{', …' if bins.size > 3 else ''}",
            )
        return tuple(range(first, end))

    def _hint(self, word: Scalar, others: tuple[str, ...]) -> str:
        """A hint for a word that names no cell: the cell that its value lies in, or the nearest word."""
        value, encoding = word.value, self.encoding
        if isinstance(encoding, Categories):
            for i, members in enumerate(encoding.members):
                if value in members:
                    return f"it belongs to the category '{self.labels[i]}': name the category"
        if isinstance(encoding, Bins) and _numeric(value):
            for i, (low, high) in enumerate(itertools.pairwise(encoding.edges)):
                if low <= value < high:
                    return f"it lies inside the cell '{self.labels[i]}'"
            first, last = encoding.edges[0], encoding.edges[-1]
            if math.isinf(first):
                return f"the cells end below {last:.12g}"
            return f"the cells go from {first:.12g}" + f" to below {last:.12g}" * math.isfinite(last)
        # Comparing with thousands of labels takes seconds; those of a long range are not misspelt words.
        words = (*others, *self.labels[:1000])
        hint = suggest(word.text, words)
        if hint.startswith("known") and len(words) > _MOST_LISTED:
            return f"known: {', '.join(words[: _MOST_LISTED - 2])}, …, {self.labels[-1]}"
        return hint


def _numeric(value: object) -> TypeGuard[int | float]:
    """Whether the value is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _spelled(word: Scalar) -> str:
    """The word for a message: texts in quotes."""
    return f"'{word.text}'" if isinstance(word.value, str) else word.text


#: Blocks of queries on one attribute that are made from its size alone.
BLOCK_WORDS: dict[str, Callable[[int], Factor]] = {
    "identity": identity,
    "total": total,
    "prefix": prefix,
    "all_range": all_range,
    "haar": haar,
    "hierarchy": hierarchy,
}

#: Blocks over all cells; the others rest on the order of the declared cells, and added cells have none.
OF_ALL_CELLS = ("identity", "total")

#: Blocks with a size and a number: ``{width_range: 5}``.
BLOCK_NUMBERS: dict[str, Callable[[int, int], Factor]] = {
    "width_range": width_range,
    "hierarchy": hierarchy,
}


def block_of(word: str, number: tuple[int, ...], cells: CellWords) -> Factor:
    """The block of this word: of a size, and of a number where it takes one.

    WorkloadError for a number or a size that it does not take.
    """
    if word in OF_ALL_CELLS:
        return BLOCK_WORDS[word](cells.size)
    return padded(
        BLOCK_NUMBERS[word](cells.declared, *number) if number else BLOCK_WORDS[word](cells.declared),
        cells.size,
    )


def is_block_word(text: str) -> bool:
    """Whether the word is a block of queries, so that no value, group or list may have it as its name."""
    return text in BLOCK_WORDS or text in BLOCK_NUMBERS
