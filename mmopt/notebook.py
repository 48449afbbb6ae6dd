"""How what users hold is shown in a notebook: by ``mmopt.report``, which is imported when it is shown.

Reports stand above all that they show; the way up is here alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

    from mmopt.report import Frame


class Displayed:
    """What has a display: ``report.displays`` says which."""

    def _repr_html_(self) -> str:
        from mmopt.report import display

        return display(self)


class Tabular(Displayed):
    """What is a table, too: ``report.frames`` says which. Any library of data frames takes it as it is."""

    def frame(self) -> Frame:
        """Its rows as named columns: of a workload the queries, of what says how accurate answers are
        these, of a release the answers, of a recheck the checks.
        """
        from mmopt.report import framed

        return framed(self)

    def to_arrow(self) -> pyarrow.Table:
        """``frame()`` as a ``pyarrow.Table``."""
        return self.frame().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """``frame()`` as a ``pandas.DataFrame``; OptionError where pandas is not installed."""
        return self.frame().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """``frame()`` as a ``polars.DataFrame``; OptionError where polars is not installed."""
        return self.frame().to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """``frame()`` as an Arrow stream (PyCapsule interface)."""
        return self.frame().__arrow_c_stream__(requested_schema)


class Charted(Tabular):
    """What has charts, and the table behind each: ``report.displays`` and ``report.frames`` say which."""

    def frame(self, kind: str = "", workload: Any = None) -> Frame:
        """What ``plot`` of the same kind draws, as named columns; of a comparison its outcomes.

        Columns of "convergence": as ``report.solution_tables`` has them, a row an iteration. "strategy": a
        column a cell, a row a measured query. "profile": squared_column and the number of cells that have
        it. "errors": query, label, what the query says of each attribute, then standard errors at unit
        noise per unit of sensitivity, in counts: ``standard_error``, and that of each baseline.

        Raises
        ------
        OptionError, ResultError : as ``plot``. TooLargeError : entries of a strategy that is not dense.
        """
        from mmopt.report import framed

        return framed(self, kind, workload)

    def plot(self, kind: str = "", workload: Any = None) -> Figure:
        """A matplotlib figure.

        Parameters
        ----------
        kind : of a strategy "strategy" (a heat map, the default) or "profile" (what each cell costs); of a
            solution "convergence" (gap against seconds and iterations, the default: what is certified and
            what the solver counts of its own are told apart) or one of these; of both "errors" of the
            queries beside those of baselines; of a comparison "convergence".
        workload : whose errors; for "errors" only, as ``solve`` takes it.

        Raises
        ------
        OptionError : matplotlib is not installed, a kind that there is not, or no workload for "errors".
        ResultError : another workload than that of the solution.
        """
        from mmopt.report import chart

        return chart(self, kind, workload)


class Reported:
    """What a page can be written about: ``report.page`` says what stands there."""

    def report(self, path: str | Path | None = None, workload: Any = None) -> str:
        """One HTML page of program, strategy, errors, bound and convergence, which loads nothing; its text.

        Parameters
        ----------
        path : where it is written, too; an existing file is replaced, whole or not at all.
        workload : what was solved, as ``solve`` takes it; without it what needs it is left out.

        Raises
        ------
        OptionError : matplotlib is not installed.
        ResultError : another workload than that of the solution; the file cannot be written.
        """
        from mmopt.report import solution_page

        return solution_page(self, path, workload)
