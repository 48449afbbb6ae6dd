"""A first workload file, drafted from the columns of a table.

``schema_columns`` and ``public_forms`` describe the columns: by name and type, those of a public table also
by their values. A ``Draft`` is the file that is made of them; what the columns do not tell stays open:
``FILL-IN``.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from mmopt.data.cell_codes import USUAL_WORDS, is_instant, shown_type, uncounted_hint, without_words
from mmopt.data.open_table import open_table
from mmopt.data.table_files_and_connections import csv_header, is_url, shown_source, table_file
from mmopt.errors import DataError, OptionError
from mmopt.request.workload_file_and_arguments import parse_request
from mmopt.request.yaml_tree import OPEN, YamlText, parse_tree

MOST_COLUMNS = 1000
LONGEST_NAME = 150  # letters; a key of YAML has 1024 at most, and a letter may be spelled with six
MOST_VALUES = 20  # values that are listed one by one
CELLS = 20  # about this number of cells for a range of numbers
BY_MONTH = 3  # years up to which dates are counted by month
UNWRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # in no text of a workload file
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?")
UNNAMED = (
    f"its name is blank, <<, appears twice, or has over {LONGEST_NAME} letters or some that are not printed; "
    "rename it in the table"
)
UNTYPED = ("csv", "sqlite")  # kinds of files whose columns may hold any value in any row


def schema_columns(
    data: str | Path, table: str | None = None
) -> tuple[dict[str, str], Mapping[str, Sequence[str]], dict[str, str]]:
    """Kinds of columns by name; the values that the schema lists; and why other columns are no attribute.

    A kind is ``values``, ``numbers``, ``dates``, ``instants``, ``truth`` or ``unknown``, by the type alone.
    ``data`` is a path, or the URL of a database. Only names and types are read: the first line of a text
    file, the schema of any other. Columns without a unique name, or with one that no workload file can
    contain, have no kind.

    Raises
    ------
    DataError : as ``data_vector``; more than ``MOST_COLUMNS`` columns, or none.
    """
    file = None if is_url(data) else table_file(data)
    values: Mapping[str, Sequence[str]] = {}
    uncounted = {}
    if file is not None and file.kind == "csv" and table is None:
        names: Sequence[str] = csv_header(file, (), None)[1]
        kinds = ["unknown"] * len(names)
    else:
        with open_table(data, {}, table) as opened:
            names, values = opened.names, opened.values
            kinds = ["unknown"] * len(names)
            if file is None or file.kind not in UNTYPED:
                rows = opened.select(range(len(names)))
                kinds = [_kind(kind) for kind in rows.schema().types]
                uncounted = {
                    name: f"of type {shown_type(rows[i].type())}; {hint}"
                    for i, name in enumerate(names)
                    if (hint := uncounted_hint(rows[i], name))
                } | dict.fromkeys(opened.closed, "this user has no right to read it")
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{shown_source(data)}: {len(names):,} columns, and a draft has at most {MOST_COLUMNS:,}",
            hint="write the workload file for the columns that queries are about",
        )
    times = Counter(names)
    usable = {
        name: kind
        for name, kind in zip(names, kinds, strict=True)
        if name.strip()
        and times[name] == 1
        # A workload file can have such a key.
        and name != "<<"
        and len(name) <= LONGEST_NAME
        and not UNWRITTEN.search(name)
    }
    if not usable:
        raise DataError(f"{shown_source(data)}: no column has a name of its own")
    uncounted |= dict.fromkeys(times.keys() - usable, UNNAMED)
    return usable, values, uncounted


#: The kinds of columns, each with the Ibis types of its columns, as ``is_boolean`` and so on name them.
_TYPES_BY_KIND = {
    "truth": ("boolean",),
    "numbers": ("numeric",),
    "dates": ("date", "timestamp"),
    "values": ("string", "uuid"),
}


def _kind(type_: Any) -> str:
    """The kind of a column of this Ibis type."""
    if is_instant(type_):
        return "instants"
    fits = (kind for kind, names in _TYPES_BY_KIND.items() if any(getattr(type_, f"is_{n}")() for n in names))
    return next(fits, "unknown")


def public_forms(
    data: str | Path, kinds: Mapping[str, str], table: str | None = None
) -> dict[str, dict[str, Any]]:
    """Column name -> the keys of a form that holds all its values; for public tables.

    Few values are listed, ranges of numbers and dates have round ends; a column of many texts has no form.

    Raises
    ------
    DataError : as ``data_vector``.
    """
    with open_table(data, dict.fromkeys(kinds, "to draft a form"), table) as opened:
        rows, columns = opened.rows()
        # A stream of rows can be read once only, and a column is used several times.
        with rows.select(**{f"c{i}": column for i, column in enumerate(columns.values())}).cache() as stored:
            forms = {name: _form(stored[f"c{i}"]) for i, name in enumerate(columns)}
    return {name: form for name, form in forms.items() if form}


def _form(given: Any, words: Sequence[str] = USUAL_WORDS) -> dict[str, Any]:
    """The keys of a column's form: ``values``, or ``range`` and ``width``; where any is missing ``missing``.

    words : for a missing value, where numbers or dates are; among texts that are listed they are values.
    """
    table = (without_words(given, words) if given.type().is_string() else given).as_table()
    column = table[table.columns[0]]
    kind = _kind(column.type())
    values = [row.as_py() for row in table.distinct().limit(MOST_VALUES + 2).to_pyarrow().column(0)]
    present = [value for value in values if value is not None]
    missing = {"missing": {"cell": "missing"}} if column.isnull().any().execute() else {}
    if (
        kind == "values"
        and all(NUMBER.fullmatch(value) for value in present)
        and len(numbers := {float(v) if "." in v else int(v) for v in present}) == len(present)
    ):  # else some are 1 and 1.0, texts with a difference
        present = list(numbers)
    elif kind == "values" and words and len(present) <= MOST_VALUES:
        return _form(given, ())
    if not present:
        return {}
    is_listed = kind in ("values", "truth") or all(isinstance(value, int) for value in present)
    if is_listed and len(present) <= MOST_VALUES:
        return {"values": sorted(present, key=_place), **missing}
    for kinds, cast, form in (
        (("values", "numbers"), "float64", _range_of_numbers),
        (("values", "dates"), "date", _range_of_dates),
    ):
        if kind not in kinds:
            continue
        converted = column.try_cast(cast)
        if not (converted.isnull() & column.notnull()).any().execute():
            low, high = converted.min().execute(), converted.max().execute()
            return {**form(low, high), **missing} if form(low, high) else {}
    return {}


def _place(value: Any) -> Any:
    """The place of a value among those of a list: numbers in texts are compared as numbers."""
    if not isinstance(value, str):
        return value
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", value))]


def _range_of_numbers(low: float, high: float) -> dict[str, Any]:
    """Round ends and a width of 1, 2 or 5 times a power of ten, for about ``CELLS`` cells."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return {}
    least = max(high - low, 1.0) / CELLS
    power = math.floor(math.log10(least))
    digit = next(digit for digit in (1, 2, 5, 10) if digit * 10.0**power >= least * (1 - 1e-9))
    width = digit * 10.0**power
    ends = (math.floor(low / width), math.floor(high / width) + 1)
    return {"range": [_short(end * width) for end in ends], "width": _short(width)}


