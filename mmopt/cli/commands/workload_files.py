"""``mmopt init DATA``, and ``mmopt check`` of a workload file or a program, before anything is solved."""

import itertools
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from mmopt.cli.command_inputs import (
    check_out,
    names_in,
    read_request,
    refuse_without_effect,
)
from mmopt.cli.command_output import escaped, note, say, show
from mmopt.data import check_columns, counting_words, public_forms, schema_columns, shown_source
from mmopt.data.draft_workload import FORMS_BY_KIND, NUMBER, Draft, check_form, mapping_text, spelled
from mmopt.data.open_table import VALUE
from mmopt.data.table_files_and_connections import is_url
from mmopt.errors import (
    Error,
    OptionError,
    ResultError,
    TooLargeError,
    counted,
    suggest,
    whole,
)
from mmopt.language import program_names
from mmopt.mechanism.release_plan import not_covered
from mmopt.mechanism.release_writing import stated_totals
from mmopt.privacy.epsilon_delta_rho import privacy_warning
from mmopt.report.accuracy_release_and_ledger_tables import known_words
from mmopt.report.table_style import (
    NORMALISED,
    domain_table,
    few,
    in_order,
    pairs_table,
    queries_table,
    storage,
)
from mmopt.request.workload_file_and_arguments import default_words
from mmopt.strategies import ADD_REMOVE
from mmopt.workloads import (
    Bins,
    Categories,
    attribute_uses,
    refinable_words,
)

MOST_CELLS_LISTED = 10**9
SKIP = "skip"  # the form of a column that is left out
LIKE_A_RUN = re.compile("([A-Za-z]*)[0-9]+-\\1[0-9]+")
# By kind of column the question that is asked, and the form made of the answer.
QUESTIONS = {
    "values": ("every value that may occur, such as Female, Male", "{{values: [{}]}}"),
    "numbers": ("smallest, largest and width, such as 0, 100, 5", "{{range: [{}, {}], width: {}}}"),
    "instants": (
        "first day, day after the last, width, zone, such as 2020-01-01, 2025-01-01, month, Europe/Berlin",
        "{{range: [{}, {}], width: {}, zone: {}}}",
    ),
    "dates": (
        "first day, day after the last, width, such as 2020-01-01, 2025-01-01, month",
        "{{range: [{}, {}], width: {}}}",
    ),
}


def init(
    *,
    data: str,
    out: Path,
    column: list[str] | None,
    only: str | None,
    table: str | None,
    public: bool,
    ask: bool | None,
) -> None:
    """Write the draft of a workload file."""
    check_out(out, example="workload.yaml")
    if os.path.lexists(out):
        raise OptionError(
            f"'{out}' exists already, and a draft replaces nothing", hint="name another with --out"
        )
    kinds, values, uncounted = schema_columns(data, table)
    if odd := [f"'{name}'" for name, kind in kinds.items() if kind == "unknown" and VALUE.fullmatch(name)]:
        note(
            f"warning: named like values: {', '.join(odd)}. Where the first line of a table holds no names, "
            "it is a row of values, and the draft shows it: add a line of names, and draft again"
        )
    wanted = names_in(only, "--only") or list(kinds)
    given = _given(column, kinds)
    if unknown := [name for name in [*wanted, *given] if name not in kinds]:
        raise OptionError(f"{shown_source(data)}: no column '{unknown[0]}'", hint=suggest(unknown[0], kinds))
    for name, form in given.items():
        if form != SKIP:
            check_form(name, form)
    listed = _written({name: {"values": list(each)} for name, each in values.items() if name in kinds})
    given = {**dict.fromkeys(uncounted, SKIP), **listed, **given}
    left = {name: kind for name, kind in kinds.items() if name in wanted and name not in given}
    if public:
        given |= _written(public_forms(data, left, table) if left else {})
    elif sys.stdin.isatty() if ask is None else ask:
        note("Answers must come from what is public, not from the table. Enter leaves a place open.")
        given |= {name: form for name, kind in left.items() if (form := _answer(name, kind))}
    attributes = tuple(
        (name, given.get(name, FORMS_BY_KIND[kinds[name]][0]), FORMS_BY_KIND[kinds[name]][1])
        for name in kinds
        if name in wanted and given.get(name) != SKIP
    )
    if not attributes:
        raise OptionError("every column is left out", hint="keep at least one")
    omitted = {
        name: words
        for name, words in uncounted.items()
        if given[name] == SKIP and (name in wanted or not (only or name in kinds))
    }
    draft = Draft(
        Path(shown_source(data)).name,
        attributes,
        table,
        is_public=public,
        omitted=omitted,
        has_texts=any(kinds[name] in ("values", "unknown") for name, _, _ in attributes),
    )
    text = draft.text()
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ResultError(f"'{out}' cannot be written: {error.strerror}") from None
    note(f"written: {out} ({len(attributes)} attributes)")
    for name, words in omitted.items():
        note(f"left out: {spelled(name)}: {words}")
    if draft.open_names:
        note(f"to be filled in: {', '.join(draft.open_names)}")
    note(f"next: mmopt check {out}")


def _given(texts: list[str] | None, kinds: Mapping[str, str]) -> dict[str, str]:
    """The forms of ``--column NAME=FORM`` by name; ``kinds`` has all columns of the table."""
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


