"""Matrices of balls (python-flint): every number is a midpoint and a radius that holds the truth.

Nothing of mmopt is used here. Doubles go in exactly. A comparison of balls is true only when it is certain;
``decided`` raises the precision until one side of it is.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpz, nmod_mat

DIGITS = (60, 120, 240, 480)
"""Digits that are tried in turn: never fewer than fifty."""
SWEEPS = 12
SAME = arb(10) ** -100
"""Numbers that agree to so many digits are equal: what a closed form gives that is a double."""
PRIME = fmpz(2**61 - 1)


class Undecided(AssertionError):
    """Two balls overlap at every precision: the judge has no verdict."""


def decided(compare: Callable[[], tuple[arb, arb]]) -> bool:
    """Whether left <= right, for the pair that ``compare`` computes at the precision of the moment."""
    seen = "nothing"
    for digits in DIGITS:
        with ctx.workdps(digits):
            try:
                left, right = compare()
            except ZeroDivisionError:  # a matrix that might be singular at this precision
                continue
            if left <= right:
                return True
            if left > right:
                return False
            seen = f"{left} <= {right}"
            if left.is_finite() and abs(left - right) < abs(right) * SAME:
                return True
    raise Undecided(f"{seen}?")


def exact(x: float) -> fmpq:
    """The rational number that a double is."""
    p, q = float(x).as_integer_ratio()
    return fmpq(p, q)


def reals(values: Iterable[float]) -> list[arb]:
    return [arb(float(v)) for v in np.asarray(values, dtype=float).ravel()]


def matrix(a: np.ndarray) -> arb_mat:
    rows = np.asarray(a, dtype=float)
    assert rows.ndim == 2 and np.isfinite(rows).all()
    return arb_mat(rows.shape[0], rows.shape[1], reals(rows))


def root(x: arb) -> arb:
    """√x of a number that is known not to be negative, though its ball may reach below zero."""
    return x.nonnegative_part().sqrt()


def greatest(values: Sequence[arb]) -> arb:
    """A ball around the largest of some numbers."""
    out = values[0]
    for v in values[1:]:
        out = out.max(v)
    return out


def smallest(values: Sequence[arb]) -> arb:
    return -greatest([-v for v in values])


def gram(a: arb_mat) -> arb_mat:
    return a.transpose() * a


def diagonal(a: arb_mat) -> list[arb]:
    return [a[i, i] for i in range(a.nrows())]


def scaled(a: arb_mat, left: Sequence[arb] | None = None, right: Sequence[arb] | None = None) -> arb_mat:
    """diag(left) @ a @ diag(right)."""
    table = a.tolist()
    if left is not None:
        table = [[s * x for x in row] for s, row in zip(left, table, strict=True)]
    if right is not None:
        table = [[x * s for x, s in zip(row, right, strict=True)] for row in table]
    return arb_mat(a.nrows(), a.ncols(), [x for row in table for x in row])


def stacked(parts: Sequence[arb_mat]) -> arb_mat:
    entries = [x for part in parts for x in part.entries()]
    return arb_mat(sum(part.nrows() for part in parts), parts[0].ncols(), entries)


def doubles(a: arb_mat) -> np.ndarray:
    return np.array([float(x.mid()) for x in a.entries()]).reshape(a.nrows(), a.ncols())


def columns_squared(a: arb_mat) -> list[arb]:
    """Squared L2 norm of each column."""
    table = a.tolist()
    return [sum((row[i] * row[i] for row in table), arb(0)) for i in range(a.ncols())]


def rows_squared(a: arb_mat) -> list[arb]:
    """Squared L2 norm of each row."""
    return [sum((x * x for x in row), arb(0)) for row in a.tolist()]


def largest_column(a: arb_mat, norm: int) -> arb:
    """The largest L1 or L2 norm of a column."""
    if norm == 2:
        return root(greatest(columns_squared(a)))
    return greatest([sum((abs(row[i]) for row in a.tolist()), arb(0)) for i in range(a.ncols())])


def row_sum_norm(a: arb_mat) -> arb:
    """The largest sum of absolute values in a row: at least the spectral norm of a symmetric matrix."""
    return greatest([sum((abs(x) for x in row), arb(0)) for row in a.tolist()])


def identity(n: int) -> arb_mat:
    return arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def independent_rows(a: np.ndarray) -> list[int]:
    """Rows that are independent over the rationals, by elimination modulo a prime: of that rank at least.

    That the other rows depend on them is for the caller to check (in balls).
    """
    p = int(PRIME)
    residues = []
    for x in np.asarray(a, dtype=float).T.ravel().tolist():
        top, bottom = x.as_integer_ratio()
        residues.append(top % p * pow(bottom, -1, p) % p)
    reduced, rank = nmod_mat(a.shape[1], a.shape[0], residues, p).rref()
    out, row = [], 0
    for j in range(a.shape[0]):
        if row < rank and int(reduced[row, j]) == 1:
            out.append(j)
            row += 1
    return out


def is_positive_definite(a: arb_mat) -> bool:
    """Whether every symmetric matrix in the ball is positive definite, by elimination; False: not shown."""
    if _is_nearly_whitened(a):
        return True
    table = a.tolist()
    n = len(table)
    for i in range(n):
        pivot = table[i][i]
        if not pivot > 0:
            return False
        head = table[i]
        for j in range(i + 1, n):
            factor = table[j][i] / pivot
            if not factor.is_zero():
                row = table[j]
                for k in range(j, n):
                    row[k] -= factor * head[k]
                for k in range(i + 1, j):
                    row[k] = table[k][j]
    return True


def _is_nearly_whitened(a: arb_mat) -> bool:
    """Whether M A Mᵀ is near the identity, M numpy's inverse Cholesky factor: shows that A is definite."""
    try:
        m = matrix(np.linalg.inv(np.linalg.cholesky(doubles(a))))
    except np.linalg.LinAlgError:
        return False
    return bool(row_sum_norm(m * a * m.transpose() - identity(a.nrows())) < 0.5)


