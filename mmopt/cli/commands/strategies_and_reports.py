"""``mmopt solve``, ``tune``, ``templates``, ``baselines``, ``certify``, ``verify`` and ``report``."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from mmopt.answers import load_release
from mmopt.cli.command_inputs import (
    check_out,
    names_in,
    norm_of_noise,
    note_request,
    numbers_in,
    read_givens,
    read_request,
    refuse_without_effect,
)
from mmopt.cli.command_output import INTERRUPTED, REFUTED, Display, answer, live, note
from mmopt.cli.solve_and_plan import (
    options_for,
    plan_of,
    planned_accuracy,
    read_program,
    run_solve,
    solution_in,
    stated_in,
)
from mmopt.comparison import at_privacy, compare as compare_programs, ranking, template_places
from mmopt.comparison.program_comparison import TIME_LIMIT
from mmopt.driver import tune as tune_subworkload
from mmopt.driver.accepted_options_and_inputs import norm_of, open_strategy, refuse_unread
from mmopt.driver.templates import TEMPLATES, Templates, templates as optimise, tune_templates
from mmopt.errors import Error, OptionError, PrivacyError, WorkloadError, whole
from mmopt.installation_and_files import write_whole
from mmopt.language import Program, check
from mmopt.mechanism import Plan
from mmopt.mechanism.release_writing import STRATEGY_FILE
from mmopt.privacy.noise import noise_for
from mmopt.proof import certify as certify_strategy, program_for, verify as verify_solution
from mmopt.report import (
    Contents,
    Trace,
    baseline_costs,
    baselines_table,
    convergence_figure,
    history_frame,
    history_table,
    need_matplotlib,
    pairs_table,
    sizes_of,
    sizes_tables,
    slack_table,
    solution_rows,
    subworkloads_table,
    templates_table,
    trace as traced,
    trace_to_failure,
    tuning_table,
    verification_report,
    write_page,
)
from mmopt.report.chart_parts import save
from mmopt.request import Request
from mmopt.request.workload_file_and_arguments import default_words
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite
from mmopt.strategies import ADD_REMOVE
from mmopt.strategies.baselines import CATALOGUE, baseline_call, baseline_names, evaluate
from mmopt.workloads import (
    Workload,
    read_array,
    subworkloads,
)


def solve(
    *,
    workload: Path | None,
    program: str | None,
    given: list[str] | None,
    solver: str | None,
    start: str | None,
    no_reduce: bool,
    derive: bool | None,
    dry_run: bool,
    out: Path | None,
    history: Path | None,
    chart: Path | None,
    trace: bool,
    trace_page: Path | None,
    as_json: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Print the best strategy, with its proof; write it, and how it was reached, where files are named."""
    _check_files(out, history, chart, trace_page, dry_run=dry_run)
    for option, is_wanted in (("--start", start is not None), ("--trace", trace)):
        if dry_run and is_wanted:
            raise OptionError(f"--dry-run solves nothing, so {option} has no effect")
    is_traced = trace or trace_page is not None
    is_kept = verbose or is_traced or history is not None or chart is not None
    options = options_for(verbose=verbose, history=is_kept, **options)
    options |= {"reduce": not no_reduce, "start": start, "derive": derive}
    solution, plan = None, None
    read: dict[str, Any] = {"program": program or "the default", "workload": None, "givens": None}
    try:
        request = read_request(workload, programs=[program])
        read["workload"] = request.workload
        if program is None and not given and start is None and not dry_run:
            solution, plan = _at_privacy(request, solver, options)
        if solution is None:
            read["program"] = parsed = read_program(program, request)
            read["givens"] = givens = read_givens(given, parsed, request.workload)
            if dry_run:
                chosen = default_words(request.workload, request.privacy) if program is None else ""
                _dry_run(parsed, request.workload, givens, solver, as_json, options, chosen)
                return
            solution = run_solve(request.workload, parsed, solver, givens, options)
            plan = plan_of(solution, request)
    except Error as error:
        if is_traced:
            way = trace_to_failure(**read, error=error)
            nothing = {"program": way.name, "status": None, "problem": error.message}
            if trace:
                answer(as_json, nothing | {"trace": way.summary()}, [way])
            _write_trace(way, trace_page)
        raise
    note_request(request)
    interrupted = solution.status.is_interrupted
    if interrupted:
        note("interrupted: this is the best certified point so far")
    tree = traced(solution, request.workload) if is_traced else None
    tables = [tree] if trace else _tables(solution, request.workload, plan, verbose)
    _answer(as_json, solution, plan, tables, out, {"trace": tree.summary()} if tree and trace else {})
    _write_trace(tree, trace_page)
    _write_history(solution, history, chart, Path(request.path).name)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _answer(
    as_json: bool,
    solution: Solution,
    plan: Plan | None,
    tables: Iterable[object],
    out: Path | None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print a solution with its release, where there is one; save it where a file is named."""
    release = {} if plan is None else {"release": plan.summary()}
    answer(as_json, {**solution.summary(), **release, **(more or {})}, tables)
    if out is not None:
        note(f"saved: {solution.save(out)}")


def _write_trace(tree: Trace | None, path: Path | None) -> None:
    """Write the tree as an HTML page where a file is named."""
    if tree is not None and path is not None:
        write_whole(path, f"{tree.html()}\n".encode())
        note(f"trace: {path}")


def _at_privacy(
    request: Request, solver: str | None, options: Mapping[str, Any]
) -> tuple[Solution | None, Plan | None]:
    """The default strategy and its release, where the choice is by a privacy and a release is possible."""
    if request.privacy is None:
        return None, None
    try:
        planned = planned_accuracy(request, solver=solver, options=options, keep_interrupted=True)
    except (PrivacyError, WorkloadError) as error:  # of the plan; errors of a solve will occur again
        note(f"errors are for noise of variance 1: {error.message}")
        return None, None
    if planned.plan.rounding:
        note(f"rounding: {planned.plan.rounding}")
    return planned.solution, planned.plan


def _check_files(
    out: Path | None, history: Path | None, chart: Path | None, trace_page: Path | None, *, dry_run: bool
) -> None:
    """Refuse files that could not be written, before any work."""
    for path, option, example in (
        (out, "--out", "solution.npz"),
        (history, "--history", "iterations.csv"),
        (chart, "--chart", "gap.svg"),
        (trace_page, "--trace-page", "trace.html"),
    ):
        if dry_run and path is not None:
            raise OptionError(f"--dry-run solves nothing, so there is nothing to write with {option}")
        check_out(path, option, example)


def _write_history(solution: Solution, history: Path | None, chart: Path | None, workload: str) -> None:
    """Write the iterations as CSV and as a chart, where files are named; ``workload``: its file's name."""
    if solution.template and (history is not None or chart is not None):
        note("a strategy of a template has no iterations; --history and --chart write nothing")
        return
    if history is not None:
        write_whole(history, history_frame(solution).to_csv().encode())
        note(f"iterations: {history}")
    if chart is not None:
        title = f"{workload}: {solution.program} by {solution.solver}"
        save(chart, lambda: convergence_figure([solution], title))
        note(f"chart: {chart}")


def _tables(solution: Solution, workload: Workload, plan: Plan | None, verbose: bool) -> Iterator[object]:
    """The tables of ``mmopt solve``: figures, sub-workloads, history and slack, where there are any."""
    yield pairs_table(solution_rows(solution, plan))
    if subworkloads(workload):
        yield from ("", subworkloads_table(solution, workload, plan))
    if solution.template:
        return
    if solution.history and (verbose or not any("certified" in row for row in solution.history)):
        yield from ("", history_table(solution))
    if solution.covariance is not None and (slack := slack_table(solution, workload)) is not None:
        yield from ("", slack)


def _dry_run(
    program: Program,
    workload: Workload,
    givens: Mapping[str, Any],
    solver: str | None,
    as_json: bool,
    options: Mapping[str, Any],
    chosen: str,
) -> None:
    """Print the sizes and forecasts of the problems, and raise the refusal of one that none can solve.

    ``chosen`` : in words the choice where no program is named, of which ``program`` is one; else "".
    """
    refuse_unread(check(program), solver, options)
    sizes = sizes_of(program, workload, givens, solver, reduce=options["reduce"], limits=options)
    summary = {
        "program": program.name,
        "workload": {"queries": workload.m, "cells": workload.n, "hash": workload.hash},
        "problems": [problem.summary() for problem in sizes],
    }
    head = f"{workload.m:,} queries over {whole(workload.n)} cells; nothing is solved"
    notes = [fill(f"by default {chosen}; the sizes are those of {program.name}", 79)] if chosen else []
    answer(as_json, summary, [head, *notes, *sizes_tables(sizes)])
    for problem in sizes:
        if problem.refusal is not None:
            raise problem.refusal


def tune(
    *,
    workload: Path,
    subworkload: str,
    factors: str,
    noise: str,
    program: str | None,
    solver: str | None,
    tolerance: float | None,
    time_limit: float | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Print errors at several weights of a sub-workload."""
    options = options_for(tolerance=tolerance, time_limit=time_limit, verbose=verbose)
    request = read_request(workload)
    queries = request.workload
    deviation = None  # of the noise per unit of sensitivity, at the privacy of the file
    times = (request.neighbours or ADD_REMOVE).times
    if request.privacy is not None and times is not None:
        deviation = times * noise_for(norm_of_noise(noise), request.privacy).continuous.deviation(
            request.privacy
        )
    with live(verbose=verbose) as display:

        def begin(words: str) -> Display:
            display.begin(words)
            return display

        weights = numbers_in(factors, "--factors")
        if norm_of_noise(noise) == 1:
            refuse_without_effect(
                "--noise laplace",
                {"--program": program, "--solver": solver, "--tolerance": tolerance},
                ", whose strategies are products that no program chooses",
            )
            tuned = list(tune_templates(queries, subworkload, weights, report=display.begin))
        else:
            ways = {"progress": begin, "solver": solver, **options}
            tuned = list(tune_subworkload(queries, subworkload, weights, program or "l2_strategy", **ways))
    rows = [
        {
            **row.summary(),
            "rmse": deviation and {part: deviation * unit for part, unit in row.rmse.items()},
            "unit_rmse": dict(row.rmse),
        }
        for row in tuned
    ]
    answer(as_json, rows, [tuning_table(tuned, 1.0 if deviation is None else deviation)])


def baselines(*, workload: Path | None, names: list[str] | None, as_json: bool) -> None:
    """List the baselines, or what each costs for a workload."""
    calls = [str(baseline_call(text)) for text in names or baseline_names()]
    if workload is None:
        rows = [
            row for row in CATALOGUE if not names or row in {baseline_call(text).baseline for text in names}
        ]
        words = "'mmopt baselines WORKLOAD' tells what each costs."
        summaries = [
            {
                "name": row.name,
                "title": row.title,
                "source": row.source,
                "norms": list(row.norms),
                "parameters": [
                    {"name": p.name, "type": p.kind.__name__, "default": p.default, "about": p.about}
                    for p in row.parameters
                ],
            }
            for row in rows
        ]
        answer(as_json, summaries, [baselines_table(rows), "", words])
        return
    request = read_request(workload)
    stated = stated_in(request)
    evaluated = []
    for number, call in enumerate(calls, 1):
        note(f"baseline: {call} ({number} of {len(calls)})")
        evaluated.append(evaluate(call, request.workload))
    each = [at_privacy(one, request.workload, stated) for one in evaluated]
    note_request(request)
    ranked = ranking([], [one for factors in each for one in factors], request.workload, stated)
    places = {id(place.entry): place.number for place in ranked.places}
    costs = [
        {
            "name": one.name,
            "title": one.title,
            "detail": one.detail,
            "reason": one.reason,
            "costs": [
                {
                    "norm": cost.norm,
                    "noise": factors.noise,
                    "rows": cost.rows,
                    "sensitivity": cost.sensitivity,
                    "error": finite(cost.error),
                    "rmse": finite(factors.errors_rmse),
                    "unit_rmse": finite(cost.rmse),
                    "privacy_cost": finite(cost.privacy_cost or None),
                    "rank": places.get(id(factors)),
                    **factors.predicted.summary(),
                }
                for cost, factors in zip(one.costs, by_noise, strict=True)
            ],
        }
        for one, by_noise in zip(evaluated, each, strict=True)
    ]
    answer(as_json, costs, baseline_costs(evaluated, ranked))


def templates(
    *,
    workload: Path,
    noise: str | None,
    names: str | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the templates with their strategies optimised; write the best where a file is named."""
    chosen_norm = None if noise is None else norm_of_noise(noise)
    check_out(out, example="strategy.npz")
    request = read_request(workload)
    queries, chosen = request.workload, names_in(names, "--templates") or None
    stated = stated_in(request)
    norms = (chosen_norm,) if chosen_norm is not None else (2,) if stated is None else stated.norms
    rows = [TEMPLATES[name] for name in chosen or () if name in TEMPLATES]
    # First a noise for which there is some template: the bound comes with it.
    norms = tuple(sorted(norms, key=lambda norm: all(one.why_not(norm) for one in rows)))
    optimised: dict[int, Templates] = {}
    bound: tuple[float, str] | None = None
    for norm in norms:
        suffix = f", {noise_for(norm).name} noise" * (len(norms) > 1)

        def report(what: str, suffix: str = suffix) -> None:
            note(what if what == "bound" else f"{what}{suffix}")

        optimised[norm] = optimise(queries, norm, chosen, seed=seed, report=report, bound=bound)
        bound = optimised[norm].bound, optimised[norm].bound_from
    assert bound is not None
    places = template_places(optimised, queries, stated)
    summary = {
        "templates": [place.summary() for place in places],
        "privacy": None if stated is None else stated.summary(),
        "bound": bound[0],
        "bound_from": bound[1],
    }
    answer(as_json, summary, [templates_table(places, *bound, stated)])
    if out is not None:
        best = places[0]
        solution = optimised[best.norm].solution(queries, best.candidate)
        note(f"saved: {solution.save(out)} ({best.candidate.template})")


def certify(
    *,
    workload: Path,
    strategy: str | None,
    program: str | None,
    point: Path | None,
    given: list[str] | None,
    norm: int | None,
    covariance: bool,
    basis: Path | None,
    no_solve: bool,
    solver: str | None,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the error of a strategy or point from elsewhere, with a proved bound."""
    check_out(out)
    if basis is not None and not covariance:
        raise OptionError("--basis is the basis of a covariance", hint="add --covariance")
    options = options_for(**options)
    if (strategy is None) == (point is None):
        both = "both STRATEGY and --point" if point is not None else "neither STRATEGY nor --point"
        raise OptionError(f"{both} given, expected one of them")
    if point is not None and (covariance or norm is not None):
        raise OptionError("--covariance and --norm are of a strategy, and have no effect with --point")
    request = read_request(workload)
    if strategy is None:
        judged: dict[str, Any] = {"point": point}
    elif covariance:
        judged = {
            "basis": None if basis is None else read_array(basis, "the basis"),
            "covariance": read_array(Path(strategy), "the covariance"),
        }
    else:
        judged = {"strategy": open_strategy(strategy, request.workload, norm)}
        norm = norm_of(judged["strategy"]) if norm is None else norm
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
            **judged,
            **options,
        )
    note_request(request)
    plan = plan_of(solution, request)
    _answer(as_json, solution, plan, [pairs_table(solution_rows(solution, plan))], out)


def verify(*, solution: Path, workload: Path | None, program: str | None, as_json: bool) -> None:
    """Print what of a saved solution holds; exit with ``REFUTED`` where something does not."""
    queries = None if workload is None else read_request(workload).workload
    verification = verify_solution(solution, queries, program)
    answer(as_json, verification.summary(), [verification_report(verification)])
    if not verification.holds:
        raise typer.Exit(REFUTED)


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
    if release is None:
        released = None
        solution, plan, chosen = _strategy_of_page(request, program, given, strategy, solver, options)
    else:
        refuse_without_effect(
            "--release",
            {
                "--program": program,
                "--given": given,
                "--strategy": strategy,
                "--solver": solver,
                "--tolerance": tolerance,
            },
            ", which brings a strategy",
        )
        released = load_release(release, request.workload)
        solution, plan, chosen = solution_in(release / STRATEGY_FILE, request), released.plan, ""
    names, by = names_in(compare, "--compare"), names_in(solvers, "--solvers")
    if by and not names:
        if solution.template:
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
    write_page(
        Contents(
            Path(request.path).name,
            request.workload,
            request.text_hash,
            solution,
            plan,
            comparison,
            None if released is None else released.manifest,
            None if released is None else released.answers,
            chosen,
        ),
        out,
    )
    note(f"written: {out}")


def _strategy_of_page(
    request: Request,
    program: str | None,
    given: list[str] | None,
    strategy: Path | None,
    solver: str | None,
    options: dict[str, Any],
) -> tuple[Solution, Plan | None, str]:
    """The strategy of the page, as for ``mmopt solve``, its release where one is possible, and why."""
    options = options if strategy is not None else options | {"history": True}
    if strategy is None and (program is not None or given or request.privacy is None):
        parsed = read_program(program, request)
        givens = read_givens(given, parsed, request.workload)
        solution = run_solve(request.workload, parsed, solver, givens, options)
        if solution.status.is_interrupted:
            raise KeyboardInterrupt
    elif strategy is not None and request.privacy is None:
        solution = solution_in(strategy, request)
    else:
        planned = planned_accuracy(
            request,
            options=options,
            program=program,
            given=given,
            strategy=strategy,
            solver=solver,
            refuse=False,
        )
        return planned.solution, planned.plan, planned.words
    return solution, plan_of(solution, request), ""
