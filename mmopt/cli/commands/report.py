"""``mmopt report WORKLOAD``."""

from pathlib import Path
from typing import Any

from mmopt.answers import load_release
from mmopt.cli.command_inputs import (
    check_out,
    names_in,
    note_request,
    read_givens,
    read_request,
    refuse_without_effect,
)
from mmopt.cli.command_output import live, note
from mmopt.cli.planned_strategy import (
    options_for,
    plan_of,
    planned_accuracy,
    read_program,
    run_solve,
    solution_in,
)
from mmopt.comparison import compare as compare_programs
from mmopt.comparison.compare import TIME_LIMIT
from mmopt.errors import OptionError
from mmopt.mechanism import Plan
from mmopt.mechanism.release_folder import STRATEGY_FILE
from mmopt.report import Contents, write_page
from mmopt.report.charts import need_matplotlib
from mmopt.request import Request
from mmopt.results import AnySolution, Solution
from mmopt.strategies import ADD_REMOVE


def report(
    *,
    workload: Path,
    out: Path,
    program: str | None,
    given: list[str] | None,
    strategy: Path | None,
    release: Path | None,
    compare: str | None,
    solvers: str | None,
    solver: str | None,
    tolerance: float | None,
    time_limit: float | None,
) -> None:
    """Write one page: strategies are solved where none is given, and no table is read."""
    need_matplotlib()
    check_out(out, example="page.html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise OptionError(
            f"a report is written to a .html file, not to '{out}'",
            hint="print the .html from a browser for a PDF",
        )
    options = options_for(tolerance=tolerance, time_limit=time_limit)
    request = read_request(workload)
    named: dict[str, object] = {"--program": program, "--given": given, "--strategy": strategy}
    named |= {"--solver": solver, "--tolerance": tolerance}
    if release is None:
        read = None
        solution, plan = _planned(request, program, given, strategy, solver, options)
    else:
        refuse_without_effect("--release", named, ", which brings a strategy")
        read = load_release(release, request.workload)
        solution, plan = solution_in(release / STRATEGY_FILE, request), read.plan
    names, by = names_in(compare, "--compare"), names_in(solvers, "--solvers")
    if by and not names:
        if not isinstance(solution, Solution):
            raise OptionError("--solvers has no program to solve", hint="name one with --compare")
        names = [solution.program]
    comparison = None
    if names:
        with live(names[0]) as display:
            comparison = compare_programs(
                request.workload,
                names,
                by or None,
                privacy=request.privacy,
                neighbours=request.neighbours or ADD_REMOVE,
                time_limit=time_limit or TIME_LIMIT,
                progress=display,
            )
    note_request(request, is_planned=plan is not None)
    contents = Contents(
        Path(request.path).name,
        request.workload,
        request.text_hash,
        solution,
        plan,
        comparison,
        None if read is None else read.manifest,
        None if read is None else read.answers,
    )
    write_page(contents, out)
    note(f"written: {out}")


def _planned(
    request: Request,
    program: str | None,
    given: list[str] | None,
    strategy: Path | None,
    solver: str | None,
    options: dict[str, Any],
) -> tuple[AnySolution, Plan | None]:
    """The strategy of the page, as for ``mmopt solve``, and its release where one is possible."""
    options = options if strategy is not None else options | {"history": True}
    if strategy is None and (program is not None or given or request.privacy is None):
        parsed = read_program(program, request)
        givens = read_givens(given, parsed, request.workload)
        solution = run_solve(request.workload, parsed, solver, givens, options)
        if solution.status.is_interrupted:
            raise KeyboardInterrupt
        return solution, plan_of(solution, request)
    if strategy is not None and request.privacy is None:
        solved = solution_in(strategy, request)
        return solved, plan_of(solved, request)
    planned = planned_accuracy(
        request, options=options, program=program, given=given, strategy=strategy, solver=solver, refuse=False
    )
    return planned.solution, planned.plan