def _short(value: float) -> float:
    """The number in 12 digits, as an integer where it is one."""
    number = float(f"{value:.12g}")
    return int(number) if number.is_integer() else number


def _range_of_dates(low: Any, high: Any) -> dict[str, Any]:
    """Whole years, by month or by year; no form where the last year is the last of the calendar."""
    if high.year == date.max.year:
        return {}
    first, end = date(low.year, 1, 1), date(high.year + 1, 1, 1)
    return {
        "range": [first.isoformat(), end.isoformat()],
        "width": "month" if end.year - first.year <= BY_MONTH else "year",
    }


#: By kind of a column: the form of its attribute, and the comment on how to fill it in.
FORMS_BY_KIND = {
    "values": (f"{{values: {OPEN}}}", "every value that may occur: [Female, Male]"),
    "numbers": (
        f"{{range: {OPEN}, width: {OPEN}}}",
        "[0, 100] by 5 are the cells [0, 5), …, [95, 100); or instead {bins: [0, 18, 65, open]}",
    ),
    "dates": (f"{{range: {OPEN}, width: month}}", "[2020-01-01, 2025-01-01]; or by day, week, quarter, year"),
    "instants": (
        f"{{range: {OPEN}, width: month, zone: {OPEN}}}",
        "[2020-01-01, 2025-01-01], or by day, week, quarter, year; and whose days: Europe/Berlin",
    ),
    "truth": ("{values: [true, false]}", ""),
    "unknown": (
        OPEN,
        "{values: [Female, Male]}, {range: [0, 100], width: 5}, {bins: [0, 18, open]} or "
        "{range: [2020-01-01, 2025-01-01], width: month}",
    ),
}

