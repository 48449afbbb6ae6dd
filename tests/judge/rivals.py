"""Points of other solvers, for the bounds: none that is feasible may have a lower objective than is proved.

Recomputing a false certificate only confirms it. Here each convex problem is written again from its paper
(cvxpy, or a plain iteration in numpy), no ``repair`` of a program and no code of mmopt in it. Its point is
made feasible and evaluated in balls. A point is only an attack when it is nearly optimal: ``best`` takes the
best of several.
"""

from collections.abc import Callable, Mapping, Sequence

import cvxpy as cp
import numpy as np
from flint import arb, arb_mat
from judge import balls
from judge.measured import Asked, Measured
from judge.programs import (
    Point,
    barred,
    by_trace,
    design_value,
    design_weights,
    dot,
    forth_value,
    group_value,
    grouped,
    reconstruction_before,
    reconstruction_value,
    separate,
    separate_value,
    soft,
    weighted_value,
)

Array = np.ndarray
Rival = Callable[[Point], arb]
STEPS = 4000
FULL = 1e-7  # of the identity, mixed into a Gram matrix so that it has an inverse


def fixed_point(w: Array, steps: int = STEPS) -> Array:
    """X (n, n) with diagonal at most about 1 and tr(WᵀW X⁻¹) nearly least: d <- d · diag(X)², X from d."""
    n = w.shape[1]
    d = np.full(n, 1.0 / n)
    x = np.eye(n)
    for _ in range(steps):
        scale = np.sqrt(np.maximum(d, 1e-200))
        _, s, vt = np.linalg.svd(w * scale, full_matrices=False)
        x = (vt.T * s) @ vt / np.outer(scale, scale) / s.sum()
        if np.diag(x).max() < 1 + 1e-6:
            break
        d = d * np.diag(x) ** 2
        d /= d.sum()
    return x


def _completed(x: Array) -> Array:
    """Scaled to a largest diagonal entry of 1 and filled up to it, and never singular."""
    x = x / np.diag(x).max()
    return x + np.diag(1 - np.diag(x)) + FULL * np.eye(len(x))


def _trace(queries: arb_mat, x: Array) -> arb:
    return by_trace(balls.matrix((x + x.T) / 2), balls.gram(queries))


def least_total_error(asked: Asked) -> arb:
    """The error of a strategy that is nearly the best of all, in balls."""
    w = asked.weighted()
    x = fixed_point(balls.doubles(w))
    return balls.smallest([_trace(w, _completed(x)), _trace(w, x + FULL * np.eye(len(x)))])


def _weighted_l2(p: Point) -> arb:
    queries, targets = p.asked.targeted()
    v = balls.scaled(queries, left=[1 / c for c in targets])
    x = fixed_point(balls.doubles(v))
    return balls.smallest([_trace(v, _completed(x)), _trace(v, x + FULL * np.eye(len(x)))])


def solved(problem: cp.Problem) -> None:
    problem.solve(solver=cp.CLARABEL)
    assert problem.status in ("optimal", "optimal_inaccurate")


def _profile(p: Point) -> tuple[Array, list[arb], list[arb]]:
    """X = BᵀΣ⁻¹B that is nearly best for targets, its costs and its ratios of variance to target, in balls.

    Any positive definite X is the noise of a strategy: cell i costs Xᵢᵢ, query w has variance w X⁻¹ wᵀ.
    """
    queries, targets = p.asked.targeted()
    rows = balls.doubles(queries) / np.sqrt([float(c) for c in targets])[:, None]
    n = rows.shape[1]
    x = cp.Variable((n, n), PSD=True)
    solved(cp.Problem(cp.Minimize(cp.max(cp.diag(x))), [cp.matrix_frac(row, x) <= 1 for row in rows]))
    gram = (x.value + x.value.T) / 2
    gram = gram + FULL / 10 * np.diag(gram).max() * np.eye(n)
    return gram, *_told(p, gram)


def _told(p: Point, gram: Array) -> tuple[list[arb], list[arb]]:
    queries, targets = p.asked.targeted()
    exact = balls.matrix(gram)
    assert balls.is_positive_definite(exact)
    solved = exact.solve(queries.transpose()).transpose()
    rows = zip(queries.tolist(), solved.tolist(), targets, strict=True)
    return balls.diagonal(exact), [dot(a, b) / c for a, b, c in rows]


