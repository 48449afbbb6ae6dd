"""A whole program checked before any number is known: its names, shapes and curvature, section by section.

A ``let`` of what is chosen is put into the lines that use it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial

from mmopt.errors import ProgramError, suggest
from mmopt.language.atoms.expression_types import Curvature, Type
from mmopt.language.check.infer_types import Scope, check_family, dimension, says_antisymmetric, taken_as_one
from mmopt.language.check.names_and_relations import (
    AXES,
    OTHER_SENSE,
    PSD_SOURCES,
    SOURCES,
    Names,
    check_curvature_of_sides,
    check_rank,
    check_shapes,
    check_smooth,
    check_smooth_line,
    declared_type,
    is_logarithm,
    orders_numbers,
    refuse_curvature,
    suits,
)
from mmopt.language.check.sections_after_constraints import check_closing
from mmopt.language.syntax.parse_and_write_expressions import MAX_NESTING, STRICT
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.program_sections import SEARCH
from mmopt.language.syntax.syntax_tree import (
    Assignment,
    Constraint,
    Declaration,
    Expr,
    Name,
    Number,
    Span,
    children,
    is_rank,
    names_in,
    rewrite,
)
from mmopt.limits import time_not_counted

MAX_NODES = 20_000  # of one expression, with every let substituted


@dataclass(frozen=True, eq=False)
class Checked:
    """A program whose shapes and curvature hold, with its types.

    ``program`` is the one that is compiled and evaluated: every ``let`` of variables is substituted where it
    is used; ``written`` is the one of the file. ``lines`` has the data, parameters, lets and variables as
    objective and constraints see them; ``constraints`` the types of both sides by
    name; ``scope`` every name of the program, those of steps and multipliers too, as values: constant.
    ``is_logarithmic``: the objective is a logarithm of variables (``is_logarithm``). ``to_prove``: the
    requirements that have to be proved, not only hold up to rounding: signs may depend on them.
    Equality is identity: what follows from a program alone is cached for it.
    """

    program: Program
    written: Program
    lines: Scope
    objective: Type | None
    constraints: Mapping[str, tuple[Type, Type]]
    scope: Scope
    is_logarithmic: bool
    to_prove: tuple[Constraint, ...]

    @property
    def types(self) -> Mapping[str, Type]:
        """The type of every name that lines may use."""
        return self.lines.types


@cache
@time_not_counted("the shipped programs, for comparison")
def shipped(name: str) -> Checked:
    """A shipped program by name, read and checked once: its file is part of the package."""
    return check(Program.load(name))


def check(program: Program, faults: dict[str, ProgramError] | None = None) -> Checked:
    """Check a program; the first mistake is raised as a :class:`~mmopt.errors.ProgramError`.

    With ``faults``, a constraint of the wrong curvature is recorded there by its name (the objective by ""),
    and the check continues. Names and shapes still have to fit.
    """
    text, file = program.text, program.source.file
    is_as_read = faults is None and program is Program.parse(text, file)
    return _checked(text, file) if is_as_read else _check(program, faults)


# Cached, like parsing: many small solves of one program check it once.
@lru_cache(maxsize=128)
def _checked(text: str, file: str) -> Checked:
    return _check(Program.parse(text, file), None)


def _check(program: Program, faults: dict[str, ProgramError] | None) -> Checked:
    """``check`` of a program, not cached; ``faults`` as there.

    What ``require`` says of signs counts only where the program does not check without: it is proved then.
    """
    if orders := [c for c in program.requires if orders_numbers(c)]:
        with suppress(ProgramError):
            return _check_sections(program, None, [])
    return _check_sections(program, faults, orders)


def _check_sections(
    program: Program, faults: dict[str, ProgramError] | None, orders: Sequence[Constraint]
) -> Checked:
    """``check``, section by section, where ``orders`` among the lines of ``require`` give signs."""
    names = Names(program.source, orders=orders)
    mistakes = names.mistakes
    _declare_givens(program, names)
    for parameter in program.parameters:
        _define(parameter, partial(_declare_parameter, parameter, names), names)
    given, derived = split_lets(program)
    for let in given:
        _define(let, partial(names.compute, let), names)
    names.hints = {d.name: "'require' uses data, not variables" for d in program.choose}
    for requirement in program.requires:
        _shapes(requirement, names)
    names.hints = {}
    for d in program.choose:
        with mistakes.noting([d.name]):
            _declare_chosen(program, d, names)
            lines = (c.relation for c in program.constraints if not c.family)
            if any(says_antisymmetric(line, d.name) for line in lines if names.types[d.name].is_matrix):
                names.types[d.name] = replace(names.types[d.name], antisymmetric=True)
    for let in derived:
        _define(let, partial(names.compute, let), names)
    written = program
    try:
        for error in mistakes.errors:
            raise error
        program = expand(written, names)
    except ProgramError:
        sound = _sound_part(written, names)
        with mistakes.noting(["too large"]):
            program = expand(sound, names)
        if mistakes.is_unsure or not mistakes.spare(["too large"]):
            mistakes.refuse()
    objective: Type | None = None
    with mistakes.noting():
        objective = _check_objective(program, names, faults)
    constraints: dict[str, tuple[Type, Type]] = {}
    rank_sides = [side for c in written.constraints if is_rank(c) for side in _sides(c)]
    names.look(lambda: check_rank(written, names.scope()), *rank_sides)
    for c in program.constraints:
        with mistakes.noting():
            program.source.require(
                c.name not in constraints,
                c.span,
                f"two constraints are called '{c.name}'",
                "multipliers go by these names",
            )
            scope = _inside(c, names)
            constraints[c.name] = check_shapes(c, scope)
            if program.problem_class == "smooth":
                check_smooth_line(c, scope)
            elif not is_rank(c):
                with _noted(faults, c.name):
                    check_curvature_of_sides(c, constraints[c.name], scope)
    types = dict(names.types)
    fixed = names.dims | {name for name, inferred in types.items() if inferred.is_constant}
    for p in program.search:  # after the lines, which do not use them
        names.look(partial(_declare_search, p, names), p.expr, defines=[p.name])
    scope = check_closing(program, names, derived=frozenset(let.name for let in derived))
    mistakes.refuse()
    return Checked(
        program,
        written,
        replace(scope, types=types, inferred={}),
        objective,
        constraints,
        scope,
        is_logarithm(program.objective, fixed),
        tuple(c for c in program.requires if c in orders or c.relation.op in STRICT),
    )


def _define(a: Assignment, define: Callable[[], object], names: Names) -> None:
    """Define the name of a parameter or a let; after a mistake the dimensions that it declares."""
    kind, dims = (a.declared.kind, a.declared.dims) if a.declared else ("", ())
    names.look(define, a.expr, defines=[a.name] if kind != "dim" else ())
    if kind == "dim" or a.name in names.mistakes.broken:
        names.dims |= {name for dim in dims for name in dim.symbols} | ({a.name} if kind == "dim" else set())


def _shapes(c: Constraint, names: Names) -> tuple[Type, Type] | None:
    """The types of both sides of a line that stands as written; None after a mistake, which is noted."""
    return names.look(
        lambda: check_shapes(c, _inside(c, names)),
        *_sides(c),
        defines=[f"dual({c.name})"],
        family=c.family,
    )


def _sound_part(program: Program, names: Names) -> Program:
    """The program without the lines whose names or shapes are mistaken, or that use something mistaken."""
    objective = program.objective
    if (
        program.problem_class != "procedure"
        and names.look(lambda: _number(program, names), objective) is None
    ):
        objective = Number(0.0, objective.span)
    return replace(
        program, objective=objective, constraints=tuple(c for c in program.constraints if _shapes(c, names))
    )


def _declare_chosen(program: Program, d: Declaration, names: Names) -> None:
    """Define the name of a chosen variable."""
    require = program.source.require
    require(
        d.kind != "dim",
        d.span,
        f"a dimension cannot be a variable: '{d.name}'",
        "declare it under 'parameter'",
    )
    require(
        not d.source_span,
        d.source_span or d.span,
        f"'{d.name}' is a variable, which has no source",
        "data under 'given' may have one",
    )
    names.declare(d, Curvature.AFFINE)


def _declare_givens(program: Program, names: Names) -> None:
    """Define the names of what is given, and of their dimensions."""
    mistakes = names.mistakes
    for d in program.givens:
        with mistakes.noting([d.name]):
            program.source.require(
                d.kind != "dim",
                d.span,
                f"a dimension cannot be declared as data: '{d.name}'",
                "the shape of the data introduces it",
            )
            if d.source and d.source_span:
                _check_source(program, d, d.source_span)
        # A given introduces the dimensions that it names alone.
        names.dims |= {dim.name for dim in d.dims if dim.name}
        mistakes.is_unsure |= d.name in mistakes.broken and (d.kind == "dim" or d.source in AXES)
    for d in program.givens:
        with mistakes.noting([d.name]):
            if d.name not in mistakes.broken:
                names.declare(d, Curvature.CONSTANT)


def _check_source(program: Program, d: Declaration, span: Span) -> None:
    """Refuse a source that does not exist, or is not of the declared kind."""
    if d.source not in SOURCES:
        program.source.fail(span, f"there is no source '{d.source}'", suggest(d.source, SOURCES))
    axes, require = AXES[d.source], program.source.require
    kind, by = "a vector" if len(axes) == 1 else "a matrix", ", ".join(f"one per {axis}" for axis in axes)
    require(len(axes) == len(d.dims), span, f"'{d.source}' is {kind} ({by}), '{d.name}' is declared {d.kind}")
    require(
        d.kind not in ("psd", "symmetric") or d.source in PSD_SOURCES,
        span,
        f"'{d.source}' is not {d.kind}",
        "declare it matrix; the Gram matrix is workload.gram",
    )


def _declare_parameter(p: Assignment, names: Names) -> None:
    """Define the name of a parameter, with the type that any value of it has."""
    if p.declared and p.declared.kind == "dim":
        dimension(p.expr, names.scope())
        names.new(p.name, p.span)
        names.dims.add(p.name)
        return
    default = names.assign(p)
    names.source.require(
        default.is_scalar or p.declared,
        p.span,
        f"a parameter is a number unless declared, this is {default.shape}",
        f"write its kind: {p.name}: {'vector[n]' if default.is_vector else 'matrix[m, n]'} = …",
    )
    # Its default may have signs and forms that another value, passed by the caller, does not have.
    # A number without a kind keeps the sign: ``bind`` refuses a value of another.
    names.new(p.name, p.span)
    names.types[p.name] = declared_type(p.declared, default.curvature) if p.declared else default


def _declare_search(p: Assignment, names: Names) -> None:
    """Define a parameter of the search."""
    require = names.source.require
    require(p.name in SEARCH, p.span, f"a search has no parameter '{p.name}'", suggest(p.name, SEARCH))
    is_number = p.declared is None and names.infer(p.expr).is_constant
    require(is_number, p.span, f"'{p.name}' is a number", f"write: {p.name} = {SEARCH[p.name]:g}")
    _declare_parameter(p, names)


def _sides(c: Constraint) -> tuple[Expr, Expr]:
    """Both sides of a constraint."""
    return c.relation.left, c.relation.right


def _inside(c: Constraint, names: Names) -> Scope:
    """The names inside a constraint; its family has a known dimension and a new index."""
    if c.family:
        check_family(c.family, names.scope())
    return names.scope().inside(c.family)


@contextmanager
def _noted(faults: dict[str, ProgramError] | None, line: str) -> Iterator[None]:
    """Put an error of the curvature into ``faults`` under the name of its line, if there are any."""
    try:
        yield
    except ProgramError as error:
        if faults is None:
            raise
        faults[line] = error


def _check_objective(program: Program, names: Names, faults: dict[str, ProgramError] | None) -> Type | None:
    """The type of the objective, of the curvature that its sense needs."""
    if program.problem_class == "procedure":
        return None  # that of a procedure is checked after its steps
    inferred = _number(program, names)
    if program.problem_class == "smooth":
        check_smooth(program.objective, names.scope())
        return inferred
    wanted = "convex" if program.sense == "minimize" else "concave"
    if not suits(inferred, wanted):
        what = f"the objective of '{program.sense}' has to be {wanted}"
        with _noted(faults, ""):
            refuse_curvature(program.objective, inferred, what, names.scope(), OTHER_SENSE)
    return inferred


def _number(program: Program, names: Names) -> Type:
    """The type of the objective, which is a number."""
    return names.number(program.objective, "an objective is a number", "take a sum, trace or max")


def split_lets(program: Program) -> tuple[tuple[Assignment, ...], tuple[Assignment, ...]]:
    """The lets of data, and those that use variables (directly or through another let)."""
    chosen = {d.name for d in program.choose}
    given, derived = [], []
    for let in program.lets:
        if names_in(let.expr) & chosen:
            chosen.add(let.name)
            derived.append(let)
        else:
            given.append(let)
    return tuple(given), tuple(derived)


def expand(program: Program, names: Names) -> Program:
    """The program without lets of what is chosen, with joint atoms in its lines (``taken_as_one``).

    Raises :class:`~mmopt.errors.ProgramError` when an expression grows too large.
    """
    given, derived = split_lets(program)
    if not derived and program.problem_class not in ("convex", "rank"):
        return program
    meant: dict[str, Expr] = {}  # by name of a let, without lets in it
    sizes: dict[str, tuple[int, int]] = {}  # see _measured

    def put(e: Expr) -> Expr:
        _measured(e, sizes, program)
        return _put(e, meant)

    def value(a: Assignment) -> Assignment:
        return replace(a, expr=put(a.expr))

    def line(c: Constraint) -> Constraint:
        r, scope = c.relation, _inside(c, names)
        left, right = (taken_as_one(put(side), scope) for side in (r.left, r.right))
        return replace(c, relation=replace(r, left=left, right=right))

    for let in derived:
        meant[let.name], sizes[let.name] = put(let.expr), _measured(let.expr, sizes, program)
    certificate, meaning, adoption = program.certificate, program.meaning, program.adoption
    return replace(
        program,
        lets=given,
        objective=taken_as_one(put(program.objective), names.scope()),
        constraints=tuple(map(line, program.constraints)),
        repair=tuple(map(value, program.repair)),
        value=None if program.value is None else put(program.value),
        meaning=replace(meaning, expr=put(meaning.expr)),
        adoption=None if adoption is None else replace(adoption, values=tuple(map(value, adoption.values))),
        # Multipliers may start from the point; the bound itself uses what is given only.
        certificate=None
        if certificate is None
        else replace(
            certificate,
            multipliers=tuple(replace(m, start=m.start and put(m.start)) for m in certificate.multipliers),
        ),
    )


def _measured(expr: Expr, sizes: Mapping[str, tuple[int, int]], program: Program) -> tuple[int, int]:
    """The number of operations of an expression, and their depth, with every 'let' substituted.

    ``sizes`` has both for the name of every let, so that nothing has to be substituted.
    """
    if isinstance(expr, Name):
        return sizes.get(expr.id, (1, 1))
    inside = [_measured(child, sizes, program) for child in children(expr)]
    nodes, depth = 1 + sum(n for n, _ in inside), 1 + max((d for _, d in inside), default=0)
    for count, limit, words in ((nodes, MAX_NODES, ""), (depth, MAX_NESTING, " inside each other")):
        program.source.require(
            count <= limit,
            expr.span,
            f"more than {limit} operations{words} when every 'let' is put in",
            "choose a variable and state the equality as a constraint",
        )
    return nodes, depth


def _put(expr: Expr, meant: Mapping[str, Expr]) -> Expr:
    """The expression with what names mean in their place."""
    return rewrite(expr, lambda e: meant.get(e.id) if isinstance(e, Name) else None)
