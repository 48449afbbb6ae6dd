"""Searches for programs that are not convex: by gradients, or for a rank. Their ends are judged elsewhere.

- ``smooth_search.py``: smooth programs, from several starts
- ``local_search.py``: one search of a local optimum by a quasi-Newton method
- ``rank_search.py``: programs with a rank constraint, by the trace heuristic
"""
