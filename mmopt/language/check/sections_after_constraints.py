"""Checks of procedures, and of the sections on solutions.

A procedure has steps: the programs that they solve are checked, and the results that come back. The sections
on solutions (starts, repair, value, meaning, certificate) are evaluated with the numbers of a solution.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from mmopt.errors import suggest
from mmopt.language.atoms.expression_types import SCALAR, Curvature, Dim, Type, matrix
from mmopt.language.check.infer_types import Scope, dimension, infer
from mmopt.language.check.names_and_relations import AXES, Names, declared_type
from mmopt.language.syntax.program import Program, program_names
from mmopt.language.syntax.syntax_tree import (
    Assignment,
    Block,
    Constraint,
    Declaration,
    Expr,
    Multiplier,
    Name,
    Repeat,
    Step,
    SubProgram,
    names_in,
)

# The argument of a step that names an earlier step, from whose point a smooth program starts.
START_ARGUMENT = "start"


def cells(program: Program) -> Dim | None:
    """The dimension that counts cells, from the first given whose source says so."""
    for d in program.givens:
        for axis, dim in zip(AXES.get(d.source, ()), d.dims, strict=False):
            if axis == "cell":
                return dim
    return None


def solved_programs(steps: Sequence[Step]) -> list[str]:
    """The programs that the steps solve, in order, also inside blocks."""
    return [step.program for step in _walk(steps) if isinstance(step, SubProgram)]


def alternates(steps: Sequence[Step]) -> bool:
    """Whether a block alternates: the end is then a local optimum, which depends on the start."""
    return any(isinstance(step, Repeat) and step.settles for step in _walk(steps))


def _walk(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, each block before its own."""
    for step in steps:
        yield step
        yield from _walk(step.steps if isinstance(step, Repeat) else ())


