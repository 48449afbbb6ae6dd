"""The commands, a file each: its options, the call, what is shown. What several share stands one level up.

- ``programs.py``: the list of shipped programs
- ``show.py``: a program's words, formulas, text and sizes; or a release, read back
- ``explain.py``: why a program is convex, and what it becomes
- ``init.py``: a first workload file, drafted from the columns of a table
- ``check.py``: a workload file or a program, before anything is solved
- ``accuracy.py``: the standard error of each answer, before any data
- ``budget.py``: the least privacy cost at which every target holds
- ``solve.py``: the best strategy for a workload, or with ``--dry-run`` what that will take
- ``export.py``: the compiled problem, for other programs
- ``certify.py``: a strategy or point from elsewhere, with a bound
- ``verify.py``: a saved result, rechecked
- ``compare.py``: several programs and solvers beside each other
- ``baselines.py``: the baselines and what they cost
- ``tune.py``: a sub-workload whose queries count for more
- ``templates.py``: strategies kept in factors
- ``release.py``: private answers from a table
- ``ledger.py``: what releases of a data set have cost in all
- ``refine.py``: answers that counts can have, beside the released ones
- ``report.py``: one page of all that is known of a workload, its strategy and its release
- ``simulate.py``: relative errors on a table that may be seen
"""