FROM_NAMES = (
    "the names and types of its columns; no value was read.",
    "Take the values and ranges from something public (a form, a code book), not from the table:",
    "the guarantee does not cover a domain that is read off private rows.",
)
FROM_VALUES = (
    "its values, which may be seen, as --public says.",
    "For a private table of the same columns, write what is publicly known instead.",
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = ("true", "false", "null")  # of YAML
# Characters that are invisible, or turn the direction of the text after them, are spelled out.
_ESCAPED = re.compile("[\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")


@dataclass(frozen=True)
class Draft:
    """The contents of a drafted workload file.

    Attributes
    ----------
    source : the table, for the first line. table : of the key ``data``.
    attributes : name, form and comment of each, in the order of the columns; a form may be one of
        ``FORMS_BY_KIND``.
    is_public : whether forms may rest on the table's values. has_texts : whether a column may hold texts:
        then the usual words for missing are listed, whether or not the table has them.
    omitted : why a column is no attribute, by name.
    """

    source: str
    attributes: tuple[tuple[str, str, str], ...]
    table: str | None = None
    is_public: bool = False
    has_texts: bool = False
    omitted: Mapping[str, str] = field(default_factory=dict)

    @property
    def open_names(self) -> list[str]:
        """Attributes that have places to be filled."""
        return [name for name, form, _ in self.attributes if _is_open(form)]

    def text(self) -> str:
        """The text of the workload file; it is read, and so checked, where nothing in it is open.

        Raises
        ------
        WorkloadError, TooLargeError : as ``parse_request``.
        """
        about = FROM_VALUES if self.is_public else FROM_NAMES
        table = [] if self.table is None else [f"table: {_quoted(self.table)}"]
        data = [*table, null_key(USUAL_WORDS)] if self.has_texts else table
        write = f"# Replace each {OPEN}; 'mmopt check' names those that are left."
        drop = "outside: drop, missing: drop"
        where, drop = (" to data, above", drop) if data else ("", f"data: {{{drop}}}")
        lines = [
            f"# Drafted by mmopt init from {spelled(self.source)}: {about[0]}",
            *(f"# {line}" for line in about[1:]),
            *([write] if self.open_names else []),
            "# Delete the line of a column that no query is about. More forms: python -m pydoc mmopt.request",
            "domain:",
            *(
                f"  {spelled(name)}: {form}" + (f"  # {comment}" if comment and _is_open(form) else "")
                for name, form, comment in self.attributes
            ),
            *(f"  # {spelled(name)}: {words}" for name, words in self.omitted.items()),
            "workload:",
            "  - marginals: {ways: [0, 1]}  # the number of rows, and each attribute's cells",
            *(
                ["# Words that no attribute declares as a value stand for a missing one:"]
                if self.has_texts
                else []
            ),
            *([f"data: {{{', '.join(data)}}}"] if data else []),
            f"# A row with another value, or with none, stops a release. To leave such rows out, add{where}:",
            f"#   {drop}",
            "# unit: {column: person, rows: 3}  # if one person may have several rows",
            "# privacy: {epsilon: 1.0, delta: 1.0e-6}  # what may be spent: your decision",
        ]
        text = "\n".join(lines) + "\n"
        if not self.open_names:
            parse_request(text, "the draft")
        return text


def check_form(name: str, form: str) -> None:
    """Raise WorkloadError or TooLargeError for no form of an attribute, OptionError for several lines."""
    if "\n" in form or "\r" in form:
        raise OptionError(f"the form of '{name}' has several lines, expected one")
    parse_tree(YamlText.of(form, f"the form of '{name}'"))  # a mistake in its marks is shown in this text
    parse_request(f"domain:\n  {spelled(name)}: {form}\nworkload: [{{product: {{}}}}]\n", "the draft")


def spelled(value: str | float | bool) -> str:
    """The text of a value or a name in the file, from which it is read back equal."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)


def mapping_text(keys: Mapping[str, Any]) -> str:
    """A mapping of texts, numbers, lists and mappings of them, as one line of the file."""

    def one(value: Any) -> str:
        if isinstance(value, Mapping):
            return mapping_text(value)
        return f"[{', '.join(map(one, value))}]" if isinstance(value, list) else spelled(value)

    return f"{{{', '.join(f'{spelled(key)}: {one(value)}' for key, value in keys.items())}}}"


def _is_open(form: str) -> bool:
    """Whether a form has a place that is to be filled in."""
    return form in {open_form for open_form, _ in FORMS_BY_KIND.values() if OPEN in open_form}


def _quoted(text: str) -> str:
    """The text in double quotes, with escapes that both JSON and YAML have."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))


def null_key(words: Sequence[str]) -> str:
    """The key of ``data`` with words for missing."""
    return f"null: [{', '.join(map(spelled, words))}]"
