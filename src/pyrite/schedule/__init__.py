"""The scheduler: takes events and the time, returns commands; pure."""
