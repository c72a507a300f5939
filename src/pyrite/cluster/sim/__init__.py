"""A whole cluster in virtual time, in one process, from one seed."""
