"""From the text of a program to its tree, with places for messages, and from an expression back to text.

What a tree means (types, curvature, values) is not known here.

- ``source_text.py``: the text with places in it: statements as tokens, each read once
- ``program_sections.py``: the text as sections with their statements, and which class of programs has which
- ``parse_statements.py``: statements: declarations, assignments, constraints, steps
- ``program.py``: a program: the content of its file, as frozen data
- ``parse_and_write_expressions.py``: expressions: a white list of Python's grammar, and expressions written
  as text
- ``names_from_elsewhere.py``: names of cvxpy, CVX, JuMP, numpy and scipy, with what replaces each
- ``syntax_tree.py``: the syntax tree of a program
- ``exact_rewriting.py``: expressions written otherwise, exactly: a family of lines as one vector line
"""
