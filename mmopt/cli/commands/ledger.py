"""``mmopt ledger create | show | export | explain``."""

from __future__ import annotations

from pathlib import Path

from mmopt.cli.command_output import answer, say, show as put
from mmopt.errors import counted
from mmopt.ledger import Ledger
from mmopt.report import entries_table, pairs_table, paragraphs


def create(
    *,
    file: Path,
    data_set: str,
    rho: float | None,
    epsilon: float | None,
    neighbours: str,
    partition: str | None,
) -> None:
    """Make a ledger, and print its terms."""
    made = Ledger.create(file, data_set, rho=rho, epsilon=epsilon, neighbours=neighbours, partition=partition)
    put(pairs_table(made.rows()))
    say(f"\nspend from it:  mmopt release WORKLOAD DATA --ledger {file}")


def show(*, file: Path, as_json: bool) -> None:
    """Print the terms and the entries."""
    ledger = Ledger.load(file)
    answer(as_json, ledger.summary(), [pairs_table(ledger.rows()), "", entries_table(ledger)])


def export(*, file: Path, out: Path) -> None:
    """Write the entries into a file."""
    ledger = Ledger.load(file)
    written = ledger.export(out)
    say(f"{counted(len(ledger.account.entries), 'release')}: {written}")


def explain(*, file: Path) -> None:
    """Print why the total holds."""
    put(paragraphs(Ledger.load(file).explain()))
