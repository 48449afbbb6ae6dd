"""The command line: what is typed, read and refused, and where output goes; nothing is computed here.

How results look stands in ``mmopt.report``. Only typer is imported at the top of these files: help must not
wait for numpy or a solver.

- ``app.py``: the application and ``main``, its entry point
- ``commands/``: the commands, a file each
- ``command_options.py``: options that several commands share
- ``command_inputs.py``: files and values from the command line, read, and refused before any work
- ``command_strategy.py``: the strategy that a command speaks of, at the file's privacy
- ``command_output.py``: where output goes: tables or JSON on stdout, notes and the live line on stderr
- ``completion.py``: what the shell completes beside files
- ``command_guard.py``: errors as messages and exit statuses, Ctrl-C, time limits
"""

from mmopt.cli.app import main

__all__ = ["main"]
