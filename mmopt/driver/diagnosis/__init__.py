"""Why a program has no solution: lines that conflict, or what can grow, with a proof. Finds no solution.

- ``diagnose.py``: the diagnosis of a solve that gave no point
- ``relaxable_lines.py``: the lines of a program, each of which may give way
- ``elastic_form.py``: the elastic form, in which lines give way by a common slack
- ``conflicts_and_growth.py``: which lines conflict, or what grows without end
- ``unattained.py``: an objective that gets better without end, whatever the solver calls its point
- ``infinite_objectives.py``: what to do where the objective has no finite value
- ``advice_on_conflicts.py``: the sentences, and what to change
"""
