"""The driver: jobs, stages and blocks as the user's process sees them."""
