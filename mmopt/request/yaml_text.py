"""The text of a workload file: read from disk, decoded, split into lines that errors can point at."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from mmopt.errors import Location, WorkloadError, suggest

__all__ = ["MAX_BYTES", "YamlText", "decode", "read_bytes"]

MAX_BYTES = 2 * 2**20
"""Longest workload file: far above any written by hand, and read in seconds."""

# YAML's own line breaks, so that our line numbers are those of the parser.
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class YamlText:
    """A file's text and its lines."""

    file: str
    content: str
    lines: tuple[str, ...]

    @staticmethod
    def of(content: str, file: str) -> YamlText:
        """Split into lines; WorkloadError for a character that YAML does not allow, or too long a text."""
        content = content.removeprefix("\ufeff")
        # Lines are shown in messages; a control character must not reach the terminal.
        text = YamlText(file, content, tuple(_BREAK.split(_NOT_PRINTABLE.sub("\ufffd", content))))
        if len(content) > MAX_BYTES:
            raise _too_large(file)
        if bad := _NOT_PRINTABLE.search(content):
            raise WorkloadError(
                f"the character U+{ord(bad.group()):04X} is not allowed in a workload file",
                where=text.at_offset(bad.start()),
                hint="remove it, or write it as an escape inside double quotes",
            )
        return text

    def at(self, line: int, column: int, width: int = 1) -> Location:
        """The place at a 0-based line and column; past the last text, the end of the last line with any."""
        if line >= len(self.lines) or (line == len(self.lines) - 1 and not self.lines[line]):
            filled = [i for i, text in enumerate(self.lines) if text.strip()]
            line = filled[-1] if filled else 0
            column = len(self.lines[line].rstrip())
        return Location(self.file, line + 1, column + 1, self.lines[line], max(1, width))

    def at_offset(self, offset: int) -> Location:
        """The place of a character, counted from the start of the text."""
        lines = _BREAK.split(self.content[:offset])
        return self.at(len(lines) - 1, len(lines[-1]))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a workload file.

    Raises
    ------
    WorkloadError : missing, a folder, not readable, or longer than ``MAX_BYTES``.
    """
    file = Path(path)
    try:
        if file.is_dir():
            raise WorkloadError(f"'{file}' is a folder, expected a workload file (YAML)")
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise WorkloadError(f"there is no workload file '{file}'", hint=_nearby(file)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WorkloadError(f"the workload file '{file}' cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise _too_large(str(file))
    return data


def decode(data: bytes, file: str) -> str:
    """The text of UTF-8 bytes; WorkloadError for an archive, and at the first byte that is not UTF-8."""
    if data.startswith(b"PK\x03\x04"):
        raise WorkloadError(
            f"'{file}' is an archive, such as a saved result, expected a workload file (YAML)",
            hint="'mmopt verify RESULT WORKLOAD' takes the result first",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _BREAK.split(data[: error.start].decode("utf-8"))
        line = _BREAK.split(data[error.start : error.start + 200].decode("utf-8", errors="replace"))[0]
        raise WorkloadError(
            f"byte 0x{data[error.start]:02X} is not valid UTF-8",
            where=Location(
                file, len(before), len(before[-1]) + 1, _NOT_PRINTABLE.sub("\ufffd", before[-1] + line)
            ),
            hint="save the file as UTF-8 (it may be in Latin-1 or UTF-16 now)",
        ) from None


def _too_large(file: str) -> WorkloadError:
    return WorkloadError(
        f"the workload file '{file}' is longer than {MAX_BYTES // 2**20} MiB",
        hint="a workload file declares the domain and the queries; the data go into a table",
    )


def _nearby(file: Path) -> str:
    """A suggestion among the YAML files of the same folder."""
    try:
        names = [entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    except (OSError, ValueError):
        return ""
    return suggest(file.name, names) if len(names) <= 20 else ""