def _written(keys_by_name: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Forms of columns by name, as far as the file can write them."""
    forms = {}
    for name, keys in keys_by_name.items():
        try:
            check_form(name, mapping_text(keys))
        except Error as error:
            note(f"{name}: left open: {error.message}")
        else:
            forms[name] = mapping_text(keys)
    return forms


def _answer(name: str, kind: str) -> str:
    """Ask for the form of a column: the form, ``SKIP``, or "" where it stays open.

    kind : of the column, a word of ``QUESTIONS`` or another one; for another one the kind is asked first.
    """
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
        else:
            return form.format(*parts)


def _prompt(question: str) -> str:
    """A line from standard input; its end is an interrupt."""
    typer.echo(f"{escaped(question)} ", nl=False, err=True)
    if not (line := sys.stdin.readline()):
        raise KeyboardInterrupt
    return line.strip()


def check(
    *,
    target: str,
    data: str | None,
    table: str | None,
    cells: bool,
    seed: int | None,
    instances: int | None,
    given: list[str] | None,
) -> None:
    """Print what a workload file or a program says, once it is checked."""
    names = program_names()
    if target in names or target.endswith(".program"):
        if cells:
            raise OptionError(f"--cells lists the cells of a workload file, and '{target}' is a program")
        refuse_without_effect("a program", {"DATA": data, "--table": table})
        from mmopt.cli.commands.programs import check_program  # solving takes a second more to load

        check_program(target, seed, instances or 5, given)
        return
    refuse_without_effect(
        "a workload file", {"--seed": seed, "--instances": instances, "--given": given or None}
    )
    if not Path(target).exists() and Path(target).suffix not in (".yaml", ".yml"):
        raise OptionError(f"there is no workload file and no program '{target}'", hint=suggest(target, names))
    _check_workload(target, cells, data, table)


def _check_workload(path: str, cells: bool, data: str | None, table: str | None) -> None:
    """Print what a workload file says, or the list of its cells, once the columns of a table are checked."""
    request = read_request(path, table)
    workload, domain = request.workload, request.workload.domain
    source = {"workload": workload, "unit": request.neighbours, **asdict(request.table)}
    rows = None if data is None else check_columns(data, domain, **source)
    if cells:
        if domain.size > MOST_CELLS_LISTED:
            raise TooLargeError(
                f"the domain has {counted(domain.size, 'cell')}, of which no list is made",
                hint="'mmopt check' without --cells says how they are numbered",
            )
        say("# cells in row-major order: the last attribute varies fastest")
        say("\t".join(("cell", *domain.names)))
        for i in range(domain.size):
            say("\t".join((str(i), *domain.cell(i))))
        return
    ends = sorted({0, min(1, domain.size - 1), domain.size - 1})  # the first two cells and the last
    order = ", ".join(f"{f'cell {i}' if i < 10**15 else 'the last'} is ({few(domain.cell(i))})" for i in ends)
    privacy, neighbours = request.privacy, request.neighbours or ADD_REMOVE
    warning = privacy and privacy_warning(privacy.epsilon, privacy.delta, privacy.rho)
    sizes = workload.implicit(weighted=False).sizes()
    numbers = storage(sizes.implicit)
    in_code = (
        f"held in {numbers}" if workload.products is None else f"as factors in code, {numbers} of numbers"
    )
    uses = attribute_uses(workload)
    unread = ", ".join(a for a, use in uses.items() if use == "none")
    filters = ", ".join(a for a, use in uses.items() if use == "filter")
    forms = [a.encoding for a in domain.attributes]
    values = itertools.chain(
        *(each for form in forms if isinstance(form, Categories) for each in form.members)
    )
    runs = [value for value in values if isinstance(value, str) and LIKE_A_RUN.fullmatch(value)]
    limits = [form.edges[:: form.size] for form in forms if isinstance(form, Bins) and not form.dates]
    numeric = [word for word in request.table.null if NUMBER.fullmatch(word)]
    words = [word for word in numeric if any(low <= float(word) < high for low, high in limits)]
    keys = ", ".join(
        f"{key} '{', '.join(value) if isinstance(value, tuple) else value}'"
        for key, value in asdict(request.table).items()
        if value not in (None, (), "exact")
    )
    show(
        f"{path}: {counted(workload.m, 'query')} over {counted(workload.n, 'cell')}",
        "",
        queries_table(workload),
        "",
        domain_table(domain),
        "",
        pairs_table(
            in_order(
                [
                    ("cells", f"{few([str(n) for n in domain.shape], ' x ')} = {whole(workload.n)}"),
                    ("order", f"row-major, last attribute fastest: {order}"),
                    ("queries", f"as a matrix {storage(sizes.explicit)}; {in_code}"),
                    ("privacy", str(request.privacy) if request.privacy is not None else "not given"),
                    *([("warning", warning)] if warning else []),
                    *([("not read", f"{unread}: no query tells their cells apart")] if unread else []),
                    *(
                        [("only filters", f"{filters}: drop rows, and no query tells cells apart")]
                        if filters
                        else []
                    ),
                    *([("table", keys)] if keys else []),
                    *([("null", f"{few(words)}: missing in bins of numbers, too")] if words else []),
                    *(
                        [("no runs", f"{few(runs)}: one text each; categories list value by value")]
                        if runs
                        else []
                    ),
                    *([] if data is None else [("names and types", f"as declared, in {shown_source(data)}")]),
                    *(
                        [("counting", counting_words(rows, request.neighbours, is_url(data)))]
                        if data is not None or (request.neighbours or ADD_REMOVE).column
                        else []
                    ),
                    ("neighbours", neighbours.words),
                    (
                        "not covered",
                        not_covered(
                            workload,
                            neighbours,
                            neighbours.kind == "replace-one" and neighbours.over(workload).keeps_total,
                        ),
                    ),
                    *([("known", known_words(stated_totals(request.totals)))] if request.totals else []),
                    *([("normalised", NORMALISED)] if workload.is_normalised else []),
                    ("default program", default_words(workload, request.privacy)),
                    ("refining", refinable_words(workload)),
                    ("hash", f"{workload.hash[:16]}…"),
                ]
            )
        ),
    )
