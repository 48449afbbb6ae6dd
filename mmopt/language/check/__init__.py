"""What is known of a program before any number: names, dimensions, shapes, curvature. Nothing is evaluated.

- ``whole_program.py``: ``check``: a whole program, in the order of its text
- ``names_and_givens.py``: the names with their types, as they come into being
- ``infer_types.py``: the type of an expression
- ``index_types.py``: the type of what is taken by index
- ``relation_checks.py``: a line: shapes, curvature or gradients
- ``advice_on_curvature.py``: what to write instead of what is not curved as it has to be
- ``exact_rewriting.py``: expressions written otherwise: a family of lines as one vector line
- ``procedure_checks.py``: the steps of a procedure
- ``solution_section_checks.py``: starts, repair, meaning, certificate
- ``curvature_survey.py``: a program line by line, every node with the rule that gives its curvature
"""
