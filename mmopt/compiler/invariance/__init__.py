"""Which changes of a workload leave a problem as it is, read from the program's tree. Reduces nothing."""
