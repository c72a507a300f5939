"""The benchmark suites: the same workloads on Pyrite, on PySpark and by hand."""
