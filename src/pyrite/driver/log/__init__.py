"""The records of a run, and its display: the story, the journal, progress bars."""
