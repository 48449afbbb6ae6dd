"""Exponentials, eigenvalues, roots, polar factors and nuclear norms with proved error bounds (see ``balls``).

**Eigenvalues.** Let V be computed eigenvectors and L a diagonal matrix of floats. By Weyl the eigenvalues of
A and of V L Vᵀ differ by at most ‖A - V L Vᵀ‖, and by Ostrowski (Horn & Johnson, Matrix Analysis, 4.5.9)
those of V L Vᵀ are those of L times factors within ‖VᵀV - I‖ of 1.

**Log-determinants.** Let R be roughly the inverse of A's Cholesky factor: det A = det(R A Rᵀ) / det(R)²,
and R A Rᵀ = I + E with a small E. For ‖E‖ <= d < 1 every eigenvalue x of E has x - x² / (2 (1 - d)) <=
log(1 + x) <= x (the Taylor series), so that log det(I + E) is at most tr E and at least that less
‖E‖_F² / (2 (1 - d)).

**Nuclear norms.** The norm is bounded from both sides without trusting a decomposition. Let K (p, q) have
p <= q, U (p, p) and Z (p, q) be any matrices.

Below: ‖K‖∗ >= <K, Z> / ‖Z‖. With K = U S Vᵀ the best Z is U Vᵀ, which comes from the eigenvectors U of
K Kᵀ: the rows of Uᵀ K, scaled to length one, are V (see ``graded``). These rows are not quite orthogonal;
Newton's step Z <- Z - (Z Zᵀ - I) Z / 2 (Higham, Functions of Matrices, section 8.3) brings the digits back.

Above: K = U⁻ᵀ (Uᵀ K), so ‖K‖∗ <= Σ ‖(Uᵀ K)ᵢ‖ / σ with (Uᵀ K)ᵢ the rows and σ the least singular value of U.

A solver may have the polar factor U Vᵀ approximately. Where K Zᵀ is symmetric, as it then is, that factor
serves as Z and saves the decomposition; a simple upper bound is then enough.

Products of matrices are summed in blocks of ``SUMMED_TERMS`` terms, whose rounding errors are those of
``SUMMED_TERMS`` + q / ``SUMMED_TERMS`` terms instead of q.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.special

from mmopt.errors import ProgramError
from mmopt.numerics import balls, float_functions
from mmopt.numerics.arrays import EPS, Array, graded, panels
from mmopt.numerics.balls import (
    GROW,
    POWER,
    TINY,
    Ball,
    ends,
    exact,
    frobenius,
    gamma,
    matmul,
    norm,
    rounded,
    sub,
    transpose,
    unknown,
)

# Steps of inverse iteration, and the shares of its estimate, which may be too high, that are tried.
INVERSE_STEPS = 6
ESTIMATE_SHARES = (0.5, 0.1, 0.01)


def exp(a: Ball) -> Ball:
    """The exponential by the ends of the ball: it increases."""
    low, high = map(np.exp, ends(a))
    mid = np.exp(a.mid)
    return rounded(mid, np.maximum(high - mid, mid - low) + POWER * (mid + high))


def log(a: Ball) -> Ball:
    """The logarithm by the ends of the ball, where the argument is proved to be positive."""
    positive = ends(a)[0] > 0
    low, high = (np.log(np.where(positive, end, 1.0)) for end in ends(a))
    mid = np.log(np.where(positive, a.mid, 1.0))
    spread = np.maximum(high - mid, mid - low) + POWER * (np.abs(mid) + np.abs(low) + np.abs(high))
    return rounded(mid, np.where(positive, spread, np.inf))


def entropy(a: Ball) -> Ball:
    """-x log x where x is proved to be positive; 0 for x = 0."""
    return _zero_at_zero(a, balls.neg(balls.mul(a, log(a))))


def rel_entropy(a: Ball, b: Ball) -> Ball:
    """x log(x / y) where x and y are proved to be positive; 0 for x = 0."""
    return _zero_at_zero(a, balls.mul(a, log(balls.div(a, b))))


def _zero_at_zero(a: Ball, value: Ball) -> Ball:
    """The value, replaced by exactly 0 where x, ``a``, is exactly 0."""
    none = np.broadcast_to((a.mid == 0) & (a.rad == 0), value.mid.shape)
    return Ball(np.where(none, 0.0, value.mid), np.where(none, 0.0, value.rad))


def huber(a: Ball, limit: Ball) -> Ball:
    """Huber's function of x, s (2 |x| - s) with s the smaller one of |x| and the limit."""
    size = balls.absolute(a)
    near = balls.smaller(size, limit)
    return balls.mul(near, sub(balls.add(size, size), near))


