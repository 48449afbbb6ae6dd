"""The optimum of a conic problem, enclosed with proof: for the data as printed, whatever solver there is.

Theorem. minimize c.T x subject to A x + b in K and E x + e = 0. Let x satisfy the equations with A x + b in
K, and let y in K* and v satisfy A.T y + E.T v = c. Then -b.T y - e.T v <= optimum <= c.T x.

Proof. For every feasible z, c.T z = (A.T y + E.T v).T z = y.T (A z + b) - b.T y - e.T v >= -b.T y - e.T v.

The two points come from the central path: at x(m), the least of c.T x / m + F(A x + b) for a barrier F of K,
the gradient of F gives y = -m F'(A x + b) in the interior of K* with A.T y + E.T v = c, and the two values
differ by m times the barrier's parameter. Newton's method follows it in numbers of hundreds of bits; nothing
of that has to be right. At its end the equations are made to hold exactly: a linear system is solved in ball
arithmetic (Arb), so that the balls hold a true solution, and every point of the balls is shown to be inside
of its cone. Both points are in the interior, so there is room for that; where there is no interior, there is
no proof this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exact_cones import KINDS
from exact_problem import Entries, ExactCone, ExactProblem
from flint import arb, arb_mat, ctx

from mmopt import ResultError

__all__ = ["BITS", "Enclosure", "enclosed"]

BITS = 320
WIDTH = 1e-12  # of the interval, relative to the optimum or 1
SHORTER = 0.1  # m from one point of the path to the next
CLOSE, NEAR = 0.5, 1e-3  # Newton's decrement: below the first full steps are taken; below the second m falls
POLISHED = 1e-25  # the decrement at the end of the path
MOST_STEPS = 400
LEAST_LENGTH = 1e-6  # of a step, before the damped one is taken


@dataclass(frozen=True)
class Enclosure:
    """lower <= optimum <= upper, in the problem's own sense. steps : of Newton's method."""

    lower: arb
    upper: arb
    steps: int


def enclosed(problem: ExactProblem, start: Sequence[float], width: float = WIDTH) -> Enclosure:
    """Enclose the optimum of a problem, from a point with ``A x + b`` in the interior of K.

    Raises
    ------
    ResultError : the proof does not succeed: no interior on one side, or a start outside.
    """
    before, ctx.prec = ctx.prec, BITS
    try:
        return _Path(problem).follow([arb(float(v)) for v in start], width)
    finally:
        ctx.prec = before


def dot(v: Entries, w: Entries) -> arb:
    """The scalar product."""
    return sum((a * b for a, b in zip(v, w, strict=True)), arb(0))


@dataclass(frozen=True)
class _Local:
    """The barrier at a point x: A.T F', and the matrix [[A.T F'' A, E.T], [E, 0]]."""

    gradient: list[arb]
    system: arb_mat


