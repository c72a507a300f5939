"""Placement of tasks, and of reducers by the forecast of their input: pure."""
