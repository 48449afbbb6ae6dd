"""Arguments of the command line, read and checked before any work, strategies among them.

Arguments are read, and refused where that is possible before any work is done. The strategy of a command is
from a file, from a program that is named, or the default one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mmopt.cli.command_output import INTERRUPTED, note, run_solve
from mmopt.errors import Error, OptionError, PrivacyError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mmopt.answers import Accuracy
    from mmopt.comparison import Stated
    from mmopt.language import Program
    from mmopt.mechanism import Plan
    from mmopt.request import Request
    from mmopt.results import AnySolution, Frame, Solution
    from mmopt.workloads import Workload


def read_request(path: str | Path, table: str | None = None) -> Request:
    """The request in a workload file, about the ``table`` of a database where --table names one.

    OptionError for a table in its place, without showing a line of it.
    """
    from mmopt.request import load_request

    if Path(path).suffix.lower() in (".csv", ".tsv", ".parquet", ".duckdb", ".sqlite", ".db", ".gz"):
        raise OptionError(
            f"'{path}' looks like a table, and a workload file (.yaml) is expected",
            hint="the workload file stands first: mmopt release WORKLOAD DATA",
        )
    request = load_request(path)
    return request if table is None else replace(request, table=replace(request.table, table=table))


def read_program(name: str | None, request: Request) -> Program:
    """The program named, or the default one for workload and privacy, with a note on stderr."""
    from mmopt.driver import default_program
    from mmopt.language import Program

    if name is None:
        name, why = default_program(request.workload, request.privacy is not None and request.privacy.is_pure)
        note(f"program: {name}, by default: {why} (choose another with --program)")
    return Program.load(name)


def note_request(request: Request, *, is_planned: bool = False) -> None:
    """Print a note on what figures refer to, where a workload file has neighbours or normalised rows.

    is_planned : whether the figures are those of a release, which are for the neighbours of the file.
    """
    if not is_planned and request.neighbours is not None and str(request.neighbours) != "add-remove":
        note(
            "neighbours: objective, bound and sensitivity are for those of the program (add-remove, where it "
            f"names none); a release is calibrated for {request.neighbours}, as the workload file says"
        )
    if request.workload.is_normalised:
        note(
            "normalise: objective, bound and error are of rows scaled to unit length; rmse is of the queries"
        )


def read_givens(texts: Sequence[str] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The values of ``--given NAME=VALUE``: a number, a baseline's name, or a file.

    Raises
    ------
    OptionError : not of that form, a name that the program does not have or that occurs twice, or a value
        that is none of these.
    """
    names = [d.name for d in program.givens] + [p.name for p in program.parameters]
    values: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name and value):
            raise OptionError(f"--given is '{text}', expected NAME=VALUE", hint="for example --given Q=haar")
        if name not in names:
            raise OptionError(f"'{program.name}' has no given '{name}'", hint=suggest(name, names))
        if name in values:
            raise OptionError(f"the given '{name}' is passed twice", hint="keep one of them")
        dims = next((len(d.dims) for d in program.givens if d.name == name), 0)
        values[name] = _fitted(_value(name, value, workload, program.meaning.norm), dims)
    return values


def _value(name: str, text: str, workload: Workload, norm: int) -> Any:
    from mmopt.strategies.baselines import baseline_words, design_rows, is_baseline
    from mmopt.workloads.arrays_and_frames import SUFFIXES, read_array

    if is_baseline(text):
        return design_rows(text, workload, norm)
    path = Path(text)
    if path.suffix.lower() in SUFFIXES:
        return read_array(path, f"the given '{name}'")
    try:
        return float(text)
    except ValueError:
        raise OptionError(
            f"the value '{text}' of the given '{name}' is no number, no baseline, and no .npy or .csv file",
            hint=suggest(text, baseline_words()),
        ) from None


def _fitted(value: Any, dims: int) -> Any:
    """A value from a file: one row or column as a vector, one entry as a number, where these are declared."""
    import numpy as np

    array = np.asarray(value)
    if dims == 1 and array.ndim == 2 and 1 in array.shape:
        return array.ravel()
    return array.ravel()[0] if dims == 0 and array.size == 1 else value