@dataclass
class _Steps:
    """The check of the steps of a procedure, which defines every name that they introduce.

    ``given`` are the names before the steps, ``solved`` the programs that steps solve, by the steps' names.
    """

    program: Program
    names: Names
    given: frozenset[str]
    solved: dict[str, Program] = field(default_factory=dict)

    def each(self, steps: Sequence[Step]) -> None:
        """Check steps, in order."""
        for step in steps:
            if isinstance(step, Repeat):
                self.repeat(step)
                continue
            values = dict(step.arguments) if isinstance(step, SubProgram) else {"": step.expr}
            first = values.pop(START_ARGUMENT, None)  # the name of a step has no type
            uses = names_in(first) if first else ()
            self.names.look(partial(self.one, step), *values.values(), uses=uses, defines=[step.name])

    def one(self, step: Assignment | SubProgram) -> None:
        """Check a step that is no block."""
        require = self.program.source.require
        require(
            step.name not in self.given,
            step.span,
            f"'{step.name}' is given; a step cannot change it",
            "use another name",
        )
        if isinstance(step, SubProgram):
            self.solve(step)
            return
        require(
            step.name not in self.solved,
            step.span,
            f"'{step.name}' is the result of a step; an assignment cannot change it",
            "use another name",
        )
        if step.name not in self.names.types:
            self.names.new(step.name, step.span)
        self.names.types[step.name] = self.names.assign(step)

    def repeat(self, loop: Repeat) -> None:
        """Check a block: its number of times, its relation, and its steps."""
        numbers = [(loop.times, "a number of times is a number")]
        if loop.until is not None:  # checked before each round, so its names are defined before the block
            numbers += [
                (side, "'until' compares two numbers") for side in (loop.until.left, loop.until.right)
            ]
        for expr, what in numbers:
            self.names.look(partial(self.names.number, expr, what), expr)
        self.each(loop.steps)
        with self.names.mistakes.noting():
            self.program.source.require(
                not loop.settles or any(isinstance(step, SubProgram) for step in loop.steps),
                loop.span,
                "'alternate' ends by the objective of its last step that solves, and none does",
                "write 'repeat'",
            )

    def solve(self, step: SubProgram) -> None:
        """Check ``name = solve(program, Q=…)``: the program exists and has these givens, of these shapes."""
        source = self.program.source
        before = self.solved.get(step.name)
        if before is None:
            self.names.new(step.name, step.span)
        elif before.name != step.program:
            source.fail(
                step.span, f"'{step.name}' is the result of '{before.name}' already", "use another name"
            )
        source.require(
            step.program != self.program.name, step.program_span, f"'{step.program}' would solve itself"
        )
        if step.program not in program_names():
            source.fail(
                step.program_span,
                f"there is no program '{step.program}'",
                suggest(step.program, program_names()),
            )
        solved = Program.load(step.program)
        arguments = self.arguments(step, solved)
        self.solved[step.name] = solved
        self.names.types |= self.results(step.name, solved, arguments)

    def arguments(self, step: SubProgram, solved: Program) -> dict[str, Type]:
        """The types of the arguments of ``solve(program, Q=…)`` by name; givens without a source need one."""
        source = self.program.source
        inputs = {d.name: d for d in _inputs(solved)}
        dims = {p.name: () for p in solved.parameters} | {d.name: d.dims for d in inputs.values()}
        types: dict[str, Type] = {}
        for name, argument in step.arguments:
            if name == START_ARGUMENT:
                self.start(argument, solved)
                continue
            inferred = self.names.infer(argument)
            if name not in dims:
                source.fail(argument.span, f"'{step.program}' has no given '{name}'", suggest(name, dims))
            kind = inputs[name].kind if name in inputs else "scalar"
            source.require(
                len(inferred.dims) == len(dims[name]),
                argument.span,
                f"the given '{name}' of '{step.program}' is a {kind}, this is {inferred.shape}",
            )
            types[name] = inferred
        for d in solved.givens:
            source.require(
                d.source or d.name in types,
                step.program_span,
                f"'{step.program}' needs the given '{d.name}'",
                f"write: solve({step.program}, {d.name}=…)",
            )
        return types

    def start(self, argument: Expr, solved: Program) -> None:
        """Check ``start=name``: the name of an earlier step, for a smooth program."""
        require = self.program.source.require
        require(
            isinstance(argument, Name) and argument.id in self.solved,
            argument.span,
            "a start is the name of an earlier step",
            "write: start=fit",
        )
        require(
            solved.problem_class == "smooth",
            argument.span,
            f"'{solved.name}' is of class '{solved.problem_class}': its result does not depend on a start",
            "leave out 'start'",
        )

    def results(self, name: str, solved: Program, arguments: Mapping[str, Type]) -> dict[str, Type]:
        """The types of ``name.strategy``, ``name.objective``, and by name its variables and multipliers."""
        sizes = self.sizes(solved, arguments)

        def here(d: Declaration) -> Type:
            dims = tuple(_translate(dim, sizes, f"?{name}.") for dim in d.dims)
            return declared_type(replace(d, dims=dims), Curvature.CONSTANT)

        types = {f"{name}.{m.key}": here(m.declaration) for m in solved.multipliers}
        types |= {f"{name}.{d.name}": here(d) for d in solved.choose}
        # Its strategy has as many rows as the program needs, and a column per cell.
        columns = cells(self.program) or Dim.of("?cells")
        types[f"{name}.strategy"] = matrix(Dim.of(f"?rows({name}.strategy)"), columns)
        types[f"{name}.objective"] = SCALAR
        return types

    def sizes(self, solved: Program, arguments: Mapping[str, Type]) -> dict[str, Dim]:
        """The dimensions of the solved program in those of this one, as far as they are known."""
        sources = {d.source: d.dims for d in self.program.givens if d.source}
        out: dict[str, Dim] = {}
        for d in _inputs(solved):
            dims = arguments[d.name].dims if d.name in arguments else sources.get(d.source, ())
            for inner, outer in zip(d.dims, dims, strict=False):
                if inner.name:
                    out.setdefault(inner.name, outer)
        return out


def _inputs(program: Program) -> list[Declaration]:
    """The names that can be passed to a program and have a declared shape."""
    return [*program.givens, *(p.declared for p in program.parameters if p.declared is not None)]


