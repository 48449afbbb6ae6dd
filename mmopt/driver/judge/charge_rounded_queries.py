"""The rounding of what a program takes from the workload, charged to its bound and its objective.

A program takes the workload's root R, its rows W, or L B (B the basis of the queries), all of them rounded: R
by γ relatively, L B by φ (``_relative_rounding``). For shipped programs about errors of the queries, theorems
say by how much a bound or an objective moves (``charged_bound``, ``charged_objective``). For all others names
get balls (``balls_of_names``).
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from mmopt.compiler import Instance, is_shipped
from mmopt.errors import ProgramError
from mmopt.language import (
    Apply,
    Assignment,
    Program,
    evaluate,
    evaluate_ball,
    names_in,
    split_meaning,
    splits,
    walk,
)
from mmopt.numerics import BOUNDS, EPS, GROW, Array, Ball, Spanned, Split, pseudo_factors, unknown
from mmopt.symmetry import representation_rounding, root_rounding
from mmopt.workloads import Workload

# Sources that are W to rounding: its rows, a root of its Gram matrix, or a basis of the queries L B.
ROUNDED_SOURCES = frozenset({"workload.basis", "workload.matrix", "workload.root"})
# Sources with unknown rounding: figures made of them are estimates.
UNKNOWN_SOURCES = frozenset({"workload.eigenvalues", "workload.gram"})
# An objective that rounding of the root may move by more than this, relatively, is an estimate.
MOST_CHARGED = 1e-6
# Rows or columns of a matrix above which its largest singular value is only estimated, from above.
LARGEST_DECOMPOSED = 1024


def charged_bound(instance: Instance, bound: float) -> float:
    """A bound, charged for the rounding of the workload's root, or of L B (its rows are exact).

    The root is one of W + E. The square root N of a certificate of total error is a norm of the workload, as
    nuclear norms are, and the certificate of E is at most the error of any strategy that is feasible for E:
    of one query per cell, say, with which it is ‖E‖² (Frobenius). So √bound moves by at most N(E) <= ‖E‖.

    With targets, for any weights q of the queries, nuclear(Q E P) <= ‖Q E‖ <= φ ‖Q W‖ for all P of ‖P‖ = 1 by
    Cauchy-Schwarz, and nuclear(Q W P) >= ‖Q W‖ / √n at the uniform P. So √optimum moves by φ √n of it.
    """
    size = float(np.sqrt(max(bound, 0.0)))
    each = [
        _error_norm(instance.workload, d.source, instance.env[d.name], size)
        for d in instance.program.givens
        if d.name not in instance.passed and d.source in ROUNDED_SOURCES
    ]
    off = max([0.0, *each]) * GROW
    if not off or bound <= 0.0 or not _is_about_errors(instance):
        return bound
    if instance.program.sense == "minimize":  # (√b - off)² >= b - 2 √b off
        return max((bound - 2 * size * off) * (1 - 4 * EPS), 0.0)
    return (bound + (2 * size + off) * off) * (1 + 4 * EPS)


def charged_objective(
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
    if is_estimated(instance):
        return value, False
    if not _is_about_errors(instance):
        return value, proved
    not_passed = [d for d in program.givens if d.name not in instance.passed and d.source in rounded]
    if not {d.name for d in not_passed} & _names_used(instance):
        return value, proved
    offs = [_relative_rounding(workload, d.source, instance.env[d.name]) for d in not_passed]
    is_known = program.sense == "minimize" and is_shipped(instance.checked)
    if not (any(offs) and is_known and 0 < value < np.inf):
        return value, proved and not any(offs)
    moved = 0.0  # infinity where an inverse is not known
    for d, off in zip(not_passed, offs, strict=True):
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
    return (value * (1 + charge), proved) if charge <= MOST_CHARGED else (value, False)


def balls_of_names(instance: Instance) -> tuple[Callable[[str], Any], bool]:
    """The balls of names, also of rounded givens and what is made of them; and whether all errors are known.

    R, the root, is within γ ‖W‖ of an exact one: with R = Qᵀ (W + E) the least of ‖R - U S‖ over orthogonal
    U, S any root of WᵀW, is the Bures distance of the Gram matrices of W + E and W, at most ‖E‖. The effect
    of the rounding of a basis of low rank on a program is not known here: it counts as exact.
    """
    program, workload, exact_ball = instance.program, instance.workload, instance.env[BOUNDS]
    rounded_givens: dict[str, Ball] = {}
    is_known = not uses_unknown_rounding(instance)
    for d in program.givens:
        rows = instance.env[d.name]
        if d.name in instance.passed or d.source not in ROUNDED_SOURCES:
            continue
        off = _relative_rounding(workload, d.source, rows)
        if d.source == "workload.basis":
            is_known = is_known and not off
        elif off:
            rounded_givens[d.name] = Ball(rows, np.full(rows.shape, off / (1 - off) * _length(rows) * GROW))
    computed = {one.name: one.expr for one in (*program.parameters, *program.lets)}
    touched = set(rounded_givens)
    for name, expr in computed.items():
        if name not in instance.passed and names_in(expr) & touched:
            touched.add(name)

    is_known = is_known and not any(names_in(clauses) & touched for clauses in program.conditions)

    @cache
    def ball(name: str) -> Any:
        if name in rounded_givens:
            return rounded_givens[name]
        if name not in touched:
            return exact_ball(name)
        try:
            return evaluate_ball(computed[name], {**instance.env, BOUNDS: ball})
        except ProgramError:
            return unknown(instance.env[name])

    return ball, is_known


def is_estimated(instance: Instance) -> bool:
    """Whether figures are estimates: no theorem here charges their rounding, and no ball contains it."""
    return uses_unknown_rounding(instance) if _is_about_errors(instance) else not balls_of_names(instance)[1]


def balls_for_figures(instance: Instance) -> dict[str, Any]:
    """The balls of names for evaluating figures, where no theorem here charges their rounding."""
    return {} if _is_about_errors(instance) else {BOUNDS: balls_of_names(instance)[0]}


def _is_about_errors(instance: Instance) -> bool:
    """Whether a shipped program is about errors and variances of the queries, or is the dual of one.

    A design of an experiment, or the overlap of two mechanisms, is another subject. So is an objective with
    logarithms, as of a barrier: a relative change of the variances is none of it. The subject of an author's
    own program is not known (True); its certificate is a claim.
    """
    program = instance.program
    is_about = program.meaning.kind != "none" and (
        program.sense == "minimize" or bool(program.formulation_of)
    )
    has_logs = any(isinstance(e, Apply) and e.atom == "log" for e in walk(program.objective))
    return (is_about and not has_logs) or not is_shipped(instance.checked)


def uses_unknown_rounding(instance: Instance) -> bool:
    """Whether the objective or a line is made of a source with unknown rounding."""
    names_used = _names_used(instance) - instance.passed
    sources = {d.source for d in instance.program.givens if d.name in names_used} & UNKNOWN_SOURCES
    return bool(sources) and not (sources == {"workload.gram"} and _has_whole_gram(instance.workload))


def _has_whole_gram(workload: Workload) -> bool:
    """Whether the Gram matrix is a sum of whole numbers that doubles hold; False: not known."""
    is_small = workload.m * workload.n <= LARGEST_DECOMPOSED**2 and workload.unweighted is workload
    return is_small and bool((workload.queries % 1 == 0).all() and workload.squared_norms().sum() < 2**53)


def _names_used(instance: Instance) -> set[str]:
    """Names that the objective or a line is made of, through lets, steps and defaults of parameters."""
    program = instance.program
    lines = [e for c in program.constraints for e in (c.relation.left, c.relation.right)]
    names = set[str]().union(*map(names_in, [*lines, program.objective]))
    # A shipped program holds for any parameters.
    defaults = () if is_shipped(instance.checked) else program.parameters
    for step in reversed((*defaults, *program.lets, *program.steps)):
        if isinstance(step, Assignment) and step.name in names - instance.passed:
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


def _error_norm(workload: Workload, source: str | None, rows: Any, size: float) -> float:
    """An upper bound on N(E) of ``charged_bound`` for one source, ``rows`` as the program has it.

    ``size`` : N of the queries. For a root E is γ of it, or what ``root_rounding`` proves; for L B it is φ of
    its length, by component or times √n; over cells that are not listed see below.
    """
    rounding = _relative_rounding(workload, source, rows)
    if isinstance(rows, Split) and isinstance(rows.columns, Spanned):
        # N(E B) is at most the error of B as a strategy, scaled so that its longest column has length 1.
        length = size if source == "workload.basis" else _length(rows) / (1 - rounding)
        return rounding * length * math.sqrt(rows.columns.longest) * GROW
    if source == "workload.basis":
        return rounding * size * (1.0 if isinstance(rows, Split) else float(np.sqrt(workload.n)))
    error = rounding and rounding / (1 - rounding) * _length(rows)
    return min(error, root_rounding(workload, rows)[1] * size) if isinstance(rows, Split) else error


def _relative_rounding(workload: Workload, source: str | None, rows: Any) -> float:
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
