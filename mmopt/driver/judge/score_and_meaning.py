"""The score of a point (repair, feasibility, objective, bound), and its meaning (the strategy).

A point is scored against the program file: repair, feasibility, objective up, bound down. This is the only
place where a solver's point becomes a claim, and no figure of the solver is used. The meaning of a point is
its strategy, or covariance and basis; rounding is kept out of it, and is charged to its total error.

**Claims.** An author's certificate is tested: feasible points are sought whose objective is beyond its bound.
A shipped certificate is proved in its file. Any other is its author's claim, and is tested: feasible points
are drawn and searched without the program's ``repair``, which may pull every point to where the claim holds.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from mmopt.compiler import Instance, is_shipped
from mmopt.driver.judge.charge_rounded_queries import balls_for_figures, charged_bound, charged_objective
from mmopt.driver.judge.violations_and_nearby_points import (
    SYMMETRIC,
    as_declared,
    nearby_points,
    undefined_part,
    violations,
)
from mmopt.errors import ContradictionError, Error
from mmopt.language import (
    Apply,
    Checked,
    Declaration,
    Expr,
    Memo,
    Name,
    charge,
    cleared,
    evaluate,
    evaluate_ball,
    excess_with_errors,
    names_in,
    split_meaning,
    splits,
)
from mmopt.numerics import (
    EIGENVALUE_FLOOR,
    GROW,
    GUESS,
    ROWS_AT_A_TIME,
    Array,
    Ball,
    Level,
    arrays_of,
    as_value,
    dots,
    each_array,
    exact,
    frozen,
    is_finite,
    is_semidefinite,
    is_structured,
    matmul,
    plain,
    psd_floor,
    pseudo_inverse,
    svd,
    symmetric_part,
)
from mmopt.results import Value, gap_between
from mmopt.strategies import AnyStrategy, ComponentStrategy, Strategy, normalise
from mmopt.workloads import Workload

# A repaired point may miss a line by this part of its terms: the rounding of their evaluation. The miss is
# charged to the objective.
FEASIBLE = 1e-10
# Up to here a miss may still be rounding, and another repair may help; so many are tried.
SLIGHT = 1e-6
MOST_REPAIRS = 8
ROUNDING_MOVES = 1e-9  # part of an objective that it may cost to keep lines that were missed by rounding
# An objective may be beyond its bound by this part, by rounding alone: feasible points may miss a line by
# ``FEASIBLE`` of its terms, which can move the optimum by a few times that. The misses of a point count so
# many times more.
BOUND_ROUNDING, CHARGE_OF_MISSED = 1e-9, 1e3
# Added to an objective without an error bound, an estimate.
ESTIMATE_CHARGE = 1e-10


@dataclass(frozen=True)
class Candidate:
    """A repaired point with its objective and its largest violation before and after.

    The objective is rounded to its worse side: up when it is minimized, down when it is maximized.
    """

    variables: Mapping[str, Any]
    env: Mapping[str, Any]
    objective: float
    before: float
    after: float
    proved: bool = False  # whether the objective is a value with an error bound, not an estimate
    is_near: bool = False  # whether it was moved to keep the lines, after its declarations
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def is_feasible(self) -> bool:
        """Whether every line is kept up to ``FEASIBLE``, and the objective is finite."""
        return self.after <= FEASIBLE and bool(np.isfinite(self.objective))


def point_as_declared(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen variables as declared: symmetric, psd, of a sign; zero where a line says so."""
    variables = {d.name: as_value(values[d.name]) for d in instance.program.choose}
    variables = cleared(instance.program.constraints, variables, instance.env)
    return {d.name: as_declared(d, variables[d.name], instance.program) for d in instance.program.choose}


def may_move(instance: Instance) -> bool:
    """Whether points are moved: those of users' convex programs; shipped programs have repairs for that."""
    return instance.program.problem_class == "convex" and not (
        is_shipped(instance.checked) or splits(instance.env)
    )


