"""``mmopt.certify``: a strategy or a point from anywhere, repaired, charged and bounded; ``mmopt.bound_of``.

A program's repair keeps a strategy but for its scale, or changes it, or fails, and the strategy is refused.
A point is given by the names of its variables, or as columns of a file. The multipliers of the bound may come
from anywhere, and are not trusted: a bound is read off the program's lines at them. The best valid one wins;
``bound_of`` is the bound at exactly the caller's.
"""

import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Nodes, bind, into_cones
from mmopt.driver.accepted_options_and_inputs import (
    as_program,
    checked_strategy,
    named_givens,
    norm_of,
    open_strategy,
    refuse_unread,
    within_range,
    workload_for,
)
from mmopt.driver.judge import (
    FEASIBLE,
    SLIGHT,
    Candidate,
    Derived,
    Ending,
    adopt,
    adopting_programs,
    assemble_solution,
    asymmetric,
    candidate,
    charged,
    check_adopts,
    combine_factors,
    error_bound,
    for_neighbours,
    gap_of,
    grade_of,
    improves,
    level_above,
    line_bounds,
    may_move,
    meaning,
    named_multipliers,
    row_parameter,
    scored,
    starts_from,
    undefined_part,
    worst_line,
)
from mmopt.driver.judge.score_and_meaning import bound_of as certified_bound
from mmopt.driver.problem_for_bound_or_inner_point import moved_inside
from mmopt.driver.run_solver import objective_remarks
from mmopt.driver.solve_and_tune import with_total
from mmopt.driver.solve_convex import solve_convex, with_derived_bound
from mmopt.driver.task_and_plan import FEW_CELLS, Report, SolvePlan, Task, plan_in_factors
from mmopt.errors import Error, OptionError, SolverError, TooLargeError, UnsuitableError, suggest
from mmopt.exchange import led_from_columns
from mmopt.installation_and_files import parse_json
from mmopt.language import (
    Program,
    check,
    names_in,
    shipped,
)
from mmopt.limits import Stop, deadline
from mmopt.numerics import Array, Kronecker, numbers, rounded
from mmopt.request import WorkloadLike, default_program
from mmopt.results import Grade, Solution
from mmopt.solvers import Clock, Options, SolverLike, as_solver, is_free
from mmopt.strategies import ProductStrategy, Strategy, as_dense, normalise
from mmopt.workloads import (
    Workload,
    read_array,
)

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
    misses = worst.missed(instance, off) if worst else f"violates a constraint by {off}, relatively"
    raise OptionError(
        f"the {what} gives no feasible point of '{name}': after its repair it {misses}",
        hint=f"give the program a 'repair' that makes any {what} feasible",
    )


def scaled_as_given(
    strategy: Strategy, instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Array]
) -> tuple[Strategy, float] | None:
    """The strategy as given, scaled, and its factor, where the repaired point means that strategy.

    For norm 2 up to a rotation of its rows. None when the repair changed more than the scale.
    """
    meant_strategy, covariance, _ = meaning(instance, env, multipliers)
    meant = as_dense(meant_strategy)
    one, other = (a.T @ a if meant.norm == 2 else a for a in (strategy.matrix, meant.matrix))
    if one.shape != other.shape or not _aligned(other, one)[0] <= SAME:
        return None
    factor = float(abs(_aligned(other, one)[1]) ** (1.0 / meant.norm))
    # Without a covariance the meaning is scaled to sensitivity 1; scale this with the same rounding.
    scaled = normalise(strategy) if covariance is None else replace(strategy, matrix=factor * strategy.matrix)
    return scaled, factor


def _aligned(new: Array, old: Array) -> tuple[float, float]:
    """How far ``new`` is from the nearest multiple of ``old``, relatively, and the multiple's factor."""
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
        return [
            f"the repair changed more than the strategy's scale (relatively: {parts or 'its null space'}); "
            f"as given its total error is {rounded(strategy.total_error(instance.workload), 10, up=True)}"
        ]
    if abs(factor - 1.0) <= SAME:
        return []
    if instance.program.meaning.kind == "covariance":
        return [f"the noise was scaled: variances by {factor**-2:.6g}"]
    return [f"the strategy was scaled by {factor:.6g}; its sensitivity was {strategy.sensitivity:.6g}"]


