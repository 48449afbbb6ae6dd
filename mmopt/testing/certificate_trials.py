"""Trials of certificates: random multipliers against random feasible points.

A certificate is its author's claim that for any multipliers >= 0 its value is at most the objective at any
feasible point (weak duality). A test cannot prove that. It finds most mistakes, because the multipliers and
the point of a solve leave no room: there the two numbers agree to many digits. Random workloads, givens,
points and multipliers are of the declared types, from one generator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.driver import solve
from mmopt.driver.accepted_options_and_inputs import named_givens
from mmopt.driver.judge.score_and_meaning import (
    BOUND_ROUNDING,
    Candidate,
    RefutedError,
    SoughtPoints,
    bound_of,
    candidate,
    named_multipliers,
)
from mmopt.errors import OptionError, SolverError
from mmopt.language import (
    Declaration,
    Multiplier,
    Number,
    Program,
    check,
)
from mmopt.numerics.arrays import Array
from mmopt.testing.problem_registry import random_ranges
from mmopt.workloads import Workload


def draw_workload(rng: np.random.Generator, with_targets: bool, size: int | None = None) -> Workload:
    """A few queries over 4 to 6 cells, or ``size``: ranges, signed counts, real numbers, counts of rank two.

    Sometimes they are weighted or of another size, and sometimes no query touches one of the cells.
    """
    n, m = int(rng.integers(4, 7)) if size is None else size, int(rng.integers(2, 8))
    kind = rng.integers(4)
    if kind == 0:
        rows = random_ranges(n, m, rng)
    elif kind == 1:
        rows = rng.integers(-1, 2, size=(m, n)).astype(float)
    elif kind == 2:
        rows = rng.normal(size=(m, n))
    else:
        rows = rng.integers(-2, 3, size=(m, 2)) @ rng.integers(0, 2, size=(2, n)).astype(float)
    if rng.random() < 0.25:
        rows[:, rng.integers(n)] = 0.0
    rows[~rows.any(axis=1), 0] = 1.0
    if rng.random() < 0.5:
        rows = rows * 10.0 ** rng.uniform(-1.5, 1.5)
    targets = rng.uniform(0.2, 5.0, size=m) if with_targets else None
    return Workload.from_matrix(rows, targets, rng.uniform(0.2, 5.0, size=m) if rng.random() < 0.25 else None)


def draw_givens(
    rng: np.random.Generator, program: Program, workload: Workload, square: bool, parameters: int = 0
) -> dict[str, Array]:
    """Values for the givens without a source, and for parameters that are numbers.

    A dimension that nothing else fixes is at most the number of cells; with ``square`` it is that number.
    parameters : 0 for their defaults; 1 (-1) for up to four times more (less), where a 0 becomes positive.
    """
    sourced = [(d.dims, d.source.removeprefix("workload.")) for d in program.givens if d.source]
    sizes = {
        str(dim): size
        for dims, source in sourced
        for dim, size in zip(dims, np.shape(getattr(workload, source)), strict=True)
        if len(dim.symbols) == 1
    }
    out = {}
    for d in (d for d in program.givens if not d.source):
        for name in sorted({s for dim in d.dims for s in dim.symbols} - sizes.keys()):
            sizes[name] = workload.n if square else int(rng.integers(1, workload.n + 1))
        out[d.name] = draw_value(rng, d, sizes)
    for p in program.parameters if parameters else ():
        if isinstance(p.expr, Number) and (p.declared is None or p.declared.kind == "scalar"):
            out[p.name] = np.asarray(
                (p.expr.value or rng.random()) * 4.0 ** (parameters * rng.uniform(0.2, 1.0))
            )
    return out


def draw_value(rng: np.random.Generator, d: Declaration, sizes: Mapping[str, int]) -> Array:
    """A random value of a declared kind and sign, of a size between 0.01 and 100."""
    shape = d.shape(sizes)
    size = 10.0 ** rng.uniform(-2.0, 2.0)
    if d.kind == "psd":
        side = shape[0]
        if rng.random() < 0.3:
            return np.diag(size * rng.uniform(0.01, 1.0, size=side))
        rows = rng.normal(size=(side + int(rng.integers(3)), side))
        return np.asarray(size * rows.T @ rows / side)
    value = np.asarray(size * rng.normal(size=shape))
    if d.kind == "symmetric":
        return np.asarray((value + value.T) / 2)
    return np.abs(value) if d.sign else value


def draw_multiplier(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Nonnegative numbers of very different sizes; in every other draw, on average, most of them are zero.

    Their common size differs from draw to draw, too: a certificate may be wrong for small ones only.
    """
    value = np.asarray(10.0 ** (rng.uniform(-4.0, 4.0) + rng.uniform(-2.0, 2.0, size=shape)))
    if not shape or rng.random() < 0.5:
        return value
    kept = rng.random(shape) < 0.3
    kept.flat[rng.integers(kept.size)] = True
    return np.where(kept, value, 0.0)


