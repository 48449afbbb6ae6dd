"""``mmopt check``: a workload file or a program, before anything is solved."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import read_givens, read_request, refuse_beside
from mmopt.cli.command_options import Given
from mmopt.cli.command_output import say, show
from mmopt.errors import ContradictionError, OptionError, ProgramError, TooLargeError, suggest, whole

__all__ = ["check"]

MOST_CELLS_LISTED = 10**9


def check(
    target: Annotated[
        str,
        typer.Argument(metavar="WORKLOAD|PROGRAM", help="Workload file, shipped program, or .program file."),
    ],
    cells: Annotated[
        bool,
        typer.Option("--cells", help="Print the cells of the data vector in their order, and nothing else."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Seed of a program's weak duality test. Default: fresh."),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Random workloads of a program's weak duality test. Default: 5."
        ),
    ] = None,
    given: Given = None,
) -> None:
    """Check a workload file (domain, queries, privacy) or a program (shapes, curvature, weak duality)."""
    from mmopt.language import program_names

    names = program_names()
    if target in names or target.endswith(".program"):
        if cells:
            raise OptionError(f"--cells lists the cells of a workload file, and '{target}' is a program")
        _check_program(target, seed, instances or 5, given)
        return
    refuse_beside("a workload file", {"--seed": seed, "--instances": instances, "--given": given or None})
    if not Path(target).exists() and Path(target).suffix not in (".yaml", ".yml"):
        raise OptionError(f"there is no workload file and no program '{target}'", hint=suggest(target, names))
    _check_workload(target, cells)


def _check_workload(path: str, cells: bool) -> None:
    from mmopt.privacy.privacy_parameters import privacy_warning
    from mmopt.report.table_style import counted, few, pairs_table, storage
    from mmopt.report.workload_tables import NORMALISED, domain_table, queries_table
    from mmopt.request.unnamed_program import default_words
    from mmopt.strategies import ADD_REMOVE
    from mmopt.workloads import attribute_uses

    request = read_request(path)
    workload, domain = request.workload, request.workload.domain
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
    order = ", ".join(f"{_cell(i)} is ({few(domain.cell(i))})" for i in ends)
    asked = request.privacy
    warning = asked and privacy_warning(asked.epsilon, asked.delta, asked.rho)
    sizes = workload.implicit(weighted=False).sizes()
    numbers = storage(sizes.implicit)
    held = f"held in {numbers}" if workload.products is None else f"as factors in code, {numbers} of numbers"
    uses = attribute_uses(workload)
    unread = ", ".join(a for a, use in uses.items() if use == "none")
    filters = ", ".join(a for a, use in uses.items() if use == "filter")
    said = ", ".join(f"{key} '{value}'" for key, value in asdict(request.table).items() if value is not None)
    show(
        f"{path}: {counted(workload.m, 'query')} over {counted(workload.n, 'cell')}",
        "",
        domain_table(domain),
        "",
        pairs_table(
            [
                ("cells", f"{few([str(n) for n in domain.shape], ' x ')} = {whole(workload.n)}"),
                ("order", f"row-major, last attribute fastest: {order}"),
                ("queries", f"as a matrix {storage(sizes.explicit)}; {held}"),
            ]
        ),
        "",
        queries_table(workload),
        "",
        pairs_table(
            [
                ("privacy", str(request.privacy) if request.privacy is not None else "not given"),
                *([("warning", warning)] if warning else []),
                *([("not read", f"{unread}: no query tells their cells apart")] if unread else []),
                *(
                    [("only filters", f"{filters}: drop rows, and no query tells cells apart")]
                    if filters
                    else []
                ),
                *([("table", said)] if said else []),
                ("neighbours", (request.neighbours or ADD_REMOVE).words),
                *([("normalised", NORMALISED)] if workload.is_normalised else []),
                ("default program", default_words(workload, request.privacy)),
                ("hash", f"{workload.hash[:16]}…"),
            ]
        ),
    )


def _cell(number: int) -> str:
    return f"cell {number}" if number < 10**15 else "the last"


def _check_program(name: str, seed: int | None, instances: int, given: list[str] | None) -> None:
    from mmopt.language import Program, check as check_types
    from mmopt.language.print.prose_formulas import plain_words, prose
    from mmopt.report import givens_table, lines_table, pairs_table, paragraphs
    from mmopt.strategies.baselines import is_baseline
    from mmopt.testing import check_program
    from mmopt.workloads import Workload

    program = Program.load(name)
    checked = check_types(program)
    docs = [plain_words(prose(d.doc, checked.scope)[0]) or d.kind for d in program.choose]
    chosen = zip(program.choose, docs, strict=True)
    kinds = [(d.name, f"{checked.types[d.name].shape}: {doc}") for d, doc in chosen]
    show(f"{program.name}: {program.title}", "", givens_table(program))
    if kinds:
        show("", "Chosen", "", pairs_table(kinds))
    if program.constraints:
        show("", "Shapes and curvature", "", lines_table(checked))
    # A baseline's rows are those of each workload that is drawn.
    pairs = [text.partition("=") for text in given or ()]
    words = {name.strip(): value.strip() for name, _, value in pairs if is_baseline(value.strip())}
    others = [text for text in given or () if text.partition("=")[0].strip() not in words]
    givens = words | read_givens(others, program, Workload.from_matrix([[1.0]]))
    report = check_program(program, seed=seed, instances=instances, givens=givens)
    show("", paragraphs(str(report)))
    if report.has_certificate and not report.pairs:
        raise ProgramError(
            f"the certificate of '{program.name}' was not tested, so nothing is known of it",
            hint="pass what the program is given (--given NAME=VALUE)",
        )
    if not report.holds:
        raise ContradictionError(
            f"the certificate of '{program.name}' is not a lower bound: {report.findings[0]}",
            hint=f"repeat this test with --seed {report.seed} --instances {instances}",
        )
