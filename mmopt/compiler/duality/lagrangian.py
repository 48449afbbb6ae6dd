"""A lower bound on any convex program, read off its own tree, from multipliers and slopes of any origin.

Theorem. Let a program minimise f(x) over x in D (what is declared of the variables: signs, psd, symmetric)
subject to gᵢ(x) <= 0, hᵢ(x) = 0, and Fᵢ(x) psd, with the curvature that the check has found. For yᵢ >= 0,
any zᵢ, and psd Yᵢ let

    L(x) = f(x) + Σ <yᵢ, gᵢ(x)> + Σ <zᵢ, hᵢ(x)> - Σ <Yᵢ, Fᵢ(x)>.

(1) L(x) <= f(x) at every feasible x. (2) The reading below finds c and arrays R such that

    L(x) >= c + Σ <Rᵥ, xᵥ>  for every x in D at which f, g, h and F are defined,

over the variables v. (3) So the least value of f is at least c + Σ min <Rᵥ, xᵥ>, each minimum over any set
that xᵥ of every feasible x lies in; where only those with f(x) <= u are known to, it is at least the smaller
of that and u.

Proof. (1) The terms that are added are <= 0. (2) The expressions of the lines are an acyclic graph; let p(k)
be the derivative of L by node k as the reading knows it, at first 1 for f and yᵢ, zᵢ, -Yᵢ for the sides.
Claim, by induction over the nodes in reverse order (values before their arguments): L(x) >= c + Σ <p(k),
k(x)> summed over the nodes not read so far. At first it holds with equality. When node k = A(a, b …) of an
atom A is read, its minorant gives <p(k), A(a, b …)> >= c' + <p', a> + <p'', b> + … for all arguments
(``minorants``, which has the proof for each), so the claim goes on with c + c' and p(a) + p', p(b) + p'' …
That needs p(k) >= 0 where k is convex (psd where it is so in the order of psd matrices), <= 0 where concave:
at first it holds for f and for the sides, as the check of the curvature has found, and every minorant hands
it on, as each atom keeps the curvature of an argument only where it increases or decreases in it. (Of the
forms recognised as a whole ``M.T @ F @ M`` hands M p Mᵀ on, ``trace(P @ F)`` p P, P psd.) At the end only
variables and constants are left. (3) follows at once: a feasible x with f(x) > u has more than u.

All is computed in balls that contain the true number: those of lets and of rounded givens with their error
bounds; the multipliers and slopes are floats and are taken as they are, so their quality shows in R alone. At
the optimum, with exact multipliers and slopes, R is 0 or vanishes on the part of D that matters, and c is the
optimum (Rockafellar, Convex Analysis, theorem 28.2). The problem solved for multipliers and slopes
(``lower_apart``) keeps R strictly inside the dual cones of D, so that this part costs nothing. The bounds
of conic programs by Jansson, Chaykin & Keil (Rigorous error bounds for the optimal value in semidefinite
programming, SIAM J. Numer. Anal. 46, 2007) are the same where every atom is a cone.

**Ranges by cuts.** Variables without any range get one from how the Lagrangian grows around a point. Every
reading at another point is a cut: C + <R, z> <= f <= level for all feasible points up to
the level, z the variables in question and C with all others at their least. With coordinates w, z = z₀ + V w
for an invertible V, let ρ = |w|∞ at such a point, reached by entry k with sign s. If g = Vᵀ R of the cut in
that direction has s gₖ > Σ |gⱼ| over the others, then ρ (s gₖ - Σ |gⱼ|) <= level - C - <R, z₀>. So ρ is at
most the largest of these quotients, if there is such a cut for every k and s. V are the eigenvectors of how R
changes, so that a strictly convex f has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler.duality.intervals import WIDER, Range
from mmopt.compiler.duality.nodes import Node, Nodes, ReadLine, nodes_of
from mmopt.language import ATOMS
from mmopt.language.atoms.minorants import Near
from mmopt.limits import require_time
from mmopt.numerics import ball_functions, balls
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import Ball, exact

# By constraint; of a family that stays one, one after the other along the first axis. Those of a psd line,
# and of a 2 x 2 one, are matrices.
Multipliers = Mapping[str, Array]
# By place of a node and number of its argument.
Slopes = Mapping[tuple[int, int], Array]

LIFTS = 4  # times that a matrix is lifted until it is proved to be psd


@dataclass(frozen=True)
class AffineBound:
    """c and, by variable, R: the Lagrangian is at least c + Σ <R, x>."""

    constant: Ball
    residuals: Mapping[str, Ball]


def inside(nodes: Nodes, multipliers: Multipliers) -> dict[str, Array]:
    """The multipliers moved into their cones, with proof; entries that are not finite or not proved are 0."""
    moved: dict[str, Array] = {}
    for one in nodes.lines:
        multiplier = multipliers.get(one.name)
        if multiplier is None or one.name in moved:
            continue
        multiplier = np.where(np.isfinite(multiplier), multiplier, 0.0)
        if one.op == ">>":
            flat = multiplier.reshape(-1, *multiplier.shape[-2:])
            moved[one.name] = np.array([_psd(y) for y in flat]).reshape(multiplier.shape)
        else:
            moved[one.name] = multiplier if one.op == "==" else np.maximum(multiplier, 0.0)
    return moved


def _psd(y: Array) -> Array:
    y = (y + y.T) / 2
    for lift in range(LIFTS):
        if ball_functions.is_semidefinite(exact(y)):
            return y
        least = float(np.linalg.eigvalsh(y)[0])
        size = len(y) * EPS * float(np.abs(y).sum())
        y = y + (max(-least, 0.0) + 4.0**lift * size) * np.eye(len(y))
    return y if ball_functions.is_semidefinite(exact(y)) else np.zeros(y.shape)


def _scattered(bar: Ball, at: tuple[Any, ...], shape: tuple[int, ...]) -> Ball:
    """An array of zeros with the entries of ``bar`` at their places, those of one place added up."""
    mid, rad, size = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for out, entries in ((mid, bar.mid), (rad, bar.rad), (size, np.abs(bar.mid))):
        np.add.at(out, at, entries)
    is_sum = any(np.ndim(index) for index in at)
    return balls.rounded(mid, rad + balls.gamma(bar.mid.size) * size) if is_sum else Ball(mid, rad)


class _Reading:
    """The derivatives of the Lagrangian by the nodes, while they are read from the last to the first."""

    def __init__(self, nodes: Nodes, slopes: Slopes) -> None:
        self.nodes, self.slopes = nodes, slopes
        self.bars: dict[int, Ball] = {}
        self.constant = exact(0.0)
        self.residuals: dict[str, Ball] = {}

    def hand(self, place: int, bar: Ball) -> None:
        """Add to the derivative by a node; the entries of a number that was spread are summed up."""
        shape = self.nodes.all[place].shape
        if bar.mid.shape != shape:
            bar = balls.total(bar)
            assert not shape, "only numbers are spread"
        before = self.bars.get(place)
        self.bars[place] = bar if before is None else balls.add(before, bar)

    def start(self, one: ReadLine, y: Array) -> None:
        """Hand the multiplier of a line to its sides."""
        if one.is_pair:
            for place, (i, j) in zip(one.sides, ((0, 0), (0, 1), (1, 1)), strict=True):
                self.hand(place, exact(-y[..., i, j] * (1.0 if i == j else 2.0)))
            return
        left, right = one.sides
        sign = -1.0 if one.op in (">=", ">>") else 1.0
        self.hand(left, exact(sign * y))
        if one.op != ">>" or self.nodes.all[right].shape:  # X >> 0: the number is 0
            self.hand(right, exact(-sign * y))

    def run(self) -> AffineBound:
        for place in range(len(self.nodes.all) - 1, -1, -1):
            bar = self.bars.pop(place, None)
            if bar is None or not (bar.mid.any() or bar.rad.any()):
                continue
            require_time()
            self.one(place, self.nodes.all[place], bar)
        return AffineBound(self.constant, self.residuals)

    def one(self, place: int, node: Node, bar: Ball) -> None:
        match node.kind:
            case "constant":
                self.add(balls.total(balls.mul(bar, self.nodes.ball(place))))
            case "variable":
                self.residuals[str(getattr(node.expr, "id", ""))] = bar
            case "index":
                shape = self.nodes.all[node.arguments[0]].shape
                self.hand(node.arguments[0], _scattered(bar, node.at, shape))
            case "entries":
                picked = Ball(bar.mid.ravel(), bar.rad.ravel())[node.at]
                if len(node.arguments) == 1:
                    self.hand(node.arguments[0], picked)
                else:
                    for k, argument in enumerate(node.arguments):
                        self.hand(argument, picked[k])
            case "block":
                for k, argument in enumerate(node.arguments):
                    shape, part = self.nodes.all[argument].shape, node.owners == k
                    self.hand(argument, Ball(bar.mid[part].reshape(shape), bar.rad[part].reshape(shape)))
            case _:
                self.atom(place, node, bar)

    def add(self, more: Ball) -> None:
        self.constant = balls.add(self.constant, more)

    def atom(self, place: int, node: Node, bar: Ball) -> None:
        row = ATOMS[getattr(node.expr, "atom", "")]
        inputs = [self.nodes.all[a] for a in node.arguments]
        near = Near(
            [a.value for a in inputs],
            [self.slopes.get((place, i)) for i in range(len(inputs))],
            [a.inferred.sign for a in inputs],
        )
        arguments = [
            self.nodes.ball(p) if a.kind == "constant" else None
            for p, a in zip(node.arguments, inputs, strict=True)
        ]
        assert row.minorant is not None, row.name  # the check of the curvature has seen to it
        constant, parts = row.minorant(bar, near, *arguments, **dict(getattr(node.expr, "options", ())))
        self.add(constant)
        for argument, part in zip(node.arguments, parts, strict=True):
            if part is not None:
                self.hand(argument, part)


def read(nodes: Nodes, multipliers: Multipliers, slopes: Slopes, weight: float = 1.0) -> AffineBound:
    """The affine function below the Lagrangian (of minus the objective where it is maximised).

    multipliers : in their cones (``inside``); a line without one takes no part. weight : of the objective.
    TimeLimitError as ``require_time``.
    """
    reading = _Reading(nodes, slopes)
    if weight:
        sign = 1.0 if nodes.instance.program.sense == "minimize" else -1.0
        reading.hand(nodes.objective, exact(sign * weight))
    for one in nodes.lines:
        if one.name in multipliers:
            y = multipliers[one.name]
            reading.start(one, y if one.index is None else y[one.index])
    return reading.run()


MOST_UNKNOWNS = 128  # each takes four readings
STEP = 1e-3  # of the size of the point, or 1: by which R is differentiated
REACH = 2.0  # cuts are so many times farther off than a quadratic function would reach the level
ORTHONORMAL = 1e-6

# The least that all but some variables add to an affine bound; -inf where it is not bounded.
Least = Callable[[AffineBound, Sequence[str]], float]


def ranges_by_cuts(
    nodes: Nodes, multipliers: Multipliers, names: Sequence[str], level: float, least: Least
) -> Mapping[str, Range] | None:
    """The ranges of these variables, or None. TimeLimitError as ``require_time``."""
    start = np.concatenate([np.ravel(nodes.point[name]) for name in names]).astype(float)
    if start.size > MOST_UNKNOWNS:
        return None

    def cut(z: Array) -> tuple[float, Ball]:
        """level - C - <R, z₀> at most, and R."""
        moved = nodes_of(nodes.instance, {**nodes.point, **_parts(nodes, names, z)}, nodes.bounds)
        bound = read(moved, multipliers, {})
        each = [bound.residuals.get(name, exact(np.zeros(nodes.chosen_shape(name)))) for name in names]
        slope = balls.joined([Ball(r.mid.ravel(), r.rad.ravel()) for r in each])
        here = balls.total(balls.mul(slope, exact(start)))
        lowest = least(bound, names) + float(here.lower)
        return (level - lowest) + WIDER * (abs(level) + abs(lowest)), slope

    step = STEP * max(1.0, float(np.abs(start).max()))
    ends = [[cut(start + s * step * e)[1].mid for s in (1.0, -1.0)] for e in np.eye(start.size)]
    bends = np.array([(one - other) / (2.0 * step) for one, other in ends])
    if not np.isfinite(bends).all():
        return None
    values, v = np.linalg.eigh((bends + bends.T) / 2)
    gram = balls.sub(balls.matmul(exact(v.T), exact(v)), exact(np.eye(start.size)))
    slack = cut(start)[0]
    if not (values > 0).all() or balls.norm(gram) > ORTHONORMAL or not np.isfinite(slack):
        return None
    radius = 0.0
    for k, value in enumerate(values):
        for sign in (1.0, -1.0):
            room, slope = cut(start + sign * REACH * np.sqrt(2.0 * max(slack, 0.0) / value) * v[:, k])
            g = balls.matmul(exact(v.T), slope)
            others = float(np.delete(np.abs(g.mid) + g.rad, k).sum())
            ahead = (sign * float(g.mid[k]) - float(g.rad[k])) - others * (1.0 + WIDER)
            if not (ahead > 0 and np.isfinite(room)):
                return None
            radius = max(radius, max(room, 0.0) / ahead * (1.0 + WIDER))
    away = np.abs(v).sum(axis=1) * radius * (1.0 + WIDER)
    low, high = (_parts(nodes, names, start + s * (away + WIDER * np.abs(start))) for s in (-1.0, 1.0))
    return {name: Range(low[name], high[name]) for name in names}


def _parts(nodes: Nodes, names: Sequence[str], z: Array) -> dict[str, Array]:
    """A vector as the values of these variables."""
    values, at = {}, 0
    for name in names:
        shape = nodes.chosen_shape(name)
        size = int(np.prod(shape))
        values[name] = z[at : at + size].reshape(shape)
        at += size
    return values