POINTS = 6  # random points of each instance, which the program repairs
MULTIPLIERS = 12  # random multipliers of each instance
ATTEMPTS = 20  # attempts to draw givens that meet the program's requirements
UNREPAIRED_POINTS = 100  # points that are tried without the program's repair
MOST_MISSED = 1e-13  # relative: points that miss a constraint by more are not compared
# Cells of the instances in turn; None: 4 to 6. A certificate may be false for many cells only.
CELLS = (None, None, (2, 4), (8, 13), (16, 25))


@dataclass(frozen=True)
class Finding:
    """A feasible point whose objective is below the certificate at some multipliers (above, when maximized).

    ``queries`` is the weighted W (m, n); ``variables`` and ``multipliers`` go by their names in
    the program.
    """

    instance: int
    objective: float
    bound: float
    queries: Array
    targets: Array
    givens: Mapping[str, Array]
    variables: Mapping[str, Array]
    multipliers: Mapping[str, Array]

    def __str__(self) -> str:
        m, n = self.queries.shape
        return (
            f"instance {self.instance} ({m} queries over {n} cells): a feasible point has objective "
            f"{self.objective:.10g}, the certificate claims a bound of {self.bound:.10g}"
        )


@dataclass(frozen=True)
class WeakDualityReport:
    """The result of a check of a certificate. ``seed`` repeats it.

    cells : the numbers of cells of the workloads.
    instances : random workloads on which pairs of a point and multipliers were compared.
    pairs : the number of pairs.
    smallest_slack : least (objective - bound) / objective over all pairs; negative when violated, infinity
        without pairs.
    findings : the worst violated pair of each instance.
    notes : instances that could not be used in full, and why.
    is_derived : whether a solve derives a bound from the program's lines.
    """

    program: str
    seed: int
    has_certificate: bool
    cells: tuple[int, ...] = ()
    instances: int = 0
    pairs: int = 0
    smallest_slack: float = float("inf")
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    is_derived: bool = False

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the certificate (true without one)."""
        return not self.findings

    def __str__(self) -> str:
        if not self.has_certificate:
            read = ": a solve derives its bound from its constraints" if self.is_derived else ""
            return f"'{self.program}' has no certificate of its own{read}"
        if not self.pairs:
            head = f"weak duality of '{self.program}' could not be tested"
        elif self.holds:
            head = f"weak duality of '{self.program}' holds"
        else:
            head = f"the certificate of '{self.program}' is not a lower bound"
        sizes = f" of {min(self.cells)} to {max(self.cells)} cells" if self.cells else ""
        tested = f"{self.pairs} pairs on {self.instances} random workloads{sizes}"
        slack = f", smallest slack {self.smallest_slack:.1e}" if self.pairs else ""
        lines = [f"{head} ({tested}{slack}; seed {self.seed})"]
        return "\n".join(lines + [f"  {line}" for line in (*map(str, self.findings), *self.notes)])


def check_program(
    program: str | Path | Program,
    seed: int | None = None,
    instances: int = 5,
    givens: Mapping[str, Any] | None = None,
) -> WeakDualityReport:
    """Test the certificate of a program on small random workloads.

    Every instance is solved once (over 2 to 24 cells); the solver's multipliers and point are compared with
    each other, with random ones, and with feasible points that are found without the program's repair.

    Parameters
    ----------
    program : a shipped name, a path, or a parsed Program.
    seed : the seed of the random numbers; by default a fresh one, which is in the report.
    instances : number of random workloads. givens : as for ``solve``; others without a source are drawn,
        and in every other instance parameters that are numbers (not those of a procedure).

    Raises
    ------
    ProgramError : the program does not check.
    OptionError : an unknown program, or fewer than one instance.
    """
    if instances < 1:
        raise OptionError(f"'instances' is at least 1, not {instances}")
    parsed = program if isinstance(program, Program) else Program.load(program)
    check(parsed)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    is_derived = parsed.problem_class == "convex" and not parsed.bound
    report = WeakDualityReport(parsed.name, seed, parsed.certificate is not None, is_derived=is_derived)
    if parsed.certificate is None:
        return report
    for number in range(instances):
        report = _instance(parsed, np.random.default_rng([seed, number]), number, report, givens or {})
    return report


def _instance(
    program: Program,
    rng: np.random.Generator,
    number: int,
    report: WeakDualityReport,
    passed: Mapping[str, Any],
) -> WeakDualityReport:
    """One random workload: draw, solve, compare, and add to the report."""
    drawn = _bound_instance(program, rng, number, passed)
    if isinstance(drawn, OptionError):
        note = f"instance {number}: the program took none of {ATTEMPTS} random workloads ({drawn.message})"
        return replace(report, notes=(*report.notes, note))
    instance, givens = drawn
    points, multipliers, remarks = _offered(program, instance, givens, rng)
    notes = (*report.notes, *(f"instance {number}: {text}" for text in remarks))
    if not points:
        return replace(report, notes=notes)
    # When the program maximizes, signs are reversed: the certificate bounds from above.
    sign = 1.0 if program.sense == "minimize" else -1.0
    values = [bound_of(_by_name(instance), m) for m in multipliers]
    bounds = [-np.inf if bound is None else sign * bound for bound in values]
    lowest, highest = min(points, key=lambda p: sign * p.objective), int(np.argmax(bounds))
    slack = (sign * lowest.objective - bounds[highest]) / max(abs(lowest.objective), 1e-300)
    findings = report.findings
    if slack < -BOUND_ROUNDING:
        findings = (
            *findings,
            Finding(
                number,
                lowest.objective,
                sign * bounds[highest],
                instance.workload.matrix,
                instance.workload.targets,
                givens,
                lowest.variables,
                multipliers[highest],
            ),
        )
    return replace(
        report,
        cells=(*report.cells, instance.workload.n),
        instances=report.instances + 1,
        pairs=report.pairs + len(points) * len(bounds),
        smallest_slack=min(report.smallest_slack, slack),
        findings=findings,
        notes=notes,
    )


def _offered(
    program: Program, instance: Instance, givens: Mapping[str, Any], rng: np.random.Generator
) -> tuple[list[Candidate], list[dict[str, Array]], list[str]]:
    """Feasible points and multipliers: random ones, the solver's, and some near them; and remarks."""
    declared, sizes = instance.program.multipliers, instance.sizes()
    chooses = not program.steps  # the points of a procedure are those of its steps, and it has one result
    values: list[dict[str, Any]] = [
        {d.name: draw_value(rng, d, sizes) for d in instance.program.choose}
        for _ in range(POINTS if chooses else 0)
    ]
    results: list[Candidate] = []
    multipliers = [_random_multipliers(rng, declared, sizes) for _ in range(MULTIPLIERS)]
    remarks = []
    try:
        solution = solve(instance.workload, program, givens=givens, reduce=False)
    except SolverError as error:
        remarks.append(f"not solved, only random points ({error.message})")
    except RefutedError as error:
        results.append(error.point)
        multipliers.append(named_multipliers(instance, error.multipliers))
    else:
        if chooses:
            values.append(dict(solution.variables))
        else:
            results.append(Candidate({}, {}, solution.objective, 0.0, 0.0))
        for spread in (0.0, *10.0 ** rng.uniform(-4.0, 0.0, size=MULTIPLIERS // 2)):
            others = _random_multipliers(rng, declared, sizes)
            multipliers.append(others | _near(rng, declared, solution.multipliers, spread))
        starts = {"the solver's": solution.variables} if chooses else {}
        sought = SoughtPoints(instance, solution.multipliers, rng, UNREPAIRED_POINTS).points(starts)
        results += [point for _, point in sought if point.after <= MOST_MISSED]
    points = results + [p for p in (_repaired(instance, v) for v in values) if p is not None]
    remarks += [f"none of {len(values)} points is feasible after the repair"] * (not points)
    return points, multipliers, remarks


def _bound_instance(
    program: Program, rng: np.random.Generator, number: int, passed: Mapping[str, Any]
) -> tuple[Instance, dict[str, Array]] | OptionError:
    """A random instance, or the refusal of the last one when none meets the program's requirements."""
    refusal = OptionError("none drawn")
    size = None if program.problem_class == "rank" else CELLS[number % len(CELLS)]
    cells = None if size is None else int(rng.integers(*size))
    columns = [np.shape(v)[1] for v in passed.values() if np.ndim(v) == 2]  # such as of design queries
    cells = columns[0] if columns else cells
    needs_targets = any(d.source in ("workload.targets", "workload.representation") for d in program.givens)
    for attempt in range(ATTEMPTS):
        workload = draw_workload(rng, needs_targets, cells)
        # Every other instance, while the program takes them; those of a procedure steer its rounds.
        varies = not program.steps and attempt < ATTEMPTS // 2
        givens = draw_givens(rng, program, workload, attempt % 2 == 1, (0, -1, 0, 1)[number % 4] * varies)
        try:
            givens |= named_givens(passed, program, workload)
            return bind(program, workload, givens), givens
        except OptionError as error:
            refusal = error
    return refusal


def _random_multipliers(
    rng: np.random.Generator, declared: Sequence[Multiplier], sizes: Mapping[str, int]
) -> dict[str, Array]:
    """Random multipliers by the certificate's names."""
    return {
        d.name: draw_multiplier(rng, d.shape(sizes)) if d.sign else draw_value(rng, d, sizes)
        for d in [m.declaration for m in declared]
    }


def _near(
    rng: np.random.Generator, declared: Sequence[Multiplier], duals: Mapping[str, Any], spread: float
) -> dict[str, Array]:
    """The solver's multipliers by the certificate's names, where there are any, or some near them."""
    solved = [(m.declaration, duals[m.key]) for m in declared if m.key in duals]
    return {
        d.name: (np.maximum(dual, 0.0) if d.sign else dual) * np.exp(spread * rng.normal(size=dual.shape))
        for d, dual in solved
    }


def _repaired(instance: Instance, values: Mapping[str, Array]) -> Candidate | None:
    """The point after the program's repair; None where that fails or leaves it infeasible."""
    try:
        repaired = candidate(instance, values)
    except np.linalg.LinAlgError:  # too far off for the repair's arithmetic
        return None
    return repaired if repaired.is_feasible else None


def _by_name(instance: Instance) -> Instance:
    """An instance with multipliers looked up by their names, also those that come from no dual."""
    program = instance.program
    assert program.certificate is not None
    named = tuple(replace(m, dual_of="", start=None, block=None) for m in program.certificate.multipliers)
    changed = replace(program, certificate=replace(program.certificate, multipliers=named))
    return replace(instance, checked=replace(instance.checked, program=changed))
