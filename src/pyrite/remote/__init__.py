"""Blocks of other nodes: a server beside each node's executors, and its client."""
