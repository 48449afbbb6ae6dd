"""The command line: arguments are read and refused, results printed; nothing is computed here.

``mmopt.report`` makes the tables. Help must not wait for numpy or a solver: ``app.py`` and what it imports
load typer alone, and a command's module is loaded when it runs.

- ``app.py``: the application, ``main``, and how errors and Ctrl-C become messages and exit statuses
- ``command_table.py``: the commands: where the function of each is, its help, and its parameters
- ``command_options.py``: options that several commands share, and words that the shell completes
- ``commands/``: the functions of the commands, one or a few in a file
- ``command_inputs.py``: arguments of the command line, read and checked before any work
- ``solve_and_plan.py``: the strategy of a command, and its release as planned
- ``command_output.py``: where the output of a command goes, and the exit statuses
"""

from mmopt.cli.app import main

__all__ = ["main"]
