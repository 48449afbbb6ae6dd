"""The functions of the commands. Each reads its arguments, calls what Python has too, and prints.

- ``programs.py``: ``mmopt programs``, ``show``, ``explain`` and ``export``
- ``workload_files.py``: ``mmopt init`` and ``mmopt check``
- ``strategies_and_reports.py``: ``mmopt solve``, ``tune``, ``templates``, ``baselines``, ``certify``,
  ``verify`` and ``report``, one page of all that is known of a workload, its strategy and its release
- ``compare.py``: several programs and solvers side by side
- ``accuracy_release_simulate.py``: ``mmopt accuracy``, ``budget``, ``release``, ``refine`` and ``simulate``
- ``ledgers.py``: ``mmopt ledger create``, ``show``, ``export`` and ``explain``
"""
