"""``mmopt init DATA``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import check_out
from mmopt.cli.command_options import DatabaseTable, names_in
from mmopt.cli.command_output import escaped, note
from mmopt.errors import Error, OptionError, ResultError, suggest

__all__ = ["init"]

SKIP = "skip"
VALUE = re.compile(r"[-+]?[0-9][0-9.,:/ -]*")  # more often a value than a name
QUESTIONS = {
    "values": ("every value that may occur, such as Female, Male", "{{values: [{}]}}"),
    "numbers": ("smallest, largest and width, such as 0, 100, 5", "{{range: [{}, {}], width: {}}}"),
    "dates": (
        "first day, day after the last, width, such as 2020-01-01, 2025-01-01, month",
        "{{range: [{}, {}], width: {}}}",
    ),
}


def init(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Table: .csv, .tsv, .txt, .parquet, DuckDB or SQLite file; or postgres://USER@HOST/DATABASE.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE.yaml", help="Write the draft there; it must not exist yet.")
    ] = Path("workload.yaml"),
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FORM",
            help="What is publicly known of a column, as the file writes it: 'age={range: [0, 100], width: "
            "5}', 'sex={values: [F, M]}'; or NAME=skip. May be repeated.",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="A,B", help="These columns alone, separated by commas.")
    ] = None,
    table: DatabaseTable = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="The table is public: read its values too, and propose forms that hold them."
        ),
    ] = False,
    ask: Annotated[
        bool | None,
        typer.Option("--ask/--no-ask", help="Ask for what is open. Default: at a terminal."),
    ] = None,
) -> None:
    """Draft a workload file from a table's column names and types, never from its values.

    What must come from public knowledge is asked for at a terminal, or stays open: FILL-IN, beside a comment
    that says what belongs there. 'mmopt check' names the first that is left.
    """
    from mmopt.data import column_kinds, shown_source
    from mmopt.request.draft import KINDS, Draft, check_form

    check_out(out, example="workload.yaml")
    if os.path.lexists(out):
        raise OptionError(
            f"'{out}' exists already, and a draft replaces nothing", hint="name another with --out"
        )
    kinds = column_kinds(data, table)
    if odd := [f"'{name}'" for name, kind in kinds.items() if kind == "unknown" and VALUE.fullmatch(name)]:
        note(
            f"warning: named like values: {', '.join(odd)}. Where the first line of a table holds no names, "
            "it is a row of values, and the draft shows it: add a line of names, and draft again"
        )
    wanted = names_in(only, "--only") or list(kinds)
    given = _given(column, kinds)
    for name in [*wanted, *given]:
        if name not in kinds:
            raise OptionError(f"{shown_source(data)}: no column '{name}'", hint=suggest(name, kinds))
    for name, form in given.items():
        if form != SKIP:
            check_form(name, form)
    left = {name: kind for name, kind in kinds.items() if name in wanted and name not in given}
    if public:
        given |= _proposed(data, left, table)
    elif sys.stdin.isatty() if ask is None else ask:
        given |= _asked(left)
    attributes = tuple(
        (name, given.get(name, KINDS[kinds[name]][0]), KINDS[kinds[name]][1])
        for name in kinds
        if name in wanted and given.get(name) != SKIP
    )
    if not attributes:
        raise OptionError("every column is left out", hint="keep at least one")
    draft = Draft(Path(shown_source(data)).name, attributes, table, is_public=public)
    text = draft.text()
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ResultError(f"'{out}' cannot be written: {error.strerror}") from None
    note(f"written: {out} ({len(attributes)} attributes)")
    if draft.open_names:
        note(f"to be filled in: {', '.join(draft.open_names)}")
    note(f"next: mmopt check {out}")


def _given(texts: list[str] | None, kinds: Mapping[str, str]) -> dict[str, str]:
    forms: dict[str, str] = {}
    for text in texts or ():
        # A name may hold '=' too.
        names = [name for name in kinds if text.startswith(f"{name}=")]
        name = max(names, key=len, default=text.partition("=")[0])
        form = text[len(name) + 1 :].strip()
        if not form:
            raise OptionError(f"--column is '{text}', expected NAME=FORM", hint="'sex={values: [F, M]}'")
        if name in forms:
            raise OptionError(f"--column names '{name}' twice", hint="keep one of them")
        forms[name] = form
    return forms


def _proposed(data: str, left: Mapping[str, str], table: str | None) -> dict[str, str]:
    """Forms that hold the values of a public table, as far as the file can write them."""
    from mmopt.data import public_forms
    from mmopt.request.draft import check_form, written

    forms = {}
    for name, keys in public_forms(data, left, table).items() if left else ():
        try:
            check_form(name, written(keys))
        except Error as error:
            note(f"{name}: left open: {error.message}")
            continue
        forms[name] = written(keys)
    return forms


def _asked(left: Mapping[str, str]) -> dict[str, str]:
    """Answers at the terminal; what is not answered stays open."""
    note("Answers must come from what is public, not from the table. Enter leaves a place open.")
    answers = {name: _answer(name, kind) for name, kind in left.items()}
    return {name: form for name, form in answers.items() if form}


def _answer(name: str, kind: str) -> str:
    from mmopt.request.draft import check_form

    if kind == "truth":
        return ""
    while kind not in QUESTIONS:
        words = (*QUESTIONS, SKIP)
        kind = _prompt(f"{name}: {', '.join(words)}?")
        if kind in ("", SKIP):
            return kind
        if len(fits := [word for word in words if word.startswith(kind)]) == 1:
            kind = fits[0]
        else:
            note(f"expected one of the words {', '.join(words)}; what belongs to it is asked next")
    question, form = QUESTIONS[kind]
    while True:
        answer = _prompt(f"{name}: {question}:")
        if not answer or answer == SKIP:
            return answer
        parts = [answer] if kind == "values" else [part.strip() for part in answer.split(",")]
        if len(parts) != form.count("{}"):
            note(f"expected {form.count('{}')} parts, separated by commas")
            continue
        try:
            check_form(name, form.format(*parts))
        except Error as error:
            note(f"error: {error}")
            continue
        return form.format(*parts)


def _prompt(question: str) -> str:
    """A line from standard input; its end is an interrupt."""
    typer.echo(f"{escaped(question)} ", nl=False, err=True)
    if not (line := sys.stdin.readline()):
        raise KeyboardInterrupt
    return line.strip()
