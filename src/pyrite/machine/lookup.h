/* The vectors of keys, as a table and the words beside it. */

#ifndef PYRITE_LOOKUP_H
#define PYRITE_LOOKUP_H

#include "table.h"
#include "vector.h"

/* A record of the table has how many values its key has, and where they end. */
typedef struct {
    const Table *table;
    const Reg *vectors;
    int64_t width; /* of a value */
} Lookup;

/* The vector of an entry; an empty one for -1. */
static inline Vector lookup_at(const Lookup *lookup, int64_t entry) {
    if (entry < 0) return (Vector){0, lookup->vectors, lookup->width};
    const Reg *state = record_at(lookup->table, entry) + 1;
    int64_t count = state[0].i, start = state[1].i - count;
    return (Vector){count, lookup->vectors + start * lookup->width, lookup->width};
}

#endif
