"""Programs that a user might make of shipped ones, by changing their text."""

from __future__ import annotations

from mmopt.language import Program

__all__ = ["edited"]


def edited(name: str, *changes: tuple[str, str], called: str = "") -> Program:
    """A shipped program with pieces of its text replaced; each must be there."""
    text = Program.load(name).text
    for old, new in ((f"program {name}", f"program {called or name}"), *changes):
        assert old in text, f"'{old}' is not in {name}"
        text = text.replace(old, new)
    return Program.parse(text)
