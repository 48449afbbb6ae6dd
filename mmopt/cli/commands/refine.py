"""``mmopt refine FOLDER WORKLOAD``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from mmopt.cli.command_inputs import check_folder, read_request
from mmopt.cli.command_options import Json, TimeLimit, Tolerance, WorkloadFile
from mmopt.cli.command_output import answer, note
from mmopt.errors import OptionError

__all__ = ["refine"]


def refine(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Written by --out of 'mmopt release'.")],
    workload: WorkloadFile,
    total: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[QUERY=]VALUE",
            help="How many rows were counted, without those that rules drop, where that is public; with the "
            "label of a query, as in answers.csv, its answer. May be repeated.",
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Whole numbers, which still add up in hierarchies and tables.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="New folder: the release, with a column 'refined'.")
    ] = Path("refined"),
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Answers that counts can have, beside the unbiased ones: non-negative, of known totals, whole.

    They are the answers of counts, so that they add up, and as near to the released ones as can be, each
    distance in standard errors; how near is proved. It reads published numbers alone and spends no privacy.
    Refined answers are biased: standard errors and intervals stay those of the released estimates.
    """
    from mmopt.answers import load_release
    from mmopt.mechanism.release_folder import ANSWERS_FILE
    from mmopt.report import answers_table, pairs_table

    check_folder(out)
    totals = _totals(total or [])
    release = load_release(folder, read_request(workload))
    found = release.refine(whole=whole, totals=totals, tolerance=tolerance, time_limit=time_limit)
    written = found.save(out)
    if as_json and not found.private:
        note(found.answers.metadata["warning"])
    parts = [
        pairs_table(row for row in found.rows() if row[0] in ("not private", "asked", "refined", "optimum")),
        "",
        answers_table(found.answers),
        "",
        f"{len(found):,} answers: {written / ANSWERS_FILE}",
        f"read it back:   mmopt show {written}",
    ]
    answer(as_json, {"out": str(written), **found.manifest}, parts)


def _totals(texts: list[str]) -> dict[str | int | None, float]:
    """The values by label, None for all rows; OptionError for what is no number, or stands twice."""
    found: dict[str | int | None, float] = {}
    for text in texts:
        label, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or (equals and not label.strip()):
            raise OptionError(
                f"--total is '{text}', expected a number of rows, or QUERY=VALUE",
                hint="for example --total 29501 --total 'education = high school=9500'",
            )
        query = label.strip() if equals else None
        if query in found:
            raise OptionError(
                f"--total is given twice for {'all rows' if query is None else repr(query)}",
                hint="keep one of them",
            )
        found[query] = number
    return found
