"""What a measurement leaves behind: rows as CSV, everything as JSON, the chart as SVG."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mmopt.errors import ResultError
from mmopt.report.drawing import check_chart, save
from mmopt.report.whole import write_whole
from mmopt.testing.bench.fit import Exponent
from mmopt.testing.bench.measure import Row
from mmopt.testing.bench.plot import draw

__all__ = ["NAMES", "check_folder", "write"]

NAMES = ("bench.csv", "bench.json", "bench.svg")


def check_folder(folder: Path) -> None:
    """Create the folder; refuse before anything is measured when nothing could be written there.

    Raises
    ------
    ResultError : it cannot be created, or is a file.
    OptionError : matplotlib is not installed.
    """
    check_chart(folder / NAMES[2])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"the folder '{folder}' cannot be created: {error.strerror}") from None


def write(
    rows: Sequence[Row], found: Sequence[Exponent], settings: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Write the three files of ``NAMES``, in place of what was there; their paths.

    Parameters
    ----------
    settings : how it was measured, for the JSON file.

    Raises
    ------
    ResultError, OptionError : as ``check_folder``; a file cannot be written.
    """
    check_folder(folder)
    paths = [folder / name for name in NAMES]
    summaries = [_plain(row.summary()) for row in rows]
    everything = {
        "settings": dict(settings),
        "rows": summaries,
        "exponents": [asdict(exponent) for exponent in found],
    }
    text = io.StringIO()
    if summaries:
        table = csv.DictWriter(text, list(summaries[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(summaries)
    write_whole(paths[0], text.getvalue().encode())
    write_whole(paths[1], json.dumps(everything, indent=2, allow_nan=False).encode())
    save(paths[2], lambda: draw(rows, found))
    return paths


def _plain(summary: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    infinite = (float("inf"), float("-inf"))
    return {name: None if value in infinite else value for name, value in summary.items()}
