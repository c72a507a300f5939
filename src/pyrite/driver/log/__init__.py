"""What is written down of a run, and what is shown of it: the story, the journal, progress."""
