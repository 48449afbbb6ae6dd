"""Factorisation norms, optimal designs and the common mechanism, by hand, and points of another solver."""

import itertools
from collections.abc import Callable

import cvxpy as cp
import numpy as np
from flint import arb, arb_mat
from judge import balls
from judge.programs import RULES as PROGRAMS, Formula, Point, Rule, dot, roots, total
from judge.rivals import FULL, RIVALS as STRATEGIES, Rival, solved
from scipy.optimize import nnls


def _variances(p: Point, x: arb_mat, changes: Callable[[arb_mat], list[arb]] = balls.diagonal) -> list[arb]:
    """Variances of the weighted queries by a strategy of Gram matrix X, scaled to sensitivity 1 where it
    is above; ``changes``: the squared lengths of what neighbours change."""
    x, w = (x + x.transpose()) * arb(0.5), p.asked.weighted()
    size = balls.greatest([arb(1), *changes(x)])
    for power in (None, -90, -80, -70, -60, -50, -45, -40):
        moved = x + balls.identity(p.n) * (arb(0) if power is None else size * arb(2) ** power)
        if balls.is_positive_definite(moved):
            size = balls.greatest([arb(1), *changes(moved)])
            rows = zip(w.tolist(), moved.solve(w.transpose()).transpose().tolist(), strict=True)
            return [size * dot(a, b) for a, b in rows]
    return [arb("inf")]


def _unit(p: Point) -> arb_mat:
    """X over t, which is its largest diagonal entry."""
    return p.variable("X") * (1 / p.variable("t")[0, 0])


def _weighed(cells: str, queries: str | None) -> Formula:
    """‖diag(√q) W diag(√d)‖∗² / (Σ q Σ d); q uniform where queries have no multipliers."""

    def proved(p: Point) -> arb:
        w, d = p.asked.weighted(), p.multipliers(cells)
        q = [arb(1)] * w.nrows() if queries is None else p.multipliers(queries)
        return balls.nuclear(balls.scaled(w, roots(q), roots(d))) ** 2 / (total(q) * total(d))

    return proved


def _squares(variances: list[arb]) -> arb:
    return total(x * x for x in variances)


def _lp_bound(p: Point) -> arb:
    v = list(p.multiplier("v").entries())
    d = p.multipliers("sensitivity")
    fidelity = balls.nuclear(balls.scaled(p.asked.weighted(), roots(v), roots(d)))
    return fidelity**4 / (total(d) ** 2 * _squares(v))


def _filtered(p: Point) -> arb:
    """The error of a lower-triangular Toeplitz matrix times the squared length of its first column."""
    a = p.vector("a")
    rows = arb_mat([[a[i - j] if i >= j else arb(0) for j in range(p.n)] for i in range(p.n)])
    answers = rows.transpose().solve(p.asked.weighted().transpose())
    return dot(a, a) * total(x * x for x in answers.entries())


def _root_of(formula: Formula) -> Formula:
    return lambda p: balls.root(formula(p))


def _points(p: Point) -> arb_mat:
    """V: the psd root of B G Bᵀ times B, one design point a column."""
    b = balls.matrix(p.design("basis"))
    return balls.psd_root(b * p.asked.gram() * b.transpose()) * b


def _information(p: Point, d: list[arb]) -> arb_mat:
    d = [x.max(arb(0)) for x in d]
    return balls.gram(balls.scaled(_points(p), right=roots(x / total(d) for x in d)).transpose())


def _by_inverse(m: arb_mat) -> arb:
    return m.inv().trace()


def _by_determinant(m: arb_mat) -> arb:
    return m.det().log()


def _least_eigenvalue(m: arb_mat) -> arb:
    """A lower bound of it, from that in doubles."""
    m = (m + m.transpose()) * arb(0.5)
    near = arb(float(np.linalg.eigvalsh(balls.doubles(m))[0]))
    for power in (-50, -45, -40, -35, -30):
        below = near - abs(near) * arb(2) ** power
        if balls.is_positive_definite(m - balls.identity(m.nrows()) * below):
            return below
    return arb("-inf")


def _designed(value: Formula) -> Formula:
    return lambda p: value(_information(p, p.vector("d")))  # type: ignore[arg-type]


def _a_bound(p: Point) -> arb:
    y = p.multiplier("Y")
    return y.trace() ** 2 / balls.greatest(balls.columns_squared(y * _points(p)))


def _seen(p: Point, y: arb_mat) -> arb:
    v = _points(p)
    return balls.greatest(balls.diagonal(v.transpose() * y * v))


