"""Searches for smooth programs, which are not convex: by gradients, from several starts.

The best end is kept; the status has the number of starts and the spread of their ends. Every end is repaired
and certified like a conic solver's point. Nothing is claimed to be the optimum unless the certificate proves
it.

The chosen variables are one vector of free (or nonnegative) numbers. A psd matrix is LᵀL with L triangular,
so that every vector gives one (Burer & Monteiro 2003, A nonlinear programming algorithm for solving
semidefinite programs via low-rank factorization); a symmetric one is its triangle. A search without
constraints is L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995). Constraints g(x) <= 0 and h(x) = 0 go into an
augmented Lagrangian (Nocedal & Wright, Numerical Optimization, chapter 17), whose multipliers start a
certificate; at the end the point is moved onto the constraints that it misses by rounding. abs, max and min
are rounded off, less and less.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.optimize

from mmopt.compiler import Instance, Scaling, line, scale
from mmopt.driver.judge import Candidate, assemble_solution, assigned_values, draw_value
from mmopt.driver.run_solver import Best
from mmopt.driver.task_and_plan import Task
from mmopt.errors import SolverError
from mmopt.language import (
    Apply,
    Constraint,
    Declaration,
    Expr,
    Name,
    Number,
    Relation,
    Tape,
)
from mmopt.limits import Stop
from mmopt.numerics import EIGENVALUE_FLOOR, Array, psd_floor
from mmopt.results import Solution
from mmopt.solvers import LBFGS, Clock, Options
from mmopt.solvers.options_points_and_clock import local_optimum

# How far abs, max and min are rounded off, one run after the other, relative to the objective at the start. A
# larger first one leads most starts to the same end.
ROUNDINGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STEPS_OF_RUN = 5000  # iterations of one quasi-Newton run
LBFGS_PAIRS = 20  # of steps and changes of the gradient, from which a run knows curvatures
# A run ends at a gradient this small, of an objective of size one, or a fall this small, relatively.
GRADIENT, DECREASE = 1e-9, 1e-14
MOST_OUTER_ROUNDS = 25  # rounds of multipliers
MISS_BEFORE_RESTORING = 1e-9  # a constraint may be missed by this much before it is restored
RESTORED_INSIDE = 1e-12  # by how much a restored inequality holds; an equation may be missed by that
MOST_RESTORED = 400  # entries of constraints that are restored at once, at most
FAR = 1e10  # in place of an objective without a value


@dataclass(frozen=True)
class Coordinates:
    """The declarations of the chosen variables, with the sizes of the dimensions."""

    declarations: Sequence[Declaration]
    sizes: Mapping[str, int]

    def length(self, d: Declaration) -> int:
        """The count of numbers of a variable."""
        shape = d.shape(self.sizes)
        return shape[0] * (shape[0] + 1) // 2 if d.kind in ("psd", "symmetric") else int(np.prod(shape))

    def lower(self) -> Array:
        """The least value of each number: a little above zero for ``> 0``, -infinity where it is free."""
        least = {"": -np.inf, ">=": 0.0, ">": EIGENVALUE_FLOOR}
        return np.concatenate(
            [np.full(self.length(d), least[d.sign if d.kind != "psd" else ""]) for d in self.declarations]
        )

    def pack(self, values: Mapping[str, Array]) -> Array:
        """The numbers of a point; declared signs are clipped, psd matrices lifted to positive definite."""
        pieces = [self._flat(d, np.asarray(values[d.name], dtype=float)) for d in self.declarations]
        return np.asarray(np.maximum(np.concatenate(pieces), self.lower()))

    def _flat(self, d: Declaration, value: Array) -> Array:
        """The numbers of a variable's value."""
        if d.kind not in ("psd", "symmetric"):
            return value.ravel()
        if d.kind == "psd":
            lifted = psd_floor(value)
            tiny = EIGENVALUE_FLOOR * (1.0 + float(np.abs(lifted).max(initial=0.0)))
            whole = np.linalg.cholesky(lifted + tiny * np.eye(len(value))).T
        else:
            whole = (value + value.T) / 2
        return np.asarray(whole[np.triu_indices(len(value))])

    def _pieces(self, x: Array) -> list[tuple[Declaration, Array]]:
        """The numbers ``x`` cut by variable."""
        ends = np.cumsum([self.length(d) for d in self.declarations])
        return list(zip(self.declarations, np.split(x, ends[:-1]), strict=True))

    def unpack(self, x: Array) -> dict[str, Array]:
        """The point of the numbers."""
        out: dict[str, Array] = {}
        for d, piece in self._pieces(x):
            if d.kind == "psd":
                factor = self._triangle(d, piece)
                out[d.name] = factor.T @ factor
            elif d.kind == "symmetric":
                upper = self._triangle(d, piece)
                out[d.name] = upper + np.triu(upper, 1).T
            else:
                out[d.name] = piece.reshape(d.shape(self.sizes))
        return out

    def _triangle(self, d: Declaration, piece: Array) -> Array:
        """The upper triangular matrix of a variable's numbers."""
        out = np.zeros(d.shape(self.sizes))
        out[np.triu_indices(len(out))] = piece
        return out

    def chain_gradients(self, x: Array, gradients: Mapping[str, Array]) -> Array:
        """The derivative by the numbers ``x``, from those by the variables, as full matrices."""
        parts = []
        for d, piece in self._pieces(x):
            if d.name not in gradients:
                parts.append(np.zeros(piece.size))
                continue
            by = gradients[d.name]
            if d.kind == "psd":
                by = self._triangle(d, piece) @ (by + by.T)
            elif d.kind == "symmetric":
                by = by + by.T - np.diag(np.diag(by))
            parts.append(by[np.triu_indices(len(by))] if d.kind in ("psd", "symmetric") else by.ravel())
        return np.concatenate(parts)


