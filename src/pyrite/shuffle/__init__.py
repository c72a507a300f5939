"""Shuffles: map tasks write rows, reduce tasks read them."""
