"""Files in and out, through fsspec."""
