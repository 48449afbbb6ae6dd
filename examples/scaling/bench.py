"""The cost of solving: problems of growing size, each solve in a fresh process, beside a baseline.

python examples/scaling/bench.py                      a few minutes; the table alone
python examples/scaling/bench.py --problems list      what else can be measured
python examples/scaling/bench.py --out FOLDER         the table, rows and settings, and the chart as files
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from measure import cases, measure
from report import check_folder, exponents, tables, write

from mmopt import __version__
from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import integers_in, names_in
from mmopt.cli.command_output import note, show
from mmopt.testing import PROBLEMS


def bench(
    programs: Annotated[str, typer.Option(metavar="A,B", help="Programs.")] = "l2_strategy",
    problems: Annotated[
        str, typer.Option(metavar="P,Q", help="Problems of the registry, or 'list'.")
    ] = "prefix,all-ranges",
    sizes: Annotated[str, typer.Option(metavar="N,N", help="Numbers of cells.")] = "16,32,64",
    solvers: Annotated[
        str, typer.Option(metavar="X,Y", help="Solvers and kernels; 'automatic' is what solve would choose.")
    ] = "automatic,clarabel,scs",
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="The solver that the others are compared with.")
    ] = "scs",
    repeat: Annotated[int, typer.Option(metavar="N", help="Solves of each, of which the median counts.")] = 3,
    threads: Annotated[int, typer.Option(metavar="N", help="Threads of dense algebra and solver.")] = 1,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="For the solver, in each solve.")
    ] = 60.0,
    tolerance: Annotated[
        float | None, typer.Option(metavar="GAP", help="Proved gap asked for. Default: each solver's own.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of random workloads.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write bench.csv, bench.json and bench.svg there (mmopt[chart])."),
    ] = None,
) -> None:
    """Measure what solving costs as the number of cells grows, beside a baseline measured in the same run.

    Every solve has a process of its own. What cannot be solved in the time is listed with the reason.
    """
    if problems == "list":
        show("\n".join(f"{p.name}: {p.about} ({', '.join(sorted(p.tags))})" for p in PROBLEMS))
        return
    if out is not None:
        check_folder(out)
    chosen = cases(
        names_in(programs, "--programs"),
        names_in(problems, "--problems"),
        integers_in(sizes, "--sizes"),
        names_in(solvers, "--solvers"),
        baseline,
    )
    how: dict[str, Any] = {
        "baseline": baseline,
        "repeat": repeat,
        "threads": threads,
        "time_limit": time_limit,
        "tolerance": tolerance,
        "seed": seed,
    }
    rows = list(measure(chosen, **how, begin=note))
    if len(rows) < len(chosen):
        note(f"interrupted: {len(chosen) - len(rows)} of {len(chosen)} are left out")
    if not rows:
        raise KeyboardInterrupt
    fits = exponents(rows)
    show(*tables(rows, fits, baseline))
    if out is not None:
        machine = {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "mmopt": __version__,
            **{name: version(name) for name in ("numpy", "scipy", "cvxpy", "clarabel", "scs")},
        }
        for path in write(rows, fits, {**how, **machine}, out):
            note(f"written: {path}")


if __name__ == "__main__":
    run_alone(bench, "python examples/scaling/bench.py")
