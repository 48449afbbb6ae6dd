"""The command line: what is typed, read and refused, and where output goes; nothing is computed here.

How results look stands in ``mmopt.report``. Only typer is imported at the top of these files: help must not
wait for numpy or a solver.

- ``app.py``: the application and ``main``, its entry point
- ``commands/``: the commands, a file each
- ``command_options.py``: options that several commands share, and what the shell completes
- ``command_inputs.py``: arguments of the command line, read and checked before any work, strategies among
  them
- ``command_output.py``: where output goes, and how errors become messages and exit statuses
"""

from mmopt.cli.app import main

__all__ = ["main"]
