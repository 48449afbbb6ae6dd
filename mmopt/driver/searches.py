"""Searches for programs that are not convex: by gradients (smooth), and the trace heuristic (rank).

Every end is repaired and certified like a conic solver's point. Nothing is claimed to be the optimum unless
the certificate proves it.

**Smooth programs** are searched by gradients from several starts, the best end kept; the status has the
number of starts and the spread of their ends. The chosen variables are one vector of free (or nonnegative)
numbers. A psd matrix is LᵀL with L triangular, so that every vector gives one (Burer & Monteiro 2003, A
nonlinear programming algorithm for solving semidefinite programs via low-rank factorization); a symmetric one
is its triangle. A search without constraints is L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995). Constraints
g(x) <= 0 and h(x) = 0 go into an augmented Lagrangian (Nocedal & Wright, Numerical Optimization, chapter 17),
whose multipliers start a certificate; at the end the point is moved onto the constraints that it misses by
rounding. abs, max and min are rounded off, less and less.

**Rank constraints** are left out, rank(Z) == p, and <Z, D> is added to the objective, with D the projector on
the eigenvectors of Z's smallest eigenvalues: zero exactly when the rank is reached. Solves and updates of D
take turns (Dattorro, Convex Optimization and Euclidean Distance Geometry, chapter 4, "convex iteration"). The
first D of each start is a random projector, or the one at a given start. A large weight on <Z, D> reaches the
rank soon, at any nearby point; a small one finds good points and seldom reaches the rank. So the weight is
small at first and raised whenever the residual stops falling. Every round's point is scored. It is a
heuristic: the status says whether the rank was reached.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.optimize

from mmopt.compiler import Instance, Lowered, Scaling, lower, scale
from mmopt.compiler.to_cones import line
from mmopt.driver.diagnose import explain_failure
from mmopt.driver.judge.assemble_solution import adopt, assemble, assigned
from mmopt.driver.judge.check_claims import draw
from mmopt.driver.judge.score_point import Candidate
from mmopt.driver.run_solver import Best, unscaled_warning
from mmopt.driver.solve_plan import Task
from mmopt.errors import OptionError, SolverError, TooLargeError
from mmopt.language import Tape, evaluate
from mmopt.language.atoms.argument_types import Curvature, matrix
from mmopt.language.check.infer_types import infer
from mmopt.language.check.relation_checks import rank_line, rank_residual
from mmopt.language.syntax.syntax_tree import Apply, Constraint, Declaration, Expr, Name, Number, Relation
from mmopt.limits import Stop, uncounted
from mmopt.numerics.arrays import Array
from mmopt.numerics.matrix_functions import EIGENVALUE_FLOOR, psd_floor
from mmopt.results import Solution
from mmopt.solvers import (
    LBFGS,
    Clock,
    Options,
    Point,
    SolverRow,
    conic_solver,
    memory_limit,
    predicted,
    run,
    total,
)
from mmopt.strategies import Strategy

# Relative to the objective at the start. A larger first one leads most starts to the same end.
ROUNDINGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STAGE = 5000  # iterations of one quasi-Newton run
MEMORY = 20
GRADIENT = 1e-9  # of an objective of size one
DECREASE = 1e-14
OUTER = 25  # rounds of multipliers
MISSED = 1e-9  # a constraint may be missed by this much before it is restored
MARGIN = 1e-12
RESTORED = 400  # constraints that are restored at once, at most
FAR = 1e10  # in place of an objective without a value


@dataclass(frozen=True)
class Coordinates:
    """The declarations of the chosen variables, with the sizes of the dimensions."""

    declarations: Sequence[Declaration]
    sizes: Mapping[str, int]

    def length(self, d: Declaration) -> int:
        shape = d.shape(self.sizes)
        return shape[0] * (shape[0] + 1) // 2 if d.kind in ("psd", "symmetric") else int(np.prod(shape))

    def lower(self) -> Array:
        """The least value of each number: a little above zero for ``> 0``, -infinity where it is free."""
        least = {"": -np.inf, ">=": 0.0, ">": EIGENVALUE_FLOOR}
        each = [np.full(self.length(d), least[d.sign if d.kind != "psd" else ""]) for d in self.declarations]
        return np.concatenate(each)

    def pack(self, values: Mapping[str, Array]) -> Array:
        """The numbers of a point; declared signs are clipped, psd matrices lifted to positive definite."""
        pieces = [self._flat(d, np.asarray(values[d.name], dtype=float)) for d in self.declarations]
        return np.asarray(np.maximum(np.concatenate(pieces), self.lower()))

    def _flat(self, d: Declaration, value: Array) -> Array:
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
        out = np.zeros(d.shape(self.sizes))
        out[np.triu_indices(len(out))] = piece
        return out

    def pull(self, x: Array, gradients: Mapping[str, Array]) -> Array:
        """The derivative by the numbers, from those by the variables as full matrices."""
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
        return np.array([np.asarray(t.run(point, rounding)[0], dtype=float) for t in self.tapes])


@dataclass(frozen=True)
class RecordedProblem:
    """A (scaled) instance recorded for differentiation; ``point``: any values of the chosen variables."""

    instance: Instance
    point: Mapping[str, Array]
    coordinates: Coordinates

    @cached_property
    def objective(self) -> Tape:
        return self.tape(self.instance.program.objective, {})

    @cached_property
    def limits(self) -> tuple[_Limit, ...]:
        """The constraints and the signs of psd matrices, whose triangular factors do not keep them."""
        chosen = self.instance.program.choose
        signed = [d for d in chosen if d.kind == "psd" and d.sign]
        at_least = [Relation(Name(d.name, d.span), ">=", Number(0.0, d.span), d.span) for d in signed]
        signs = (Constraint(d.name, relation, d.span) for d, relation in zip(signed, at_least, strict=True))
        return tuple(map(self.limit, (*self.instance.program.constraints, *signs)))

    def tape(self, expr: Expr, index: Mapping[str, int]) -> Tape:
        """An expression recorded, at an index of a family."""
        return Tape(
            expr, {**self.instance.env, **self.point, **index}, [d.name for d in self.instance.program.choose]
        )

    def limit(self, c: Constraint) -> _Limit:
        decided = line(self.instance.checked, c)
        r, loop = decided.relation, c.family if decided.loop else None
        sides: tuple[Expr, Expr] = (r.right, r.left) if r.op == ">=" else (r.left, r.right)
        count = 0 if loop is None else loop.dim.value(self.instance.sizes())
        indices = [{}] if loop is None else [{loop.index: i} for i in range(count)]
        difference = Apply("sub", sides, r.span)
        return _Limit(c.name, r.op == "==", tuple(self.tape(difference, index) for index in indices))

    @property
    def is_rough(self) -> bool:
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
        """The augmented Lagrangian and its gradient."""
        c = self.problem.coordinates
        point = c.unpack(x)
        value, pull = self.problem.objective.run(point, rounding)
        total, slope = float(value) / self.size, c.pull(x, pull(1.0 / self.size))
        for limit in self.problem.limits:
            for i, tape in enumerate(limit.tapes):
                off, pull = tape.run(point, rounding)
                pushed = limit.missed(self.multipliers[limit.name][i] + self.weight * np.asarray(off))
                total += float(np.sum(pushed**2)) / (2.0 * self.weight)
                if np.any(pushed):
                    slope = slope + c.pull(x, pull(pushed))
        return (
            (FAR, np.zeros(x.size))
            if not (np.isfinite(total) and np.isfinite(slope).all())
            else (total, slope)
        )

    def descend(self, x: Array, rounding: float) -> Array:
        """One quasi-Newton run."""

        def watch(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            if self.clock.is_over:
                raise StopIteration

        steps = min(STAGE, self.budget - self.used)
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
            callback=watch,
            options={
                "maxiter": steps,
                "maxfun": 20 * steps,
                "maxcor": MEMORY,
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

    def update(self, x: Array, rounding: float) -> float:
        """Set new multipliers; return the largest miss of a constraint."""
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
            x = np.maximum(x + np.linalg.lstsq(np.array(rows), -np.array(off), rcond=None)[0], c.lower())
        return x

    def history_row(self, repaired: Candidate | None) -> dict[str, float]:
        objective = np.inf if repaired is None else repaired.objective
        row = {"start": float(self.number), "objective": objective, "iterations": float(self.used)}
        return {**row, "gradient norm": self.gradient}

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
            x = self.constrained(x, rounding, OUTER if rounding == roundings[-1] else 2)
        x = self.restore(x)
        self.multipliers = {name: np.squeeze(m) * self.size for name, m in self.multipliers.items()}
        self.stop = self.clock.stop(spent=self.out)
        return x


SMOOTH_STARTS = 5
ITERATIONS = 100_000  # of all starts together, unless the caller says otherwise


def _local_optimum(objectives: Sequence[float]) -> str:
    """``local optimum, 5 starts, spread 1.2e-03``: of the worst feasible end over the best, relatively."""
    count = len(objectives)
    text = f"{Stop.LOCAL}, {count} start{'s' * (count != 1)}"
    if count < 2:
        return text
    best, worst = min(objectives), max(objectives)
    return f"{text}, spread {(worst - best) / max(abs(best), 1e-300):.1e}"


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
    best, budget, used, raw = Best(instance), options.max_iterations or ITERATIONS, 0, ""
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
        stop = best.stop(options, clock) or (Stop.ITERATIONS if is_spent else _local_optimum(objectives))
    certified = best.feasible(clock, lambda: _no_smooth_point(program.name, best.point, raw, bool(ends)))
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
        history=[search.history_row(repaired) for search, repaired in ends],
    )
    return assemble(instance, certified.env, ending)


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
        values = {d.name: draw(rng, d, d.shape(coordinates.sizes)) for d in program.choose}
        name, given = ("random", {}) if start is None else ("given", start)
        if number < len(named):
            name, given = named[number].name, assigned(named[number].values, instance.env)
        scaled = {key: np.asarray(v, dtype=float) / scaling.variables[key] for key, v in given.items()}
        yield name, {**values, **scaled}


def _no_smooth_point(program: str, best: Candidate | None, raw: str, has_ends: bool) -> SolverError:
    if not has_ends:
        return SolverError(
            f"the objective of '{program}' has no value at any start",
            hint="give it a 'start' at which it has one",
        )
    missed = "" if best is None else f"a point that misses a constraint by {best.after:.1e} after its repair"
    return SolverError(
        f"{LBFGS.name} returned {missed or 'no point'} for '{program}' ({raw})",
        hint="allow more time or iterations, ask for more starts, or give the program a 'repair'",
    )


DIRECTION = "?direction"
PARAMETER_BYTES = 4.0  # of cvxpy per fourth power of the direction's rows: 0.8 GB at 120


@dataclass(frozen=True)
class Penalised:
    """The problem of every round, compiled once: only the direction D changes."""

    scaled: Instance
    scaling: Scaling
    lowered: Lowered
    direction: Any  # a cvxpy parameter
    z: Expr
    side: int
    rank: int

    def matrix(self, variables: Mapping[str, Array]) -> Array:
        """Z in the scale of the solve, where it does not depend on the units of the queries."""
        env = {**self.scaled.env, **{n: v if v.ndim else float(v) for n, v in variables.items()}}
        return np.asarray(evaluate(self.z, env), dtype=float)

    def projector(self, z: Array) -> Array:
        """The projector on the eigenvectors of all but the ``rank`` largest eigenvalues."""
        _, vectors = np.linalg.eigh((z + z.T) / 2)
        small = vectors[:, : self.side - self.rank]
        return np.asarray(small @ small.T)

    def first(self, start: Mapping[str, Array] | None, seed: list[int]) -> Array:
        """The projector at a start in the scale of the program; without one a random one of the same rank."""
        if start is not None:
            scale_of = self.scaling.variables
            return self.projector(self.matrix({n: np.asarray(v) / scale_of[n] for n, v in start.items()}))
        small, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(self.side, self.side - self.rank)))
        return np.asarray(small @ small.T)


def penalised(instance: Instance) -> Penalised:
    """Scale the program, put the penalty into its objective, compile it."""
    with uncounted():
        import cvxpy

    program = instance.program
    constraint = rank_line(program.constraints)
    left, right = constraint.relation.left, constraint.relation.right
    assert isinstance(left, Apply)
    (z,) = left.args
    side = infer(z, instance.checked.scope).dims[0]
    size, rank = side.value(instance.sizes()), float(evaluate(right, instance.env))
    if rank != int(rank) or not 0 <= rank <= size:
        raise OptionError(
            f"'{constraint.name}': a matrix with {size} rows does not have rank {rank:g}",
            where=program.source.locate(right.span),
        )
    if (needed := PARAMETER_BYTES * size**4) > memory_limit():
        raise TooLargeError(
            f"the direction of '{program.name}' has {size} rows and would need about {needed / 2**30:,.0f} "
            f"GiB of memory to compile; the limit here is {memory_limit() / 2**30:.0f} GiB",
            hint="this is a program for about eight cells: take fewer",
        )
    scaled, scaling = scale(instance)
    direction = cvxpy.Parameter((size, size), symmetric=True)
    penalty = Apply("sum", (Apply("mul", (z, Name(DIRECTION, z.span)), z.span),), z.span)
    changed = replace(
        program,
        objective=Apply(
            "add" if program.sense == "minimize" else "sub", (program.objective, penalty), z.span
        ),
    )
    lines = instance.checked.lines.with_types(
        **{DIRECTION: matrix(side, side, symmetric=True, curvature=Curvature.CONSTANT)}
    )
    bound = replace(
        scaled,
        checked=replace(instance.checked, program=changed, lines=lines),
        env={**scaled.env, DIRECTION: direction},
    )
    return Penalised(scaled, scaling, lower(bound), direction, z, size, int(rank))


RANK_STARTS = 10
RANK_ROUNDS = 40  # of one start
# The first weight of <Z, D>, relative to the scaled objective. On prefix sums over 2 to 6 cells, 1 ends at
# the best known strategies in half of the starts and near singular ones in the others; 3 ends up to a fifth
# above them in nearly all, 10 up to a half. So every second start begins with LARGER times as much.
PENALTY = 1.0
LARGER = 3.0
HALVED = 0.5  # where the residual does not fall below this part of the one before,
RAISED = 1.5  # the weight is multiplied by this
RANK_REACHED = 1e-6  # a residual below this is the solver's rounding
# The tolerance of a solver in a round. SCS tests 1e-5 of it, Clarabel 1e-2, the others all of it.
ACCURACY = {"interior point": 1e-7, "first order": 1e-2}
NO_BETTER = ("no round of the search is better than measuring every cell (the identity), which this is",)
# Predicted seconds beyond which a search is refused without a time limit.
PATIENCE = 600.0


@dataclass
class _RankSearch:
    """The state of a search: the best point so far, and a row for each round."""

    task: Task
    problem: Penalised
    row: SolverRow
    options: Options
    clock: Clock
    best: Best
    last: Point = field(default_factory=lambda: Point({}, {}, 0, ""))
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def used(self) -> int | None:
        """Iterations of the solver, of all rounds."""
        return total(None if (n := row.get("iterations")) is None else int(n) for row in self.history)

    @property
    def is_over(self) -> bool:
        return (
            self.clock.is_over or self.last.stop == Stop.INFEASIBLE or self.best.gap <= self.options.tolerance
        )

    def start(self, start: int, weight: float, direction: Array, rounds: int) -> None:
        """Alternate from one direction until the rank is reached."""
        before = np.inf
        for number in range(1, rounds + 1):
            row = {"start": start, "round": number, "penalty": weight}
            z = self.solve(weight * direction, row)
            if z is None or self.is_over or (residual := row["residual"]) <= RANK_REACHED:
                return
            if residual > HALVED * before:
                weight *= RAISED
            before, direction = residual, self.problem.projector(z)

    def solve(self, direction: Array, row: dict[str, float]) -> Array | None:
        """One round: Z at the solver's point, None when there is no point."""
        problem, scaling = self.problem, self.problem.scaling
        problem.direction.value = (direction + direction.T) / 2
        options = replace(self.options, tolerance=ACCURACY[self.row.method], max_iterations=None)
        with closing(run(self.row, problem.lowered, options, self.clock)) as points:
            for point in points:
                self.last = point
                if self.row.method == "interior point":
                    break  # the first has the accuracy
        last = self.last
        row |= {} if last.iterations is None else {"iterations": last.iterations}
        self.history.append(row)
        if len(last.variables) < len(self.task.program.choose):
            return None
        repaired = self.best.offer(*scaling.undone(last.variables, last.multipliers))
        z = problem.matrix(last.variables)
        row["residual"] = rank_residual(z, problem.rank)
        if repaired is not None and repaired.is_feasible:
            row["objective"] = repaired.objective
        self.best.tell(self.task, self.row.name, self.clock.elapsed, self.used)
        return z

    def stop(self, limited: bool) -> str:
        """The reason for the end, and whether the rank was reached; ``limited``: rounds set by the caller."""
        stop = self.best.stop(self.options, self.clock)
        if stop == Stop.REACHED:
            return stop
        if reached := sum("objective" in row and row["residual"] <= RANK_REACHED for row in self.history):
            rank = f"{Stop.RANK} in {reached} of {self.history[-1]['start']} starts"
        else:
            smallest = min((row["residual"] for row in self.history if "residual" in row), default=np.inf)
            residual = f"(residual {smallest:.1e})" if smallest > RANK_REACHED else "at a feasible point"
            rank = f"{Stop.NO_RANK} {residual}"
            stop = stop or (Stop.ITERATIONS if limited else None)
        return f"{stop}, {rank}" if stop else rank


