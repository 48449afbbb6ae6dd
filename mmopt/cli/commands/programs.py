"""``mmopt programs``, ``studio``, ``show``, ``explain``, ``export``; and ``mmopt check`` of a program."""

from pathlib import Path

import typer

from mmopt import comparison_process
from mmopt.answers import load_release
from mmopt.cli.command_inputs import check_out, note_request, read_givens, read_request
from mmopt.cli.command_output import answer, console, json_text, note, say, show as put, spaced
from mmopt.cli.solve_and_plan import run_solve
from mmopt.errors import ContradictionError, OptionError, ProgramError, SolverError
from mmopt.exchange import FORMATS, export as exported
from mmopt.installation_and_files import write_whole
from mmopt.language import (
    Program,
    check,
    plain_words,
    program_names,
    prose,
    shipped,
    typeset_latex,
)
from mmopt.report import (
    given_rows,
    givens_table,
    history_table,
    lines_table,
    pairs_table,
    paragraphs,
    programs_table,
    release_tables,
    renderables,
    takers,
    takers_table,
)
from mmopt.report.explain import explain as explained
from mmopt.results import Solution
from mmopt.solvers import SOLVERS
from mmopt.strategies.baselines import is_baseline
from mmopt.testing import check_program as tested
from mmopt.workloads import Workload

#: The form of an explanation by the ending of its file.
ENDINGS = {".html": "html", ".htm": "html", ".tex": "latex", ".txt": "text", ".json": "json"}


def programs(*, solvers: bool, as_json: bool) -> None:
    """List the shipped programs, or which solver takes each."""
    if solvers:
        words = f"Conic solvers: {', '.join(row.name for row in SOLVERS)}. In brackets: cones that one lacks."
        takers_of = {c.program.name: takers(c) for c in map(shipped, program_names())}
        answer(
            as_json,
            {name: one.summary() for name, one in takers_of.items()},
            [takers_table(takers_of), "", words],
        )
        return
    listed = [Program.load(name) for name in program_names()]
    answer(
        as_json,
        [
            {
                "name": p.name,
                "class": p.problem_class,
                "title": p.title,
                "source": p.cite,
                "formulation_of": p.formulation_of or None,
                "certificate": p.certificate is not None,
                "bound": p.bound or None,
            }
            for p in listed
        ],
        [
            programs_table(listed),
            "",
            "Indented: other formulations of the program above.",
            "'mmopt explain NAME' explains one; 'mmopt compare WORKLOAD' solves them all.",
        ],
    )


def studio(*, port: int, only_print: bool) -> None:
    """Serve a page to play with programs until Ctrl-C."""
    with comparison_process.Worker() as worker:  # loads while this process does
        from mmopt.studio import serve

        serve(port, opens_browser=not only_print, say=say, worker=worker)
    raise typer.Exit  # Ctrl-C is its ordinary end


def show(*, source: str) -> None:
    """Print a saved solution, or a release that was read back."""
    path = Path(source)
    if not path.is_dir() and (source in program_names() or source.endswith(".program")):
        raise OptionError(f"'{source}' is a program", hint=f"write: mmopt explain {source}")
    if not source.lower().endswith(".npz"):
        _show_release(path)
        return
    saved = Solution.load(path)
    put(pairs_table(saved.rows()))
    if saved.history:
        put("", history_table(saved))


def _show_release(folder: Path) -> None:
    """Print a release that is read back and checked: its manifest and its answers."""
    loaded = load_release(folder)
    listed = loaded.manifest.get("files")
    checked = (
        "those of version 0.1.0, whose manifest does not list them"
        if listed is None
        else f"{', '.join(listed)}: as the manifest lists them"
    )
    sections = dict.fromkeys(place.partition(".")[0] for place in loaded.unchecked)
    unchecked = (
        f"the manifest alone says all or part of its {', '.join(sections)}; of that, load_release(folder, "
        "workload) in Python computes again what follows from the workload, and lists the rest"
    )
    more = [("files", checked), ("unchecked", unchecked)]
    put(*spaced(release_tables(loaded.manifest, loaded.answers, more)))


