"""Starts an engine from a master and settings."""