def candidate(instance: Instance, values: Mapping[str, Any]) -> Candidate:
    """Repair a point by its declarations and the program's ``repair``, then evaluate the program.

    Where the repaired point misses a constraint by no more than the rounding of an ill-conditioned matrix,
    the repair is done again: it then rounds differently. Where lines of a user's program are missed by
    little, as by a solver's tolerance, a nearby point that keeps them is taken; where they are missed by
    rounding, one that provably keeps them.
    """
    memo = Memo()
    before = _worst_violation(instance, {**instance.env, **plain(values)}, memo)
    repaired = _repaired(instance, point_as_declared(instance, values), before, memo)
    for _ in range(MOST_REPAIRS):
        if not (instance.program.repair and FEASIBLE < repaired.after <= SLIGHT):
            break
        repaired = _repaired(instance, repaired.variables, before, Memo())
    is_missed = not repaired.is_feasible or (repaired.after > 0.0 and not repaired.proved)
    if not is_missed or not may_move(instance):
        return repaired
    moves = (point_as_declared(instance, moved) for moved in nearby_points(instance, repaired.variables))
    with np.errstate(over="ignore", invalid="ignore"):
        tried = (_repaired(instance, moved, before, Memo()) for moved in moves)
        better = (replace(again, is_near=True) for again in tried if _is_better(again, repaired))
        return next(better, repaired)


def _is_better(again: Candidate, before: Candidate) -> bool:
    """Feasible where the other point is not; else proved where it misses lines by rounding, at no cost."""
    if not before.is_feasible:
        return again.is_feasible
    return (
        again.is_feasible
        and again.proved
        and abs(again.objective - before.objective) <= ROUNDING_MOVES * max(1.0, abs(before.objective))
    )


def _repaired(instance: Instance, variables: Mapping[str, Any], before: float, memo: Memo) -> Candidate:
    """The point after the program's ``repair``, scored; ``before``: the largest violation before that."""
    program = instance.program
    env: dict[str, Any] = {**instance.env, **balls_for_figures(instance), **plain(variables)}
    # The repair sets some variables of the objective to the least value that the lines allow, such as a
    # largest cost. These are rounded up: then no line is missed by the rounding of the repair.
    limits = names_in(program.objective) if program.sense == "minimize" else set()
    limits = {a.name for a in program.repair if a.name not in names_in(a.expr)} & limits
    with np.errstate(all="ignore"):
        for assignment in program.repair:
            value = _rounded_up(assignment.expr, env) if assignment.name in limits else None
            env[assignment.name] = evaluate(assignment.expr, env, memo) if value is None else value
    return scored(instance, {d.name: as_value(env[d.name]) for d in program.choose}, before, memo)


def _most_missed(instance: Instance, env: Mapping[str, Any]) -> float:
    """The most by which lines may be missed, relatively, with errors of evaluation; infinity: unknown.

    The cost of a miss is known where scaling the point mends it: in shipped programs that choose noise, or
    whose repair divides.
    """
    program = instance.program
    if not all(_keeps_declaration(d, env[d.name]) for d in program.choose):
        return float("inf")
    missed = 0.0
    for c in program.constraints:
        missed += excess_with_errors(c, env)  # each line is mended after the others
        if missed == float("inf"):
            break
    divides = any(isinstance(a.expr, Apply) and a.expr.atom == "div" for a in program.repair)
    is_mended = is_shipped(instance.checked) and (program.meaning.kind != "none" or divides)
    return missed if missed == 0.0 or is_mended else float("inf")


def _keeps_declaration(d: Declaration, value: Any) -> bool:
    """Whether a variable is proved to keep its declaration."""
    if d.kind == "psd":
        return all(is_semidefinite(exact(part)) for part in arrays_of(value))
    return not d.sign or all(bool(np.all(a > 0 if d.sign == ">" else a >= 0)) for a in arrays_of(value))


def _rounded_up(expr: Expr, env: Mapping[str, Any]) -> Any:
    """An upper bound on a number, a vector, or a symmetric matrix in its order; None where unknown."""
    value: Any = evaluate_ball(expr, env)
    level = value if isinstance(value, Level) else None
    ball = value if level is None else level.values
    if not isinstance(ball, Ball) or not np.isfinite(ball.rad).all():
        return None
    if ball.mid.ndim == 2:
        lost = (ball.rad + ball.rad.T + np.abs(ball.mid - ball.mid.T)).sum(axis=1) * GROW
        return (ball.mid + ball.mid.T) / 2 + np.diag(lost)
    return ball.upper if level is None else Level(level.space, ball.upper)


