/* The values of a key, or what a row made: words one after another, as many for each value. */

#ifndef PYRITE_VECTOR_H
#define PYRITE_VECTOR_H

#include "layout.h"

struct Vector {
    int64_t count;
    const Reg *words;
    int64_t width; /* of a value */
    Heap heap;     /* of the texts among the words */
    Arena *arena;  /* for them, once one is asked for */
    Text **columns; /* the texts by column, of those that were asked for */
};

/* The texts of a column, all of them at once: a loop within a loop asks for each many times. */
static Text *vector_column(const Vector *vector, int64_t column) {
    Text *texts = arena_take(vector->arena, vector->count * sizeof *texts);
    for (int64_t n = 0; texts && n < vector->count; n++) {
        if (!text_at(&vector->heap, vector->words[n * vector->width + column].i, &texts[n]))
            return NULL;
    }
    return vector->columns[column] = texts;
}

/* The text at the place of a word; NULL where there is no memory. */
static inline const Text *vector_text(Vector *vector, int64_t place) {
    int64_t column = vector->width == 1 ? 0 : place % vector->width;
    if (!vector->columns) {
        size_t size = vector->width * sizeof *vector->columns;
        vector->columns = arena_take(vector->arena, size);
        if (!vector->columns) return NULL;
        memset(vector->columns, 0, size);
    }
    Text *texts = vector->columns[column];
    if (!texts && !(texts = vector_column(vector, column))) return NULL;
    return &texts[vector->width == 1 ? place : place / vector->width];
}

/* The same for one that is asked for once: the others of its column take no memory. */
static inline const Text *vector_one_text(Arena *arena, const Vector *vector, int64_t place) {
    Text *made = text_made(arena, NULL, 0);
    return made && text_at(&vector->heap, vector->words[place].i, made) ? made : NULL;
}

static inline const Texts *vector_texts(Arena *arena, Vector *vector) {
    Texts *made = arena_take(arena, sizeof *made);
    if (!made) return NULL;
    *made = (Texts){vector->count, NULL, vector->count};
    if (vector->count) made->items = (Text *)vector_text(vector, 0);
    return made->items || !made->count ? made : NULL;
}

/* An empty vector for values of so many words. */
static inline Vector *vector_new(Arena *arena, int64_t width) {
    Vector *made = arena_take(arena, sizeof *made);
    if (made) *made = (Vector){.width = width, .arena = arena};
    return made;
}

#define FIRST_VALUES 16

/* Adds a value to a vector that a row makes; 0 where there is no memory. Room is a power of two. */
static inline int vector_add(Vector *vector, const Reg *value) {
    int64_t count = vector->count, width = vector->width;
    if (!(count & (count - 1)) && (!count || count >= FIRST_VALUES)) {
        size_t room = count ? count * 2 : FIRST_VALUES;
        Reg *words = arena_take(vector->arena, room * width * sizeof *words);
        if (!words) return 0;
        if (count) memcpy(words, vector->words, count * width * sizeof *words);
        vector->words = words;
    }
    memcpy((Reg *)vector->words + count * width, value, width * sizeof *value);
    vector->count++;
    return 1;
}

/* Values from one number up to another, as a list has them. */
static Vector *vector_slice(Arena *arena, const Vector *vector, int64_t start, int64_t stop) {
    int64_t count = vector->count;
    if (start < 0) start = start < -count ? 0 : start + count;
    if (stop < 0) stop = stop < -count ? 0 : stop + count;
    if (stop > count) stop = count;
    Vector *made = vector_new(arena, vector->width);
    if (!made) return NULL;
    made->heap = vector->heap;
    if (start >= stop) return made;
    made->words = vector->words + start * vector->width;
    made->count = stop - start;
    return made;
}

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
