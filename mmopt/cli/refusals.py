"""What can be refused before any work is done, and before the rows of a table are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mmopt.errors import OptionError, PrivacyError

if TYPE_CHECKING:
    from mmopt.request import Request

__all__ = [
    "check_folder",
    "check_out",
    "check_privacy",
    "check_table",
    "refuse_with_strategy",
]


def check_out(path: Path, option: str = "--out", example: str = "solution.npz") -> None:
    """Refuse an output file that could not be written."""
    if path.is_dir():
        raise OptionError(
            f"'{path}' is a folder, {option} names a file", hint=f"for example {path / example}"
        )
    _check_parent(path)


def check_folder(out: Path) -> None:
    """Refuse a release folder that exists, or could not be made."""
    if os.path.lexists(out):
        raise OptionError(
            f"'{out}' exists already; a release is written to a new folder",
            hint="name another folder with --out",
        )
    _check_parent(out)


def _check_parent(path: Path) -> None:
    parent = path.parent
    if not parent.is_dir():
        raise OptionError(
            f"cannot write '{path}': there is no folder '{parent}'", hint="make the folder first"
        )
    if not os.access(parent, os.W_OK):
        raise OptionError(f"cannot write '{path}': the folder '{parent}' is not writable")


def check_privacy(request: Request, program: str, by_targets: bool, norm: int) -> None:
    """Refuse a release when neither privacy parameters nor targets decide how much noise is added.

    And when the parameters are not those of the noise: Laplace for norm 1, Gaussian for norm 2.
    """
    from mmopt.privacy.guarantee import PURE_HINT, allowed_epsilon

    if norm == 2 and request.privacy is not None and request.privacy.is_pure:
        raise PrivacyError(
            f"'{request.path}' asks for pure epsilon (no delta), and '{program}' is for Gaussian noise",
            hint=PURE_HINT,
        )
    if norm == 1 and request.privacy is not None:
        allowed_epsilon(request.privacy)
    if request.privacy is None and not by_targets:
        raise PrivacyError(
            f"'{request.path}' has no privacy parameters, and '{program}' does not set the noise by targets",
            hint="add a line such as 'privacy: {epsilon: 1.0, delta: 1.0e-6}' to the workload file",
        )


def check_table(data: Path, request: Request) -> None:
    """Refuse a table that is missing or lacks a column, by its header alone."""
    from mmopt.data.table import open_columns, reading, table_file

    file = table_file(data)
    with reading(file) as connection:
        open_columns(connection, file, {a.name: a.column for a in request.workload.domain.attributes})


def refuse_with_strategy(options: Mapping[str, object]) -> None:
    """Refuse options of the solve (by their names on the command line) beside --strategy."""
    for name, value in options.items():
        if value is not None and value != []:
            raise OptionError(
                f"{name} has no effect with --strategy, which brings a solution",
                hint=f"leave out {name} or --strategy",
            )
