"""One call of a solver on one instance, in a process of its own: cold, at one tolerance.

The solver is a function as ``mmopt.solve(..., solver=)`` takes it. What it returns is repaired and evaluated
from the program file by mmopt; its own point, before that, is what the DIMACS errors are of. Time of a call
is that from the conic problem to the answer: ``seconds`` the whole call, ``own`` what the solver says of
its own part, the rest is the wrapper. Compiling is not in it, nor in the limit. Before anything is measured
the process solves a linear program of one unknown, so that what is loaded late is loaded. A call that was
short is repeated there; its answer is the first, its time the median.
"""

from __future__ import annotations

import inspect
import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from called_solvers import function_of
from dimacs_errors import dimacs_errors
from proved_rays import ray_of

from mmopt import Program, SolverError, Workload, export, solve
from mmopt.comparison.worker import Solving
from mmopt.compiler import bind
from mmopt.driver.task_and_plan import Progress, Report
from mmopt.errors import Error, TimeLimitError, UnsuitableError
from mmopt.language import check
from mmopt.solvers import Options, is_claimed

__all__ = [
    "COMPILE_SECONDS",
    "KERNEL",
    "MMOPT",
    "NO_ERRORS",
    "TOLERANCES",
    "Call",
    "Measured",
    "Unsolvable",
    "beyond",
    "claim_of",
    "excess",
]

TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
SHORT = 0.3  # seconds: a call is repeated while all of them have taken less
KERNEL = "kernel"  # mmopt's own, where one claims the program
MMOPT = "mmopt"  # all of ``mmopt.solve`` as it chooses, with its proof
NO_ERRORS = (math.nan,) * 6
LEAST_GAP = 1e-14  # certified: below it nothing is asked
COMPILE_SECONDS = 20.0  # beside the solver's limit
BEYOND = 1e-8  # relative, by which no certified point may be better than a proved optimum
WARM = """
program one_unknown
given
    W: matrix[m, n] = workload.matrix
choose
    p: vector[n] >= 0
minimize
    sum(p)
subject to
    least: p >= 1
"""


@dataclass(frozen=True)
class Call(Progress):
    """One call of a solver, and its point as judged: ``objective``, infinite where there is none.

    tolerance : asked for. call_seconds, call_cpu : wall and CPU time of the call, of its child processes too,
    medians where it was repeated. spread : the least and the largest of each. own : wall time of the solver
    itself, None where it does not say. compile : seconds before the call. word : of the solver. errors : err1
    to err6. claim, is_proof, reach : of a problem without a solution, ``claim_of`` the word and what its
    ray is worth (``proved_rays.Ray``); is_proof is None without a ray.
    """

    tolerance: float | None = None
    call_seconds: float = math.nan
    call_cpu: float = math.nan
    spread: tuple[tuple[float, float], tuple[float, float]] | None = None
    own: float | None = None
    compile: float = math.nan
    word: str = ""
    errors: tuple[float, ...] = NO_ERRORS
    claim: str = ""
    is_proof: bool | None = None
    reach: float | None = None


# The beginnings of a word, without all but letters; the first that fits. SDPA's p and d are ours.
CLAIMS = (
    ("infeasibleorunbounded", ""),
    ("(almost)?primalinfeasible|infeasible|pinf|dunbd", "infeasible"),
    ("(almost)?dualinfeasible|unbounded|dinf|punbd", "unbounded"),
    ("(qoco)?solved$|optimal$|pdopt", "solved"),
)


OWN_CLAIMS = {
    "has no feasible point": "infeasible",
    "seems to have no optimum": "unbounded",
}  # mmopt's errors


def claim_of(word: str, has_point: bool) -> str:
    """Read what a solver's word claims: "infeasible", "unbounded", "solved", or "" for nothing."""
    letters = re.sub("[^a-z]", "", word.lower())
    if not letters and has_point:  # of a function that returns x and y alone
        return "solved"
    return next((claim for form, claim in CLAIMS if re.match(form, letters)), "")


def excess(objective: float, optimum: float, sense: str) -> float:
    """How far an objective is from an optimum, relative where both are positive, else over max(1, |it|).

    Not below 0, which rounding may give: then the optimum is met. What is more than that: ``beyond``.
    """
    return max(0.0, _distance(objective, optimum, sense)) if math.isfinite(objective) else math.inf


def beyond(objective: float, optimum: float, sense: str) -> bool:
    """Whether an objective is better than a proved optimum, clearly: then the proof or mmopt is wrong."""
    return math.isfinite(objective) and _distance(objective, optimum, sense) < -BEYOND


def _distance(objective: float, optimum: float, sense: str) -> float:
    worse = objective - optimum if sense == "minimize" else optimum - objective
    size = min(objective, optimum) if min(objective, optimum) > 0 else max(1.0, abs(objective))
    return worse / size


