"""The strategy that a command releases or speaks of: from a file, of a program named, or the default one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mmopt.cli.command_guard import INTERRUPTED
from mmopt.cli.command_inputs import check_out, check_privacy, read_givens, read_program, refuse_beside
from mmopt.cli.command_output import note, run_solve
from mmopt.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mmopt.answers import Accuracy
    from mmopt.language import Program
    from mmopt.mechanism import Plan
    from mmopt.request import Request
    from mmopt.results import AnySolution, Frame, Solution
    from mmopt.workloads import Workload

__all__ = ["check_files", "plan_of", "planned_accuracy", "solution_in", "solver_of", "write_files"]


def planned_accuracy(
    request: Request,
    *,
    options: Mapping[str, Any],
    program: str | None = None,
    given: Sequence[str] | None = None,
    strategy: Path | None = None,
    solver: str | None = None,
    confidence: float = 0.95,
    keep_interrupted: bool = False,
    refuse: bool = True,
) -> Accuracy:
    """The release that a workload file asks for, as planned; stderr says what was chosen and why.

    refuse : targets that cost more than the privacy allows.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C before it is solved. mmopt.Error : as ``mmopt.accuracy``; options of the solve
        beside a strategy from a file.
    """
    from mmopt.answers import accuracy
    from mmopt.driver.read_options import CLASSES
    from mmopt.driver.templates import TEMPLATES
    from mmopt.solvers import solver_name

    solution: AnySolution | None = None
    asked = {f"--{n.replace('_', '-')}": v for n, v in {"solver": solver, **options}.items() if v}
    solver_name(solver)  # an unknown one is refused whatever is chosen
    if strategy is not None:
        named = {"--program": program, "--given": given, **asked}
        refuse_beside("--strategy", named, ", which brings a solution")
        solution = solution_in(strategy, request)
        check_privacy(request, solution.program, solution.by_targets, solution.strategy.norm)
    elif program is not None or given:
        parsed = read_program(program, request)
        check_privacy(request, parsed.name, parsed.meaning.kind == "covariance", parsed.meaning.norm)
        givens = read_givens(given, parsed, request.workload)
        solution = _uninterrupted(run_solve(request.workload, parsed, solver, givens, options))
    elif not request.workload.has_all_targets:
        check_privacy(request, "", by_targets=False, norm=1 if _is_pure(request) else 2)

    planned = accuracy(
        request.workload,
        request.privacy,
        neighbours=request.neighbours,
        solution=solution,
        confidence=confidence,
        refuse=refuse,
        solved=solver_of(solver, options, keep_interrupted=keep_interrupted),
        say=note,
    )
    if solution is None:
        note(f"chosen: {planned.words} (choose another with --program)")
        if planned.solution.program.removeprefix("template ") in TEMPLATES and (
            unread := [name for name in asked if name[2:].replace("-", "_") in CLASSES]
        ):
            note(f"not read: {', '.join(unread)}; the strategy is of a template, which no solver chooses")
    return planned


def plan_of(solution: AnySolution, request: Request) -> Plan | None:
    """Its release at the file's privacy, or by targets; None where there is none, and stderr says why."""
    from mmopt.answers.default_strategy import offer

    if request.privacy is None and not solution.by_targets:
        return None
    try:
        return offer(request.workload, solution, request.privacy, request.neighbours).plan
    except Error as error:
        note(f"errors are at unit noise: {error.message}")
        return None


def solver_of(
    solver: str | None, options: Mapping[str, Any], *, keep_interrupted: bool = False
) -> Callable[[Workload, Program], Solution]:
    """How a program is solved here: with a live display; after Ctrl-C nothing, unless that is to be kept."""

    def solved(workload: Workload, program: Program) -> Solution:
        solution = run_solve(workload, program, solver, None, options)
        return solution if keep_interrupted else _uninterrupted(solution)

    return solved


def check_files(out: Path | None, chart: Path | None) -> None:
    """Refuse files of ``write_files`` that could not be written."""
    from mmopt.report import check_chart

    check_out(out, example="queries.csv")
    check_out(chart, "--chart", "queries.svg")
    if chart is not None:
        check_chart(chart)


def write_files(
    plan: Plan, errors: Frame | None, confidence: float, out: Path | None, chart: Path | None, title: str
) -> None:
    """A row for each query as CSV, and a chart of their half widths, where they are asked for."""
    from mmopt.report import write_accuracy_chart
    from mmopt.results.whole_file import write_whole

    if out is not None and errors is not None:
        write_whole(out, errors.to_csv().encode())
        note(f"written: {out} ({plan.workload.m:,} rows)")
    if chart is not None:
        write_accuracy_chart(plan, confidence, chart, title)
        note(f"chart: {chart}")


def _is_pure(request: Request) -> bool:
    return request.privacy is not None and request.privacy.is_pure


def _uninterrupted(solution: Solution) -> Solution:
    if solution.status.is_interrupted:
        # Data was not touched; somebody who stops a release does not want half of one.
        note(
            "interrupted, nothing written\n  to release the best strategy found in a given time: "
            "mmopt release … --time-limit SECONDS"
        )
        raise typer.Exit(INTERRUPTED)
    return solution


def solution_in(path: Path, request: Request) -> AnySolution:
    """The solution in a file, its figures recomputed; ResultError where it is for other queries, or false."""
    from mmopt.proof.verify import rechecked
    from mmopt.results import load_saved

    solution = rechecked(load_saved(path), request.workload, str(path), request.path)
    note(f"strategy: from '{path}' ({solution.words})")
    return solution
