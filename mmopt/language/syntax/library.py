"""The texts of the programs that are shipped, and of programs in files of one's own."""

from __future__ import annotations

from pathlib import Path

from mmopt.errors import Location, OptionError, ProgramError, suggest
from mmopt.language.syntax.source import MAX_BYTES
from mmopt.resources import programs_folder

__all__ = ["program_names", "program_text"]

SUFFIX = ".program"


def program_names() -> list[str]:
    """Names of the shipped programs, sorted."""
    return sorted(path.stem for path in programs_folder().glob(f"*{SUFFIX}"))


def program_text(name: str | Path) -> tuple[str, str]:
    """Text and file of a shipped program by name, or of any by its path (ends in .program or has a slash)."""
    text = str(name)
    if text.endswith(SUFFIX) or "/" in text or isinstance(name, Path):
        return _read(Path(text))
    known = program_names()
    if text not in known:
        own = f"a program of your own is given by its path, ending in {SUFFIX}"
        raise OptionError(f"there is no program '{text}'", hint=f"{suggest(text, known)} ({own})")
    return _read(programs_folder() / f"{text}{SUFFIX}")


def _read(path: Path) -> tuple[str, str]:
    if not path.is_file():
        message = f"there is no program file '{path}'"
        raise OptionError(message, hint=f"known by name: {', '.join(program_names())}")
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise OptionError(f"the program file '{path}' cannot be read: {error.strerror}") from None
    if size > MAX_BYTES:
        message = f"a program file of {size} bytes; at most {MAX_BYTES} are read"
        hint = "a program file holds formulas; data are given with --given NAME=FILE"
        raise ProgramError(message, where=Location(str(path), 1, 1), hint=hint)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise ProgramError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8",
            where=Location(str(path), before.count("\n") + 1, len(before) - before.rfind("\n")),
            hint="save the file as UTF-8",
        ) from None
    return text, str(path)