def _d_from(p: Point, y: arb_mat) -> arb:
    y, k = (y + y.transpose()) * arb(0.5), y.nrows()
    return k * (_seen(p, y) / k).log() - y.det().log()


def _e_from(p: Point, y: arb_mat) -> arb:
    return _seen(p, y) / y.trace()


def _given(p: Point) -> tuple[arb_mat, arb_mat]:
    b = balls.matrix(p.design("basis"))
    return b * p.asked.gram() * b.transpose(), balls.identity(b.nrows())


def _common(p: Point) -> arb:
    x = p.variable("X")
    x = (x + x.transpose()) * arb(0.5)
    kept = all(balls.is_positive_definite(m) for m in (x, *(s - x for s in _given(p))))
    return x.trace() if kept else arb("-inf")


def _common_from(p: Point, one: arb_mat, two: arb_mat) -> arb:
    over = total((y * s).trace() for y, s in zip((one, two), _given(p), strict=True))
    return over / _least_eigenvalue(one + two)


B = 4  # steps apart, by default


def _most_of_a_person(diagonal: list[arb]) -> arb:
    """The largest sum over steps of which any two are B apart, step by step."""
    best = [arb(0)] * B
    for x in diagonal:
        best.append(best[-1].max(best[-B] + x))
    return best[-1]


def _banded(p: Point) -> arb:
    x = p.variable("X")
    x = (x + x.transpose()) * arb(0.5)
    assert all(x[i, j] == 0 for i in range(p.n) for j in range(p.n) if abs(i - j) >= B)
    return _most_of_a_person(balls.diagonal(x)).max(arb(1)) * x.solve(p.asked.gram()).trace()


def _banded_bound(p: Point) -> arb:
    """tr (W Y Wᵀ)^½, squared, over the largest sum over a window of what the band of |Y| adds up to.

    The psd part of Y, from numpy's eigenvectors, is G Gᵀ: any psd matrix proves what its own formula gives.
    """
    values, vectors = np.linalg.eigh(balls.doubles(p.multiplier("Y")))
    g, w = balls.matrix(vectors * np.sqrt(values.clip(0))), p.asked.weighted()
    y = g * g.transpose()
    sums = [total(abs(y[i, j]) for j in range(p.n) if abs(i - j) < B) for i in range(p.n)]
    windows = [total(sums[i : i + B]) for i in range(max(1, p.n - B + 1))]
    return balls.nuclear(w * g) ** 2 / balls.greatest([*windows, total(sums) / p.n])


_GAMMA_2 = _root_of(_weighed("columns", "rows"))


def _released(p: Point) -> list[arb]:
    """The answers that refine_counts is given by default."""
    sums = [total(row) for row in p.asked.weighted().tolist()]
    return [own - balls.greatest(sums) / 2 for own in sums]


def _off(p: Point, x: list[arb]) -> list[arb]:
    pairs = zip(p.asked.weighted().tolist(), _released(p), strict=True)
    return [dot(row, x) - y for row, y in pairs]


def _refined(p: Point) -> arb:
    x = p.vector("x")
    assert all(own >= 0 for own in x)
    return total(r * r for r in _off(p, x))


def _refined_bound(p: Point) -> arb:
    """For counts of at most 10 n rows, from any r: here from the point. Squares are not below 0."""
    r, y = _off(p, p.vector("x")), _released(p)
    slopes = [2 * dot(column, r) for column in p.asked.weighted().transpose().tolist()]
    least = -balls.greatest([arb(0), *(-own for own in slopes)])
    return (-2 * dot(r, y) - dot(r, r) + 10 * p.n * least).max(arb(0))


def _nearest(p: Point) -> arb:
    """By scipy's own non-negative least squares."""
    rows = np.array([[float(v) for v in row] for row in p.asked.weighted().tolist()])
    found = nnls(rows, np.array([float(y) for y in _released(p)]))[0]
    scale = min(1.0, 10 * p.n / max(found.sum(), 1e-300))
    return total(r * r for r in _off(p, [arb(float(v)) * arb(scale) for v in found]))


def _moved(x: arb_mat) -> list[arb]:
    """The squared lengths of columns, and of their differences: workloads of matrices may drop rows."""
    pairs = itertools.combinations(range(x.nrows()), 2)
    return [*balls.diagonal(x), *(x[i, i] + x[j, j] - x[i, j] - x[j, i] for i, j in pairs)]


