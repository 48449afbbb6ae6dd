"""``mmopt.certify``: a strategy or a point from anywhere, repaired, charged and bounded.

A program's repair keeps a strategy but for its scale, or changes it, or fails, and the strategy is refused.
The multipliers of the bound may come from anywhere; the best valid bound wins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.driver.accepted_inputs import (
    as_program,
    incoming,
    named_givens,
    norm_of,
    opened,
    refuse_unread,
    within_range,
    workload_for,
)
from mmopt.driver.judge.assemble_solution import (
    Ending,
    adopt,
    adopters,
    assemble,
    check_adopts,
    row_parameter,
)
from mmopt.driver.judge.proved_bounds import error_bound
from mmopt.driver.judge.score_point import (
    FEASIBLE,
    SLIGHT,
    Candidate,
    bound_of,
    candidate,
    gap_of,
    improves,
    may_move,
    meaning,
    scored,
    starts_from,
)
from mmopt.driver.judge.violations import undefined_part, worst_line
from mmopt.driver.run_solver import moved_inside, objective_remarks
from mmopt.driver.solve import with_total
from mmopt.driver.solve_convex import solve_convex, with_derived
from mmopt.driver.solve_plan import Report, SolvePlan, Task
from mmopt.errors import OptionError, SolverError, TooLargeError, suggest
from mmopt.language import Program, check
from mmopt.limits import Stop, deadline
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.proof.given_point import better_of, check_meant, given_point, meant_by, missed_as_given, with_given
from mmopt.proof.verify import certified_product, plan_of_product
from mmopt.request import WorkloadLike, default_program
from mmopt.results import Solution
from mmopt.solvers import Clock, Options, SolverLike, as_solver
from mmopt.strategies import Strategy, as_dense, normalise
from mmopt.workloads import Workload

# Two points that differ by less than this, relatively, differ by rounding and by the floor of psd matrices.
SAME = 1e-9


def check_feasible(instance: Instance, point: Candidate, what: str = "strategy") -> None:
    """Refuse a point that misses a constraint after its repair, by its name; ``what``: strategy or point."""
    if point.is_feasible:
        return
    name = instance.program.name
    if point.after <= FEASIBLE:
        part = undefined_part(instance, point.env)
        raise OptionError(f"the {what} has no finite objective in '{name}'" + (part and f": {part}"))
    worst = worst_line(instance, point.env)
    off = rounded(point.after, 2, up=True, layout="e")
    misses = worst.missed(instance, off) if worst else f"misses a line by {off}, relatively"
    raise OptionError(
        f"the {what} gives no feasible point of '{name}': after its repair it {misses}",
        hint=f"give the program a 'repair' that makes any {what} feasible",
    )


def kept(
    strategy: Strategy, instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Array]
) -> tuple[Strategy, float] | None:
    """The strategy as given, scaled, and its factor, where the repaired point means that strategy.

    For norm 2 up to a rotation of its rows. None when the repair changed more than the scale.
    """
    meant_strategy, covariance, _ = meaning(instance, env, multipliers)
    meant = as_dense(meant_strategy)
    if meant.norm == 1:
        one, other, power = strategy.matrix, meant.matrix, 1
    else:
        one, other, power = strategy.matrix.T @ strategy.matrix, meant.matrix.T @ meant.matrix, 2
    if one.shape != other.shape or not _aligned(other, one)[0] <= SAME:
        return None
    factor = float(abs(_aligned(other, one)[1]) ** (1.0 / power))
    if covariance is None:  # the meaning is scaled to sensitivity 1; scale this with the same rounding
        return normalise(strategy), factor
    return replace(strategy, matrix=factor * strategy.matrix), factor


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
    """In words, the change of a strategy by its repair; ``factor``: the scale where nothing else changed."""
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


# Up to this gap no program is solved for better multipliers, unless the caller gives a tolerance.
TOLERANCE = 1e-6
_WORDS = {False: "strategy", True: "point"}  # the kind of the argument, by whether it is a point


def program_for(workload: Workload, norm: int | None = None) -> tuple[str, str]:
    """The program by which a strategy is certified when none is named, and the reason.

    Raises
    ------
    OptionError : no shipped program takes strategies of this norm.
    """
    if norm in (None, 2):
        return default_program(workload)
    able = adopters(norm)
    if not able:
        raise OptionError(
            f"no shipped program takes strategies of norm {norm}",
            hint="name one of your own: its strategy has this norm, and it has a section 'from strategy'",
        )
    return able[0], f"the strategy has norm {norm}"


@within_range()
def certify(
    workload: WorkloadLike | None = None,
    strategy: Any = None,
    program: str | Path | Program | None = None,
    *,
    point: Any = None,
    covariance: Any = None,
    basis: Any = None,
    norm: int | None = None,
    multipliers: Mapping[str, Any] | None = None,
    givens: Mapping[str, Any] | None = None,
    solve: bool = True,
    solver: SolverLike = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Report | None = None,
) -> Solution:
    """Certify a strategy from anywhere: its cost, and its distance from the best.

    The strategy becomes a point of the program by the section ``from strategy``. The point is evaluated as it
    is, scaled to sensitivity 1, or with the noise scaled to its targets. Where the program's repair would
    improve it (short columns are completed) a warning says so; where only a repaired point is feasible, the
    warning names the change.

    The bound is the best of: the certificate at the caller's ``multipliers``, at those that the program takes
    from the point, at those that follow from the strategy (PODS 2010: the singular value bound, improved),
    and, while the gap is above ``tolerance``, at those of a solve of the program if it is convex. A program
    with ``bound l2_strategy`` is bounded by that program's certificate: for ε-differential privacy, because
    ‖A‖₁ >= ‖A‖₂. For a program without a certificate a bound is also derived from its lines, at the caller's
    multipliers and as ``solve`` does.

    Parameters
    ----------
    workload : the queries, as for ``solve``.
    strategy : A (p, n) as a Strategy, an array or scipy sparse matrix, a Solution (its strategy), a path
        (.npy, .csv, or .npz of a saved solution), or a baseline: "haar". Any scale that doubles hold.
    program : as for ``solve``; for a strategy it must have a section ``from strategy``. For norm 1 the first
        shipped program of that norm.
    point : in place of a strategy: the program's variables by name, or ``{"columns": x}``, with ``"rows": y``
        for multipliers, of what ``mmopt.export`` wrote; or a path (.json or .npz of such names, .npy of x).
    covariance : Σ (k, k), positive definite, in place of a strategy: of the noise on ``basis`` @ x.
    basis : B (k, n) of the covariance; by default the workload's basis.
    norm : 1 or 2; by default that of the Strategy or Solution, else of the program.
    multipliers : by the names of the certificate's constraints, as in ``Solution.multipliers``; without a
        certificate by the names of any constraints. Of the exported problem, y is in the dual cones, with
        ``c + A.T @ y = 0``.
    givens : as for ``solve``.
    solve : whether the program may be solved for better multipliers.
    solver, tolerance, time_limit, progress : of that solve, as for ``solve``; by default it is left out when
        the gap is at most 1e-6 without it.

    Returns
    -------
    Solution with solver "given" and status "certified". Its strategy is the one given, scaled, unless the
    repair changed more than the scale. A point is repaired where it is not feasible as given. A strategy that
    is a product, over many cells, is certified in factors where the workload is one product too.

    Raises
    ------
    OptionError : a strategy that is not a matrix of numbers, is over another number of cells, has another
        norm than the program's, or does not support the workload (W A⁺A differs from W; the worst query is
        named); a program without ``from strategy``; unknown or ill-shaped variables, multipliers or givens.
    SolverError, TooLargeError : from a solver that the caller named.
    """
    workload = workload_for(workload, program)
    started = time.monotonic()
    options = {"tolerance": tolerance, "time_limit": time_limit}
    overrides: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    Options(**overrides)  # a bad option is refused before any work
    if point is not None and not (strategy is covariance is basis is norm is None):
        raise OptionError("a point and a strategy are given, expected one of them")
    given = None if point is not None else opened(strategy, workload, norm)
    brought = norm_of(given)
    if norm is not None and brought not in (None, norm):
        raise OptionError(
            f"the strategy has norm {brought}, and norm {norm} is asked for", hint="pass its matrix alone"
        )
    norm = brought if norm is None else norm
    if program is None:
        program = program_for(workload, norm)[0]
    program = as_program(program)
    parsed = program if isinstance(program, Program) else Program.load(program)
    passed, came, keeps = dict(multipliers or {}), None, point is not None
    if point is None:
        check_adopts(parsed, norm)
        named = named_givens(givens, parsed, workload)
        plan = plan_of_product(check(parsed), workload, given, passed, named)
        if plan is not None:
            of_solve: dict[str, Any] = {
                "solve": solve,
                "solver": solver,
                "time_limit": time_limit,
                "progress": progress,
            }
            each = partial(certify, program=parsed, norm=norm, givens=givens, **of_solve)
            least = (overrides.get("tolerance", TOLERANCE) / len(plan.parts)) if solve else None
            product = certified_product(plan, given, passed, partial(each, tolerance=least))
            return with_total(replace(product, options=overrides), started)
        came = incoming(workload, given, covariance, basis, parsed.meaning.norm)
        named = {**row_parameter(parsed, came), **named_givens(givens, parsed, workload)}
        instance = bind(parsed, workload, named)
        came = replace(came, neighbours=instance.neighbours)
        keeps = parsed.meaning.kind == "strategy"
        values = adopt(instance, normalise(came) if keeps else came)
    else:
        instance = bind(parsed, workload, named_givens(givens, parsed, workload))
        values, brought_along = given_point(instance, point)
        passed = {**brought_along, **passed}
    judge = _judge(instance)
    if not (solve and judge.program.problem_class == "convex") and (solver, tolerance, time_limit) != (
        None,
        None,
        None,
    ):
        raise OptionError(
            "--solver, --tolerance and --time-limit have no effect"
            + (f", as '{judge.program.name}' is not convex" if solve else " with --no-solve")
        )
    refuse_unread(judge.checked, as_solver(solver), {})
    try:
        best = repaired = candidate(instance, values)
        if came is None and FEASIBLE < best.after <= SLIGHT and may_move(instance):
            best = repaired = moved_inside(instance, best, Clock(np.inf), TOLERANCE)
        if keeps and (as_given := scored(instance, values)).is_feasible:
            best = as_given
    except np.linalg.LinAlgError:
        message = f"the {_WORDS[came is None]} gives no point of '{parsed.name}' that can be repaired"
        raise OptionError(message, hint="is it very badly scaled?") from None
    check_feasible(instance, best, _WORDS[came is None])
    strategy = meant_by(instance, best, passed) if came is None else came
    evaluated = time.monotonic()
    proof = _Proof(judge)
    ask = (lambda judge: Task(SolvePlan(judge), as_solver(solver), overrides, progress)) if solve else None
    with deadline(time_limit):
        proof.seek(instance, best, strategy, passed, ask, overrides.get("tolerance", TOLERANCE))
    bounded = time.monotonic()
    is_direct = proof.judge is instance
    multipliers = proof.multipliers if is_direct else {}
    same = None if came is None else kept(came, instance, best.env, multipliers)
    if came is None:
        remarks = [] if best is not repaired else missed_as_given(instance, values)
        check_meant(instance, best, multipliers)
    else:
        remarks = changes(instance, came, values, best, None if same is None else same[1])
    much = SAME * abs(best.objective) * (1.0 if parsed.sense == "minimize" else -1.0)
    if improves(repaired.objective, best.objective - much, parsed.sense):
        remarks.append(f"completed by the program's repair its objective would be {repaired.objective:.10g}")
    if proof.bound is not None:
        remarks.append(f"the bound's multipliers come from {proof.origin}")
    ending = Ending(
        objective=best.objective,
        proved=best.proved,
        unrepaired=values,
        bound=proof.bound if is_direct else None,
        stop=Stop.CERTIFIED,
        solver=("given", ""),
        word=Stop.CERTIFIED,
        violation=repaired.before,
        options=overrides,
        compile=evaluated - started,
        solve=bounded - evaluated,
        multipliers=multipliers,
        warnings=(*remarks, *proof.remarks),
        measured=None if same is None else same[0],
        starts=() if is_direct else tuple(proof.multipliers.values()),
    )
    if passed and instance.program.certificate is None and is_direct:
        ending = with_given(instance, best, ending, passed, is_last=ask is None)
        bound = None if ending.derived is None else ending.derived.bound
        gap = gap_of(instance.checked, ending.objective, bound)
        ask = None if gap is not None and gap <= overrides.get("tolerance", TOLERANCE) else ask
    if ask is not None:
        read = ending.derived
        ending = with_derived(ask(instance), best, ending, started)
        ending = replace(ending, derived=better_of(instance, read, ending.derived))
    solution = assemble(instance, best.env, ending)
    solution = replace(solution, warnings=(*objective_remarks(instance, solution), *solution.warnings))
    return with_total(solution, started)


@dataclass
class _Proof:
    """The best bound so far by the certificate of ``judge``, its multipliers and their origin."""

    judge: Instance
    bound: float | None = None
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    remarks: list[str] = field(default_factory=list)

    def seek(
        self,
        instance: Instance,
        point: Candidate,
        strategy: Strategy | None,
        passed: Mapping[str, Any],
        ask: Callable[[Instance], Task] | None,
        tolerance: float,
    ) -> None:
        """Take the best bound at multipliers of point, caller, strategy and, where ``ask`` is, a solver."""
        judge = self.judge
        if judge.program.certificate is None:
            if passed and judge.program.problem_class != "convex":
                raise OptionError(f"'{judge.program.name}' has no certificate, so multipliers prove nothing")
            return
        starts = starts_from(judge, point.env) if judge is instance else {}
        for offered, origin in _offers(judge, starts, passed, strategy):
            self.offer(offered, origin)
        gap = gap_of(instance.checked, point.objective, self.bound)
        is_close = gap is not None and gap <= tolerance
        if ask is not None and judge.program.problem_class == "convex" and not is_close:
            self.solve(ask(judge))

    def offer(self, multipliers: Mapping[str, Any], origin: str) -> None:
        bound = bound_of(self.judge, multipliers)
        if bound is not None and (
            self.bound is None or improves(self.bound, bound, self.judge.program.sense)
        ):
            self.bound, self.multipliers, self.origin = bound, multipliers, origin

    def solve(self, task: Task) -> None:
        """Solve for multipliers; only a solver that the caller named raises errors."""
        name = self.judge.program.name
        try:
            solved = solve_convex(task)
        except (SolverError, TooLargeError) as error:
            if task.solver is not None:
                raise
            self.remarks.append(f"'{name}' was not solved for better multipliers: {error.message}")
        else:
            by = f"{solved.solver} {solved.solver_version}, {solved.status.stop}"
            self.offer(solved.multipliers, f"a solve of '{name}' ({by})")


def _judge(instance: Instance) -> Instance:
    """The instance whose certificate bounds the program: itself, or l2_strategy by ``bound l2_strategy``."""
    program = instance.program
    if program.certificate is None and program.bound == "l2_strategy":
        return bind(Program.load("l2_strategy"), instance.workload)
    return instance


def _offers(
    judge: Instance, of_point: Mapping[str, Array], passed: Mapping[str, Any], strategy: Strategy | None
) -> Iterator[tuple[Mapping[str, Array], str]]:
    """Multipliers of the point, the caller and the strategy, each with its origin."""
    if of_point:
        yield of_point, "the point, as the certificate says"
    if passed:
        yield {**of_point, **_named(judge, passed)}, "the caller"
    wanted = judge.program.multipliers
    if strategy is not None and [m.declaration.shape(judge.sizes()) for m in wanted] == [(judge.workload.n,)]:
        _, improved = error_bound(judge.workload, strategy)
        yield (
            {wanted[0].key: improved},
            "steps that begin at the strategy; it holds for every strategy all the same",
        )


def _named(judge: Instance, passed: Mapping[str, Any]) -> dict[str, Array]:
    """The caller's multipliers by the names under which a solution keeps them.

    Multipliers of lines that the certificate does not use, which a solution has too, are left out.
    """
    lines = {c.name for c in judge.program.constraints}
    by_name = {m.key: m for m in judge.program.multipliers}
    by_name |= {m.declaration.name: m for m in judge.program.multipliers}
    by_key: dict[str, Array] = {}
    for name, value in passed.items():
        if name in lines - by_name.keys():
            continue
        if name not in by_name:
            message = f"the certificate of '{judge.program.name}' has no multiplier '{name}'"
            raise OptionError(message, hint=suggest(name, by_name))
        array = np.asarray(value)
        shape = by_name[name].declaration.shape(judge.sizes())
        fits = array.shape == shape or array.size == 1 == int(np.prod(shape))  # one cell has one number
        if array.dtype.kind not in "biuf" or not fits or not np.isfinite(array).all():
            raise OptionError(
                f"the multiplier '{name}' has shape {array.shape}, expected finite numbers of shape {shape}"
            )
        by_key[by_name[name].key] = array.astype(np.float64).reshape(shape)
    return by_key
