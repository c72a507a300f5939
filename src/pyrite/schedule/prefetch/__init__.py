"""Prefetch: places reducers, and fetches their input to those places, while maps still run."""
