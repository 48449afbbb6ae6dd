"""What a release gives back: answers in any frame, a picture, the covariance of errors, a folder."""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.answers.derived_figures import derived
from mmopt.answers.read_folder import read_answers, read_manifest
from mmopt.errors import OptionError, suggest
from mmopt.ledger import Charge, charge_in_errors
from mmopt.mechanism.answer_columns import answers_frame
from mmopt.mechanism.covariances import covariance
from mmopt.mechanism.measurement import Answers
from mmopt.mechanism.release_folder import (
    CHART_FILE,
    MANIFEST_FILE,
    STRATEGY_FILE,
    guarantee,
    write_release,
)
from mmopt.mechanism.release_plan import Plan
from mmopt.notebook import Tabular
from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.outward import rounded
from mmopt.report import Contents, answers_table, display, write_page
from mmopt.report.charts import has_matplotlib, save
from mmopt.report.release_chart import release_figure
from mmopt.report.saved_release import release_rows
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import AnySolution, Frame, load_saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mmopt.answers.refined_answers import Totals

__all__ = ["Release", "load_release"]

_LONGEST_HINT = 400  # characters: of many queries not all labels are listed


@dataclass(frozen=True, eq=False, repr=False)
class Release(Tabular):
    """Released answers, what they rest on, and what can be said of their errors. Nothing in it is secret.

    Attributes
    ----------
    answers : the tidy answers, one row a query (``mechanism.answer_columns``): its group and label, what it
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
    solution: AnySolution | None = None
    charge: Charge | None = None
    unchecked: tuple[str, ...] = ()

    @staticmethod
    def of(
        plan: Plan,
        answers: Answers,
        manifest: Mapping[str, Any],
        solution: AnySolution | None = None,
        charge: Charge | None = None,
    ) -> Release:
        """The release of measured answers, with the manifest of ``build_manifest``."""
        return Release(answers_frame(answers, guarantee(manifest)), manifest, plan, solution, charge)

    @property
    def private(self) -> bool:
        """Whether the noise was drawn for privacy; simulated answers must not be published."""
        return bool(self.manifest["private"])

    def frame(self) -> Frame:
        """``answers``."""
        return self.answers

    def __len__(self) -> int:
        """Number of answers."""
        return len(self.answers)

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
        said = self.manifest.get("workload_file", {})
        contents = Contents(
            said.get("name") or "A release",
            workload=None if self.plan is None else self.plan.workload,
            file_hash=said.get("sha256", ""),
            solution=self.solution,
            plan=self.plan,
            manifest=self.manifest,
            answers=self.answers,
        )
        return write_page(contents, path)

    def covariance(self, queries: int | str | slice | Iterable[int] | Iterable[str]) -> Array:
        """Covariance matrix (k, k) of the errors of the estimates of k queries, in squared counts.

        Of the noise as it was drawn: the diagonal is ``standard_error`` squared, up to rounding. The error of
        a sum of answers has the variance that the entries add up to, that of a difference d its dᵀ C d.

        Parameters
        ----------
        queries : their numbers (rows of ``answers``), a slice of these, their labels, or one of them.

        Raises
        ------
        OptionError : no such query, a label that several queries have, or a release without its plan.
        TooLargeError : the coefficients of the estimates do not fit in memory, or take too long to find.
        """
        rows = self.numbers(queries)
        if self.plan is None:
            raise OptionError(
                "a release that was loaded from its folder does not hold its queries, which covariances need",
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
        """The same release with answers that counts can have beside its own: the column ``refined``.

        Non-negative, with known totals, whole if asked for; as near to the released answers as can be, which
        is proved. They spend no privacy, and are biased. Arguments and errors: ``refined_answers.refine``.
        """
        from mmopt.answers.refined_answers import refine  # which solves

        return refine(self, whole=whole, totals=totals, tolerance=tolerance, time_limit=time_limit)

    def numbers(self, queries: object) -> Ints:
        """The numbers (k,) of queries that are asked for as for ``covariance``, with its errors."""
        if isinstance(queries, slice):
            return np.arange(len(self))[queries]
        each = [queries] if isinstance(queries, str) or not isinstance(queries, Iterable) else queries
        labels: dict[str, list[int]] = {}
        numbers = []
        for query in each:
            if isinstance(query, str):
                if not labels:
                    for row, label in enumerate(self.answers["label"]):
                        labels.setdefault(label, []).append(row)
                numbers.append(_of_label(query, labels))
            else:
                numbers.append(self._number(query))
        return np.array(numbers, dtype=np.int64)

    def _number(self, query: object) -> int:
        try:
            row = operator.index(query)  # type: ignore[arg-type]
        except TypeError:
            raise OptionError(
                f"a query is asked for by {type(query).__name__}, expected its number or its label"
            ) from None
        if not -len(self) <= row < len(self):
            raise OptionError(f"there is no query {row}, expected 0 to {len(self) - 1}")
        return row % len(self)

    def save(self, folder: str | Path) -> Path:
        """Write the release into a new folder, which appears complete or not at all; returns its path.

        answers.csv and answers.parquet with the same numbers, answers.svg where matplotlib is installed,
        strategy.npz for 'mmopt verify' where the solution is known, and manifest.json, which lists them. The
        ledger that was charged then knows of the folder; of several, of the first: also of refined answers,
        beside which the release stands whole.

        Raises
        ------
        OptionError : the folder exists already, or its parent cannot be written.
        LedgerError : the ledger cannot be written; the folder is complete.
        """
        with charge_in_errors(self.charge):
            written = self._written(folder)
        if self.charge is not None:
            self.charge.confirm(written, (written / MANIFEST_FILE).read_bytes())
        return written

    def _written(self, folder: str | Path) -> Path:
        files = {}
        with tempfile.TemporaryDirectory() as scratch:
            if has_matplotlib():
                save(Path(scratch, CHART_FILE), self.plot)
                files[CHART_FILE] = Path(scratch, CHART_FILE).read_bytes()
            if self.solution is not None:
                files[STRATEGY_FILE] = self.solution.save(Path(scratch, STRATEGY_FILE)).read_bytes()
        return write_release(self.answers, self.manifest, folder, files)

    @staticmethod
    def load(folder: str | Path, workload: WorkloadLike | None = None) -> Release:
        """A release read from its folder, as ``load_release``."""
        return load_release(folder, workload)

    def rows(self) -> list[tuple[str, str]]:
        """What was asked, spent and measured, as (name, text)."""
        return release_rows(self.manifest)

    def __repr__(self) -> str:
        rho, epsilon = self.manifest["privacy"]["rho"], self.manifest["privacy"]["epsilon"]
        name, cost = ("rho", rho) if epsilon is None else ("epsilon", epsilon)
        of = self.manifest["privacy"]["neighbours"]
        to = "" if of == "add-remove" else f" for {of}"
        spent = f"{name} {rounded(str(cost), 6, up=True)}{to}"
        said = spent if self.private else "SIMULATED NOISE, not private"
        rmse = rounded(float(self.manifest["accuracy"]["rmse"]), 6, up=True)
        return f"Release({len(self):,} answers, {said}, rmse {rmse})"

    def _repr_html_(self) -> str:
        return display(self.rows(), answers_table(self.answers))


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
    strategy = path / STRATEGY_FILE
    solution = load_saved(strategy) if STRATEGY_FILE in manifest.get("files", {}) else None
    asked = None if workload is None else as_workload(workload)
    plan, unchecked = derived(path, manifest, answers, asked, solution)
    release = Release(answers, manifest, plan, solution, unchecked=unchecked)
    if plan is not None and "refined" in manifest:
        from mmopt.answers.refined_answers import check_refined  # which solves

        if not check_refined(release, path):
            release = replace(release, unchecked=(*unchecked, "refined"))
    return release


def _of_label(query: str, labels: Mapping[str, list[int]]) -> int:
    rows = labels.get(query, [])
    if not rows:
        hint = suggest(query, labels)
        many = len(hint) > _LONGEST_HINT
        raise OptionError(
            f"there is no query '{query}'",
            hint="the column 'label' of the answers has them" if many else hint,
        )
    if len(rows) > 1:
        raise OptionError(
            f"{len(rows)} queries have the label '{query}': {', '.join(map(str, rows))}",
            hint="ask for them by number",
        )
    return rows[0]
