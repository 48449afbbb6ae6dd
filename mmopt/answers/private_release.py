"""``mmopt.release`` and its result: counts, charge and noise in their order; answers, charts, folder.

``prepare`` has the order of every release up to the rows of its table, ``PreparedRelease.measured`` the rest:
rows are counted by cells, or by few attributes where that is all that the strategy measures; a ledger is
charged; noise is drawn. A ``Release`` gives the answers as a frame, a chart, a page and a folder.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmopt.answers.accuracy_budget_and_default_strategy import (
    Accuracy,
    Solve,
    WorkloadAtPrivacy,
    accuracy,
    at_privacy,
)
from mmopt.answers.read_and_recheck_folder import plan_and_unchecked, read_answers, read_manifest
from mmopt.data import DataVector, MarginalCounts, Part, check_columns, data_vector, marginal_counts
from mmopt.data.table_files_and_connections import is_connection
from mmopt.errors import Error, OptionError, PrivacyError, last_words
from mmopt.language import Program
from mmopt.ledger import Bill, Charge, Ledger
from mmopt.ledger.account import cost_in, shown
from mmopt.limits import heeded, uninterrupted
from mmopt.mechanism.measured_and_simulated_releases import Answers, counted_exactly
from mmopt.mechanism.release_plan import Plan, covariance, row_rules, wishes_and_missed
from mmopt.mechanism.release_writing import (
    MANIFEST_FILE,
    STRATEGY_FILE,
    answers_frame,
    build_manifest,
    guarantee,
    stated_totals,
    write_release,
)
from mmopt.mechanism.standard_errors_and_intervals import check_confidence
from mmopt.numerics.arrays import Array, rounded
from mmopt.privacy import PrivacyLike
from mmopt.proof.verify import checked_summary, rechecked
from mmopt.report import Contents, display, release_tables, write_page
from mmopt.report.accuracy_release_and_ledger_tables import release_rows, unmet_words
from mmopt.report.chart_parts import has_matplotlib, picture
from mmopt.report.charts import release_figure
from mmopt.request import TableOptions, WorkloadLike, as_workload, refuse_workload
from mmopt.results import Answered, Frame, Solution
from mmopt.solvers import SolverLike
from mmopt.strategies import Neighbours, NeighboursLike
from mmopt.workloads.tidy_columns import require_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mmopt.answers.refined_answers import Totals
#: Cells up to which they are counted one by one: one query, whatever is measured.
MOST_CELLS_COUNTED = 2**22


def counted_data(
    data: object,
    plan: Plan,
    *,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
    null: Sequence[str] = (),
    spelling: str = "exact",
    progress: Callable[[str], None] | None = None,
) -> DataVector | MarginalCounts:
    """Counts of the rows for ``mmopt.mechanism.measure``; arguments and errors as ``data_vector``.

    No more rows of a person are counted than the noise of the plan hides.

    Over many cells, where the strategy is measured on tables over few attributes, these alone are counted.
    """
    require_table(plan.workload)  # the answers become one: refused before a row is read
    options: dict[str, Any] = {"table": table, "weight": weight, "delimiter": delimiter}
    options |= {"null": null, "spelling": spelling, "progress": progress}
    workload, tables = plan.workload, plan.integer.tables
    sizes = [math.prod(workload.domain.shape[i] for i in attributes) for attributes in tables or ()]
    if tables is None or workload.n <= max(MOST_CELLS_COUNTED, *sizes):
        return data_vector(
            data, workload.domain, workload=workload, part=part, unit=plan.neighbours, **options
        )
    return marginal_counts(data, workload, sets=tables, part=part, unit=plan.neighbours, **options)


def confidential_words(rows: DataVector | MarginalCounts, plan: Plan, part: Part | None) -> str:
    """A sentence, in confidence: how many rows are counted, dropped, and beyond what a person may have."""
    kept = int((rows.counts if isinstance(rows, DataVector) else rows.of(())).sum())
    by = ", ".join(f"{count:,} by '{name}'" for name, count in rows.dropped.items() if count)
    return (
        f"confidential, do not publish: {kept:,} of {rows.rows:,} rows in the "
        f"{'table' if part is None else 'part'} are counted, "
        + (f"{rows.rows - kept - rows.beyond:,} dropped ({by})" if by else "none dropped")
        + (
            f", {rows.beyond:,} beyond {str(plan.neighbours).removeprefix('rows ')}"
            if plan.neighbours.column
            else ""
        )
    )


def billed(
    ledger: str | Path | None,
    data: object,
    *,
    table: str | None = None,
    data_set: str | None = None,
    part: str | None = None,
    neighbours: Neighbours | None = None,
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
                    f"the {option} is given without a ledger",
                    hint="name the ledger with --ledger FILE (ledger= in Python), or leave it out",
                )
        return None
    name = data_set_name(data, table) if data_set is None else data_set
    return Bill.to(ledger, name, part, None if neighbours is None else str(neighbours))


def data_set_name(data: object, table: str | None) -> str:
    """Name a data set by its table in a database, or by its file up to the first dot.

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
        "a release charged to a ledger needs the name of its data set, and this table has no name",
        hint="say which it is: --data-set NAME (data_set= in Python)",
    )


