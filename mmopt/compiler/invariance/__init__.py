"""What may be done to a workload without changing a problem, read from the tree of the program."""
