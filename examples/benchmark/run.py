"""Solvers side by side on a suite: each call in a process of its own, each point judged by
mmopt.

python examples/benchmark/run.py examples/benchmark/proved --out results          some fifteen minutes
python examples/benchmark/run.py SUITE SUITE --solvers clarabel,own:solve --limit 60 --out results

Written are calls.parquet (a row for each call, the machine and the versions with them), page.md and its
charts.
"""

from __future__ import annotations

import io
import json
import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from aggregates import ACCURACIES
from called_solvers import CALLED, PLAIN
from ladders import ENOUGH
from machine_facts import disturbances, machine, versions
from measured_solve import (
    COMPILE_SECONDS,
    KERNEL,
    MMOPT,
    TOLERANCES,
    Call,
    Measured,
    Unsolvable,
    beyond,
    excess,
)
from page import BEYOND_STOP, check_out, page_of, write_page
from suite_table import (
    OPTIMA,
    Instance,
    Optimum,
    chosen_from,
    class_of,
    data_hash,
    instances_in,
    optima_in,
    title_of,
)

from mmopt import OptionError, export
from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import names_in
from mmopt.cli.command_output import note, show
from mmopt.comparison import Isolated, Outcome
from mmopt.comparison.isolated_tasks import limit_in_bytes
from mmopt.comparison.worker import Solving
from mmopt.installation_and_files import write_whole
from mmopt.limits import Stop
from mmopt.report.table_style import duration
from mmopt.solvers import Options, solver_row
from mmopt.solvers.conic_solvers import installed_others

DEFAULT = (*CALLED, "highs", "osqp", f"{PLAIN}clarabel", MMOPT, KERNEL)
GIB = 4.0
REFERENCE = "clarabel"  # whose bound the gap is to where no optimum is proved
REFERENCE_GAP = 1e-10  # asked for there
RAY = 1e-6  # the accuracy asked for where there is no solution
REFUSED = (Stop.UNSUITABLE, Stop.TOO_LARGE, Stop.REFUSED)  # before any call: a tighter one is refused too


def rows_of(
    chosen: Sequence[Instance],
    solvers: Sequence[str],
    limit: float,
    memory: float | None,
    threads: int,
    repeats: int,
) -> Iterator[dict[str, Any]]:
    """A row for each call, and one for a solver without any on an instance; instance by instance.

    A call has what those before have left of the limit. A solver that takes longer at one step of a ladder is
    not called at the next. Ctrl-C and SIGTERM end it after the last whole instance.

    Raises
    ------
    OptionError : limits out of range, an optimum that is proved for other data.
    """
    Options(time_limit=limit, threads=threads)
    if repeats < 1:
        raise OptionError(f"--repeats is at least 1, not {repeats}")
    size, started = limit_in_bytes(memory), time.monotonic()
    optima = {folder: optima_in(folder) for folder in {instance.folder for instance in chosen}}
    abouts = [_about(each, optima[each.folder].get(each.name), limit) for each in chosen]
    fallen: set[tuple[str, str]] = set()
    with Isolated(threads=threads) as isolated:
        for number, (instance, about) in enumerate(zip(chosen, abouts, strict=True), 1):
            so_far = duration(time.monotonic() - started)
            note(f"{instance.name} ({number} of {len(chosen)}, {so_far} so far)")
            common: dict[str, Any] = {
                "workload": instance.workload,
                "program": instance.program,
                "memory_limit": size,
                "tolerance": None,
            }
            end = about["lower" if instance.program.sense == "minimize" else "upper"]
            if end is None and instance.ladder is None and instance.truth is None:
                options = {"derive": True, "givens": instance.givens, "threads": threads}
                task = Solving(
                    **{**common, "tolerance": REFERENCE_GAP},
                    solver=REFERENCE,
                    time_limit=limit,
                    options=options,
                )
                solution = isolated.run(task).solution
                about["reference"] = end = None if solution is None else solution.bound
            rows: list[dict[str, Any]] = []
            for name in solvers:
                step = name, instance.ladder or instance.name
                if step in fallen:
                    continue
                own = {
                    **common,
                    "solver": None,
                    "givens": instance.givens,
                    "threads": threads,
                    "label": name,
                    "repeats": repeats,
                }
                calls = list(_calls_of(isolated, own, limit, end, instance))
                rows += [{**about, "solver": name, **row} for row in calls]
                if not any(row["gap"] is not None and row["gap"] <= ENOUGH for row in calls):
                    fallen.add(step)
                if isolated.interrupted:  # of this instance not all is known
                    return
            yield from rows


