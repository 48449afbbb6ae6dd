"""``mmopt ledger create | show | export | explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_options import Json
from mmopt.cli.command_output import answer, guarded, say, show as put

LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]


def build_ledger() -> typer.Typer:
    """The commands on ledgers, as one of the application's."""
    commands = typer.Typer(
        name="ledger",
        help="What releases of one data set have cost in all, kept in a file that refuses to be overspent.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for command in (create, show, export, explain):
        commands.command()(guarded(command))
    return commands


def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, a new file.")],
    data_set: Annotated[
        str, typer.Option(metavar="NAME", help="Whose privacy is counted: the name that releases give.")
    ],
    rho: Annotated[
        float | None,
        typer.Option(metavar="R", help="The total, in zero-concentrated privacy: for all kinds of noise."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="The total, in pure epsilon: for Laplace noise alone.")
    ] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            metavar="UNIT",
            help="The unit of privacy, which that of each release has to be, as its manifest says it: "
            "add-remove, replace-one, 'rows 3', 'rows 3 of each person', …",
        ),
    ] = "add-remove",
    partition: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Releases of the rows with one value of this column (--part) compose in parallel. For one "
            "row added or removed alone.",
        ),
    ] = None,
) -> None:
    """Declare how much privacy the releases of one data set may spend in all."""
    from mmopt.ledger import Ledger
    from mmopt.report import pairs_table

    made = Ledger.create(file, data_set, rho=rho, epsilon=epsilon, neighbours=neighbours, partition=partition)
    put(pairs_table(made.rows()))
    say(f"\nspend from it:  mmopt release WORKLOAD DATA --ledger {file}")


def show(file: LedgerFile, as_json: Json = False) -> None:
    """List what was spent, when, on what and where it is; and what is left."""
    from mmopt.ledger import Ledger
    from mmopt.report import entries_table, pairs_table

    ledger = Ledger.load(file)
    answer(as_json, ledger.summary(), [pairs_table(ledger.rows()), "", entries_table(ledger)])


def export(
    file: LedgerFile,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Write a .csv file, a line for each release, or a .json of all."),
    ],
) -> None:
    """Write what was spent into a file for others to read; an existing one is replaced."""
    from mmopt.errors import counted
    from mmopt.ledger import Ledger

    ledger = Ledger.load(file)
    written = ledger.export(out)
    say(f"{counted(len(ledger.account.entries), 'release')}: {written}")


def explain(file: LedgerFile) -> None:
    """Say in words why the total holds: by which theorems, and to what (epsilon, delta) it amounts."""
    from mmopt.ledger import Ledger
    from mmopt.report import paragraphs

    put(paragraphs(Ledger.load(file).explain()))