# Up to this gap no program is solved for better multipliers, unless the caller gives a tolerance.
TOLERANCE = 1e-6


def program_for(workload: Workload, norm: int | None = None) -> tuple[str, str]:
    """The program by which a strategy is certified when none is named, and the reason.

    Raises
    ------
    OptionError : no shipped program takes strategies of this norm.
    """
    if norm in (None, 2):
        return default_program(workload)
    if not (able := adopting_programs(norm)):
        raise OptionError(
            f"no shipped program takes strategies of norm {norm}",
            hint="name one of your own: its strategy has this norm, and it has a section 'from strategy'",
        )
    return able[0], f"the strategy has norm {norm}"


@within_range()
def certify(
    workload: "WorkloadLike | None" = None,
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

    The bound is the best of: the certificate at the caller's ``multipliers``, as by ``bound_of``, with those
    that are missing taken from the point; at those that the program takes from the point; at those that
    follow from the strategy (PODS 2010: the singular value bound, improved); and, while the gap is above
    ``tolerance``, at those of a solve of the program if it is convex. A program with ``bound l2_strategy`` is
    bounded by that program's certificate: for ε-differential privacy, because ‖A‖₁ >= ‖A‖₂. For a program
    without a certificate a bound is also derived from its constraints, at the caller's multipliers and as
    ``solve`` does.

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
    options = (("tolerance", tolerance), ("time_limit", time_limit))
    overrides: dict[str, Any] = {name: value for name, value in options if value is not None}
    Options(**overrides)  # a bad option is refused before any work
    if point is not None and not (strategy is covariance is basis is norm is None):
        raise OptionError("a point and a strategy are given, expected one of them")
    given = None if point is not None else open_strategy(strategy, workload, norm)
    given_norm = norm_of(given)
    if norm is not None and given_norm not in (None, norm):
        raise OptionError(
            f"the strategy has norm {given_norm}, and norm {norm} was requested", hint="pass its matrix alone"
        )
    norm = given_norm if norm is None else norm
    parsed = as_program(program_for(workload, norm)[0] if program is None else program)
    until = TOLERANCE if tolerance is None else tolerance
    passed = dict(multipliers or {})
    if point is None:
        check_adopts(parsed, norm)
        named = named_givens(givens, parsed, workload)
        # In factors where strategy and multipliers are products, and the cells many.
        is_product = (
            workload.n > FEW_CELLS
            and isinstance(given, ProductStrategy)
            and given.sizes == workload.domain.shape
            and all(isinstance(value, Kronecker) for value in passed.values())
        )
        if is_product and (plan := plan_in_factors(check(parsed), workload, named)) is not None:
            each = partial(
                certify,
                program=parsed,
                norm=norm,
                givens=givens,
                solve=solve,
                solver=solver,
                tolerance=until / len(plan.parts) if solve else None,
                time_limit=time_limit,
                progress=progress,
            )
            return with_total(
                replace(certified_product(plan, given, passed, each), options=overrides), started
            )
        given_strategy = checked_strategy(workload, given, covariance, basis, parsed.meaning.norm)
        instance = bind(parsed, workload, {**row_parameter(parsed, given_strategy), **named})
        given_strategy = replace(given_strategy, neighbours=instance.neighbours)
        is_scaled = parsed.meaning.kind == "strategy"
        values = adopt(instance, normalise(given_strategy) if is_scaled else given_strategy)
        offered = _Offered(instance, values, passed, given_strategy)
    else:
        instance = bind(parsed, workload, named_givens(givens, parsed, workload))
        values, along = given_point(instance, point)
        offered = _Offered(instance, values, {**along, **passed})
    judge = _judge_of(instance)
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
    task_for = (
        (lambda judge: Task(SolvePlan(judge), as_solver(solver), overrides, progress)) if solve else None
    )
    best, repaired = offered.points()
    strategy = offered.strategy or meant_by(instance, best, offered.multipliers)
    evaluated = time.monotonic()
    proof = _Proof(judge)
    with deadline(time_limit):
        proof.seek(instance, best, strategy, offered.multipliers, task_for, until)
    bounded = time.monotonic()
    is_direct = judge is instance
    kept = proof.multipliers if is_direct else {}
    measured, remarks = offered.measured(best, repaired, kept)
    if proof.bound is not None:
        remarks.append(f"the bound's multipliers come from {proof.origin}")
    ending = Ending(
        objective=best.objective,
        proved=best.proved,
        unrepaired=offered.values,
        bound=proof.bound if is_direct else None,
        stop=Stop.CERTIFIED,
        solver=("given", ""),
        word=Stop.CERTIFIED,
        violation=repaired.before,
        options=overrides,
        compile=evaluated - started,
        solve=bounded - evaluated,
        multipliers=kept,
        warnings=(*remarks, *proof.remarks),
        measured=measured,
        starts=() if is_direct else tuple(proof.multipliers.values()),
    )
    if is_direct and instance.program.certificate is None and offered.multipliers:
        ending = with_given(instance, best, ending, offered.multipliers, is_last=task_for is None)
    read = ending.derived
    gap = gap_of(instance.checked, ending.objective, None if read is None else read.bound)
    if task_for is not None and not (gap is not None and gap <= until):
        ending = with_derived_bound(task_for(instance), best, ending, started)
        ending = replace(ending, derived=better_of(instance, read, ending.derived))
    solution = assemble_solution(instance, best.env, ending)
    solution = replace(solution, warnings=(*objective_remarks(instance, solution), *solution.warnings))
    return with_total(solution, started)


@dataclass(frozen=True)
class MultiplierBound:
    """A bound at ``multipliers``, which are in their cones, and its grade; None where they prove nothing.

    why : in words, why there is none, or none better, or why it is an estimate.
    """

    bound: float | None
    grade: Grade | None
    multipliers: Mapping[str, Array]
    why: str = ""


NO_BETTER = {
    None: "the certificate has no finite value at these multipliers",
    0.0: "the certificate proves nothing better than 0 at these multipliers",
}


@within_range()
def bound_of(
    program: str | Path | Program,
    workload: "WorkloadLike | None" = None,
    multipliers: Mapping[str, Any] | None = None,
    *,
    point: Any = None,
    givens: Mapping[str, Any] | None = None,
) -> MultiplierBound:
    """The bound that exactly these multipliers prove, rounded to its safe side, wherever they come from.

    It is the program's certificate, or that of ``l2_strategy`` where it says ``bound l2_strategy``. For a
    convex program without one it is derived from objective and constraints: multipliers of inequalities are
    >= 0 or psd, those of equations ``a == b`` multiply ``a - b``, which is added to what is minimized (minus
    a maximized objective).
    Curved functions are replaced by their tangents at the point, and variables range over what the
    constraints allow for points not much worse than it. The bound is never worse than these ranges alone
    prove. Negative multipliers where a sign is declared count as 0, and matrices are projected to psd ones.

    Parameters
    ----------
    program, workload, givens : as for ``solve``.
    multipliers : all of them, by the names of the certificate's constraints, as in ``Solution.multipliers``,
        or by the certificate's own names; without a certificate by the names of the constraints. Those of
        constraints that the certificate does not use are left out.
    point : for a program without a certificate: as for ``certify``; its rows are multipliers.

    Returns
    -------
    The bound and its grade, as a solve grades it: the certificate of a program of your own is a claim, and is
    not tried on points here.

    Raises
    ------
    OptionError : a multiplier that is missing, unknown, given twice, of another shape or not finite; a point
        that is missing, is not read, or is not feasible after its repair.
    UnsuitableError : the program has no certificate, and is not convex.
    """
    workload, parsed, passed = workload_for(workload, program), as_program(program), dict(multipliers or {})
    instance = bind(parsed, workload, named_givens(givens, parsed, workload))
    if (judge := _judge_of(instance)).program.certificate is not None:
        if point is not None:
            raise OptionError(f"the point is not read: '{parsed.name}' is bounded by a certificate")
        values = _named(judge, passed, is_all=True)
        bound, used = certified_bound(judge, values), named_multipliers(judge, values)
        kept = {m.key: used[m.declaration.name] for m in judge.program.multipliers}
        if bound is not None and judge is not instance:
            bound = for_neighbours(bound, kept["sensitivity"], instance.neighbours)
        return MultiplierBound(bound, grade_of(instance, bound), kept, NO_BETTER.get(bound, ""))
    if parsed.problem_class != "convex":
        raise UnsuitableError(
            f"'{parsed.name}' has no certificate, so multipliers prove nothing",
            hint=parsed.bound and f"it is bounded by '{parsed.bound}': ask for the bound of that program",
        )
    if point is None:
        raise OptionError(
            f"'{parsed.name}' has no certificate, so its bound is derived from its constraints near a "
            "point, and no point is given",
            hint="pass point=…: a feasible one, such as the variables of a solution",
        )
    chosen, along = given_point(instance, point)
    best, _ = _Offered(instance, chosen, {}).points()
    read = line_bounds(instance, best.variables, level_above(instance, best.objective))
    values = _of_lines(instance, {**along, **passed}, read.nodes, is_all=True)
    derived = read.derived(values, {}, is_exact=True)
    return MultiplierBound(derived.bound, derived.grade, into_cones(read.nodes, values), derived.why)


def _judge_of(instance: Instance) -> Instance:
    """The instance whose certificate bounds a program."""
    is_direct = instance.program.certificate is not None or instance.program.bound != "l2_strategy"
    return instance if is_direct else bind(shipped("l2_strategy"), instance.workload)


@dataclass(frozen=True)
class _Offered:
    """A point, as values of the program's variables, or a strategy that became one; ``multipliers`` with it.

    The point as given is certified where it is feasible, if it is the caller's, or if the program means a
    strategy: else its repair sets the scale of the noise.
    """

    instance: Instance
    values: Mapping[str, Array]
    multipliers: Mapping[str, Any]
    strategy: Strategy | None = None

    def points(self) -> tuple[Candidate, Candidate]:
        """The point that is certified, and the repaired one; OptionError where neither is feasible."""
        instance, is_point = self.instance, self.strategy is None
        word = "point" if is_point else "strategy"
        try:
            best = repaired = candidate(instance, self.values)
            if is_point and FEASIBLE < best.after <= SLIGHT and may_move(instance):
                best = repaired = moved_inside(instance, best, Clock(np.inf), TOLERANCE)
            if is_point or instance.program.meaning.kind == "strategy":
                as_given = scored(instance, self.values)
                best = as_given if as_given.is_feasible else best
        except np.linalg.LinAlgError:
            raise OptionError(
                f"the {word} gives no point of '{instance.program.name}' that can be repaired",
                hint="is it very badly scaled?",
            ) from None
        check_feasible(instance, best, word)
        return best, repaired

    def measured(
        self, best: Candidate, repaired: Candidate, multipliers: Mapping[str, Any]
    ) -> tuple[Strategy | None, list[str]]:
        """The strategy as given, scaled, where the point means it; and in words what its repair changed."""
        instance, scaled = self.instance, None
        if self.strategy is not None:
            scaled = scaled_as_given(self.strategy, instance, best.env, multipliers)
            remarks = changes(instance, self.strategy, self.values, best, scaled and scaled[1])
        else:
            remarks = [] if best is not repaired else missed_as_given(instance, self.values)
            if meant_by(instance, best, multipliers) is None:
                raise OptionError(
                    f"the strategy of '{instance.program.name}' is made from multipliers, and the point "
                    "has none",
                    hint=f"add them to the point, by their names or as '{ROWS}'",
                )
        sense = instance.program.sense
        much = SAME * abs(best.objective) * (1.0 if sense == "minimize" else -1.0)
        if improves(repaired.objective, best.objective - much, sense):
            remarks.append(
                f"completed by the program's repair its objective would be {repaired.objective:.10g}"
            )
        return scaled and scaled[0], remarks


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
        task_for: Callable[[Instance], Task] | None,
        tolerance: float,
    ) -> None:
        """Take the best bound at multipliers of the point, the caller, the strategy and a solve.

        task_for : makes the task of the solve; None for no solve.
        """
        judge = self.judge
        if judge.program.certificate is None:
            if passed and judge.program.problem_class != "convex":
                raise OptionError(f"'{judge.program.name}' has no certificate, so multipliers prove nothing")
            return
        starts = starts_from(judge, point.env) if judge is instance else {}
        for offered, origin in _offers(judge, starts, passed, strategy):
            self.offer(offered, origin)
        gap = gap_of(instance.checked, point.objective, self.bound)
        if (
            task_for is not None
            and judge.program.problem_class == "convex"
            and not (gap is not None and gap <= tolerance)
        ):
            self.solve(task_for(judge))

    def offer(self, multipliers: Mapping[str, Any], origin: str) -> None:
        """Take the bound at these multipliers if it is better than the best so far."""
        bound = certified_bound(self.judge, multipliers)
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
            if not is_free(task.solver):
                raise
            self.remarks.append(f"'{name}' was not solved for better multipliers: {error.message}")
        else:
            by = f"{solved.solver} {solved.solver_version}, {solved.status.stop}"
            self.offer(solved.multipliers, f"a solve of '{name}' ({by})")


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
            "steps that start at the strategy; the bound still holds for every strategy",
        )