def _check_solvers(names: Sequence[str]) -> None:
    """OptionError unless there are such solvers, with cones that there are."""
    others = [name for name in installed_others() if name not in CALLED]
    for name in names:
        plain = name.removeprefix(PLAIN)
        if ":" in plain:
            solver_row(plain)
        elif plain not in (*CALLED, *others) and name not in (KERNEL, MMOPT):
            raise OptionError(
                f"there is no solver '{name}'",
                hint=f"take {', '.join((*CALLED, *others, MMOPT, KERNEL))}, {PLAIN}NAME, or module:function",
            )


def _about(instance: Instance, optimum: Optimum | None, limit: float) -> dict[str, Any]:
    """The fields that all rows of an instance share; OptionError where its optimum is proved for other
    data."""
    form = instance.stated
    if form is None or optimum is not None:
        exported = export(instance.workload, instance.program, "cbf", givens=instance.givens)
        form = form or class_of(exported.problem.cones)
    if optimum is not None and optimum.sha256 != data_hash(str(exported.content)):
        raise OptionError(
            f"the optimum of '{instance.name}' in '{instance.folder / OPTIMA}' is proved for other data",
            hint=f"prove it again (make.py {instance.folder} --prove), or run without the file",
        )
    return {
        "suite": title_of(instance.folder),
        "instance": instance.name,
        "ladder": instance.ladder,
        "size": instance.workload.n,
        "truth": instance.truth,
        "class": form,
        "lower": float(optimum.lower) if optimum and optimum.lower else None,
        "upper": float(optimum.upper) if optimum and optimum.upper else None,
        "reference": None,
        "limit": limit,
    }


def _calls_of(
    isolated: Isolated, common: dict[str, Any], limit: float, end: float | None, instance: Instance
) -> Iterator[dict[str, Any]]:
    """A row for each call of a solver on an instance, each in a fresh process, until one is near enough."""
    left, enough = limit, ENOUGH if instance.ladder else min(ACCURACIES)
    label = common["label"]
    # Plain cvxpy is not told how exact: one call with its defaults.
    is_once = label in (KERNEL, MMOPT) or instance.truth is not None or label.startswith(PLAIN)
    further = TOLERANCES if instance.ladder is None else TOLERANCES[1:]
    for tolerance in (RAY if instance.truth else enough,) if is_once else further:
        within = left if label in (KERNEL, MMOPT) else left + COMPILE_SECONDS
        kind = Measured if instance.truth is None else Unsolvable
        task = kind(**common, time_limit=within, asked=tolerance, left=left)
        outcome = isolated.run(task)
        rows = list(_rows(outcome, task, end))
        yield from rows
        gaps = [row["gap"] for row in rows if row["gap"] is not None]
        spent = [row["seconds"] for row in rows if row["seconds"] is not None]
        left -= max(spent, default=outcome.seconds)
        is_refused = outcome.stop in REFUSED and not spent
        if left <= 0 or is_refused or isolated.interrupted or min(gaps, default=math.inf) <= enough:
            return


def _rows(outcome: Outcome, task: Measured, end: float | None) -> Iterator[dict[str, Any]]:
    said = {
        "stop": "call made" if outcome.solution is not None else str(outcome.stop),
        "reason": outcome.reason.replace("called_solvers:", ""),
        "memory": outcome.memory,
    }
    calls = [call for call in outcome.history if isinstance(call, Call)]
    if not calls:
        yield {**said, **dict.fromkeys(CALL_COLUMNS), "tolerance": task.asked}
    for call in calls:
        gap = call.gap if end is None else excess(call.objective, end, call.sense)
        if end is not None and beyond(call.objective, end, call.sense):
            gap = math.inf
            said["stop"] = BEYOND_STOP
            said["reason"] = (
                f"the certified objective {call.objective!r} is beyond the proved {end!r}: the table of "
                "optima is wrong, or mmopt is"
            )
            note(f"error: {task.label}: {said['reason']}")
        yield {
            **said,
            "tolerance": call.tolerance,
            "seconds": call.call_seconds,
            "cpu": call.call_cpu,
            **dict.fromkeys(SPREADS),
            **dict(zip(SPREADS, (t for pair in call.spread or () for t in pair), strict=False)),
            "own": call.own,
            "compile": call.compile,
            "iterations": call.iterations,
            "word": call.word,
            "objective": call.objective,
            "bound": call.bound,
            "gap": math.inf if gap is None else gap,
            "own_gap": call.gap,
            "claim": call.claim,
            "is_proof": call.is_proof,
            "reach": call.reach,
            **{f"err{i}": value for i, value in enumerate(call.errors, 1)},
        }