def check_program(name: str, seed: int | None, instances: int, given: list[str] | None) -> None:
    """Print the shapes and curvatures of a program, and whether its certificate held at random."""
    program = Program.load(name)
    checked = check(program)
    kinds = [
        (d.name, f"{checked.types[d.name].shape}: {plain_words(prose(d.doc, checked.scope)[0]) or d.kind}")
        for d in program.choose
    ]
    put(f"{program.name}: {program.title}", "", givens_table(given_rows(checked)))
    if kinds:
        put("", "Variables", "", pairs_table(kinds))
    if program.constraints:
        put("", "Shapes and curvature", "", lines_table(checked))
    # A baseline's rows are those of each workload that is drawn.
    pairs = [text.partition("=") for text in given or ()]
    words = {name.strip(): value.strip() for name, _, value in pairs if is_baseline(value.strip())}
    others = [text for text in given or () if text.partition("=")[0].strip() not in words]
    givens = words | read_givens(others, program, Workload.from_matrix([[1.0]]))
    report = tested(program, seed=seed, instances=instances, givens=givens)
    put("", paragraphs(str(report)))
    if report.has_certificate and not report.pairs:
        raise ProgramError(
            f"the certificate of '{program.name}' was not tested, so nothing is known about it",
            hint="pass what the program is given (--given NAME=VALUE)",
        )
    if not report.holds:
        raise ContradictionError(
            f"the certificate of '{program.name}' is not a lower bound: {report.findings[0]}",
            hint=f"repeat this test with --seed {report.seed} --instances {instances}",
        )


def explain(
    *,
    program: str,
    workload: Path | None,
    given: list[str] | None,
    solution: Path | None,
    solve: bool,
    latex: bool,
    formulas: bool,
    html: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print or write the explanation of a program."""
    form = _form([("latex", latex), ("formulas", formulas), ("html", html), ("json", as_json)], out)
    check_out(out)
    if solve and solution is not None:
        raise OptionError("--solve and --solution both name a solution", hint="keep one of them")
    if formulas and (workload or given or solve or solution):
        raise OptionError("--formulas are of a program alone", hint="leave workload and solution out")
    parsed = Program.load(program)
    queries = read_request(workload, programs=[program]).workload if workload or solve or given else None
    givens = {} if queries is None else read_givens(given, parsed, queries)
    solved = Solution.load(solution) if solution is not None else None
    if solve and queries is not None:
        try:
            solved = run_solve(queries, parsed, None, givens, {})
        except (ProgramError, SolverError):  # explained without a solution; then it is said why there is none
            explain(
                program=program,
                workload=workload,
                given=given,
                solution=None,
                solve=False,
                latex=latex,
                formulas=False,
                html=html,
                out=out,
                as_json=as_json,
            )
            raise
    if formulas:
        text = typeset_latex(parsed)
    else:
        explanation = explained(parsed, queries, givens, solved)
        if out is None and form == "text":
            put(*renderables(explanation, console().width))  # with the colours and the width of the screen
            return
        text = json_text(explanation.summary()) if form == "json" else getattr(explanation, form)()
    if out is None:
        say(text)
    else:
        write_whole(out, f"{text}\n".encode())
        note(f"written: {out}")


def _form(options: list[tuple[str, bool]], out: Path | None) -> str:
    """``text``, ``latex``, ``formulas``, ``html`` or ``json``: by an option, or by the ending of the file."""
    chosen = [name for name, is_wanted in options if is_wanted]
    if len(chosen) > 1:
        raise OptionError(f"--{chosen[0]} and --{chosen[1]} are two forms", hint="keep one of them")
    if out is None:
        return chosen[0] if chosen else "text"
    suffix = out.suffix.lower()
    if suffix == ".pdf" or (not chosen and suffix not in ENDINGS):
        raise OptionError(
            f"an explanation is written to a .html, .tex, .txt or .json file, not to '{out}'",
            hint="a PDF is made from the .tex by pdflatex, or printed from the .html by a browser",
        )
    return chosen[0] if chosen else ENDINGS[suffix]


def export(
    *, program: str, workload: Path, form: str | None, given: list[str] | None, out: Path | None
) -> None:
    """Write the compiled problem of a program and a workload."""
    check_out(out, example="problem.cbf")
    if form is None:
        form = "cbf" if out is None else _format_of(out)
    if form == "npz" and out is None:
        raise OptionError("--format npz is not text", hint="name a file with --out")
    request = read_request(workload)
    parsed = Program.load(program)
    compiled = exported(request.workload, parsed, form, givens=read_givens(given, parsed, request.workload))
    note_request(request)
    if out is not None:
        m, n = compiled.problem.A.shape
        note(f"saved: {compiled.save(out)} ({form}: {n:,} columns, {m:,} rows)")
    elif isinstance(compiled.content, str):
        say(compiled.content.removesuffix("\n"))


def _format_of(out: Path) -> str:
    """The format whose ending the file has; OptionError for another ending."""
    for row in FORMATS.values():
        if out.name.lower().endswith(row.suffixes):
            return row.name
    endings = "; ".join(f"{', '.join(row.suffixes)} ({row.name})" for row in FORMATS.values())
    raise OptionError(
        f"the ending of '{out.name}' says no format", hint=f"name one with --format; endings: {endings}"
    )
