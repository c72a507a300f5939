"""The plan of a job: programs and stages; pure."""
