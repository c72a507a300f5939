"""The executor: runs one task at a time."""
