"""The conic solvers: a table of them with their cones, and how each is run.

**The table** is in order of preference. Solvers that are no rows of it may be named too, if cvxpy can call
them. The cones that they take are cvxpy's own declaration. Where ``OPTIONS`` has their names for it they get
the tolerance and the limit of iterations asked for; the rest run once, with their defaults, and refuse a
limit.

**Runs.** A cvxpy problem is handed over as plain data, run by run, and named arrays come back.
Clarabel is an interior-point method, run with ever tighter tolerances (Goulart & Chen, Clarabel: an
interior-point solver for conic programs with quadratic objectives, 2024). SCS is a first-order method, run in
stretches (O'Donoghue, Chu, Parikh & Boyd, Conic optimization via operator splitting and homogeneous self-dual
embedding, JOTA 2016). The others are called through cvxpy's own interface, ever tighter.

**Printed output** is dropped, or kept and read where a printed table is the only report of the iterations. A
line that cannot be read is left out: a solver that prints something else next year only loses rows.
"""

import csv
import ctypes
import importlib.util
import io
import logging
import os
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp

from mmopt.compiler import DUST, FAR, Cone, Lowered
from mmopt.errors import OptionError, SolverError, suggest
from mmopt.installation_and_files import version_of
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers.conic_problem import (
    KINDS,
    ConicProblem,
    Handover,
    Named,
    answers,
    conic_problem,
    hand_over,
    imported,
    led_back,
    name_of,
)
from mmopt.solvers.options_points_and_clock import Clock, Iteration, Options, Point, Vectors, total

LINEAR = frozenset({"zero", "nonnegative"})
SOC = LINEAR | {"second-order"}
PSD = LINEAR | {"psd"}
CURVED = frozenset({"exponential", "power"})


@dataclass(frozen=True)
class SolverRow:
    """One solver. ``tolerance`` is its default gap.

    function : of a solver of one's own (``conic_problem.py``). own_version : where there is no package.
    quadratic : whether a quadratic objective is handed over as such, so that it needs no cone.
    """

    name: str
    cvxpy: str
    module: str
    package: str
    cones: frozenset[str]
    method: str
    tolerance: float
    quadratic: bool = False
    function: Callable[[ConicProblem], Any] | None = None
    own_version: str = ""
    reads: frozenset[str] = frozenset({"max_iterations"})  # of the options that not every solver reads

    def __str__(self) -> str:
        return self.name

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """The version of the module that runs; "" where it is not known."""
        return version_of(self.module) if self.package else self.own_version


SOLVERS: tuple[SolverRow, ...] = (
    SolverRow(
        "clarabel",
        "CLARABEL",
        "clarabel",
        "clarabel",
        SOC | PSD | CURVED,
        "interior point",
        1e-6,
        quadratic=True,
    ),
    SolverRow("scs", "SCS", "scs", "scs", SOC | PSD | CURVED, "first order", 1e-4),
    # CVXOPT's cone solver, which cvxpy calls, takes neither exponential nor power cones.
    SolverRow("cvxopt", "CVXOPT", "cvxopt", "cvxopt", SOC | PSD, "interior point", 1e-6),
    # QOCO takes no psd cone: of the shipped programs only query_weighting and eigen_design fit.
    SolverRow("qoco", "QOCO", "qoco", "qoco", SOC, "interior point", 1e-6),
    # SDPA takes no second-order cone.
    SolverRow("sdpa", "SDPA", "sdpap", "sdpa-python", PSD, "interior point", 1e-6),
)

# Takes no cones: the search of programs of class smooth, by L-BFGS-B of scipy, with their gradients.
LBFGS = SolverRow(
    "lbfgs",
    "",
    "scipy",
    "scipy",
    frozenset(),
    "quasi-Newton",
    1e-6,
    reads=frozenset({"max_iterations", "starts", "seed"}),
)


# By the name of a constraint of cvxpy, the kind of its cone.
CVXPY_KINDS = {
    "Zero": "zero",
    "NonNeg": "nonnegative",
    "SOC": "second-order",
    "PSD": "psd",
    "SvecPSD": "psd",
    "ExpCone": "exponential",
    "PowCone3D": "power",
}
MODULES = {"HIGHS": "highspy"}  # the module, where it has another name than the solver
THROUGH = {"GLPK": "cvxopt", "GLPK_MI": "cvxopt"}  # the package that brings a solver without a version


