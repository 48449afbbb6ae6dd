"""The way of one program from its text to its answer, as a tree to show: each node with its sizes and seconds.

The text; its lines with curvature and rule; the workload's numbers; reductions; the solvers with scaling,
cones, points and rounds; the repair; the judge. All of it is read off the solution and what ``explain``
knows: nothing is solved here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.tree import Tree

from mmopt.errors import counted
from mmopt.language import Program
from mmopt.language.typeset import plain_words
from mmopt.report.explain import explain
from mmopt.report.explain.explained_facts import Facts, plain_data
from mmopt.report.table_style import bold, few, figure, gap
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Solution, gap_between
from mmopt.results.solution_rows_and_json import few_steps, finite

Row = Mapping[str, Any]  # of ``Solution.stages`` or ``Solution.history``
# Rows of a solution that the judge computes, whatever a solver says.
JUDGED = ("objective", "bound", "derived bound", "gap", "total error", "error bound", "error gap")
JUDGED += ("sensitivity", "privacy cost", "warning")


@dataclass(frozen=True)
class Trace:
    """A node of the tree: words, the seconds that it took where they are known, and figures as recorded."""

    name: str
    words: str = ""
    seconds: float | None = None
    nodes: tuple["Trace", ...] = ()
    facts: Row = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        return dict(plain_data(self))

    def __rich__(self) -> Tree:
        took = "" if self.seconds is None else f"  {self.seconds:.3f} s"
        tree = Tree(bold(self.name).append(f"  {self.words}", "not bold").append(took, "not bold cyan"))
        tree.children = [node.__rich__() for node in self.nodes]
        return tree

    def __str__(self) -> str:
        console = Console(width=100, no_color=True, markup=False, highlight=False, emoji=False)
        with console.capture() as captured:
            console.print(self)
        return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def trace(solution: Solution, workload: WorkloadLike | None = None) -> Trace:
    """The way from the program's text to the solution, as a tree that prints.

    Parameters
    ----------
    solution : also a saved one. Solved with ``history=True`` it has the direction of each round of a rank
        heuristic.
    workload : as for ``solve``; it adds the numbers that were filled in.

    Raises
    ------
    ResultError : the workload is not that of the solution.
    """
    queries = None if workload is None else as_workload(workload)
    stages = {row["stage"]: row for row in solution.stages}
    rows = tuple(Trace(name, text) for name, text in solution.rows() if name in JUDGED)
    judge = _node("judge", "the program's text at the repaired point", stages.get("figures"), rows)
    if solution.template:
        return Trace(f"template {solution.template}", "no program", solution.seconds["total"], (judge,))
    facts = explain(Program.parse(solution.program_text), queries, None, solution)
    same = [
        queries if queries and s.workload_hash == queries.hash else None for s in few_steps(solution).values()
    ]
    steps = zip(few_steps(solution).items(), same, strict=True)
    reductions = tuple(Trace(*text.split(": ", 1)) for text in solution.reductions)
    return Trace(
        solution.program,
        f"{solution.title}; {solution.status.stop}" if solution.title else solution.status.stop,
        solution.seconds["total"],
        (
            _text(solution, facts),
            _node(
                "checked", "before any number is known", stages.get("check"), tuple(_lines(solution, facts))
            ),
            *_instance(facts),
            _node("reduced", "" if reductions else "by no exact reduction", stages.get("plan"), reductions),
            *(Trace(f"step {name}", nodes=(trace(step, w),)) for (name, step), w in steps),
            *_solvers(solution),
            judge,
        ),
    )


def _node(name: str, words: str, row: Row | None, nodes: tuple[Trace, ...] = ()) -> Trace:
    """A node with the seconds and figures of a stage, where it is recorded."""
    facts = {key: finite(value) for key, value in (row or {}).items() if key != "stage"}
    return Trace(name, words, (row or {}).get("seconds"), nodes, facts)


def _text(solution: Solution, facts: Facts) -> Trace:
    """The lines as written, typeset."""
    lines = solution.program_text.count("\n")
    listed = (Trace(s.label, f"{s.formula.plain}   {plain_words(s.words)}") for s in facts.statements)
    return Trace("text", f"{lines} lines, class {facts.problem_class}; {facts.cite}", nodes=tuple(listed))


def _lines(solution: Solution, facts: Facts) -> Iterator[Trace]:
    """Each line with the curvature of its sides and the rule; and its cones, where a solver got them."""
    got_cones = any("cones" in row for row in solution.stages)
    handed = {h.name: h.how for h in (facts.compiled.handed if facts.compiled and got_cones else ())}
    for line in facts.lines:
        sides = [
            Trace(side.curvature, f"{side.formula.plain}   {side.rule}")
            for side in line.sides
            if side.curvature != "constant"
        ]
        cones = [Trace("handed over", plain_words(how)) for how in handed.get(line.name, ())]
        yield Trace(line.name, line.formula.plain, nodes=(*sides, *cones))


def _instance(facts: Facts) -> Iterator[Trace]:
    """The numbers that were filled in, where the workload is known."""
    if facts.compiled is not None:
        dims = ", ".join(f"{name} = {size:,}" for name, size in facts.compiled.dims)
        givens = (Trace(g.name.plain, f"{g.shape}, {g.origin}: {g.figures}") for g in facts.compiled.givens)
        yield Trace("instance", f"{facts.compiled.workload}; {dims}", nodes=tuple(givens))


def _solvers(solution: Solution) -> Iterator[Trace]:
    """Every solver in its turn with what it got and the points it gave; and what was done to its point."""
    points: list[Trace] = []
    rounds = tuple(_rounds(solution))
    if not any(row["stage"] == "solver" for row in solution.stages) and not solution.steps:
        words = f"{solution.status.raw}; {counted(solution.iterations or 0, 'iteration')}"
        yield Trace(solution.solver, words, solution.seconds["solve"], rounds)
    for row in solution.stages:
        part = f" of part {row['part']}" if "part" in row else ""
        if row["stage"] == "point":
            ratio = gap_between(row["objective"], row.get("bound"), solution.sense, solution.is_logarithmic)
            words = (
                f"objective {figure(row['objective'])}, bound {figure(row.get('bound'))}, gap {gap(ratio)}"
            )
            points.append(_node(f"point after {counted(row.get('iteration', 0), 'iteration')}", words, row))
        elif row["stage"] == "solver":
            words = "" if "word" not in row else f"says '{row['word']}'"
            words += "" if row.get("iterations") is None else f"; {counted(row['iterations'], 'iteration')}"
            kind = "solver" if "cones" in row else "kernel"
            yield _node(
                f"{kind} {row['solver']} {row['version']}{part}",
                words,
                row,
                (*_handed(solution, row), *points, *rounds),
            )
            points = []
        elif row["stage"] == "derive":
            yield _node("derived bound", "read off the program's lines", row)
        elif row["stage"] == "repair":
            moved = (
                Trace(name, f"by {value:.1e} of its size")
                for name, value in row.items()
                if name.startswith("moved ")
            )
            words = f"lines missed by {row['before']:.1e} before it, by {row['after']:.1e} after"
            yield _node(f"repair{part}", words, row, tuple(moved))


def _handed(solution: Solution, row: Row) -> Iterator[Trace]:
    """The scaling, the cones and the matrix of a conic solver."""
    if "cones" not in row:
        return
    scales = ", ".join(f"{name} × {figure(value, 3)}" for name, value in solution.scaling.items())
    yield Trace("scaling", scales or "none", row.get("scaling"))
    size = (
        f", {row['rows']:,} × {row['columns']:,} with {row['nonzeros']:,} nonzeros" if "rows" in row else ""
    )
    words = f"{row['cones']}; {counted(row['unknowns'], 'unknown')}{size}"
    yield Trace("cones", words, row.get("compiling"))


def _rounds(solution: Solution) -> Iterator[Trace]:
    """The rounds of a search by start, with eigenvalues and direction where it has these."""
    rows = (row for row in solution.history if "certified" not in row)
    for start, group in groupby(rows, key=lambda row: row.get("start", 0)):
        rounds = []
        for number, row in enumerate(group, 1):
            words = ", ".join(f"{name} {figure(value, 3)}" for name, value in row.items() if "[" not in name)
            entries = {
                word: [figure(v, 3) for name, v in row.items() if name.startswith(word)]
                for word in ("eigenvalue", "direction")
            }
            shown = (Trace(word, few(values, "  ", 16)) for word, values in entries.items() if values)
            rounds.append(Trace(f"round {number}", words, nodes=tuple(shown)))
        yield Trace(f"start {start:g}", counted(len(rounds), "round"), nodes=tuple(rounds))
