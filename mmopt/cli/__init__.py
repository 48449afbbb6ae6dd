"""The command line. ``main`` is the entry point; every command has a file of its own.

Only typer is imported at the top of these files: help must not wait for numpy or a solver.
"""

from mmopt.cli.app import main

__all__ = ["main"]
