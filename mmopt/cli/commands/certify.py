"""``mmopt certify WORKLOAD [STRATEGY]``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mmopt.cli.command_inputs import check_out, note_request, read_givens, read_request
from mmopt.cli.command_options import Given, Json, SolverName, TimeLimit, Tolerance, WorkloadFile, options_for
from mmopt.cli.command_output import answer, live, note
from mmopt.cli.command_strategy import plan_of
from mmopt.errors import OptionError

__all__ = ["certify"]


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
    from mmopt.workloads.matrix_files import read_array

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