def logistic(a: Ball) -> Ball:
    """log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), so that nothing overflows."""
    return balls.add(
        balls.larger(a, exact(0.0)), log(balls.add(exact(1.0), exp(balls.neg(balls.absolute(a)))))
    )


def logsumexp(a: Ball, axis: int | None = None) -> Ball:
    """The logarithm of a sum of exponentials, less the largest midpoint first, so that nothing overflows."""
    top = np.max(a.mid, axis=axis, keepdims=True)
    if not np.isfinite(top).all():
        return unknown(scipy.special.logsumexp(a.mid, axis=axis))
    sums = balls.total(exp(sub(a, exact(top))), axis=axis)
    return balls.add(log(sums), exact(top.reshape(sums.mid.shape)))


def symmetric(a: Ball) -> Ball:
    """The symmetric part of the matrices, around a symmetric midpoint.

    The radii need not be symmetric: only their Frobenius norm is needed.
    """
    if np.array_equal(a.mid, a.mid.T):
        return a
    return rounded((a.mid + a.mid.T) / 2, a.rad + np.abs(a.mid - a.mid.T) / 2)


def eigenvalue_bound(a: Ball) -> float:
    """A number proved to be at most every eigenvalue of the symmetric part of every matrix in the ball.

    Rump 2006, Verification of positive definiteness: where Cholesky's algorithm succeeds on
    the rounded M - s I, the least eigenvalue of M is at least s - c, with c = γ/(1 - γ) trace(M - s I)
    and γ = γ of n + 2 terms. -inf where no s succeeds.
    """
    m = symmetric(a)
    if not (np.isfinite(m.mid).all() and np.isfinite(m.rad).all()):
        return -float("inf")
    guess = float(np.linalg.eigvalsh(m.mid)[0])
    size = gamma(len(m.mid) + 2) * float(np.abs(np.diag(m.mid)).sum())
    bounds = (_bound_by_shift(m, s) for s in (guess - size, guess / 2, 0.0))
    return next((bound for bound in bounds if bound > -np.inf), -np.inf)


def _bound_by_shift(m: Ball, s: float) -> float:
    """A number, s less the error, proved to be below all eigenvalues of a symmetric ``m``; or else -inf."""
    if not float_functions.is_definite(m.mid, s):
        return -np.inf
    slip = gamma(len(m.mid) + 4) * float(np.abs(np.diagonal(m.mid) - s).sum() + abs(s)) * 2 + TINY
    return s - slip - frobenius(m.rad)


def is_semidefinite(a: Ball) -> bool:
    """Whether the symmetric part of every matrix in the ball is proved to have no negative eigenvalue.

    By Cholesky's algorithm, or because every diagonal entry is at least the sum of the others in its row.
    """
    m = symmetric(a)
    if not (np.isfinite(m.mid).all() and np.isfinite(m.rad).all()):
        return False
    slip = 4 * gamma(len(m.mid) + 4) * float(np.abs(np.diagonal(m.mid)).sum()) + TINY
    if _bound_by_shift(m, slip + 2 * frobenius(m.rad)) > 0:
        return True
    # Twice the diagonal against whole rows, which have it once.
    rows = (np.abs(m.mid) + np.maximum(m.rad, m.rad.T)).sum(axis=1) * GROW
    return bool((np.isfinite(rows) & (2 * np.diagonal(m.mid) >= rows)).all())


