"""rddbg: runs the tasks of a story again, in one process, under a debugger (RDD paper, 6.3)."""
