"""Checks of what is evaluated with the numbers of a solution: steps, repair, value, meaning, certificate."""

from __future__ import annotations

from dataclasses import replace

from mmopt.errors import suggest
from mmopt.language.dims import Dim
from mmopt.language.infer import Scope, infer
from mmopt.language.library import program_names
from mmopt.language.names import Names, declared_type
from mmopt.language.program import Program
from mmopt.language.sources import AXES
from mmopt.language.tree import Assignment, Constraint, Expr, Multiplier, SubProgram
from mmopt.language.types import SCALAR, Curvature, matrix

__all__ = ["check_closing"]

# Programs whose lower bound is computed beside every solution, for whatever strategy.
BOUNDS = ("l2_strategy",)


def check_closing(program: Program, names: Names) -> Scope:
    """Check the sections after the constraints; every name of the program with its type comes back."""
    for name, known in names.types.items():
        names.types[name] = replace(known, curvature=Curvature.CONSTANT, loewner=False, why="")
    given = set(names.types)
    for step in program.steps:
        if step.name in given:
            program.source.fail(
                step.span, f"'{step.name}' is given; a step cannot change it", "use another name"
            )
        if isinstance(step, Assignment):
            names.types[step.name] = names.assign(step)
        else:
            _solve(step, program, names)
    if program.klass == "procedure" and program.objective is not None:
        _number(program.objective, "an objective is a number", names)
    for a in program.repair:
        _repair(a, program, names)
    _meaning(program, names)
    all_types = dict(names.types)
    for d in program.choose:
        del names.types[d.name]
    names.hints = {
        d.name: "a bound holds whatever is chosen, so it uses what is given" for d in program.choose
    }
    _certificate(program, names)
    if program.bound and program.bound not in BOUNDS:
        span = dict(program.spans)["bound"]
        hint = suggest(program.bound, BOUNDS)
        program.source.fail(span, f"there is no program '{program.bound}' whose bound could hold", hint)
    names.hints = {d.name: "the value uses 'objective' and what is given" for d in program.choose}
    names.types["objective"] = SCALAR
    if program.value is not None:
        _number(program.value, "the value of a program is a number", names)
    names.types |= all_types
    return names.scope()


def _number(expr: Expr, what: str, names: Names) -> None:
    known = names.infer(expr)
    if not known.is_scalar:
        names.source.fail(expr.span, f"{what}, this is {known.shape}")


def _repair(a: Assignment, program: Program, names: Names) -> None:
    chosen = [d.name for d in program.choose]
    if a.name not in chosen:
        hint = suggest(a.name, chosen)
        program.source.fail(a.span, f"'{a.name}' is not chosen; a repair changes what is chosen", hint)
    if a.declared:
        program.source.fail(a.span, f"'{a.name}' is declared a second time", f"write: {a.name} = expression")
    before, after = names.types[a.name], names.assign(a)
    if before.dims != after.dims:
        program.source.fail(a.expr.span, f"'{a.name}' is {before.shape}; the repair makes it {after.shape}")


def _solve(step: SubProgram, program: Program, names: Names) -> None:
    """``name = solve(program, Q=…)``: the program exists and has these givens, of these shapes."""
    names.new(step.name, step.span)
    if step.program == program.name:
        program.source.fail(step.program_span, f"'{step.program}' would solve itself")
    if step.program not in program_names():
        hint = suggest(step.program, program_names())
        program.source.fail(step.program_span, f"there is no program '{step.program}'", hint)
    solved = Program.load(step.program)
    givens = {d.name: d for d in solved.givens}
    for name, argument in step.arguments:
        known = names.infer(argument)
        if name not in givens:
            message = f"'{step.program}' has no given '{name}'"
            program.source.fail(argument.span, message, suggest(name, givens))
        if len(known.dims) != len(givens[name].dims):
            message = (
                f"the given '{name}' of '{step.program}' is a {givens[name].kind}, this is {known.shape}"
            )
            program.source.fail(argument.span, message)
    passed = {name for name, _ in step.arguments}
    for d in solved.givens:
        if not d.source and d.name not in passed:
            message = f"'{step.program}' needs the given '{d.name}'"
            program.source.fail(step.program_span, message, f"write: solve({step.program}, {d.name}=…)")
    # Its strategy has as many rows as the program needs, and a column per cell.
    rows = Dim.of(f"?rows({step.name}.strategy)")
    names.types[f"{step.name}.strategy"] = matrix(rows, _cells(program) or Dim.of("?cells"))
    names.types[f"{step.name}.objective"] = SCALAR