def _moved_bound(p: Point) -> arb:
    """A column for each pair, and for each cell, times the root of its weight."""
    w, d = p.asked.weighted(), [x.max(arb(0)) for x in p.multiplier("moved").entries()]
    alone = p.multipliers("dropped")
    pairs = [(i, j, d[i * p.n + j] + d[j * p.n + i]) for i, j in itertools.combinations(range(p.n), 2)]
    rows = [
        [*((row[i] - row[j]) * balls.root(x) for i, j, x in pairs)]
        + [row[i] * balls.root(x) for i, x in enumerate(alone)]
        for row in w.tolist()
    ]
    return balls.nuclear(arb_mat(rows)) ** 2 / (total(d) + total(alone))


def _moved_strategy(p: Point) -> arb:
    """Every pair in a line of its own."""
    w = balls.doubles(p.asked.weighted())
    x = cp.Variable((p.n, p.n), PSD=True)
    pairs = itertools.combinations(range(p.n), 2)
    lines = [cp.diag(x) <= 1, *(x[i, i] + x[j, j] - 2 * x[i, j] <= 1 for i, j in pairs)]
    solved(cp.Problem(cp.Minimize(sum(cp.matrix_frac(row / np.linalg.norm(w), x) for row in w)), lines))
    return total(_variances(p, balls.matrix((1 - FULL) * x.value + FULL * np.eye(p.n) / 2), _moved))


def _with_total(p: Point) -> arb:
    """The objective, with one row a cell in all."""
    assert abs(float(total(p.vector("x"))) - p.n) < 1e-8 * p.n
    return _refined(p)


def _with_total_bound(p: Point) -> arb:
    """The bound with the multiplier z of the total."""
    r, y, (z,) = _off(p, p.vector("x")), _released(p), p.multiplier("known").entries()
    slopes = [2 * dot(column, r) + z for column in p.asked.weighted().transpose().tolist()]
    least = -balls.greatest([arb(0), *(-own for own in slopes)])
    return (-2 * dot(r, y) - z * p.n - dot(r, r) + 10 * p.n * least).max(arb(0))


def _nearest_with_total(p: Point) -> arb:
    """By cvxpy."""
    rows = np.array([[float(v) for v in row] for row in p.asked.weighted().tolist()])
    x = cp.Variable(p.n, nonneg=True)
    off = cp.sum_squares(rows @ x - np.array([float(y) for y in _released(p)]))
    solved(cp.Problem(cp.Minimize(off), [cp.sum(x) == p.n]))
    found = np.maximum(x.value, 0.0)
    return total(r * r for r in _off(p, [arb(float(v)) * p.n / arb(float(found.sum())) for v in found]))


K = 2  # rows of one person, by default
RULES = {
    "banded_strategy": Rule(_banded, _banded_bound),
    "a_optimal_design": Rule(_designed(_by_inverse), _a_bound),
    "common_mechanism": Rule(
        _common,
        lambda p: _common_from(p, p.multiplier("first[0, 0]"), p.multiplier("second[0, 0]")),
        maximises=True,
    ),
    "d_optimal_design": Rule(
        _designed(_by_determinant), lambda p: _d_from(p, p.multiplier("Y")), maximises=True
    ),
    "e_optimal_design": Rule(
        _designed(_least_eigenvalue), lambda p: _e_from(p, p.multiplier("least[0, 0]")), maximises=True
    ),
    "gamma_2": Rule(lambda p: balls.root(balls.greatest(_variances(p, _unit(p)))), _GAMMA_2),
    "gamma_f": Rule(
        lambda p: balls.root(total(_variances(p, _unit(p))) / p.asked.weighted().nrows()),
        _root_of(_weighed("columns", None)),
    ),
    "lp_strategy": Rule(lambda p: _squares(_variances(p, p.variable("X"))), _lp_bound),
    "minimax_variance": Rule(
        lambda p: balls.greatest(_variances(p, p.variable("X"))), _weighed("sensitivity", "accuracy")
    ),
    "refine_counts": Rule(_refined, _refined_bound),
    "replace_one": Rule(lambda p: total(_variances(p, p.variable("X"), _moved)), _moved_bound),
    "refine_tables": Rule(_with_total, _with_total_bound),
    "toeplitz_strategy": Rule(_filtered, PROGRAMS["p_identity"].proved),
    "user_level_strategy": Rule(
        lambda p: K**2 * total(_variances(p, p.variable("X"))),
        lambda p: K**2 * _weighed("sensitivity", None)(p) * p.asked.weighted().nrows(),
    ),
}


def _largest(errors: list[cp.Expression]) -> cp.Expression:
    return cp.max(cp.hstack(errors))


