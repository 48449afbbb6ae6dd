"""One search of a local optimum: a quasi-Newton method, around it multipliers for the constraints.

Without constraints it is L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995). Constraints g(x) <= 0 and h(x) = 0 go
into an augmented Lagrangian (Nocedal & Wright, Numerical Optimization, chapter 17), whose multipliers
start a certificate; at the end the point is moved onto the constraints that it misses by rounding. abs,
max and min are rounded off, less and less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import scipy.optimize

from mmopt.compiler import Instance
from mmopt.compiler.to_cones import line
from mmopt.driver.free_vector import Coordinates
from mmopt.driver.judge.score_point import Array
from mmopt.language import Tape
from mmopt.language.syntax.syntax_tree import Apply, Constraint, Expr, Name, Number, Relation
from mmopt.solvers import Clock
from mmopt.stop_reasons import Stop

__all__ = ["End", "Problem", "search"]

# Relative to the objective at the start. A larger first one leads most starts to the same end.
ROUNDINGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STAGE = 5000  # iterations of one quasi-Newton run
MEMORY = 20
GRADIENT = 1e-9  # of an objective of size one
DECREASE = 1e-14
OUTER = 25  # rounds of multipliers
MISSED = 1e-9  # by how much a constraint may be missed before it is restored
MARGIN = 1e-12
RESTORED = 400  # constraints that are restored at once, at most
FAR = 1e10  # stands for an objective that has no value


@dataclass(frozen=True)
class _Limit:
    """A constraint as entries that have to be <= 0 (== 0): one tape, or one for each index of a family."""

    name: str
    is_equal: bool
    tapes: tuple[Tape, ...]

    def missed(self, values: Array) -> Array:
        """What of these values is not as it has to be; zero where it is."""
        return values if self.is_equal else np.maximum(values, 0.0)

    def values(self, point: Mapping[str, Array], rounding: float) -> Array:
        return np.array([np.asarray(t.run(point, rounding)[0], dtype=float) for t in self.tapes])


@dataclass(frozen=True)
class Problem:
    """A (scaled) instance recorded for differentiation; ``point`` has any values of what is chosen."""

    instance: Instance
    point: Mapping[str, Array]
    coordinates: Coordinates
    objective: Tape = field(init=False)
    limits: tuple[_Limit, ...] = field(init=False)

    def __post_init__(self) -> None:
        env = {**self.instance.env, **self.point}
        names = [d.name for d in self.instance.program.choose]
        object.__setattr__(self, "objective", Tape(self.instance.program.objective, env, names))
        constraints = [*self.instance.program.constraints, *_signs(self.instance)]
        limits = tuple(_limit(self.instance, c, env, names) for c in constraints)
        object.__setattr__(self, "limits", limits)

    @property
    def is_rough(self) -> bool:
        return self.objective.is_rough or any(t.is_rough for limit in self.limits for t in limit.tapes)


def _signs(instance: Instance) -> list[Constraint]:
    """The entries of a psd matrix declared >= 0: its triangular factor does not keep their signs."""
    out = []
    for d in instance.program.choose:
        if d.kind == "psd" and d.sign:
            relation = Relation(Name(d.name, d.span), ">=", Number(0.0, d.span), d.span)
            out.append(Constraint(d.name, relation, d.span))
    return out


def _limit(instance: Instance, c: Constraint, env: Mapping[str, object], names: list[str]) -> _Limit:
    decided = line(instance.checked, c)
    r = decided.relation
    sides: tuple[Expr, Expr] = (r.right, r.left) if r.op == ">=" else (r.left, r.right)
    difference = Apply("sub", sides, r.span)
    if not decided.loop or c.family is None:
        return _Limit(c.name, r.op == "==", (Tape(difference, env, names),))
    every = range(c.family.dim.value(instance.sizes()))
    tapes = tuple(Tape(difference, {**env, c.family.index: i}, names) for i in every)
    return _Limit(c.name, r.op == "==", tapes)


@dataclass(frozen=True)
class End:
    """Where a search ended. ``gradient`` is the largest entry of the projected gradient, of an objective
    scaled to one at the start; ``stop`` is set where the clock or the budget ended it."""

    x: Array
    multipliers: Mapping[str, Array]
    iterations: int
    gradient: float
    stop: Stop | None
    raw: str


@dataclass
class _Search:
    problem: Problem
    clock: Clock
    budget: int
    size: float  # of the objective at the start
    multipliers: dict[str, Array] = field(default_factory=dict)
    weight: float = 10.0
    used: int = 0
    raw: str = ""
    gradient: float = np.inf
    out: bool = False  # whether a run ended by its number of iterations

    def lagrangian(self, x: Array, rounding: float) -> tuple[float, Array]:
        """The augmented Lagrangian and its gradient."""
        c = self.problem.coordinates
        point = c.unpack(x)
        value, pull = self.problem.objective.run(point, rounding)
        total = float(value) / self.size
        slope = c.pull(x, pull(1.0 / self.size))
        for limit in self.problem.limits:
            for i, tape in enumerate(limit.tapes):
                off, pull = tape.run(point, rounding)
                pushed = limit.missed(self.multipliers[limit.name][i] + self.weight * np.asarray(off))
                total += float(np.sum(pushed**2)) / (2.0 * self.weight)
                if np.any(pushed):
                    slope = slope + c.pull(x, pull(pushed))
        if not (np.isfinite(total) and np.isfinite(slope).all()):
            return FAR, np.zeros(x.size)
        return total, slope

    def descend(self, x: Array, rounding: float) -> Array:
        """One quasi-Newton run."""

        def watch(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            if self.clock.is_over:
                raise StopIteration

        steps = min(STAGE, self.budget - self.used)
        if steps < 1 or self.clock.is_over:
            return x
        lower = self.problem.coordinates.lower()
        found = scipy.optimize.minimize(
            self.lagrangian,
            x,
            args=(rounding,),
            jac=True,
            method="L-BFGS-B",
            bounds=scipy.optimize.Bounds(lower, np.inf),
            callback=watch,
            options={
                "maxiter": steps,
                "maxfun": 20 * steps,
                "maxcor": MEMORY,
                "gtol": GRADIENT,
                "ftol": DECREASE,
            },
        )
        self.used += int(found.nit)
        self.out = found.nit >= steps
        self.raw = str(found.message)
        slope = np.asarray(found.jac)
        at_limit = (found.x <= lower) & (slope > 0)
        self.gradient = float(np.abs(np.where(at_limit, 0.0, slope)).max(initial=0.0))
        return np.asarray(found.x)

    def update(self, x: Array, rounding: float) -> float:
        """New multipliers; returns by how much the constraints are missed."""
        point = self.problem.coordinates.unpack(x)
        missed = 0.0
        for limit in self.problem.limits:
            off = limit.values(point, rounding)
            self.multipliers[limit.name] = limit.missed(self.multipliers[limit.name] + self.weight * off)
            missed = max(missed, float(np.abs(limit.missed(off)).max(initial=0.0)))
        return missed

    def constrained(self, x: Array, rounding: float, rounds: int) -> Array:
        """Runs with ever better multipliers, and a heavier weight where that does not help."""
        before = np.inf
        for _ in range(rounds):
            x = self.descend(x, rounding)
            missed = self.update(x, rounding)
            if missed <= MISSED or self.clock.is_over or self.used >= self.budget:
                break
            if missed > before / 4:
                self.weight *= 4.0
            before = missed
        return x

    def restore(self, x: Array) -> Array:
        """The nearest point, to first order, at which the constraints that are missed hold."""
        c = self.problem.coordinates
        for _ in range(OUTER):
            point = c.unpack(x)
            rows: list[Array] = []
            off: list[float] = []
            for limit in self.problem.limits:
                for tape in limit.tapes:
                    value, pull = tape.run(point)
                    entries = np.atleast_1d(np.asarray(value, dtype=float))
                    missed = np.abs(entries) > MARGIN if limit.is_equal else entries > 0
                    for at in np.argwhere(missed)[: RESTORED - len(rows)]:
                        seed = np.zeros(entries.shape)
                        seed[tuple(at)] = 1.0
                        rows.append(c.pull(x, pull(seed.reshape(np.shape(value)))))
                        off.append(entries[tuple(at)] + (0.0 if limit.is_equal else MARGIN))
            if not rows or not np.isfinite(rows).all():
                break
            step = np.linalg.lstsq(np.array(rows), -np.array(off), rcond=None)[0]
            x = np.maximum(x + step, c.lower())
        return x


def search(problem: Problem, start: Array, clock: Clock, budget: int) -> End | None:
    """The local optimum that the search finds from a start; None where the objective has no value there."""
    value, _ = problem.objective.run(problem.coordinates.unpack(start))
    if not np.isfinite(value):
        return None
    run = _Search(problem, clock, budget, abs(float(value)) or 1.0)
    for limit in problem.limits:
        run.multipliers[limit.name] = np.zeros(limit.values(problem.point, 0.0).shape)
    x = start
    roundings = [run.size * r for r in ROUNDINGS] if problem.is_rough else [0.0]
    for rounding in roundings:
        x = run.constrained(x, rounding, OUTER if rounding == roundings[-1] else 2)
    x = run.restore(x)
    multipliers = {name: np.squeeze(m) * run.size for name, m in run.multipliers.items()}
    return End(x, multipliers, run.used, run.gradient, clock.stop(spent=run.out), run.raw)