def positive_eigenvalue_bound(a: Ball, lower: Array) -> float:
    """A positive number proved to be below every eigenvalue of every matrix in the ball; 0 without a proof.

    a : symmetric around a symmetric midpoint; ``lower`` is roughly its Cholesky factor. Cheaper than
    ``eigenvalue_bound``, and smaller: shares of an estimate by inverse iteration are tried.
    """
    v = np.where(np.arange(len(lower)) % 2, 0.5, 1.0)  # seldom at a right angle to what is sought
    estimate = float("inf")
    for _ in range(INVERSE_STEPS):
        w = scipy.linalg.cho_solve((lower, True), v, check_finite=False)
        grown = float(np.linalg.norm(w))
        if not 0 < grown < np.inf:
            return 0.0
        estimate, v = float(np.linalg.norm(v)) / grown, w / grown
    for share in ESTIMATE_SHARES:
        if (bound := _bound_by_shift(a, share * estimate)) > 0:
            return bound
    return max(0.0, eigenvalue_bound(a))


def eigenvalues(a: Ball) -> Ball:
    """The eigenvalues of the symmetric part, ascending: see **Eigenvalues** above."""
    m = symmetric(a)
    if not (np.isfinite(m.mid).all() and np.isfinite(m.rad).all()):
        return unknown(np.zeros(len(m.mid)))
    values, vectors = float_functions.eigh(m.mid)
    v = exact(vectors)
    scaled = matmul(balls.mul(v, exact(values[None, :])), transpose(v))
    turned = norm(sub(matmul(transpose(v), v), exact(np.eye(len(values)))))
    return rounded(values, norm(sub(m, scaled)) + turned * np.abs(values) * GROW)


def sum_largest(a: Ball, k: Ball) -> Ball:
    """The sum of the k largest entries.

    It is the largest <w, x> for weights w in [0, 1] of sum k, so errors r of x move it by at most the sum of
    the k largest of r, and one of k by at most that times the largest |x|.
    """
    shares = float_functions.shares_of_largest(a.mid, float(k.mid))
    value = balls.total(balls.mul(exact(a.mid), Ball(shares, 4 * EPS * shares)))
    moved = np.sort(a.rad, axis=None)[a.mid.size - np.count_nonzero(shares) :].sum()
    return rounded(value.mid, value.rad + moved + k.rad * (np.abs(a.mid) + a.rad).max())


def geo_mean(a: Ball) -> Ball:
    """The geometric mean of entries that are proved to be positive."""
    return exp(balls.div(balls.total(log(a)), exact(float(a.mid.size))))


def cumsum(a: Ball) -> Ball:
    """Sums of the first entries."""
    return rounded(np.cumsum(a.mid), np.cumsum(a.rad) + gamma(a.mid.size) * np.cumsum(np.abs(a.mid)))


def kron(a: Ball, b: Ball) -> Ball:
    """Products of the entries of one matrix with those of another."""
    one, other = np.ones(b.mid.shape), np.ones(a.mid.shape)
    wide = (np.kron(*pair) for pair in ((a.mid, one), (a.rad, one), (other, b.mid), (other, b.rad)))
    mid, rad, by, by_rad = (np.asarray(part, dtype=float) for part in wide)
    return balls.mul(Ball(mid, rad), Ball(by, by_rad))


def largest_singular_value(a: Ball) -> Ball:
    """The root of the largest eigenvalue of the smaller Gram matrix, which is never negative."""
    wide = a if a.mid.shape[0] <= a.mid.shape[1] else transpose(a)
    return balls.sqrt(eigenvalues(matmul(wide, transpose(wide)))[-1])


def log_determinant(a: Ball) -> Ball:
    """The log-determinant of a symmetric matrix proved to be positive definite; unknown for others.

    See **Log-determinants** above: ``above`` is tr E.
    """
    m = symmetric(a)
    if (inverted := _inverse_factor(m.mid)) is None:
        return unknown(0.0)
    r, eye = exact(inverted), exact(np.eye(len(m.mid)))
    off = sub(matmul(matmul(r, m), transpose(r)), eye)
    if not (size := norm(off)) < 1:
        return unknown(0.0)
    above = balls.trace(off)
    slack = size * size / (2 * (1 - size)) * GROW
    diagonal = balls.total(log(exact(np.diagonal(inverted))))
    return sub(rounded(above.mid - slack / 2, above.rad + slack / 2), balls.add(diagonal, diagonal))


def _inverse_factor(m: Array) -> Array | None:
    """A triangular matrix of positive diagonal, roughly the inverse of a Cholesky factor, or None."""
    if not np.isfinite(m).all():
        return None
    try:
        factor = np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        return None
    inverse = np.tril(scipy.linalg.solve_triangular(factor, np.eye(len(m)), lower=True, check_finite=False))
    return inverse if np.isfinite(inverse).all() and (np.diagonal(inverse) > 0).all() else None