def _product(p: Point) -> arb:
    _, costs, ratios = _profile(p)
    return balls.greatest(costs) * balls.greatest(ratios)


def _sum(p: Point) -> arb:
    return 2 * balls.root(_product(p))


def _soft(p: Point) -> arb:
    """From the best for hard maxima by a descent over scale and a Cholesky factor."""
    gram, costs, ratios = _profile(p)
    gram = gram * np.sqrt(float(balls.greatest(ratios)) / float(balls.greatest(costs)))
    n, rng = len(gram), np.random.default_rng(0)
    t1, t2 = p.parameter("t1", 1), p.parameter("t2", 1)
    queries, targets = (
        balls.doubles(p.asked.targeted()[0]),
        np.array([float(c) for c in p.asked.targeted()[1]]),
    )

    def rough(x: Array) -> float:
        ratios = np.einsum("ij,ji->i", queries, np.linalg.solve(x, queries.T)) / targets
        a, b = float(t1) * np.diag(x), float(t2) * ratios
        return float(np.logaddexp.reduce(a) / float(t1) + np.logaddexp.reduce(b) / float(t2))

    factor, best, size = np.linalg.cholesky(gram), rough(gram), 0.3
    for _ in range(STEPS):
        move = factor + size * np.tril(rng.normal(size=(n, n))) * np.abs(factor).max() / n
        value = rough(move @ move.T)
        factor, best, size = (
            (move, value, size * 1.5) if value < best else (factor, best, max(size * 0.95, 1e-6))
        )
    costs, ratios = _told(p, factor @ factor.T)
    return soft(costs, t1) + soft(ratios, t2)


def _barred(p: Point) -> arb:
    """From a conic solver, with logarithms as exponential cones."""
    queries, targets = p.asked.targeted()
    c = np.array([float(target) for target in targets])
    rows, n = balls.doubles(queries), queries.ncols()
    x, alpha = cp.Variable((n, n), PSD=True), cp.Variable()
    spare = [target - cp.matrix_frac(row, x) for target, row in zip(c, rows, strict=True)]
    logs = cp.sum(cp.log(alpha - cp.diag(x))) + cp.sum(cp.log(cp.hstack(spare)))
    solved(cp.Problem(cp.Minimize(float(p.parameter("t", 1)) * alpha - logs)))
    costs, ratios = _told(p, (x.value + x.value.T) / 2)
    return barred(p, arb(float(alpha.value)), costs, ratios)


def _weights(c: Sequence[arb], seen: Array, power: int) -> list[arb]:
    """Nearly best u > 0 for Σ c / u^power with seen.T @ u <= 1."""
    amounts = np.array([float(x) for x in c])
    u = cp.Variable(len(amounts), pos=True)
    shares = (amounts / amounts.max()) ** (1 / (power + 1))
    # u = shares · v keeps numbers of one size.
    objective = (amounts / amounts.max() / shares**power) @ cp.power(u, -power)
    solved(cp.Problem(cp.Minimize(objective), [(seen.T * shares) @ u <= 1]))
    return balls.reals(shares * u.value)


def _weighting(power: int) -> Rival:
    def rival(p: Point) -> arb:
        count = design_weights(p).nrows()
        design = p.used(count)
        seen = np.abs(balls.doubles(design)) ** power
        return weighted_value(p, _weights(p.leaning(design), seen, 1 if power == 2 else 2), power)

    return rival


def _groups(p: Point) -> arb:
    _, c, s = grouped(p)
    return group_value(p, _weights(c, balls.doubles(s), 1))


def _separate(p: Point) -> arb:
    groups, design, c = separate(p)
    squares, u = balls.doubles(design) ** 2, [arb(0)] * design.nrows()
    for own in groups:
        for i, x in zip(own, _weights([c[i] for i in own], squares[own], 1), strict=True):
            u[i] = x
    return separate_value(p, u)


def _design(p: Point) -> arb:
    """In coordinates of the design's span, where the Gram matrix has an inverse."""
    d, w = p.design("D"), balls.doubles(p.asked.weighted())
    _, s, vt = np.linalg.svd(d, full_matrices=False)
    n = vt[s > s[0] * 1e-10].T
    e, v = d @ n, w @ n
    u = cp.Variable(len(d), nonneg=True)
    x = e.T @ cp.diag(u) @ e
    scale = np.linalg.norm(v)
    solved(cp.Problem(cp.Minimize(sum(cp.matrix_frac(row / scale, x) for row in v)), [(d * d).T @ u <= 1]))
    return design_value(p, balls.reals(np.where(u.value > 1e-9, u.value, 0.0)))


