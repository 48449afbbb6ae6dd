"""The score of a point: repair, feasibility, objective, bound, and its meaning.

A point is scored against the program file: repair, feasibility, objective up, bound down. This is the only
place where a solver's point becomes a claim, and no figure of the solver is used. The meaning of a point is
its strategy, or covariance and basis. The rounding of the workload's root, or of L B, is charged to a bound
and to an objective.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.same_program import is_shipped
from mmopt.driver.judge.violations import SYMMETRIC, as_declared, undefined_part, violations
from mmopt.errors import ProgramError
from mmopt.language import Checked, evaluate, evaluate_ball
from mmopt.language.evaluate.constraint_misses import charge, cleared, excess_with_errors
from mmopt.language.evaluate.evaluator import Memo
from mmopt.language.evaluate.number_systems import split_meaning, splits
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Apply, Assignment, Declaration, Expr, names_in
from mmopt.numerics.arrays import EPS, Array, frozen
from mmopt.numerics.ball_functions import GUESS, is_semidefinite
from mmopt.numerics.ball_inverse import pseudo_inverse
from mmopt.numerics.balls import BOUNDS, GROW, ROWS_AT_A_TIME, Ball, dots, exact, matmul, unknown
from mmopt.numerics.component_arrays import (
    Level,
    Split,
    arrays_of,
    as_value,
    each_array,
    is_finite,
    is_structured,
    plain,
)
from mmopt.numerics.linear_algebra import pseudo_factors, svd
from mmopt.numerics.matrix_functions import EIGENVALUE_FLOOR, psd_floor, symmetric_part
from mmopt.numerics.unlisted_cells import Spanned
from mmopt.results import gap_between
from mmopt.results.saved_fields import Value
from mmopt.strategies import (
    AnyStrategy,
    ComponentStrategy,
    Strategy,
    normalise,
)
from mmopt.symmetry import representation_rounding, root_rounding
from mmopt.workloads import Workload

# A repaired point may miss a line by this part of its terms: the rounding of their evaluation. The miss is
# charged to the objective.
FEASIBLE = 1e-10
# Up to here a miss may still be rounding, and another repair may help; so many are tried.
SLIGHT = 1e-6
MOST_REPAIRS = 8
ROUNDING_MOVES = 1e-9  # part of an objective that it may cost to keep lines that were missed by rounding
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
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def is_feasible(self) -> bool:
        return self.after <= FEASIBLE and bool(np.isfinite(self.objective))


def declared(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any]:
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
    before = _worst(instance, {**instance.env, **plain(values)}, memo)
    repaired = _repaired(instance, declared(instance, values), before, memo)
    for _ in range(MOST_REPAIRS):
        if not (instance.program.repair and FEASIBLE < repaired.after <= SLIGHT):
            break
        repaired = _repaired(instance, repaired.variables, before, Memo())
    is_missed = not repaired.is_feasible or (repaired.after > 0.0 and not repaired.proved)
    if not is_missed or not may_move(instance):
        return repaired
    from mmopt.driver.judge.violations import nearby  # off the usual way

    moves = (declared(instance, moved) for moved in nearby(instance, repaired.variables))
    with np.errstate(over="ignore", invalid="ignore"):
        tried = (_repaired(instance, moved, before, Memo()) for moved in moves)
        return next((again for again in tried if _is_better(again, repaired)), repaired)


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
    program = instance.program
    env: dict[str, Any] = {**instance.env, **wide_names(instance), **plain(variables)}
    # The repair sets some variables of the objective to the least value that the lines allow, such as a
    # largest cost. These are rounded up: then no line is missed by the rounding of the repair.
    limits = names_in(program.objective) if program.sense == "minimize" else set()
    limits = {a.name for a in program.repair if a.name not in names_in(a.expr)} & limits
    with np.errstate(all="ignore"):
        for assignment in program.repair:
            value = _rounded_up(assignment.expr, env) if assignment.name in limits else None
            env[assignment.name] = evaluate(assignment.expr, env, memo) if value is None else value
    return scored(instance, {d.name: as_value(env[d.name]) for d in program.choose}, before, memo)


def _missed(instance: Instance, env: Mapping[str, Any]) -> float:
    """The most by which lines may be missed, relatively, with errors of evaluation; infinity: unknown.

    The cost of a miss is known where scaling the point mends it: in shipped programs that choose noise, or
    whose repair divides.
    """
    program = instance.program
    if not all(_is_kept(d, env[d.name]) for d in program.choose):
        return float("inf")
    missed = 0.0
    for c in program.constraints:
        missed += excess_with_errors(c, env)  # each line is mended after the others
        if missed == float("inf"):
            break
    divides = any(isinstance(a.expr, Apply) and a.expr.atom == "div" for a in program.repair)
    is_mended = is_shipped(instance.checked) and (program.meaning.kind != "none" or divides)
    return missed if missed == 0.0 or is_mended else float("inf")


def _is_kept(d: Declaration, value: Any) -> bool:
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
        after = _worst(instance, env, memo) if finite else np.inf
        minimized = program.sense == "minimize"
        objective, proved = np.inf if minimized else -np.inf, False
        if finite and not undefined_part(instance, env):
            e = program.objective
            loss, proved = upper_value(e if minimized else Apply("neg", (e,), e.span), env)
            loss, proved = charged_for_the_queries(instance, env, loss, proved)
            missed = _missed(instance, env)
            proved = proved and bool(np.isfinite(missed))
            # A point scaled to keep its lines costs more by the same part; where weights are squared, twice
            # that. The logarithm of a determinant moves by its size.
            size = max(instance.sizes().values(), default=0) if instance.checked.is_logarithmic else 0.0
            loss += 2 * (max(after, missed) if np.isfinite(missed) else after) * (abs(loss) + size)
            objective = loss if minimized else -loss
    return Candidate(variables, env, objective, before, after, proved, memo)


def _worst(instance: Instance, env: Mapping[str, Any], memo: Memo) -> float:
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


def charged(
    instance: Instance, point: Candidate, multipliers: Mapping[str, Any], *, rounded: bool = False
) -> Candidate:
    """The candidate, its objective charged for its last violations.

    A point that misses a constraint by v is feasible for one that is v wider, whose optimum is, by weak
    duality, within y v of the program's optimum, y the multiplier. Without this an objective could lie below
    its bound, by rounding. ``rounded``: misses that the rounding of an evaluation may hide count, too.
    """
    if point.after > FEASIBLE or not (rounded or point.after > 0):
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
    if np.isfinite(upper := float(evaluate_ball(expr, env).upper)):
        return upper, True
    value = float(evaluate(expr, env))
    return value + ESTIMATE_CHARGE * abs(value), False


def starts_from(instance: Instance, env: Mapping[str, Any]) -> dict[str, Array]:
    """Multipliers that the certificate takes from the point, by their names."""
    started = [m for m in instance.program.multipliers if m.start is not None]
    with np.errstate(all="ignore"):
        return {m.key: as_value(evaluate(m.start, env)) for m in started if m.start is not None}


def bound_of(instance: Instance, multipliers: Mapping[str, Any], polar: Any = None) -> float | None:
    """The certificate at the multipliers (negative entries clipped where a sign is declared).

    It is a lower bound, rounded down, where the program minimizes, and an upper bound, rounded up, where it
    maximizes. None without a certificate, and where the multipliers prove nothing (missing, not finite),
    unless the objective is nonnegative by its form: then 0. ``polar``: of a ``Point``.
    """
    program = instance.program
    if program.certificate is None:
        return None
    minimized, objective = program.sense == "minimize", instance.checked.objective
    nothing = 0.0 if minimized and objective is not None and objective.sign > 0 else None
    if len(named := named_multipliers(instance, multipliers)) < len(program.multipliers):
        return nothing
    env = {**instance.env, **wide_names(instance), **named}
    if polar is not None:
        env[GUESS] = polar
    with np.errstate(all="ignore"):
        ball = evaluate_ball(program.certificate.expr, env)
    bound = float(ball.lower if minimized else ball.upper)
    if not np.isfinite(bound):
        return nothing
    bound = for_the_queries(instance, bound)
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
            named[m.declaration.name] = each_array(value, partial(_promised, m.declaration))
    return plain(named)


def _promised(d: Declaration, value: Any) -> Any:
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
PER_CONDITION = 8 * float(np.finfo(float).eps)


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
    """The meaning of a point at the scale of the program."""
    m = instance.program.meaning
    if m.kind == "none":  # each cell by itself, never shown: every solution has a strategy
        return Strategy(frozen(np.eye(instance.workload.n)), 2), None, None
    value = evaluate(m.expr, env)
    if splits(env):
        split, *noise = split_meaning(m, value, env)
        if not split.is_listed:
            from mmopt.strategies.row_space_strategy import strategy_on  # off the usual way

            return strategy_on(split), noise[0], noise[1]
        return ComponentStrategy(split, m.norm), noise[0], noise[1]
    matrix = np.asarray(value, dtype=float)
    if m.kind == "strategy":
        # The result of an evaluation is never written to: it is not copied.
        return Strategy(frozen(matrix), m.norm, instance.neighbours), None, None
    basis = np.asarray(env[m.basis], dtype=float)
    # Eigenvalues that are lost in rounding are lifted to it; the cost shows in the strategy's figures.
    floored = psd_floor(matrix, LOST_PART / EIGENVALUE_FLOOR * float(np.trace(matrix)))
    noisy = replace(Strategy.from_covariance(floored, basis), neighbours=instance.neighbours)
    return within_targets(noisy, instance.workload), symmetric_part(matrix), basis


def within_targets(strategy: Strategy, workload: Workload) -> Strategy:
    """The strategy with less noise where rounding may have put variances above their targets.

    Its privacy cost, the square of its sensitivity, is above that of the covariance by the same factor. An
    excess of more than ``reach`` is not removed: then targets are not proved to hold.
    """
    if not workload.has_targets:
        return strategy
    worst, off = float((strategy.variances(workload) / workload.targets).max()), rounding(strategy, workload)
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
    return strategy.total_error(workload) * (1.0 + rounding(strategy, workload))


def rounding(strategy: AnyStrategy, workload: Workload) -> float:
    """The most that the evaluation of total error may round off, relatively."""
    if PER_CONDITION * strategy.largest_condition <= ROUNDING_OF_ERROR:
        return ROUNDING_OF_ERROR
    return max(ROUNDING_OF_ERROR, PER_CONDITION * strategy.condition(workload))


# Sources that are W to rounding: its rows, a root of its Gram matrix, or a basis of the queries L B.
ROUNDED_SOURCES = frozenset({"workload.basis", "workload.matrix", "workload.root"})
# Sources with unknown rounding: figures made of them are estimates.
UNKNOWN_SOURCES = frozenset({"workload.eigenvalues", "workload.gram"})
# An objective that rounding of the root may move by more than this, relatively, is an estimate.
MOST_MOVED = 1e-6
# Rows or columns of a matrix above which its largest singular value is only estimated, from above.
LARGEST_DECOMPOSED = 1024


def for_the_queries(instance: Instance, bound: float) -> float:
    """A bound, charged for the rounding of the workload's root, or of L B (its rows are exact).

    The root is one of W + E. The square root N of a certificate of total error is a norm of the workload, as
    nuclear norms are, and the certificate of E is at most the error of any strategy that is feasible for E:
    of one query per cell, say, with which it is ‖E‖² (Frobenius). So √bound moves by at most N(E) <= ‖E‖.

    With targets, for any weights q of the queries, nuclear(Q E P) <= ‖Q E‖ <= φ ‖Q W‖ for all P of ‖P‖ = 1 by
    Cauchy-Schwarz, and nuclear(Q W P) >= ‖Q W‖ / √n at the uniform P. So √optimum moves by φ √n of it.
    """
    size = float(np.sqrt(max(bound, 0.0)))
    given = [d for d in instance.program.givens if d.name not in instance.passed]
    each = [
        _off(instance.workload, d.source, instance.env[d.name], size)
        for d in given
        if d.source in ROUNDED_SOURCES
    ]
    off = max([0.0, *each]) * GROW
    if not off or bound <= 0.0 or not _is_of_errors(instance):
        return bound
    if instance.program.sense == "minimize":  # (√b - off)² >= b - 2 √b off
        return max((bound - 2 * size * off) * (1 - 4 * EPS), 0.0)
    return (bound + (2 * size + off) * off) * (1 + 4 * EPS)


def charged_for_the_queries(
    instance: Instance, env: Mapping[str, Any], value: float, proved: bool
) -> tuple[float, bool]:
    """An objective that is minimized, charged for the same rounding, and whether it is proved.

    One that is maximized, which comes with its sign turned, is proved where nothing is rounded.

    Total error of W + E is ‖(W + E) A⁺‖² (Frobenius), so its root moves by at most ‖E‖ ‖A⁺‖₂, for a
    root γ ‖W‖ ‖A⁺‖₂ and for any source at most γ ‖A‖₂ ‖A⁺‖₂ of itself. So do the roots of variances, with L B
    for W. The effect on the objective of an author's own program is not known.

    A workload of low rank is W = W P up to φ, P = Bᵀ B, and A may hardly measure directions outside. There
    W (I - P) and R (I - P) count, R the root: ‖W A⁺‖ <= ‖R A⁺‖ + ‖E‖ ‖B A⁺‖₂ + (their lengths) ‖A⁺‖₂.
    """
    program, workload = instance.program, instance.workload
    rounded = ROUNDED_SOURCES - {"workload.matrix"}  # as given: a design is measured as it is
    taken = _taken(program)
    if rests_on_rounded(instance):
        return value, False
    if not _is_of_errors(instance):
        return value, proved
    given = [d for d in program.givens if d.name not in instance.passed and d.source in rounded]
    if not {d.name for d in given} & taken:
        return value, proved
    offs = [_relative(workload, d.source, instance.env[d.name]) for d in given]
    is_known = program.sense == "minimize" and is_shipped(instance.checked)
    if not (any(offs) and is_known and 0 < value < np.inf):
        return value, proved and not any(offs)
    moved = 0.0  # infinity where an inverse is not known
    for d, off in zip(given, offs, strict=True):
        rows = instance.env[d.name]
        is_low = d.source == "workload.root" and not isinstance(rows, Split) and workload.rank < workload.n
        size, inverse, basis_inverse, scale = _extremes(program, env, workload.basis if is_low else None)
        leak = 0.0
        if is_low:
            outside = float(np.linalg.norm(rows - (rows @ workload.basis.T) @ workload.basis))
            leak = workload.representation_rounding + outside / _length(rows) + 4 * EPS * workload.n
        by_length = _length(rows) * scale / value**0.5 if d.source == "workload.root" else np.inf
        moved = max(
            moved, (off / (1 - off) * basis_inverse + (leak and leak * inverse)) * min(size, by_length) * GROW
        )
    charge = (2 + moved) * moved * GROW
    # A larger charge is due to this estimate rather than the objective, which is then an estimate, uncharged.
    return (value * (1 + charge), proved) if charge <= MOST_MOVED else (value, False)


def names_with_errors(instance: Instance) -> tuple[Callable[[str], Any], bool]:
    """The balls of names, those of rounded givens and of lets made of them; and whether all errors are known.

    R, the root, is within γ ‖W‖ of an exact one: with R = Qᵀ (W + E) the least of ‖R - U S‖ over orthogonal
    U, S any root of WᵀW, is the Bures distance of the Gram matrices of W + E and W, at most ‖E‖. The effect
    of the rounding of a basis of low rank on a program is not known here: it counts as exact.
    """
    program, workload, exact_ball = instance.program, instance.workload, instance.env[BOUNDS]
    wide: dict[str, Ball] = {}
    is_known = not takes_rounded(instance)
    for d in program.givens:
        rows = instance.env[d.name]
        if d.name in instance.passed or d.source not in ROUNDED_SOURCES:
            continue
        off = _relative(workload, d.source, rows)
        if d.source == "workload.basis":
            is_known = is_known and not off
        elif off:
            wide[d.name] = Ball(rows, np.full(rows.shape, off / (1 - off) * _length(rows) * GROW))
    lets = {let.name: let.expr for let in program.lets}
    touched = set(wide)
    for let in program.lets:
        if names_in(let.expr) & touched:
            touched.add(let.name)

    @cache
    def bound(name: str) -> Any:
        if name in wide:
            return wide[name]
        if name not in touched:
            return exact_ball(name)
        try:
            return evaluate_ball(lets[name], {**instance.env, BOUNDS: bound})
        except ProgramError:
            return unknown(instance.env[name])

    return bound, is_known


def rests_on_rounded(instance: Instance) -> bool:
    """Whether figures are estimates: no theorem here charges their rounding, and no ball contains it."""
    return takes_rounded(instance) if _is_of_errors(instance) else not names_with_errors(instance)[1]


def wide_names(instance: Instance) -> dict[str, Any]:
    """The balls of names for evaluating figures, where no theorem here charges their rounding."""
    return {} if _is_of_errors(instance) else {BOUNDS: names_with_errors(instance)[0]}


def _is_of_errors(instance: Instance) -> bool:
    """Whether a shipped program is about errors and variances of the queries, or is the dual of one.

    A design of an experiment, or the overlap of two mechanisms, is another subject. The subject of an
    author's own program is not known (True); its certificate is a claim.
    """
    program = instance.program
    is_about = program.meaning.kind != "none" and (
        program.sense == "minimize" or bool(program.formulation_of)
    )
    return is_about or not is_shipped(instance.checked)


def takes_rounded(instance: Instance) -> bool:
    """Whether the objective or a line is made of a source with unknown rounding."""
    taken = _taken(instance.program) - instance.passed
    sources = {d.source for d in instance.program.givens if d.name in taken} & UNKNOWN_SOURCES
    return bool(sources) and not (sources == {"workload.gram"} and _is_whole(instance.workload))


def _is_whole(workload: Workload) -> bool:
    """Whether the Gram matrix is a sum of whole numbers that doubles hold; False: not known."""
    is_small = workload.m * workload.n <= LARGEST_DECOMPOSED**2 and workload.unweighted is workload
    return is_small and bool((workload.queries % 1 == 0).all() and workload.squared_norms().sum() < 2**53)


def _taken(program: Program) -> set[str]:
    """Names that the objective or a line is made of, through lets and steps."""
    lines = [e for c in program.constraints for e in (c.relation.left, c.relation.right)]
    names = set[str]().union(*map(names_in, [*lines, program.objective]))
    for step in reversed((*program.lets, *program.steps)):
        if isinstance(step, Assignment) and step.name in names:
            names |= names_in(step.expr)
    return names


def _extremes(
    program: Program, env: Mapping[str, Any], basis: Array | None
) -> tuple[float, float, float, float]:
    """‖A‖₂, ‖A⁺‖₂ and ‖B A⁺‖₂ at most, for the strategy or covariance A of a point; the longest column.

    Rounding may take 16 n ε times the largest eigenvalue from each one of AᵀA, of X where A = ``factor(X)``.
    """
    value = evaluate(program.meaning.expr, env)
    split = split_meaning(program.meaning, value, env)[0].parts if splits(env) else (value,)
    parts = [np.asarray(part, dtype=float) for part in split if np.size(part)]
    inverses = [pseudo_factors(part)[0] for part in parts]
    size, inverse = max(map(_norm, parts)), max(map(_norm, inverses))
    lost = 16 * max(max(part.shape) for part in parts) * EPS * (size * inverse) ** 2
    inverse = inverse / (1 - lost) if lost < 1 else np.inf
    basis_inverse = inverse if basis is None else min(inverse, _norm(basis @ inverses[0]) + lost * inverse)
    scale = max(1.0, *(float(np.sqrt(np.square(part).sum(axis=0).max())) for part in parts))
    return size, inverse, basis_inverse, scale


def _norm(a: Array) -> float:
    """‖A‖₂ at most; √(‖A‖₁ ‖A‖∞) for a large matrix."""
    if a.size and max(a.shape) <= LARGEST_DECOMPOSED:
        return float(np.sqrt(np.linalg.eigvalsh(a.T @ a)[-1])) * (1 + 1e-9)
    return float(np.sqrt(np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf))) if a.size else 0.0


def _off(workload: Workload, source: str | None, rows: Any, size: float) -> float:
    """N(E) at most, for a source as it is in the environment; ``size``: N of that."""
    rounding = _relative(workload, source, rows)
    if isinstance(rows, Split) and isinstance(rows.columns, Spanned):
        # N(E B) is at most the error with N = the identity, at the scale at which its longest column is 1.
        length = size if source == "workload.basis" else _length(rows) / (1 - rounding)
        return rounding * length * math.sqrt(rows.columns.longest) * GROW
    if source == "workload.basis":
        return rounding * size * (1.0 if isinstance(rows, Split) else float(np.sqrt(workload.n)))
    error = rounding and rounding / (1 - rounding) * _length(rows)
    return min(error, root_rounding(workload, rows)[1] * size) if isinstance(rows, Split) else error


def _relative(workload: Workload, source: str | None, rows: Any) -> float:
    """γ or φ: the largest error of a source, relative to its length."""
    if isinstance(rows, Split) and isinstance(rows.columns, Spanned):
        return rows.columns.rounding
    if source == "workload.basis":
        return representation_rounding(rows) if isinstance(rows, Split) else workload.representation_rounding
    if isinstance(rows, Split):
        return root_rounding(workload, rows)[0]
    return (
        workload.root_rounding if source == "workload.root" else max(b.root_rounding for b in workload.blocks)
    )


def _length(rows: Any) -> float:
    """‖W‖ (Frobenius)."""
    if not isinstance(rows, Split):
        return float(np.linalg.norm(rows))
    return float(np.sqrt(rows.multiplicities @ [float(np.square(part).sum()) for part in rows.parts]))