@dataclass(frozen=True)
class OptionNames:
    """A solver's names for our options; it always gets ``more``, and refuses tolerances below ``finest``."""

    tolerance: tuple[str, ...]
    max_iterations: str = ""
    threads: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    finest: float = 0.0

    def settings(self, tolerance: float, options: Options) -> dict[str, Any]:
        """Settings by the solver's names."""
        named = {self.max_iterations: options.max_iterations, self.threads: options.threads}
        limits = {name: value for name, value in named.items() if name and value}
        return {**self.more, **dict.fromkeys(self.tolerance, max(tolerance, self.finest)), **limits}


# HiGHS and MOSEK have no limit of iterations for all of their methods.
OPTIONS: Mapping[str, OptionNames] = MappingProxyType(
    {
        # The Cholesky solver of CVXOPT refuses problems with redundant rows, which ours have.
        "CVXOPT": OptionNames(
            ("abstol", "reltol", "feastol"), "max_iters", more={"max_iters": 200, "kktsolver": "robust"}
        ),
        "ECOS": OptionNames(("abstol", "reltol", "feastol"), "max_iters"),
        "HIGHS": OptionNames(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), finest=1e-10),
        "MOSEK": OptionNames(("eps",)),
        "OSQP": OptionNames(("eps_abs", "eps_rel"), "max_iter", more={"max_iter": 200_000}),
        "QOCO": OptionNames(("abstol", "reltol"), "max_iters"),
        "SDPA": OptionNames(("epsilonStar", "epsilonDash"), "maxIteration", "numThreads", {"numThreads": 1}),
    }
)


def cvxpy_row(name: str) -> SolverRow | None:
    """A row for a solver of cvxpy that is not in the table; None where cvxpy does not know the name.

    Raises
    ------
    SolverError : cvxpy knows it, and it is not installed.
    """
    from cvxpy.reductions.solvers import defines

    cvxpy_name = name.upper()
    interfaces = [
        of[cvxpy_name] for of in (defines.SOLVER_MAP_CONIC, defines.SOLVER_MAP_QP) if cvxpy_name in of
    ]
    if not interfaces:
        return None
    if not (able := [interface for interface in interfaces if interface.is_installed()]):
        raise SolverError(
            f"the solver '{cvxpy_name.lower()}' is not installed; cvxpy can call it where it is",
            hint=_listed(()),
        )
    by = THROUGH.get(cvxpy_name, "cvxpy")
    version = "" if cvxpy_name in THROUGH else version_of(MODULES.get(cvxpy_name, cvxpy_name.lower()))
    names = {cone.__name__ for interface in able for cone in interface.SUPPORTED_CONSTRAINTS}
    return SolverRow(
        cvxpy_name.lower(),
        cvxpy_name,
        "cvxpy",
        "",
        frozenset(CVXPY_KINDS[name] for name in names & set(CVXPY_KINDS)),
        "by cvxpy",
        1e-6,
        quadratic=any(interface.supports_quad_obj() for interface in able),
        own_version=version or f"through {by} {version_of(by)}",
        reads=frozenset(
            {"max_iterations"} if cvxpy_name in OPTIONS and OPTIONS[cvxpy_name].max_iterations else ()
        ),
    )


def installed_others() -> list[str]:
    """The names of the solvers for which ``cvxpy_row`` has a row."""
    from cvxpy.reductions.solvers import defines

    names = {**defines.SOLVER_MAP_CONIC, **defines.SOLVER_MAP_QP}
    rows = {row.cvxpy for row in SOLVERS}
    return sorted(name.lower() for name in defines.INSTALLED_SOLVERS if name in names and name not in rows)


def _listed(others: Sequence[str]) -> str:
    """The installed solvers and those that pip installs; ``others`` are names of kernels."""
    there = [*others, *(row.name for row in SOLVERS if row.is_installed)]
    packages = [row.package for row in SOLVERS if not row.is_installed]
    by_cvxpy = installed_others()
    lines = (
        f"installed: {', '.join(there)}",
        f"through cvxpy: {', '.join(by_cvxpy)}" if by_cvxpy else "",
        f"not installed: pip install {' '.join(packages)}" if packages else "",
        "a function of your own: module:function",
    )
    return "\n  ".join(filter(None, lines))


