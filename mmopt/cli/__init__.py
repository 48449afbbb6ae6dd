"""The command line: what is typed, read and refused, and where output goes; nothing is computed here.

``main`` is the entry point; every command has a file of its own. How results look stands in ``mmopt.report``.

Only typer is imported at the top of these files: help must not wait for numpy or a solver.
"""

from mmopt.cli.app import main

__all__ = ["main"]
