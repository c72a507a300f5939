"""The row machine: traced functions and sinks run in C over rows of numbers."""
