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
        help="Workload file (YAML). Leave it out for a program that uses no workload.",
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
    typer.Option(metavar="FILE.csv", help="Write one row per query; an existing file is replaced."),
]
AccuracyChart = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Plot all half widths to a .svg or .png file. Needs mmopt[chart]."),
]
GapChart = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Plot the gap against time and iterations to a .svg or .png file; an existing file is replaced. "
        "Needs mmopt[chart].",
    ),
]
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]
DatabaseTable = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="Table to read, if the database has several.")
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
        help="Shipped program, or a path ending in .program. Default: with privacy, the program of "
        "least predicted error, with Gaussian or Laplace noise; if every query has an accuracy target, the "
        "one that needs the least privacy. Without privacy: l2_strategy, or fitness_for_use if every query "
        "has an accuracy target.",
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Value of an entry in the program's 'given' section: a number, a baseline such as haar or "
        "'hierarchical(branching=4)' (mmopt baselines lists them), or a .npy, .csv or .npz file (.npz from "
        "scipy.sparse). May be repeated.",
    ),
]
SolverName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=solver_words,
        help="A solver that mmopt or cvxpy knows; 'conic' for any conic solver (not mmopt's own kernels); or "
        "module:function for your own (python -m pydoc mmopt.solvers.conic_problem). Default: a kernel if "
        "one accepts the program; otherwise the first suitable solver predicted to take at most 20 s; "
        "otherwise the fastest.",
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        metavar="GAP",
        help="Proved gap to reach. Default: 1e-6, or 1e-4 for a first-order solver, or 1e-2 for domains too "
        "large to list their cells.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop the solver or the search over templates after this time, and keep the best result so far. "
        "If it does not stop, it is abandoned at 1.2 times this limit plus 2 s.",
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Stop the solver after N iterations (in a search: N rounds from each start)."
    ),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="Threads for the solver, if it has such a setting.")
]
Starts = Annotated[
    int | None,
    typer.Option(metavar="N", help="Number of starts of a search, for programs of class rank or smooth."),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Seed for the random starts of a search. Default: 0.")
]
Arrays = Annotated[
    str | None,
    typer.Option(metavar="LIBRARY", help="Array library for the kernel: numpy, cupy, torch, torch:cuda."),
]
NoReduce = Annotated[
    bool,
    typer.Option("--no-reduce", help="Solve at full size, without exact reductions."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show what the solver prints, on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of tables.")]