def _named(judge: Instance, passed: Mapping[str, Any], *, is_all: bool = False) -> dict[str, Array]:
    """The caller's multipliers of the certificate by the names under which a solution keeps them."""
    taken = {
        m.key if is_key else m.declaration.name: (m.key, m.declaration.shape(judge.sizes()))
        for is_key in (False, True)
        for m in judge.program.multipliers
    }
    return _read(judge, passed, taken, is_all=is_all)


def _of_lines(
    instance: Instance, passed: Mapping[str, Any], nodes: Nodes, *, is_all: bool = False
) -> dict[str, Array]:
    """The caller's multipliers of lines, by their names; those of a line for two indices as a matrix, too."""
    arrays = nodes.listed({n: numbers(f"the multiplier '{n}'", value) for n, value in passed.items()})
    taken = {name: (name, shape) for name, shape in nodes.shapes_of_multipliers().items()}
    return _read(instance, arrays, taken, is_all=is_all)


def _read(
    judge: Instance,
    passed: Mapping[str, Any],
    taken: Mapping[str, tuple[str, tuple[int, ...]]],
    *,
    is_all: bool,
) -> dict[str, Array]:
    """The caller's multipliers, as numbers, by the keys of ``taken``, which has key and shape by name.

    Those of other lines, which a solution has too, are left out. is_all : none may be missing.
    """
    checked: dict[str, Array] = {}
    others = {c.name for c in judge.program.constraints} - taken.keys()
    for name in (name for name in passed if name not in others):
        if name not in taken:
            raise OptionError(
                f"the bound of '{judge.program.name}' has no multiplier '{name}'", hint=suggest(name, taken)
            )
        (key, shape), array = taken[name], numbers(f"the multiplier '{name}'", passed[name])
        if key in checked:
            raise OptionError(f"the multiplier '{key}' is given twice, also as '{name}'")
        # One cell has one number, and a matrix of one row may come as a vector.
        fits = [d for d in array.shape if d != 1] == [d for d in shape if d != 1]
        if not fits or not np.isfinite(array).all():
            raise OptionError(
                f"the multiplier '{name}' has shape {array.shape}, expected finite numbers of shape {shape}"
            )
        checked[key] = array.reshape(shape)
    every = dict.fromkeys(f"'{key}'" for key, _ in taken.values())
    if is_all and (missing := every.keys() - {f"'{key}'" for key in checked}):
        raise OptionError(
            f"the bound of '{judge.program.name}' has multipliers {', '.join(every)}; "
            f"missing: {', '.join(sorted(missing))}",
            hint="a zero leaves a constraint out",
        )
    return checked


