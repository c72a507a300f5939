"""Simulates a cluster by cost: computes no rows; a model gives the duration of each task."""
