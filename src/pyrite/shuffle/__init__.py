"""Rows between stages: written by map tasks, read by reduce tasks."""