@dataclass(frozen=True, kw_only=True)
class Measured(Solving):
    """A task of ``mmopt.comparison.Isolated``, whose outcome has the call as its history.

    label : "kernel", "mmopt", or a name as ``function_of`` takes it. asked : the tolerance of the call.
    left : seconds for it; ``time_limit`` is that of the process, and longer. threads : of the solver.
    repeats : how often it is called, where that takes less than ``SHORT``.
    """

    label: str
    asked: float
    left: float
    threads: int = 1
    repeats: int = 1
    givens: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_conic(self) -> bool:
        """Loaded before the clock runs."""
        return True

    def result(self, report: Report) -> dict[str, Any]:
        """``Solution.fields()``; errors as ``mmopt.solve``, and SolverError for all that a solver raises."""
        common: dict[str, Any] = {
            "givens": self.givens,
            "threads": self.threads,
            "reduce": False,
            "derive": False,
        }
        if self.label in (KERNEL, MMOPT):
            return self._by_mmopt(report, {**common, "derive": self.label == MMOPT})
        called = function_of(self.label)
        _warm(_like(called, lambda problem: _last(called(problem), math.inf)))
        call = _Call(self, called)
        found = None
        try:
            found = solve(
                self.workload,
                self.program,
                solver=_like(called, call),
                tolerance=LEAST_GAP,
                time_limit=self.time_limit,
                **common,
            )
        finally:
            if call.made is not None:
                made = call.made
                if found is not None:
                    made = replace(made, objective=found.objective, bound=found.bound)
                report(made)
        return found.fields()

    def _by_mmopt(self, report: Report, common: Mapping[str, Any]) -> dict[str, Any]:
        """Solve from the program on; each certified point counts as a call that began with the solve.

        Raises
        ------
        UnsuitableError : a kernel is to solve the program, and none claims it.
        """
        if self.label == KERNEL and not is_claimed(
            bind(check(self.program), self.workload, self.givens), None
        ):
            raise UnsuitableError("no kernel claims the program")
        with suppress(Error):  # a small workload may not be for the program
            solve(Workload.from_matrix(np.tri(2)), self.program, derive=False)
        began, cpu = time.perf_counter(), _cpu_seconds()
        points: list[Progress] = []

        def judged(point: Progress) -> None:
            if point.certified:
                points.append(point)
                spent = time.perf_counter() - began, _cpu_seconds() - cpu
                plain = {f: getattr(point, f) for f in Progress.__dataclass_fields__}
                report(Call(**plain, call_seconds=spent[0], call_cpu=spent[1], compile=0.0))

        found = solve(
            self.workload,
            self.program,
            tolerance=self.asked,
            time_limit=self.left,
            progress=judged,
            **common,
        )
        if points:  # the solution may be better than the last point on the way, and its bound
            judged(replace(points[-1], objective=found.objective, bound=found.bound))
        return found.fields()


class Unsolvable(Measured):
    """A call on a problem that has no solution, whose ray is judged; on the problem in its own units."""

    def result(self, report: Report) -> dict[str, Any]:
        """Report the call.

        Raises
        ------
        SolverError : always, with the solver's word, as there is no solution. UnsuitableError : it does not
            take the cones.
        """
        if self.label == KERNEL:
            raise UnsuitableError("kernels solve problems that have a solution")
        if self.label == MMOPT:
            return self._by_mmopt(report, {"givens": self.givens, "threads": self.threads})
        called = function_of(self.label)
        problem = export(self.workload, self.program, givens=self.givens).problem
        if lacking := sorted(problem.cones.kinds - getattr(called, "cones", problem.cones.kinds)):
            raise UnsuitableError(f"it does not take the {lacking[0]} cone")
        _warm(_like(called, lambda problem: _last(called(problem), math.inf)))
        call, answer = _Call(self, called), None
        try:
            answer = call(replace(problem, options=Options(threads=self.threads)))
        finally:
            if call.made is not None:
                x, y = _pair_of(answer)
                claim = claim_of(call.made.word, x is not None) if answer is not None else ""
                ray = ray_of(problem, claim, x, y) if claim in ("infeasible", "unbounded") else None
                is_proof, reach = (None, None) if ray is None else (ray.is_proof, ray.reach)
                report(replace(call.made, claim=claim, is_proof=is_proof, reach=reach))
        raise SolverError(f"{self.label} has no solution, and there is none")

    def _by_mmopt(self, report: Report, common: Mapping[str, Any]) -> dict[str, Any]:
        """Take mmopt at its word: that is the text of its error."""
        start, cpu = time.perf_counter(), _cpu_seconds()
        try:
            solve(self.workload, self.program, time_limit=self.left, **common)
            text, claim = "a solution", "solved"
        except Error as error:
            text = str(error)
            claim = next((claim for words, claim in OWN_CLAIMS.items() if words in text), "")
        up_to = re.search(r"at most ([0-9.e+]+)", text)
        is_proof = ("\n  proved by " in text and not up_to) if claim == "infeasible" else None
        report(
            Call(
                self.program.name,
                self.label,
                0.0,
                None,
                math.inf,
                None,
                call_seconds=time.perf_counter() - start,
                call_cpu=_cpu_seconds() - cpu,
                compile=0.0,
                word=text.splitlines()[0],
                claim=claim,
                is_proof=is_proof,
                reach=float(up_to[1]) if up_to else None,
            )
        )
        raise SolverError(text)


