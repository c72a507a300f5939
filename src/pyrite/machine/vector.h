/* The values of a key: words one after another, as many for each value. */

#ifndef PYRITE_VECTOR_H
#define PYRITE_VECTOR_H

#include "registers.h"

struct Vector {
    int64_t count;
    const Reg *words;
    int64_t width; /* of a value */
};

/* The sum of ints; 0 where it needs more than 64 bits on the way. */
static inline int vector_sum(const Vector *vector, int64_t *sum) {
    int64_t total = 0;
    for (int64_t n = 0; n < vector->count; n++) {
        if (__builtin_add_overflow(total, vector->words[n].i, &total)) return 0;
    }
    *sum = total;
    return 1;
}

static inline int64_t vector_least(const Vector *vector) {
    int64_t least = vector->words[0].i;
    for (int64_t n = 1; n < vector->count; n++) {
        if (vector->words[n].i < least) least = vector->words[n].i;
    }
    return least;
}

static inline int64_t vector_most(const Vector *vector) {
    int64_t most = vector->words[0].i;
    for (int64_t n = 1; n < vector->count; n++) {
        if (vector->words[n].i > most) most = vector->words[n].i;
    }
    return most;
}

#endif
