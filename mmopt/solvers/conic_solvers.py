"""The conic solvers: a cvxpy problem handed over as plain data, run by run, and named arrays back.

Clarabel is an interior-point method, run with ever tighter tolerances (Goulart & Chen, Clarabel: an
interior-point solver for conic programs with quadratic objectives, 2024). SCS is a first-order method, run in
stretches (O'Donoghue, Chu, Parikh & Boyd, Conic optimization via operator splitting and homogeneous self-dual
embedding, JOTA 2016). The others are called through cvxpy's own interface, ever tighter.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.compiler import Lowered
from mmopt.errors import SolverError
from mmopt.numerics.split_arrays import Array
from mmopt.solvers.solver_protocol import Clock, Options, Point, Vectors
from mmopt.solvers.table_of_solvers import SolverRow
from mmopt.stop_reasons import Stop

__all__ = ["Handover", "hand_over", "quiet_output", "run"]

Named = tuple[dict[str, Array], dict[str, Array]]

# Of the gap asked for: the tolerances of one run after the other.
CLARABEL_RUNS, OTHER_RUNS = (1e-2, 1e-4, 1e-6), (1.0, 1e-2, 1e-4)
# Iterations of the first stretch of SCS, their growth, and in all
FIRST_STRETCH, STRETCH_GROWTH, MOST_ITERATIONS = 100, 1.5, 200_000
# Far below what is asked: the stretch, not SCS's own test, ends a run.
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

    def current(self) -> Named:
        """The values that the cvxpy problem holds now."""
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
            multipliers[name] = together * lowered.rows.get(name, 1.0)
        for key, (name, first, end) in lowered.corners.items():
            duals = [c.dual_value for c in lowered.constraints[name]]
            if all(isinstance(d, np.ndarray) and d.ndim == 2 for d in duals):
                blocks = np.array([d[first:end, first:end] for d in duals])
                multipliers[key] = blocks[0] if len(duals) == 1 else blocks[:, 0, 0]
        return variables, multipliers


def hand_over(lowered: Lowered, solver: str) -> Handover:
    """Let cvxpy reduce the problem to the standard form of the solver."""
    # solver_opts has to be passed: without it cvxpy 1.9.3 leaves out what invert needs. A quadratic
    # objective goes into cones like everything else; otherwise it would stand in data["P"].
    data, chain, inverse = lowered.problem.get_problem_data(solver, solver_opts={"use_quad_obj": False})
    return Handover(lowered, solver, data, chain, inverse)


@dataclass(frozen=True)
class _Run:
    """One run of a solver: its iterations and its word, and what it has come to.

    named : gives variables and multipliers; None where it has none that are made of numbers.
    stop : set where it says that it never will have. is_last : no further run would help.
    """

    iterations: int
    raw: str
    named: Callable[[], Named] | None = None
    vectors: Vectors | None = None
    stop: Stop | None = None
    is_last: bool = False


def run(row: SolverRow, lowered: Lowered, options: Options, clock: Clock) -> Generator[Point, None, None]:
    """Points of increasing accuracy; the consumer stops when its certified gap is reached."""
    handed = hand_over(lowered, row.cvxpy)  # cvxpy keeps it for the runs that it makes itself
    clock.hand_over()
    limit, used = options.max_iterations or MOST_ITERATIONS, 0
    for found in {"clarabel": _clarabel, "scs": _scs}.get(row.name, _by_cvxpy)(handed, options, clock):
        used += found.iterations
        stop = found.stop or clock.stop(spent=used >= limit, done=found.is_last)
        if found.named is not None or stop is not None:
            variables, multipliers = ({}, {}) if found.named is None else found.named()
            yield Point(variables, multipliers, used, found.raw, stop, found.vectors)
        if stop is not None:
            return


def _clarabel(handed: Handover, options: Options, clock: Clock) -> Iterator[_Run]:
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
        settings.max_threads = options.threads or 0
        if options.max_iterations is not None:
            settings.max_iter = max(1, options.max_iterations - used)
        try:
            solver = clarabel.DefaultSolver(p, q, handed.data["A"], handed.data["b"], cones, settings)
            # A callback instead of the solver's own limit: it also sees Ctrl-C.
            solver.set_termination_callback(lambda info: clock.is_over)
            raw = solver.solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what Rust calls a bug of its own; not exported
                raise
            raise SolverError(
                f"clarabel failed: {error}", hint="another solver may do: --solver scs"
            ) from None
        used += int(raw.iterations)
        vectors = Vectors(handed, np.array(raw.x), np.array(raw.z))
        # An iterate is worth certifying whatever the solver calls it, if it is made of numbers.
        is_finite = bool(np.isfinite(vectors.x).all() and np.isfinite(vectors.y).all())
        values = {"x": vectors.x, "z": vectors.y, "obj_val": 0.0, "solve_time": 0.0, "iterations": used}
        known = SimpleNamespace(status="AlmostSolved", **values)
        stop = INFEASIBLE.get(str(raw.status))
        named = partial(handed.named, known) if is_finite and stop is None else None
        yield _Run(int(raw.iterations), str(raw.status), named, vectors, stop, factor == CLARABEL_RUNS[-1])


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


def _scs(handed: Handover, options: Options, clock: Clock) -> Iterator[_Run]:
    import scs
    from cvxpy.reductions.solvers.conic_solvers.scs_conif import dims_to_solver_dict

    data = {name: handed.data[name] for name in ("A", "b", "c")}
    cones = dims_to_solver_dict(handed.cones)  # type: ignore[no-untyped-call]
    tight = max(options.tolerance * STRETCH_TOLERANCE, 1e-12)
    start: dict[str, Any] = {}
    left, length = options.max_iterations or MOST_ITERATIONS, float(FIRST_STRETCH)
    while True:
        with _interrupts_later():
            solver = scs.SCS(
                data,
                cones,
                verbose=options.verbose,
                eps_abs=tight,
                eps_rel=tight,
                max_iters=int(min(length, left)),
                time_limit_secs=min(max(clock.left, 1e-3), 1e9),  # 0 means no limit
            )
        if clock.interrupted:
            yield _Run(0, Stop.INTERRUPTED, stop=Stop.STOPPED)
            return
        raw = solver.solve(warm_start=bool(start), **start)
        info = raw["info"]
        code, word, taken = info["status_val"], info["status"], int(info["iter"])
        left, length = left - taken, length * STRETCH_GROWTH
        vectors = Vectors(handed, np.array(raw["x"]), np.array(raw["y"]))
        if code == SIGINT:
            clock.press()
        # What it calls infeasible or unbounded only because its time is over is not looked into.
        is_cut = code == SIGINT or (clock.is_over and code in INACCURATE)
        stop = Stop.STOPPED if is_cut else FAILED.get(code)
        if stop is None and not np.isfinite(vectors.x).all():
            stop = Stop.FAILED
        start = {name: raw[name] for name in ("x", "y", "s")}
        info["status_val"] = 2
        named = partial(handed.named, raw) if stop is None else None
        yield _Run(taken, word, named, vectors, stop, is_last=code == 1)


def _cvxopt(tolerance: float, options: Options) -> dict[str, Any]:
    return {
        "abstol": tolerance,
        "reltol": tolerance,
        "feastol": tolerance,
        "max_iters": options.max_iterations or 200,
        # The Cholesky solver refuses problems with redundant rows, which ours have.
        "kktsolver": "robust",
    }


def _qoco(tolerance: float, options: Options) -> dict[str, Any]:
    limit = {"max_iters": options.max_iterations} if options.max_iterations else {}
    return {"abstol": tolerance, "reltol": tolerance, **limit}


def _sdpa(tolerance: float, options: Options) -> dict[str, Any]:
    limit = {"maxIteration": options.max_iterations} if options.max_iterations else {}
    return {"epsilonStar": tolerance, "epsilonDash": tolerance, "numThreads": options.threads or 1, **limit}


# Each solver's names for our options.
OPTIONS: Mapping[str, Callable[[float, Options], dict[str, Any]]] = MappingProxyType(
    {"CVXOPT": _cvxopt, "QOCO": _qoco, "SDPA": _sdpa}
)


def _by_cvxpy(handed: Handover, options: Options, clock: Clock) -> Iterator[_Run]:
    """These solvers cannot be stopped between: limits hold between rounds."""
    import cvxpy

    solver, problem, used = handed.solver, handed.lowered.problem, 0
    for factor in OTHER_RUNS:
        left = options.max_iterations - used if options.max_iterations else None
        tolerance = max(options.tolerance * factor, 1e-12)
        chosen = OPTIONS[solver](tolerance, replace(options, max_iterations=left))
        try:
            # SDPA prints remarks on standard output, whatever it is told.
            silent = quiet_output() if solver == "SDPA" and not options.verbose else nullcontext()
            with warnings.catch_warnings(), silent:
                warnings.simplefilter("ignore")  # "may be inaccurate": every point is certified anyway
                problem.solve(solver=solver, verbose=options.verbose, **chosen)
        except (cvxpy.SolverError, ValueError, ArithmeticError) as error:
            yield _Run(0, f"{type(error).__name__}: {error}", stop=Stop.FAILED)
            return
        stats, word = problem.solver_stats, str(problem.status)
        taken = int(stats.num_iters or 0) if stats is not None else 0
        used += taken
        stop = next((s for s in (Stop.INFEASIBLE, Stop.UNBOUNDED) if word.startswith(s)), None)
        named = handed.current if stop is None else None
        yield _Run(taken, word, named, stop=stop, is_last=factor == OTHER_RUNS[-1])


@contextmanager
def quiet_output() -> Iterator[None]:
    """What is written to standard output below Python goes nowhere; Python's own is written before."""
    runtime = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
    sys.stdout.flush()
    runtime.fflush(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        runtime.fflush(None)  # a pipe is buffered: without this the text comes out later
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
