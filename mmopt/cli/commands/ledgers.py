"""``mmopt ledger create``, ``show``, ``export`` and ``explain``."""

from pathlib import Path

from mmopt.cli.command_output import answer, say, show
from mmopt.errors import counted
from mmopt.ledger import Ledger
from mmopt.report.accuracy_release_and_ledger_tables import entries_table
from mmopt.report.table_style import pairs_table, paragraphs


def create_ledger(
    *,
    file: Path,
    data_set: str,
    rho: float | None,
    epsilon: float | None,
    neighbours: str,
    partition: str | None,
) -> None:
    """Make a ledger, and print its terms."""
    ledger = Ledger.create(
        file, data_set, rho=rho, epsilon=epsilon, neighbours=neighbours, partition=partition
    )
    show(pairs_table(ledger.rows()))
    say(f"\nspend from it:  mmopt release WORKLOAD DATA --ledger {file}")


def show_ledger(*, file: Path, as_json: bool) -> None:
    """Print the terms and the entries."""
    ledger = Ledger.load(file)
    answer(as_json, ledger.summary(), [pairs_table(ledger.rows()), "", entries_table(ledger)])


def export_ledger(*, file: Path, out: Path) -> None:
    """Write the entries into a file."""
    ledger = Ledger.load(file)
    say(f"{counted(len(ledger.account.entries), 'release')}: {ledger.export(out)}")


def explain_ledger(*, file: Path) -> None:
    """Print why the total holds."""
    show(paragraphs(Ledger.load(file).explain()))
