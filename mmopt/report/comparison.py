"""Programs side by side: certificates, what the strategies cost, and why some were not solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmopt.pipeline import Outcome
from mmopt.report.style import cell, figure, gap, new_table

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["comparison_report"]


def comparison_report(outcomes: Sequence[Outcome], formulations: dict[str, str] | None = None) -> Group:
    """Two tables with a row per outcome, then footnotes.

    ``formulations`` maps a program to the one that it is another formulation of; those stand together,
    and must agree in objective and bound up to their gaps.
    """
    from rich.console import Group

    base = formulations or {}
    ordered = sorted(outcomes, key=lambda o: (base.get(o.program) or o.program, bool(base.get(o.program))))
    proofs = new_table(
        "program", "solver", "objective", "bound", "gap", "status", right=("objective", "bound", "gap")
    )
    columns = ("error", "error bound", "rmse", "iter.", "compile", "solve")
    costs = new_table("program", "solver", *columns, right=columns)
    notes = []
    for outcome in ordered:
        head = (cell(outcome.program), cell(outcome.solver or "-"))
        solution = outcome.solution
        if solution is None:
            notes.append(
                f"{outcome.program}{f' with {outcome.solver}' * bool(outcome.solver)}: {outcome.problem}"
            )
            proofs.add_row(*head, "-", "-", "-", cell(f"not solved ({len(notes)})"))
            continue
        bound = "no bound" if solution.bound is None else figure(solution.bound)
        proofs.add_row(
            *head, figure(solution.objective), bound, gap(solution.gap), cell(solution.status.stop)
        )
        costs.add_row(
            *head,
            figure(solution.error),
            figure(solution.error_bound),
            figure(solution.rmse, 4),
            str(solution.iterations),
            *(f"{solution.seconds[name]:.2f} s" for name in ("compile", "solve")),
        )
        if solution.value != solution.objective:
            notes.append(
                f"{outcome.program}: on the common scale of its formulations {figure(solution.value)}"
            )
        notes += [f"{outcome.program}: {warning}" for warning in solution.warnings]
    footer = [f"({i}) {note}" for i, note in enumerate(notes, 1)]
    footer += [f"{name} is another formulation of {of}" for name, of in base.items() if of]
    if costs.row_count:
        footer.append(
            "error: total squared error at unit noise and sensitivity 1; error bound: over all strategies; "
            "rmse: per query, unweighted"
        )
    below = [cell(text) for text in ("", *footer)]
    return Group(proofs, cell(""), costs, *below) if costs.row_count else Group(proofs, *below)
