"""A file that is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from mmopt.errors import ResultError

__all__ = ["write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Write the bytes, in place of what the file had; ResultError when that is not possible."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ResultError(f"'{path}' cannot be written: {error.strerror}") from None
