"""A strategy from anywhere becomes a point of a program, by its section ``from strategy``."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.accepted_options_and_inputs import checked_strategy, norm_of, open_strategy
from mmopt.errors import OptionError
from mmopt.language import Program, evaluate, program_names
from mmopt.language.syntax.syntax_tree import Adoption, Assignment
from mmopt.numerics.arrays import Array
from mmopt.strategies import Strategy
from mmopt.workloads import Workload


def adopting_programs(norm: int | None = None) -> list[str]:
    """The shipped programs with 'from strategy', first those whose strategies are for total error."""
    able = [p for p in map(Program.load, program_names()) if p.adoption and norm in (None, p.meaning.norm)]
    return [p.name for p in sorted(able, key=lambda p: (p.bound != "l2_strategy", p.name))]


def _adoption(program: Program) -> Adoption:
    """The section of a program that makes a strategy its point; OptionError without one."""
    if program.adoption is None:
        raise OptionError(
            f"'{program.name}' has no section 'from strategy', which says how a strategy becomes its point",
            hint=f"these have one: {', '.join(adopting_programs())}",
        )
    return program.adoption


def check_adopts(program: Program, norm: int | None) -> None:
    """Refuse a program that cannot take a strategy, or takes one of another norm (None: any)."""
    _adoption(program)
    if norm not in (None, program.meaning.norm):
        able = ", ".join(adopting_programs(norm)) or "none that is shipped"
        raise OptionError(
            f"'{program.name}' is about strategies of norm {program.meaning.norm}, this one has norm {norm}",
            hint=f"for norm {norm}: {able}",
        )


def row_parameter(program: Program, strategy: Strategy) -> dict[str, int]:
    """The strategy's number of rows, where that is a parameter of the program."""
    rows = _adoption(program).strategy.dims[0].name
    return {p.name: strategy.p for p in program.parameters if p.name == rows}


def adopt(instance: Instance, strategy: Strategy) -> dict[str, Array]:
    """The chosen variables by 'from strategy'; those that only the repair sets are zero.

    Raises
    ------
    OptionError : the strategy has another number of rows than in the program.
    """
    program, sizes = instance.program, instance.sizes()
    adoption = _adoption(program)
    rows = adoption.strategy.dims[0]
    if rows.symbols <= set(sizes) and rows.value(sizes) != strategy.p:
        raise OptionError(
            f"the strategy has {strategy.p} rows; {rows} is {rows.value(sizes)} in '{program.name}'"
        )
    env: dict[str, Any] = {**instance.env, adoption.strategy.name: strategy.matrix}
    if rows.name:
        env[rows.name] = strategy.p
    values = {n: np.asarray(v, dtype=float) for n, v in assigned_values(adoption.values, env).items()}
    for d in program.choose:
        values.setdefault(d.name, np.zeros(d.shape(sizes)))
    return values


def assigned_values(assignments: Iterable[Assignment], env: Mapping[str, Any]) -> dict[str, Any]:
    """The values of assignments; a later one may use an earlier one."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        values[assignment.name] = evaluate(assignment.expr, {**env, **values})
    return values


def start_strategy(
    start: Any, program: Program, workload: Workload, overrides: Mapping[str, Any]
) -> Strategy:
    """The strategy that ``solve(start=...)`` names.

    Raises
    ------
    OptionError : a program without 'from strategy'; ``starts`` or ``seed`` with ``start``; a strategy of
        another norm or number of cells, or that does not support the workload.
    """
    for option in ("starts", "seed"):
        if option in overrides:
            raise OptionError(f"'{option}' has no effect with 'start': the search starts from there alone")
    norm = program.meaning.norm
    given = open_strategy(start, workload, norm)
    check_adopts(program, norm_of(given))
    return checked_strategy(workload, given, None, None, norm)
