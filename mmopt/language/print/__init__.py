"""A program and its expressions in print: LaTeX and plain text. The language itself is written in syntax.

- ``typeset.py``: expressions, names and numbers
- ``prose_formulas.py``: mathematics between backticks in words
- ``program_layout.py``: a whole program, as labelled lines
"""