SPREADS = ("seconds_least", "seconds_most", "cpu_least", "cpu_most")
CALL_COLUMNS = (
    *(
        "tolerance",
        "seconds",
        "cpu",
        *SPREADS,
        "own",
        "compile",
        "iterations",
        "word",
        "objective",
        "bound",
        "gap",
        "own_gap",
        "claim",
        "is_proof",
        "reach",
    ),
    *(f"err{i}" for i in range(1, 7)),
)


TEXTS = ("suite", "instance", "class", "ladder", "truth", "solver", "stop", "reason", "word", "claim")


def write_parquet(rows: Sequence[dict[str, Any]], facts: dict[str, dict[str, Any]], path: Path) -> None:
    """The rows as a table, the facts in its metadata under ``benchmark`` as JSON; ResultError if not
    possible.
    """
    types = {
        **dict.fromkeys(TEXTS, pa.string()),
        **dict.fromkeys(("memory", "iterations", "size"), pa.int64()),
        "is_proof": pa.bool_(),
    }
    fields = [(name, types.get(name, pa.float64())) for name in rows[0]]
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(fields))
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"benchmark": json.dumps(facts)}), buffer)
    write_whole(path, buffer.getvalue())


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat the signal that ends a job of a queue as Ctrl-C, so that finished rows are written."""
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(
    suites: Annotated[list[Path], typer.Argument(metavar="SUITE...", help="Folders with a suite.yaml.")],
    solvers: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Any that cvxpy has, cvxpy:NAME for plain cvxpy, 'mmopt', 'kernel' for its own, or "
            "module:function for yours.",
        ),
    ] = ",".join(DEFAULT),
    limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="For all calls of a solver on an instance, and its charge."),
    ] = 20.0,
    memory: Annotated[
        float | None, typer.Option(metavar="GIB", help="Of each process, above its start (Linux).")
    ] = GIB,
    threads: Annotated[int, typer.Option(metavar="N", help="Of each solver and of dense algebra.")] = 1,
    repeats: Annotated[int, typer.Option(metavar="N", help="Times of a call, where it is short.")] = 3,
    shift: Annotated[float, typer.Option(metavar="SECONDS", help="Of the geometric means.")] = 0.1,
    clock: Annotated[
        str, typer.Option(metavar="NAME", help="What counts: 'seconds' (wall) or 'cpu'.")
    ] = "seconds",
    only: Annotated[str | None, typer.Option(metavar="A,B", help="These instances alone.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the results there.")] = None,
) -> None:
    """Run solvers on a suite and write what they reached, how fast, and where they failed."""
    names = names_in(solvers, "--solvers")
    among = [instance for suite in suites for instance in instances_in(suite)]
    chosen = chosen_from(among, names_in(only, "--only") if only else None)
    if clock not in ("seconds", "cpu"):
        raise OptionError(f"--clock is 'seconds' or 'cpu', not '{clock}'")
    if not shift > 0:
        raise OptionError(f"a shift is a positive number of seconds, not {shift}")
    if out is not None:
        check_out(out)
    _check_solvers(names)
    packages, before = versions(names), disturbances()
    rows: list[dict[str, Any]] = []
    with _sigterm_as_interrupt(), suppress(KeyboardInterrupt):  # also between two tasks
        for row in rows_of(chosen, names, limit, memory, threads, repeats):
            rows.append(row)
    if not rows:
        raise KeyboardInterrupt
    facts = {
        "machine": machine(threads),
        "versions": packages,
        "disturbances": {k: f"{v:g} before, {disturbances()[k]:g} after" for k, v in before.items()},
        "instances": {
            "of the suite": len(among),
            "chosen": len(chosen),
            "done": len({row["instance"] for row in rows}),
        },
        "settings": {
            "limit": limit,
            "memory GiB": memory,
            "repeats": repeats,
            "shift": shift,
            "clock": clock,
        },
    }
    title = title_of(suites[0]) if len(suites) == 1 else "Solvers side by side"
    text, charts = page_of(title, rows, facts)
    if out is None:
        show(text)
        return
    write_parquet(rows, facts, out / "calls.parquet")
    for path in write_page(text, charts, out):
        note(f"written: {path}")


if __name__ == "__main__":
    run_alone(run, "python examples/benchmark/run.py")
