"""The shipped programs as problems of the nuclear norm, and the points and the cost of their kernel.

**Programs** are problems of the nuclear norm, and its weights lead back to their points. With shares y of sum
1 and N the norm: X = diag(p)^-½ V S Vᵀ diag(p)^-½ has the objective N and the largest diagonal entry
N max(cost / cells). Its variances are N variance / weights, and N in total where queries have no weights.
Where cells and queries share one bound t it is the root of the product of both (``balanced``).
Σ = B diag(p)^½ V S⁻¹ Vᵀ diag(p)^½ Bᵀ has the costs N cost / cells and, relative to the targets, the variances
N variance / weights (Xiao et al., PVLDB 2021, Theorem 12 for scales).

**fitness_level** is about the queries, cells and targets that the held noise leaves. The settled cells and
queries take no part. Query j may have the variance c - v in addition to that of the held noise, cell i costs
f in any case, and with the remaining queries L J B and b = f the optimum is the largest of f @ p + N(p, q)²
over p of sum 1 and q with (c - v) @ q = 1.

Givens are arrays, or split into components (``mmopt.numerics.component_arrays``); points and multipliers are
then too.

**Points** have to fit into floating point (``conditioned``). Where queries or cells have slack the noise of
least privacy cost may be arbitrarily large, and weights that go to zero make it so. Lowering the eigenvalues
of Σ that are above t times the smallest keeps every target. With orthonormal B and p of sum 1 it adds at most
1 / (t λ) to p @ costs, λ the smallest eigenvalue; the largest cost is at least 1 / (n λ).
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.numerics import Level, Split, arrays_of, eigenvectors, graded, is_identity, panels
from mmopt.solvers.nuclear.interior_point import coarse_start, search
from mmopt.solvers.nuclear.problem_and_iterates import (
    Array,
    Env,
    Iterate,
    NuclearProblem,
    QueryComponent,
    Spectrum,
    bare,
    fetched,
    is_full,
    placed,
    spectra_of,
    whole,
    whole_of,
)
from mmopt.solvers.options_points_and_clock import Clock, Options, Pace, Point

# The condition t of a point (see **Points** above) is this over the gap wanted.
LOSS_OF_GAP = 10.0
# With more cells than LOSS_OF_GAP times this t grows like their number: the loss is at most n / t.
CELLS_OF_LOSS = 16
LARGEST_CONDITION = 1e10  # a larger t would leave less than half of the digits of the smallest eigenvalue


@dataclass(frozen=True)
class Care:
    """The limits that rounding sets to a point.

    even : whether X may be equalised. At the optimum X⁻¹ G X⁻¹ is diagonal, so that rounding of X hardly
        changes its objective; at an equalised X near it that is not so.
    condition : the largest condition of Σ.
    """

    even: bool
    condition: float


def care_for(wanted: float, is_first: bool, n: int) -> Care:
    """The care for a gap and n cells: most at first, then the condition that a smaller gap needs."""
    return Care(is_first, min(max(LOSS_OF_GAP, n / CELLS_OF_LOSS) / wanted, LARGEST_CONDITION))


def conditioned(roots: Sequence[Array], condition: float) -> list[Array]:
    """R Rᵀ of each root R (k, r), r <= k, with large eigenvalues lowered.

    They are lowered until the largest over the smallest, of all the products together, is at most
    ``condition``. Directions that a root does not reach, as weights went to zero, get the largest eigenvalue:
    the noise may be large there.
    """
    xp = namespace(roots[0])
    products = [root @ root.T for root in roots]
    spectra = [xp.linalg.eigvalsh(product) for product in products]
    largest = max(float(values[-1]) for values in spectra)
    if min(float(values[0]) for values in spectra) * condition > largest:
        return products
    # From the roots, not from the products, whose small eigenvalues are lost in the rounding of the largest.
    decompositions = []
    for root in roots:
        vectors = eigenvectors(products.pop(0))
        values, _ = graded(root.T @ vectors, vectors)
        decompositions.append((vectors, values[-min(root.shape) :]))
    least = min(float(xp.min(values)) ** 2 for _, values in decompositions)
    return [_lowered(left, values, condition * least) for left, values in decompositions]


def _lowered(left: Array, values: Array, most: float) -> Array:
    """R Rᵀ from the singular vectors and values of R, with eigenvalues of at most ``most``."""
    xp = namespace(left)
    lowered = xp.full((left.shape[0],), most, dtype=left.dtype)
    lowered[-values.shape[0] :] = xp.clip(values**2, None, most)
    scaled = left * xp.sqrt(lowered)
    return scaled @ scaled.T  # as numpy's product with the transpose it is exactly symmetric


def _unsettled(env: Env) -> tuple[Array, Array]:
    """Whether each query, and each cell, of ``fitness_level`` is left to be settled."""
    return env["open"] > 0, env["free"] > 0


def _precision_and_rest(env: Env) -> tuple[Array, Array]:
    """H, the precision of the held noise, and J, which removes it from the basis: as in the program."""
    held, start = env["D"], env["S0"]
    xp = namespace(held)
    precision = held.T @ xp.linalg.pinv(held @ start @ held.T) @ held
    return precision, xp.eye(start.shape[0], dtype=start.dtype) - start @ precision


def level_problem(env: Env) -> NuclearProblem:
    """The problem of the queries that are left, beyond the noise that is held."""
    queries, cells = _unsettled(env)
    precision, rest = _precision_and_rest(env)
    left, right = env["L"][queries, :], env["B"][:, cells]
    xp = namespace(left)
    slack = env["c"][queries] - xp.sum((left @ env["K"]) * left, axis=1)
    if not bool(xp.all(slack > 0)):
        raise ArithmeticError("the noise that is held leaves a query nothing of its target")
    return replace(whole(left @ rest @ right, slack), base=xp.sum((precision @ right) * right, axis=0))


def level_point(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> dict[str, Array]:
    """P of the queries that are left, its largest variance just the one that the target leaves."""
    xp = namespace(at.cells)
    variance = at.norm * float(xp.max(at.variance / at.weights))
    (spectrum,) = spectra_of(problem, at)
    basis = _precision_and_rest(env)[1] @ env["B"][:, _unsettled(env)[1]]
    rows = (basis * xp.sqrt(at.cells / variance)) @ spectrum.right / xp.sqrt(spectrum.values)
    return {"alpha": at.upper, "P": conditioned([rows], care.condition)[0]}


def level_multipliers(env: Env, problem: NuclearProblem, at: Iterate) -> dict[str, Array]:
    """The multipliers; those of settled cells and queries are zero."""
    xp = namespace(at.cells)
    queries, cells = _unsettled(env)
    privacy, accuracy = xp.zeros_like(env["free"]), xp.zeros_like(env["open"])
    privacy[cells] = at.cells
    accuracy[queries] = at.norm**2 * at.queries / problem.targets
    return {"privacy": privacy, "accuracy": accuracy}


Values = dict[str, Any]


@dataclass(frozen=True)
class ProgramForm:
    """A program's reading as a problem, and the way from an iterate to its point and multipliers.

    ``dual``: its variables are the weights; the best lower bound gives its point, the best upper one its
    multipliers. ``worth`` is the program's objective where the squared norm is the optimum of the problem.
    """

    problem: Callable[[Env], NuclearProblem]
    point: Callable[[Env, NuclearProblem, Iterate, Care], Values]
    multipliers: Callable[[Env, NuclearProblem, Iterate], Values]
    dual: bool = False
    worth: Callable[[Env, float], float] = lambda env, square: square


def split(w: Split, targets: Level | None = None, ranks: list[int] | None = None) -> NuclearProblem:
    """The problem of queries ``w`` by component, with the rank of each part where it is known."""
    cells, queries = w.columns, w.rows
    assert cells.labels is not None
    rows = [None] * cells.count if targets is None or queries.labels is None else list(queries.labels)
    each_rank: list[int | None] = [None] * cells.count if ranks is None else list(ranks)
    parts = zip(w.parts, w.multiplicities, cells.labels, rows, each_rank, strict=True)
    components = tuple(
        QueryComponent(part, float(often), column, row, rank) for part, often, column, row, rank in parts
    )
    return NuclearProblem(
        components, cells.sizes, None if targets is None else targets.values * queries.sizes
    )


def all_queries(env: Env) -> NuclearProblem:
    """``W`` up to rotation: rows beyond the number of columns are brought into a triangle."""
    w = env["W"]
    if isinstance(w, Split):
        return split(w)
    if w.shape[0] > w.shape[1]:
        w = namespace(w).linalg.qr(w)[1]
    return whole(w)


def split_like(like: Array | Split, side: str, products: list[Array]) -> Array | Split:
    """Square parts as a matrix on the rows or columns (``side``) of a given; a single part as it is."""
    if not isinstance(like, Split):
        return products[0]
    return Split(getattr(like, side), getattr(like, side), tuple(products))


def level_like(like: Array | Split, side: str, values: Array) -> Array | Level:
    """Values of orbits as a vector over the rows or columns (``side``) of a given; unchanged for an array."""
    return Level(getattr(like, side), values) if isinstance(like, Split) else values


def _scales(problem: NuclearProblem, at: Iterate, care: Care) -> Array:
    """p diag(X), by which X is scaled to unit diagonal; with its largest entry unless X may be equalised.

    X may not be where it loses rank.
    """
    xp = namespace(at.cells)
    diagonal = at.norm * at.cost / at.cells
    if not (care.even and is_full(problem, at.lengths, at.spectra)):
        diagonal = xp.full_like(diagonal, float(xp.max(diagonal)))
    return diagonal * at.cells / problem.cells


def strategy(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """X, of unit diagonal where that is possible."""
    xp = namespace(at.cells)
    scales = xp.sqrt(_scales(problem, at, care))
    pairs = zip(problem.parts, spectra_of(problem, at), strict=True)
    rows = [f.right * xp.sqrt(f.values) / xp.take(scales, part.cells)[:, None] for part, f in pairs]
    return {"X": split_like(env["W"], "columns", [part @ part.T for part in rows])}


def _answered(given: Any, problem: NuclearProblem, at: Iterate, weights: Array) -> list[Array]:
    """Z with Z Zᵀ = G X⁻¹ Gᵀ by part, for a given G and the X of these weights of the cells."""
    xp = namespace(at.cells)
    roots = xp.sqrt(weights)
    triples = zip(arrays_of(given), problem.parts, spectra_of(problem, at), strict=True)
    return [(g * xp.take(roots, part.cells)) @ f.right / xp.sqrt(f.values) for g, part, f in triples]


def with_variances(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """X, and u, the variance of each query."""
    (z,) = _answered(env["W"], problem, at, _scales(problem, at, care))
    return {**strategy(env, problem, at, care), "u": namespace(z).sum(z**2, axis=1)}


def with_covariance(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """X, and Y, the covariance of the answers."""
    covariances = [part @ part.T for part in _answered(env["W"], problem, at, _scales(problem, at, care))]
    return {**strategy(env, problem, at, care), "Y": split_like(env["W"], "rows", covariances)}


def each_query(env: Env) -> NuclearProblem:
    """``W`` with a weight for each query."""
    w = env["W"]
    if isinstance(w, Split):
        assert w.rows.sizes is not None
        return split(w, Level(w.rows, np.ones(len(w.rows.sizes))))
    return whole(w, namespace(w).ones(w.shape[0], dtype=w.dtype))


def _worst(at: Iterate) -> float:
    """The variances, largest or in total, for X of largest diagonal entry 1."""
    return at.norm**2 * float(namespace(at.cells).max(at.cost / at.cells)) * at.wide


def balanced(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """X times t, so that its diagonal and the variances are at most t."""
    t = math.sqrt(_worst(at))
    x = strategy(env, problem, at, care)["X"]
    return {"X": split_like(env["W"], "columns", [t * part for part in arrays_of(x)]), "t": t}


ShareFactor = Callable[[Env, Iterate], Any]  # what shares are multiplied by to be multipliers


def _one(env: Env, at: Iterate) -> float:
    """No factor."""
    return 1.0


def _squared_norm(env: Env, at: Iterate) -> float:
    """N²: what is saved, by each share, where a limit is wider by one."""
    return at.norm**2


def _target(env: Env, at: Iterate) -> Array:
    """The targets, by which variances are divided."""
    return env["c"].values if isinstance(env["c"], Level) else env["c"]


def prices(
    cells: str, queries: str | None = None, of_cells: ShareFactor = _one, of_queries: ShareFactor = _one
) -> Callable[[Env, NuclearProblem, Iterate], Values]:
    """The function for ``ProgramForm.multipliers`` by the names of lines: shares times a factor.

    cells, queries : the lines of the cells and of the queries; None where queries have no multipliers.
    """

    def multipliers(env: Env, problem: NuclearProblem, at: Iterate) -> Values:
        left, right = ("L", "B") if "B" in env else ("W", "W")
        values = {cells: level_like(env[right], "columns", of_cells(env, at) * at.cells / problem.cells)}
        if queries is not None:
            values[queries] = level_like(
                env[left], "rows", at.queries / problem.targets * of_queries(env, at)
            )
        return values

    return multipliers


# By this name, which no program can use, the givens may have L @ B, as large as all else, where it is known.
QUERIES = "L @ B"
GAP_OF_INVERTED = 1e-9  # gap for which a covariance that is only inverted has to be good


def _product(left: Array, right: Array) -> Array:
    """The product, or the left factor itself where the right one is an identity: memory."""
    return left if is_identity(right) else left @ right


def _targeted_queries(env: Env) -> NuclearProblem:
    """``L @ B``, or the queries equal to it; the rows of B are independent, those with a target span all."""
    left, right = env["L"], env["B"]
    if isinstance(left, Split):
        parts = tuple(a @ b for a, b in zip(left.parts, right.parts, strict=True))
        ranks = [min(b.shape[0], part.shape[0]) for b, part in zip(right.parts, parts, strict=True)]
        return split(Split(left.rows, right.columns, parts), env["c"], ranks)
    return whole(env[QUERIES] if QUERIES in env else _product(left, right), env["c"], right.shape[0])


def _targets_and_total(env: Env) -> NuclearProblem:
    """``L @ B`` with targets and the weight of all variances."""
    problem = _targeted_queries(env)
    assert problem.targets is not None
    total = float(namespace(problem.targets).sum(problem.targets))
    return replace(problem, floors=problem.targets * (float(env["total"]) / total))


def _unit_targets(env: Env) -> NuclearProblem:
    """``V``: queries divided by the roots of their targets, so that all targets are 1."""
    rows = _product(env["V"], env["B"])
    return whole(rows, namespace(rows).ones(rows.shape[0], dtype=rows.dtype), env["B"].shape[0])


def _covariance(env: Env, problem: NuclearProblem, at: Iterate, scale: float, care: Care) -> Array | Split:
    """Σ with costs scale⁻¹ times and variances scale times those at the weights."""
    rows = _answered(env["B"], problem, at, scale * at.cells / problem.cells)
    return split_like(env["B"], "rows", conditioned(rows, care.condition))


def _largest(at: Iterate) -> tuple[float, float]:
    """The largest cost and the largest variance relative to its target, of Σ at scale 1."""
    xp = namespace(at.cells)
    return at.norm * float(xp.max(at.cost / at.cells)), at.norm * float(xp.max(at.variance / at.weights))


def _at_targets(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """Σ, scaled to its targets, and alpha, its largest cost."""
    cost, variance = _largest(at)
    return {"alpha": cost * variance, "Sigma": _covariance(env, problem, at, 1.0 / variance, care)}


def _at_equal_terms(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """Σ at the scale at which both terms of the objective are the same, and the terms alpha and beta."""
    cost, variance = _largest(at)
    scale = (cost / (at.norm * at.wide)) ** 0.5
    return {
        "alpha": cost / scale,
        "beta": variance * scale,
        "Sigma": _covariance(env, problem, at, scale, care),
    }


def _at_budget(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """Σ, scaled to the budget, and excess, its largest variance relative to its target."""
    cost, variance = _largest(at)
    budget = float(env["budget"])
    return {"excess": cost * variance / budget, "Sigma": _covariance(env, problem, at, cost / budget, care)}


def _root(env: Env, square: float) -> float:
    """N, the objective in place of its square."""
    return math.sqrt(square)


def _twice(env: Env, square: float) -> float:
    """Cost and variance together, when both are the root of their product."""
    return 2.0 * math.sqrt(square)


def _both_weights(env: Env, problem: NuclearProblem, at: Iterate, care: Care) -> Values:
    """The point; F is left to the repair, which has it in closed form."""
    k = env["B"].shape[0]
    return {"p": at.cells, "q": at.queries, "F": namespace(at.cells).zeros((k, k), dtype=at.cells.dtype)}


def _precision(env: Env, problem: NuclearProblem, at: Iterate) -> Values:
    """The multiplier of ``fidelity``: Σ⁻¹ at the weights."""
    covariance = _covariance(env, problem, at, 1.0, care_for(GAP_OF_INVERTED, False, problem.cells.shape[0]))
    return {"fidelity[0, 0]": namespace(covariance).linalg.inv(covariance)}


SENSITIVITY = prices("sensitivity", of_cells=_squared_norm)
RELATIVE = prices("privacy", "accuracy", of_queries=_target)

FORMS: Mapping[str, ProgramForm] = MappingProxyType(
    {
        "l2_strategy": ProgramForm(all_queries, strategy, SENSITIVITY),
        "l2_strategy_lmi": ProgramForm(all_queries, with_variances, SENSITIVITY),
        "l2_strategy_block": ProgramForm(all_queries, with_covariance, SENSITIVITY),
        "gamma_f": ProgramForm(all_queries, balanced, prices("columns"), worth=_root),
        "gamma_2": ProgramForm(each_query, balanced, prices("columns", "rows"), worth=_root),
        "minimax_variance": ProgramForm(
            each_query,
            lambda env, problem, at, care: {**strategy(env, problem, at, care), "t": _worst(at)},
            prices("sensitivity", "accuracy"),
        ),
        "l2_strategy_dual": ProgramForm(
            lambda env: split(env["V"]) if isinstance(env["V"], Split) else whole(env["V"]),
            # The point at t = N², where 2 N √t - t is largest.
            lambda env, problem, at, care: {
                "d": level_like(env["V"], "columns", at.norm**2 * at.cells / problem.cells)
            },
            lambda env, problem, at: {},
            dual=True,
        ),
        "fitness_for_use": ProgramForm(
            _targeted_queries, _at_targets, prices("privacy", "accuracy", of_queries=_squared_norm)
        ),
        "fitness_level": ProgramForm(level_problem, level_point, level_multipliers),
        "fitness_lmi": ProgramForm(
            _targeted_queries, _at_targets, prices("privacy[1, 1]", "accuracy", of_queries=_squared_norm)
        ),
        "fitness_penalty": ProgramForm(_targeted_queries, _at_equal_terms, RELATIVE, worth=_twice),
        "fitness_hybrid": ProgramForm(_targets_and_total, _at_equal_terms, RELATIVE, worth=_twice),
        "fitness_budget": ProgramForm(
            _targeted_queries,
            _at_budget,
            # N² / budget²: what a budget that is larger by one saves, by each share.
            prices("privacy", "accuracy", lambda env, at: (at.norm / float(env["budget"])) ** 2, _target),
            worth=lambda env, square: square / float(env["budget"]),
        ),
        "fitness_dual": ProgramForm(_unit_targets, _both_weights, _precision, dual=True, worth=_twice),
    }
)


# Fitted on one thread of a shared core, to a factor of about three: 4 iterations over 1024 cells 2 s, 15 over
# 1024 cells and 2048 queries with targets 19 s.
STEP_SECONDS = 3e-10  # of one iteration, per product of both sizes of the queries and the smaller one
HESSIAN_SECONDS = 1.3e-10  # per square of the weights times the rank
TYPICAL_ITERATIONS = {False: 5, True: 14}  # without and with weights of queries
# Measured: 8 n² doubles for as many queries as cells and no weights of theirs, 11 n² for 2n with weights.
ARRAYS_OF_QUERIES = 4  # of the size of the queries that are held at a time, and as many of the smaller square
HESSIAN = 0.5  # of the square of the weights


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    memory, seconds = 0.0, 0.01
    has_targets = "B" in env or FORMS[program].problem is each_query
    for r, s in _shapes(env, has_targets):
        weights = s + (r if has_targets else 0)
        memory += 8.0 * (ARRAYS_OF_QUERIES * (r * s + min(r, s) ** 2) + HESSIAN * weights**2)
        one = STEP_SECONDS * r * s * min(r, s) + HESSIAN_SECONDS * weights**2 * min(r, s)
        seconds += TYPICAL_ITERATIONS[has_targets] * one
    return memory, seconds


def _shapes(env: Mapping[str, Any], has_targets: bool) -> list[tuple[int, int]]:
    """Rows and columns of the parts whose nuclear norms are taken."""
    left = env.get("L", env.get("W", env.get("V")))
    right = env.get("B", left)
    if isinstance(left, Split):
        return [(a.shape[0], b.shape[1]) for a, b in zip(left.parts, right.parts, strict=True)]
    r, s = left.shape[0], right.shape[1]
    return [(r if has_targets else min(r, s), s)]


MISSING_RANK = 0.25  # part of the smaller side that the rank may be less by


def polar_of(problem: NuclearProblem, at: Iterate) -> Array | tuple[Array, ...] | None:
    """U Vᵀ of K = U diag(s) Vᵀ, of every part where there are several, from an iterate with numpy's arrays.

    A part of nearly full rank has one of orthonormal rows or columns all the same: the complement of U times
    that of V is added, which K does not see. None where a part is far from full rank, and with parts of one
    column, whose norm is a length: it would save nothing.
    """
    pairs = list(zip(problem.parts, at.spectra, strict=False))
    if problem.lines is not None or any(_lacking(p, f) > MISSING_RANK * min(p.rows.shape) for p, f in pairs):
        return None
    polars = tuple(_polar(part, f, at.cells / problem.cells) for part, f in pairs)
    return polars[0] if problem.plain else polars


def _lacking(part: QueryComponent, spectrum: Spectrum) -> int:
    """How much less the rank of a part is than its smaller side."""
    return int(min(part.rows.shape) - spectrum.values.shape[0])


def _polar(part: QueryComponent, spectrum: Spectrum, p: Array) -> Array:
    """The U Vᵀ of one part, completed where its rank is missing little; ``p``: the weights of cells."""
    if (left := spectrum.left) is None:
        xp = namespace(p)
        left = (part.rows * xp.sqrt(xp.take(p, part.cells))) @ spectrum.right / spectrum.values
    polar = left @ spectrum.right.T
    if missing := _lacking(part, spectrum):
        left_rest, right_rest = (_complement(vectors, missing) for vectors in (left, spectrum.right))
        for here in panels(len(polar)):
            polar[here] += left_rest[here] @ right_rest.T
    return polar


def _complement(vectors: Array, count: int) -> Array:
    """``count`` orthonormal columns that are orthogonal to ``vectors``, orthonormal ones."""
    columns = np.cos(np.outer(np.arange(len(vectors)), np.arange(1, count + 1)) + 1.0)
    for _ in range(2):  # the second time removes the rounding of the first
        columns = np.linalg.qr(columns - vectors @ (vectors.T @ columns))[0]
    return np.asarray(columns)


ITERATIONS_TO_FALL = 12  # iterations in which the gap has to fall by a tenth
LATER_SHARE = 0.1  # of the gap wanted
# For gaps below it a nuclear norm is decomposed again: from a polar factor it loses up to 1e-8
GAP_DECOMPOSED = 1e-7
# No gap below this is seen in floating point. The first point comes at 100 times that, which is in reach.
LEAST_GAP = 1e-14


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points of a shipped program with its givens in ``env``: the first at the gap asked for, then closer."""
    form = FORMS[program]
    problem = form.problem(env)
    clock.handed_over = clock.elapsed
    here = placed(problem, options.arrays)
    coarse = coarse_start(here)
    search_on = search(here, None if coarse is None else (coarse, None))
    at = next(search_on)
    upper = lower = bare(at)
    reachable = replace(options, tolerance=max(options.tolerance, 100 * LEAST_GAP))
    pace = Pace.of(reachable, clock, 0.99, 0.1, most=300, finest=LEAST_GAP)
    best = [upper.upper / lower.lower - 1.0]
    while True:
        gap = best[-1]
        stalled = len(best) > ITERATIONS_TO_FALL and gap > 0.9 * best[-ITERATIONS_TO_FALL]
        stop = pace.stop(len(best), done=stalled)
        ends = form.worth(env, upper.upper), form.worth(env, lower.lower)
        estimate = ends[::-1] if form.dual else ends
        if gap <= pace.wanted or stop:
            pair = (lower, upper) if form.dual else (upper, lower)
            caring = care_for(pace.wanted, pace.is_first, problem.cells.shape[0])
            again = at.cells, at.queries  # where the search goes on
            # Memory: one iterate at a time is whole, and none while a point is scored.
            search_on.close()
            if pair[0].cells is not at.cells:
                at = bare(at)
            chosen = whole_of(here, pair[0], at)
            del at
            values = _plain(form.point(env, problem, fetched(chosen), caring))
            if pair[1].cells is not pair[0].cells:
                chosen = bare(chosen)
                chosen = whole_of(here, pair[1], chosen)
            priced = fetched(chosen)
            multipliers = _plain(form.multipliers(env, problem, priced))
            polar = polar_of(problem, priced) if pace.wanted > GAP_DECOMPOSED else None
            del chosen, priced
            raw = f"gap {gap:.1e} as reported by the kernel"
            yield Point(values, multipliers, len(best), raw, stop, estimate=estimate, polar=polar)
            if stop:
                return
            del values, multipliers, polar
            pace.tighten()
            search_on = search(here, again)
            upper = lower = bare(next(search_on))
        else:
            del at
            yield Point({}, {}, len(best), "", estimate=estimate)
        at = search_on.send(pace.wanted)
        # Of equally good points the later one: rounding may have harmed one and not the next.
        upper = bare(at) if at.upper < upper.upper * (1.0 + LATER_SHARE * pace.wanted) else upper
        lower = bare(at) if at.lower > lower.lower else lower
        best.append(upper.upper / lower.lower - 1.0)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of any library as numpy's; those split into components stay so."""
    return {n: v if isinstance(v, Split | Level) else np.asarray(v, dtype=float) for n, v in values.items()}
