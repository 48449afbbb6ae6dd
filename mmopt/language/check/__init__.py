"""What is known of a program before any number: names, dimensions, shapes, curvature. Nothing is evaluated.

``program.py`` checks a whole program, in the order of its text: ``names.py``, ``infer.py`` (the type of
an expression), ``relations.py`` (a line), ``procedures.py`` (steps), ``after_solving.py``
(starts, repair, meaning, certificate).
"""