def _translate(dim: Dim, sizes: Mapping[str, Dim], unknown: str) -> Dim:
    """A dimension with ``sizes`` in place of its symbols; one without a size gets the prefix ``unknown``."""
    products = (
        reduce(Dim.__mul__, (sizes.get(name, Dim.of(unknown + name)) for name in monomial), Dim.of(times))
        for monomial, times in dim.terms
    )
    return reduce(Dim.__add__, products, Dim.of(0))


# Programs whose lower bound is computed with every solution, for any strategy.
PROGRAMS_THAT_BOUND = ("l2_strategy",)


def check_closing(program: Program, names: Names, derived: frozenset[str] = frozenset()) -> Scope:
    """Check the sections after the constraints; returns every name of the program with its type.

    ``derived`` are the lets of what is chosen. Mistakes are noted.
    """
    look = names.look
    for name, inferred in names.types.items():
        names.types[name] = replace(inferred, curvature=Curvature.CONSTANT, loewner=False, why="")
    before = set(names.types)
    _Steps(program, names, frozenset(names.types)).each(program.steps)
    derived |= set(names.types) - before  # results of steps are not given, no more than what is chosen
    if not program.choose:
        look(partial(names.number, program.objective, "an objective is a number"), program.objective)
    _check_starts(program, names)
    for a in program.repair:
        _check_set(program, a, names, "repair")
    _check_adoption(program, names)
    all_types = {**names.types, "objective": SCALAR}
    if program.value is not None:
        what = "the value of a program is a number"
        look(partial(names.number, program.value, what, objective=SCALAR), program.value)
    _check_certificate(program, names, derived)
    # A dual program has its strategy in the multipliers.
    names.types |= all_types
    m = program.meaning
    look(partial(_check_meaning, program, names), m.expr, uses=[m.basis])
    for number in program.neighbours.numbers if program.neighbours else ():
        look(partial(dimension, number, names.scope()), number)
    bounds = (*PROGRAMS_THAT_BOUND, *sorted(solved_programs(program.steps)))
    if program.bound and program.bound not in bounds:
        with names.mistakes.noting():
            program.source.fail(
                dict(program.spans)["bound"],
                f"there is no program '{program.bound}' whose bound could hold",
                suggest(program.bound, bounds),
            )
    return names.scope()


def _check_set(program: Program, a: Assignment, names: Names, section: str) -> None:
    """Check an assignment: to a chosen variable, and of its shape."""
    names.look(partial(_set, program, a, names, section), a.expr, uses=[a.name])


def _set(program: Program, a: Assignment, names: Names, section: str) -> None:
    """``_check_set`` where nothing in it is broken."""
    chosen, require = [d.name for d in program.choose], program.source.require
    for name in sorted(names_in(a.expr).intersection(chosen)) if section == "start" else ():
        program.source.fail(
            a.expr.span,
            f"a start uses data, and '{name}' is a variable",
            "write it in terms of the data",
        )
    if a.name not in chosen:
        program.source.fail(
            a.span,
            f"'{a.name}' is not a variable; a {section} changes variables only",
            suggest(a.name, chosen),
        )
    require(
        not a.declared,
        a.span,
        f"'{a.name}' is declared a second time",
        f"write: {a.name} = expression",
    )
    before, after = names.types[a.name], names.assign(a)
    require(
        before.dims == after.dims,
        a.expr.span,
        f"'{a.name}' is {before.shape}; the {section} makes it {after.shape}",
    )


def _check_starts(program: Program, names: Names) -> None:
    """Check starts: they use what is given."""
    for position, start in enumerate(program.starts):
        with names.mistakes.noting():
            program.source.require(
                start.name not in {other.name for other in program.starts[:position]},
                start.span,
                f"two starts are called '{start.name}'",
                "results go by these names",
            )
        for a in start.values:
            _check_set(program, a, names, "start")


