/* sorted(): a stable merge of runs, as the interpreter's own; equal values keep their order. */

#ifndef PYRITE_SORTED_H
#define PYRITE_SORTED_H

#include <math.h>

#include "vector.h"

#define SHORT_RUN 8

/* How the items of an array of some size compare, and what they are by. */
typedef struct {
    size_t size; /* of an item, in bytes */
    int is_reversed;
    const Text *kinds; /* of an item's words */
    Heap heap;
    int (*compare)(const void *sorting, const void *left, const void *right);
} Sorting;

static int compare_texts(const void *sorting, const void *left, const void *right) {
    return (int)text_compare(left, right);
}

/* Values compare by their first words that differ. */
static int compare_words(const void *sorting, const void *left, const void *right) {
    const Sorting *by = sorting;
    const Reg *one = left, *two = right;
    for (int64_t n = 0; n < by->kinds->size; n++) {
        if (by->kinds->bytes[n] == 'f') {
            if (one[n].d != two[n].d) return one[n].d < two[n].d ? -1 : 1;
        } else if (by->kinds->bytes[n] == 's') {
            Text a, b;
            if (!text_at(&by->heap, one[n].i, &a) || !text_at(&by->heap, two[n].i, &b)) return 0;
            int order = (int)text_compare(&a, &b);
            if (order) return order;
        } else if (one[n].i != two[n].i) {
            return one[n].i < two[n].i ? -1 : 1;
        }
    }
    return 0;
}

/* Whether the right one must go before the left one. */
static inline int is_out_of_order(const Sorting *by, const char *left, const char *right) {
    int order = by->compare(by, left, right);
    return by->is_reversed ? order < 0 : order > 0;
}

/* Sorts few items by insertion. */
static void sort_run(const Sorting *by, char *items, size_t count) {
    char held[MOST_WORDS * sizeof(Reg)];
    for (size_t n = 1; n < count; n++) {
        size_t at = n;
        while (at && is_out_of_order(by, items + (at - 1) * by->size, items + n * by->size)) at--;
        if (at == n) continue;
        memcpy(held, items + n * by->size, by->size);
        memmove(items + (at + 1) * by->size, items + at * by->size, (n - at) * by->size);
        memcpy(items + at * by->size, held, by->size);
    }
}

static void merge_runs(const Sorting *by, const char *left, const char *right, const char *end,
                       char *to) {
    const char *middle = right;
    while (left < middle && right < end) {
        const char **next = is_out_of_order(by, left, right) ? &right : &left;
        memcpy(to, *next, by->size);
        *next += by->size;
        to += by->size;
    }
    memcpy(to, left, middle - left);
    memcpy(to + (middle - left), right, end - right);
}

/* Sorts the items; `spare` has as much room. Returns where they are. */
static char *sort_items(const Sorting *by, char *items, size_t count, char *spare) {
    for (size_t at = 0; at < count; at += SHORT_RUN)
        sort_run(by, items + at * by->size, count - at < SHORT_RUN ? count - at : SHORT_RUN);
    for (size_t run = SHORT_RUN; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t middle = at + run < count ? at + run : count;
            size_t end = at + 2 * run < count ? at + 2 * run : count;
            merge_runs(by, items + at * by->size, items + middle * by->size, items + end * by->size,
                       spare + at * by->size);
        }
        char *sorted = spare;
        spare = items;
        items = sorted;
    }
    return items;
}

/* A sorted copy of the items; NULL where there is no memory. */
static char *sorted_items(Arena *arena, const Sorting *by, const void *items, size_t count) {
    char *copy = arena_take(arena, count * by->size), *spare = copy;
    if (copy && count > SHORT_RUN) spare = arena_take(arena, count * by->size);
    if (!copy || !spare) return NULL;
    if (count) memcpy(copy, items, count * by->size);
    return sort_items(by, copy, count, spare);
}

static const Texts *texts_sorted(Arena *arena, const Texts *texts, int is_reversed) {
    Sorting by = {.size = sizeof(Text), .is_reversed = is_reversed, .compare = compare_texts};
    Texts *made = texts_new(arena, 0);
    if (!made) return NULL;
    made->items = (Text *)sorted_items(arena, &by, texts->items, texts->count);
    made->count = made->room = texts->count;
    return made->items ? made : NULL;
}

/* NaN has no place in an order: what becomes of it is the affair of the algorithm. */
static int has_nan(const Vector *vector, const Text *kinds) {
    for (int64_t column = 0; column < vector->width; column++) {
        if (kinds->bytes[column] != 'f') continue;
        for (int64_t n = 0; n < vector->count; n++) {
            if (isnan(vector->words[n * vector->width + column].d)) return 1;
        }
    }
    return 0;
}

/* A sorted vector of the same values, whose words are of these kinds; NULL where there is no memory,
   or where they have no order. */
static Vector *vector_sorted(Arena *arena, const Vector *vector, const Text *kinds,
                             int is_reversed) {
    Sorting by = {vector->width * sizeof(Reg), is_reversed, kinds, vector->heap, compare_words};
    Vector *made = vector_new(arena, vector->width);
    if (!made || has_nan(vector, kinds)) return NULL;
    made->heap = vector->heap;
    made->words = (Reg *)sorted_items(arena, &by, vector->words, vector->count);
    made->count = vector->count;
    return made->words ? made : NULL;
}

#endif
