"""From the text of a program to its tree, with places for messages, and from an expression back to text.

What a tree means (types, curvature, values) is not known here.

- ``source_text.py``: the text as sections, and their statements as tokens, each read once
- ``parse_statements.py``: statements: declarations, assignments, constraints, steps
- ``program.py``: a program: the content of its file, as frozen data
- ``parse_expression.py``: expressions: a white list of Python's grammar, and words of other languages
- ``syntax_tree.py``: the syntax tree of a program, its expressions as text, and exact rewriting of them: a
  family of lines as one vector line
"""
