"""The engine: the scheduler, a cluster, and who waits for results."""
