"""Prefetch: reducers get places, and their input travels there, while maps still run."""