# -- refusals


def check_out(path: Path | None, option: str = "--out", example: str = "solution.npz") -> None:
    """Refuse an output file that could not be written."""
    if path is None:
        return
    if path.is_dir():
        raise OptionError(
            f"'{path}' is a folder, {option} names a file", hint=f"for example {path / example}"
        )
    _check_parent(path, path.with_name(f".{path.name}.{os.getpid()}.part"))


def check_folder(out: Path) -> None:
    """Refuse a release folder that exists, or could not be made."""
    if os.path.lexists(out):
        raise OptionError(
            f"'{out}' exists already; a release is written to a new folder",
            hint="name another folder with --out",
        )
    from mmopt.mechanism.release_folder import partial_sibling

    _check_parent(out, partial_sibling(out))


def _check_parent(path: Path, trial: Path) -> None:
    """Refuse a path where ``trial``, the name under which it is written first, cannot be made."""
    parent = path.parent
    if not parent.is_dir():
        raise OptionError(
            f"cannot write '{path}': there is no folder '{parent}'", hint="make the folder first"
        )
    try:
        trial.mkdir()
        trial.rmdir()
        with suppress(FileNotFoundError):
            path.lstat()  # raises for a name that is too long
    except OSError as error:
        raise OptionError(
            f"cannot write '{path}': {error.strerror}", hint="another folder or a shorter name may do"
        ) from error


def check_privacy(request: Request, program: str, by_targets: bool, norm: int) -> None:
    """Refuse a release when neither privacy parameters nor targets determine the noise.

    Also when the parameters are not those of a noise for the norm: Laplace for 1, Gaussian for 2.
    """
    from mmopt.privacy.guarantee import PURE_HINT
    from mmopt.privacy.table_of_noises import noise_for

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


def stated_in(request: Request) -> Stated | None:
    """The privacy that errors are for; None where the file has none, and they are at unit noise."""
    from mmopt.comparison import Stated
    from mmopt.strategies import ADD_REMOVE

    return None if request.privacy is None else Stated(request.privacy, request.neighbours or ADD_REMOVE)


def check_table(data: str, request: Request, part: tuple[str, str] | None = None) -> None:
    """Refuse a table that is missing or lacks a column that is read, by its header or schema alone."""
    from mmopt.data import check_columns

    check_columns(
        data,
        request.workload.domain,
        workload=request.workload,
        part=part,
        unit=request.neighbours,
        **asdict(request.table),
    )


def refuse_beside(what: str, options: Mapping[str, object], why: str = "") -> None:
    """Refuse options (by their names on the command line) that have no effect with another; ``why``."""
    for name, value in options.items():
        if value is not None and value != []:
            raise OptionError(f"{name} has no effect with {what}{why}", hint=f"leave out {name} or {what}")


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
    from mmopt.answers import accuracy
    from mmopt.driver.accepted_inputs import CLASSES
    from mmopt.driver.templates import TEMPLATES
    from mmopt.solvers import solver_name

    solution: AnySolution | None = None
    solve_options = {f"--{n.replace('_', '-')}": v for n, v in {"solver": solver, **options}.items() if v}
    solver_name(solver)  # an unknown one is refused whatever is chosen
    if strategy is not None:
        named = {"--program": program, "--given": given, **solve_options}
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
            unread := [name for name in solve_options if name[2:].replace("-", "_") in CLASSES]
        ):
            note(f"not read: {', '.join(unread)}; the strategy is of a template, which no solver chooses")
    return planned


def plan_of(solution: AnySolution, request: Request) -> Plan | None:
    """A solution's release at the file's privacy or by targets; None, with a note, where there is none."""
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
    """A function that solves with a live display; after Ctrl-C it exits, unless ``keep_interrupted``."""

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
    """Write a row for each query as CSV, and a chart of their half widths, where files are named."""
    from mmopt.report import write_accuracy_chart
    from mmopt.results.npz_file import write_whole

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
        # Data was not touched; a user who stops a release does not want half of one.
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
