"""The driver's side of a cluster of real processes, whoever starts them."""
