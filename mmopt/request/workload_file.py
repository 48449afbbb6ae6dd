"""A workload file as a whole, read and drafted.

A ``Request`` holds its contents: the queries, their domain, and the privacy. A ``Draft`` is a first workload
file from the columns of a table; values that the columns do not tell stay open: ``FILL-IN``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mmopt.errors import OptionError, PrivacyError, placed
from mmopt.notebook import Tabular
from mmopt.privacy.guarantee import Privacy, privacy_fault
from mmopt.request.domain_keys import Rules, TableOptions, read_domain, read_rules
from mmopt.request.python_values import FILE_KEYS, file_node, united
from mmopt.request.query_keys import read_products, read_vocabularies
from mmopt.request.yaml_nodes import (
    OPEN,
    Map,
    YamlNode,
    fail,
    integer,
    number,
    one_of,
    read_choice,
    record,
    text,
    too_large,
)
from mmopt.request.yaml_tree import YamlText, decode, parse_tree, read_bytes
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload

_OF_A_PERSON = ("rows", "participation")
_NEIGHBOURS = (
    *("add-remove", "replace-one", "{rows: k}"),
    "{participation: {separation: b, at_most: k}}",
)
_KEYS = ("domain", "predicates", "workload", "normalise", "privacy", "unit", "neighbours", "data")


@dataclass(frozen=True, repr=False)
class Request(Tabular):
    """The contents of a workload file.

    Parameters
    ----------
    workload : domain, queries, weights and targets.
    privacy : the privacy to spend, or None.
    neighbours : which tables are neighbours, or those of its unit; None where the file has neither: then they
        are those of the program.
    path : the file, as given; "<Python>" for a dictionary.
    text_hash : sha256 of the file's bytes, hex; the workload's hash for a dictionary.
    table : how a table is read; ``data_vector`` takes its fields as keyword arguments.
    """

    workload: Workload
    privacy: Privacy | None
    neighbours: Neighbours | None
    path: str
    text_hash: str
    table: TableOptions = field(default_factory=TableOptions)

    def __repr__(self) -> str:
        privacy = "no privacy" if self.privacy is None else f"{self.privacy}"
        return f"Request({self.path}: {self.workload!r}, {privacy})"

    @staticmethod
    def of(described: Mapping[str, object] | None = None, /, **keys: object) -> Request:
        """The Request of a dictionary with the keys of a workload file; errors as ``mmopt.Workload.of``.

        >>> import mmopt
        >>> request = mmopt.Request.of(
        ...     domain={"age": {"bins": [0, 18, 65]}}, workload=[{"marginal": ["age"]}], privacy={"rho": 0.5}
        ... )
        >>> request.privacy
        Privacy(epsilon=None, delta=None, rho=0.5)
        """
        given = {key: value for key, value in keys.items() if value is not None}
        request = read_request(file_node(united(described, given, FILE_KEYS)), "<Python>", "")
        return replace(request, text_hash=request.workload.hash)


def load_request(path: str | os.PathLike[str]) -> Request:
    """Read a workload file.

    Raises
    ------
    WorkloadError : the file cannot be read, or is no workload; with file, line and column.
    PrivacyError : its privacy parameters are invalid.
    TooLargeError : its domain or its explicit predicates pass a limit.
    """
    file = os.fspath(path)
    data = read_bytes(file)
    return _read(decode(data, file), file, hashlib.sha256(data).hexdigest())


def parse_request(text: str, file: str = "<text>") -> Request:
    """Read the text of a workload file; ``file`` is the name that errors show. Raises as ``load_request``."""
    return _read(text, file, hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest())


def _read(content: str, file: str, text_hash: str) -> Request:
    return read_request(parse_tree(YamlText.of(content, file)), file, text_hash)


def read_request(node: YamlNode, file: str, text_hash: str) -> Request:
    """The Request in the root of a file; ``file`` and ``text_hash`` become its fields."""
    root = record(node, "a workload file", _KEYS, ("domain", "workload"))
    rules, table = root.read("data", read_rules, (Rules(), TableOptions()))
    domain, cells = read_domain(root.by_key["domain"], rules)
    vocabularies = read_vocabularies(root.get("predicates"), domain, cells)
    node = root.by_key["workload"]
    products = read_products(node, domain, vocabularies)
    if (count := sum(product.m for product in products)) >= 2**62:
        too_large(node, f"the workload has {float(count):.3g} queries, more than fit into 64-bit numbers")
    with placed(node.where):
        workload = Workload.from_products(domain, products)
    if root.read("normalise", lambda rows: read_choice(rows, "normalise", ("rows",)), ""):
        with placed(node.where):
            workload = workload.normalised()
    neighbours = None
    if (statement := root.get("neighbours")) is not None:
        if (unit := root.get("unit")) is not None:
            there = unit.where.inside(column=True)
            fail(statement, f"neighbours and unit ({there}) both say what is protected", "keep one of them")
        neighbours = _neighbours(statement)
        with placed(statement.where):
            neighbours.over(workload)
    elif (statement := root.get("unit")) is not None:
        neighbours = _unit(statement)
        if neighbours.column and table.weight is not None:
            fail(
                statement,
                f"unit has the column '{neighbours.column}' of persons, and data the weight "
                f"'{table.weight}': the rows of a line are not told apart",
                "use the table before it was aggregated, or 'unit: {rows: k}' where nobody has more",
            )
    return Request(workload, root.read("privacy", _privacy, None), neighbours, file, text_hash, table)


def _privacy(node: YamlNode) -> Privacy | None:
    fields = record(node, "privacy", ("epsilon", "delta", "rho"))
    given: dict[str, float] = {
        key.text: number(value, key.text, finite=False) for key, value in fields.entries
    }
    fault = privacy_fault(given.get("epsilon"), given.get("delta"), given.get("rho"))
    if fault is not None:
        place: YamlNode = fields.by_key.get(fault.field, node)
        raise PrivacyError(fault.message, where=place.where, hint=fault.hint)
    return Privacy(**given)


def _unit(node: YamlNode) -> Neighbours:
    fields = record(node, "unit", ("column", "rows"), ("rows",))
    column = fields.read("column", lambda name: text(name, "column of unit"), "")
    try:
        return Neighbours("rows", integer(fields.by_key["rows"], "rows"), column=column)
    except OptionError as error:
        fail(fields.by_key["rows"], error.message.replace("of neighbours", "of unit"), error.hint)


def _neighbours(node: YamlNode) -> Neighbours:
    value: Any
    if not isinstance(node, Map):
        value = read_choice(node, "neighbours", _NEIGHBOURS)
    else:
        neighbours = record(node, "neighbours", _OF_A_PERSON)
        kind = one_of(neighbours, "neighbours", _OF_A_PERSON)
        content = neighbours.by_key[kind]
        if kind == "rows":
            value = {kind: integer(content, kind)}
        else:
            keys = ("separation", "at_most")
            inner = record(content, kind, keys, keys)
            value = {kind: {key: integer(inner.by_key[key], key) for key in keys}}
    try:
        return Neighbours.of(value)
    except OptionError as error:
        fail(node, error.message, error.hint)


KINDS = {
    "values": (f"{{values: {OPEN}}}", "every value that may occur: [Female, Male]"),
    "numbers": (
        f"{{range: {OPEN}, width: {OPEN}}}",
        "[0, 100] by 5 are the cells [0, 5), …, [95, 100); or instead {bins: [0, 18, 65, open]}",
    ),
    "dates": (f"{{range: {OPEN}, width: month}}", "[2020-01-01, 2025-01-01]; or by day, week, quarter, year"),
    "truth": ("{values: [true, false]}", ""),
    "unknown": (
        OPEN,
        "{values: [Female, Male]}, {range: [0, 100], width: 5}, {bins: [0, 18, open]} or "
        "{range: [2020-01-01, 2025-01-01], width: month}",
    ),
}
"""By kind of a column: the form of its attribute, and the comment on how to fill it in."""

FROM_NAMES = (
    "the names and types of its columns; no value was read.",
    "Which values there are, and between which ends, is to come from what is public (a form, a code book),",
    "not from the table: a domain that is read off private rows is not covered by the guarantee.",
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
    """Attributes in the order of the columns: name, form and comment; the form may be one of ``KINDS``.

    table : of the key ``data``. is_public : whether forms may rest on values.
    """

    source: str
    attributes: tuple[tuple[str, str, str], ...]
    table: str | None = None
    is_public: bool = False

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
        lines = [f"# Drafted by mmopt init from {spelled(self.source)}: {about[0]}"]
        lines += [f"# {line}" for line in about[1:]]
        if self.open_names:
            lines += [
                f"# Write what is meant in place of each {OPEN}: 'mmopt check' names the first that is left."
            ]
        lines += [
            "# Delete the line of a column that no query is about. More forms: python -m pydoc mmopt.request",
            "domain:",
        ]
        for name, form, comment in self.attributes:
            note = f"  # {comment}" if comment and _is_open(form) else ""
            lines.append(f"  {spelled(name)}: {form}{note}")
        lines += [
            "workload:",
            "  - marginals: {ways: [0, 1]}  # the number of rows, and each attribute's cells",
            *([f"data: {{table: {_quoted(self.table)}}}"] if self.table is not None else []),
            "# Rows with other values, or none, stop a release unless data says",
            "# {outside: drop, missing: drop}.",
            "# unit: {column: person, rows: 3}  # where a person, named by a column, may have several rows",
            "# privacy: {epsilon: 1.0, delta: 1.0e-6}  # what may be spent: a decision, to be written here",
        ]
        text = "\n".join(lines) + "\n"
        if not self.open_names:
            parse_request(text, "the draft")
        return text


def check_form(name: str, form: str) -> None:
    """Raise WorkloadError or TooLargeError for no form of an attribute, OptionError for several lines."""
    if "\n" in form or "\r" in form:
        raise OptionError(f"the form of '{name}' has several lines, expected one")
    parse_request(f"domain:\n  {spelled(name)}: {form}\nworkload: [{{product: {{}}}}]\n", "the draft")


def spelled(value: str | float | bool) -> str:
    """The text of a value or a name in the file, from which it is read back equal."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)


def written(keys: Mapping[str, Any]) -> str:
    """A mapping of texts, numbers, lists and mappings of them, as one line of the file."""

    def one(value: Any) -> str:
        if isinstance(value, Mapping):
            return written(value)
        return f"[{', '.join(map(one, value))}]" if isinstance(value, list) else spelled(value)

    return f"{{{', '.join(f'{spelled(key)}: {one(value)}' for key, value in keys.items())}}}"


def _is_open(form: str) -> bool:
    return form in {open_form for open_form, _ in KINDS.values() if OPEN in open_form}


def _quoted(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))
