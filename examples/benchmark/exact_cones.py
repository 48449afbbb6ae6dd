"""Cones in ball arithmetic: whether points are proved to be inside, and barriers.

A point is a list of balls, that of a psd cone the whole matrix row by row. Orders within a cone are those of
CBF: (t, u) with t >= |u|, and (t, y, x) with t >= y exp(x / y), y > 0.

Barriers: Nesterov & Nemirovskii, Interior-point polynomial algorithms in convex programming, 1994; that of
the exponential cone has the parameter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from exact_problem import Entries
from flint import arb, arb_mat

__all__ = ["KINDS", "ConeKind", "definite"]

Rows = list[list[arb]]
Column = Mapping[int, arb]


@dataclass(frozen=True)
class ConeKind:
    """The computations for a cone of one kind, from a point inside it and its size (of psd cones the side).

    degree : parameter of the barrier. middle : a point well inside, as floats.
    inside, inside_dual : whether a point is proved to be in the interior (of the dual cone).
    value, slope : of the barrier. bend : what the next two need, the Hessian where it is small.
    bent : the Hessian times a point. pairs : c @ Hessian @ d for columns c and d of a matrix, d not after c.
    """

    degree: Callable[[int], int]
    middle: Callable[[int], list[float]]
    inside: Callable[[Entries, int], bool]
    inside_dual: Callable[[Entries, int], bool]
    value: Callable[[Entries, int], arb]
    slope: Callable[[Entries, int], list[arb]]
    bend: Callable[[Entries, int], Rows]
    bent: Callable[[Rows, Entries], list[arb]]
    pairs: Callable[[Rows, list[Column]], Rows]


def total(values: object) -> arb:
    """The sum, zero of none."""
    return sum(values, arb(0))  # type: ignore[call-overload, no-any-return]


def plain_bent(hessian: Rows, v: Entries) -> list[arb]:
    """The Hessian times a point."""
    return [total(h * e for h, e in zip(row, v, strict=True)) for row in hessian]


def plain_pairs(hessian: Rows, columns: list[Column]) -> Rows:
    """By entries: the columns have few."""
    found: Rows = []
    for c in columns:
        across = {k: total(v * hessian[i][k] for i, v in c.items()) for k in range(len(hessian))}
        found.append([total(across[k] * v for k, v in d.items()) for d in columns[: len(found) + 1]])
    return found


# -- one nonnegative number


def _is_positive(s: Entries, _: int) -> bool:
    return all(v > 0 for v in s)


# -- (t, u) with t >= |u|


def _room(s: Entries) -> arb:
    return s[0] ** 2 - total(v**2 for v in s[1:])


def _is_second_order(s: Entries, _: int) -> bool:
    return bool(s[0] > 0 and _room(s) > 0)


def _flipped(s: Entries) -> list[arb]:
    return [s[0], *(-v for v in s[1:])]


def _second_order_bend(s: Entries, size: int) -> Rows:
    room, flipped = _room(s), _flipped(s)
    rows = [[4 * a * b / room**2 for b in flipped] for a in flipped]
    for i in range(size):
        rows[i][i] += (2 if i else -2) / room
    return rows


# -- psd matrices


def definite(s: Entries, side: int) -> bool:
    """Whether every symmetric matrix in these balls is positive definite, by pivots of Cholesky factors.

    Only the lower triangle is looked at.
    """
    factor: Rows = []
    for i in range(side):
        row: list[arb] = []
        for j in range(i + 1):
            known = factor[j] if j < i else row
            value = s[i * side + j] - total(a * b for a, b in zip(row, known, strict=False))
            if j < i:
                row.append(value / factor[j][j])
            elif not value > 0:
                return False
            else:
                row.append(value.sqrt())
        factor.append(row)
    return True


def _square(s: Entries, side: int) -> arb_mat:
    return arb_mat(side, side, list(s))


def _inverse(s: Entries, side: int) -> Rows:
    return _square(s, side).inv().tolist()


def _psd_bent(inverse: Rows, v: Entries) -> list[arb]:
    matrix = arb_mat(inverse)
    return (matrix * _square(v, len(inverse)) * matrix).entries()


def _psd_pairs(inverse: Rows, columns: list[Column]) -> Rows:
    """tr(V C V D) for V the inverse: the entries of V C V at the places of D."""
    side, found = len(inverse), []
    rows: list[tuple[int, int, arb, list[arb] | None]] = []
    for c in columns:
        if len(c) == 1:
            ((place, value),) = c.items()
            rows.append((*divmod(place, side), value, None))
            continue
        whole = [arb(0)] * side**2
        for place, value in c.items():
            i, j = divmod(place, side)
            whole[place] = whole[j * side + i] = value
        rows.append((0, 0, arb(0), _psd_bent(inverse, whole)))
    for number, (p, q, value, product) in enumerate(rows):
        line = []
        for d in columns[: number + 1]:
            entry = arb(0)
            for place, factor in d.items():
                i, j = divmod(place, side)
                if product is not None:
                    at = product[place]
                elif p == q:
                    at = value * inverse[i][p] * inverse[p][j]
                else:
                    at = value * (inverse[i][p] * inverse[q][j] + inverse[i][q] * inverse[p][j])
                entry += at * factor * (1 if i == j else 2)
            line.append(entry)
        found.append(line)
    return found


# -- (t, y, x) with t >= y exp(x / y)


def _is_exponential(s: Entries, _: int) -> bool:
    t, y, x = s
    return bool(t > 0 and y > 0 and y * (t / y).log() - x > 0)


def _is_exponential_dual(s: Entries, _: int) -> bool:
    a, b, c = s
    return bool(c < 0 and a > 0 and a + c * (b / c - 1).exp() > 0)


def _exponential_value(s: Entries, _: int) -> arb:
    t, y, x = s
    return -(y * (t / y).log() - x).log() - t.log() - y.log()


def _exponential_parts(s: Entries) -> tuple[arb, list[arb]]:
    t, y, x = s
    return y * (t / y).log() - x, [y / t, (t / y).log() - 1, arb(-1)]


def _exponential_slope(s: Entries, _: int) -> list[arb]:
    room, d = _exponential_parts(s)
    return [-d[0] / room - 1 / s[0], -d[1] / room - 1 / s[1], -d[2] / room]


def _exponential_bend(s: Entries, _: int) -> Rows:
    t, y, _x = s
    room, d = _exponential_parts(s)
    own = [
        [y / t**2 / room + 1 / t**2, -1 / t / room, arb(0)],
        [-1 / t / room, 1 / y / room + 1 / y**2, arb(0)],
        [arb(0)] * 3,
    ]
    return [[d[i] * d[j] / room**2 + own[i][j] for j in range(3)] for i in range(3)]


KINDS: Mapping[str, ConeKind] = MappingProxyType(
    {
        "nonnegative": ConeKind(
            degree=lambda n: n,
            middle=lambda n: [1.0] * n,
            inside=_is_positive,
            inside_dual=_is_positive,
            value=lambda s, _: -total(v.log() for v in s),
            slope=lambda s, _: [-1 / v for v in s],
            bend=lambda s, n: [[1 / s[i] ** 2 if i == j else arb(0) for j in range(n)] for i in range(n)],
            bent=plain_bent,
            pairs=plain_pairs,
        ),
        "second-order": ConeKind(
            degree=lambda _: 2,
            middle=lambda n: [1.0] + [0.0] * (n - 1),
            inside=_is_second_order,
            inside_dual=_is_second_order,
            value=lambda s, _: -_room(s).log(),
            slope=lambda s, _: [-2 * v / _room(s) for v in _flipped(s)],
            bend=_second_order_bend,
            bent=plain_bent,
            pairs=plain_pairs,
        ),
        "psd": ConeKind(
            degree=lambda n: n,
            middle=lambda n: [float(i == j) for i in range(n) for j in range(n)],
            inside=definite,
            inside_dual=definite,
            value=lambda s, n: -_square(s, n).det().log(),
            slope=lambda s, n: [-v for row in _inverse(s, n) for v in row],
            bend=_inverse,
            bent=_psd_bent,
            pairs=_psd_pairs,
        ),
        "exponential": ConeKind(
            degree=lambda _: 3,
            middle=lambda _: [2.0, 1.0, 0.0],
            inside=_is_exponential,
            inside_dual=_is_exponential_dual,
            value=_exponential_value,
            slope=_exponential_slope,
            bend=_exponential_bend,
            bent=plain_bent,
            pairs=plain_pairs,
        ),
    }
)
