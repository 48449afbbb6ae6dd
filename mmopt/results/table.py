"""Rows of (name, text) as plain text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["as_html", "as_text"]


def as_text(rows: Sequence[tuple[str, str]]) -> str:
    """Two aligned columns."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def as_html(rows: Sequence[tuple[str, str]]) -> str:
    """A table for a notebook."""
    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table>{cells}</table>"
