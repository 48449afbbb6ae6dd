"""Programs side by side: certificates, strategies, baselines, what they took, why some were not solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group
from rich.table import Table

from mmopt.comparison import Factors, Outcome, Ranking, ranking, standards
from mmopt.comparison.ranking import best_first
from mmopt.report.baseline_tables import factors_legend, factors_tables
from mmopt.report.ranking_tables import ranking_legend, ranking_table
from mmopt.report.table_style import cell, clipped, figure, gap, left_out, memory, rows_table
from mmopt.results import Solution
from mmopt.strategies import ADD_REMOVE

__all__ = ["comparison_report", "in_groups"]


def comparison_report(
    outcomes: Sequence[Outcome], factors: Sequence[Factors] = (), ranked: Ranking | None = None
) -> Group:
    """What is best, then two tables with a row for each outcome that was tried, notes and what was left out.

    Where a privacy is stated, all that can be released there stands in one ranking, programs and baselines.
    Else strategies and baselines are in a table for each noise, as their errors have no common unit.

    In the other tables a program and its formulations, which must agree in objective and bound up to their
    gaps, stand together; so do the solvers and tolerances of one program.

    ranked : of the same outcomes and factors; by default at unit noise.
    """
    if ranked is None:
        ranked = ranking(outcomes, factors)
    ordered = in_groups(best_first(ranked, outcomes))
    tried = [o for o in ordered if o.was_tried]
    notes: dict[str, list[str]] = {}
    parts: list[object] = []
    if tried:
        work = _table("Work", ("off by", "compile", "solve", "iter.", "memory"), tried, outcomes, _work)
        title = "Certificates" if ranked.stated is None else "Certificates (objectives are at unit noise)"
        parts = [_certificates(title, tried, outcomes, notes), "", work]
    if ranked.stated is not None and ranked.places:
        parts = [ranking_table(ranked, lambda outcome: _only_name(outcome, outcomes)), "", *parts]
    elif any(o.solution for o in tried):
        names = {norm: _only_name(best, outcomes) for norm, best in standards(outcomes).items()}
        tables = [*_strategies(ranked, outcomes), *factors_tables(factors, names)]
        parts[1:1] = [part for table in tables for part in ("", table)]
    unranked = ((clipped(reason), _entry_name(entry, outcomes)) for reason, entry in ranked.left_out)
    remarks = (f"({i}) {', '.join(names)}: {said}" for i, (said, names) in enumerate(notes.items(), 1))
    programs = left_out("Left out:", ((o.reason, o.program) for o in ordered if not o.was_tried))
    beside = ((clipped(one.reason), one.name) for one in factors if one.reason)
    reasons = [*remarks, *left_out("Not ranked:", unranked), *programs]
    reasons += left_out("Baselines left out:", beside)
    about = factors_legend(factors) if ranked.stated is None else ranking_legend(ranked)
    sections = [reasons, [*about, *_legend(tried, ranked)]]
    lines = [line for section in sections if section for line in ("", *section)]
    shown = [*parts, *lines[0 if tried else 1 :]]
    return Group(*(cell(part) if isinstance(part, str) else part for part in shown))  # type: ignore[arg-type]


def in_groups(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of a program and its formulations together, in the order in which the first appears."""
    bases = list(dict.fromkeys(o.formulation_of or o.program for o in outcomes))
    names = list(dict.fromkeys(o.program for o in outcomes))

    def place(o: Outcome) -> tuple[int, bool, int]:
        return bases.index(o.formulation_of or o.program), bool(o.formulation_of), names.index(o.program)

    return sorted(outcomes, key=place)


def _entry_name(entry: Outcome | Factors, outcomes: Sequence[Outcome]) -> str:
    return _only_name(entry, outcomes) if isinstance(entry, Outcome) else entry.name


def _certificates(
    title: str, tried: Sequence[Outcome], outcomes: Sequence[Outcome], notes: dict[str, list[str]]
) -> Table:
    def cells(outcome: Outcome) -> tuple[object, ...]:
        solution, said = outcome.solution, outcome.reason
        figures = ("-", "-", "-")
        if solution is not None:
            grades = (("objective", solution.objective_grade), ("bound", solution.bound_grade))
            weaker = [
                f"{name} {grade}, not proved" for name, grade in grades if grade not in ("proved", None)
            ]
            to = solution.strategy.neighbours
            only = [f"figures are for neighbours {to}"] * (to != ADD_REMOVE)
            said = "; ".join([*only, *weaker, *solution.warnings])
            up = solution.sense == "minimize"
            bound = "no bound" if solution.bound is None else figure(solution.bound, up=not up)
            figures = (figure(solution.objective, up=up), bound, gap(solution.gap))
        status = cell(outcome.stop)
        if said:
            notes.setdefault(said, []).append(_name(outcome, outcomes))
            status.append(f" ({list(notes).index(said) + 1})")
        return (*figures, status)

    return _table(title, ("objective", "bound", "gap"), tried, outcomes, cells, "status")