def scored(
    instance: Instance, variables: Mapping[str, Any], before: float = 0.0, memo: Memo | None = None
) -> Candidate:
    """Evaluate the program at a point as it is, nothing repaired; ``memo``: of the evaluations of the repair.

    All lines take the symmetric part of a matrix declared symmetric or psd: see ``asymmetric``.
    """
    program, memo = instance.program, memo or Memo()
    matrices = [d.name for d in program.choose if d.kind in SYMMETRIC]
    variables = {**variables, **{name: each_array(variables[name], symmetric_part) for name in matrices}}
    env: dict[str, Any] = {**instance.env, **plain(variables)}
    with np.errstate(all="ignore"):
        finite = all(is_finite(v) for v in variables.values())
        after = _worst_violation(instance, env, memo) if finite else np.inf
        minimized = program.sense == "minimize"
        objective, proved = np.inf if minimized else -np.inf, False
        if finite and not undefined_part(instance, env):
            e = program.objective
            loss, proved = upper_value(e if minimized else Apply("neg", (e,), e.span), env)
            loss, proved = charged_objective(instance, env, loss, proved)
            missed = _most_missed(instance, env)
            proved = proved and bool(np.isfinite(missed))
            # A point scaled to keep its lines costs more by the same part; where weights are squared, twice
            # that. The logarithm of a determinant moves by its size.
            size = max(instance.sizes().values(), default=0) if instance.checked.is_logarithmic else 0.0
            loss += 2 * (max(after, missed) if np.isfinite(missed) else after) * (abs(loss) + size)
            objective = loss if minimized else -loss
    return Candidate(variables, env, objective, before, after, proved, memo=memo)


def _worst_violation(instance: Instance, env: Mapping[str, Any], memo: Memo) -> float:
    """The largest violation at a point; infinite where a matrix has no eigenvalues."""
    try:
        return max([0.0, *(v.amount for v in violations(instance, env, memo))])
    except np.linalg.LinAlgError:
        return float("inf")


def improves(new: float, old: float, sense: str) -> bool:
    """Whether the new objective is better than the old; for bounds, whether the old is the better one."""
    return new < old if sense == "minimize" else new > old


def gap_of(checked: Checked, objective: float, bound: float | None) -> float | None:
    """The gap of the program: absolute where its objective is a logarithm; None without a bound."""
    return gap_between(objective, bound, checked.program.sense, checked.is_logarithmic)


def refuted(objective: float, bound: float | None, sense: str, missed: float = 0.0) -> bool:
    """Whether a feasible point's objective is beyond the bound by more than rounding."""
    if bound is None:
        return False
    over = bound - objective if sense == "minimize" else objective - bound
    return not over <= (BOUND_ROUNDING + CHARGE_OF_MISSED * missed) * max(abs(objective), abs(bound))


def charged(
    instance: Instance, point: Candidate, multipliers: Mapping[str, Any], *, rounded: bool = False
) -> Candidate:
    """The candidate, its objective charged for its last violations.

    A point that misses a constraint by v is feasible for one that is v wider, whose optimum is, by weak
    duality, within y v of the program's optimum, y the multiplier. Without this an objective could lie below
    its bound, by rounding. ``rounded``: misses that the rounding of an evaluation may hide count, too; else
    a constant objective stays as it is.
    """
    is_constant = instance.checked.objective is not None and instance.checked.objective.is_constant
    if point.after > FEASIBLE or not (rounded or (point.after > 0 and not is_constant)):
        return point
    worth, chosen = 0.0, frozenset(point.variables)
    for c in instance.program.constraints:
        if c.name in multipliers:
            worth += charge(c, point.env, chosen, multipliers[c.name], point.memo, rounded=rounded)
    return replace(
        point, objective=point.objective + (worth if instance.program.sense == "minimize" else -worth)
    )


def upper_value(expr: Expr, env: Mapping[str, Any]) -> tuple[float, bool]:
    """The value rounded up, and whether by its error bound; by ``ESTIMATE_CHARGE`` where it has none."""
    ball = evaluate_ball(expr, env)
    if np.isfinite(upper := float(ball.upper if ball.rad else ball.mid)):
        return upper, True
    value = float(evaluate(expr, env))
    return value + ESTIMATE_CHARGE * abs(value), False


