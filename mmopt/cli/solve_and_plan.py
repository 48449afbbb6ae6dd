"""The strategy of a command, and its release as planned.

The strategy is from a file, from a program that is named and solved here, or the default one.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from mmopt.answers import Accuracy, accuracy
from mmopt.answers.accuracy_budget_and_default_strategy import offer
from mmopt.cli.command_inputs import check_out, check_parent, read_givens, refuse_without_effect
from mmopt.cli.command_output import INTERRUPTED, live, note
from mmopt.comparison import Stated
from mmopt.driver import default_program, solve
from mmopt.driver.accepted_options_and_inputs import READ_BY_CLASS
from mmopt.driver.templates import TEMPLATES
from mmopt.errors import Error, OptionError, PrivacyError
from mmopt.installation_and_files import write_whole
from mmopt.language import Program
from mmopt.limits import deadline
from mmopt.mechanism import Plan
from mmopt.mechanism.release_writing import partial_sibling
from mmopt.privacy.epsilon_delta_rho import PURE_HINT
from mmopt.privacy.noise import noise_for
from mmopt.proof.verify import rechecked
from mmopt.report import accuracy_figure
from mmopt.report.chart_parts import save
from mmopt.request import Request
from mmopt.results import Frame, Solution
from mmopt.solvers import Options, solver_name
from mmopt.strategies import ADD_REMOVE
from mmopt.workloads import Workload


def read_program(name: str | None, request: Request) -> Program:
    """The program named, or the default one for workload and privacy, with a note on stderr."""
    if name is None:
        name, why = default_program(request.workload, request.privacy is not None and request.privacy.is_pure)
        note(f"program: {name}, by default: {why} (choose another with --program)")
    return Program.load(name)


def stated_in(request: Request) -> Stated | None:
    """The privacy that errors are for; None where the file has none, and they are at unit noise."""
    return None if request.privacy is None else Stated(request.privacy, request.neighbours or ADD_REMOVE)


def options_for(**options: Any) -> dict[str, Any]:
    """Keywords for ``mmopt.solve``: those that were given. OptionError when one is out of range."""
    chosen = {name: value for name, value in options.items() if value is not None}
    Options(**chosen)
    return chosen


def run_solve(
    workload: Workload,
    program: Program,
    solver: str | None,
    givens: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    *,
    keep_interrupted: bool = True,
) -> Solution:
    """Solve with a live display; output of the solver goes to stderr.

    keep_interrupted : whether Ctrl-C gives the best point so far; else it exits.
    """
    with live(program.name, bool(options.get("verbose"))) as display:
        solution = solve(workload, program, solver=solver, givens=givens, progress=display, **options)
    if solution.status.is_interrupted and not keep_interrupted:
        # Data was not touched; a user who stops a release does not want half of one.
        note(
            "interrupted, nothing written\n  to release the best strategy found in a given time: "
            "mmopt release … --time-limit SECONDS"
        )
        raise typer.Exit(INTERRUPTED)
    return solution


def solution_in(path: Path, request: Request) -> Solution:
    """The solution in a file, its figures recomputed; ResultError where it is for other queries, or false."""
    solution = rechecked(Solution.load(path), request.workload, str(path), request.path)
    note(f"strategy: from '{path}' ({solution.words})")
    return solution


def check_privacy(request: Request, program: str, by_targets: bool, norm: int) -> None:
    """Refuse a release when neither privacy parameters nor targets determine the noise.

    Also when the parameters are not those of a noise for the norm: Laplace for 1, Gaussian for 2.
    """
    if request.privacy is not None:
        noise = noise_for(norm, request.privacy)
        if request.privacy.is_pure and not noise.takes(request.privacy):
            raise PrivacyError(
                f"'{request.path}' asks for pure epsilon (no delta), and '{program}' is for "
                f"{noise.name} noise",
                hint=PURE_HINT,
            )
        noise.allowed(request.privacy)
    if request.privacy is None and not by_targets:
        why = f"'{program}' does not set the noise by targets" if program else "not every query has a target"
        raise PrivacyError(
            f"'{request.path}' has no privacy parameters, and {why}",
            hint="add a line such as 'privacy: {epsilon: 1.0, delta: 1.0e-6}' to the workload file",
        )


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
    """The planned release of a workload file; a note on stderr tells which strategy was chosen and why.

    refuse : whether targets that cost more than the privacy allows are refused.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C before it is solved. mmopt.Error : as ``mmopt.accuracy``; options of the solve
        together with a strategy from a file.
    """
    solution: Solution | None = None
    solve_options = {f"--{n.replace('_', '-')}": v for n, v in {"solver": solver, **options}.items() if v}
    solver_name(solver)  # an unknown one is refused whatever is chosen
    if strategy is not None:
        refuse_without_effect(
            "--strategy",
            {"--program": program, "--given": given, **solve_options},
            ", which brings a solution",
        )
        solution = solution_in(strategy, request)
        check_privacy(request, solution.program, solution.by_targets, solution.strategy.norm)
    elif program is not None or given:
        parsed = read_program(program, request)
        check_privacy(request, parsed.name, parsed.meaning.kind == "covariance", parsed.meaning.norm)
        givens = read_givens(given, parsed, request.workload)
        solution = run_solve(
            request.workload, parsed, solver, givens, options, keep_interrupted=keep_interrupted
        )
    elif not request.workload.has_all_targets:
        is_pure = request.privacy is not None and request.privacy.is_pure
        check_privacy(request, "", by_targets=False, norm=1 if is_pure else 2)

    with deadline(options.get("time_limit")):  # also of the searches that take no option
        planned = accuracy(
            request.workload,
            request.privacy,
            neighbours=request.neighbours,
            strategy=solution,
            confidence=confidence,
            refuse=refuse,
            solved=partial(
                run_solve, solver=solver, givens=None, options=options, keep_interrupted=keep_interrupted
            ),
            say=note,
        )
    if (
        solution is None
        and planned.solution.program.removeprefix("template ") in TEMPLATES
        and (unread := [name for name in solve_options if name[2:].replace("-", "_") in READ_BY_CLASS])
    ):
        note(f"not read: {', '.join(unread)}; the strategy is of a template, which no solver chooses")
    return planned


def plan_of(solution: Solution, request: Request) -> Plan | None:
    """A solution's release at the file's privacy or by targets; None, with a note, where there is none."""
    if request.privacy is None and not solution.by_targets:
        return None
    try:
        return offer(request.workload, solution, request.privacy, request.neighbours).plan
    except Error as error:
        note(f"errors are for noise of variance 1: {error.message}")
        return None


def check_folder(out: Path) -> None:
    """Refuse a release folder that exists, or could not be made."""
    if os.path.lexists(out):
        raise OptionError(
            f"'{out}' exists already; a release is written to a new folder",
            hint="name another folder with --out",
        )
    check_parent(out, partial_sibling(out))


def check_files(out: Path | None, chart: Path | None) -> None:
    """Refuse files of ``write_files`` that could not be written."""
    check_out(out, example="queries.csv")
    check_out(chart, "--chart", "queries.svg")


def write_files(
    plan: Plan, errors: Frame | None, confidence: float, out: Path | None, chart: Path | None, title: str
) -> None:
    """Write a row for each query as CSV, and a chart of their half widths, where files are named."""
    if out is not None and errors is not None:
        write_whole(out, errors.to_csv().encode())
        note(f"written: {out} ({plan.workload.m:,} rows)")
    if chart is not None:
        save(chart, partial(accuracy_figure, plan, confidence, title))
        note(f"chart: {chart}")