def root(a: Ball) -> Ball:
    """The symmetric square root of a psd matrix.

    For psd A and B, ‖√A - √B‖ is at most √‖A - B‖, and at most ‖A - B‖_F / (λ(√A) + λ(√B)) with λ
    the least eigenvalues (the difference D solves √A D + D √B = A - B). B is the square of the
    computed root, lifted so that it is proved to be psd.
    """
    mid = float_functions.root(a.mid)
    mid = (mid + mid.T) / 2
    least = eigenvalue_bound(exact(mid))
    if not np.isfinite(least):
        lift = 2 * gamma(len(mid) + 4) * float(np.abs(mid).sum()) + TINY
        mid = mid + lift * np.eye(len(mid))
        least = max(0.0, eigenvalue_bound(exact(mid)))
    elif least < 0:
        mid, least = mid - least * np.eye(len(mid)), 0.0
    change = norm(sub(a, matmul(exact(mid), exact(mid))))
    both = least + float(np.sqrt(max(0.0, eigenvalue_bound(a))))
    bound = min(float(np.sqrt(change)), change / both if both > 0 else float("inf"))
    return rounded(mid, np.full(mid.shape, bound))


def stack(a: Ball, b: Ball) -> Ball:
    """One matrix on the other without rows of zeros; ProgramError where a row may or may not be zero."""
    both = balls.joined((a, b))
    nonzero = (np.abs(both.mid) > both.rad).any(axis=1)
    if both.mid[~nonzero].any() or both.rad[~nonzero].any():  # a product too small for a float is not zero
        raise ProgramError("'stack' has no error bound here, a row may be zeros", hint="move it into 'let'")
    return both[nonzero]


def used_rows(a: Ball, amount: Ball) -> Ball:
    """The rows of a matrix whose amount is above rounding; unknown where one may or may not be."""
    mid, rad = (float_functions.used_rows(part, amount.mid) for part in (a.mid, a.rad))
    return Ball(mid, rad) if _is_clear(amount, len(amount.mid) * EPS) else unknown(mid)


def support(a: Ball) -> Ball:
    """1 where an entry is clearly positive, else 0; unknown where one may or may not be."""
    marks = float_functions.support(a.mid)
    return exact(marks) if _is_clear(a, float_functions.CLEAR_MULTIPLIER) else unknown(marks)


def _is_clear(a: Ball, share: float) -> bool:
    """Whether it is certain of each entry if it is above a share, at most one, of the largest (or of 0)."""
    low, high = ends(a)
    least, most = (share * max(float(end.max(initial=0.0)), 0.0) for end in (low, high))
    # What is above a limit that is rounded to the nearest float is above the limit itself; likewise below.
    return bool(((low > most) | (high < least) | (high <= 0.0)).all())


def of_whole(groups: Callable[[Array, float], Array]) -> Callable[[Ball, Ball], Ball]:
    """The groups of a vector's entries by a size, cut off after the point; unknown unless it is certain."""

    def form(a: Ball, size: Ball) -> Ball:
        value, (low, high) = groups(a.mid, float(size.mid)), np.floor(ends(size))
        return exact(value) if low == high else unknown(value)

    return form


def polar(a: Ball) -> Ball:
    """The orthogonal factor of a square matrix that is proved to be invertible.

    Let P be computed, H a symmetric positive definite matrix, and Q the exact orthogonal factor of P. Then
    ‖P - Q‖ <= ‖PᵀP - I‖ (singular values: |s - 1| <= |s² - 1|), and Q H has the orthogonal factor Q. For
    A = Q' H' the difference D = I - Q'ᵀQ solves H' D + D H = Q'ᵀE - EᵀQ with E = A - Q H, so that
    ‖Q' - Q‖_F <= 2 ‖E‖_F / (λ(H') + λ(H)), λ the smallest eigenvalues.
    """
    if not (np.isfinite(a.mid).all() and np.isfinite(a.rad).all()):
        return unknown(np.zeros(a.mid.shape))
    p = exact(float_functions.polar(a.mid))
    middle = p.mid.T @ a.mid
    h = exact((middle + middle.T) / 2)
    if (least := eigenvalue_bound(h)) <= 0:
        return unknown(p.mid)
    skew = norm(sub(matmul(transpose(p), p), exact(np.eye(len(p.mid)))))  # of P from orthogonal
    away = norm(sub(a, matmul(p, h))) + skew * norm(h)  # of A from Q H
    other = max(0.0, least - away)  # λ(H') is the smallest singular value of A
    moved = skew + 2.0 * away / (least + other)
    return rounded(p.mid, np.full(p.mid.shape, moved * GROW))