def starts_from(instance: Instance, env: Mapping[str, Any]) -> dict[str, Array]:
    """Multipliers that the certificate takes from the point, by their names."""
    with np.errstate(all="ignore"):
        return {
            m.key: as_value(evaluate(m.start, env))
            for m in instance.program.multipliers
            if m.start is not None
        }


def bound_of(instance: Instance, multipliers: Mapping[str, Any], polar: Any = None) -> float | None:
    """The certificate at the multipliers (negative entries clipped where a sign is declared).

    It is a lower bound, rounded down, where the program minimizes, and an upper bound, rounded up, where it
    maximizes. None without a certificate, and where the multipliers prove nothing (missing, not finite),
    unless the objective is nonnegative by its form: then 0. ``polar``: of a solver's ``Point``, a polar
    factor that makes the evaluation shorter.
    """
    program = instance.program
    if program.certificate is None:
        return None
    minimized, objective = program.sense == "minimize", instance.checked.objective
    nothing = 0.0 if minimized and objective is not None and objective.sign > 0 else None
    if len(named := named_multipliers(instance, multipliers)) < len(program.multipliers):
        return nothing
    env = {**instance.env, **balls_for_figures(instance), **named}
    if polar is not None:
        env[GUESS] = polar
    with np.errstate(all="ignore"):
        ball = evaluate_ball(program.certificate.expr, env)
    bound = float(ball.lower if minimized else ball.upper)
    if not np.isfinite(bound):
        return nothing
    bound = charged_bound(instance, bound)
    return bound if nothing is None else max(bound, nothing)


def named_multipliers(instance: Instance, multipliers: Mapping[str, Any]) -> dict[str, Any]:
    """The multipliers by the certificate's names, as declared; without missing or infinite ones."""
    sizes = instance.sizes()
    named: dict[str, Any] = {}
    for m in instance.program.multipliers:
        if m.key not in multipliers:
            continue
        shape, value = m.declaration.shape(sizes), as_value(multipliers[m.key])
        if not is_structured(value) and value.size == int(np.prod(shape)):
            # One cell: a solver's multiplier is then a number or a 1 x 1 matrix.
            value = value.reshape(shape)
        if value.shape == shape and is_finite(value):
            named[m.declaration.name] = each_array(value, partial(multiplier_as_declared, m.declaration))
    return plain(named)


def multiplier_as_declared(d: Declaration, value: Any) -> Any:
    """A multiplier as declared: signs clipped, psd matrices projected."""
    value = (value + value.T) / 2 if d.kind in ("psd", "symmetric") else value
    if d.kind == "psd":
        values, vectors = np.linalg.eigh(value)
        value = (vectors * np.clip(values, 0.0, None)) @ vectors.T
    return np.maximum(value, 0.0) if d.sign else value


# Added to total error, relatively, for the rounding of its evaluation, which grows with the condition of the
# strategy: more than its loss against rational arithmetic (tests/driver/judge/test_point_meaning.py).
ROUNDING_OF_ERROR = 1e-10
ROUNDED_DIRECTION = 1e-12  # singular values that are smaller than the largest by this factor may be rounding
SENSITIVITY_NEAR_1 = 1e-6  # a strategy whose sensitivity is this near to 1 is scaled to it without a word
BEYOND = 100.0  # times the rounding by a condition: variances may be so far above targets that are met
MOST_BEYOND = 0.1  # relatively
LOST_PART = 1e-15  # eigenvalues of a covariance that are below this part of its trace
PER_CONDITION = 8 * float(np.finfo(float).eps)  # rounding of total error, relatively, over the condition


def meaning(
    instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Any] | None = None
) -> tuple[AnyStrategy, Value | None, Value | None]:
    """The strategy that a point means, and covariance and basis where the program has them.

    ``multipliers`` are needed where the strategy is made of them (a dual program).
    """
    m = instance.program.meaning
    strategy, covariance, basis = _meant(instance, {**env, **named_multipliers(instance, multipliers or {})})
    return (strategy, covariance, basis) if m.kind == "covariance" else (normalise(strategy), None, None)


