"""A strategy that came from anywhere as a point of a program, and what the program's repair made of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.compiler import Instance
from mmopt.driver.judge.meaning import meaning
from mmopt.driver.judge.score import FEASIBLE, Array, Candidate
from mmopt.driver.judge.violations import worst_line
from mmopt.errors import OptionError, suggest
from mmopt.language import Program, evaluate, program_names
from mmopt.language.atoms.types import Dim
from mmopt.language.syntax.syntax_tree import Adoption
from mmopt.numerics.arrays import require_memory
from mmopt.numerics.outward import rounded
from mmopt.results import Solution
from mmopt.strategies import AnyStrategy, Strategy, as_dense, normalise
from mmopt.strategies.baselines import baseline_words, design_rows, is_baseline
from mmopt.strategies.dense import SUPPORT_TOLERANCE
from mmopt.workloads import Workload
from mmopt.workloads.files import SUFFIXES, read_array

__all__ = [
    "SAME",
    "adopt",
    "adopters",
    "changes",
    "check_adopts",
    "check_feasible",
    "incoming",
    "kept",
    "norm_of",
    "opened",
    "row_parameter",
    "starting",
]


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


# Two points that differ by less than this, relatively, differ by rounding and by the floor of psd matrices.
SAME = 1e-9


def adopters(norm: int | None = None) -> list[str]:
    """The shipped programs with 'from strategy', those first whose strategies answer for total error."""
    loaded = [Program.load(name) for name in program_names()]
    able = [p for p in loaded if p.adoption and norm in (None, p.meaning.norm)]
    return [p.name for p in sorted(able, key=lambda p: (p.bound != "l2_strategy", p.name))]


def _adoption(program: Program) -> Adoption:
    """How a strategy becomes the program's point; refuse a program that cannot take one."""
    if program.adoption is None:
        raise OptionError(
            f"'{program.name}' has no section 'from strategy', which says how a strategy becomes its point",
            hint=f"these have one: {', '.join(adopters())}",
        )
    return program.adoption


def check_adopts(program: Program, norm: int | None) -> None:
    """Refuse a program that cannot take a strategy, or takes one of another norm (None: any)."""
    _adoption(program)
    if norm not in (None, program.meaning.norm):
        able = ", ".join(adopters(norm)) or "none that is shipped"
        raise OptionError(
            f"'{program.name}' is about strategies of norm {program.meaning.norm}, this one has norm {norm}",
            hint=f"for norm {norm}: {able}",
        )


def row_parameter(program: Program, strategy: Strategy) -> dict[str, int]:
    """The strategy's number of rows, where that is a parameter of the program."""
    rows = _adoption(program).strategy.dims[0]
    return {p.name: strategy.p for p in program.parameters if rows == Dim.of(p.name)}


def adopt(instance: Instance, strategy: Strategy) -> dict[str, Array]:
    """The chosen variables, as 'from strategy' says; those that only the repair sets are zero.

    Raises
    ------
    OptionError : the strategy has another number of rows than the program says.
    """
    program, sizes = instance.program, instance.sizes()
    adoption = _adoption(program)
    rows = adoption.strategy.dims[0]
    if rows.symbols <= set(sizes) and rows.value(sizes) != strategy.p:
        raise OptionError(
            f"the strategy has {strategy.p} rows; {rows} is {rows.value(sizes)} in '{program.name}'"
        )
    env: dict[str, Any] = {**instance.env, adoption.strategy.name: strategy.matrix}
    if len(rows.symbols) == 1 and rows == Dim.of(next(iter(rows.symbols))):
        env[next(iter(rows.symbols))] = strategy.p
    found: dict[str, Array] = {}
    for assignment in adoption.values:
        env[assignment.name] = evaluate(assignment.expr, env)
        found[assignment.name] = np.asarray(env[assignment.name], dtype=float)
    for d in program.choose:
        found.setdefault(d.name, np.zeros(d.shape(sizes)))
    return found