class _Path:
    """The central path of one problem. ``sign`` is -1 where it maximizes: then minus the objective falls."""

    def __init__(self, problem: ExactProblem) -> None:
        self.sign = 1 if problem.sense == "minimize" else -1
        self.offset = problem.offset
        self.c = [self.sign * v for v in problem.c]
        self.cones = [cone for cone in problem.cones if cone.kind != "zero"]
        self.equations = [cone for cone in problem.cones if cone.kind == "zero"]
        self.degree = sum(KINDS[cone.kind].degree(cone.size) for cone in self.cones)

    def follow(self, x: list[arb], width: float) -> Enclosure:
        if not self.is_inside(x):
            raise ResultError("the start of the proof is not in the interior of the cones")
        m = (abs(dot(self.c, x)) / self.degree + 1).mid()
        wanted = NEAR
        for steps in range(1, MOST_STEPS):
            local = self.local(x)
            move, decrement = self.newton(x, m, local)
            if decrement < wanted and wanted == POLISHED:
                lower, upper = self.proved(x, m, local)
                pair = (lower, upper) if self.sign > 0 else (-upper, -lower)
                return Enclosure(pair[0] + self.offset, pair[1] + self.offset, steps)
            if decrement < wanted:
                if m * self.degree < width / 2 * max(1.0, abs(float(dot(self.c, x).mid()))):
                    wanted = POLISHED
                else:
                    m = (m * SHORTER).mid()
                    # Newton's step to the new m, shortened so, is the tangent of the path.
                    x = self.inside_of(x, [v * SHORTER for v in self.newton(x, m, local)[0]])
                    continue
            x = self.inside_of(x, move) if decrement < CLOSE else self.fallen(x, move, decrement, m)
        raise ResultError(f"the central path was not followed to its end in {MOST_STEPS} steps")

    def is_inside(self, x: Entries) -> bool:
        return all(KINDS[k.kind].inside(k.point(x), k.size) for k in self.cones)

    def local(self, x: Entries) -> _Local:
        n = len(x)
        count = sum(cone.size for cone in self.equations)
        gradient = [arb(0)] * n
        rows = [[arb(0)] * (n + count) for _ in range(n + count)]
        for cone in self.cones:
            kind, point = KINDS[cone.kind], cone.point(x)
            for j, value in cone.across(kind.slope(point, cone.size)).items():
                gradient[j] += value
            pairs = kind.pairs(kind.bend(point, cone.size), list(cone.columns.values()))
            for j, line in zip(cone.columns, pairs, strict=True):
                for k, value in zip(cone.columns, line, strict=False):
                    rows[j][k] += value
                    if j != k:
                        rows[k][j] += value
        at = n
        for cone in self.equations:
            for j, entries in cone.columns.items():
                for row, value in entries.items():
                    rows[at + row][j] = rows[j][at + row] = value
            at += cone.size
        return _Local(gradient, arb_mat(rows))

    def missed(self, x: Entries) -> list[arb]:
        """The residual of the equations at x, negated."""
        return [-v for cone in self.equations for v in cone.point(x)]

    def newton(self, x: Entries, m: arb, local: _Local) -> tuple[list[arb], float]:
        """Newton's step at x and its length in the norm of the Hessian; numbers, not balls."""
        right = [-(c / m + g) for c, g in zip(self.c, local.gradient, strict=True)]
        whole = arb_mat([[v] for v in (*right, *self.missed(x))]).mid()
        move = local.system.mid().solve(whole, algorithm="approx").mid().entries()[: len(x)]
        length = abs(float(dot(right, move).mid())) ** 0.5
        return move, length

    def inside_of(self, x: Entries, move: Entries) -> list[arb]:
        """x and the step, shortened until it ends inside."""
        length = 1.0
        while True:
            new = [(a + b * length).mid() for a, b in zip(x, move, strict=True)]
            if self.is_inside(new) or length < LEAST_LENGTH:
                return new
            length /= 2

    def fallen(self, x: Entries, move: Entries, decrement: float, m: arb) -> list[arb]:
        """The point along the step where c @ x / m + F has fallen enough, at least the damped step of
        Newton's method."""
        before, length = self.height(x, m), 1.0
        while length > 1 / (1 + decrement):
            new = [(a + b * length).mid() for a, b in zip(x, move, strict=True)]
            if self.is_inside(new) and self.height(new, m) < before - arb(0.1 * length * decrement):
                return new
            length /= 2
        return [(a + b / (1 + arb(decrement))).mid() for a, b in zip(x, move, strict=True)]

    def height(self, x: Entries, m: arb) -> arb:
        values = [KINDS[k.kind].value(k.point(x), k.size) for k in self.cones]
        return dot(self.c, x) / m + sum(values, arb(0))

    def proved(self, x: list[arb], m: arb, local: _Local) -> tuple[arb, arb]:
        """Balls that hold the values of a dual and of a primal feasible point."""
        n = len(x)
        # y = -m (F' + F'' A u) and v solve the dual's equations, x + w the primal's, for the true solution
        # (u, v, w).
        dual = [c / m + g for c, g in zip(self.c, local.gradient, strict=True)]
        missed = self.missed(x)
        right = [[-v, arb(0)] for v in dual] + [[arb(0), v] for v in missed]
        solution = local.system.solve(arb_mat(right), algorithm="precond").tolist()
        u, v = [row[0] for row in solution[:n]], [row[0] * -m for row in solution[n:]]
        exact = [a + row[1] for a, row in zip(x, solution, strict=False)]
        upper, lower, at = dot(self.c, exact), arb(0), 0
        for cone in self.equations:
            lower -= cone.constant(v[at : at + cone.size])
            at += cone.size
        for cone in self.cones:
            kind, point = KINDS[cone.kind], cone.point(x)
            bent = kind.bent(kind.bend(point, cone.size), cone.image(u))
            y = [(a + b) * -m for a, b in zip(kind.slope(point, cone.size), bent, strict=True)]
            _prove(kind.inside(cone.point(exact), cone.size), "primal", cone)
            _prove(kind.inside_dual(y, cone.size), "dual", cone)
            lower -= cone.constant(y)
        return lower, upper


def _prove(holds: bool, side: str, cone: ExactCone) -> None:
    if not holds:
        raise ResultError(
            f"the {side} point was not proved to be in its {cone.kind} cone of size {cone.size}"
        )
