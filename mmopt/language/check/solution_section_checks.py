"""Checks of what is evaluated with the numbers of a solution: starts, repair, value, meaning, certificate."""

from __future__ import annotations

from dataclasses import replace

from mmopt.errors import suggest
from mmopt.language.atoms.argument_types import SCALAR, Curvature, Dim
from mmopt.language.check.infer_types import Scope, dimension, infer
from mmopt.language.check.names_and_givens import Names, declared_type
from mmopt.language.check.procedure_checks import cells, check_steps, solved_programs
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Assignment, Block, Constraint, Multiplier, Name, names_in

__all__ = ["check_closing"]

# Programs whose lower bound is computed beside every solution, for whatever strategy.
PROGRAMS_THAT_BOUND = ("l2_strategy",)


def check_closing(program: Program, names: Names, derived: frozenset[str] = frozenset()) -> Scope:
    """Check the sections after the constraints; every name of the program with its type comes back.

    ``derived`` are the lets of what is chosen.
    """
    for name, known in names.types.items():
        names.types[name] = replace(known, curvature=Curvature.CONSTANT, loewner=False, why="")
    before = set(names.types)
    check_steps(program, names)
    derived |= set(names.types) - before  # what steps bring is no more given than what is chosen
    if not program.choose:
        names.number(program.objective, "an objective is a number")
    _starts(program, names)
    for a in program.repair:
        _set(program, a, names, "repair")
    _adoption(program, names)
    all_types = {**names.types, "objective": SCALAR}
    if program.value is not None:
        names.number(program.value, "the value of a program is a number", objective=SCALAR)
    _certificate(program, names, derived)
    # A dual program has its strategy in the multipliers.
    names.types |= all_types
    _meaning(program, names)
    for number in program.neighbours.numbers if program.neighbours else ():
        dimension(number, names.scope())
    solved = sorted(solved_programs(program.steps))
    if program.bound and program.bound not in (*PROGRAMS_THAT_BOUND, *solved):
        span = dict(program.spans)["bound"]
        program.source.fail(
            span,
            f"there is no program '{program.bound}' whose bound could hold",
            suggest(program.bound, (*PROGRAMS_THAT_BOUND, *solved)),
        )
    return names.scope()


def _set(program: Program, a: Assignment, names: Names, section: str) -> None:
    """An assignment to what is chosen, of its shape."""
    chosen = [d.name for d in program.choose]
    if a.name not in chosen:
        program.source.fail(
            a.span, f"'{a.name}' is not chosen; a {section} changes what is chosen", suggest(a.name, chosen)
        )
    if a.declared:
        program.source.fail(a.span, f"'{a.name}' is declared a second time", f"write: {a.name} = expression")
    before, after = names.types[a.name], names.assign(a)
    if before.dims != after.dims:
        program.source.fail(
            a.expr.span, f"'{a.name}' is {before.shape}; the {section} makes it {after.shape}"
        )


def _starts(program: Program, names: Names) -> None:
    """Starts use what is given."""
    types = dict(names.types)
    chosen = {d.name for d in program.choose}
    for position, start in enumerate(program.starts):
        if start.name in {other.name for other in program.starts[:position]}:
            program.source.fail(
                start.span, f"two starts are called '{start.name}'", "results go by these names"
            )
        for a in start.values:
            outside = sorted(names_in(a.expr) & chosen)
            if outside:
                program.source.fail(
                    a.expr.span,
                    f"a start uses what is given, and '{outside[0]}' is chosen",
                    "write it with what is given",
                )
            _set(program, a, names, "start")
    names.types = types


def _adoption(program: Program, names: Names) -> None:
    """What is chosen, from a strategy with a column per cell; later assignments may use earlier ones."""
    if program.adoption is None:
        return
    d = program.adoption.strategy
    types, dims = dict(names.types), set(names.dims)
    if d.kind != "matrix" or d.sign or d.source:
        program.source.fail(d.span, "a strategy is a plain matrix", f"write: {d.name}: matrix[p, n]")
    names.dims |= d.dims[0].symbols  # its number of rows is a new name, or one that is known
    names.declare(d, Curvature.CONSTANT)
    columns = cells(program)
    if columns is not None and d.dims[1] != columns:
        program.source.fail(
            d.dim_spans[1], f"a strategy has a column per cell ({columns}), '{d.name}' has {d.dims[1]}"
        )
    for a in program.adoption.values:
        _set(program, a, names, "point from a strategy")
    # In order: a repair may set what 'from strategy' does not, before anything uses it.
    known: set[str] = set()
    chosen = {c.name for c in program.choose}
    uses = [(a.name, names_in(a.expr)) for a in (*program.adoption.values, *program.repair)]
    for name, used in [*uses, ("", chosen)]:
        left = sorted((used & chosen) - known)
        if left:
            program.source.fail(
                dict(program.spans)["from strategy"],
                f"'{left[0]}' is left without a value by 'from strategy', and no repair sets it",
            )
        known.add(name)
    names.types, names.dims = types, dims


def _meaning(program: Program, names: Names) -> None:
    m = program.meaning
    if m.kind == "none":
        return
    known = names.infer(m.expr)
    if not known.is_matrix:
        program.source.fail(m.expr.span, f"a {m.kind} is a matrix, this is {known.shape}")
    columns = cells(program)
    if m.kind == "strategy":
        if columns is not None and known.dims[1] != columns:
            program.source.fail(
                m.expr.span, f"a strategy has a column per cell ({columns}), this is {known.shape}"
            )
        return
    if m.basis not in names.types:
        program.source.fail(
            m.expr.span,
            f"the basis '{m.basis}' is not defined",
            suggest(m.basis, [d.name for d in program.givens]),
        )
    basis = names.types[m.basis]
    if known.dims[0] != known.dims[1] or not basis.is_matrix or basis.dims[0] != known.dims[0]:
        program.source.fail(
            m.expr.span,
            f"a covariance on '{m.basis}' has a row and a column per row of it: this is {known.shape}, "
            + f"'{m.basis}' is {basis.shape}",
        )


