"""Warnings and remarks on a solve: why it ended early, and how certain its objective is."""

import numpy as np

from mmopt.compiler import Instance, cones, is_shipped, units_of
from mmopt.driver.judge.assemble_solution import Ending
from mmopt.driver.judge.score_and_meaning import upper_value
from mmopt.driver.judge.violations_and_nearby_points import violations, worst_line
from mmopt.language import evaluate
from mmopt.language.evaluate.constraint_misses import excess_with_errors
from mmopt.language.evaluate.number_systems import splits
from mmopt.numerics.component_arrays import plain
from mmopt.numerics.outward import rounded
from mmopt.reasons_to_stop import Stop
from mmopt.results import Solution
from mmopt.solvers import SOLVERS, Options, SolverRow, missing_cones

# A violation of the solver's point below this is not reported: the repair charges it.
VIOLATION_TO_TELL = 1e-4


def unscaled_warning(instance: Instance) -> tuple[str, ...]:
    """In words, the line that keeps the program from being scaled; nothing when it was."""
    line = units_of(instance)
    if not isinstance(line, str):
        return ()
    where = "the objective" if line == "objective" else f"'{line}'"
    return (
        f"the lines of the program agree on no units, so it was not scaled: {where} is the first that does "
        "not scale with those before it (numbers added to givens, or powers that do not match)",
    )


def stopped_early(instance: Instance, ending: Ending, gap: float) -> tuple[str, ...]:
    """In words, why the solve ended before its tolerance and what to change; nothing for other stops.

    gap : at the end, after all that was done for a bound.
    """
    options, (solver, _), stop = ending.options, ending.solver, ending.stop
    assert isinstance(options, Options)
    tolerance, others, values = f"{options.tolerance:.0e}", "another formulation", ending.unrepaired
    if stop == Stop.MISSED and not splits(instance.env):  # no other solver works by component
        names = [able.name for able in able_solvers(instance) if able.name != solver]
        others = f"another solver ({', '.join(names)})" if names else others
    reached = (
        f"the gap is {rounded(gap, 2, up=True, layout='e')}, {tolerance} was asked for"
        if np.isfinite(gap)
        else f"a gap of {tolerance} was not reached"  # a bound of another program may come later
    )
    limit = "" if options.max_iterations is None else f" of {options.max_iterations}"
    texts: dict[str, str] = {
        Stop.TIME: f"stopped at the time limit of {options.time_limit:g} s: {reached}; allow more time",
        Stop.ITERATIONS: f"stopped at the iteration limit{limit}: {reached}; allow more",
        Stop.INTERRUPTED: f"interrupted: {reached}; let it run longer",
        Stop.MISSED: f"{solver} got no further: {reached}; try {others}",
    }
    if stop not in texts:
        return ()
    wider = f", or ask for a tolerance of {rounded(max(gap, 1e-15), 1, up=True, layout='e')}"
    text = texts[stop] + wider * (gap < 0.5)
    line = worst_line(instance, plain(values)) if values else None  # none: the time was over before a point
    if line is not None and line.amount > VIOLATION_TO_TELL:
        text += f"; before its repair the point missed {line.text(instance)} by {line.amount:.1e}"
    return (text,)


def able_solvers(instance: Instance) -> list[SolverRow]:
    """The installed solvers that have the cones."""
    needed = cones(instance.checked, instance.sizes())
    return [row for row in SOLVERS if row.is_installed and not missing_cones(row, needed)]


SMALLEST_MISS_TOLD = 1e-13  # relative: a smaller miss is the rounding of a sum
MOST_NAMED = 3  # lines


@np.errstate(all="ignore")
def objective_remarks(instance: Instance, solution: Solution) -> list[str]:
    """Remarks on the objective of a user's convex program: its charge, or else why it is only estimated.

    Empty for a shipped program, whose repair keeps its lines, and by component.
    """
    program, checked = instance.program, instance.checked
    if is_shipped(checked) or splits(instance.env) or program.problem_class != "convex":
        return []
    env = {**instance.env, **plain(solution.variables)}
    value, misses = float(evaluate(program.objective, env)), "the rounding of its value or of a line"
    if missed := [v for v in violations(instance, env) if v.amount > 0]:
        line, by = missed[0].text(instance), rounded(missed[0].amount, 2, up=True, layout="e")
        misses = f"misses of {line} (by {by}, relatively, times its multiplier)"
    charge = abs(solution.objective - value)
    if charge > float(solution.options.get("tolerance") or 1e-6) * max(1.0, abs(value)):
        most = rounded(charge, 3, up=True)
        return [f"the objective is {value:.6g} at the point, and charged {most} for {misses}"]
    is_uncharged = solution.solver == "given" and not solution.multipliers
    if is_uncharged and missed and missed[0].amount > SMALLEST_MISS_TOLD:
        return [
            f"the point misses {line} by {by}, relatively, which is taken for rounding: without multipliers "
            "nothing is charged for it, and the objective may be better than the optimum"
        ]
    # A strategy is judged by its total error, which has a grade of its own.
    if solution.has_strategy or solution.objective_grade != "estimated":
        return []
    unsure = [c for c in program.constraints if excess_with_errors(c, env) > 0.0]
    if equations := [c.name for c in unsure if c.relation.op == "=="]:
        return [
            f"the objective is estimated, as {_lines_named(equations)} holds up to rounding only; where '<=' "
            "or '>=' means the same, it could be proved"
        ]
    if unsure:
        others = _lines_named([c.name for c in unsure])
        return [f"the objective is estimated: that {others} holds is known up to rounding only"]
    if not upper_value(program.objective, env)[1]:
        return ["the objective is estimated: no error bound is known of its evaluation"]
    return []


def _lines_named(lines: list[str]) -> str:
    """The first names of lines in quotes, and how many more there are."""
    rest = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in lines[:MOST_NAMED]) + rest