@dataclass(frozen=True)
class _Limit:
    """A constraint as entries that have to be <= 0 (== 0): one tape, or one for each index of a family."""

    name: str
    is_equal: bool
    tapes: tuple[Tape, ...]

    def missed(self, values: Array) -> Array:
        """The part of these values that misses the constraint; zero where it holds."""
        return values if self.is_equal else np.maximum(values, 0.0)

    def values(self, point: Mapping[str, Array], rounding: float) -> Array:
        """The entries at a point; ``rounding``: how far abs, max and min are rounded off."""
        return np.array([np.asarray(t.run(point, rounding)[0], dtype=float) for t in self.tapes])


@dataclass(frozen=True)
class RecordedProblem:
    """A (scaled) instance recorded for differentiation; ``point``: any values of the chosen variables."""

    instance: Instance
    point: Mapping[str, Array]
    coordinates: Coordinates

    @cached_property
    def objective(self) -> Tape:
        """The objective, recorded."""
        return self.tape(self.instance.program.objective, {})

    @cached_property
    def limits(self) -> tuple[_Limit, ...]:
        """The constraints and the signs of psd matrices, whose triangular factors do not keep them."""
        signs = (
            Constraint(d.name, Relation(Name(d.name, d.span), ">=", Number(0.0, d.span), d.span), d.span)
            for d in self.instance.program.choose
            if d.kind == "psd" and d.sign
        )
        return tuple(map(self.limit, (*self.instance.program.constraints, *signs)))

    def tape(self, expr: Expr, index: Mapping[str, int]) -> Tape:
        """An expression recorded, at an index of a family."""
        return Tape(
            expr, {**self.instance.env, **self.point, **index}, [d.name for d in self.instance.program.choose]
        )

    def limit(self, c: Constraint) -> _Limit:
        """A constraint recorded as the difference of its sides, the smaller minus the larger."""
        decided = line(self.instance.checked, c)
        r, loop = decided.relation, c.family if decided.loop else None
        sides: tuple[Expr, Expr] = (r.right, r.left) if r.op == ">=" else (r.left, r.right)
        count = 0 if loop is None else loop.dim.value(self.instance.sizes())
        indices = [{}] if loop is None else [{loop.index: i} for i in range(count)]
        difference = Apply("sub", sides, r.span)
        return _Limit(c.name, r.op == "==", tuple(self.tape(difference, index) for index in indices))

    @property
    def is_rough(self) -> bool:
        """Whether abs, max or min have to be rounded off."""
        return self.objective.is_rough or any(t.is_rough for limit in self.limits for t in limit.tapes)


