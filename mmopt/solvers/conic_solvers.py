"""Conic solvers: a cvxpy problem handed over as plain data, run by run, and named arrays back.

Clarabel is an interior-point method, run with ever tighter tolerances (Goulart & Chen, Clarabel: an
interior-point solver for conic programs with quadratic objectives, 2024). SCS is a first-order method, run in
stretches (O'Donoghue, Chu, Parikh & Boyd, Conic optimization via operator splitting and homogeneous self-dual
embedding, JOTA 2016). The others are called through cvxpy's own interface, ever tighter.

Solvers that are no rows of the table may be named too, if cvxpy can call them. The cones that they take are
cvxpy's own declaration. Where ``OPTIONS`` has their names for it they get the tolerance and the limit of
iterations asked for; the rest run once, with their defaults, and refuse a limit.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.compiler import Lowered
from mmopt.errors import OptionError, SolverError, UnsuitableError, suggest
from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.resources import version_of
from mmopt.solvers.solver_protocol import Clock, Iteration, Options, Point, Vectors, total
from mmopt.solvers.table_of_solvers import SOLVERS, SolverRow

# The kinds of cone that cvxpy's constraints are.
KINDS = {
    "Zero": "zero",
    "NonNeg": "nonnegative",
    "SOC": "second-order",
    "PSD": "psd",
    "SvecPSD": "psd",
    "ExpCone": "exponential",
    "PowCone3D": "power",
}
MODULES = {"HIGHS": "highspy"}  # where the module has not the solver's name
THROUGH = {"GLPK": "cvxopt", "GLPK_MI": "cvxopt"}  # the package that contains a solver without a version


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
    able = [interface for interface in interfaces if interface.is_installed()]
    if not able:
        raise SolverError(
            f"the solver '{cvxpy_name.lower()}' is not installed; cvxpy can call it where it is",
            hint=_listed(()),
        )
    by = THROUGH.get(cvxpy_name, "cvxpy")
    version = "" if cvxpy_name in THROUGH else version_of(MODULES.get(cvxpy_name, cvxpy_name.lower()))
    cones = {KINDS[c.__name__] for i in able for c in i.SUPPORTED_CONSTRAINTS if c.__name__ in KINDS}
    return SolverRow(
        cvxpy_name.lower(),
        cvxpy_name,
        "cvxpy",
        "",
        frozenset(cones),
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


def unknown_solver(name: str, others: Sequence[str]) -> OptionError:
    """The error for an unknown name: the nearest one, or the installed solvers and those that pip installs.

    others : names of kernels.
    """
    message = f"there is no solver '{name}'"
    near = suggest(name.lower(), [*others, *(row.name for row in SOLVERS), *installed_others()])
    return OptionError(message, hint=near if near.startswith("did you mean") else _listed(others))


def _listed(others: Sequence[str]) -> str:
    there = [*others, *(row.name for row in SOLVERS if row.is_installed)]
    packages = [row.package for row in SOLVERS if not row.is_installed]
    by_cvxpy = installed_others()
    lines = [f"installed: {', '.join(there)}"]
    lines += [f"through cvxpy: {', '.join(by_cvxpy)}"] if by_cvxpy else []
    lines += [f"not installed: pip install {' '.join(packages)}"] if packages else []
    return "\n  ".join([*lines, "a function of your own: module:function"])


Named = tuple[dict[str, Array], dict[str, Array]]
Listened = tuple[dict[str, Any], list[Iteration]]

# Of the gap asked for: the tolerances of one run after the other.
CLARABEL_RUNS, OTHER_RUNS = (1e-2, 1e-4, 1e-6), (1.0, 1e-2, 1e-4)
# With fewer rows Clarabel is no slower on one thread, and takes less CPU time. With more it chooses.
ROWS_OF_ONE_THREAD = 2000
# Iterations of the first stretch of SCS, their growth, and in all
FIRST_STRETCH, STRETCH_GROWTH, MOST_ITERATIONS = 100, 1.5, 200_000
# Far below the tolerance asked for: the stretch, not SCS's own test, ends a run.
STRETCH_TOLERANCE = 1e-5

INFEASIBLE = {"PrimalInfeasible": Stop.INFEASIBLE, "DualInfeasible": Stop.UNBOUNDED}  # of Clarabel
SIGINT, INACCURATE = -5, (-6, -7)  # of SCS
FAILED = {-1: Stop.UNBOUNDED, -2: Stop.INFEASIBLE, -3: Stop.FAILED, -4: Stop.FAILED}
FAILED |= {-6: Stop.UNBOUNDED, -7: Stop.INFEASIBLE}


@dataclass(frozen=True)
class Handover:
    """Solver data of a lowered problem, as cvxpy's reductions give them."""

    lowered: Lowered
    solver: str  # cvxpy's name
    data: Mapping[str, Any]
    chain: Any
    inverse: Any

    @property
    def cones(self) -> Any:
        return self.data["dims"]

    def named(self, raw: Any) -> Named:
        """Variables and multipliers by the program's names, from a solver's raw solution."""
        solution = self.chain.invert(raw, self.inverse)
        # It stores the values, then evaluates its objective, which may not exist there; ours is evaluated
        # elsewhere.
        with suppress(np.linalg.LinAlgError):
            self.lowered.problem.unpack(solution)
        return self.current()

    @np.errstate(all="ignore")  # numbers that are not finite are noticed where the point is judged
    def current(self) -> Named:
        """The present values of the cvxpy problem."""
        lowered = self.lowered
        variables = {
            n: np.array(v.value, dtype=float) for n, v in lowered.variables.items() if v.value is not None
        }
        multipliers: dict[str, Array] = {}
        for name, group in lowered.constraints.items():
            duals = [c.dual_value for c in group]
            # Cone constraints have several parts; certificates start from multipliers of inequalities.
            if not duals or any(d is None or isinstance(d, list) for d in duals):
                continue
            values = [np.asarray(d, dtype=float) for d in duals]
            together = values[0] if len(values) == 1 else np.array(values)
            if name in lowered.places:
                at, shape = lowered.places[name]
                together = np.zeros(shape)
                together.flat[at] = values[0]
            multipliers[name] = together * lowered.rows.get(name, 1.0)
        for key, (name, first, end) in lowered.corners.items():
            duals = [c.dual_value for c in lowered.constraints[name]]
            if all(isinstance(d, np.ndarray) and d.ndim == 2 for d in duals):
                blocks = np.array([d[first:end, first:end] for d in duals])
                multipliers[key] = blocks[0] if len(duals) == 1 else blocks[:, 0, 0]
        return variables, multipliers

    def counted(self, iterations: Iterable[Iteration], before: int, run: int) -> list[Iteration]:
        """The iterations of a run after ``before`` others; objective and bound are the lowered problem's."""
        sign = -1.0 if self.lowered.problem.objective.NAME == "maximize" else 1.0
        offset = float(self.inverse[-1].get("offset", 0.0))
        return [i.placed(before, run, sign, offset) for i in iterations]


