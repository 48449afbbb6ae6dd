"""The nuclear norm, bounded from both sides without trusting a decomposition.

Let K (p, q) have p <= q, U (p, p) and Z (p, q) be any matrices.

Below: ‖K‖∗ >= <K, Z> / ‖Z‖. With K = U S Vᵀ the best Z is U Vᵀ, which comes from the eigenvectors U of
K Kᵀ: the rows of Uᵀ K, scaled to length one, are V (see ``graded``). These rows are not quite orthogonal;
Newton's step Z <- Z - (Z Zᵀ - I) Z / 2 (Higham, Functions of Matrices,
section 8.3) brings the digits back.

Above: K = U⁻ᵀ (Uᵀ K), so ‖K‖∗ <= Σ ‖(Uᵀ K)ᵢ‖ / σ with (Uᵀ K)ᵢ the rows and σ the least singular value of U.

Whoever solved the program may know the polar factor U Vᵀ nearly. Where K Zᵀ is symmetric, as it then is, that
serves as Z and saves the decomposition; a simple upper bound is then enough.

Products of matrices are summed in blocks of ``SUMMED_TERMS`` terms, whose rounding errors are those of
``SUMMED_TERMS`` + q / ``SUMMED_TERMS`` terms instead of q.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.numerics.balls import GROW, TINY, Ball, frobenius, gamma, rounded, unknown
from mmopt.numerics.matrix_functions import EPS, Array, eigenvectors
from mmopt.numerics.pseudoinverse import graded, panels

__all__ = ["GUESS", "nuclear"]

# By this name, which no program can use, values may hold what is nearly the polar factor of the nuclear norm.
GUESS = "polar factor"
SUMMED_TERMS = 128
# Columns that are written over at a time.
COLUMNS_AT_A_TIME = 512
NEWTON_ROUNDS = 3  # of Newton's step
NEAR_ORTHONORMAL = 1e-7  # rows of Z that are off by no more are next to orthonormal after one step
GUESS_TOLERANCE = 1e-5  # a guess that is off by so much, relatively, costs the bound its square


def nuclear(a: Ball, guess: Array | None = None) -> Ball:
    """The nuclear norm of every matrix in the ball, of any shape.

    Where ``guess`` looks like the polar factor the lower end is as good as it is, and the upper end far off.
    """
    size = float(max(a.mid.max(initial=0.0), -a.mid.min(initial=0.0)))
    if not (np.isfinite(size) and np.isfinite(a.rad).all()):
        return unknown(0.0)
    if size and not 1e-100 < size < 1e100:  # so that no square overflows, or is lost
        bits = int(np.frexp(size)[1])
        found = nuclear(Ball(np.ldexp(a.mid, -bits), np.ldexp(a.rad, -bits) + TINY), guess)
        return rounded(np.ldexp(found.mid, bits), np.ldexp(found.rad, bits))
    mid, rad = (a.mid, a.rad) if a.mid.shape[0] <= a.mid.shape[1] else (a.mid.T, a.rad.T)
    high = np.sqrt(len(mid)) * (frobenius(mid) + frobenius(rad)) * GROW
    low = 0.0
    if size and guess is not None and _looks_polar(a.mid, guess):
        low = _below(mid, rad, guess if mid is a.mid else guess.T, is_own=False)
    elif size:
        vectors, lengths, directions = _decomposed(mid)
        high = min(high, _above(mid, rad, vectors, lengths))
        z, beside = _polar(vectors, directions)
        del vectors, directions  # of which z is made: memory
        z = np.hstack([z, beside]) if beside.shape[1] else z
        low = _below(mid, rad, z)
    return rounded((low + high) / 2, (high - low) / 2 + 2 * EPS * high, 4)


def _looks_polar(mid: Array, guess: Array) -> bool:
    """Whether K Zᵀ is symmetric and positive, as far as one vector shows."""
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
    """U, nearly orthogonal, the lengths of the rows of Uᵀ K, and their directions, nearly orthonormal."""
    vectors = eigenvectors(mid @ mid.T)
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
    """An upper bound; infinity where U could be singular."""
    gram, slip = _gram(vectors.T)
    off = frobenius(gram) + slip
    del gram
    if off >= 0.5:
        return float("inf")
    # Row i of Uᵀ K was rounded by at most γ |uᵢ|ᵀ |K|.
    errors = gamma(len(mid)) * np.sqrt(np.einsum("ij,ij->j", vectors, vectors)) * frobenius(mid)
    total = float((lengths + errors).sum()) * (1.0 + gamma(2 * sum(mid.shape) + 8))
    return total / float(np.sqrt(1.0 - off)) + float(np.sqrt(len(mid))) * frobenius(rad)


def _polar(vectors: Array, directions: Array) -> tuple[Array, Array]:
    """Z, and U's columns where a row has no direction; side by side their rows are nearly orthonormal.

    The directions are written over.
    """
    left_out = ~directions.any(axis=1)
    for here in panels(directions.shape[1], COLUMNS_AT_A_TIME):
        directions[:, here] = vectors @ directions[:, here]
    return directions, vectors[:, left_out]


def _below(mid: Array, rad: Array, z: Array, is_own: bool = True) -> float:
    """A lower bound; Z may have more columns than K: zeros stand beside that.

    Newton's step is made on Z, which is written over (a copy of it where it is not our own), until it is
    small. The last one is only counted: with E = Z Zᵀ - I it makes the Gram matrix I - 3 E² / 4 + E³ / 4,
    which is below I, and takes <E, K Zᵀ> / 2 off <K, Z>.
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
    """<E, K Zᵀ> / 2, and a bound on its rounding errors, a panel of rows at a time: memory."""
    total = 0.0
    for here in panels(len(mid), SUMMED_TERMS):
        total += float(np.einsum("ij,ij->", gram[here], mid[here] @ z.T))
    terms = sum(mid.shape) + 3 * SUMMED_TERMS + len(mid) * SUMMED_TERMS
    return total / 2, gamma(terms) * off * frobenius(mid) * frobenius(z) * GROW