# Under this name, which no program can use, values may hold an approximate polar factor for the nuclear norm.
GUESS = "polar factor"
SUMMED_TERMS = 128
# Columns that are overwritten at a time.
COLUMNS_AT_A_TIME = 512
NEWTON_ROUNDS = 3  # of Newton's step
NEAR_ORTHONORMAL = 1e-7  # rows of Z with no larger error are nearly orthonormal after one step
GUESS_TOLERANCE = 1e-5  # a guess with this relative error costs the bound the square of it


def nuclear(a: Ball, guess: Array | None = None) -> Ball:
    """The nuclear norm of every matrix in the ball, of any shape.

    Where ``guess`` looks like the polar factor, the lower end is as good as that, and the upper end loose.
    """
    size = float(max(a.mid.max(initial=0.0), -a.mid.min(initial=0.0)))
    if not (np.isfinite(size) and np.isfinite(a.rad).all()):
        return unknown(0.0)
    if size and not 1e-100 < size < 1e100:  # so that no square overflows, or is lost
        bits = int(np.frexp(size)[1])
        scaled_norm = nuclear(Ball(np.ldexp(a.mid, -bits), np.ldexp(a.rad, -bits) + TINY), guess)
        return rounded(np.ldexp(scaled_norm.mid, bits), np.ldexp(scaled_norm.rad, bits))
    mid, rad = (a.mid, a.rad) if a.mid.shape[0] <= a.mid.shape[1] else (a.mid.T, a.rad.T)
    high = np.sqrt(len(mid)) * (frobenius(mid) + frobenius(rad)) * GROW
    low = 0.0
    if size and guess is not None and _looks_polar(a.mid, guess):
        low = _below(mid, rad, guess if mid is a.mid else guess.T, is_own=False)
    elif size:
        vectors, lengths, z = _decomposed(mid)
        high = min(high, _above(mid, rad, vectors, lengths))
        # Z = U V of the directions V, and beside it the columns of U where V has a row of zeros: its rows are
        # nearly orthonormal.
        missing = ~z.any(axis=1)
        for here in panels(z.shape[1], COLUMNS_AT_A_TIME):
            z[:, here] = vectors @ z[:, here]
        z = np.hstack([z, vectors[:, missing]]) if missing.any() else z
        del vectors  # memory
        low = _below(mid, rad, z)
    return rounded((low + high) / 2, (high - low) / 2 + 2 * EPS * high, 4)


def _looks_polar(mid: Array, guess: Array) -> bool:
    """Whether K Zᵀ of K, ``mid``, and Z, ``guess``, is symmetric and positive, as far as one vector shows."""
    if guess.shape != mid.shape:
        return False
    v = np.cos(np.arange(len(mid)))
    one, other = mid @ (guess.T @ v), guess @ (mid.T @ v)
    return float(v @ one) > 0 and float(np.linalg.norm(one - other)) <= GUESS_TOLERANCE * float(
        np.linalg.norm(one)
    )


