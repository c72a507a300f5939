"""What an executor does: one task at a time."""