def _sum_of_squares(errors: list[cp.Expression]) -> cp.Expression:
    return cp.norm(cp.hstack(errors))


def _strategy(p: Point, overall: Callable[[list[cp.Expression]], cp.Expression]) -> list[arb]:
    """The variances of the strategy with the least of what they come to."""
    w = balls.doubles(p.asked.weighted())
    w = w / np.linalg.norm(w)
    x = cp.Variable((p.n, p.n), PSD=True)
    errors = [cp.matrix_frac(row, x) for row in w]
    solved(cp.Problem(cp.Minimize(overall(errors)), [cp.diag(x) <= 1]))
    return _variances(p, balls.matrix((1 - FULL) * x.value + FULL * np.eye(p.n)))


def _psd(y: cp.Constraint) -> arb_mat:
    """The multiplier of a matrix inequality, moved to where it is psd."""
    found = (y.dual_value + y.dual_value.T) / 2
    return balls.matrix(found + FULL * np.trace(found) * np.eye(len(found)))


def _design(p: Point, objective: Callable[[cp.Expression], cp.Expression]) -> arb_mat:
    """The information of the design of the largest value."""
    v = balls.doubles(_points(p))
    d = cp.Variable(p.n, nonneg=True)
    solved(cp.Problem(cp.Maximize(objective(v @ cp.diag(d) @ v.T)), [cp.sum(d) <= 1]))
    return _information(p, balls.reals(np.maximum(d.value, 0.0)))


def _least_trace(m: cp.Expression) -> cp.Expression:
    return -sum(cp.matrix_frac(row, m) for row in np.eye(m.shape[0]))


def _ellipsoid(p: Point) -> arb:
    """Where a program maximises the rival is a point of its dual."""
    return _d_from(p, _design(p, cp.log_det).inv())


def _worst_directions(p: Point) -> arb:
    v = balls.doubles(_points(p))
    d, t = cp.Variable(p.n, nonneg=True), cp.Variable()
    least = v @ cp.diag(d) @ v.T - t * np.eye(len(v)) >> 0
    solved(cp.Problem(cp.Maximize(t), [least, cp.sum(d) <= 1]))
    return _e_from(p, _psd(least))


def _shared(p: Point) -> arb:
    one, two = map(balls.doubles, _given(p))
    x = cp.Variable(one.shape, PSD=True)
    first, second = one - x >> 0, two - x >> 0
    solved(cp.Problem(cp.Maximize(cp.trace(x)), [first, second]))
    return _common_from(p, _psd(first), _psd(second))


def _covered(p: Point) -> arb:
    """Every set of steps in a line of its own."""
    w = balls.doubles(p.asked.weighted())
    x = cp.Variable((p.n, p.n), PSD=True)
    zeros = [x[i, j] == 0 for i in range(p.n) for j in range(i + B, p.n)]
    sets = itertools.chain(*(itertools.combinations(range(p.n), size) for size in range(1, p.n + 1)))
    apart = [s for s in sets if all(j - i >= B for i, j in itertools.pairwise(s))]
    sums = [sum(x[i, i] for i in s) <= 1 for s in apart]
    solved(
        cp.Problem(cp.Minimize(sum(cp.matrix_frac(row / np.linalg.norm(w), x) for row in w)), zeros + sums)
    )
    band = np.abs(np.subtract.outer(np.arange(p.n), np.arange(p.n))) < B
    found = balls.matrix(np.where(band, (1 - FULL) * x.value + FULL * np.eye(p.n), 0.0))
    return _most_of_a_person(balls.diagonal(found)).max(arb(1)) * found.solve(p.asked.gram()).trace()


RIVALS: dict[str, Rival] = {
    "banded_strategy": _covered,
    "a_optimal_design": lambda p: _by_inverse(_design(p, _least_trace)),
    "common_mechanism": _shared,
    "d_optimal_design": _ellipsoid,
    "e_optimal_design": _worst_directions,
    "gamma_2": lambda p: balls.root(balls.greatest(_strategy(p, _largest))),
    "gamma_f": lambda p: balls.root(total(_strategy(p, sum)) / p.asked.weighted().nrows()),
    "lp_strategy": lambda p: _squares(_strategy(p, _sum_of_squares)),
    "minimax_variance": lambda p: balls.greatest(_strategy(p, _largest)),
    "refine_counts": _nearest,
    "replace_one": _moved_strategy,
    "refine_tables": _nearest_with_total,
    "toeplitz_strategy": STRATEGIES["l2_strategy"],
    "user_level_strategy": lambda p: K**2 * total(_strategy(p, sum)),
}