def _laplace_strategies(p: Point) -> arb:
    """The best L1 strategy of a random descent from the identity."""
    w, n = balls.doubles(p.asked.weighted()), p.n
    rng = np.random.default_rng(0)

    def rough(a: Array) -> float:
        a = a / np.abs(a).sum(axis=0).max()
        return float(np.trace(np.linalg.lstsq(a.T @ a, w.T @ w, rcond=None)[0]))

    a, size = np.eye(n), 0.3
    best = rough(a)
    for _ in range(STEPS):
        move = a + size * rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3)
        if np.linalg.cond(move) > 1e6:
            continue
        value = rough(move)
        a, best, size = (move, value, size * 1.3) if value < best else (a, best, max(size * 0.98, 1e-4))
    return Measured.dense(a, 1).total_error(p.asked)


def _rotations(p: Point) -> arb:
    """The least L1 sensitivity of rotations of the psd root; Cayley's formula is exactly orthogonal."""
    profile, rng = balls.psd_root(p.asked.gram()), np.random.default_rng(0)
    n, found = p.n, [balls.largest_column(profile, 1)]
    eye = balls.identity(n)
    for _ in range(30):
        k = rng.normal(size=(n, n)) * rng.choice([0.1, 1.0])
        skew = balls.matrix(k - k.T)
        found.append(balls.largest_column((eye + skew).solve(eye - skew) * profile, 1))
    return balls.smallest(found)


def _reconstruct(p: Point) -> arb:
    """β V Aᵀ (I + β A Aᵀ)⁻¹, where the gradient is zero."""
    v, a = p.fields["givens"].get("V", p.root), p.design("A")
    beta = float(p.parameter("beta", 10))
    return reconstruction_value(
        p, balls.matrix(np.linalg.solve(np.eye(len(a)) + beta * a @ a.T, beta * a @ np.asarray(v).T).T)
    )


def _restrategise(p: Point) -> arb:
    v, s, r = p.root, p.design("S"), balls.doubles(reconstruction_before(p))
    norm = int(p.fields["strategy"]["norm"])
    a = cp.Variable(s.shape)
    limits = [cp.norm(a[:, i], norm) <= 1 for i in range(s.shape[1])]
    solved(cp.Problem(cp.Minimize(cp.sum_squares(v - r @ a)), limits))
    return forth_value(p, balls.matrix(a.value))


def _any_strategy(p: Point) -> arb:
    return least_total_error(p.asked)


RIVALS: Mapping[str, Rival] = {
    **dict.fromkeys(
        ("l2_strategy", "l2_strategy_block", "l2_strategy_dual", "l2_strategy_lmi"), _any_strategy
    ),
    **dict.fromkeys(("augment", "eigen_design", "eigen_separation", "principal_vectors"), _any_strategy),
    **dict.fromkeys(("singular_value_bound", "low_rank_gaussian"), _any_strategy),
    **dict.fromkeys(("min_error", "p_identity", "l1_strategy", "low_rank"), _laplace_strategies),
    **dict.fromkeys(("fitness_for_use", "fitness_lmi", "fitness_budget", "fitness_level"), _product),
    **dict.fromkeys(("fitness_penalty", "fitness_hybrid", "fitness_dual", "fitness_softmax"), _sum),
    **dict.fromkeys(("query_weighting", "query_weighting_inverse", "query_weighting_dual"), _weighting(2)),
    **dict.fromkeys(
        ("laplace_weighting", "laplace_weighting_power", "laplace_weighting_dual"), _weighting(1)
    ),
    **dict.fromkeys(("low_rank_strategy", "low_rank_gaussian_strategy"), _restrategise),
    **dict.fromkeys(("min_sensitivity", "min_sensitivity_rotation"), _rotations),
    "barrier_step": _barred,
    "design_weighting": _design,
    "fitness_barrier": _product,
    "fitness_refined": _product,
    "group_weighting": _groups,
    "low_rank_reconstruction": _reconstruct,
    "separate_weighting": _separate,
    "softmax_step": _soft,
    "weighted_l2": _weighted_l2,
}