def _meant(instance: Instance, env: Mapping[str, Any]) -> tuple[Any, Value | None, Value | None]:
    """The meaning of a point at the scale of the program: strategy, covariance and basis."""
    m = instance.program.meaning
    if m.kind == "none":  # each cell by itself, never shown: every solution has a strategy
        return Strategy(frozen(np.eye(instance.workload.n)), 2), None, None
    value = evaluate(m.expr, env)
    if splits(env):
        split, covariance, basis = split_meaning(m, value, env)
        if not split.is_listed:
            from mmopt.strategies.component_strategies import strategy_on  # off the usual way

            return strategy_on(split), covariance, basis
        return ComponentStrategy(split, m.norm), covariance, basis
    matrix = np.asarray(value, dtype=float)
    if m.kind == "strategy":
        # The result of an evaluation is never written to: it is not copied.
        return Strategy(frozen(matrix), m.norm, instance.neighbours), None, None
    rows = np.asarray(env[m.basis], dtype=float)
    # Eigenvalues that are lost in rounding are lifted to it; the cost shows in the strategy's figures.
    floored = psd_floor(matrix, LOST_PART / EIGENVALUE_FLOOR * float(np.trace(matrix)))
    noisy = replace(Strategy.from_covariance(floored, rows), neighbours=instance.neighbours)
    return within_targets(noisy, instance.workload), symmetric_part(matrix), rows


def within_targets(strategy: Strategy, workload: Workload) -> Strategy:
    """The strategy with less noise where rounding may have put variances above their targets.

    Its privacy cost, the square of its sensitivity, is above that of the covariance by the same factor. An
    excess of more than ``reach`` is not removed: then targets are not proved to hold.
    """
    if not workload.has_targets:
        return strategy
    worst, off = (
        float((strategy.variances(workload) / workload.targets).max()),
        rounding_of_error(strategy, workload),
    )
    lost = PER_CONDITION * strategy.largest_condition**2
    reach = max(SLIGHT, min(BEYOND * lost, MOST_BEYOND))
    if not 1.0 - SLIGHT < worst < 1.0 + reach:
        return strategy
    if lost > off:
        worst = max(
            worst, min(float((_variances_at_most(strategy, workload) / workload.targets).max()), 1.0 + reach)
        )
    return (
        strategy
        if worst <= 1.0 - off
        else replace(strategy, matrix=frozen(strategy.matrix * np.sqrt(worst * (1.0 + off))))
    )


def _variances_at_most(strategy: Strategy, workload: Workload) -> Array:
    """Upper bounds (m,) on the variances of all queries, the rounding of their evaluation included."""
    inverse, starts = pseudo_inverse(exact(strategy.matrix)), range(0, workload.m, ROWS_AT_A_TIME)
    rows = (exact(workload.queries[start : start + ROWS_AT_A_TIME]) for start in starts)
    seen = (matmul(queries, inverse) for queries in rows)
    return np.concatenate([dots(one, one, axis=1).upper for one in seen])


def own_sensitivity(
    instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Any], objective: float
) -> float | None:
    """The sensitivity of the strategy as the author's program means it, where that is not 1; else None.

    It is to the neighbours of the program. For a covariance: where its square, the privacy cost, is not the
    objective either.

    To be measured, a strategy is scaled to 1. Where that changes it, the program's lines do not bound its
    sensitivity, or not by 1, and do not hold for the measured strategy. Shipped programs are exempt.
    """
    m = instance.program.meaning
    if m.kind == "none" or is_shipped(instance.checked, meaning=True):
        return None
    sensitivity = float(_meant(instance, {**env, **named_multipliers(instance, multipliers)})[0].sensitivity)
    is_meant = abs(sensitivity - 1.0) <= SENSITIVITY_NEAR_1 or (
        m.kind == "covariance" and abs(sensitivity**2 - objective) <= 2 * SENSITIVITY_NEAR_1 * abs(objective)
    )
    return None if is_meant else sensitivity


