"""A cluster in virtual time by cost: no rows are computed, tasks take what a model says."""