class _Call:
    """The call of one solver, and what it took."""

    def __init__(self, task: Measured, called: Callable[[Any], Any]) -> None:
        self.task, self.called = task, called
        self.began = time.perf_counter()
        self.made: Call | None = None

    def __call__(self, problem: Any) -> Any:
        """Call it once, and take down what it took and how good its own point is.

        Raises
        ------
        SolverError : it raised. So nobody can say in a call that a problem is not for it.
        """
        before = time.perf_counter() - self.began
        answer, raised, first = self._timed(problem)
        times = [first]
        while raised is None and len(times) < self.task.repeats and sum(wall for wall, _, _ in times) < SHORT:
            _, again, further = self._timed(problem)
            if again is not None:  # the first answer stands
                break
            times.append(further)
        walls, cpus = [wall for wall, _, _ in times], [spent for _, spent, _ in times]
        owns = [own for _, _, own in times if own is not None]
        parts = answer if isinstance(answer, Mapping) else {}
        x, y = _pair_of(answer)
        self.made = Call(
            self.task.program.name,
            self.task.label,
            0.0,
            None if parts.get("iterations") is None else int(parts["iterations"]),
            math.inf if self.task.program.sense == "minimize" else -math.inf,
            None,
            self.task.program.sense,
            tolerance=self.task.asked,
            call_seconds=statistics.median(walls),
            call_cpu=statistics.median(cpus),
            spread=((min(walls), max(walls)), (min(cpus), max(cpus))),
            own=statistics.median(owns) if owns else None,
            compile=before,
            word=str(raised) if raised else str(parts.get("status", "")),
            errors=_errors(problem, x, y, parts.get("s")),
        )
        if raised is not None:
            raise raised
        return answer

    def _timed(self, problem: Any) -> tuple[Any, BaseException | None, tuple[float, float, float | None]]:
        """The answer; what was raised; wall and CPU time, and the wall time that the solver says it took."""
        start, cpu = time.perf_counter(), _cpu_seconds()
        options = replace(problem.options, tolerance=self.task.asked, time_limit=self.task.left)
        answer: Any = None
        raised: BaseException | None = None
        try:
            answer = _last(self.called(replace(problem, options=options)), start + self.task.left)
        except (MemoryError, TimeLimitError) as error:
            raised = error
        except Exception as error:  # noqa: BLE001 - whatever a solver raises
            raised = SolverError(f"{type(error).__name__}: {error}")
        wall, spent = time.perf_counter() - start, _cpu_seconds() - cpu
        return answer, raised, (wall, spent, answer.get("seconds") if isinstance(answer, Mapping) else None)


def _pair_of(answer: Any) -> tuple[Any, Any]:
    """x and y of an answer in any of its forms; None for what it lacks."""
    if isinstance(answer, Mapping):
        return answer.get("x"), answer.get("y")
    return tuple(answer) if _is_pair(answer) else (None, None)


def _last(answer: Any, end: float) -> Any:
    """The answer; of a generator the last one, or the first after ``end`` (``time.perf_counter``)."""
    if not inspect.isgenerator(answer):
        return answer
    last = None
    for last in answer:  # noqa: B007 - the last is what counts
        if time.perf_counter() > end:
            break
    return last


def _like(called: Callable[[Any], Any], function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function under the name of the one that is called, with the cones that it declares."""

    def named(problem: Any) -> Any:
        return function(problem)

    named.__module__, named.__qualname__ = called.__module__, called.__qualname__
    for name in ("cones", "quadratic"):
        if hasattr(called, name):
            setattr(named, name, getattr(called, name))
    return named


def _warm(function: Callable[[Any], Any]) -> None:
    """Load what is loaded late: by a linear program, where the function takes such."""
    with suppress(Error):
        solve(Workload.from_matrix(np.eye(1)), Program.parse(WARM), solver=function, derive=False)


def _cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    spent = time.process_time()
    if sys.platform != "win32":
        import resource

        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent += children.ru_utime + children.ru_stime
    return spent


def _is_pair(answer: Any) -> bool:
    return isinstance(answer, tuple | list) and len(answer) == 2


def _errors(problem: Any, x: Any, y: Any, s: Any) -> tuple[float, ...]:
    """DIMACS errors of finite points of the right length; what else is returned mmopt refuses."""
    m, n = problem.A.shape
    for value, length in ((x, n), (y, m), *([] if s is None else [(s, m)])):
        array = np.asarray(value)
        if array.dtype.kind not in "if" or array.shape != (length,) or not np.isfinite(array).all():
            return NO_ERRORS
    return dimacs_errors(problem, np.asarray(x), np.asarray(y), None if s is None else np.asarray(s))
