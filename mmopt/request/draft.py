"""A first workload file, drafted from the columns of a table; what is not known stays open: ``FILL-IN``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmopt.errors import OptionError
from mmopt.request.workload_file import parse_request
from mmopt.request.yaml_nodes import OPEN

__all__ = ["KINDS", "Draft", "check_form", "spelled", "written"]

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
"""By kind of a column: the form of its attribute, and the comment that says what to fill in."""

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
# What shows nothing, or turns the direction of what follows, is seen only if it is spelled out.
_ESCAPED = re.compile("[\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")


@dataclass(frozen=True)
class Draft:
    """Attributes in the order of the columns: name and form, a form of ``KINDS`` with its comment.

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
        """The workload file; it is read, and so checked, where nothing in it is open.

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
    """WorkloadError, TooLargeError for what is no form of an attribute; OptionError for several lines."""
    if "\n" in form or "\r" in form:
        raise OptionError(f"the form of '{name}' has several lines, expected one")
    parse_request(f"domain:\n  {spelled(name)}: {form}\nworkload: [{{product: {{}}}}]\n", "the draft")


def spelled(value: str | float | bool) -> str:
    """A value or a name as the file writes it, so that it is read back as it is."""
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
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))
