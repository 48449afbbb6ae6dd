"""A program checked before any number is known: names, dimensions, shapes, curvature. Nothing is evaluated.

- ``whole_program.py``: ``check``: a whole program, in the order of its text
- ``curvature_survey.py``: a program line by line: every node with the rule that gives its curvature, in words
- ``names_and_relations.py``: checks of names, relations, ranks and objectives, with advice on curvature
- ``infer_types.py``: the type of every expression and of its entries
- ``sections_after_constraints.py``: checks of the sections on solutions and of procedures
"""