def _lengths(a: Array) -> Array:
    """Lengths of the rows, without a second matrix."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", a, a)))


def _decomposed(mid: Array) -> tuple[Array, Array, Array]:
    """U, nearly orthogonal, the lengths of the rows of Uᵀ K, and V, their directions, nearly orthonormal.

    K is ``mid`` (p, q), p <= q: see **Nuclear norms** above.
    """
    vectors = float_functions.eigenvectors(mid @ mid.T)
    rows = vectors.T @ mid
    sizes, turned = graded(rows.T, vectors)
    sizes[:turned] = np.linalg.norm(vectors[:, :turned].T @ mid, axis=1)
    return vectors, sizes, rows


def _gram(a: Array) -> tuple[Array, float]:
    """A Aᵀ - I, and a bound on the Frobenius norm of its rounding errors."""
    lower = np.zeros((len(a), len(a)), order="F")
    for here in panels(a.shape[1], SUMMED_TERMS):
        lower = scipy.linalg.blas.dsyrk(1.0, a[:, here].T, 1.0, lower, trans=1, lower=1, overwrite_c=1)
    np.einsum("ii->i", lower)[:] -= 1.0
    for here in panels(len(a), SUMMED_TERMS):
        lower[here, here] += np.tril(lower[here, here], -1).T
        lower[here, here.stop :] = lower[here.stop :, here].T
    terms = min(a.shape[1], SUMMED_TERMS) + -(-a.shape[1] // SUMMED_TERMS) + 1
    return lower, gamma(terms) * (frobenius(a) ** 2 + len(a))


def _above(mid: Array, rad: Array, vectors: Array, lengths: Array) -> float:
    """An upper bound on the nuclear norm; infinity where U, ``vectors``, could be singular.

    mid, rad : K. lengths : of the rows of Uᵀ K.
    """
    gram, slip = _gram(vectors.T)
    off = frobenius(gram) + slip
    del gram
    if off >= 0.5:
        return float("inf")
    # Row i of Uᵀ K was rounded by at most γ |uᵢ|ᵀ |K|.
    errors = gamma(len(mid)) * np.sqrt(np.einsum("ij,ij->j", vectors, vectors)) * frobenius(mid)
    total = float((lengths + errors).sum()) * (1.0 + gamma(2 * sum(mid.shape) + 8))
    return total / float(np.sqrt(1.0 - off)) + float(np.sqrt(len(mid))) * frobenius(rad)


def _below(mid: Array, rad: Array, z: Array, is_own: bool = True) -> float:
    """A lower bound on the nuclear norm of K, ``mid`` and ``rad``, by Z.

    Z may have more columns than K, which then counts as filled with zeros. Newton's step is applied to Z,
    which is overwritten (or copied first, if not ``is_own``: a caller holds it), until the step is small. The
    last step is only counted: with E = Z Zᵀ - I it makes the Gram matrix I - 3 E² / 4 + E³ / 4, which is
    below I, and subtracts <E, K Zᵀ> / 2 from <K, Z>.
    """
    columns, k = mid.shape[1], z.shape[1]
    wrong = (gamma(columns) * _lengths(mid) + _lengths(rad)) * GROW
    best = 0.0
    for step in range(NEWTON_ROUNDS + 1):
        gram, slip = _gram(z)
        off = frobenius(gram)
        sizes = _lengths(z) * GROW
        inner = np.einsum("ij,ij->i", mid, z[:, :columns])
        lost = float(wrong @ sizes) * GROW + gamma(len(mid)) * float(np.abs(inner).sum()) * GROW
        best = max(best, (float(inner.sum()) - lost) / float(np.sqrt(1.0 + off + slip)) * (1 - 8 * EPS))
        if off <= NEAR_ORTHONORMAL:
            change, slack = _change(mid, z[:, :columns], gram, off)
            lost += (slack + off * float(_lengths(rad).sum())) * GROW
            norm = float(np.sqrt(1.0 + slip * (1.0 + off) ** 2))
            return max(best, (float(inner.sum()) - change - lost) / norm * (1 - 8 * EPS))
        if step == NEWTON_ROUNDS:
            break
        if not (is_own or step):
            z = np.array(z)
        for here in panels(k, COLUMNS_AT_A_TIME):
            z[:, here] -= gram @ z[:, here] / 2
        del gram
    return best


def _change(mid: Array, z: Array, gram: Array, off: float) -> tuple[float, float]:
    """<E, K Zᵀ> / 2 of ``_below``, and a bound on its rounding errors, a panel of rows at a time: memory.

    gram : E. off : its Frobenius norm.
    """
    total = 0.0
    for here in panels(len(mid), SUMMED_TERMS):
        total += float(np.einsum("ij,ij->", gram[here], mid[here] @ z.T))
    terms = sum(mid.shape) + 3 * SUMMED_TERMS + len(mid) * SUMMED_TERMS
    return total / 2, gamma(terms) * off * frobenius(mid) * frobenius(z) * GROW