def _certificate(program: Program, names: Names, derived: frozenset[str]) -> None:
    """Multipliers, each with its start; then the bound, which uses them and what is given."""
    if program.certificate is None:
        return
    constraints = {c.name: c for c in program.constraints}
    chosen = {d.name for d in program.choose}
    all_types = dict(names.types)
    for m in program.certificate.multipliers:
        d = m.declaration
        if m.start is None and program.klass == "procedure":
            program.source.fail(
                d.span,
                "a multiplier of a procedure starts from a result of its steps",
                f"write: {d.name}: vector[n] >= 0 from fit.{d.name}",
            )
        if m.start is None:
            _sign_fits(m, constraints.get(m.dual_of), program)
        if d.name in chosen | derived or (m.start is not None and d.name in constraints):
            names.source.fail(d.span, f"'{d.name}' is defined twice", "give one of them another name")
        names.declare(d, Curvature.CONSTANT)
        if m.dual_of:
            if m.dual_of not in constraints:
                program.source.fail(
                    m.span or d.span, f"there is no constraint '{m.dual_of}'", suggest(m.dual_of, constraints)
                )
            _multiplier_fits(m, constraints[m.dual_of], names)
        if isinstance(m.start, Name) and m.start.id in constraints:
            program.source.fail(
                m.start.span, f"'{m.start.id}' is a constraint", f"write: from dual({m.start.id})"
            )
        if m.start is not None:
            known = infer(m.start, replace(names.scope(), types=all_types, found={}))
            stated = declared_type(d, Curvature.CONSTANT)
            if known.dims != stated.dims:
                message = f"'{d.name}' is declared {stated.shape}, its start is {known.shape}"
                names.source.fail(m.start.span, message)
    for name in chosen | derived:
        names.types.pop(name, None)
    names.hints = dict.fromkeys(
        chosen | derived, "a bound holds whatever is chosen, so it uses what is given"
    )
    names.number(program.certificate.expr, "a bound is a number")
    names.hints = {}


def _sign_fits(m: Multiplier, c: Constraint | None, program: Program) -> None:
    """Of an inequality a multiplier is >= 0, of one of matrices psd, of an equality free (or has a start)."""
    d, op = m.declaration, c.relation.op if c else ""
    is_matrix = op in (">>", "<<")
    if is_matrix and m.block is None and d.kind != "psd":
        assert c is not None
        message = f"the multiplier of the matrix inequality '{c.name}' is a psd matrix"
        program.source.fail(d.span, message, f"write {d.name}: psd[n, n] from dual({c.name})")
    if (op == "==" and d.kind != "psd") or (is_matrix and d.kind == "psd"):
        return
    if d.sign == ">=" and d.kind in ("vector", "scalar", "matrix"):
        return
    size = f"[{', '.join(map(str, d.dims))}]" if d.dims else ""
    kind = d.kind if d.kind in ("vector", "scalar") else "matrix"
    hint = f"write {d.name}: {kind}{size} >= 0 (that of an equality is free, that of X >> 0 psd)"
    what = f"the multiplier of '{c.name}'" if c else "a multiplier"
    program.source.fail(d.span, f"{what} is a number, a vector or a matrix, and >= 0", hint)


def _multiplier_fits(m: Multiplier, c: Constraint, names: Names) -> None:
    """``dual(name)`` has the entries of a line; ``dual(name)[i, i]`` is diagonal block i of a psd line."""
    d, relation = m.declaration, c.relation
    span = m.span or d.span
    scope = names.scope().inside(c.family)
    dims: tuple[Dim, ...] = (c.family.dim,) if c.family else ()
    what, place, stated = f"'{c.name}'", d.dim_spans[0] if d.dims else d.span, d.dims[:1]
    if m.block is not None:
        rows = relation.left.rows if isinstance(relation.left, Block) and relation.op == ">>" else ()
        if not rows:
            names.source.fail(span, f"'{c.name}' has no blocks", "write dual(name) without [ ]")
        if m.block >= len(rows):
            names.source.fail(span, f"'{c.name}' has {len(rows)} diagonal blocks, counted from 0")
        what, place, stated = f"block ({m.block}, {m.block}) of '{c.name}'", span, d.dims
        known = infer(rows[m.block][m.block], scope)
        if known.is_matrix and c.family:
            names.source.fail(
                span,
                f"{what} is {known.shape}, one for each '{c.family.index}'",
                "only blocks of one number have a multiplier in a family",
            )
        dims += known.dims
    elif isinstance(relation.left, Block) and relation.op == ">>":
        names.source.fail(
            span,
            f"'{c.name}' has blocks, whose multipliers are scaled apart",
            f"write for a diagonal block: from dual({c.name})[0, 0]",
        )
    elif relation.op in (">>", "<<") and c.family:
        names.source.fail(
            span, f"'{c.name}' is a matrix inequality for each '{c.family.index}'", "leave out 'from'"
        )
    elif relation.op in (">>", "<<"):
        stated = d.dims
        dims += infer(relation.left, scope).dims or infer(relation.right, scope).dims
    else:
        dims += infer(relation.left, scope).dims or infer(relation.right, scope).dims
    if dims != d.dims:
        sizes, declared = (" by ".join(map(str, x)) or "one" for x in (dims, stated))
        plural = "s" * (sizes != "one")
        names.source.fail(
            place, f"{what} has {sizes} multiplier{plural}, '{d.name}' is declared with {declared}"
        )
