"""Access to blocks of other nodes: each node's block server, and its client."""
