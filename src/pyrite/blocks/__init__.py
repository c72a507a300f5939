"""Named, immutable data: its encoding, and where it is kept."""
