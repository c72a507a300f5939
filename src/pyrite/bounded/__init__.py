"""Algorithms over more rows than fit in memory: what does not fit goes to disk."""