@contextmanager
def charged(bill: Bill | None, plan: Plan, origin: Mapping[str, Any]) -> Iterator[Charge | None]:
    """Charge a plan; within, whatever goes wrong says what was spent, and Ctrl-C is kept to the end.

    origin : of the strategy and the workload's file, as in a manifest. Errors as ``Bill.spend``.
    """
    if bill is None:
        yield None
        return
    file = str(origin.get("workload_file", {}).get("name", ""))
    # Until it is known here what the ledger committed.
    doubt = f"the release may have been charged: 'mmopt ledger show {bill.path}' says what is spent"
    with last_words(doubt) as words, uninterrupted():
        try:
            charge = bill.spend(str(plan.neighbours), plan.rho, plan.epsilon, file, plan.workload.hash)
        except Error:
            words.clear()  # it says itself what the ledger refused
            raise
        words[:] = [charge.words]
        yield charge


@dataclass(frozen=True, eq=False, repr=False)
class Release(Answered):
    """Released answers, what they rest on, and what can be said of their errors.

    ``release["age < 18"]`` is the answer to that query, ``release["sex, age"]`` the rows of that group.

    Nothing in it is secret, unless the noise was simulated (``private``).

    Attributes
    ----------
    answers : the tidy answers, one row a query (``mechanism.release_writing``): its group and label, what it
        says of each attribute, then estimate, standard_error, low, high, coverage; after ``refine`` also
        refined; where the noise was simulated also private, which is False.
    manifest : what was asked, what was spent, and with which software.
    plan : the noise and how estimates come from it; None where a folder was loaded without its workload.
    solution : the strategy that was used, with its certificate; None where a folder does not hold it.
    charge : what it has spent from a ledger, to which ``save`` says where it stands; None without one, and
        where it was loaded.
    unchecked : where it was loaded, the places of the manifest that nothing beside it was found to confirm.
    """

    answers: Frame
    manifest: Mapping[str, Any]
    plan: Plan | None = None
    solution: Solution | None = None
    charge: Charge | None = None
    unchecked: tuple[str, ...] = ()

    @staticmethod
    def of(
        plan: Plan,
        answers: Answers,
        manifest: Mapping[str, Any],
        solution: Solution | None = None,
        charge: Charge | None = None,
    ) -> Release:
        """The release of measured answers, with the manifest of ``build_manifest``."""
        return Release(answers_frame(answers, guarantee(manifest)), manifest, plan, solution, charge)

    @property
    def private(self) -> bool:
        """Whether the noise was drawn for privacy; simulated answers must not be published."""
        return bool(self.manifest["private"])

    def frame(self) -> Frame:
        """The released answers, one row a query."""
        return self.answers

    @property
    def rmse(self) -> float:
        """The root mean square of the queries' standard errors, in counts: the manifest's."""
        return float(self.manifest["accuracy"]["rmse"])

    def plot(self) -> Figure:
        """A matplotlib figure of the answers with their intervals, a panel for each group of queries.

        Raises
        ------
        OptionError : matplotlib is not installed.
        """
        return release_figure(self.answers)

    def report(self, path: str | Path | None = None) -> str:
        """One HTML page of what was asked, measured and answered, which loads nothing; its text.

        Without its plan (``load_release`` without the workload) the queries have no section.

        Parameters
        ----------
        path : where it is written, too; an existing file is replaced, whole or not at all.

        Raises
        ------
        OptionError : matplotlib is not installed.
        ResultError : the file cannot be written.
        """
        file = self.manifest.get("workload_file", {})
        return write_page(
            Contents(
                file.get("name") or "A release",
                workload=None if self.plan is None else self.plan.workload,
                file_hash=file.get("sha256", ""),
                solution=self.solution,
                plan=self.plan,
                manifest=self.manifest,
                answers=self.answers,
            ),
            path,
        )

    def covariance(self, queries: int | str | slice | Iterable[int] | Iterable[str]) -> Array:
        """Covariance matrix (k, k) of the errors of the estimates of k queries, in squared counts.

        Of the noise as it was drawn: the diagonal is ``standard_error`` squared, up to rounding. The error of
        a sum of answers has the variance that the entries add up to, that of a difference d its dᵀ C d.

        Parameters
        ----------
        queries : their numbers (rows of ``answers``), a slice of these, labels, groups, or one of them.

        Raises
        ------
        OptionError : no such query, a label that several queries have, or a release without its plan.
        TooLargeError : the coefficients of the estimates do not fit in memory, or take too long to find.
        """
        rows = self.numbers(queries)
        if self.plan is None:
            raise OptionError(
                "a release loaded from its folder does not contain its queries, which covariances need",
                hint="load it with them: mmopt.load_release(folder, workload=Workload.load(file))",
            )
        return covariance(self.plan, rows)

    def refine(
        self,
        *,
        whole: bool = False,
        totals: Totals | None = None,
        tolerance: float | None = None,
        time_limit: float | None = None,
    ) -> Release:
        """Add a column ``refined`` to the answers: nearby answers that counts of rows can have.

        Non-negative, with the known totals, and as near to the released answers as the tolerance asks; the
        manifest says how far that is proved. Whole answers are these, rounded. Refined answers spend no
        privacy, and are biased. Arguments and errors: ``refined_answers.refine``.
        """
        from mmopt.answers.refined_answers import refine  # which solves

        return refine(self, whole=whole, totals=totals, tolerance=tolerance, time_limit=time_limit)

    def save(self, folder: str | Path) -> Path:
        """Write the release into a new folder, which appears complete or not at all; returns its path.

        answers.csv and answers.parquet with the same numbers, answers.svg where it can be drawn and written,
        strategy.npz for 'mmopt verify' where the solution is known, and manifest.json, which lists them. The
        ledger that was charged then records the folder: the first, if there are several. It may be that of
        refined answers, which holds the released ones as well.

        Raises
        ------
        OptionError : the folder exists already, or its parent cannot be written.
        LedgerError : the ledger cannot be written; the folder is complete.
        KeyboardInterrupt : Ctrl-C meanwhile; the folder is complete, and the ledger written.
        """
        with last_words(*([] if self.charge is None else [self.charge.words])) as words, uninterrupted():
            files = {} if self.solution is None else {STRATEGY_FILE: self.solution.to_bytes()}
            chart = partial(picture, self.plot, "svg") if has_matplotlib() else None
            written = write_release(self.answers, self.manifest, folder, files, chart)
            words[:] = [f"the release is complete in '{written}'"]
            if self.charge is not None:
                self.charge.confirm(written, (written / MANIFEST_FILE).read_bytes())
        return written

    @staticmethod
    def load(folder: str | Path, workload: WorkloadLike | None = None) -> Release:
        """A release read from its folder, as ``load_release``."""
        return load_release(folder, workload)

    def rows(self) -> list[tuple[str, str]]:
        """Rows (name, text) on the queries, the privacy spent and the measurement."""
        return release_rows(self.manifest, self.answers)

    def __repr__(self) -> str:
        privacy, cost_words = self.manifest["privacy"], "SIMULATED NOISE, not private"
        if self.private:
            name, neighbours = "rho" if privacy["epsilon"] is None else "epsilon", privacy["neighbours"]
            for_whom = "" if neighbours == "add-remove" else f" for {neighbours}"
            cost_words = f"{name} {rounded(str(privacy[name]), 6, up=True)}{for_whom}"
        refined = "refined" in self.manifest
        first = [
            f"{one.label if len(one.label) <= 60 else f'{one.label[:29]}…{one.label[-30:]}'}: "
            f"{one.refined if refined else one.answer:.6g}"
            for one in itertools.islice(self, 2)
        ]
        more = f"… {len(self):,} answers" if len(self) > len(first) else ""
        rmse = f"rmse {rounded(self.rmse, 6, up=True)}"
        words = (*first, more, "refined" if refined else "", cost_words, rmse)
        return f"Release({', '.join(filter(None, words))})"

    def _repr_html_(self) -> str:
        return display(*release_tables(self.manifest, self.answers))


