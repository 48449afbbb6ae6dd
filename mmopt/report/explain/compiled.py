"""What a program becomes with a workload: numbers for its givens, scales, cones, a matrix, a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.compiler import Instance, lower, scale
from mmopt.compiler.scale import units_of
from mmopt.compiler.shape import line
from mmopt.language.check.survey import Survey
from mmopt.language.evaluate.by_component import splits
from mmopt.numerics.components import Level, Split
from mmopt.numerics.numpy_forms import Array
from mmopt.report.explain.facts import Compiled, Formula, GivenFacts, Handed, MatrixFacts, Scale
from mmopt.report.explain.formulas import name_of
from mmopt.report.explain.handed import handed_over
from mmopt.report.sizes import Sizes, sizes_at
from mmopt.report.style import counted, duration, figure
from mmopt.solvers.conic import hand_over
from mmopt.solvers.table import PATIENCE, solver_named
from mmopt.symmetry.joint import Cells

__all__ = ["compiled_facts"]

SMALL = 6  # rows and columns of a matrix that is shown whole
MOST_ENTRIES = 1_000_000  # of a matrix whose rank is computed
MOST_ROWS = 100_000  # of a constraint matrix that is built to be counted
MOST_BLOCKS = 200  # in a family whose members go to cvxpy one by one


def compiled_facts(surveyed: Survey, instance: Instance, reductions: tuple[str, ...] = ()) -> Compiled:
    """The facts of an instance; of what is not handed to a conic solver, only the givens are filled in."""
    bad = [f.name or surveyed.checked.program.sense for f in surveyed.lines if f.fault]
    handed: tuple[Handed, ...] = ()
    sizes, matrix, scaled = None, None, None
    words = choice = refusal = ""
    if not surveyed.checked.program.choose:
        refusal = "Nothing is chosen here, so nothing goes to a solver"
    elif surveyed.checked.program.klass == "smooth":
        found = sizes_at(instance)
        unknowns, who = counted(found.variables, "unknown"), found.chosen or "no solver here"
        refusal = f"Not compiled into cones: {who} searches it by gradients, in {unknowns}"
    elif bad:
        refusal = f"Not compiled: {', '.join(repr(name) for name in bad)} cannot be handed to a convex solver"
    else:
        handed = handed_over(surveyed.checked, instance.sizes())
        sizes = sizes_at(instance)
        matrix, words = _matrix(instance, sizes)
        choice = _choice(sizes)
        scaled = _scales(instance)
    return Compiled(
        _asked(instance),
        tuple(instance.sizes().items()),
        _givens(instance),
        scaled,
        reductions,
        handed,
        sizes,
        matrix,
        words,
        choice,
        refusal,
    )


def _asked(instance: Instance) -> str:
    workload = instance.workload
    asked = f"{counted(workload.m, 'query')} over {counted(workload.n, 'cell')}, rank {_rank(instance):,}"
    return f"{asked}, rows normalised" if workload.is_normalised else asked


def _rank(instance: Instance) -> int:
    """The rank of the queries; by component a root and a representation have independent rows and columns."""
    for value in instance.env.values():
        if isinstance(value, Split) and isinstance(value.columns, Cells):
            return value.rows.kept
    return instance.workload.rank


def _givens(instance: Instance) -> tuple[GivenFacts, ...]:
    program, env = instance.program, instance.env
    rows = [(d.name, "passed by the caller" if d.name in instance.own else d.source) for d in program.givens]
    rows += [
        (p.name, "passed by the caller" if p.name in instance.own else "the program's default")
        for p in program.parameters
    ]
    rows += [(let.name, "computed (let)") for let in program.lets]
    return tuple(_given(name, origin, env[name]) for name, origin in rows)


def _given(name: str, origin: str, value: Any) -> GivenFacts:
    if isinstance(value, Split):
        rows, columns = value.shape
        return GivenFacts(name_of(name), origin, f"{rows:,} × {columns:,}", _by_component(value), None)
    if isinstance(value, Level):
        figures = f"by orbit: {_figures(np.asarray(value.values)).partition(', sum')[0]}"
        return GivenFacts(name_of(name), origin, f"vector {value.shape[0]:,}", figures, None)
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return GivenFacts(name_of(name), origin, "number", figure(float(array)), None)
    shape = " × ".join(f"{size:,}" for size in array.shape) if array.ndim == 2 else f"vector {array.size:,}"
    return GivenFacts(name_of(name), origin, shape, _figures(array), _preview(array))


def _by_component(value: Split) -> str:
    """How a matrix splits; its norm."""
    squares = [float(np.sum(np.square(part))) for part in value.parts]
    size = float(np.sqrt(value.multiplicities @ np.array(squares)))
    largest = max(value.columns.largest, value.rows.largest)
    count = counted(value.columns.count, "component")
    return f"{count} of size up to {largest:,}, norm {figure(size, 4)}"


def _figures(array: Array) -> str:
    low, high = float(array.min(initial=np.inf)), float(array.max(initial=-np.inf))
    if not array.size:
        return "empty"
    entries = (
        f"every entry {figure(low, 4)}" if low == high else f"entries {figure(low, 4)} to {figure(high, 4)}"
    )
    if array.ndim == 1:
        return f"{entries}, sum {figure(float(array.sum()), 4)}"
    words = [entries, f"norm {figure(float(np.linalg.norm(array)), 4)}"]
    if array.size <= MOST_ENTRIES:
        words.append(f"rank {np.linalg.matrix_rank(array):,}")
    words.append(f"{np.count_nonzero(array) / array.size:.0%} nonzero")
    return ", ".join(words)


def _preview(array: Array) -> Formula | None:
    """All entries of something small, the first of a long vector."""
    if array.ndim == 1:
        first = [_entry(x) for x in array[:SMALL]] + ["…"] * (array.size > SMALL)
        latex = ",\\,".join(text.replace("…", r"\dots") for text in first)
        return Formula(f"({', '.join(first)})", rf"\left({latex}\right)")
    if max(array.shape) > SMALL or not array.size:
        return None
    rows = [[_entry(x) for x in row] for row in array]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    plain = "\n".join(" ".join(f"{x:>{w}}" for x, w in zip(row, widths, strict=True)) for row in rows)
    latex = r" \\ ".join(" & ".join(row) for row in rows)
    return Formula(plain, rf"\begin{{bmatrix}} {latex} \end{{bmatrix}}")


def _entry(value: float) -> str:
    return figure(0.0 if abs(value) < 1e-12 else float(value), 3)


def _scales(instance: Instance) -> tuple[Scale, ...] | None:
    """How everything chosen grows with the queries (s) and the targets (t); empty where nothing is scaled."""
    if splits(instance.env):
        return ()
    units = units_of(instance)
    if units is None:
        return None
    _, scaling = scale(instance)
    first = Scale(Formula("objective", r"\text{objective}"), _power(units.objective), scaling.objective)
    names = [d.name for d in instance.program.choose]
    rest = (Scale(name_of(n), _power(units.variables[n]), scaling.variables[n]) for n in names)
    return (first, *rest)


def _power(degree: Mapping[str, float]) -> Formula:
    letters = {"queries": "s", "targets": "t"}
    powers = [(letters.get(unit, unit), f"{power:g}") for unit, power in degree.items() if power]
    if not powers:
        return Formula("1", "1")
    raised = {"1": "", "2": "²", "-1": "⁻¹", "-2": "⁻²", "0.5": "^½"}
    plain = " ".join(f"{letter}{raised.get(power, f'^({power})')}" for letter, power in powers)
    latex = r"\,".join(letter if power == "1" else f"{letter}^{{{power}}}" for letter, power in powers)
    return Formula(plain, latex)


def _choice(sizes: Sizes) -> str:
    """Why this solver."""
    if sizes.refusal is not None:
        return str(sizes.refusal)
    if sizes.chosen == sizes.conic:
        return _conic_choice(sizes)
    words = f"{sizes.chosen}: a kernel of mmopt, which knows the program by its lines and takes it as it is"
    return (
        words if sizes.conic is None else f"{words}. Of the conic solvers it would be {_conic_choice(sizes)}"
    )


def _conic_choice(sizes: Sizes) -> str:
    chosen = next(s for s in sizes.solvers if s.name == sizes.conic)
    patience = duration(PATIENCE)
    if chosen.seconds <= PATIENCE and chosen.memory <= sizes.memory_limit:
        return (
            f"{chosen.name}: the first of the list that is installed, has all the cones, fits into memory "
            f"and is predicted to take at most {patience}"
        )
    return (
        f"{chosen.name}: none is predicted to take at most {patience}, and this one is the quickest that fits"
    )


def _matrix(instance: Instance, sizes: Sizes) -> tuple[MatrixFacts | None, str]:
    """The constraint matrix in the form that the conic solver gets, when it is quickly built."""
    if sizes.conic is None:
        return None, "not built, no conic solver takes the problem"
    rows = sum(c.count * (c.size * (c.size + 1) // 2 if c.kind == "psd" else c.size) for c in sizes.cones)
    loops = [line(instance.checked, c) for c in instance.program.constraints]
    dims = instance.sizes()
    blocks = sum(d.constraint.family.dim.value(dims) for d in loops if d.loop and d.constraint.family)
    if rows > MOST_ROWS or blocks > MOST_BLOCKS:
        in_blocks = f" in {counted(blocks, 'separate block')}" if blocks else ""
        return None, f"not built to be counted, it has about {rows:,} rows{in_blocks}"
    row = solver_named(sizes.conic)
    data = hand_over(lower(scale(instance)[0]), row.cvxpy).data
    parts = [data[key] for key in ("A", "G") if data.get(key) is not None]
    return MatrixFacts(
        row.name, sum(p.shape[0] for p in parts), parts[0].shape[1], sum(p.nnz for p in parts)
    ), ""
