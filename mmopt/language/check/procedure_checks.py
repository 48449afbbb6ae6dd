"""Checks of the steps of a procedure: the programs that they solve, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mmopt.errors import suggest
from mmopt.language.atoms.argument_types import SCALAR, Curvature, Dim, Type, matrix
from mmopt.language.check.names_and_givens import AXES, Names, declared_type
from mmopt.language.syntax.program import Program, program_names
from mmopt.language.syntax.syntax_tree import Declaration, Expr, Name, Repeat, Step, SubProgram

__all__ = ["START_ARGUMENT", "alternates", "cells", "check_steps", "solved_programs"]

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
    """The programs that the steps solve, in order, those inside blocks too."""
    found: list[str] = []
    for step in steps:
        if isinstance(step, SubProgram):
            found.append(step.program)
        elif isinstance(step, Repeat):
            found += solved_programs(step.steps)
    return found


def alternates(steps: Sequence[Step]) -> bool:
    """Whether a block alternates: the end is then a local optimum, which depends on the way there."""
    return any(isinstance(step, Repeat) and (step.settles or alternates(step.steps)) for step in steps)


def check_steps(program: Program, names: Names) -> None:
    """Define every name that the steps bring; mistakes are :class:`~mmopt.errors.ProgramError`."""
    _Steps(program, names, frozenset(names.types)).each(program.steps)


@dataclass
class _Steps:
    program: Program
    names: Names
    given: frozenset[str]
    solved: dict[str, Program] = field(default_factory=dict)

    def each(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Repeat):
                self.repeat(step)
                continue
            if step.name in self.given:
                self.program.source.fail(
                    step.span, f"'{step.name}' is given; a step cannot change it", "use another name"
                )
            if isinstance(step, SubProgram):
                self.solve(step)
            elif step.name in self.solved:
                self.program.source.fail(
                    step.span,
                    f"'{step.name}' is the result of a step; an assignment cannot change it",
                    "use another name",
                )
            else:
                if step.name not in self.names.types:
                    self.names.new(step.name, step.span)
                self.names.types[step.name] = self.names.assign(step)

    def repeat(self, loop: Repeat) -> None:
        self.names.number(loop.times, "a number of times is a number")
        if loop.until is not None:  # looked at before each round, so its names are known before the block
            for side in (loop.until.left, loop.until.right):
                self.names.number(side, "'until' compares two numbers")
        self.each(loop.steps)
        if loop.settles and not any(isinstance(step, SubProgram) for step in loop.steps):
            self.program.source.fail(
                loop.span,
                "'alternate' ends by the objective of its last step that solves, and none does",
                "write 'repeat'",
            )

    def solve(self, step: SubProgram) -> None:
        """``name = solve(program, Q=…)``: the program exists and has these givens, of these shapes."""
        source = self.program.source
        before = self.solved.get(step.name)
        if before is None:
            self.names.new(step.name, step.span)
        elif before.name != step.program:
            source.fail(
                step.span, f"'{step.name}' is the result of '{before.name}' already", "use another name"
            )
        if step.program == self.program.name:
            source.fail(step.program_span, f"'{step.program}' would solve itself")
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
        source = self.program.source
        known_as = {d.name: d for d in _inputs(solved)}
        dims = {p.name: () for p in solved.parameters} | {d.name: d.dims for d in known_as.values()}
        found: dict[str, Type] = {}
        for name, argument in step.arguments:
            if name == START_ARGUMENT:
                self.start(argument, solved)
                continue
            known = self.names.infer(argument)
            if name not in dims:
                source.fail(argument.span, f"'{step.program}' has no given '{name}'", suggest(name, dims))
            if len(known.dims) != len(dims[name]):
                kind = known_as[name].kind if name in known_as else "scalar"
                source.fail(
                    argument.span,
                    f"the given '{name}' of '{step.program}' is a {kind}, this is {known.shape}",
                )
            found[name] = known
        for d in solved.givens:
            if not d.source and d.name not in found:
                source.fail(
                    step.program_span,
                    f"'{step.program}' needs the given '{d.name}'",
                    f"write: solve({step.program}, {d.name}=…)",
                )
        return found

    def start(self, argument: Expr, solved: Program) -> None:
        span = argument.span
        if not isinstance(argument, Name) or argument.id not in self.solved:
            self.program.source.fail(span, "a start is the name of an earlier step", "write: start=fit")
        if solved.klass != "smooth":
            self.program.source.fail(
                span,
                f"'{solved.name}' is of class '{solved.klass}': its result does not depend on a start",
                "leave out 'start'",
            )

    def results(self, name: str, solved: Program, arguments: Mapping[str, Type]) -> dict[str, Type]:
        """``name.strategy``, ``name.objective``, and by their names what it chooses and its multipliers."""
        sizes = self.sizes(solved, arguments)

        def here(d: Declaration) -> Type:
            dims = tuple(_translate(dim, sizes, f"?{name}.") for dim in d.dims)
            return declared_type(replace(d, dims=dims), Curvature.CONSTANT)

        found = {f"{name}.{m.key}": here(m.declaration) for m in solved.multipliers}
        found |= {f"{name}.{d.name}": here(d) for d in solved.choose}
        # Its strategy has as many rows as the program needs, and a column per cell.
        columns = cells(self.program) or Dim.of("?cells")
        found[f"{name}.strategy"] = matrix(Dim.of(f"?rows({name}.strategy)"), columns)
        found[f"{name}.objective"] = SCALAR
        return found

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
    """What can be passed to a program and has a declared shape."""
    return [*program.givens, *(p.declared for p in program.parameters if p.declared is not None)]


def _translate(dim: Dim, sizes: Mapping[str, Dim], unknown: str) -> Dim:
    total = Dim.of(0)
    for monomial, coefficient in dim.terms:
        product = Dim.of(coefficient)
        for name in monomial:
            product = product * sizes.get(name, Dim.of(unknown + name))
        total = total + product
    return total