def without_rounding(strategy: AnyStrategy, workload: Workload) -> AnyStrategy:
    """The strategy without directions that are rounding next to the others, if the queries do not need them.

    A difference that is zero but for rounding would bring its noise, divided by rounding, into the answers.
    """
    if not isinstance(strategy, Strategy) or strategy.largest_condition * ROUNDED_DIRECTION <= 1.0:
        return strategy
    values, rows = svd(strategy.matrix)
    kept_rows = rows[values > ROUNDED_DIRECTION * values[0]]
    rest = normalise(replace(strategy, matrix=frozen((strategy.matrix @ kept_rows.T) @ kept_rows)))
    return rest if rest.supports(workload) else strategy


def charged_error(strategy: AnyStrategy, workload: Workload) -> float:
    """Total error, charged for the rounding of its evaluation; infinity for an unsupported workload."""
    return strategy.total_error(workload) * (1.0 + rounding_of_error(strategy, workload))


def rounding_of_error(strategy: AnyStrategy, workload: Workload) -> float:
    """The most that the evaluation of total error may round off, relatively."""
    if PER_CONDITION * strategy.largest_condition <= ROUNDING_OF_ERROR:
        return ROUNDING_OF_ERROR
    return max(ROUNDING_OF_ERROR, PER_CONDITION * strategy.condition(workload))


# Points that are tried: WORK_OF_POINTS over the cube of the variables' side
WORK_OF_POINTS, FEWEST_POINTS, MOST_POINTS = 1e8, 12, 400
# Parts of an inner point that a point is mixed with
PARTS_OF_INNER = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.03, 0.3)
REPORT = "please report it with the command and its files"
# Factors by which variables are scaled, each the root of the one before
FIRST_FACTOR, LAST_FACTOR = 4.0, 1.0001


class RefutedError(ContradictionError):
    """A bound, and a feasible point whose objective is beyond it."""

    def __init__(
        self, instance: Instance, multipliers: Mapping[str, Any], bound: float, point: Candidate, origin: str
    ) -> None:
        """``multipliers``: of the bound; ``origin``: of the point, in words."""
        self.bound, self.multipliers, self.point = bound, multipliers, point
        program = instance.checked.written
        is_custom, spans = not is_shipped(instance.checked), dict(program.spans)
        side = "above" if program.sense == "minimize" else "below"
        super().__init__(
            f"the bound {bound:.10g} of '{program.name}' is {side} the objective {point.objective:.10g} of "
            f"{origin}, which is feasible",
            where=program.source.locate(spans["certificate" if program.certificate else "bound"])
            if is_custom
            else None,
            hint="the certificate is wrong, or a constraint is not what its proof assumes"
            if is_custom
            else REPORT,
        )


