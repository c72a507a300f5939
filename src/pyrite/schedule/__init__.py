"""The scheduler: told an event and the time, it answers with commands; pure."""
