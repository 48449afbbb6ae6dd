"""The experiments of the papers, run again and printed beside the printed figures.

``python -m mmopt.testing.studies NAME``; the table of studies is in ``__main__``.
"""
