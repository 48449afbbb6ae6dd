"""The commands in files: options, the call, the output. Code that several share is one level up.

- ``lists.py``: ``mmopt programs``, ``mmopt baselines`` and ``mmopt templates``
- ``show.py``: a program's words, formulas, text and sizes; or a release, read back
- ``explain.py``: why a program is convex, and how it is compiled
- ``init_and_check.py``: ``mmopt init`` and ``mmopt check``
- ``accuracy_and_budget.py``: ``mmopt accuracy`` and ``mmopt budget``
- ``solve_and_tune.py``: ``mmopt solve`` and ``mmopt tune``
- ``proofs.py``: ``mmopt certify``, ``mmopt verify`` and ``mmopt export``
- ``compare.py``: several programs and solvers side by side
- ``releases.py``: ``mmopt release``, ``mmopt refine`` and ``mmopt simulate``
- ``ledger.py``: what releases of a data set have cost in all
- ``report.py``: one page of all that is known of a workload, its strategy and its release
"""