def load_release(folder: str | Path, workload: WorkloadLike | None = None) -> Release:
    """A release from the folder that ``Release.save`` or 'mmopt release' wrote, also of version 0.1.0.

    Its files must be those that the manifest lists, unchanged, and its figures those that follow from them;
    ``unchecked`` lists what of it nothing there confirms. With the workload that was asked, its plan is there
    again, and with it ``covariance``.

    Raises
    ------
    ResultError : no release, half of one, a file that was changed, files from which other things follow than
        the manifest says, or another workload than was asked; with the workload also a claim that the noise
        of the manifest does not prove.
    """
    path = Path(folder)
    manifest = read_manifest(path)
    answers = read_answers(path, manifest)
    solution = Solution.load(path / STRATEGY_FILE) if STRATEGY_FILE in manifest.get("files", {}) else None
    plan, unchecked = plan_and_unchecked(
        path, manifest, answers, None if workload is None else as_workload(workload), solution
    )
    release = Release(answers, manifest, plan, solution, unchecked=unchecked)
    if plan is not None and "refined" in manifest:
        from mmopt.answers.refined_answers import check_refined  # which solves

        if not check_refined(release, path):
            release = replace(release, unchecked=(*unchecked, "refined"))
    return release


def release(
    data: object,
    workload: WorkloadLike,
    privacy: PrivacyLike = None,
    *,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
    program: str | Path | Program | None = None,
    givens: Mapping[str, Any] | None = None,
    strategy: Solution | str | Path | None = None,
    solver: SolverLike = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    threads: int | None = None,
    confidence: float = 0.95,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    null: Sequence[str] | None = None,
    spelling: str | None = None,
    simulate: int | None = None,
    ledger: Ledger | str | Path | None = None,
    data_set: str | None = None,
    part: str | None = None,
    anyway: bool = False,
    solved: Solve | None = None,
    say: Callable[[str], None] | None = None,
) -> Release:
    """Answer a workload on a table with differential privacy.

    All checks that do not need the rows run before the rows are read, and all others before a ledger is
    charged. The answers' errors are those of ``mmopt.accuracy`` with the same arguments. A ledger is charged
    once the rows are counted, before noise is drawn; from then on every error says what was spent, and
    Ctrl-C, which until then spends nothing, waits for the noise.

    Parameters
    ----------
    data, table, weight, delimiter, null, spelling : as ``data_vector`` takes them: a data frame, a dictionary
        of columns, an Ibis table or connection, the path of a file or database, or a URL such as
        ``postgres://host/db``.
    workload : a Workload, or a workload file (its path, its Request, its dictionary), whose privacy,
        neighbours and options of the table hold where no argument says otherwise.
    privacy : a Privacy or a dictionary such as ``{"epsilon": 1.0, "delta": 1e-6}``. Every release of the same
        data adds to what is spent.
    neighbours : "add-remove", "replace-one", {"rows": 3} of one person, or in a stream {"participation":
        {"separation": 4, "at_most": 2}}; where neither this nor the file says so, those of the program.
    unit : in their place {"rows": 3}, or {"column": "person", "rows": 3}: of each person, a value of that
        column, at most three rows are counted, and the guarantee is for a person however many there are.
    program, strategy : what is solved, or a solution, or the file of a saved one; by default the strategy of
        least predicted error, both noises considered. The figures of a solution are computed again, except
        with simulated noise.
    givens : of the program, as for ``solve``. solver, tolerance, time_limit, max_iterations, threads : as for
        ``solve``, for whatever is solved here. solved : solves in place of ``mmopt.solve``.
    confidence : of the intervals. simulate : a seed for numpy's noise, repeatable and NOT private.
    say : called with what is chosen, with what Laplace noise costs in a ledger of rho, and in confidence how
        many rows were left out (``print``).
    ledger : a ``Ledger`` or its file; simulated noise is checked against it and spends nothing.
    data_set : its name in the ledger; by default that of the table asked for, or of the file up to its first
        dot. part : a value of the ledger's partition: its rows alone are counted, and its account is charged.
    anyway : whether to release where an accuracy target will be missed; else that is refused before a row is
        read, unless the noise is simulated.

    Raises
    ------
    DataError : as ``data_vector``. PrivacyError, WorkloadError : as ``accuracy``. PrivacyError, LedgerError,
    OptionError : also as ``ledger.Bill``, whose ledger would refuse: more than is left, other data or units.

    >>> import mmopt
    >>> domain = mmopt.Domain.of(sex=["F", "M"])
    >>> people = {"sex": ["F", "M", "F"]}
    >>> release = mmopt.release(people, domain.marginal("sex"), {"epsilon": 1.0}, simulate=1)
    >>> release.private, len(release)
    (False, 2)
    """
    refuse_workload(data)
    check_confidence(confidence)
    request = at_privacy(workload, privacy, neighbours, unit)
    given = {"table": table, "weight": weight, "delimiter": delimiter, "null": null, "spelling": spelling}

    def make_planned() -> Accuracy:
        """The plan: solved first, where no solution is given; a given one is computed again."""
        planned = accuracy(
            request.workload,
            request.privacy,
            neighbours=request.neighbours,
            program=program,
            givens=givens,
            strategy=strategy,
            solver=solver,
            tolerance=tolerance,
            time_limit=time_limit,
            max_iterations=max_iterations,
            threads=threads,
            confidence=confidence,
            refuse=True,
            solved=solved,
            say=say,
        )
        if strategy is None or simulate is not None:
            return planned
        return replace(planned, solution=rechecked(planned.solution, request.workload))

    prepared = prepare(
        data,
        request,
        make_planned,
        options=_table_options(data, request.table)
        | {n: value for n, value in given.items() if value is not None},
        is_given=strategy is not None,
        ledger=ledger.path if isinstance(ledger, Ledger) else ledger,
        data_set=data_set,
        part=part,
        anyway=anyway or simulate is not None,
        say=say,
    )
    with prepared.measured(simulate, say=say) as released:
        return released