def with_given(
    instance: Instance, point: Candidate, ending: Ending, passed: Mapping[str, Any], is_last: bool
) -> Ending:
    """The ending with the bound that the multipliers prove, and with the point's misses charged by them.

    is_last : no solve follows, so that a warning is due where they prove nothing.
    passed : by the names of constraints, for a program without a certificate; either sign for equations.

    Raises
    ------
    OptionError : multipliers of no constraint, of another shape, or that are not finite numbers.
    """
    try:
        read = line_bounds(instance, point.variables, level_above(instance, point.objective))
    except Error as error:
        return _unproved(ending, error.message) if is_last else ending
    multipliers = _of_lines(instance, passed, read.nodes)
    equations = {c.name for c in instance.program.constraints if c.relation.op == "=="}
    ending = replace(
        ending, objective=charged(instance, point, multipliers).objective, multipliers=multipliers
    )
    best = better_of(
        instance,
        read.derived(multipliers, {}),
        read.derived({name: -y if name in equations else y for name, y in multipliers.items()}, {}),
    )
    if best is None or best.bound is None:
        return _unproved(ending, best.why) if is_last and best is not None else ending
    return replace(ending, derived=best)


def better_of(instance: Instance, *bounds: Derived | None) -> Derived | None:
    """The best of the bounds that there are; where none is proved, the first that says why."""
    sign = 1.0 if instance.program.sense == "minimize" else -1.0
    return max(
        (one for one in bounds if one is not None),
        key=lambda one: -np.inf if one.bound is None else sign * one.bound,
        default=None,
    )


