"""One module per workload, each the same computation for every engine.

A workload module has

- `ROWS`: the names of the table rows it measures;
- `inputs(data, scale)`: its input, made in the data folder if it takes a file;
- `rdd(sc, inputs, watch)`: the program for a context, the same source for Pyrite and PySpark;
- `hand(inputs, watch)`: the same in two processes without an engine, the way somebody who knows
  Python well would write it, with the same functions applied to every record.

Both time their rows with `watch` and return a small answer of JSON types, which must agree.
Optional are `SETTINGS` (by engine), `ENGINES` (if not all), `REPEAT` (if less than asked for is
enough) and `STARTS_CONTEXT` (then `rdd` gets the name of the engine in place of a context).
"""