@dataclass(frozen=True, eq=False)
class PreparedRelease:
    """A planned release that its columns, plan and ledger did not refuse; ``measured`` reads the rows.

    origin : the strategy's and the workload file's part of the manifest; independent of the data.
    """

    data: object
    options: Mapping[str, Any]
    planned: Accuracy
    origin: Mapping[str, Any]
    bill: Bill | None

    @contextmanager
    def measured(
        self,
        simulate_seed: int | None,
        progress: Callable[[str], None] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> Iterator[Release]:
        """Count, charge, add noise; within, whatever goes wrong says what was spent.

        progress : as of ``data_vector``. say : called, before the charge, in confidence with how many rows
            were read and left out.
        """
        part = None if self.bill is None else self.bill.selection
        with heeded():
            counts = counted_data(self.data, self.planned.plan, part=part, progress=progress, **self.options)
            if say is not None:
                say(confidential_words(counts, self.planned.plan, part))
        with measured(self.planned, counts, self.origin, simulate_seed, self.bill) as release:
            yield release


@heeded()
def prepare(
    data: object,
    request: WorkloadAtPrivacy,
    make_planned: Callable[[], Accuracy],
    *,
    options: Mapping[str, Any],
    is_given: bool,
    ledger: str | Path | None,
    data_set: str | None,
    part: str | None,
    anyway: bool = False,
    say: Callable[[str], None] | None = None,
) -> PreparedRelease:
    """The order of every release up to its rows: bill, columns, plan, targets, what the ledger would refuse.

    options : as ``data_vector`` takes them. is_given : whether the solution comes from elsewhere, and its
    claims stay out of the manifest. say : called with ``words_in_rho``. Errors as ``release``.
    """
    names = {"table": options.get("table"), "data_set": data_set, "part": part}
    bill = billed(ledger, data, **names, neighbours=request.neighbours)
    check_columns(
        data,
        request.workload.domain,
        workload=request.workload,
        part=None if bill is None else bill.selection,
        unit=request.neighbours,
        **options,
    )
    planned = make_planned()
    wanted = wishes_and_missed(planned.plan)
    missed = unmet_words(planned.plan.workload.groups(), wanted)
    if missed and not (anyway or planned.plan.absolute):
        free = "" if all(wanted) else " (where every entry has one, however loose, no more is spent)"
        raise PrivacyError(
            f"at this privacy accuracy targets are missed by {missed}",
            hint="no row was read, nothing is spent. 'mmopt accuracy' shows by how much, and 'mmopt budget' "
            f"what the targets need{free}: loosen the targets, allow more privacy, or release anyway with "
            "--anyway (anyway=True in Python)",
        )
    if bill is not None:
        if say is not None and (words := words_in_rho(bill, planned)):
            say(words)
        bill.check(str(planned.plan.neighbours), planned.plan.rho, planned.plan.epsilon)
    file = {} if request.file is None else {"workload_file": dict(request.file)}
    about = planned.solution.summary()
    declared = {name: options.get(name) for name in ("null", "spelling", "weight")}
    return PreparedRelease(
        data,
        options,
        planned,
        {
            **file,
            **({"known": stated_totals(request.totals)} if request.totals else {}),
            "rows": {"rules": row_rules(request.workload), **declared},
            "solution": checked_summary(about) if is_given else about,
        },
        bill,
    )


def words_in_rho(bill: Bill, planned: Accuracy) -> str:
    """The cost of Laplace noise in a ledger of rho, and that of Gaussian noise if it was considered; or "".

    A release at the rho of the latter has that noise: Laplace noise takes no rho.
    """
    if planned.plan.rho is not None or Ledger.load(bill.path).account.terms.measure != "rho":
        return ""
    charged_rho = shown(cost_in("rho", None, planned.plan.epsilon))
    words = f"in the ledger, which counts rho, Laplace noise costs rho {charged_rho} (epsilon² / 2)"
    for other in planned.others:
        rho = rounded(str(other.plan.rho), 5, up=True)
        missed = unmet_words(other.plan.workload.groups(), wishes_and_missed(other.plan))
        but = f" (targets are missed by {missed})" if missed else ""
        words += (
            f"; {other.words} would cost rho {rho}, with {other.figure}{but}: to choose it write "
            f"'privacy: {{rho: {rho}}}' (privacy={{\"rho\": {rho}}} in Python)"
        )
    return words


def _table_options(data: object, table: TableOptions) -> dict[str, Any]:
    """The options of a workload file that this data takes.

    All for a file, a database or a URL; no delimiter for other data, and a table for a connection only.
    """
    if isinstance(data, str | os.PathLike):
        return asdict(table)
    return asdict(replace(table, table=table.table if is_connection(data) else None, delimiter=None))


@contextmanager
def measured(
    planned: Accuracy,
    counts: DataVector | MarginalCounts,
    origin: Mapping[str, Any],
    simulate_seed: int | None,
    bill: Bill | None = None,
) -> Iterator[Release]:
    """The release of what was planned. ``origin``: of the strategy, for the manifest, nothing of the data.

    bill : what is charged before noise is drawn, after every refusal but its own; nothing if simulated.
    """
    data = counts.counts if isinstance(counts, DataVector) else counts
    with heeded():
        exact = counted_exactly(planned.plan, data, simulate_seed, planned.confidence)
    seed = {} if simulate_seed is None else {"simulation_seed": simulate_seed}
    with charged(bill if simulate_seed is None else None, planned.plan, origin) as charge:
        answers = exact.answers()
        entry = {} if charge is None else {"ledger": charge.section()}
        about = {**origin, **planned.solution.about_program()}
        manifest = build_manifest(planned.plan, answers, **about, chosen=planned.words, **seed, **entry)
        yield Release.of(planned.plan, answers, manifest, planned.solution, charge)
