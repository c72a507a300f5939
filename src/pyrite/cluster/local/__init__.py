"""Executors as processes of this machine."""