def _check_adoption(program: Program, names: Names) -> None:
    """Check the chosen variables from a strategy with a column per cell; later ones may use earlier ones."""
    if program.adoption is None:
        return
    d, require = program.adoption.strategy, program.source.require
    types_before, dims_before = dict(names.types), set(names.dims)
    with names.mistakes.noting([d.name]):
        require(
            d.kind == "matrix" and not d.sign and not d.source,
            d.span,
            "a strategy is a plain matrix",
            f"write: {d.name}: matrix[p, n]",
        )
        names.dims |= d.dims[0].symbols  # its number of rows is a new name, or one that is defined
        names.declare(d, Curvature.CONSTANT)
        columns = cells(program)
        require(
            columns in (None, d.dims[1]),
            d.dim_spans[1],
            f"a strategy has a column per cell ({columns}), '{d.name}' has {d.dims[1]}",
        )
    for a in program.adoption.values:
        _check_set(program, a, names, "point from a strategy")
    names.types, names.dims = types_before, dims_before
    if names.mistakes.errors:  # what follows may be one of them
        return
    # In order: a repair may set what 'from strategy' does not, before anything uses it.
    chosen = {c.name for c in program.choose}
    uses = [(a.name, names_in(a.expr)) for a in (*program.adoption.values, *program.repair)]
    uses.append(("", chosen))  # in the end all that is chosen is used
    assigned = [{name for name, _ in uses[:i]} for i in range(len(uses))]
    left = [
        name
        for (_, used), set_ in zip(uses, assigned, strict=True)
        for name in sorted((used & chosen) - set_)
    ]
    with names.mistakes.noting():
        require(
            not left,
            dict(program.spans)["from strategy"],
            f"'{left[0] if left else ''}' is left without a value by 'from strategy', and no repair sets it",
        )


def _check_meaning(program: Program, names: Names) -> None:
    """Check the strategy, with a column per cell, or the covariance, on the rows of its basis."""
    m, require = program.meaning, program.source.require
    if m.kind == "none":
        return
    inferred, columns = names.infer(m.expr), cells(program)
    require(inferred.is_matrix, m.expr.span, f"a {m.kind} is a matrix, this is {inferred.shape}")
    if m.kind == "strategy":
        require(
            columns in (None, inferred.dims[1]),
            m.expr.span,
            f"a strategy has a column per cell ({columns}), this is {inferred.shape}",
        )
        return
    if m.basis not in names.types:
        program.source.fail(
            m.expr.span,
            f"the basis '{m.basis}' is not defined",
            suggest(m.basis, [d.name for d in program.givens]),
        )
    basis = names.types[m.basis]
    require(
        basis.is_matrix and inferred.dims == (basis.dims[0],) * 2,
        m.expr.span,
        f"a covariance on '{m.basis}' has a row and a column per row of it: this is {inferred.shape}, "
        f"'{m.basis}' is {basis.shape}",
    )


def _check_certificate(program: Program, names: Names, derived: frozenset[str]) -> None:
    """Check the multipliers, each with its start; then the bound, which uses them and what is given."""
    if program.certificate is None:
        return
    outside = {d.name for d in program.choose} | derived  # what the bound may not use
    types = dict(names.types)
    for m in program.certificate.multipliers:
        names.look(
            partial(_check_multiplier, m, program, names, outside, types),
            *([m.start] if m.start else ()),
            uses=[f"dual({m.dual_of})"],
            defines=[m.declaration.name],
        )
    names.types = {name: inferred for name, inferred in names.types.items() if name not in outside}
    names.hints = dict.fromkeys(
        outside, "a bound holds for all values of the variables, so it uses data only"
    )
    bound = program.certificate.expr
    names.look(partial(names.number, bound, "a bound is a number"), bound)
    names.hints = {}


def _check_multiplier(
    m: Multiplier, program: Program, names: Names, outside: Set[str], types: Mapping[str, Type]
) -> None:
    """Check a multiplier, and its start, which uses the names of ``types``; ``outside``: taken names."""
    d, require = m.declaration, program.source.require
    constraints = {c.name: c for c in program.constraints}
    if m.start is None:
        require(
            program.problem_class != "procedure",
            d.span,
            "a multiplier of a procedure starts from a result of its steps",
            f"write: {d.name}: vector[n] >= 0 from fit.{d.name}",
        )
        _check_sign(m, constraints.get(m.dual_of), program)
    require(
        d.name not in outside and (m.start is None or d.name not in constraints),
        d.span,
        f"'{d.name}' is defined twice",
        "give one of them another name",
    )
    names.declare(d, Curvature.CONSTANT)
    if m.dual_of:
        if m.dual_of not in constraints:
            program.source.fail(
                m.span or d.span, f"there is no constraint '{m.dual_of}'", suggest(m.dual_of, constraints)
            )
        _check_sizes(m, constraints[m.dual_of], names)
    if m.start is not None:
        name = m.start.id if isinstance(m.start, Name) else ""
        require(
            name not in constraints,
            m.start.span,
            f"'{name}' is a constraint",
            f"write: from dual({name})",
        )
        start = infer(m.start, replace(names.scope(), types=types, inferred={}))
        declared = declared_type(d, Curvature.CONSTANT)
        require(
            start.dims == declared.dims,
            m.start.span,
            f"'{d.name}' is declared {declared.shape}, its start is {start.shape}",
        )