def solver_row(name: str, others: Sequence[str] = ()) -> SolverRow:
    """The row of a conic solver: of the table, of a function ``module:function``, or of another in cvxpy.

    ``others`` are further names that the user may have meant.

    Raises
    ------
    OptionError : another name; installed solvers and those that pip installs are listed.
    SolverError : it is not installed, or the function's module cannot be imported.
    """
    if ":" in name:
        return function_row(imported(name), name)
    row = next((r for r in SOLVERS if r.name == name.lower()), None) or cvxpy_row(name)
    if row is None:
        near = suggest(name.lower(), [*others, *(r.name for r in SOLVERS), *installed_others()])
        hint = near if near.startswith("did you mean") else _listed(others)
        raise OptionError(f"there is no solver '{name}'", hint=hint)
    if not row.is_installed:
        raise SolverError(f"the solver '{row.name}' is not installed", hint=f"pip install {row.package}")
    return row


def function_row(function: Callable[[ConicProblem], Any], name: str = "") -> SolverRow:
    """The row of a function, with the cones that it says it takes (all, where it says nothing).

    Raises
    ------
    OptionError : its ``cones`` do not exist.
    """
    name = name or name_of(function)
    taken = getattr(function, "cones", KINDS)
    if not isinstance(taken, Collection) or isinstance(taken, str) or not set(taken) <= set(KINDS):
        raise OptionError(
            f"the cones of the solver '{name}' are {taken!r}, expected some of {', '.join(KINDS)}",
            hint="for example function.cones = {'zero', 'nonnegative'}",
        )
    module = getattr(function, "__module__", None) or type(function).__module__
    return SolverRow(
        name,
        "SCS",  # whose order of rows and triangles a ConicProblem has
        module,
        "",
        frozenset(taken),
        "a function",
        1e-6,
        quadratic=bool(getattr(function, "quadratic", False)),
        function=function,
        own_version=str(getattr(sys.modules.get(module), "__version__", "")),
    )


def missing_cones(row: SolverRow, cones: Sequence[Cone]) -> list[str]:
    """The kinds of cone that a problem needs and the solver lacks.

    Where a solver takes quadratic objectives, the hand-over decides whether that of the program is one.
    """
    free = ("second-order", "objective") if row.quadratic else None
    return sorted({c.kind for c in cones if (c.kind, c.origin) != free} - row.cones)


# Of the gap asked for: the tolerances of one run after the other.
CLARABEL_RUNS, OTHER_RUNS = (1e-2, 1e-4, 1e-6), (1.0, 1e-2, 1e-4)
# With fewer rows Clarabel is no slower on one thread, and takes less CPU time. With more it chooses.
ROWS_OF_ONE_THREAD = 2000
# Iterations of the first stretch of SCS, their growth, and in all
FIRST_STRETCH, STRETCH_GROWTH, MOST_ITERATIONS = 100, 1.5, 200_000
# Far below the tolerance asked for: the stretch, not SCS's own test, ends a run.
STRETCH_TOLERANCE = 1e-5

INFEASIBLE = {"PrimalInfeasible": Stop.INFEASIBLE, "DualInfeasible": Stop.UNBOUNDED}  # of Clarabel
SIGINT, INACCURATE = -5, (-6, -7)  # status numbers of SCS, as are those below
FAILED = {
    **dict.fromkeys((-1, -6), Stop.UNBOUNDED),
    **dict.fromkeys((-2, -7), Stop.INFEASIBLE),
    **dict.fromkeys((-3, -4), Stop.FAILED),
}


@dataclass(frozen=True)
class _SolverRun:
    """One run of a solver: its iterations, its word ``raw``, and its result.

    named : gives variables and multipliers; None where they are not all finite numbers.
    stop : set where the solver says that there is no solution. is_last : no further run would help.
    counted : its own count of each iteration, where there is one.
    """

    iterations: int | None
    raw: str
    named: Callable[[], Named] | None = None
    vectors: Vectors | None = None
    stop: Stop | None = None
    is_last: bool = False
    counted: Sequence[Iteration] = ()