@dataclass
class _SmoothSearch:
    """The search from one start."""

    problem: RecordedProblem
    clock: Clock
    budget: int
    number: int
    size: float = 1.0  # of the objective at the start
    multipliers: dict[str, Array] = field(default_factory=dict)  # in the end those of the problem
    weight: float = 10.0
    used: int = 0
    raw: str = ""
    gradient: float = np.inf  # the largest entry, projected, of an objective scaled to one at the start
    out: bool = False  # whether a run ended by its number of iterations
    stop: Stop | None = None  # set where the clock or the budget ended the search

    def lagrangian(self, x: Array, rounding: float) -> tuple[float, Array]:
        """The augmented Lagrangian f / s + Σ ‖(y + w g)₊‖² / 2 w and its gradient.

        f the objective, s ``size``, g a limit's entries, y its multipliers, w ``weight``; of an equation all
        of y + w g.
        """
        c = self.problem.coordinates
        point = c.unpack(x)
        value, pull = self.problem.objective.run(point, rounding)
        total, slope = float(value) / self.size, c.chain_gradients(x, pull(1.0 / self.size))
        for limit in self.problem.limits:
            for i, tape in enumerate(limit.tapes):
                off, pull = tape.run(point, rounding)
                pushed = limit.missed(self.multipliers[limit.name][i] + self.weight * np.asarray(off))
                total += float(np.sum(pushed**2)) / (2.0 * self.weight)
                if np.any(pushed):
                    slope = slope + c.chain_gradients(x, pull(pushed))
        return (
            (FAR, np.zeros(x.size))
            if not (np.isfinite(total) and np.isfinite(slope).all())
            else (total, slope)
        )

    def descend(self, x: Array, rounding: float) -> Array:
        """One quasi-Newton run."""
        steps = min(STEPS_OF_RUN, self.budget - self.used)
        if steps < 1 or self.clock.is_over:
            return x
        lower = self.problem.coordinates.lower()
        result = scipy.optimize.minimize(
            self.lagrangian,
            x,
            args=(rounding,),
            jac=True,
            method="L-BFGS-B",
            bounds=scipy.optimize.Bounds(lower, np.inf),
            callback=self.clock.watch,
            options={
                "maxiter": steps,
                "maxfun": 20 * steps,
                "maxcor": LBFGS_PAIRS,
                "gtol": GRADIENT,
                "ftol": DECREASE,
            },
        )
        self.used += int(result.nit)
        self.out = result.nit >= steps
        self.raw = str(result.message)
        slope = np.asarray(result.jac)
        self.gradient = float(
            np.abs(np.where((result.x <= lower) & (slope > 0), 0.0, slope)).max(initial=0.0)
        )
        return np.asarray(result.x)

    def step_multipliers(self, x: Array, rounding: float) -> float:
        """Take a step of the multipliers; return the largest miss of a constraint."""
        point = self.problem.coordinates.unpack(x)
        missed = 0.0
        for limit in self.problem.limits:
            off = limit.values(point, rounding)
            # A multiplier of an inequality is nonnegative: clipped as a miss is.
            self.multipliers[limit.name] = limit.missed(self.multipliers[limit.name] + self.weight * off)
            missed = max(missed, float(np.abs(limit.missed(off)).max(initial=0.0)))
        return missed

    def descend_constrained(self, x: Array, rounding: float, rounds: int) -> Array:
        """Runs with ever better multipliers, and a heavier weight where that does not help."""
        before = np.inf
        for _ in range(rounds):
            x = self.descend(x, rounding)
            missed = self.step_multipliers(x, rounding)
            if missed <= MISS_BEFORE_RESTORING or self.clock.is_over or self.used >= self.budget:
                break
            if missed > before / 4:
                self.weight *= 4.0
            before = missed
        return x

    def restore(self, x: Array) -> Array:
        """The nearest point, to first order, at which the constraints that are missed hold."""
        c = self.problem.coordinates
        for _ in range(MOST_OUTER_ROUNDS):
            point = c.unpack(x)
            rows: list[Array] = []
            off: list[float] = []
            for limit in self.problem.limits:
                for tape in limit.tapes:
                    value, pull = tape.run(point)
                    entries = np.atleast_1d(np.asarray(value, dtype=float))
                    missed = np.abs(entries) > RESTORED_INSIDE if limit.is_equal else entries > 0
                    for at in np.argwhere(missed)[: MOST_RESTORED - len(rows)]:
                        seed = np.zeros(entries.shape)
                        seed[tuple(at)] = 1.0
                        rows.append(c.chain_gradients(x, pull(seed.reshape(np.shape(value)))))
                        off.append(entries[tuple(at)] + (0.0 if limit.is_equal else RESTORED_INSIDE))
            if not rows or not np.isfinite(rows).all():
                break
            x = np.maximum(x + np.linalg.lstsq(np.array(rows), -np.array(off), rcond=None)[0], c.lower())
        return x

    def run(self, start: Array) -> Array | None:
        """The end of the search from a start; None where the objective has no value there."""
        problem = self.problem
        value, _ = problem.objective.run(problem.coordinates.unpack(start))
        if not np.isfinite(value):
            return None
        self.size = abs(float(value)) or 1.0
        self.multipliers = {n.name: np.zeros(n.values(problem.point, 0.0).shape) for n in problem.limits}
        x, roundings = start, [self.size * r for r in ROUNDINGS] if problem.is_rough else [0.0]
        for rounding in roundings:
            x = self.descend_constrained(x, rounding, MOST_OUTER_ROUNDS if rounding == roundings[-1] else 2)
        x = self.restore(x)
        self.multipliers = {name: np.squeeze(m) * self.size for name, m in self.multipliers.items()}
        self.stop = self.clock.stop(spent=self.out)
        return x


