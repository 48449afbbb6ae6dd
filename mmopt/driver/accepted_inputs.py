"""What a caller passes, taken or refused: workload, default program, baseline names, foreign strategies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.errors import OptionError, SolverError, WorkloadError, suggest
from mmopt.language import Program
from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Solution
from mmopt.strategies import AnyStrategy, Strategy, as_dense
from mmopt.strategies.baselines import baseline_words, design_rows, is_baseline
from mmopt.strategies.dense_strategy import SUPPORT_TOLERANCE
from mmopt.workloads import Workload
from mmopt.workloads.matrix_files import SUFFIXES, read_array

__all__ = [
    "as_program",
    "as_workload",
    "incoming",
    "named_givens",
    "norm_of",
    "opened",
    "within_range",
    "workload_for",
]


@contextmanager
def within_range() -> Iterator[None]:
    """SolverError where arithmetic breaks down below: beyond the range of doubles, or not convergent."""
    try:
        yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise SolverError(
            f"the numbers leave the range of floating point: {error}",
            hint="scale queries and targets nearer to 1, and look at what is given and at parameters",
        ) from error


def as_program(value: object) -> str | Path | Program:
    """A name, a path or a Program as it is.

    Raises
    ------
    OptionError : anything else, with what to write.
    """
    if isinstance(value, str | Path | Program):
        return value
    kind = type(value).__name__
    hints = {
        "Privacy": "a program is solved at unit noise, for whatever privacy: pass it to plan or release",
        "Workload": "write solve(workload, program), certify(workload, strategy, program), "
        "explain(program, workload)",
    }
    expected = "expected a name ('l2_strategy'), a path or a Program"
    raise OptionError(f"a {kind} is no program, {expected}", hint=hints.get(kind, ""))


def workload_for(value: WorkloadLike | None, program: str | Path | Program | None) -> Workload:
    """The workload; for None one query over one cell, where the program asks nothing of a workload.

    Raises
    ------
    OptionError : neither a workload nor a program is given.
    WorkloadError : as ``as_workload``; the program has givens of the workload, or its solution is a strategy.
    """
    if value is not None:
        return value if isinstance(value, Workload) else as_workload(value)
    if program is None:
        raise OptionError("neither a workload nor a program is given", hint="write solve(workload, program)")
    program = as_program(program)
    parsed = program if isinstance(program, Program) else Program.load(program)
    if parsed.meaning.kind != "none" or any(d.source for d in parsed.givens):
        raise WorkloadError(
            f"'{parsed.name}' is solved for a workload, and none is given",
            hint="the workload stands first: solve(workload, program)",
        )
    return Workload.from_matrix([[1.0]])


def named_givens(givens: Mapping[str, Any] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The givens with the rows of a baseline where a string names one, for the norm of the program.

    OptionError for a string that names none, or one that does not apply to the workload.
    """
    norm = program.meaning.norm
    return {
        name: design_rows(value, workload, norm) if isinstance(value, str) else value
        for name, value in (givens or {}).items()
    }


SAVED = ".npz"


def opened(given: Any, workload: Workload, norm: int | None) -> Any:
    """What a path or the name of a baseline stands for, a solution's strategy; anything else as it is.

    A baseline is an array, to be a strategy of whatever norm: what it measures may depend on ``norm``, by
    default 2.
    """
    if isinstance(given, Solution):
        return given.strategy
    if not isinstance(given, str | Path):
        return given
    if is_baseline(str(given)):
        return design_rows(str(given), workload, norm or 2)
    path = Path(given)
    if path.suffix.lower() == SAVED:
        return Solution.load(path).strategy
    if path.suffix.lower() in SUFFIXES:
        return read_array(path, "the strategy")
    raise OptionError(
        f"the strategy '{given}' is no baseline, and no {', '.join(SUFFIXES)} or {SAVED} file",
        hint=suggest(str(given), baseline_words()),
    )


def norm_of(given: Any) -> int | None:
    """The norm that a strategy brings along."""
    return given.norm if isinstance(given, AnyStrategy) else None


def incoming(workload: Workload, given: Any, covariance: Any, basis: Any, norm: int) -> Strategy:
    """The strategy that was given, or Σ^(-1/2) B of a covariance Σ on a basis B.

    Raises
    ------
    OptionError : neither or both are given, they are no numbers, or beyond 1e100 or below 1e-100, have
        another number of cells, or do not support the workload.
    """
    if (given is None) == (covariance is None):
        both = (
            "both a strategy and a covariance" if given is not None else "neither a strategy nor a covariance"
        )
        raise OptionError(f"{both} given, expected one of them")
    if basis is not None and covariance is None:
        raise OptionError("a basis is given without the covariance of the noise on it")
    if covariance is not None:
        rows = workload.basis if basis is None else _numbers(basis, "the basis")
        strategy = Strategy.from_covariance(_numbers(covariance, "the covariance"), rows, norm)
    elif isinstance(given, AnyStrategy):
        strategy = as_dense(given)
    else:
        strategy = Strategy(_numbers(given, "the strategy"), norm)
    if strategy.n != workload.n:
        raise OptionError(f"the strategy has {strategy.n} cells, the workload has {workload.n}")
    # Squares of entries, and what is divided by them, have to be numbers.
    if 0 < (size := float(np.abs(strategy.matrix).max(initial=0.0))) < 1e-100 or size > 1e100:
        raise OptionError(
            f"the strategy's largest entry is {size:.3g}, expected 1e-100 to 1e+100",
            hint=f"divide it by {size:.3g}: a multiple of a strategy is the same strategy",
        )
    _check_support(strategy, workload)
    return strategy


def _numbers(given: Any, what: str) -> Array:
    if scipy.sparse.issparse(given):
        require_memory(given.shape, what.removeprefix("the "), "pass fewer rows or cells")
        given = given.toarray()
    try:
        array = np.asarray(given)
    except ValueError:  # rows of unequal length
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise OptionError(f"{what} is no array of numbers", hint="pass a matrix with a column per cell")
    return array.astype(np.float64)


def _check_support(strategy: Strategy, workload: Workload) -> None:
    """Refuse a strategy from whose answers the workload's cannot be derived."""
    outside = strategy.unsupported(workload)
    worst = int(np.argmax(outside))
    if strategy.supports(workload) and outside[worst] <= SUPPORT_TOLERANCE:
        return
    count = max(1, int((outside > SUPPORT_TOLERANCE).sum()))
    label, off = workload.labels()[worst], outside[worst]
    raise OptionError(
        f"the strategy does not support the workload: W A⁺ A differs from W for {count} of {workload.m} "
        f"queries, most for '{label}' (query {worst}), by {off:.1e} of its size",
        hint="add queries to the strategy until every query of the workload is a combination of them",
    )
