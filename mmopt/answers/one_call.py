"""``mmopt.release``: from data and a workload to private answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mmopt.answers.accuracy_at_privacy import Accuracy, accuracy
from mmopt.answers.charged_release import billed, charged, check_bill
from mmopt.answers.counted_data import confidential_words, counted_data
from mmopt.answers.default_strategy import Solve
from mmopt.answers.release_result import Release
from mmopt.answers.what_is_asked import PrivacyLike, asked
from mmopt.data import DataVector, MarginalCounts
from mmopt.data.connection import is_connection
from mmopt.data.data_vector import check_columns
from mmopt.driver import solve
from mmopt.language import Program
from mmopt.ledger import Bill
from mmopt.mechanism import build_manifest
from mmopt.mechanism.accuracy import check_confidence
from mmopt.mechanism.measurement import counted_exactly
from mmopt.proof.verify import checked_summary, rechecked
from mmopt.request import TableOptions, WorkloadLike, refuse_workload
from mmopt.results import AnySolution
from mmopt.strategies import NeighboursLike

__all__ = ["measured", "release"]


def release(
    data: object,
    workload: WorkloadLike,
    privacy: PrivacyLike = None,
    *,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
    program: str | Path | Program | None = None,
    solution: AnySolution | None = None,
    confidence: float = 0.95,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    simulate_seed: int | None = None,
    ledger: str | Path | None = None,
    data_set: str | None = None,
    part: str | None = None,
    solved: Solve = solve,
    say: Callable[[str], None] = lambda _: None,
) -> Release:
    """Answer a workload on a table with differential privacy.

    Everything that can be refused is refused before the rows of the table are read. The answers' errors are
    those of ``mmopt.accuracy`` with the same arguments. A ledger is charged once the rows are counted, before
    noise is drawn; from then on every error says what was spent.

    Parameters
    ----------
    data, table, weight, delimiter : as ``data_vector`` takes them: a data frame, a dictionary of columns, an
        Ibis table or connection, the path of a file or database, or a URL such as ``postgres://host/db``.
    workload : a Workload, or a workload file (its path, its Request, its dictionary), whose privacy,
        neighbours and options of the table hold where no argument says otherwise.
    privacy : a Privacy or a dictionary such as ``{"epsilon": 1.0, "delta": 1e-6}``. Every release of the same
        data adds to what is spent.
    neighbours : "add-remove", "replace-one", {"rows": 3} of one person, or in a stream {"participation":
        {"separation": 4, "at_most": 2}}; where neither this nor the file says so, those of the program.
    unit : in their place {"rows": 3}, or {"column": "person", "rows": 3}: of each person, a value of that
        column, at most three rows are counted, and the guarantee is for a person however many there are.
    program, solution : what is solved, or was; by default the strategy of least predicted error, both noises
        considered. The figures of a solution are computed again, but for simulated noise.
    confidence : of the intervals. simulate_seed : numpy's noise, repeatable and NOT private. solved : as for
        ``default_strategy``. say : what is chosen, and in confidence how many rows were left out (``print``).
    ledger : the file of a ``Ledger``; simulated noise is checked against it and spends nothing.
    data_set : its name in the ledger; by default that of the table asked for, or of the file up to its first
        dot. part : a value of the ledger's partition: its rows alone are counted, and its account is charged.

    Raises
    ------
    DataError : as ``data_vector``. PrivacyError, WorkloadError : as ``accuracy``. PrivacyError, LedgerError,
    OptionError : also as ``ledger.Bill``, whose ledger would refuse: more than is left, other data or units.

    >>> import mmopt
    >>> domain = mmopt.Domain.of(sex=["F", "M"])
    >>> people = {"sex": ["F", "M", "F"]}
    >>> release = mmopt.release(people, domain.marginal("sex"), {"epsilon": 1.0}, simulate_seed=1)
    >>> release.private, len(release)
    (False, 2)
    """
    refuse_workload(data)
    check_confidence(confidence)
    what = asked(workload, privacy, neighbours, unit)
    given = {"table": table, "weight": weight, "delimiter": delimiter}
    options = _table_options(data, what.table) | {n: value for n, value in given.items() if value is not None}
    bill = billed(ledger, data, table=options.get("table"), data_set=data_set, part=part)
    selection = None if bill is None else bill.selection
    check_columns(
        data, what.workload.domain, workload=what.workload, part=selection, unit=what.neighbours, **options
    )
    is_given = solution is not None
    if solution is None and program is not None:
        parsed = program if isinstance(program, Program) else Program.load(program)
        solution = solved(what.workload, parsed)
    planned = accuracy(
        what.workload,
        what.privacy,
        neighbours=what.neighbours,
        solution=solution,
        confidence=confidence,
        refuse=True,
        solved=solved,
        say=say,
    )
    if is_given and simulate_seed is None:
        planned = replace(planned, solution=rechecked(planned.solution, what.workload))
    file = {} if what.file is None else {"workload_file": dict(what.file)}
    about = planned.solution.summary()
    origin = {**file, "solution": checked_summary(about) if is_given else about}
    check_bill(bill, planned.plan)
    counts = counted_data(data, planned.plan, part=selection, **options)
    release = measured(planned, counts, origin, simulate_seed, bill)
    say(confidential_words(counts, planned.plan, selection))
    return release


def _table_options(data: object, table: TableOptions) -> dict[str, Any]:
    """Those of a workload file; of data that are no file or connection only the weight."""
    if isinstance(data, str | os.PathLike):
        return asdict(table)
    return asdict(TableOptions(table=table.table if is_connection(data) else None, weight=table.weight))


def measured(
    planned: Accuracy,
    counts: DataVector | MarginalCounts,
    origin: Mapping[str, Any],
    simulate_seed: int | None,
    bill: Bill | None = None,
) -> Release:
    """The release of what was planned. ``origin``: of the strategy, for the manifest, nothing of the data.

    bill : what is charged once all that can be refused was, before noise is drawn; nothing if simulated.
    """
    data = counts.counts if isinstance(counts, DataVector) else counts
    exact = counted_exactly(planned.plan, data, simulate_seed, planned.confidence)
    seed = {} if simulate_seed is None else {"simulation_seed": simulate_seed}
    with charged(bill if simulate_seed is None else None, planned.plan, origin) as charge:
        answers = exact.answers()
        entry = {} if charge is None else {"ledger": charge.section()}
        about = {**origin, **planned.solution.about_program()}
        manifest = build_manifest(planned.plan, answers, **about, chosen=planned.words, **seed, **entry)
        return Release.of(planned.plan, answers, manifest, planned.solution, charge)
