"""The story of a run: its records, the file that holds them, and a model folded from them."""
