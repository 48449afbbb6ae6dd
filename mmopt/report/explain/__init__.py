"""A program explained: facts first (plain frozen data), then text, LaTeX or HTML made of them.

``explain`` gathers all facts of a program, with a workload and a solution where they are given. Nothing is
solved here.

- ``places_in_the_text.py``: where the nodes of a program stand in its text
- ``explained_facts.py``: the facts of a program as plain data, and those of its own text
- ``compiled_and_solved_facts.py``: a program as compiled for a workload, and its solution line by line
- ``explanation_sections.py``: an explanation arranged in sections of paragraphs, tables and trees
- ``explanation_text_and_latex.py``: these sections as text for a terminal, and as a LaTeX document
- ``explanation_html_and_mathml.py``: these sections as one HTML page, its formulas in MathML
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.driver.accepted_options_and_inputs import as_program, named_givens, why_workload, workload_for
from mmopt.driver.task_and_plan import SolvePlan, plan_instance, plan_solve
from mmopt.errors import ResultError
from mmopt.language import (
    Assignment,
    Program,
    Repeat,
    Step as AnyStep,
    SubProgram,
    Survey,
    evaluate,
    names_in,
    survey,
)
from mmopt.proof.saved_values_by_component import instance_by_component
from mmopt.report.explain.compiled_and_solved_facts import compiled_facts, compiled_in_factors, solved_facts
from mmopt.report.explain.explained_facts import (
    Facts,
    SolvedFacts,
    Step,
    about_words,
    bound_facts,
    line_facts,
    plain_data,
    repair_words,
    statements,
)
from mmopt.report.explain.explanation_html_and_mathml import as_fragment, page
from mmopt.report.explain.explanation_text_and_latex import as_latex, captured, renderables
from mmopt.report.explain.places_in_the_text import Places
from mmopt.report.program_tables_and_forecasts import given_rows
from mmopt.report.solution_and_comparison_tables import solved_workload
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Solution
from mmopt.strategies import Strategy, StrategyOfFew, as_dense
from mmopt.workloads import Workload

__all__ = ["Explanation", "Step", "explain", "solved_lines"]


class Explanation(Facts):
    """A program explained: as written, and, with a workload, as compiled; with a solution, as solved.

    ``print`` shows it as text; it shows as HTML in notebooks. ``text``, ``latex`` and ``html`` give whole
    documents, ``summary`` plain data for JSON.
    """

    def text(self, width: int = 100) -> str:
        """Plain text, wrapped at so many columns."""
        return captured(renderables(self, width), width)

    def latex(self) -> str:
        """A whole LaTeX document."""
        return as_latex(self)

    def html(self) -> str:
        """A whole HTML page in one piece: no scripts, nothing from elsewhere."""
        return page(self.title or self.name, as_fragment(self))

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        return dict(plain_data(self))

    def __repr__(self) -> str:
        return f"Explanation({self.name}: {self.title})"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return as_fragment(self)


def explain(
    program: str | Path | Program,
    workload: "WorkloadLike | None" = None,
    givens: Mapping[str, Any] | None = None,
    solution: Solution | None = None,
) -> Explanation:
    """Explain a program.

    Parameters
    ----------
    program : a shipped name, a path, or a parsed Program. Its names and shapes have to fit; a line that
        is not convex is shown with the node that is to blame.
    workload : as for ``solve``; it fills the givens in, and adds sizes, cones and forecasts. A program that
        asks nothing of a workload has these without one, where all that it is given is passed.
    givens : arrays by name, for givens without a source or in place of one; a baseline's name for its rows.
    solution : a solution of this program; it adds multipliers, and slack where sizes are known.

    Raises
    ------
    ProgramError : names or shapes that do not fit.
    OptionError, WorkloadError : the givens do not fit the program.
    ResultError : the solution is one of another program or workload.
    """
    parsed = as_program(program)
    queries = None if workload is None else as_workload(workload)
    surveyed = survey(parsed)
    is_filled = givens or ((solution or not parsed.givens) and not why_workload(parsed))
    if queries is None and is_filled:
        queries = workload_for(None, parsed)
    if solution is not None:
        _belongs(solution, parsed, None if workload is None else queries)
        givens = {**solution.givens, **(givens or {})}
    plan = None if queries is None else _planned(surveyed, queries, givens, solution)
    return _explained(surveyed, plan, solution)


def solved_lines(program: Program, workload: Workload, solution: Solution) -> SolvedFacts:
    """The figures and constraints of a solution of a program, as ``explain`` has them, and no more."""
    surveyed = survey(program)
    plan = _planned(surveyed, workload, solution.givens, solution)
    return solved_facts(surveyed.checked, solution, None if plan.factors else plan.instance)


def _planned(
    surveyed: Survey, workload: Workload, givens: Mapping[str, Any] | None, solution: Solution | None
) -> SolvePlan:
    """The plan of a solve; with a solution, the instance as it was solved."""
    if solution is not None and isinstance(solution.strategy, StrategyOfFew):
        instance = instance_by_component(solution, solution.strategy, surveyed.checked, workload)
        return SolvePlan(instance, "; ".join(solution.reductions))
    is_whole = solution is not None and isinstance(solution.strategy, Strategy)
    is_convex = all(line.fault is None for line in surveyed.lines)
    givens = named_givens(givens, surveyed.checked.written, workload)
    return plan_solve(surveyed.checked, workload, givens, reduce=is_convex and not is_whole)


def _belongs(solution: Solution, program: Program, workload: Workload | None) -> None:
    """ResultError unless the solution is of this program and workload."""
    # A program with other words or comments is the same program.
    hint = "explain the program that was solved, or solve this one"
    if solution.program != program.name:
        raise ResultError(f"the solution is of '{solution.program}', not of '{program.name}'", hint=hint)
    is_one = solution.program_text == program.text
    if not is_one and Program.parse(solution.program_text, "the saved program") != program:
        message = f"the solution is of another text of '{program.name}' than this one"
        raise ResultError(message, hint=hint)
    if workload is not None:
        solved_workload(solution, workload)


def _explained(surveyed: Survey, plan: SolvePlan | None, solution: Solution | None) -> Explanation:
    """The explanation of a program that is surveyed, with its plan for a workload where there is one."""
    program, places = surveyed.checked.program, Places(surveyed.checked.written)
    instance = compiled = None
    if plan is not None and plan.factors:
        compiled = compiled_in_factors(plan)
    elif plan is not None:
        instance = plan.instance
        compiled = compiled_facts(surveyed, instance, solution.reductions if solution else plan.lines)
    return Explanation(
        program.name,
        program.title,
        program.cite,
        program.problem_class,
        program.formulation_of,
        about_words(surveyed.checked),
        statements(surveyed.checked),
        given_rows(surveyed.checked),
        program.text,
        tuple(line_facts(surveyed.checked, each, places) for each in surveyed.lines),
        repair_words(program),
        bound_facts(surveyed.checked),
        _factors(surveyed, plan, solution) or _steps(program, instance, solution),
        compiled,
        solved_facts(surveyed.checked, solution, instance) if solution else None,
    )


def _factors(surveyed: Survey, plan: SolvePlan | None, solution: Solution | None) -> tuple[Step, ...]:
    """The factors of a product by attribute, equal ones once."""
    plans = {} if plan is None else plan.attributes
    steps = {} if solution is None else solution.steps
    return tuple(
        Step(", ".join(names), _explained(surveyed, part, steps.get(names[0])))
        for part, names in plans.items()
    )


def _steps(program: Program, instance: Instance | None, solution: Solution | None) -> tuple[Step, ...]:
    """The programs of the steps, with the numbers known before each step (or from the solution)."""
    env: dict[str, Any] = dict(instance.env) if instance else {}
    out: list[Step] = []
    for step in _in_order(program.steps):
        if isinstance(step, Assignment):
            if instance and names_in(step.expr) <= set(env):
                env[step.name] = evaluate(step.expr, env)
        elif step.name not in {earlier.name for earlier in out}:  # a block solves the same program again
            solved = solution.steps.get(step.name) if solution else None
            out.append(Step(step.name, _step(step, instance, env, solved)))
            if solved is not None:
                env[f"{step.name}.strategy"] = np.asarray(as_dense(solved.strategy).matrix)
                env[f"{step.name}.objective"] = solved.objective
    return tuple(out)


def _in_order(steps: Sequence[AnyStep]) -> Iterator[Assignment | SubProgram]:
    """The steps, those inside blocks once."""
    for step in steps:
        if isinstance(step, Repeat):
            yield from _in_order(step.steps)
        else:
            yield step


def _step(
    step: SubProgram, instance: Instance | None, env: Mapping[str, Any], solution: Solution | None
) -> Explanation:
    """The program of a step, with numbers where those of its arguments are known."""
    surveyed = survey(Program.load(step.program))
    inner: SolvePlan | None = None
    if instance and all(names_in(expr) <= set(env) for _, expr in step.arguments):
        arguments = {name: evaluate(expr, env) for name, expr in step.arguments}
        inner = plan_instance(bind(surveyed.checked, instance.workload, arguments), reduce=solution is None)
    return _explained(surveyed, inner, solution)
