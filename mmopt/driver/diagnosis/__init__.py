"""Why a program has no solution: lines that conflict, or what can grow, with a proof. Finds no solution.

- ``elastic_form.py``: the elastic form of a program: constraints relaxed by a common slack
- ``growth.py``: an objective that gets better without end
- ``diagnose.py``: the words of a diagnosis
"""