def _check_sign(m: Multiplier, c: Constraint | None, program: Program) -> None:
    """Check the sign: of an inequality >= 0, of one of matrices psd, of an equality free (or a start)."""
    d, op = m.declaration, c.relation.op if c else ""
    is_matrix, is_psd = op in (">>", "<<"), d.kind == "psd"
    program.source.require(
        not is_matrix or m.block is not None or is_psd,
        d.span,
        f"the multiplier of the matrix inequality '{m.dual_of}' is a psd matrix",
        f"write {d.name}: psd[n, n] from dual({m.dual_of})",
    )
    is_positive = d.sign == ">=" and d.kind in ("vector", "scalar", "matrix", "symmetric")
    size = f"[{', '.join(map(str, d.dims))}]" if d.dims else ""
    kind = d.kind if d.kind in ("vector", "scalar") else "matrix"
    what = f"the multiplier of '{c.name}'" if c else "a multiplier"
    program.source.require(
        (op == "==" and not is_psd) or (is_matrix and is_psd) or is_positive,
        d.span,
        f"{what} is a number, a vector or a matrix, and >= 0",
        f"write {d.name}: {kind}{size} >= 0 (that of an equality is free, that of X >> 0 psd)",
    )


def _check_sizes(m: Multiplier, c: Constraint, names: Names) -> None:
    """Check sizes: ``dual(name)`` has the entries of a line, ``dual(name)[i, i]`` of a psd line block i."""
    d, relation, require = m.declaration, c.relation, names.source.require
    span = m.span or d.span
    scope = names.scope().inside(c.family)
    # The sizes that fit, and of those declared the ones to say.
    dims: tuple[Dim, ...] = (c.family.dim,) if c.family else ()
    what, place, shown_dims = f"'{c.name}'", d.dim_spans[0] if d.dims else d.span, d.dims[:1]
    is_order = relation.op in (">>", "<<")
    rows = relation.left.rows if isinstance(relation.left, Block) and relation.op == ">>" else ()
    if m.block is not None:
        require(rows, span, f"'{c.name}' has no blocks", "write dual(name) without [ ]")
        require(m.block < len(rows), span, f"'{c.name}' has {len(rows)} diagonal blocks, counted from 0")
        what, place, shown_dims = f"block ({m.block}, {m.block}) of '{c.name}'", span, d.dims
        block = infer(rows[m.block][m.block], scope)
        require(
            not (block.is_matrix and c.family),
            span,
            f"{what} is {block.shape}, one for each '{c.family and c.family.index}'",
            "only blocks of one number have a multiplier in a family",
        )
        dims += block.dims
    else:
        require(
            not rows,
            span,
            f"'{c.name}' has blocks, whose multipliers are scaled apart",
            f"write for a diagonal block: from dual({c.name})[0, 0]",
        )
        require(
            not (is_order and c.family),
            span,
            f"'{c.name}' is a matrix inequality for each '{c.family and c.family.index}'",
            "leave out 'from'",
        )
        shown_dims = d.dims if is_order else shown_dims
        dims += infer(relation.left, scope).dims or infer(relation.right, scope).dims
    sizes, declared = (" by ".join(map(str, x)) or "one" for x in (dims, shown_dims))
    require(
        dims == d.dims,
        place,
        f"{what} has {sizes} multiplier{'s' * (sizes != 'one')}, '{d.name}' is declared with {declared}",
    )