def _strategies(ranked: Ranking, outcomes: Sequence[Outcome]) -> Iterator[Table]:
    """At unit noise: a table for each noise, the best first."""
    scaled = _is_scaled(outcomes)
    costs = {id(place.entry): place.cost for place in ranked.places} if ranked.by_cost else {}

    def cells(outcome: Outcome) -> tuple[object, ...]:
        solution = outcome.solution
        assert solution is not None
        value = [figure(solution.value)] * scaled
        cost = [figure(costs.get(id(outcome)), 4, up=True)] * ranked.by_cost
        return (*value, *cost, figure(solution.error, up=True), figure(solution.rmse, 4, up=True))

    numbers = (*["value"] * scaled, *["privacy cost"] * ranked.by_cost, "total error", "rmse")
    ordered = [o for o in best_first(ranked, outcomes) if o.solution]
    for noise in dict.fromkeys(o.noise for o in ordered):
        own = [o for o in ordered if o.noise == noise]
        yield _table(f"Strategies, {noise} noise", numbers, own, outcomes, cells)


def _work(outcome: Outcome) -> tuple[object, ...]:
    solution = outcome.solution
    figures = ["-", "-", "-", "-"]
    if solution is not None:
        took = (solution.seconds[name] for name in ("compile", "solve"))
        seconds = (f"{t:.2f} s" if t < 100 else f"{t:.0f} s" for t in took)
        figures = [
            gap(solution.status.violation),
            *seconds,
            str("-" if (n := solution.iterations) is None else n),
        ]
    return (*figures, "-" if outcome.memory is None else memory(outcome.memory))


def _table(
    title: str,
    numbers: Sequence[str],
    shown: Sequence[Outcome],
    outcomes: Sequence[Outcome],
    cells: Callable[[Outcome], tuple[object, ...]],
    *words: str,
) -> Table:
    """Columns of numbers, then of words, which ``cells`` gives of each outcome."""
    rows = ((*head, *cells(outcome)) for head, outcome in _heads(shown, outcomes))
    return rows_table(("program", "solver", *numbers, *words), rows, numbers, title, whole=("program",))


def _heads(shown: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Iterator[tuple[list[str], Outcome]]:
    """The first two cells of each row: a program is named once, and stands below the one it restates."""
    present = {o.program for o in shown}
    before = ""
    for outcome in shown:
        indent = "  " if outcome.formulation_of in present else ""
        name = "" if outcome.program == before else f"{indent}{outcome.program}"
        yield [name, _solver(outcome, outcomes)], outcome
        before = outcome.program


def _solver(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The solver, and the tolerance where several were asked for."""
    tolerance = ""
    if outcome.tolerance is not None and len({o.tolerance for o in outcomes}) > 1:
        short = f"{outcome.tolerance:.0e}"
        tolerance = f" {short}" if float(short) == outcome.tolerance else f" {outcome.tolerance:g}"
    # Where nothing is solved (a closed form), the solver's place says what the status says.
    return "-" if outcome.solver in ("", outcome.stop) else outcome.solver + tolerance


def _name(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    solver = _solver(outcome, outcomes)
    return outcome.program if solver == "-" else f"{outcome.program} with {solver}"


def _only_name(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The program alone, where one outcome only has it."""
    several = sum(o.program == outcome.program for o in outcomes) > 1
    return _name(outcome, outcomes) if several else outcome.program


def _legend(tried: Sequence[Outcome], ranked: Ranking) -> list[str]:
    """What the words in the tables mean, as far as they occur."""
    solutions = [o.solution for o in tried if o.solution is not None]
    lines = []
    present = {o.program for o in tried}
    if any(o.formulation_of in present for o in tried):
        lines.append("Indented: another formulation of the program above; both must agree up to their gaps.")
    if solutions:
        lowest = max(solution.error_bound for solution in solutions)
        lines += [
            f"gap: {_gap_words(solutions)}, recomputed from the program file; solvers are not believed. "
            "Objective and bound are proved where no note says otherwise, and shown rounded to the safe "
            "side.",
            *[
                "total error: estimated, squared, of all queries, at unit noise and sensitivity 1; proved: "
                f"no strategy of L2 sensitivity 1 has less than {figure(lowest, up=False)}. "
                "rmse: per query, unweighted."
            ]
            * (ranked.stated is None),
            "off by: largest relative violation of a constraint by the solver's point, before its repair.",
            "memory: the most that the process held above what it held at its start.",
        ]
    if _is_scaled(tried) and ranked.stated is None:
        lines.insert(1, "value: the objective on the scale that all formulations of a program share.")
    return lines


def _gap_words(solutions: Sequence[Solution]) -> str:
    """What the gaps of these solutions are."""
    bounded = [s for s in solutions if s.gap is not None]
    maximized = {s.sense for s in bounded if not s.kind_of_gap} or {"minimize"}
    ratios = {"minimize": "objective / bound - 1", "maximize": "bound / objective - 1"}
    words = ratios["minimize"] if "minimize" in maximized else ratios["maximize"]
    if len(maximized) > 1:
        words += f" ({ratios['maximize']} of what is maximized)"
    for kind in dict.fromkeys(s.kind_of_gap for s in bounded if s.kind_of_gap):
        names = ", ".join(dict.fromkeys(s.program for s in bounded if s.kind_of_gap == kind))
        words += f"; of {names} {kind}"
    return words


def _is_scaled(tried: Sequence[Outcome]) -> bool:
    return any(o.solution is not None and o.solution.value != o.solution.objective for o in tried)