def _unproved(ending: Ending, why: str) -> Ending:
    """The ending with a warning that the multipliers given prove nothing, and why."""
    warning = (
        f"the given multipliers prove no bound from the constraints: {why}; without solve=False a solve "
        "may prove one"
    )
    return replace(ending, warnings=(*ending.warnings, warning))


COLUMNS, ROWS = "columns", "rows"
POINT_HINT = (
    f"expected the variables by name, or '{COLUMNS}' (x) and '{ROWS}' (y, optional) of the exported problem"
)


def given_point(instance: Instance, point: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    """The chosen variables, and multipliers where the point has some, as numbers of the right shapes.

    ``point`` : a mapping of names, a vector of columns, or a path (.json or .npz of names, .npy of columns).

    Raises
    ------
    OptionError : a file that cannot be read, an unknown or missing name, no numbers, another shape, or a
        matrix that is declared symmetric or psd and is not symmetric.
    """
    given = _contents(Path(point)) if isinstance(point, str | Path) else point
    if not isinstance(given, Mapping):
        given = {COLUMNS: given}
    program, sizes = instance.program, instance.sizes()
    chosen = {d.name: d.shape(sizes) for d in program.choose}
    multipliers = _keys(instance) | {m.declaration.name for m in program.multipliers}
    if COLUMNS in given and COLUMNS not in chosen:
        return _from_columns(instance, given)
    if unknown := [name for name in given if name not in chosen and name not in multipliers]:
        raise OptionError(
            f"'{program.name}' has no variable '{unknown[0]}'",
            hint=suggest(str(unknown[0]), [*chosen, *multipliers, COLUMNS]),
        )
    if missing := [name for name in chosen if name not in given]:
        raise OptionError(f"the point has no '{missing[0]}', which '{program.name}' chooses", hint=POINT_HINT)
    values = {name: _numbers(f"'{name}'", given[name]) for name in chosen}
    for name, value in values.items():
        if value.shape != chosen[name]:
            raise OptionError(f"'{name}' of the point has shape {value.shape}, expected {chosen[name]}")
    if off := asymmetric(instance, values):
        raise OptionError(f"{off}, in the point", hint="give a symmetric one, (X + X.T) / 2, say")
    return values, {name: given[name] for name in given if name not in chosen}


def _from_columns(instance: Instance, given: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Variables and multipliers from columns, and rows, of an exported problem; errors as ``given_point``."""
    if others := [name for name in given if name not in (COLUMNS, ROWS)]:
        raise OptionError(f"the point has '{others[0]}' in addition to '{COLUMNS}'", hint=POINT_HINT)
    x = _numbers(f"'{COLUMNS}'", given[COLUMNS]).reshape(-1)
    y = _numbers(f"'{ROWS}'", given[ROWS]).reshape(-1) if ROWS in given else None
    variables, multipliers = led_from_columns(instance, x, y)
    for d in instance.program.choose:  # those that no line has
        variables.setdefault(d.name, np.zeros(d.shape(instance.sizes())))
    useful = _keys(instance)
    return variables, {name: value for name, value in multipliers.items() if name in useful}


def _keys(instance: Instance) -> set[str]:
    """The names of useful multipliers: those of the certificate; without one those of all lines."""
    program = instance.program
    if program.certificate is None and not program.bound and program.problem_class == "convex":
        return {c.name for c in program.constraints}
    return {m.key for m in program.multipliers}


def _contents(path: Path) -> Any:
    """The contents of a file; a vector of columns for a .npy or .csv file."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".npz"):
        return read_array(path, "the point").reshape(-1)
    if not path.is_file():
        raise OptionError(f"there is no file '{path}' for the point")
    try:
        if suffix == ".npz":
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        point = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        kind = "an archive of NumPy arrays" if suffix == ".npz" else "JSON"
        reason = str(error).split("\n", maxsplit=1)[0]
        raise OptionError(f"the file '{path}' for the point is not {kind}: {reason}") from None
    if not isinstance(point, dict):
        raise OptionError(f"the file '{path}' for the point holds no object of names", hint=POINT_HINT)
    return point


def _numbers(what: str, value: Any) -> Array:
    """An array of finite numbers; ``what`` names it in the error about anything else."""
    array = numbers(f"{what} of the point", value)
    if not np.isfinite(array).all():
        raise OptionError(f"{what} of the point is not an array of finite numbers", hint=POINT_HINT)
    return array


def meant_by(instance: Instance, point: Candidate, multipliers: Mapping[str, Any]) -> Strategy | None:
    """The strategy that the point means; None where multipliers that it is made of are missing."""
    names = {m.declaration.name for m in instance.program.multipliers} & names_in(
        instance.program.meaning.expr
    )
    has_all = names <= named_multipliers(instance, multipliers).keys()
    return as_dense(meaning(instance, point.env, multipliers)[0]) if has_all else None


def missed_as_given(instance: Instance, values: Mapping[str, Array]) -> list[str]:
    """In words, the worst miss of a point as given; nothing where it is feasible."""
    if (worst := worst_line(instance, {**instance.env, **values})) is None:
        return []
    off = rounded(worst.amount, 2, up=True, layout="e")
    return [f"as given the point {worst.missed(instance, off)}: it was repaired"]


def certified_product(
    plan: SolvePlan,
    given: Any,
    multipliers: Mapping[str, Kronecker],
    certify: Callable[..., Solution],
) -> Solution:
    """Certify each factor by ``certify``, and combine them."""
    factors = {
        name: certify(
            part.instance.workload, factor, multipliers={key: v.parts[at] for key, v in multipliers.items()}
        )
        for at, ((name, part), factor) in enumerate(zip(plan.factors.items(), given.factors, strict=True))
    }
    warnings = tuple(f"factor '{name}': {text}" for name, s in factors.items() for text in s.warnings)
    return replace(
        combine_factors(plan.instance.workload.hash, factors), reductions=(plan.split,), warnings=warnings
    )
