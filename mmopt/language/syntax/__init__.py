"""From the text of a program to its tree, with places for messages, and from an expression back to text.

What a tree means (types, curvature, values) is not known here.

``source.py`` has the text as tokens, each statement read once; ``sections.py`` the sections and
their statements; ``statements.py`` and ``expression.py`` read them; ``program.py`` puts a program together;
``tree.py`` is what comes out.
"""
