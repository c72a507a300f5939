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

/* The vector of an entry; an empty one for -1. Its texts come to lie in the arena. */
static inline Vector lookup_at(const Lookup *lookup, int64_t entry, Arena *arena) {
    Vector found = {0, lookup->vectors, lookup->width, table_heap(lookup->table), arena, NULL};
    if (entry < 0) return found;
    const Reg *state = record_at(lookup->table, entry) + 1;
    found.count = state[0].i;
    found.words += (state[1].i - found.count) * lookup->width;
    return found;
}

#endif
