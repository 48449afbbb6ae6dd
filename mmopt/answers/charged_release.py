"""A release that is charged to a ledger: the name of its data set, and what its plan spends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmopt.errors import OptionError
from mmopt.ledger import Bill, Charge, charge_in_errors
from mmopt.mechanism import Plan

__all__ = ["billed", "charged", "check_bill", "data_set_name"]


def billed(
    ledger: str | Path | None,
    data: object,
    *,
    table: str | None = None,
    data_set: str | None = None,
    part: str | None = None,
) -> Bill | None:
    """The bill of a release of this table; None without a ledger.

    Raises
    ------
    OptionError : a data set or a part without a ledger; a data set that has no name; as ``Bill.to``.
    LedgerError : as ``Bill.to``.
    """
    if ledger is None:
        for option, given in (("data set", data_set), ("part", part)):
            if given is not None:
                raise OptionError(
                    f"the {option} is given, and there is no ledger to which it is a name",
                    hint="name the ledger with --ledger FILE (ledger= in Python), or leave it out",
                )
        return None
    return Bill.to(ledger, data_set_name(data, table) if data_set is None else data_set, part)


def data_set_name(data: object, table: str | None) -> str:
    """By default: of a database the table asked for, of a file its name up to the first dot.

    Raises
    ------
    OptionError : neither; nothing of an address is taken, nor shown, as it may hold a password.
    """
    if table is not None:
        return table
    if isinstance(data, str | os.PathLike) and "://" not in os.fspath(data):
        name = Path(data).name.partition(".")[0]
        if name:
            return name
    raise OptionError(
        "a release that is charged to a ledger names its data set, and this table has no name",
        hint="say which it is: --data-set NAME (data_set= in Python)",
    )


def check_bill(bill: Bill | None, plan: Plan) -> None:
    """Refuse what the ledger would, before a row is read; errors as ``Bill.spend``."""
    if bill is not None:
        bill.check(str(plan.neighbours), plan.rho, plan.epsilon)


@contextmanager
def charged(bill: Bill | None, plan: Plan, origin: Mapping[str, Any]) -> Iterator[Charge | None]:
    """Charge a plan; within, whatever goes wrong says what was spent.

    origin : of the strategy and the workload's file, as in a manifest. Errors as ``Bill.spend``.
    """
    if bill is None:
        yield None
        return
    file = str(origin.get("workload_file", {}).get("name", ""))
    charge: Charge | None = None
    try:
        charge = bill.spend(str(plan.neighbours), plan.rho, plan.epsilon, file, plan.workload.hash)
        with charge_in_errors(charge):
            yield charge
    except KeyboardInterrupt as stopped:  # also between the ledger's commit and here
        if not getattr(stopped, "__notes__", ()):
            stopped.add_note(
                f"it may be that the release was charged: 'mmopt ledger show {bill.path}' says what is spent"
            )
        raise
