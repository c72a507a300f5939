"""The driver: the part of the engine in the user's process."""