def predicted_search(instance: Instance, solver: str | SolverRow | None = None) -> float:
    """Seconds for all rounds of all starts, each predicted as the first; most need fewer.

    Errors as ``conic_solver``.
    """
    return predicted(instance, conic_solver(instance, solver)).seconds * RANK_STARTS * RANK_ROUNDS


def _refuse_too_long(instance: Instance, row: SolverRow, times: int, limit: float) -> None:
    """Refuse a search without time for one solve, or, without a time limit, with too many solves."""
    once = predicted(instance, row).seconds
    if once > limit:
        raise TooLargeError(
            f"'{instance.program.name}' solves one problem after another, and over {instance.workload.n} "
            f"cells each is predicted to take {once:.0f} s with {row.name}; the time limit is {limit:g} s in "
            "all",
            hint="this is a program for about eight cells: take fewer, or allow more",
        )
    if not np.isfinite(limit) and once * times > PATIENCE:
        raise TooLargeError(
            f"'{instance.program.name}' would be solved up to {times} times with {row.name}, each about "
            f"{once:.1f} s; without a time limit {PATIENCE / 60:.0f} min in all are allowed",
            hint="give a time limit, fewer starts or iterations, or fewer cells",
        )


def solve_rank(task: Task) -> Solution:
    """Search a point of the given rank, from several starts; the best repaired point of all rounds.

    With a ``start`` the search starts from there alone, and returns it unless it finds a better point;
    without one it returns the identity unless it finds a better point.
    ``max_iterations`` is the number of rounds of a start. The history has a row for every round:
    ``start``, ``round``, ``penalty`` (the weight of <Z, D>), the solver's ``iterations``, ``residual`` (the
    first singular value of Z beyond the rank, relative to the largest, before the repair) and
    ``objective`` (after the repair; absent when the repaired point is not feasible).

    Raises
    ------
    OptionError : the matrix cannot have the rank.
    TooLargeError : it is predicted to take too long, and no time limit is given.
    SolverError : no round gave a point that could be made feasible.
    """
    started, instance, program, start = time.monotonic(), task.instance, task.program, task.start
    row = conic_solver(instance, task.solver)
    chosen = task.options(tolerance=row.tolerance, starts=RANK_STARTS, seed=0, penalty=PENALTY)
    chosen = chosen if start is None else replace(chosen, starts=1)
    assert chosen.starts is not None and chosen.seed is not None and chosen.penalty is not None
    rounds = chosen.max_iterations or RANK_ROUNDS
    _refuse_too_long(instance, row, chosen.starts * rounds, chosen.time_limit)
    problem = penalised(instance)
    first = start
    with suppress(OptionError):  # a program that takes no strategy, or one with another number of rows
        first = start or adopt(instance, Strategy(np.eye(instance.workload.n), program.meaning.norm))
    with Clock(chosen.time_limit) as clock:
        search = _RankSearch(task, problem, row, chosen, clock, Best(instance))
        offered = None if first is None else search.best.offer(first, {})
        if program.multipliers:
            # The relaxation without the rank: the best multipliers for the bound.
            search.solve(np.zeros((problem.side, problem.side)), {"start": 0, "round": 1, "penalty": 0.0})
        for number in range(chosen.starts):
            if search.is_over and search.history:
                break
            search.start(
                number + 1,
                chosen.penalty * (LARGER if number % 2 else 1.0),
                problem.first(start, [chosen.seed, number]),
                rounds,
            )
    best, last = search.best, search.last
    point = best.feasible(
        clock,
        lambda: explain_failure(instance, (problem.scaled, problem.scaling), row.name, last, best.point),
    )
    ending = best.ending(
        point,
        stop=search.stop(chosen.max_iterations is not None),
        solver=(row.name, row.version),
        word=last.raw,
        options=chosen,
        iterations=search.used,
        compile=clock.started - started,
        solve=clock.elapsed,
        scaling=problem.scaling.scales,
        warnings=unscaled_warning(instance, problem.scaling)
        + NO_BETTER * (not start and best.uncharged is offered),
        history=search.history,
    )
    return assemble(instance, point.env, ending)
