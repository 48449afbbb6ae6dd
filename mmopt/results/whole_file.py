"""A file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mmopt.errors import ResultError

__all__ = ["write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Write the bytes, in place of what the file had; a folder that is missing is made.

    Raises
    ------
    ResultError : that is not possible; what the file had stays.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # there is none, or no such folder
            part.unlink()
        raise ResultError(f"'{path}' cannot be written: {error.strerror}") from None