def _cells(program: Program) -> Dim | None:
    """The dimension that counts cells, from the first given whose source says so."""
    for d in program.givens:
        for axis, dim in zip(AXES.get(d.source, ()), d.dims, strict=False):
            if axis == "cell":
                return dim
    return None


def _meaning(program: Program, names: Names) -> None:
    m = program.meaning
    assert m is not None  # the check of the sections has seen to it
    known = names.infer(m.expr)
    if not known.is_matrix:
        program.source.fail(m.expr.span, f"a {m.kind} is a matrix, this is {known.shape}")
    cells = _cells(program)
    if m.kind == "strategy":
        if cells is not None and known.dims[1] != cells:
            message = f"a strategy has a column per cell ({cells}), this is {known.shape}"
            program.source.fail(m.expr.span, message)
        return
    if m.basis not in names.types:
        hint = suggest(m.basis, [d.name for d in program.givens])
        program.source.fail(m.expr.span, f"the basis '{m.basis}' is not defined", hint)
    basis = names.types[m.basis]
    if known.dims[0] != known.dims[1] or not basis.is_matrix or basis.dims[0] != known.dims[0]:
        message = f"a covariance on '{m.basis}' has a row and a column per row of it: this is {known.shape}, "
        program.source.fail(m.expr.span, message + f"'{m.basis}' is {basis.shape}")


def _certificate(program: Program, names: Names) -> None:
    if program.certificate is None:
        return
    constraints = {c.name: c for c in program.constraints}
    for m in program.certificate.multipliers:
        d = m.declaration
        if d.sign != ">=" or d.kind not in ("vector", "scalar"):
            example = f"{d.name}: vector[n] >= 0"
            program.source.fail(d.span, "a multiplier is a vector or a number, and >= 0", f"write {example}")
        if d.name in {x.name for x in program.choose}:
            names.source.fail(d.span, f"'{d.name}' is defined twice", "give one of them another name")
        names.declare(d, Curvature.CONSTANT)
        if m.dual_of:
            if m.dual_of not in constraints:
                hint = suggest(m.dual_of, constraints)
                program.source.fail(m.span or d.span, f"there is no constraint '{m.dual_of}'", hint)
            _multiplier_fits(m, constraints[m.dual_of], program, names)
    _number(program.certificate.expr, "a bound is a number", names)


def _multiplier_fits(m: Multiplier, c: Constraint, program: Program, names: Names) -> None:
    d, span = m.declaration, m.span or m.declaration.span
    if c.relation.op in (">>", "<<"):
        message = f"'{c.name}' compares matrices; '{d.name}' would have to be a matrix"
        program.source.fail(span, message, "start from another constraint, or leave out 'from'")
    known = {x.name: declared_type(x, Curvature.CONSTANT) for x in program.choose}
    scope = names.scope().with_types(**known)
    dims: tuple[Dim, ...] = ()
    if c.family:
        scope, dims = scope.with_index(c.family.index, c.family.dim), (c.family.dim,)
    left, right = infer(c.relation.left, scope), infer(c.relation.right, scope)
    dims += left.dims or right.dims
    if dims != d.dims:
        sizes = " by ".join(map(str, dims)) or "one"
        stated = str(d.dims[0]) if d.dims else "one"
        message = f"'{c.name}' has {sizes} multipliers, '{d.name}' is declared with {stated}"
        program.source.fail(d.dim_spans[0] if d.dims else d.span, message)
