"""Which changes of a workload leave a problem as it is, read from the program's tree. Reduces nothing.

- ``workload_actions.py``: what may be done to a workload, and how its arrays go along
- ``under_actions.py``: how every expression goes with an action
- ``equivariance.py``: which actions leave a program as it is
- ``composed_workloads.py``: a workload put together of others: of blocks, or as a Kronecker product
"""