def run(row: SolverRow, lowered: Lowered, options: Options, clock: Clock) -> Generator[Point, None, None]:
    """Points of increasing accuracy; the consumer stops when its certified gap is reached."""
    handed = hand_over(lowered, row.cvxpy, quadratic=row.quadratic)  # cvxpy keeps it for its own runs
    clock.hand_over(handed.figures)
    limit, used = options.max_iterations or MOST_ITERATIONS, total([])
    by_name = {"clarabel": _clarabel_of_quadratic, "scs": _scs}.get(row.name, _by_cvxpy)
    runs = by_name if row.function is None else partial(_by_function, row)
    for number, result in enumerate(runs(handed, options, clock), 1):
        counted = handed.counted(result.counted, used or 0, number)
        used = total([used, result.iterations])
        stop = result.stop or clock.stop(spent=(used or 0) >= limit, done=result.is_last)
        if result.named is not None or stop is not None:
            variables, multipliers = ({}, {}) if result.named is None else result.named()
            yield Point(
                variables, multipliers, used, result.raw, stop, result.vectors, counted=counted, run=number
            )
        if stop is not None:
            return


def _clarabel_of_quadratic(handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
    """Clarabel's runs; of a quadratic objective the first as it is, the others in cones.

    As it is the objective takes less time, and in cones a badly scaled one is solved more exactly.
    """
    if "P" in handed.data and handed.data["P"].nnz:
        first = next(_clarabel(handed, options, clock))
        if first.stop is None:
            yield replace(first, is_last=False)
        if options.max_iterations is not None:
            options = replace(
                options, max_iterations=max(1, options.max_iterations - (first.iterations or 0))
            )
        handed = hand_over(handed.lowered, handed.solver)
    yield from _clarabel(handed, options, clock)


def run_clarabel(
    p: Any, q: Array, a: Any, b: Array, cones: Any, settings: Any, is_over: Callable[[Any], bool]
) -> Any:
    """Clarabel's result: least xᵀPx / 2 + qᵀx with A x + s = b, s in the cones. ``is_over`` may end it."""
    import clarabel

    try:
        solver = clarabel.DefaultSolver(p, q, a, b, cones, settings)
        solver.set_termination_callback(is_over)
        # Its factors are large, and end here: another problem may be solved before the next run.
        return solver.solve()
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust calls a bug of its own; not exported
            raise
        raise SolverError(f"clarabel failed: {error}", hint="another solver may do: --solver scs") from None


def _clarabel(handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
    """Runs of Clarabel, each to a finer tolerance."""
    import clarabel
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones

    q, b = handed.data["c"], handed.data["b"]
    p = sp.csc_array(sp.triu(handed.data.get("P", sp.csc_array((q.size, q.size))), format="csc"))
    unit, worth = _units_of(p, q, handed.data["A"], b)
    p, q, b = p * (unit * (unit / worth)), q * (unit / worth), b / unit
    cones = dims_to_solver_cones(handed.cones)  # type: ignore[no-untyped-call]
    used = 0
    for factor in CLARABEL_RUNS:
        settings = clarabel.DefaultSettings()
        settings.verbose = options.verbose
        tolerance = max(options.tolerance * factor, 1e-13)
        settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.tol_gap_abs = tolerance / max(1.0, worth)  # never more than ``tolerance`` of the problem's
        settings.max_threads = options.threads or int(b.size < ROWS_OF_ONE_THREAD)
        if options.max_iterations is not None:
            settings.max_iter = max(1, options.max_iterations - used)
        counted: list[Iteration] = []
        watched = partial(_watched, clock, counted)
        raw = run_clarabel(p, q, handed.data["A"], b, cones, settings, watched)
        used += int(raw.iterations)
        clock.solving += float(raw.solve_time)
        vectors = Vectors(handed, unit * np.array(raw.x), worth / unit * np.array(raw.z))
        counted = [iteration.placed(0, iteration.run, worth) for iteration in counted]
        # An iterate of finite numbers is worth certifying whatever the solver calls it.
        is_finite = bool(np.isfinite(vectors.x).all() and np.isfinite(vectors.y).all())
        values = {"x": vectors.x, "z": vectors.y, "obj_val": 0.0, "solve_time": 0.0, "iterations": used}
        solution = SimpleNamespace(status="AlmostSolved", **values)
        stop = INFEASIBLE.get(str(raw.status))
        named = partial(handed.named, solution) if is_finite and stop is None else None
        # A run that ended short of its tolerance would go the same way with a finer one.
        is_last = factor == CLARABEL_RUNS[-1] or str(raw.status) != "Solved"
        yield _SolverRun(int(raw.iterations), str(raw.status), named, vectors, stop, is_last, counted)


def _units_of(p: Any, q: Array, a: Any, b: Array) -> tuple[float, float]:
    """Units of the unknowns and of the objective; the first is 1 unless every row asks for another.

    Clarabel's tests, of an end as of there being none, take numbers near one for granted. Every cone stays
    itself where its entries are multiplied by a number. What is tiny beside the rest may be rounding.
    """
    of_rows, of_b = abs(a).max(axis=1).toarray().ravel(), np.abs(b)
    # Numbers near one are no rounding, not even beside the limits of a wide box.
    rows = (of_b > DUST * of_b.max(initial=0.0)) | (of_b * FAR > of_rows)
    rows &= of_rows > DUST * of_rows.max(initial=0.0)
    of_p, of_q = map(_middle, (p.data, q))
    least = abs(a)
    least.eliminate_zeros()
    least.data = 1.0 / least.data
    # A row of numbers far apart asks for none: its unknowns are of many sizes, as Clarabel finds itself.
    is_even = of_rows[rows] * least.max(axis=1).toarray().ravel()[rows] < FAR
    sizes = np.where(is_even, of_b[rows] / of_rows[rows], 1.0)
    sizes = sizes if rows.any() else np.array([of_q / (of_p or np.inf)])
    unit = _if_far(float(max(sizes.min(), min(1.0, sizes.max()))))
    return unit, _if_far(max(unit * of_q, unit * (unit * of_p)))


def _middle(numbers: Array) -> float:
    """The middle between the largest and the least size of numbers not next to zero; 0 for none."""
    sizes = np.abs(numbers)
    sizes = sizes[sizes > DUST * sizes.max(initial=0.0)]
    return float(np.sqrt(sizes.max()) * np.sqrt(sizes.min())) if sizes.size else 0.0


def _if_far(size: float) -> float:
    """The power of two near a size that is far from one; 1 for others."""
    return 2.0 ** round(np.log2(size)) if 0 < size < 1 / FAR or FAR < size < np.inf else 1.0


def _watched(clock: Clock, counted: list[Iteration], info: Any) -> bool:
    """Whether Clarabel is to stop, called at each iteration: unlike its own limit this also sees Ctrl-C."""
    values = (info.cost_primal, info.cost_dual, info.res_primal, info.res_dual)
    counted.append(Iteration(info.iterations, clock.elapsed, *values))
    return clock.is_over


def _scs(handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
    """Stretches of SCS, each longer than the one before and from where that ended."""
    import scs
    from cvxpy.reductions.solvers.conic_solvers.scs_conif import dims_to_solver_dict

    data = {name: handed.data[name] for name in ("A", "b", "c")}
    cones = dims_to_solver_dict(handed.cones)  # type: ignore[no-untyped-call]
    tight = max(options.tolerance * STRETCH_TOLERANCE, 1e-12)
    start: dict[str, Any] = {}
    left, length = options.max_iterations or MOST_ITERATIONS, float(FIRST_STRETCH)
    while True:
        raw = None
        with _listening(handed.solver, options, clock) as (log, counted):
            # Ctrl-C is held back meanwhile: SCS listens for it while it sets up, and forgets it.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                solver = scs.SCS(
                    data,
                    cones,
                    verbose=options.verbose,
                    eps_abs=tight,
                    eps_rel=tight,
                    max_iters=int(min(length, left)),
                    time_limit_secs=min(max(clock.left, 1e-3), 1e9),  # 0 means no limit
                    **log,
                )
            except ValueError as error:
                raise SolverError(
                    f"scs failed: {error}", hint="another solver may do: --solver clarabel"
                ) from None
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            if not clock.interrupted:
                raw = solver.solve(warm_start=bool(start), **start)
        if raw is None:
            yield _SolverRun(0, Stop.INTERRUPTED, stop=Stop.STOPPED)
            return
        info = raw["info"]
        clock.solving += (info["setup_time"] + info["solve_time"]) / 1000.0
        code, word, taken = info["status_val"], info["status"], int(info["iter"])
        left, length = left - taken, length * STRETCH_GROWTH
        vectors = Vectors(handed, np.array(raw["x"]), np.array(raw["y"]))
        if code == SIGINT:
            clock.press()
        # "Infeasible" or "unbounded" is ignored if it is only because the time is over.
        is_cut = code == SIGINT or (clock.is_over and code in INACCURATE)
        stop = Stop.STOPPED if is_cut else FAILED.get(code)
        if stop is None and not np.isfinite(vectors.x).all():
            stop = Stop.FAILED
        start = {name: raw[name] for name in ("x", "y", "s")}
        info["status_val"] = 2
        named = partial(handed.named, raw) if stop is None else None
        values = (float(info[name]) for name in ("pobj", "dobj", "res_pri", "res_dual"))
        ended = Iteration(taken, clock.elapsed, *values)
        yield _SolverRun(taken, word, named, vectors, stop, code == 1, counted or [ended])


def _by_function(row: SolverRow, handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
    """Runs of a function, stopped between its points; before the first, Ctrl-C interrupts the function."""
    assert row.function is not None
    clock.compiling = True
    problem = conic_problem(handed, replace(options, time_limit=max(clock.left, 1e-3)))
    for answer in answers(row.name, row.function, problem):
        clock.compiling = False
        named = partial(handed.named, led_back(answer.x, answer.y)) if answer.stop is None else None
        counted = []
        if answer.stop is None and not answer.is_repeated:
            counted.append(Iteration(answer.iterations, clock.elapsed, *problem.values(answer.x, answer.y)))
        vectors = Vectors(handed, answer.x, answer.y)
        yield _SolverRun(answer.iterations, answer.word, named, vectors, answer.stop, answer.is_last, counted)


def _by_cvxpy(handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
    """Runs through cvxpy; these solvers cannot be interrupted, so limits hold between runs."""
    import cvxpy

    solver, problem, used = handed.solver, handed.lowered.problem, 0
    names = OPTIONS.get(solver)
    for factor in OTHER_RUNS:
        left = options.max_iterations - used if options.max_iterations else None
        tolerance = max(options.tolerance * factor, 1e-12)
        chosen = {} if names is None else names.settings(tolerance, replace(options, max_iterations=left))
        try:
            with warnings.catch_warnings(), _listening(solver, options, clock) as (more, counted):
                warnings.simplefilter("ignore")  # "may be inaccurate": every point is certified anyway
                problem.solve(solver=solver, **{"verbose": options.verbose, **chosen, **more})
        except (cvxpy.SolverError, ValueError, ArithmeticError) as error:
            yield _SolverRun(0, f"{type(error).__name__}: {error}", stop=Stop.FAILED, counted=counted)
            return
        stats, word = problem.solver_stats, str(problem.status)
        clock.solving += (stats and stats.solve_time) or 0.0
        counts = [] if stats is None or stats.num_iters is None else [int(stats.num_iters)]
        # Not all solvers give it to cvxpy; their printed output may have it.
        taken = max([*counts, *(i.number or 0 for i in counted)], default=None)
        used += taken or 0
        stop = next((s for s in (Stop.INFEASIBLE, Stop.UNBOUNDED) if word.startswith(s)), None)
        named = handed.current if stop is None else None
        is_last = names is None or factor == OTHER_RUNS[-1]
        yield _SolverRun(taken, word, named, stop=stop, is_last=is_last, counted=counted)


MOST_READ = 2000  # iterations of one log
PRINT_BELOW = ("HIGHS", "QOCO", "SDPA")  # by C, not through Python's standard output
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"


def _line(*columns: str, between: str, first: str = "") -> re.Pattern[str]:
    """A line of numbers; those with a name are kept, the others are called "-"."""
    numbers = (rf"({NUMBER})" if name == "-" else rf"(?P<{name}>{NUMBER})" for name in columns)
    return re.compile(rf"^[ \t]*{first}[ \t]*{between.join(numbers)}\b", re.MULTILINE)


# By cvxpy's name: the form of a line of its table.
LINES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "CVXOPT": _line("number", "objective", "bound", "-", "primal", "dual", between=r":?[ \t]+"),
        # No bound, but the gap, which is that of the objective from it.
        "QOCO": _line("number", "objective", "primal", "dual", "gap", between=r"[ \t]*\|[ \t]*", first=r"\|"),
        # thetaP and thetaD: residuals relative to those at its start.
        "SDPA": _line("number", "-", "primal", "dual", "objective", "bound", between=r"[ \t]+"),
    }
)


def read_lines(solver: str, text: str) -> list[Iteration]:
    """The iterations in what a solver printed, in its order; none where ``LINES`` has no row for it."""
    lines = [line.groupdict() for line in LINES[solver].finditer(text)] if solver in LINES else []
    return [
        Iteration(
            int(line["number"]),
            objective=float(line["objective"]),
            bound=float(line["objective"]) - float(line["gap"]) if "gap" in line else float(line["bound"]),
            primal=float(line["primal"]),
            dual=float(line["dual"]),
        )
        for line in lines
        if line["number"].isdecimal()
    ]


def read_log(log: Iterable[str], began: float) -> list[Iteration]:
    """Iterations in a log of SCS, evenly spaced if there are many; it counts seconds from ``began``."""
    iterations: list[Iteration] = []
    every, ended = 1, []
    for place, row in enumerate(csv.DictReader(log)):
        try:
            values = [float(row[name]) for name in ("pobj", "dobj", "res_pri", "res_dual")]
            ended = [Iteration(int(row["iter"]), began + float(row["time"]), *values)]
        except (KeyError, TypeError, ValueError):  # a row that cannot be read
            ended = []
        if place % every == 0:
            iterations += ended
        if len(iterations) > MOST_READ:  # the log of a long run has a hundred megabytes
            iterations, every = iterations[::2], 2 * every
    return iterations if iterations[-1:] == ended else iterations + ended


@contextmanager
def quiet_output(into: int | None = None) -> Iterator[None]:
    """Drop all that is written to standard output below Python; Python's own output is written before.

    into : the descriptor of a file that takes it instead.
    """
    runtime = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
    sys.stdout.flush()
    runtime.fflush(None)
    standard, other = os.dup(1), os.open(os.devnull, os.O_WRONLY) if into is None else os.dup(into)
    try:
        os.dup2(other, 1)
        yield
    finally:
        runtime.fflush(None)  # a pipe is buffered: without this the text comes out later
        os.dup2(standard, 1)
        os.close(standard)
        os.close(other)


class _Both(io.StringIO):
    """Text that is kept and also written to the stream ``on``."""

    def __init__(self, on: TextIO) -> None:
        super().__init__()
        self._on = on

    def write(self, text: str) -> int:
        self._on.write(text)
        return super().write(text)


@contextmanager
def _listening(
    solver: str, options: Options, clock: Clock
) -> Iterator[tuple[dict[str, Any], list[Iteration]]]:
    """Options with which a solver reports its iterations, and a list that is filled afterwards.

    Without ``options.history`` there are none, and nothing is read. Standard output is kept meanwhile: that
    of the whole process, of other threads as well. With ``options.verbose`` it is written out all the same;
    text printed below Python, afterwards.

    solver : cvxpy's name.
    """
    iterations: list[Iteration] = []
    # SDPA prints remarks on standard output, HiGHS its name once, whatever their options are.
    if not options.history and (solver not in PRINT_BELOW or options.verbose):
        yield {}, iterations
        return
    began = clock.elapsed
    remarks = logging.getLogger("__cvxpy__")  # they go past sys.stdout where that was replaced
    level = remarks.level
    is_below = solver in PRINT_BELOW
    above = _Both(sys.stdout) if options.verbose and not is_below else io.StringIO()
    is_scs = solver == "SCS"
    # Files without a name: a process that is killed leaves nothing behind.
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as log, tempfile.TemporaryFile() as below:
        try:
            if not options.verbose:
                remarks.setLevel(logging.WARNING)
            with quiet_output(below.fileno()) if is_below else nullcontext(), redirect_stdout(above):
                reports = {"log_csv_filename": f"/dev/fd/{log.fileno()}"} if is_scs else {"verbose": True}
                yield reports if options.history else {}, iterations
        finally:
            remarks.setLevel(level)
            below.seek(0)
            text = below.read().decode(errors="replace") + above.getvalue()
            if options.history:
                log.seek(0)
                iterations += read_log(log, began) if is_scs else read_lines(solver, text)
            if options.verbose and is_below:
                sys.stdout.write(text)
