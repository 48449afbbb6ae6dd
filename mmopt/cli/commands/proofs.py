"""The commands ``mmopt certify``, ``mmopt verify`` and ``mmopt export``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmopt.cli.command_inputs import check_out, note_request, plan_of, read_givens, read_request
from mmopt.cli.command_options import (
    Given,
    Json,
    OneProgram,
    SolverName,
    TimeLimit,
    Tolerance,
    WorkloadFile,
    options_for,
)
from mmopt.cli.command_output import REFUTED, answer, live, note, say
from mmopt.errors import OptionError

if TYPE_CHECKING:
    from mmopt.exchange.export import Format


def certify(
    workload: WorkloadFile,
    strategy: Annotated[
        str | None,
        typer.Argument(
            metavar="[STRATEGY]",
            help="A .npy or .csv file (one measured query a row), a saved solution (.npz), or a baseline "
            "such as haar (mmopt baselines lists them).",
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Program; for a strategy one with a section 'from strategy'. Default: as for solve; for "
            "norm 1 a shipped one.",
        ),
    ] = None,
    point: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="In place of STRATEGY, a point of the program: a .json or .npz file of its variables by "
            "name, also with multipliers, or of the 'columns' and 'rows' of what mmopt export wrote: x, and "
            "y in the dual cones with c + A.T @ y = 0; a .npy file of columns alone.",
        ),
    ] = None,
    given: Given = None,
    norm: Annotated[
        int | None,
        typer.Option(
            min=1, max=2, metavar="1|2", help="1: Laplace noise, 2: Gaussian. Default: the program's."
        ),
    ] = None,
    covariance: Annotated[
        bool,
        typer.Option("--covariance", help="STRATEGY holds the covariance of the noise on the basis instead."),
    ] = False,
    basis: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Basis of --covariance. Default: the workload's own."),
    ] = None,
    no_solve: Annotated[
        bool, typer.Option("--no-solve", help="Ask no solver for better multipliers of the bound.")
    ] = False,
    solver: SolverName = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Save the result; an existing file is replaced.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Certify a strategy or point that came from anywhere: its error, and a proved bound of what is possible.

    It is repaired to feasibility as the program says; what that changed is told.
    """
    from mmopt.driver.accepted_inputs import norm_of, opened
    from mmopt.language import Program
    from mmopt.proof import certify as certify_strategy, program_for
    from mmopt.report import pairs_table, solution_rows
    from mmopt.workloads.arrays_and_frames import read_array

    check_out(out)
    if basis is not None and not covariance:
        raise OptionError("--basis is the basis of a covariance", hint="add --covariance")
    options = options_for(tolerance=tolerance, time_limit=time_limit)
    if (strategy is None) == (point is None):
        both = "both STRATEGY and --point" if point is not None else "neither STRATEGY nor --point"
        raise OptionError(f"{both} given, expected one of them")
    if point is not None and (covariance or norm is not None):
        raise OptionError("--covariance and --norm are of a strategy, and have no effect with --point")
    request = read_request(workload)
    if strategy is None:
        what: dict[str, Any] = {"point": point}
    elif covariance:
        rows = None if basis is None else read_array(basis, "the basis")
        what = {"covariance": read_array(Path(strategy), "the covariance"), "basis": rows}
    else:
        what = {"strategy": opened(strategy, request.workload, norm)}
        norm = norm_of(what["strategy"]) if norm is None else norm
    if program is None:
        program, why = program_for(request.workload, norm)
        note(f"program: {program}, by default: {why} (choose another with --program)")
    parsed = Program.load(program)
    givens = read_givens(given, parsed, request.workload)
    with live(parsed.name) as display:
        solution = certify_strategy(
            request.workload,
            program=parsed,
            norm=norm,
            givens=givens,
            solve=not no_solve,
            solver=solver,
            progress=display,
            **what,
            **options,
        )
    note_request(request)
    plan = plan_of(solution, request)
    release = {} if plan is None else {"release": plan.summary()}
    answer(as_json, {**solution.summary(), **release}, [pairs_table(solution_rows(solution, plan))])
    if out is not None:
        note(f"saved: {solution.save(out)}")


def verify(
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION", help="Saved by --out or Solution.save (.npz).")
    ],
    workload: WorkloadFile,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="What the saved program is compared with. Default: the one shipped under its name.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recheck a saved solution: every figure is recomputed from its variables, or from its factors.

    No solver is needed; only the bound of a strategy in factors is searched for anew.

    Exit status 0 when every figure holds, 1 when one does not, 2 when the file cannot be read.
    """
    from mmopt.proof import verify as verify_solution
    from mmopt.report import verification_report

    verification = verify_solution(solution, read_request(workload).workload, program)
    answer(as_json, verification.summary(), [verification_report(verification)])
    if not verification.holds:
        raise typer.Exit(REFUTED)


def export(
    program: OneProgram,
    workload: WorkloadFile,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="cbf|sdpa|mps|npz",
            help="Conic Benchmark Format, SDPA sparse, free MPS, or NumPy arrays. Default: by the ending of "
            "--out; on standard output cbf.",
        ),
    ] = None,
    given: Given = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write there; an existing file is replaced. Default: standard output."
        ),
    ] = None,
) -> None:
    """Write the compiled problem into a file that other programs read: not reduced, in its own units.

    A comment says which column is which variable. A point found elsewhere is judged by mmopt certify --point.
    """
    from mmopt.exchange import FORMATS, export as exported
    from mmopt.language import Program

    check_out(out, example="problem.cbf")
    if form is None:
        form = "cbf" if out is None else _by_ending(out, FORMATS.values())
    if form == "npz" and out is None:
        raise OptionError("--format npz is no text", hint="name a file with --out")
    request = read_request(workload)
    parsed = Program.load(program)
    givens = read_givens(given, parsed, request.workload)
    compiled = exported(request.workload, parsed, form, givens=givens)
    note_request(request)
    if out is not None:
        m, n = compiled.problem.A.shape
        note(f"saved: {compiled.save(out)} ({form}: {n:,} columns, {m:,} rows)")
    elif isinstance(compiled.content, str):
        say(compiled.content.removesuffix("\n"))


def _by_ending(out: Path, formats: Iterable[Format]) -> str:
    """The format whose ending the file has; OptionError for another ending."""
    for row in formats:
        if out.name.lower().endswith(row.suffixes):
            return row.name
    endings = "; ".join(f"{', '.join(row.suffixes)} ({row.name})" for row in formats)
    raise OptionError(
        f"the ending of '{out.name}' says no format", hint=f"name one with --format; endings: {endings}"
    )
