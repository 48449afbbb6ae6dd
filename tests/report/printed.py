"""Tables as a console prints them."""

import io

from rich.console import Console


def printed(part: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.split("\n"))


def words(part: object, width: int = 80) -> str:
    """Its words in one line, with single spaces."""
    return " ".join(printed(part, width).split())
