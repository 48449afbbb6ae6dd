"""From the text of a program to its tree, with places for messages, and from an expression back to text.

What a tree means (types, curvature, values) is not known here.

- ``source_text.py``: the text as lines and tokens, each statement read once
- ``program_sections.py``: the sections, and their statements still unread
- ``parse_statements.py``: declarations, assignments, constraints, steps
- ``parse_constraints.py``: constraints for all values of an index or two
- ``neighbourhood.py``: the set of neighbours that a guarantee is for
- ``parse_expression.py``: expressions, by Python's grammar
- ``names_elsewhere.py``: what atoms are called in other languages
- ``program.py``: ``Program``: all that a file says, put together
- ``syntax_tree.py``: the tree that comes out
- ``to_text.py``: an expression written as text again
"""
