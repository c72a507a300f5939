"""The engine: the scheduler, a cluster, and the threads that wait for results."""