@dataclass
class SoughtPoints:
    """Feasible points of an instance, none of them repaired; ``multipliers`` charge the misses of a point."""

    instance: Instance
    multipliers: Mapping[str, Any]
    rng: np.random.Generator
    left: int  # points that may still be tried

    def points(self, starts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Candidate]]:
        """A drawn point; ``starts`` by their origin, as they are or moved inside; then points by descent."""
        inner, best, sense = None, None, self.instance.program.sense
        reserved_points = max(FEWEST_POINTS, 3 * self.left // 4)  # for points that are better than drawn ones
        while starts and inner is None and self.left > reserved_points:
            inner = best = self._judged(self._drawn(next(iter(starts.values()))))
        if inner is not None:
            yield "a point drawn at random", inner
        for origin, values in starts.items():
            for part in PARTS_OF_INNER if inner is not None else PARTS_OF_INNER[:1]:
                mixed = {
                    n: v
                    if is_structured(v) or inner is None
                    else (1.0 - part) * v + part * inner.variables[n]
                    for n, v in values.items()
                }
                if (candidate := self._judged(mixed)) is not None:
                    yield f"{origin}, moved inside" if part else origin, candidate
                    is_better = best is None or improves(candidate.objective, best.objective, sense)
                    best = candidate if is_better else best
                    break
        for candidate in () if best is None else self._descent(best):
            yield "a point sought by descent", candidate

    def _judged(self, values: Mapping[str, Any]) -> Candidate | None:
        """The point, if it is feasible, with variables set by equations that define them."""
        self.left -= 1
        with suppress(Error, np.linalg.LinAlgError):  # no value there
            candidate = charged(
                self.instance, scored(self.instance, self._set_by_equations(values)), self.multipliers
            )
            return candidate if candidate.is_feasible else None
        return None

    @np.errstate(all="ignore")
    def _set_by_equations(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The variables, each one set that a line equates to an expression of others; of two one not psd."""
        kinds, tied = {d.name: d.kind for d in self.instance.program.choose}, dict(values)
        for c in self.instance.program.constraints:
            sides = (c.relation.left, c.relation.right) if c.relation.op == "==" and c.family is None else ()
            ties = [
                (one.id, other)
                for one, other in zip(sides, sides[::-1], strict=True)
                if isinstance(one, Name) and one.id in kinds and one.id not in names_in(other)
            ]
            for name, other in sorted(ties, key=lambda tie: kinds[tie[0]] == "psd")[:1]:
                tied[name] = as_value(evaluate(other, {**self.instance.env, **plain(tied)}))
        return tied

    def _descent(self, best: Candidate) -> Iterator[Candidate]:
        """Variables scaled alone, together and against each other; entries scaled at random."""
        # Of the factor, by variable; (): entries at random.
        powers = [*filter(any, product((0.0, 1.0, -1.0), repeat=min(len(best.variables), 3))), (), ()]
        factor = FIRST_FACTOR
        while factor > LAST_FACTOR:
            improved = False
            for power in powers:
                if self.left <= 0:
                    return
                by = dict(zip(best.variables, power, strict=False))
                candidate = self._judged(
                    {n: self._scaled(v, factor, by.get(n, 0.0), not by) for n, v in best.variables.items()}
                )
                if candidate is not None:
                    yield candidate
                    if improves(candidate.objective, best.objective, self.instance.program.sense):
                        best, improved = candidate, True
            factor = factor if improved else factor**0.5

    def _scaled(self, value: Any, factor: float, power: float, alone: bool) -> Any:
        """The value times a power of the factor; ``alone``: its entries times random powers instead."""
        if not alone or is_structured(value):
            return each_array(value, lambda array: factor**power * array)
        side = factor ** (0.5 * self.rng.normal(size=np.shape(value)[:1]))
        is_square = np.ndim(value) == 2 and len(value) == len(value.T)
        return side[:, None] * value * side if is_square else (value.T * side).T  # psd stays psd

    def _drawn(self, near: Mapping[str, Any]) -> dict[str, Any]:
        """A point of the declared kinds, each variable at most a hundred times off the size of ``near``."""
        drawn = {}
        for d in self.instance.program.choose:
            value, factor = near[d.name], 10.0 ** self.rng.uniform(-2.0, 2.0)
            if not is_structured(value):
                factor *= float(np.abs(value).max(initial=0.0)) or 1.0
                value = draw_value(self.rng, d, np.shape(value))
            drawn[d.name] = self._scaled(value, factor, 1.0, alone=False)
        return drawn


def try_to_refute(
    instance: Instance, bound: float, multipliers: Mapping[str, Any], starts: Mapping[str, Mapping[str, Any]]
) -> int:
    """The number of feasible points that do not refute a bound; 0, not tested, if no drawn one is feasible.

    All others may be near the point of the author's repair.

    Raises
    ------
    RefutedError : one refutes it.
    """
    count, drawn, values = 0, False, [v for start in starts.values() for v in start.values()]
    entries = max((float(np.prod(getattr(v, "shape", ()))) for v in values), default=1.0)
    tried = int(np.clip(WORK_OF_POINTS / entries**1.5, FEWEST_POINTS + 1, MOST_POINTS))
    for origin, candidate in SoughtPoints(instance, multipliers, np.random.default_rng(0), tried).points(
        starts
    ):
        if refuted(candidate.objective, bound, instance.program.sense, candidate.after):
            raise RefutedError(instance, multipliers, bound, candidate, origin)
        count, drawn = count + 1, drawn or "drawn" in origin
    return count if drawn else 0


def draw_value(rng: np.random.Generator, d: Declaration, shape: tuple[int, ...]) -> Array:
    """A random value of a declared kind: standard normal entries, without sign where a sign is declared."""
    value = rng.normal(size=shape)
    if d.kind == "psd":
        return np.asarray(value.T @ value / len(value) + 0.1 * np.eye(len(value)))
    value = (value + value.T) / np.sqrt(2.0) if d.kind == "symmetric" else value
    return np.abs(value) if d.sign else np.asarray(value)