def check_feasible(instance: Instance, point: Candidate) -> None:
    """Refuse a point that misses a constraint after its repair, and say which."""
    if point.is_feasible:
        return
    name = instance.program.name
    if point.after <= FEASIBLE:
        raise OptionError(f"the strategy has no finite objective in '{name}'")
    worst = worst_line(instance, point.env)
    line = worst.text(instance) if worst else "a line"
    raise OptionError(
        f"the strategy gives no feasible point of '{name}': after its repair it misses {line} "
        f"by {rounded(point.after, 2, up=True, layout='e')}, relatively",
        hint="give the program a 'repair' that makes any strategy feasible",
    )


def kept(
    strategy: Strategy, instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Array]
) -> tuple[Strategy, float] | None:
    """The strategy as given, scaled, and its factor, if that is what the repaired point stands for.

    Up to a rotation of its rows for norm 2. None when the repair changed more than the scale.
    """
    meant, covariance, _ = meaning(instance, env, multipliers)
    if meant.norm == 1:
        one, other, power = strategy.matrix, meant.matrix, 1
    else:
        one, other, power = strategy.matrix.T @ strategy.matrix, meant.matrix.T @ meant.matrix, 2
    if one.shape != other.shape or not _aligned(other, one)[0] <= SAME:
        return None
    factor = float(abs(_aligned(other, one)[1]) ** (1.0 / power))
    if covariance is None:  # the meaning is scaled to sensitivity 1; so is this, with the same rounding
        return normalise(strategy), factor
    return Strategy(factor * strategy.matrix, strategy.norm), factor


def _aligned(new: Array, old: Array) -> tuple[float, float]:
    """How far ``new`` is from the nearest multiple of ``old``, relatively, and the factor."""
    norm = float(np.vdot(old, old))
    factor = float(np.vdot(new, old)) / norm if norm > 0 else 0.0
    size = float(np.linalg.norm(new))
    return (float(np.linalg.norm(new - factor * old)) / size if size > 0 else 0.0), factor


def changes(
    instance: Instance,
    strategy: Strategy,
    values: Mapping[str, Array],
    point: Candidate,
    factor: float | None,
) -> list[str]:
    """What the repair did to a strategy, in words; ``factor`` when it only scaled it."""
    if factor is None:
        moved = {n: _aligned(v, np.asarray(values[n], dtype=float))[0] for n, v in point.variables.items()}
        parts = ", ".join(f"{n} by {off:.1e}" for n, off in moved.items() if off > SAME)
        error = strategy.total_error(instance.workload)
        return [
            f"the repair changed more than the strategy's scale (relatively: {parts or 'its null space'}); "
            f"as given its total error is {rounded(error, 10, up=True)}"
        ]
    if abs(factor - 1.0) <= SAME:
        return []
    if instance.program.meaning.kind == "covariance":
        return [f"the noise was scaled: variances by {factor**-2:.6g}"]
    return [f"the strategy was scaled by {factor:.6g}; its sensitivity was {strategy.sensitivity:.6g}"]


SEARCHED = ("rank", "smooth")


def starting(
    start: Any, program: Program, workload: Workload, overrides: Mapping[str, Any]
) -> Strategy | None:
    """The strategy that ``solve(start=...)`` names; None for None.

    Raises
    ------
    OptionError : a program that is not searched, or has no 'from strategy'; ``starts`` besides; a strategy
        of another norm or number of cells, or that does not support the workload.
    """
    if start is None:
        return None
    if program.klass not in SEARCHED:
        hint = f"it belongs to class {' and '.join(SEARCHED)}"
        if program.givens:
            hint += "; a baseline can also be a given (--given NAME=haar)"
        raise OptionError(
            f"'{program.name}' is of class '{program.klass}', which has no option 'start'", hint=hint
        )
    if "starts" in overrides:
        raise OptionError("'starts' has no effect with 'start': the search starts from there alone")
    norm = program.meaning.norm
    given = opened(start, workload, norm)
    check_adopts(program, norm_of(given))
    return incoming(workload, given, None, None, norm)
