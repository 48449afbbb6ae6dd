"""The path of one program from its text to its answer, as a tree to show, with sizes and seconds.

The text; its constraints with curvature and rule; the data; reductions; the stages of the solve: solvers
with scaling and cones, points, rounds of a search, repair; the evaluation. All of it is read off the solution
and what ``explain`` knows: nothing is solved here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
from rich.tree import Tree

from mmopt.driver.judge.derived_bound import Derived
from mmopt.driver.judge.score_and_meaning import FEASIBLE, multiplier_as_declared, named_multipliers
from mmopt.errors import Error, SolverError, counted
from mmopt.language import (
    Number,
    Program,
    check,
    evaluate,
    infer,
    plain_words,
    shipped,
)
from mmopt.numerics.arrays import FEW, few_numbers
from mmopt.numerics.component_arrays import Level, as_value, each_array
from mmopt.proof.recheck import Recheck
from mmopt.report.explain import explain
from mmopt.report.explain.explained_facts import QUADRATIC, Facts, NodeFacts, formula_of, plain_data
from mmopt.report.explain.explanation_html_and_mathml import article, page
from mmopt.report.explain.explanation_text_and_latex import captured
from mmopt.report.solution_and_comparison_tables import history_text
from mmopt.report.table_style import bold, few, figure
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Solution
from mmopt.results.saved_fields import Value
from mmopt.results.solution_rows_and_json import few_steps, finite, levels
from mmopt.strategies import Strategy
from mmopt.workloads import Workload

__all__ = ["Trace", "trace", "trace_to_failure"]

# Rows of a solution that the evaluation computes, whatever a solver says.
JUDGED = (
    *("objective", "bound", "derived bound", "gap", "total error", "error bound", "error gap"),
    *("sensitivity", "privacy cost", "warning"),
)
FIGURES = (  # the same as numbers, with how each is known
    *("objective", "objective_grade", "bound", "bound_grade", "derived_bound", "derived_grade"),
    *("gap", "gap_grade", "error", "error_grade", "error_bound", "error_bound_grade"),
    *("error_gap", "error_gap_grade", "sensitivity", "privacy_cost"),
)
WORDS = {  # for keys of a saved solution: its scales and the figures of its stages
    "queries": "the norm of W / √n",
    "targets": "a privacy cost near 1",
    "missed before": "largest violation before",
    "missed after": "after",
    "it says": "solver status",
    "takes": "gets",
    "solving by its own clock took": "solving took, by the solver's clock,",
}
UNNAMED = ("stage", "name", "seconds", "certified")  # of a stage, what is no line below it
SIZES_OF_RESIDUAL, ENDS = (
    ("residual's norm", "its largest entry"),
    ("range from", "to"),
)  # where entries are shown
ENTRIES_SHOWN = 16  # of eigenvalues or of a direction; of more the first and the last
NO_OBJECTIVE = "no objective: no repaired point is feasible with the error that it states"
ROUNDS_SHOWN = (3, 2)  # of the best start, the first and the last
VIOLATION = (
    f" (violation: relative to the terms of the constraint; up to {FEASIBLE:.0e} counts as satisfied; "
    "if the terms are near zero, how far the point was moved)"
)
ONE_CELL = Workload.from_matrix([[1.0]])  # of a program that is solved for no workload


@dataclass(frozen=True)
class Trace:
    """A node of the tree: words, the seconds that it took where they are known, and its figures."""

    name: str
    words: str = ""
    seconds: float | None = None
    nodes: tuple["Trace", ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    summary = plain_data  # one JSON object

    def __rich__(self) -> Tree:
        took = "" if self.seconds is None else f"  {self.seconds:.3f} s"
        tree = Tree(bold(self.name).append(took, "not bold cyan").append(f"  {self.words}", "not bold"))
        tree.children = [node.__rich__() for node in self.nodes]
        return tree

    def __str__(self) -> str:
        return captured([self], 100)

    def html(self) -> str:
        """A whole HTML page, its branches to be opened and closed: no scripts, nothing from elsewhere."""
        return page(self.name, self._repr_html_())

    def _repr_html_(self) -> str:
        return article(['<ul class="tree">', self._item(2), "</ul>"])

    def _item(self, opened: int) -> str:
        """An HTML list item with the nodes below it; so many levels are open."""
        took = "" if self.seconds is None else f' <span class="affine">{self.seconds:.3f} s</span>'
        words = f'<span class="words">{escape(self.words)}</span>'
        line = f"<b>{escape(self.name)}</b>{took} {words}"
        inside = "".join(node._item(opened - 1) for node in self.nodes)
        is_open = " open" * (opened > 0)
        below = f"<details{is_open}><summary>{line}</summary><ul>{inside}</ul></details>"
        return f"<li>{below if inside else line}</li>"


def trace(solution: Solution, workload: "WorkloadLike | None" = None) -> Trace:
    """The path from the program's text to the solution, as a tree that prints.

    Parameters
    ----------
    solution : also a saved one. Solved with ``history=True`` it has the direction of each round of a rank
        heuristic.
    workload : as for ``solve``; it adds the numbers that were filled in.

    Raises
    ------
    ResultError : the workload is not that of the solution.
    """
    s, queries = solution, None if workload is None else as_workload(workload)
    queries = ONE_CELL if queries is None and s.workload_hash == ONE_CELL.hash else queries
    rows: dict[Any, Mapping[str, Any]] = {row["stage"]: row for row in s.stages}
    figures = {name: value for name, value in s.summary().items() if name in FIGURES}
    judged = tuple(_judged(name, text, figures, s, queries) for name, text in s.rows() if name in JUDGED)
    judge = Trace(
        "evaluation",
        "of the strategy" if s.template else "at the repaired point",
        rows.get("figures", {}).get("seconds"),
        judged,
        figures,
    )
    if s.template:
        return Trace(
            f"template {s.template}",
            "only its evaluation is shown",
            s.seconds["total"],
            (judge,),
        )
    facts = explain(Program.parse(s.program_text), queries, None, s)
    steps = {
        name: trace(step, queries if queries and step.workload_hash == queries.hash else None)
        for name, step in few_steps(s).items()
    }
    others = [step for name, step in s.steps.items() if name not in steps]
    gets = " ".join(str(row["gets"]) for row in s.stages if "gets" in row)
    nodes = (
        *_before_solving(s.program_text, facts, rows, s.reductions, gets),
        *([_left_out(others, len(s.steps))] if others else []),
        *(Trace(f"step {name}", nodes=(step,)) for name, step in steps.items()),
        *_stages(s.stages, s),
        judge,
    )
    return Trace(s.program, f"{s.title or 'no title'}; {s.status.stop}", s.seconds["total"], nodes)


def _left_out(steps: Sequence[Solution], count: int) -> Trace:
    """Steps that are not shown: how many solves of which programs, and their seconds."""
    solves = ", ".join(
        f"{number:,} of {program}" for program, number in Counter(s.program for s in steps).items()
    )
    words = f"{count:,} solves; the last of each step is shown below; not shown: {solves}"
    return Trace("steps", words, sum(s.seconds["total"] for s in steps), facts={"left out": len(steps)})


def trace_to_failure(
    program: str | Program, workload: Workload | None, givens: Mapping[str, Any] | None, error: Error
) -> Trace:
    """The path from the text to what a solver would get, as far as it goes, and the error.

    Of a program that cannot be read or whose names and shapes do not fit, the error alone.
    """
    no_point = error if isinstance(error, SolverError) else SolverError("")
    proof = (
        *_figures(no_point.terms),
        *(
            _entries(f"{what} {name}", y)
            for what, values in (
                ("multiplier", no_point.multipliers),
                ("nearby point", no_point.near),
                ("direction of", no_point.direction),
            )
            for name, y in values.items()
        ),
    )
    failed = Trace("error", str(error), None, proof)
    try:
        parsed = program if isinstance(program, Program) else Program.load(program)
        facts = explain(parsed, workload, givens)
    except Error:
        return Trace(getattr(program, "name", str(program)), "no solution", None, (failed,))
    solver = [
        Trace(
            "solver",
            compiled.choice or compiled.refusal,
            None,
            tuple(
                Trace(
                    c.kind,
                    f"{c.count:,} of size {c.size:,}, {c.origin}",
                    facts={"count": c.count, "size": c.size},
                )
                for c in (compiled.sizes.cones if compiled.sizes else ())
            ),
            plain_data(compiled.matrix) or {},
        )
        for compiled in [facts.compiled]
        if compiled
    ]
    gets = "quadratic" * bool(solver and solver[0].nodes)
    reductions = facts.compiled.reductions if facts.compiled else ()
    done = tuple(_stages(no_point.stages)) or solver
    nodes = (*_before_solving(parsed.text, facts, {}, reductions, gets), *done, failed)
    return Trace(parsed.name, f"{parsed.title or 'no title'}; no solution", None, nodes)


def _before_solving(
    text: str, facts: Facts, rows: Mapping[str, Mapping[str, Any]], reductions: Sequence[str], gets: str
) -> Iterator[Trace]:
    """Text, lines, numbers and reductions.

    rows : the stages by name. gets : what conic solvers got, in words, "" where none did.
    """
    statements = (
        Trace(x.label or "and", f"{x.formula.plain}   {plain_words(x.words)}") for x in facts.statements
    )
    size = f"{len(text.splitlines())} lines, class {facts.problem_class}"
    yield Trace("text", "; ".join(filter(None, [size, facts.cite])), nodes=tuple(statements))
    yield Trace(
        "checked",
        "before any data are known"
        if facts.lines
        else "a procedure: the constraints of its steps are checked",
        rows.get("check", {}).get("seconds"),
        tuple(_lines(gets, facts)),
        {"lines": len(facts.lines), **_surveyed(*(side for line in facts.lines for side in line.sides))},
    )
    if (compiled := facts.compiled) is not None:
        yield Trace(
            "instance",
            "; ".join([compiled.workload, *(f"{name} = {size:,}" for name, size in compiled.dims)]),
            nodes=tuple(
                Trace(g.name.plain, f"{g.shape}, {g.origin}: {g.figures}", facts=g.numbers)
                for g in compiled.givens
            ),
            facts={**compiled.counts, "sizes": dict(compiled.dims)},
        )
    by = tuple(Trace("by", line) for line in reductions)
    plan = {"seconds": None, **rows.get("plan", {})}
    sizes = {"reductions": len(by), **{name: value for name, value in plan.items() if name not in UNNAMED}}
    yield Trace("reductions", "" if by else "none", plan["seconds"], by, sizes)


def _lines(gets: str, facts: Facts) -> Iterator[Trace]:
    """Each constraint with the curvature of its sides and the rule; where a solver got them, the cones of
    each constraint and variable.
    """
    handed = {h.name: h.how for h in facts.compiled.handed} if facts.compiled and gets else {}
    for line in facts.lines:
        sides = [_node(side) for side in line.sides]
        # Another solver than the one that is explained may have got the objective in cones.
        cones = [
            Trace("solver gets", words)
            for words in map(plain_words, handed.pop(line.name, ()))
            if not words.startswith(QUADRATIC) or "quadratic" in gets
        ]
        yield Trace(line.name, line.formula.plain, None, (*sides, *cones))
    for name, how in handed.items():  # what is chosen
        yield Trace(name, "variable", nodes=tuple(Trace("solver gets", plain_words(words)) for words in how))


def _node(node: NodeFacts, depth: int = 4) -> Trace:
    """A node of an expression with those below it, down to a depth and to what is affine."""
    parts = () if node.curvature in ("affine", "constant") else node.parts
    below = [_node(part, depth - 1) for part in parts] if depth else [Trace("…")] * bool(parts)
    words = ", ".join(filter(None, (node.shape, node.sign, node.rule)))
    return Trace(
        "cause: " * node.blamed + node.curvature + " ⪯" * bool(node.order),
        f"{node.formula.plain}   {words}",
        None,
        tuple(below),
        {"curvature": node.curvature, "sign": node.sign or "any", "shape": node.shape, **_surveyed(node)},
    )


def _surveyed(*sides: NodeFacts) -> dict[str, Any]:
    """How many nodes expressions have, and how many of these are of each curvature and sign."""
    nodes = list(sides)
    for node in nodes:  # those below it are appended, and have their turn
        nodes += node.parts
    return {
        "nodes": len(nodes),
        "curvatures": dict(Counter(node.curvature for node in nodes)),
        "signs": dict(Counter(node.sign or "any" for node in nodes)),
    }


def _judged(
    name: str, text: str, figures: Mapping[str, Any], solution: Solution, queries: Workload | None
) -> Trace:
    """A figure of the evaluation; below a bound what it was computed from, below a gap its formula."""
    key = {"total error": "error"}.get(name, name.replace(" ", "_"))
    facts = {one: value for one, value in figures.items() if one in (key, f"{key}_grade")}
    # One in factors is the product of theirs, each with multipliers of its own.
    is_bound = key in ("bound", "derived_bound") and facts.get(key) is not None and not solution.is_in_factors
    below: list[Trace] = []
    if is_bound and facts[key] == solution.derived_bound:  # kept with it
        below = [*_figures(row for row in solution.stages if row["stage"] == "term")]
    elif is_bound:
        below = [*_certificate(solution, queries)]
    elif key == "objective":
        below = [_entries(f"at {name}", value) for name, value in solution.variables.items()]
    elif key == "gap" and solution.gap is not None:
        worse, better = ("objective", "bound") if solution.sense == "minimize" else ("bound", "objective")
        ratio = f"{worse} - {better}" if solution.is_logarithmic else f"{worse} / {better} - 1"
        of_each = ", of each step" * bool(solution.steps and not solution.is_in_factors)
        requested = Trace("requested", f"{finite(solution.options.get('tolerance'))}{of_each}")
        kind = "" if solution.is_logarithmic else solution.kind_of_gap
        below = [Trace("formula", f"{kind or ratio}, rounded up"), requested]
    below += _multipliers(solution, facts[key]) if is_bound else ()
    return Trace(name, text, None, tuple(below), facts)


def _figures(terms: Iterable[Mapping[str, Any]]) -> Iterator[Trace]:
    """The terms of a bound, a line each."""
    for row in terms:
        left_out = {*UNNAMED, *(SIZES_OF_RESIDUAL if "residual" in row else ()), *ENDS}
        shown = (f"{name} {_shown(name, value)}" for name, value in row.items() if name not in left_out)
        facts = {name: finite(value) for name, value in row.items()}
        yield Trace(str(row["name"]), ", ".join(shown), facts=facts)


def _certificate(solution: Solution, queries: Workload | None) -> Iterator[Trace]:
    """The numbers in the certificate of a bound at the multipliers, where the workload is known."""
    s, checked = solution, check(Program.parse(solution.program_text))
    if checked.program.bound == "l2_strategy" and isinstance(s.strategy, Strategy):
        s = replace(s, givens={}, multipliers={"sensitivity": s.error_multipliers})
        checked = shipped("l2_strategy")
    if queries is None or (certificate := checked.program.certificate) is None:
        return
    work, parts = Recheck(s, queries), [certificate.expr]
    for expr in parts:  # those below it are appended, and have their turn
        parts += [part for part in getattr(expr, "args", ()) if infer(part, checked.scope).is_scalar]
    if (instance := work.instance(checked)) is not None:  # its solution has the values by component
        env = {**instance.env, **named_multipliers(instance, work.solution.multipliers)}
        each = {
            formula_of(expr, checked.scope).plain: float(evaluate(expr, env))
            for expr in parts
            if not isinstance(expr, Number)
        }
        yield from (Trace(formula, f"= {y:.10g}", facts={"value": y}) for formula, y in each.items())


def _multipliers(solution: Solution, bound: float) -> Iterator[Trace]:
    """The multipliers of a bound, in their cones, as they enter it; none of a 0 that a sign may prove."""
    s, program = solution, Program.parse(solution.program_text)
    objective, is_shared = check(program).objective, program.bound == "l2_strategy"
    if bound == 0 and objective is not None and objective.sign == (1 if s.sense == "minimize" else -1):
        return
    derived = {f"of {line}": y for line, y in Derived(None, saved=s.derived_from).multipliers.items()}
    is_derived = bound == s.derived_bound and not is_shared
    if is_derived:
        yield Trace(
            "multipliers",
            "as used in the bound; those of the solver, which explain shows, may differ slightly"
            if any(y.any() for y in derived.values())
            else "all zero: ranges of the variables alone prove the bound",
        )
        for name in (c.name for c in program.constraints if f"of {c.name}" not in derived):
            yield Trace(f"multiplier of {name}", "0: the constraint is used in the ranges only")
    values = {"sensitivity": s.error_multipliers} if is_shared else s.multipliers
    certified = {
        f"of {m.key}" if m.dual_of else m.key: each_array(
            as_value(values[m.key]), partial(multiplier_as_declared, m.declaration)
        )
        for m in (Program.load("l2_strategy") if is_shared else program).multipliers
        if m.key in values
    }
    for name, value in (derived if is_derived else certified).items():
        yield _entries(f"multiplier {name}{' of l2_strategy' * is_shared}", value)


def _entries(name: str, value: Value) -> Trace:
    """A value, such as a multiplier: its entries where they are few, else what is known of them."""
    words, facts = "by component", dict[str, Any]()
    if isinstance(value, np.ndarray) and value.size <= FEW:
        words, facts = few_numbers(value), {"entries": value.size, "values": value.tolist()}
    elif isinstance(value, np.ndarray | Level):
        y, often = (np.ravel(part) for part in levels(value))
        facts = {
            "entries": int(often.sum()),
            "norm": float(np.linalg.norm(y * np.sqrt(often))),
            "least": float(y.min()),
            "largest": float(y.max()),
        }
        words = ", ".join(f"{what} {figure(number)}" for what, number in facts.items())
    return Trace(name, words, facts=facts)


def _stages(stages: Sequence[Mapping[str, Any]], solution: Solution | None = None) -> Iterator[Trace]:
    """Every solver with what it got, every point, round and repair, in their order."""
    scales = ", ".join(
        f"{name} ÷ {figure(value, 3)} ({WORDS[name]})"
        for name, value in (solution.scaling if solution else {}).items()
        if value != 1.0
    )
    first_repair = next((row for row in stages if row["stage"] == "repair"), None)
    for row in stages:
        if (stage := row["stage"]) not in ("check", "plan", "figures", "term"):
            facts: dict[str, Any] = {name: finite(value) for name, value in row.items()}
            handed = {name[5:]: value for name, value in facts.items() if name.startswith("gets ")}
            shown = {
                WORDS.get(name, name.replace(" moved by part", ": relative change (Frobenius norm)")): _shown(
                    name, value
                )
                for name, value in facts.items()
                if name not in UNNAMED and name[5:] not in handed
            }
            is_solver = stage in ("solver", "kernel")
            above, below = ({}, shown) if is_solver else (shown, {})
            scaled = {"scaling": scales} if stage == "solver" and scales else {}
            named = [facts["name"]] if "name" in facts else []
            words = ", ".join([*named, *(f"{name} {text}" for name, text in above.items())])
            words += VIOLATION * (stage == "repair" and row is first_repair)
            nodes = (
                *(
                    Trace(*pair, facts=handed if pair[0] == "gets" else {})
                    for pair in (scaled | below).items()
                ),
                *(_rounds(solution) if solution and is_solver else ()),
            )
            yield Trace(str(stage), words, facts.get("seconds"), nodes, facts)


def _rounds(solution: Solution) -> Iterator[Trace]:
    """The rounds of a search by start: a line each, and of the best the first and the last rounds."""
    sign = 1.0 if solution.sense == "minimize" else -1.0
    searched = (row for row in solution.history if "certified" not in row)
    starts = [[*rows] for _, rows in groupby(searched, key=lambda row: (row.get("part"), row.get("start")))]
    reached = [
        min((sign * row["objective"] if "objective" in row else np.inf) for row in rows) for rows in starts
    ]
    for rows, value in zip(starts, reached, strict=True):
        below = [_round(row) for row in rows]
        best = f"best objective {figure(sign * value)}" if abs(value) < np.inf else NO_OBJECTIVE
        words = f"{counted(len(rows), 'round')}, {best}; last: {below[-1].words}"
        if len(rows) > sum(ROUNDS_SHOWN):
            below[ROUNDS_SHOWN[0] : -ROUNDS_SHOWN[1]] = [Trace("…", f"{len(rows) - sum(ROUNDS_SHOWN)} more")]
        shown = tuple(below) * (value == min(reached))
        yield Trace(f"start {rows[0]['start']}", words, None, shown, {"rounds": [dict(row) for row in rows]})


def _round(row: Mapping[str, float | bool]) -> Trace:
    """A round of a search, with the direction and the eigenvalues that came of it where it has these."""
    named = {name: value for name, value in row.items() if not (name[-1].isdigit() or name == "start")}
    words = ", ".join(f"{name} {figure(value, 3)}" for name, value in named.items())
    words += f", {NO_OBJECTIVE}" * ("residual" in row and "objective" not in row)
    names = {"direction": "direction D, its upper triangle by rows", "eigenvalue": "eigenvalue"}
    entries = {
        shown: [figure(value, 3) for name, value in row.items() if name.startswith(f"{word} ")]
        for word, shown in names.items()
    }
    nodes = (Trace(name, few(values, "  ", ENTRIES_SHOWN)) for name, values in entries.items() if values)
    return Trace("round", words, None, tuple(nodes), row)


def _shown(name: str, value: float | str | None) -> str:
    """A figure of a stage, to the nearest: only those of the evaluation are rounded to their safe side."""
    if isinstance(value, str) or value is None:
        return value or "-"
    if name == "value":  # one to add up
        return f"{value:.16g}"
    return f"{value:.3f} s" if name.endswith(" took") else history_text(name, value, None)
