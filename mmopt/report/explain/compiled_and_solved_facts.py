"""A program as compiled for a workload, and its solution line by line.

Compiled, a program has numbers for its givens, scales, cones, a matrix and a solver. For a solution, each
line shows which of its rows are tight, and the largest multipliers.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.compiler import Cone, Instance, lower, scale
from mmopt.compiler.lines_and_cones import cones_of_atoms, count_entries, curved_nodes, implied_psd, line
from mmopt.compiler.scale_numbers import units_of
from mmopt.driver.judge.derived_bound import Derived
from mmopt.driver.task_and_plan import SolvePlan
from mmopt.errors import counted
from mmopt.language import (
    AXES,
    Apply,
    Checked,
    Constraint,
    Dim,
    Entries,
    Expr,
    Formula,
    Program,
    Scope,
    Sentence,
    Survey,
    applied,
    evaluate,
    infer,
    is_rank,
    sizes_of_terms,
    sizes_to_compare,
    splits,
    vectorised,
)
from mmopt.numerics.arrays import Array, grouped
from mmopt.numerics.component_arrays import Kronecker, Level, Measure, Spanned, Split, Unlisted, plain
from mmopt.proof.saved_values_by_component import placed_variables
from mmopt.report.explain.explained_facts import (
    QUADRATIC,
    Compiled,
    GivenFacts,
    Handed,
    MatrixFacts,
    Scale,
    SolvedFacts,
    SolvedLine,
    brief,
    name_of,
    relation_of,
)
from mmopt.report.program_tables_and_forecasts import Sizes, sizes_at
from mmopt.report.solution_and_comparison_tables import orbit_label
from mmopt.report.table_style import duration, figure
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite, levels
from mmopt.solvers.choice_and_forecast import MOST_SECONDS_INTERIOR
from mmopt.solvers.conic_problem import cones_of, hand_over
from mmopt.solvers.conic_solvers import solver_row
from mmopt.symmetry.components import Cells

MOST_ROWS_SHOWN = 6  # of a matrix that is shown whole, and most columns; entries of a vector that are shown
MOST_ENTRIES = 1_000_000  # of a given whose rank is computed
MOST_ROWS = 100_000  # of a constraint matrix that is built to be counted
MOST_BLOCKS = 200  # constraints that go to cvxpy one by one, also of families, where that matrix is built
CONE_WORDS = {"nonnegative": "inequality", "zero": "equation"}  # of other kinds the kind, then "cone"


def compiled_facts(surveyed: Survey, instance: Instance, reductions: tuple[str, ...] = ()) -> Compiled:
    """The facts of an instance; only with the givens filled in where it is not handed to a conic solver."""
    program, dims = surveyed.checked.program, tuple(instance.sizes().items())
    facts = Compiled(
        *_size_of_workload(instance, _rank(instance)), dims, tuple(_givens(instance)), reductions=reductions
    )
    if not instance.reads_workload:
        facts = replace(facts, workload="no queries are used", counts={})
    if not program.choose:
        return replace(facts, refusal="There are no variables here, so no solver is needed")
    if program.problem_class == "smooth":
        search = sizes_at(instance)
        unknowns, solver = counted(search.variables, "unknown"), search.chosen or "no solver here"
        return replace(
            facts, refusal=f"Not compiled into cones: {solver} searches it by gradients, in {unknowns}"
        )
    if bad := [repr(line.name or program.sense) for line in surveyed.lines if line.fault]:
        return replace(facts, refusal=f"Not compiled: {', '.join(bad)} cannot be handed to a convex solver")
    sizes = sizes_at(instance)
    matrix, cones, words = _matrix(instance, sizes)
    quadratic = ""
    if matrix is not None and matrix.is_quadratic:
        after, before = (sum(c.count for c in of if c.kind == "zero") for of in (cones, sizes.cones))
        by = f", with {counted(after - before, 'new variable')}, an equation each" if after > before else ""
        quadratic = (
            f"{QUADRATIC}{by}; other curved parts become cones: {matrix.solver} takes a quadratic objective"
        )
        sizes = replace(sizes, cones=cones, variables=matrix.columns)
    return replace(
        facts,
        scaled=_scales(instance),
        handed=tuple(_handed_over(surveyed.checked, instance.sizes(), quadratic)),
        sizes=sizes,
        matrix=matrix,
        matrix_words=words,
        choice=_choice(sizes),
    )


def compiled_in_factors(plan: SolvePlan) -> Compiled:
    """The facts of a product of workloads, of which only the factors are compiled."""
    rank = math.prod(_rank(part.instance) or 0 for part in plan.factors.values())
    return Compiled(
        *_size_of_workload(plan.instance, rank),
        tuple(plan.instance.sizes().items()),
        (),
        reductions=plan.lines,
        refusal="Its factors, each by itself",
    )


def _size_of_workload(instance: Instance, rank: int | None) -> tuple[str, dict[str, int]]:
    """The size of the workload, and the rank where it is known, in words and as numbers."""
    workload = instance.workload
    words = f"{counted(workload.m, 'query')} over {counted(workload.n, 'cell')}"
    counts = {"queries": workload.m, "cells": workload.n}
    if rank is not None:
        words, counts["rank"] = f"{words}, rank {rank:,}", rank
    return f"{words}, rows normalised" if workload.is_normalised else words, counts


def _rank(instance: Instance) -> int | None:
    """The rank of the queries; None where a given stands for a family of strategies, which does not show it.

    By component it is the number of rows of a root or a representation, whose rows are independent.
    """
    for value in instance.env.values():
        if _is_restricted(value):
            return None
        if isinstance(value, Split) and isinstance(value.columns, Cells | Spanned):
            return value.rows.kept
    return instance.workload.rank


def _is_restricted(value: Any) -> bool:
    """Whether a given stands for a family of strategies, not for itself."""
    return isinstance(value, Split) and getattr(value.columns, "is_restricted", False)


def _givens(instance: Instance) -> Iterator[GivenFacts]:
    """The givens, parameters and lets of the program, with their origin and their figures."""
    program, env = instance.program, instance.env
    origins = {
        **{d.name: d.source for d in program.givens},
        **{p.name: "the program's default" for p in program.changeable},
        **dict.fromkeys(instance.passed, "passed"),
        **{let.name: "computed (let)" for let in program.lets},
    }
    for name, origin in origins.items():
        value = env[name]
        preview, numbers = None, dict[str, float]()
        if _is_restricted(value):
            shape, figures = "by sets", value.columns.words
        elif isinstance(value, Split):
            shape, figures = " × ".join(f"{size:,}" for size in value.shape), _by_component(value)
        elif isinstance(value, Level):
            words, numbers = _figures(np.asarray(value.values))
            figures = f"by orbit: {words.partition(', sum')[0]}"
            numbers.pop("sum", None)
            shape = f"vector {value.shape[0]:,}"
        elif np.ndim(value) == 0:
            shape, figures, numbers = "number", figure(float(value)), {"value": float(value)}
        else:
            array = np.asarray(value, dtype=float)
            shape = " × ".join(f"{size:,}" for size in array.shape)
            shape, (figures, numbers) = shape if array.ndim == 2 else f"vector {shape}", _figures(array)
            preview = _preview(array)
        finite_only = {what: finite(number) for what, number in numbers.items()}
        yield GivenFacts(name_of(name), origin, shape, figures, preview, finite_only)


def _by_component(value: Split) -> str:
    """The components of a matrix and its norm, in words."""
    squares = np.array([float(np.sum(np.square(part))) for part in value.parts])
    largest = max(value.columns.largest, value.rows.largest)
    words = f"{counted(value.columns.count, 'component')} of size up to {largest:,}"
    return f"{words}, norm {figure(float(np.sqrt(value.multiplicities @ squares)), 4)}"


def _figures(array: Array) -> tuple[str, dict[str, float]]:
    """The range of a vector's or matrix's entries, and its sum or its norm, rank and density."""
    low, high = float(array.min(initial=np.inf)), float(array.max(initial=-np.inf))
    if not array.size:
        return "empty", {}
    numbers: dict[str, float] = {"least": low, "largest": high}
    entries = (
        f"every entry {figure(low, 4)}" if low == high else f"entries {figure(low, 4)} to {figure(high, 4)}"
    )
    if array.ndim == 1:
        numbers["sum"] = float(array.sum())
        return f"{entries}, sum {figure(numbers['sum'], 4)}", numbers
    numbers["norm"] = float(np.linalg.norm(array))
    words = [entries, f"norm {figure(numbers['norm'], 4)}"]
    if array.size <= MOST_ENTRIES:
        numbers["rank"] = int(np.linalg.matrix_rank(array))
        words.append(f"rank {numbers['rank']:,}")
    numbers["nonzeros"] = int(np.count_nonzero(array))
    words.append(f"{numbers['nonzeros'] / array.size:.0%} nonzero")
    return ", ".join(words), numbers


def _preview(array: Array) -> Formula | None:
    """All entries of a small array, the first ones of a long vector; None for a large matrix."""
    if array.ndim == 1:
        first = [_entry(x) for x in array[:MOST_ROWS_SHOWN]] + ["…"] * (array.size > MOST_ROWS_SHOWN)
        latex = ",\\,".join(text.replace("…", r"\dots") for text in first)
        return Formula(f"({', '.join(first)})", rf"\left({latex}\right)")
    if max(array.shape) > MOST_ROWS_SHOWN or not array.size:
        return None
    rows = [[_entry(x) for x in row] for row in array]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    plain = "\n".join(" ".join(f"{x:>{w}}" for x, w in zip(row, widths, strict=True)) for row in rows)
    latex = r" \\ ".join(" & ".join(row) for row in rows)
    return Formula(plain, rf"\begin{{bmatrix}} {latex} \end{{bmatrix}}")


def _entry(value: float) -> str:
    """An entry in three digits; 0 for what is rounding only."""
    return figure(0.0 if abs(value) < 1e-12 else float(value), 3)


def _scales(instance: Instance) -> tuple[Scale, ...] | None:
    """How the objective and each chosen variable grow with the queries (s) and the targets (t).

    Empty where nothing is scaled; None where the lines agree on no units.
    """
    if splits(instance.env):
        return ()
    if isinstance(units := units_of(instance), str):
        return None
    _, scaling = scale(instance)
    return (
        Scale(Formula("objective", r"\text{objective}"), _power(units.objective), scaling.objective),
        *(
            Scale(name_of(d.name), _power(units.variables[d.name]), scaling.variables[d.name])
            for d in instance.program.choose
        ),
    )


def _power(degree: Mapping[str, float]) -> Formula:
    """The product of powers of s and t with which something of these degrees grows: ``s² t⁻¹``."""
    letters = {"queries": "s", "targets": "t"}
    powers = [(letters.get(unit, unit), f"{power:g}") for unit, power in degree.items() if power]
    raised = {"1": "", "2": "²", "-1": "⁻¹", "-2": "⁻²", "0.5": "^½"}
    plain = " ".join(f"{letter}{raised.get(power, f'^({power})')}" for letter, power in powers)
    latex = r"\,".join(letter if power == "1" else f"{letter}^{{{power}}}" for letter, power in powers)
    return Formula(plain or "1", latex or "1")


def _choice(sizes: Sizes) -> str:
    """The reason for the choice of the solver."""
    if sizes.refusal is not None:
        return str(sizes.refusal)
    kernel = (
        f"{sizes.chosen}: a kernel of mmopt, which recognises the program by its constraints and "
        "takes it unchanged"
    )
    if sizes.conic is None:
        return kernel
    conic = next(s for s in sizes.solvers if s.name == sizes.conic)
    patience = duration(MOST_SECONDS_INTERIOR)
    words = (
        "the first in its list that is installed, has all the cones, fits into memory "
        f"and is predicted to take at most {patience}"
        if conic.seconds <= MOST_SECONDS_INTERIOR and conic.memory <= sizes.memory_limit
        else f"none is predicted to take at most {patience}, and this one is the quickest that fits"
    )
    words = f"{conic.name}: {words}"
    return (
        words if sizes.chosen == sizes.conic else f"{kernel}. Among conic solvers mmopt would choose {words}"
    )


def _matrix(instance: Instance, sizes: Sizes) -> tuple[MatrixFacts | None, tuple[Cone, ...], str]:
    """The constraint matrix and the cones that the conic solver gets; or None and why it was not built."""
    if sizes.conic is None:
        return None, (), "not built, no conic solver takes the problem"
    rows = sum(c.count * (c.size * (c.size + 1) // 2 if c.kind == "psd" else c.size) for c in sizes.cones)
    lines = [line(instance.checked, c) for c in instance.program.constraints]
    dims = instance.sizes()
    blocks = sum(d.constraint.family.dim.value(dims) for d in lines if d.loop and d.constraint.family)
    if rows > MOST_ROWS or blocks + len(lines) > MOST_BLOCKS:
        in_blocks = f" in {counted(blocks, 'separate block')}" if blocks else ""
        return (
            None,
            (),
            f"not built to be counted, it has about {rows:,} rows{in_blocks}, fewer if squares need no cones",
        )
    row = solver_row(sizes.conic)
    handed = hand_over(lower(scale(instance)[0]), row.cvxpy, quadratic=row.quadratic)
    counts = Counter((block.kind, block.size) for block in cones_of(handed.cones).blocks)
    cones = tuple(
        Cone(kind, *((1, size) if kind in CONE_WORDS else (size, count)), "the whole problem")
        for (kind, size), count in counts.items()
    )
    return MatrixFacts(row.name, *handed.matrix_size, handed.is_quadratic), cones, ""


# -- the form in which each line of a program goes to the solver, in words


def _handed_over(checked: Checked, sizes: Mapping[str, int], quadratic: str) -> Iterator[Handed]:
    """The objective, constraints and chosen variables, each with the form that is handed over.

    ``quadratic``: words on an objective that is handed over as it is.
    """
    program = checked.program
    shared: list[tuple[Expr, str]] = []  # blocks, and the line that brought each
    atoms: set[Apply] = set()  # that have cones already
    scope = checked.lines
    if program.objective is not None:
        how = _curved(program.objective, program.sense, scope, shared)
        how += [(quadratic,)] if quadratic else _cones_of_atoms((program.objective,), scope, sizes, 0, atoms)
        how = how or [("linear, as it stands",)]
        yield Handed(program.sense, brief(program.objective, scope), tuple(how))
    for c in program.constraints:
        yield _constraint(checked, c, sizes, shared, atoms)
    implied = implied_psd(checked)
    for d in program.choose:
        words = []
        if d.kind == "psd" and d.name in implied:
            words.append("psd follows from a block that contains it: no separate cone")
        elif d.kind == "psd":
            words.append(f"1 psd cone of size {d.dims[0].value(sizes):,}")
        elif d.kind == "symmetric":
            words.append("one variable for each pair of equal entries")
        if d.sign:
            words.append("nonnegative, entry by entry")
        yield Handed(d.name, name_of(d.name), tuple((text,) for text in words or ["free"]))


def _constraint(
    checked: Checked,
    c: Constraint,
    sizes: Mapping[str, int],
    shared: list[tuple[Expr, str]],
    atoms: set[Apply],
) -> Handed:
    """A constraint and the form in which it is handed over; ``shared`` and ``atoms`` as in what it calls."""
    decided = line(checked, c)
    scope = decided.scope
    if is_rank(c):
        words = (
            "not passed: each round adds penalty · tr(Z D) to the objective, where Z is the matrix and D "
            "projects onto its eigenvectors beyond the rank; residual: the first singular value beyond the "
            "rank, relative to the largest"
        )
        return Handed(c.name, relation_of(c.relation, scope), ((words,),))
    how: list[Sentence] = []
    both = (decided.relation.left, decided.relation.right)
    for side in both:
        how += _curved(side, c.name, scope, shared)
    times = c.family.dim.value(sizes) if c.family else 1
    how += _cones_of_atoms(both, scope, sizes, times if decided.loop else 0, atoms)
    kind = {"==": "equation", ">>": "psd cone", "<<": "psd cone"}.get(c.relation.op, "inequality")
    each = f", one for each {c.family.index} in {c.family.dim}" if c.family else ""
    if decided.pair:
        cones = f"{times:,} second-order cones" if times > 1 else "a second-order cone"
        a, b, c_ = (_new(letter, scope) for letter in "abc")
        cone = Formula(
            f"‖(2{b.plain}, {a.plain} − {c_.plain})‖ ≤ {a.plain} + {c_.plain}",
            rf"\left\|\left(2\,{b.latex},\, {a.latex} - {c_.latex}\right)\right\| \le {a.latex} + {c_.latex}",
        )
        how.append((f"{cones} of size 3 for 2 × 2 blocks: ", _psd(a, b, b, c_), " says ", cone))
    elif kind == "psd cone":
        left, right = infer(decided.relation.left, scope), infer(decided.relation.right, scope)
        size = (left if left.is_matrix else right).dims[0].value(sizes)
        how.append((f"{counted(times, kind)} of size {size:,}{each}",))
    elif isinstance(decided.relation.left, Entries):
        how.append((f"{count_entries(decided.relation.left, sizes):,} entries as one vector {kind}",))
    elif c.family and not decided.loop:
        how.append((f"all {times:,} as one vector {kind}: ", relation_of(decided.relation, scope)))
    elif c.family:
        how.append((f"{times:,} separately{each}",))
    else:
        how.append((f"{'linear, ' if not how else ''}as it stands",))
    return Handed(c.name, relation_of(c.relation, scope), tuple(how))


def _curved(expr: Expr, where: str, scope: Scope, shared: list[tuple[Expr, str]]) -> list[Sentence]:
    """The blocks of an expression, which stands in the line ``where``; they are added to ``shared``."""
    traces, nodes = curved_nodes(expr, scope)
    out: list[Sentence] = []
    m, t = (_new(letter, scope) for letter in "MT")
    for inner, _, _ in traces:
        block = _psd(brief(inner, scope), m, Formula(f"{m.plain}ᵀ", rf"{{{m.latex}}}^{{\mathsf T}}"), t)
        trace = Formula(f"tr({t.plain})", rf"\operatorname{{tr}}\left({t.latex}\right)")
        around = f", where the trace is that of {m.plain} {m.plain}ᵀ times the inverse"
        out.append(("the trace of an inverse as ", trace, " with one psd block ", block, around))
    for node in nodes:
        earlier = next((place for e, place in shared if e == node), None)
        out.append(_block(node, scope, earlier))
        if earlier is None:
            shared.append((node, where))
    return out


def _cones_of_atoms(
    sides: Sequence[Expr], scope: Scope, sizes: Mapping[str, int], repeated: int, before: set[Apply]
) -> list[Sentence]:
    """The cones that the atoms of a line become; ``repeated``, ``before`` as for ``cones_of_atoms``."""
    needed = {atom for side in sides for atom, *_ in cones_of_atoms(side, scope, sizes, repeated, set())}
    added = grouped(
        ((atom, kind, size), count)
        for side in sides
        for atom, kind, size, count, _ in cones_of_atoms(side, scope, sizes, repeated, before)
    )
    words = {
        atom: " and ".join(
            counted(sum(counts), CONE_WORDS.get(kind, f"{kind} cone"))
            + f" of size {size:,}" * (kind in ("psd", "second-order"))
            for (of, kind, size), counts in added.items()
            if of == atom
        )
        for atom in sorted(needed)
    }
    each = [
        f"{atom} by {text}" if text else f"{atom} as in an earlier constraint" for atom, text in words.items()
    ]
    return [(f"{', '.join(each)}, with variables that cvxpy adds",)] if each else []


def _block(node: Apply, scope: Scope, place: str | None) -> Sentence:
    """The psd block that replaces an inverse or a root; ``place``: the line that brought it already."""
    whole, inner = brief(node, scope), brief(node.args[0], scope)
    if place is not None:
        return whole, f" by the block of '{place}'"
    new = _new("Y" if node.atom == "inv" else "S", scope)
    block = _psd(new, "I", "I", inner) if node.atom == "inv" else _psd(inner, new, new, "I")
    return whole, " replaced by ", new, " with one psd block ", block


def _new(letter: str, scope: Scope) -> Formula:
    """A letter for what the program does not name; with a prime where it names something else by it."""
    prime = letter in scope.types or letter in scope.dims
    return Formula(letter + "′" * prime, letter + "'" * prime)


def _psd(*entries: str | Formula) -> Formula:
    """A block of 2 × 2 that is to be psd."""
    a, b, c, d = (e if isinstance(e, Formula) else Formula(e, e) for e in entries)
    plain = f"[{a.plain}, {b.plain}; {c.plain}, {d.plain}] ⪰ 0"
    latex = rf"{a.latex} & {b.latex} \\ {c.latex} & {d.latex}"
    return Formula(plain, rf"\begin{{bmatrix}} {latex} \end{{bmatrix}} \succeq 0")


TIGHT_DIFFERENCE = 1e-5  # relative to the size of the terms of the row
# Times the terms of its row, where they are known relative to the objective, else to the largest of the line.
ZERO_MULTIPLIER = 1e-6
MOST_GAP = 1e-4  # beyond it multipliers are not near optimal ones
MULTIPLIERS_SHOWN = 3  # the largest of a line
MOST_LABELS = 200_000  # cells or queries; labels of more are not made
MOST_SIZED = 300  # rows of a line whose terms are added up; of more the sides are taken


def solved_facts(checked: Checked, solution: Solution, instance: Instance | None) -> SolvedFacts:
    """Figures and constraints; without the instance slack and labels are unknown."""
    # Of a matrix inequality in several blocks a bound from the lines alone keeps one.
    kept = {**Derived(None, saved=solution.derived_from).multipliers, **solution.multipliers}
    lines = tuple(
        _line(checked, c, kept.get(c.name), solution, instance) for c in checked.program.constraints
    )
    # Multipliers that do not prove the optimum, or are all zero, do not say what is needed.
    is_near = solution.gap is not None and solution.gap <= MOST_GAP and any(line.largest for line in lines)
    return SolvedFacts(tuple(solution.rows()), lines, _legend(checked.program, lines, is_near))


RELAXED = {
    "==": "of an equation: let its right side grow by t",
    ">>": "of a matrix inequality: take t times the identity, and the sum",
}


def _legend(program: Program, lines: Sequence[SolvedLine], is_near: bool) -> str:
    """The meaning of the multipliers of a convex program, in words: a subgradient of its optimum.

    is_near : whether they are near optimal ones.
    """
    if program.problem_class != "convex" or not any(line.multipliers for line in lines):
        return ""
    kinds = {c.relation.op.replace("<<", ">>") for c in program.constraints}
    moves = "falls" if program.sense == "minimize" else "rises"
    also = "; ".join(RELAXED[op] for op in RELAXED if op in kinds)
    return (
        f"If strong duality holds, a multiplier is a price. Relax a row by t{f' ({also})' if also else ''}: "
        f"the optimum {moves} by at most t times the multiplier, and for small t by about that, unless "
        "other multipliers would also do."
        + " All rows with multiplier zero could be left out together." * is_near
        + " At an optimum, a row that is not tight has multiplier zero."
        * any(line.tight is not None for line in lines)
        + " All this is up to the solver's accuracy."
    )


def _line(
    checked: Checked, c: Constraint, multiplier: Any, solution: Solution, instance: Instance | None
) -> SolvedLine:
    """A constraint at the solution: its tight rows, and its largest multipliers with their labels."""
    count, tight, words, terms = (None, None, "", None) if instance is None else _slack(c, solution, instance)
    is_matrix = c.relation.op in (">>", "<<")
    if multiplier is None or isinstance(multiplier, Kronecker):
        product = "its multipliers are the Kronecker product of those of the factors"
        none_kept = "; ".join(filter(None, [words, "no multiplier kept"]))
        words = none_kept if multiplier is None else product
        return SolvedLine(c.name, count, tight, 0, 0, 0.0, (), words)
    values, sizes = levels(multiplier)  # by orbit, a value and how many rows have it
    flat, often = values.ravel(), sizes.ravel()
    # What each row holds back of the objective: its multiplier times its terms.
    units = np.ones(1) if terms is None else terms
    worth = np.abs(flat) * (units if units.size == flat.size else units.max(initial=0.0))
    is_zero = worth <= ZERO_MULTIPLIER * worth.max(initial=0.0 if terms is None else abs(solution.objective))
    order = np.argsort(-np.abs(flat), kind="stable")[:MULTIPLIERS_SHOWN]
    shown = [int(i) for i in order if not is_zero[i]]
    label = _labels(checked, c, multiplier, instance)
    summed = (
        np.broadcast_to(np.eye(values.shape[-1]), values.shape).ravel()
        if is_matrix and values.ndim > 1
        else often
    )
    return SolvedLine(
        name=c.name,
        count=count,
        tight=tight,
        multipliers=int(often.sum()),
        zero=int(often[is_zero].sum()),
        total=float((flat * summed).sum()),
        largest=tuple((label(i), float(flat[i])) for i in shown),
        words=words,
        more=int(often[~is_zero].sum() - often[shown].sum()),
    )


def _slack(
    c: Constraint, solution: Solution, instance: Instance
) -> tuple[int | None, int | None, str, Array | None]:
    """Rows, tight rows, words on what is not counted by rows, the size of the terms of each multiplier's row.

    A row is tight relative to its terms, as a violation is; to its sides, without the size of terms, where
    there are many rows, or orbits. The terms of ``x >= 0`` vanish where it is tight: a row without a number
    that is added has the size that it has where all entries of a variable are as its largest.
    """
    variables = plain(solution.variables)
    # Variables from a file are split without a record of their cells.
    env: dict[str, Any] = {**instance.env, **(placed_variables(instance, variables) or variables)}
    if splits(env):
        sides = _sides_by_component(c, env)
        if any(isinstance(value, Unlisted) for value in sides):
            return (
                None,
                None,
                "over cells that are not listed, of which the largest entry alone is known",
                None,
            )
        if any(isinstance(value, Split) for value in sides) or len(sides) < 2:
            return None, None, "a matrix by component, not counted by rows", None
        often = next((levels(v)[1] for v in sides if isinstance(v, Level)), np.ones(()))
        left, right, often = np.broadcast_arrays(*(levels(v)[0] for v in sides), often)
        sizes = np.maximum(np.abs(left), np.abs(right))
        sizes = sizes if left.any() and right.any() else np.full(sizes.shape, sizes.max(initial=0.0))
        is_tight = np.abs(left - right) <= TIGHT_DIFFERENCE * np.maximum(sizes, 1e-300)
        return int(often.sum()), int(often[is_tight].sum()), "", None
    count = c.family.dim.value(instance.sizes()) if c.family else 1
    each = [{**env, c.family.index: i} if c.family else env for i in range(count)]
    chosen = frozenset(d.name for d in instance.program.choose)
    difference = applied("sub", c.relation.left, c.relation.right)
    is_matrix, is_sized = c.relation.op in (">>", "<<"), False
    rows: list[tuple[Array, Array]] = []  # of each index: the difference of the sides, the sizes of terms
    zeros = {name: env[name] * 0.0 for name in chosen}
    most = sizes_to_compare({name: float(np.abs(env[name]).max(initial=0.0)) for name in chosen})
    largest = {name: zero + most[name] for name, zero in zeros.items()}
    for inner in each:
        left, right = (np.asarray(evaluate(side, inner)) for side in (c.relation.left, c.relation.right))
        over, sizes = left - right, np.maximum(np.abs(left), np.abs(right))
        is_sized = (len(over) if is_matrix else over.size) * count <= MOST_SIZED and not is_rank(c)
        if is_sized:
            at = np.eye(len(over)) if is_matrix else np.ones(over.shape)
            sizes = sizes_of_terms(difference, inner, chosen, at)
            # An atom may have no value there.
            with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
                added, alike = (
                    sizes_of_terms(difference, {**inner, **values}, chosen, at) for values in (zeros, largest)
                )
                sizes = np.where((added == 0.0) & np.isfinite(alike), np.maximum(sizes, alike), sizes)
        elif not is_matrix and not (left.any() and right.any()):
            sizes = np.full(sizes.shape, sizes.max(initial=0.0))
        ends = np.sqrt(np.diagonal(sizes)) if is_matrix else sizes
        rows.append((over, np.outer(ends, ends) if is_matrix else sizes))
    over, sizes = (np.concatenate([[], *(np.ravel(row[part]) for row in rows)]) for part in (0, 1))
    if is_matrix:
        return *_singular(rows, 1.0 if c.relation.op == ">>" else -1.0), sizes if is_sized else None
    tight = int((np.abs(over) <= TIGHT_DIFFERENCE * np.maximum(sizes, 1e-300)).sum())
    return len(over), tight, "", sizes if is_sized else None


def _sides_by_component(c: Constraint, env: Mapping[str, Any]) -> list[Any]:
    """The values of both sides, those of a family as one vector; without a side that is no such vector."""
    sides: list[Expr | None] = [c.relation.left, c.relation.right]
    if c.family is not None:
        sides = [vectorised(c.relation.left, c.family.index), vectorised(c.relation.right, c.family.index)]
    return [evaluate(side, env) for side in sides if side is not None]


def _singular(rows: Sequence[tuple[Array, Array]], sign: float) -> tuple[int, int, str]:
    """How many matrix inequalities there are, how many are tight, and the ranks in words.

    One is tight where the difference of its sides is singular, in the units of its terms.
    """
    spectra = [
        np.linalg.eigvalsh(sign * (matrix + matrix.T) / 2 / np.where(terms > 0, terms, 1.0))
        for matrix, terms in rows
    ]
    ranks = [(int((values > TIGHT_DIFFERENCE).sum()), len(values)) for values in spectra]
    spread = [f"{rank} of {size}" for rank, size in sorted(set(ranks))]
    between = " to ".join(dict.fromkeys(spread[:1] + spread[-1:]))
    words = f"tight means singular, sum the trace: rank {between}"
    return len(ranks), sum(rank < size for rank, size in ranks), words


def _labels(
    checked: Checked, c: Constraint, multiplier: Any, instance: Instance | None
) -> Callable[[int], str]:
    """A function from a position in the multiplier, or the number of an orbit, to its label."""
    if isinstance(multiplier, Level):
        if isinstance(multiplier.space, Cells) and instance is not None:
            cells, domain = multiplier.space, instance.workload.domain
            return lambda orbit: f"orbit {orbit} ({orbit_label(cells, domain, orbit)})"
        return lambda orbit: f"orbit {orbit}"
    if isinstance(multiplier, Measure):
        return lambda product: f"product {product} of measures of the attributes"
    left, right = checked.constraints[c.name]
    dims = ((c.family.dim,) if c.family else ()) + (left.dims or right.dims)
    names = [*(_axis(dim, checked, instance) for dim in dims), *[()] * np.ndim(multiplier)]

    def label(position: int) -> str:
        at = map(int, np.unravel_index(position, np.shape(multiplier)))
        parts = (labels[i] if i < len(labels) else str(i) for labels, i in zip(names, at, strict=False))
        return ", ".join(parts) or c.name

    return label


def _axis(dim: Dim, checked: Checked, instance: Instance | None) -> Sequence[str]:
    """Labels along a dimension that counts cells or queries; none for others."""
    if instance is None:
        return ()
    words = {
        word
        for d in checked.program.givens
        for word, declared in zip(AXES.get(d.source, ()), d.dims, strict=False)
        if declared == dim and d.name not in instance.passed
    }
    workload = instance.workload
    if "cell" in words and workload.n <= MOST_LABELS:
        return _numbered("cell", (", ".join(workload.domain.cell(i)) for i in range(workload.n)))
    if workload.m > MOST_LABELS or not words & {"query", "query with a target"}:
        return ()
    names = _numbered("query", workload.labels())
    return names if "query" in words else [names[i] for i in np.flatnonzero(np.isfinite(workload.targets))]


def _numbered(noun: str, labels: Iterable[str]) -> list[str]:
    """``cell 3 (F, [18, 65))``; without the label when it says no more than the number."""
    return [
        f"{noun} {i}" if text in (str(i), f"{noun} {i}") else f"{noun} {i} ({text})"
        for i, text in enumerate(labels)
    ]
