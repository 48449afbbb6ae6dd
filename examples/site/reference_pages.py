"""The rest of the reference, from what is there: commands from their help, Python from its docstrings."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path

from atom_pages import atoms_page
from docstring_pages import docstring_page
from typer.testing import CliRunner

import mmopt
import mmopt.language
import mmopt.request
from mmopt.cli.app import build
from mmopt.language import SOURCES

__all__ = ["commands_page", "language_page", "python_page", "write_reference"]

ROOT = Path(__file__).resolve().parents[2]
# What Python offers, in the order of a reader's way; a name that stands nowhere here is put under "More".
PARTS = {
    "Answers at a stated privacy": ("answers", "data", "mechanism", "privacy"),
    "What is asked": ("workloads", "request"),
    "Programs and solutions": ("language", "driver", "results", "report", "comparison", "exchange", "proof"),
    "Strategies": ("strategies",),
    "Errors": ("errors",),
}
# Examples whose results are pages, and the names of these.
RESULTS = {"reproduce": "reproduced", "data-adaptive": "data-adaptive", "benchmark": "benchmark"}


def write_reference(source: Path) -> None:
    """Write the generated pages of the reference into the folder that Sphinx reads."""
    folder = source / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "language.rst": language_page(),
        "atoms.md": atoms_page(),
        "workload-file.rst": docstring_page(mmopt.request, "The workload file", "yaml"),
        "commands.md": commands_page(),
        "python.rst": python_page(),
        "errata.md": (ROOT / "programs" / "ERRATA.md").read_text(encoding="utf-8"),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    for example, name in RESULTS.items():
        for file in sorted((ROOT / "examples" / example / "results").iterdir()):
            if file.suffix in (".md", ".svg", ".png"):
                target = folder / (f"{name}.md" if file.name == "page.md" else file.name)
                assert not target.exists(), f"two results have a file of the name {target.name}"
                shutil.copy(file, target)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def language_page() -> str:
    """The docstring of the language; its list of atoms is a page of its own, its sources follow."""
    text = docstring_page(
        mmopt.language,
        "The language of programs",
        "mmopt",
        without=("Atoms",),
        within={"In Python": "python"},
    )
    sources = "\n\n".join(f"``{name}``\n    {about}" for name, about in SOURCES.items())
    atoms = "Atoms\n-----\n\nEvery function and operator has an entry in :doc:`atoms`, with an example."
    return f"{text}\n{atoms}\n\nSources of what is given\n------------------------\n\n{sources}\n"


def commands_page() -> str:
    """The help of every command, as ``mmopt COMMAND --help`` prints it."""
    app = build()
    shown = CliRunner()

    def printed(*words: str) -> list[str]:
        text = shown.invoke(app, [*words, "--help"], prog_name="mmopt").output
        return ["", "```text", text.strip(), "```", ""]

    lines = ["# The command line", *printed()]
    for command in app.registered_commands:
        lines += [f"## mmopt {command.name}", *printed(str(command.name))]
    for group in app.registered_groups:
        inner = group.typer_instance
        assert inner is not None
        name = str(inner.info.name)
        lines += [f"## mmopt {name}", *printed(name)]
        for command in inner.registered_commands:
            lines += [f"### mmopt {name} {command.name}", *printed(name, str(command.name))]
    return "\n".join(lines)


def python_page() -> str:
    """Every public name of the package, by what it is for."""
    lines = ["Python", "======", "", ".. currentmodule:: mmopt", ""]
    names = [name for name in mmopt.__all__ if name != "__version__"]
    homes = {name: inspect.unwrap(getattr(mmopt, name)).__module__.split(".")[1] for name in names}
    parts = {
        **PARTS,
        "More": tuple(sorted(set(homes.values()) - {h for part in PARTS.values() for h in part})),
    }
    for title, folders in parts.items():
        chosen = [name for folder in folders for name in names if homes[name] == folder]
        chosen.sort(key=lambda name: isinstance(getattr(mmopt, name), type))  # functions first
        if chosen:
            lines += [title, "-" * len(title), "", *(line for name in chosen for line in _documented(name))]
    return "\n".join(lines)


def _documented(name: str) -> Iterator[str]:
    what = getattr(mmopt, name)
    if isinstance(what, type):
        bases = ["   :show-inheritance:"] if issubclass(what, Exception) else []
        yield from (
            f".. autoclass:: mmopt.{name}",
            "   :members:",
            "   :exclude-members: __init__",
            *bases,
            "",
        )
    else:
        yield from (f".. autofunction:: mmopt.{name}", "")
