"""The command line: arguments are read and refused, results printed; nothing is computed here.

``mmopt.report`` makes the tables. Only typer is imported at the top of these files: help must not wait for
numpy or a solver.

- ``app.py``: the application and ``main``, its entry point
- ``commands/``: the commands, one or a few in a file
- ``command_options.py``: options that several commands share, and words that the shell completes
- ``command_inputs.py``: arguments of the command line, read and checked before any work, strategies among
  them
- ``command_output.py``: where output goes, and how errors become messages and exit statuses
"""

from mmopt.cli.app import main

__all__ = ["main"]
