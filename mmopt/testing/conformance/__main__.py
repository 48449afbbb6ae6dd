"""``python -m mmopt.testing.conformance --solver NAME``."""

from typing import Annotated

import typer

from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import names_in
from mmopt.cli.command_options import TimeLimit, Tolerance
from mmopt.cli.command_output import REFUTED, note, show
from mmopt.cli.solve_and_plan import options_for


def conformance(
    solver: Annotated[
        str | None, typer.Option(metavar="NAME", help="Solver or kernel. Default: what solve would choose.")
    ] = None,
    programs: Annotated[
        str | None, typer.Option(metavar="A,B", help="Programs, separated by commas. Default: all shipped.")
    ] = None,
    problems: Annotated[
        str | None, typer.Option(metavar="P,Q", help="Problems of the registry. Default: all.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", metavar="N", help="Cells. Default: a few.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of random workloads.")] = 0,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="All metamorphic cases, not two per problem in turn.")
    ] = False,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what is being solved.")] = False,
) -> None:
    """Put a solver to every problem of the registry and check what mmopt promises of every one.

    Exit status 1 when something does not hold.
    """
    from mmopt.testing.conformance import conform

    report = conform(
        solver,
        names_in(programs, "--programs") or None,
        names_in(problems, "--problems") or None,
        n=n,
        seed=seed,
        twists=None if thorough else 2,
        options=options_for(tolerance=tolerance, time_limit=time_limit),
        progress=note if verbose else None,
    )
    show(str(report))
    if not report.holds:
        raise typer.Exit(REFUTED)


def main() -> None:
    """Run it on ``sys.argv``."""
    run_alone(conformance, "python -m mmopt.testing.conformance")


if __name__ == "__main__":
    main()
