"""Why a program has no solution: lines that conflict, or what can grow, with a proof. Finds no solution.

- ``diagnose.py``: the reasons why a program has no solution, in its own names, with advice
- ``elastic_form.py``: the elastic form of a program: constraints relaxed by a common slack
- ``conflicts_and_growth.py``: which lines conflict, or what grows without end
"""
