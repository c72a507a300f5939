"""The page of a run, and what tools ask of it: everything is read from stories."""
