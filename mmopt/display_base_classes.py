"""Base classes of objects that have displays, tables, charts and pages, all made by ``mmopt.report``.

``mmopt.report`` imports the classes that it shows; only this file imports in the other direction, and only
when an object is shown.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmopt.errors import OptionError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

    from mmopt.report import Frame


class Displayed:
    """The base of classes that a notebook displays: see ``report/displays_and_report_page.py``."""

    def _repr_html_(self) -> str:
        from mmopt.report import display

        return display(self)


class Tabular(Displayed):
    """The base of classes that are tables, for any library of data frames: see the file named above."""

    def frame(self) -> Frame:
        """The rows as named columns: the queries of a workload, the errors of a prediction of accuracy, the
        answers of a release, the checks of a recheck.
        """
        from mmopt.report import framed

        return framed(self)

    def to_arrow(self) -> pyarrow.Table:
        """``frame()`` as a ``pyarrow.Table``: missing values are null, the metadata go into its schema."""
        import pyarrow

        frame = self.frame()
        arrays = {
            name: pyarrow.array(
                values, type=pyarrow.string() if values.dtype == object else None, from_pandas=True
            )
            for name, values in frame.columns.items()
        }
        return pyarrow.table(arrays, metadata=dict(frame.metadata))

    def to_pandas(self) -> pandas.DataFrame:
        """``frame()`` as a ``pandas.DataFrame``, with the metadata in ``attrs``.

        OptionError where pandas is not installed.
        """
        _need("pandas")
        import pandas

        rows = self.frame()
        table = pandas.DataFrame({name: values.copy() for name, values in rows.columns.items()})
        table.attrs.update(rows.metadata)
        return table

    def to_polars(self) -> polars.DataFrame:
        """``frame()`` as a ``polars.DataFrame``; OptionError where polars is not installed."""
        _need("polars")
        import polars

        return polars.DataFrame(self.frame())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """``frame()`` as an Arrow stream (PyCapsule interface)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _need(library: str) -> None:
    """Raise OptionError where the library is not installed."""
    if importlib.util.find_spec(library) is None:
        raise OptionError(
            f"a {library} frame needs {library}, which is not installed", hint=f"pip install {library}"
        )


class Charted(Tabular):
    """The base of classes that have charts, and the figures of charts as tables: see the file named above."""

    def frame(self, kind: str = "", workload: Any = None) -> Frame:
        """The figures of ``plot`` of the same kind as named columns; for a comparison its outcomes.

        Columns of "convergence": see ``report.solution_and_comparison_tables``; a row for an iteration.
        "strategy": a column for each cell, a row for each measured query. "profile": squared_column and
        the number of cells that have it. "errors": query, label, the query's part of each attribute, then
        standard errors at unit noise per unit of sensitivity, in counts: ``standard_error``, and that of each
        baseline.

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
        kind : for a strategy "strategy" (a heat map, the default) or "profile" (the cost of each cell); for a
            solution "convergence" (gap against seconds and iterations, the default: certified gaps and the
            solver's count are drawn differently) or one of these; for both "errors" of the queries, with
            those of baselines; for a comparison "convergence".
        workload : the queries; for "errors" only, as ``solve`` takes it.

        Raises
        ------
        OptionError : matplotlib is not installed, an unknown kind, or no workload for "errors".
        ResultError : another workload than that of the solution.
        """
        from mmopt.report import chart

        return chart(self, kind, workload)


class Reported:
    """The base of classes about which a page can be written: see ``report/displays_and_report_page.py``."""

    def report(self, path: str | Path | None = None, workload: Any = None) -> str:
        """One HTML page of program, strategy, errors, bound and convergence, which loads nothing; its text.

        Parameters
        ----------
        path : a file to write it to; an existing one is replaced, whole or not at all.
        workload : the queries, as ``solve`` takes them; without it sections that need it are left out.

        Raises
        ------
        OptionError : matplotlib is not installed.
        ResultError : another workload than that of the solution; the file cannot be written.
        """
        from mmopt.report import solution_page

        return solution_page(self, path, workload)