def hand_over(lowered: Lowered, solver: str, *, quadratic: bool = False) -> Handover:
    """Let cvxpy reduce the problem to the standard form of the solver.

    quadratic : leave a quadratic objective as it is, in ``data["P"]``; else it goes into cones.

    Raises
    ------
    UnsuitableError : the solver does not take the cones of the problem.
    """
    import cvxpy

    try:
        # solver_opts has to be passed: without it cvxpy 1.9.3 leaves out data that invert needs.
        data, chain, inverse = lowered.problem.get_problem_data(
            solver, solver_opts={"use_quad_obj": quadratic}
        )
    except cvxpy.SolverError as error:
        raise UnsuitableError(f"{solver} does not take the problem, says cvxpy: {error}") from None
    return Handover(lowered, solver, data, chain, inverse)


@dataclass(frozen=True)
class _SolverRun:
    """One run of a solver: its iterations, its word, and its result.

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
    clock.hand_over()
    limit, used = options.max_iterations or MOST_ITERATIONS, total([])
    by_name = {"clarabel": _clarabel, "scs": _scs}.get(row.name, _by_cvxpy)
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


def _clarabel(handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
    import clarabel
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones

    q = handed.data["c"]
    p = sp.csc_array((q.size, q.size))
    cones = dims_to_solver_cones(handed.cones)  # type: ignore[no-untyped-call]
    used = 0
    for factor in CLARABEL_RUNS:
        settings = clarabel.DefaultSettings()
        settings.verbose = options.verbose
        tolerance = max(options.tolerance * factor, 1e-13)
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.max_threads = options.threads or int(handed.data["b"].size < ROWS_OF_ONE_THREAD)
        if options.max_iterations is not None:
            settings.max_iter = max(1, options.max_iterations - used)
        try:
            solver = clarabel.DefaultSolver(p, q, handed.data["A"], handed.data["b"], cones, settings)
            counted: list[Iteration] = []
            solver.set_termination_callback(partial(_watched, clock, counted))
            raw = solver.solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what Rust calls a bug of its own; not exported
                raise
            raise SolverError(
                f"clarabel failed: {error}", hint="another solver may do: --solver scs"
            ) from None
        used += int(raw.iterations)
        vectors = Vectors(handed, np.array(raw.x), np.array(raw.z))
        # An iterate of finite numbers is worth certifying whatever the solver calls it.
        is_finite = bool(np.isfinite(vectors.x).all() and np.isfinite(vectors.y).all())
        values = {"x": vectors.x, "z": vectors.y, "obj_val": 0.0, "solve_time": 0.0, "iterations": used}
        solution = SimpleNamespace(status="AlmostSolved", **values)
        stop = INFEASIBLE.get(str(raw.status))
        named = partial(handed.named, solution) if is_finite and stop is None else None
        is_last = factor == CLARABEL_RUNS[-1]
        yield _SolverRun(int(raw.iterations), str(raw.status), named, vectors, stop, is_last, counted)


def _watched(clock: Clock, counted: list[Iteration], info: Any) -> bool:
    """Whether Clarabel is to stop, called at each iteration: unlike its own limit this also sees Ctrl-C."""
    values = (info.cost_primal, info.cost_dual, info.res_primal, info.res_dual)
    counted.append(Iteration(info.iterations, clock.elapsed, *values))
    return clock.is_over


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block: SCS listens for it while it sets up, and forgets it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _scs(handed: Handover, options: Options, clock: Clock) -> Iterator[_SolverRun]:
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
            with _interrupts_later():
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
                    hint = "another solver may do: --solver clarabel"
                    raise SolverError(f"scs failed: {error}", hint=hint) from None
            if not clock.interrupted:
                raw = solver.solve(warm_start=bool(start), **start)
        if raw is None:
            yield _SolverRun(0, Stop.INTERRUPTED, stop=Stop.STOPPED)
            return
        info = raw["info"]
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
    from mmopt.solvers.conic_problem import conic_problem, led_back
    from mmopt.solvers.function_solver import answers

    assert row.function is not None
    limited = replace(options, time_limit=max(clock.left, 1e-3))
    clock.compiling = True
    problem = conic_problem(handed, limited)
    for answer in answers(row.name, row.function, problem):
        clock.compiling = False
        named = partial(handed.named, led_back(answer.x, answer.y)) if answer.stop is None else None
        counted = []
        if answer.stop is None and not answer.is_repeated:
            values = problem.values(answer.x, answer.y)
            counted.append(Iteration(answer.iterations, clock.elapsed, *values))
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
            word = f"{type(error).__name__}: {error}"
            yield _SolverRun(0, word, stop=Stop.FAILED, counted=counted)
            return
        stats, word = problem.solver_stats, str(problem.status)
        counts = [] if stats is None or stats.num_iters is None else [int(stats.num_iters)]
        # Not all solvers give it to cvxpy; their printed output may have it.
        taken = max([*counts, *(i.number or 0 for i in counted)], default=None)
        used += taken or 0
        stop = next((s for s in (Stop.INFEASIBLE, Stop.UNBOUNDED) if word.startswith(s)), None)
        named = handed.current if stop is None else None
        is_last = names is None or factor == OTHER_RUNS[-1]
        yield _SolverRun(taken, word, named, stop=stop, is_last=is_last, counted=counted)


def _listening(solver: str, options: Options, clock: Clock) -> AbstractContextManager[Listened]:
    """Options that make a solver report its iterations, and a list that has them afterwards, if wanted."""
    # SDPA prints remarks on standard output, whatever its options are.
    if not options.history and (solver != "SDPA" or options.verbose):
        return nullcontext(({}, []))
    from mmopt.solvers.solver_protocol import listening

    return listening(solver, clock.elapsed, history=options.history, show=options.verbose)
