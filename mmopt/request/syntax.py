"""The YAML parser's complaints, in words that say what to do."""

from __future__ import annotations

from ruamel.yaml.error import MarkedYAMLError

from mmopt.errors import WorkloadError
from mmopt.request.text import Text

__all__ = ["syntax_error"]

# A part of the parser's message, what it means here. The first that fits is used; "{line}" is the line
# where the parser began the construct that failed.
_MEANINGS = (
    ("found character '\\t'", "a tab character", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a ':' that starts a second value here",
        "a text with ': ' in it needs quotes; else check the indentation of this line and the one above",
    ),
    (
        "expected <block end>",
        "this line does not fit the indentation of the lines above",
        "entries of one list or mapping start in the same column",
    ),
    (
        "expected ',' or ']'",
        "the list opened with '[' in line {line} is not closed before this",
        "add ']' or ','",
    ),
    (
        "expected ',' or '}'",
        "the mapping opened with '{{' in line {line} is not closed before this",
        "add '}' or ','",
    ),
    ("found unexpected end of stream", "the quotes opened here are never closed", "close them"),
    (
        "could not find expected ':'",
        "a key without ':'",
        "write 'key: value'; several-line keys are not allowed",
    ),
    (
        "expected '<document start>'",
        "something after the end of the file's first value",
        "a workload file is one mapping with the keys domain and workload",
    ),
    ("incompatible YAML document", "another version of YAML is asked for", "workload files are YAML 1.2"),
    (
        "found unknown escape character",
        "an escape that YAML does not know",
        "write the text in single quotes, where \\ is itself",
    ),
    ("that cannot start any token", "a character that cannot start a value", "write the text in quotes"),
)


def syntax_error(error: MarkedYAMLError, text: Text) -> WorkloadError:
    """A WorkloadError at the place where the parser stopped."""
    problem = str(error.problem or error.context or "not YAML")
    mark = error.problem_mark or error.context_mark
    if "found unexpected end of stream" in problem:
        mark = error.context_mark  # the end of the file says nothing, the opening quotes do
    where = text.at(mark.line, mark.column) if mark is not None else text.at(0, 0)
    opened = error.context_mark.line + 1 if error.context_mark is not None else where.line
    for part, meaning, hint in _MEANINGS:
        if part in problem:
            return WorkloadError(f"not valid YAML: {meaning.format(line=opened)}", where=where, hint=hint)
    return WorkloadError(f"not valid YAML: {problem}", where=where)