def _right_vectors(a: arb_mat) -> arb_mat:
    """About the right singular vectors (n, n), all of them: numpy's, refined, then Jacobi's one-sided
    rotations of what is left, so that the columns of A V are orthogonal beside the largest one.
    """
    n, square = a.ncols(), gram(a).mid()
    size = greatest(diagonal(square)).mid()
    v = _refined(square, matrix(np.linalg.eigh(doubles(square * (1 / size)))[1]))
    least = root(size) * arb(10) ** (-7 * ctx.dps // 10)
    for _ in range(SWEEPS):
        product = (a * v).mid()
        inner = gram(product).mid().tolist()
        longest = [root(inner[i][i]) for i in range(n)]
        pairs = [
            (i, j)
            for i in range(n)
            for j in range(i)
            if abs(inner[i][j]) > longest[i].max(longest[j]) * least
        ]
        if not pairs:
            break
        columns, images = (m.transpose().tolist() for m in (v, product))
        for i, j in pairs:
            _rotate(columns, images, i, j)
        v = _orthonormal(arb_mat(columns).transpose())
    return v


def _rotate(columns: list[list[arb]], images: list[list[arb]], i: int, j: int) -> None:
    """Columns i and j turned so that their images are orthogonal."""
    one, other = images[i], images[j]
    off = sum((x * y for x, y in zip(one, other, strict=True)), arb(0)).mid()
    if off.is_zero():
        return
    between = sum((y * y - x * x for x, y in zip(one, other, strict=True)), arb(0)).mid() / (2 * off)
    tangent = (1 / (abs(between) + (1 + between * between).sqrt())).mid() * (1 if between >= 0 else -1)
    cosine = (1 / (1 + tangent * tangent).sqrt()).mid()
    sine = (cosine * tangent).mid()
    for rows in (columns, images):
        x, y = rows[i], rows[j]
        rows[i] = [(cosine * a - sine * b).mid() for a, b in zip(x, y, strict=True)]
        rows[j] = [(sine * a + cosine * b).mid() for a, b in zip(x, y, strict=True)]


def _orthonormal(v: arb_mat) -> arb_mat:
    """Nearly orthonormal columns made so to the digits of the moment."""
    return (v * (3 * identity(v.ncols()) - gram(v)) * arb(0.5)).mid()


def _refined(a: arb_mat, v: arb_mat) -> arb_mat:
    """Approximate eigenvectors made better (Ogita and Aishima 2018), as long as they get better.

    Eigenvalues that cannot be told apart keep their vectors, made orthonormal.
    """
    n = a.nrows()
    eye, finest = identity(n), (row_sum_norm(a) * arb(10) ** (2 - ctx.dps)).mid()
    for _ in range(2 + ctx.dps.bit_length()):
        off = (eye - gram(v)).mid().tolist()
        inner = (v.transpose() * a * v).mid().tolist()
        values = [inner[i][i] / (1 - off[i][i]) for i in range(n)]
        step = []
        for i in range(n):
            for j in range(n):
                between = values[j] - values[i]
                wanted = inner[i][j] + values[j] * off[i][j]
                if i != j and abs(between) > 4 * n * abs(wanted) and abs(between) > finest:
                    step.append(wanted / between)
                else:
                    step.append(off[i][j] / 2)
        change = arb_mat(n, n, step).mid()
        v = (v + v * change).mid()
        if row_sum_norm(change) < arb(10) ** (-4 * ctx.dps // 5):
            break
    return v


def nuclear(a: arb_mat) -> arb:
    """A ball around the nuclear norm, from approximate singular vectors V and nothing assumed of them.

    Above: ‖A‖∗ = ‖A V V⁻¹‖∗ <= Σ |A vⱼ| ‖V⁻¹‖. Below: ⟨P, A⟩ <= ‖A‖∗ ‖P‖ for every P; P = U Vᵀ, with U the
    columns of A V made orthonormal.
    """
    if a.nrows() < a.ncols():
        a = a.transpose()
    if all(x.is_zero() for x in a.entries()):
        return arb(0)
    v = _right_vectors(a)
    off = row_sum_norm(identity(a.ncols()) - gram(v))
    product = a * v
    lengths = [root(s).upper() for s in columns_squared(product)]
    above = sum(lengths, arb(0)) / (1 - off).sqrt()
    floor = greatest(lengths) * arb(10) ** (-ctx.dps // 3)  # shorter columns are left out of P
    kept = [j for j, s in enumerate(lengths) if s > floor]
    table = product.tolist()
    u = arb_mat(a.nrows(), len(kept), [row[j] / lengths[j] for row in table for j in kept]).mid()
    p = u * arb_mat(len(kept), a.ncols(), [v[i, j] for j in kept for i in range(a.ncols())])
    inner = sum((x * y for x, y in zip(p.entries(), a.entries(), strict=True)), arb(0))
    size = ((1 + row_sum_norm(identity(len(kept)) - gram(u))) * (1 + off)).sqrt()
    return (inner / size).lower().union(above.upper())


def psd_root(a: arb_mat) -> arb_mat:
    """The psd square root of a psd matrix: ‖√A - S‖ <= ‖A - S²‖^½ for every psd S."""
    digits = ctx.dps
    with ctx.workdps(3 * digits):
        n = a.nrows()
        if all(x.is_zero() for x in a.entries()):
            return a
        v = _right_vectors(a)
        fourth = [x.mid().max(arb(0)).root(4) for x in diagonal(v.transpose() * a * v)]
        half = scaled(v, right=fourth)
        found = half * half.transpose()
        around = arb(0, row_sum_norm(a - found * found).upper().sqrt().upper())
        return arb_mat(n, n, [x + around for x in found.entries()])
