"""Options that several commands share, and words that the shell completes.

The shell completes names of programs, solvers and baselines, and files.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer


def program_words(incomplete: str) -> list[str]:
    """Shipped programs that begin with ``incomplete``; where there are none the shell completes files."""
    from mmopt.installation_and_files import programs_folder

    return _beginning(incomplete, (file.stem for file in programs_folder().glob("*.program")))


def solver_words(incomplete: str) -> list[str]:
    """All kernels and solvers, installed or not, and the word for any that is no kernel."""
    from mmopt.solvers import CONIC, KERNELS, SOLVERS

    return _beginning(incomplete, [CONIC, *(row.name for row in KERNELS), *(row.name for row in SOLVERS)])


def baseline_words(incomplete: str) -> list[str]:
    """Baselines, by all their names."""
    from mmopt.strategies import baselines

    return _beginning(incomplete, baselines.baseline_words())


def listed(words: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Complete the last of several words, separated by commas."""

    def last(incomplete: str) -> list[str]:
        before, comma, rest = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words(rest) if word not in before.split(",")]

    return last


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    """The names that begin so, sorted."""
    return sorted(name for name in names if name.startswith(start))


WorkloadFile = Annotated[Path, typer.Argument(metavar="WORKLOAD", help="Workload file (YAML).")]
WorkloadOrNone = Annotated[
    Path | None,
    typer.Argument(
        metavar="[WORKLOAD]",
        help="Workload file (YAML); none for a program without a workload's data.",
    ),
]
DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: .csv, .tsv, .txt, .parquet, DuckDB or SQLite file; or postgres://USER@HOST/DATABASE.",
    ),
]
SavedStrategy = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npz",
        help="Use this strategy, saved by --out of 'mmopt solve' or 'mmopt templates'.",
    ),
]
QueriesFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE.csv", help="Write one row a query; an existing file is replaced."),
]
AccuracyChart = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw all half widths into a .svg or .png file. Needs mmopt[chart]."),
]
GapChart = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw gap against time and iterations into a .svg or .png file; an existing file is replaced. "
        "Needs mmopt[chart].",
    ),
]
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]
DatabaseTable = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="Table of a database with several.")
]
Confidence = Annotated[float, typer.Option(metavar="P", help="Confidence of the intervals."), 0.95]
OneProgram = Annotated[
    str,
    typer.Argument(
        metavar="PROGRAM",
        help="Shipped program, or a path ending in .program.",
        autocompletion=program_words,
    ),
]
ProgramName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        autocompletion=program_words,
        help="Shipped program, or a path ending in .program. Default: at the file's privacy the one of least "
        "predicted error, of both noises; without privacy l2_strategy, or fitness_for_use when every query "
        "has a target.",
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A given of the program: a number, a baseline such as haar or 'hierarchical(branching=4)' "
        "(mmopt baselines lists them), or a .npy, .csv or (of scipy.sparse) .npz file. May be repeated.",
    ),
]
SolverName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=solver_words,
        help="Solver; conic for any that is no kernel; also another that cvxpy finds installed, or "
        "module:function, one of your own (python -m pydoc mmopt.solvers.conic_problem). Default: chosen "
        "by the forecast of its time.",
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        metavar="GAP",
        help="Proved gap asked for. Default: 1e-6, 1e-4 for a first-order solver, 1e-2 over cells that are "
        "not listed.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop the solver then, and keep the best point so far. What is not done a fifth of that and "
        "two seconds later is given up.",
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Stop the solver after N iterations (a search: each start after N rounds)."
    ),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="Threads of the solver, where it has a setting.")
]
Starts = Annotated[
    int | None, typer.Option(metavar="N", help="Starts of a search (a program of class rank or smooth).")
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of a search's random starts. Default: 0.")]
Arrays = Annotated[
    str | None,
    typer.Option(metavar="LIBRARY", help="Library the kernel computes with: numpy, cupy, torch, torch:cuda."),
]
NoReduce = Annotated[
    bool,
    typer.Option("--no-reduce", help="Solve at full size, without the exact reductions."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show what the solver prints, on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of tables.")]