SMOOTH_STARTS = 5
MOST_LBFGS_STEPS = 100_000  # of all starts together, unless the caller says otherwise


def solve_smooth(task: Task) -> Solution:
    """Search local optima and keep the best; with a ``start`` from there alone.

    Raises
    ------
    SolverError : no start led to a point that could be repaired.
    """
    started, instance, program = time.monotonic(), task.instance, task.program
    options = task.options(tolerance=LBFGS.tolerance, starts=SMOOTH_STARTS, seed=0)
    scaled, scaling = scale(instance)
    coordinates = Coordinates(program.choose, instance.sizes())
    points = list(_smooth_starts(instance, scaling, coordinates, options, task.start))
    problem = RecordedProblem(scaled, points[0][1], coordinates)
    best, budget, used, raw = Best(instance), options.max_iterations or MOST_LBFGS_STEPS, 0, ""
    left_out: list[str] = []
    ends: list[tuple[_SmoothSearch, Candidate | None]] = []
    objectives: list[float] = []  # of the feasible ones
    with Clock(options.time_limit) as clock:
        for number, (name, values) in enumerate(points, 1):
            search = _SmoothSearch(problem, clock, budget - used, number)
            if (x := search.run(coordinates.pack(values))) is None:
                left_out.append(f"the objective has no value at the start '{name}', which was left out")
                continue
            repaired = best.offer(*scaling.undone(coordinates.unpack(x), search.multipliers))
            ends.append((search, repaired))
            used += search.used
            objectives += [repaired.objective] if repaired is not None and repaired.is_feasible else []
            is_best = repaired is not None and repaired.objective <= min(objectives, default=np.inf)
            raw = search.raw if is_best else raw
            best.tell(task, LBFGS.name, clock.elapsed, used)
            if best.gap <= options.tolerance or clock.stop(spent=used >= budget):
                break
        is_spent = any(search.stop == Stop.ITERATIONS for search, _ in ends)
        stop = best.stop(options, clock) or (
            Stop.ITERATIONS
            if is_spent
            else local_optimum(len(objectives), objectives, min(objectives, default=0.0))
        )
    certified = best.feasible_or_raise(
        clock, lambda: _no_smooth_point(program.name, best.point, raw, bool(ends))
    )
    best.stages.append({"stage": "solver", "name": LBFGS.name, "seconds": clock.elapsed, "it says": raw})
    ending = best.ending(
        certified,
        stop=stop,
        solver=(LBFGS.name, LBFGS.version),
        word=raw,
        options=options,
        iterations=used,
        compile=clock.started - started,
        solve=clock.elapsed,
        scaling=scaling.scales,
        warnings=tuple(left_out),
        history=[
            {
                "start": float(search.number),
                "objective": np.inf if repaired is None else repaired.objective,
                "iterations": float(search.used),
                "gradient norm": search.gradient,
            }
            for search, repaired in ends
        ],
    )
    return assemble_solution(instance, certified.env, ending)


def _smooth_starts(
    instance: Instance,
    scaling: Scaling,
    coordinates: Coordinates,
    options: Options,
    start: Mapping[str, Any] | None,
) -> Iterator[tuple[str, dict[str, Array]]]:
    """Starts by name, in the scale of the search: those of the program, then random ones.

    Variables that a start leaves out are drawn. Its random numbers depend on the seed and its number alone.
    """
    assert options.starts is not None and options.seed is not None
    program = instance.program
    named = [s for s in program.starts if s.values] if start is None else []
    is_limited = start is not None or (named and len(named) == len(program.starts))
    for number in range(min(options.starts, max(1, len(named))) if is_limited else options.starts):
        rng = np.random.default_rng([options.seed, number])
        values = {d.name: draw_value(rng, d, d.shape(coordinates.sizes)) for d in program.choose}
        name, given = ("random", {}) if start is None else ("given", start)
        if number < len(named):
            name, given = named[number].name, assigned_values(named[number].values, instance.env)
        scaled = {key: np.asarray(v, dtype=float) / scaling.variables[key] for key, v in given.items()}
        yield name, {**values, **scaled}


def _no_smooth_point(program: str, best: Candidate | None, raw: str, has_ends: bool) -> SolverError:
    """The error for a search without a feasible end; ``has_ends``: whether a start had a value at all."""
    if not has_ends:
        return SolverError(
            f"the objective of '{program}' has no value at any start",
            hint="give it a 'start' at which it has one",
        )
    missed = (
        "" if best is None else f"a point that violates a constraint by {best.after:.1e} after its repair"
    )
    return SolverError(
        f"{LBFGS.name} returned {missed or 'no point'} for '{program}' ({raw})",
        hint="allow more time or iterations, ask for more starts, or give the program a 'repair'",
    )
