"""``python -m mmopt.testing.bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mmopt.cli.guard import run_alone
from mmopt.cli.options import names_in
from mmopt.cli.output import note, show
from mmopt.errors import OptionError

__all__ = ["bench", "main"]


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
    from mmopt.testing.bench.cases import cases
    from mmopt.testing.bench.files import check_folder, write
    from mmopt.testing.bench.fit import exponents
    from mmopt.testing.bench.measure import measure
    from mmopt.testing.bench.table import bench_report
    from mmopt.testing.problems import PROBLEMS

    if problems == "list":
        show("\n".join(f"{p.name}: {p.about} ({', '.join(sorted(p.tags))})" for p in PROBLEMS))
        return
    if out is not None:
        check_folder(out)
    chosen = cases(
        names_in(programs, "--programs"),
        names_in(problems, "--problems"),
        [_size(text) for text in names_in(sizes, "--sizes")],
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
    found = exponents(rows)
    show(bench_report(rows, found, baseline))
    if out is not None:
        for path in write(rows, found, {**how, **_machine()}, out):
            note(f"written: {path}")


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"--sizes has '{text}', expected whole numbers separated by commas") from None


def _machine() -> dict[str, Any]:
    """What the figures depend on besides the settings."""
    import os
    import platform
    from importlib.metadata import version

    from mmopt import __version__

    return {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "mmopt": __version__,
        **{name: version(name) for name in ("numpy", "scipy", "cvxpy", "clarabel", "scs")},
    }


def main() -> None:
    """Run it on ``sys.argv``."""
    run_alone(bench, "python -m mmopt.testing.bench")


if __name__ == "__main__":
    main()
