"""``python -m mmopt.testing.studies NAME``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import typer

from mmopt.cli.guard import guarded
from mmopt.testing.studies.adaptive_command import adaptive
from mmopt.testing.studies.fitness_command import fitness

__all__ = ["STUDIES", "main"]

STUDIES: Mapping[str, Callable[..., None]] = MappingProxyType({"adaptive": adaptive, "fitness": fitness})
"""The studies by name, in the order in which help lists them."""


def _studies() -> None:
    """Experiments of the papers, run again and printed beside the printed figures."""


def main() -> None:
    """Run it on ``sys.argv``."""
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_studies)  # so that one study has a name too
    for name, study in STUDIES.items():
        app.command(name)(guarded(study))
    app(prog_name="python -m mmopt.testing.studies")


if __name__ == "__main__":
    main()
