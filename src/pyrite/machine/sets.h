/* The order in which a set gives its items: that of CPython 3.11 to 3.13, which `setorder.py` compares with
   the interpreter's own before it is relied upon. Open addressing with runs of neighbours, from
   Objects/setobject.c. */

#ifndef PYRITE_SETS_H
#define PYRITE_SETS_H

#include "hash.h"
#include "vector.h"

#define LEAST_SET 8
#define NEIGHBOURS 9
#define PERTURB_BITS 5
/* Larger sets grow in another way; the interpreter makes them. */
#define MOST_IN_SET 50000

typedef struct {
    uint64_t hash;
    int64_t item; /* its number among those that were added, from one on */
} SetEntry;

/* `is_same` says whether two items, by their numbers, are equal. */
typedef struct {
    Arena *arena;
    SetEntry *entries;
    uint64_t mask;
    int64_t used;
    const void *items;
    int (*is_same)(const void *items, int64_t left, int64_t right);
} Set;

static int set_open(Set *set, uint64_t size) {
    set->entries = arena_take(set->arena, size * sizeof *set->entries);
    if (!set->entries) return 0;
    memset(set->entries, 0, size * sizeof *set->entries);
    set->mask = size - 1;
    return 1;
}

/* The slot of an item, or the free one where it belongs; items are compared where there are some. */
static SetEntry *set_slot(const Set *set, uint64_t hash, int64_t item) {
    uint64_t perturb = hash, at = hash & set->mask;
    for (;;) {
        SetEntry *entry = &set->entries[at];
        int left = at + NEIGHBOURS <= set->mask ? NEIGHBOURS : 0;
        do {
            if (!entry->item) return entry;
            if (item && entry->hash == hash && set->is_same(set->items, entry->item - 1, item - 1))
                return entry;
            entry++;
        } while (left--);
        perturb >>= PERTURB_BITS;
        at = (at * 5 + 1 + perturb) & set->mask;
    }
}

static int set_grow(Set *set) {
    SetEntry *old = set->entries;
    uint64_t count = set->mask + 1, size = LEAST_SET;
    while (size <= (uint64_t)set->used * 4) size <<= 1;
    if (!set_open(set, size)) return 0;
    for (uint64_t n = 0; n < count; n++) {
        if (old[n].item) *set_slot(set, old[n].hash, 0) = old[n];
    }
    return 1;
}

/* Adds an item; 0 where there is no memory, or there are too many. */
static int set_add(Set *set, int64_t hash, int64_t number) {
    SetEntry *entry = set_slot(set, (uint64_t)hash, number + 1);
    if (entry->item) return 1;
    if (set->used == MOST_IN_SET) return 0;
    *entry = (SetEntry){(uint64_t)hash, number + 1};
    set->used++;
    return (uint64_t)set->used * 5 < set->mask * 3 || set_grow(set);
}

static int is_same_text(const void *items, int64_t left, int64_t right) {
    const Text *texts = items;
    return text_equal(&texts[left], &texts[right]);
}

static int is_same_int(const void *items, int64_t left, int64_t right) {
    const Reg *words = items;
    return words[left].i == words[right].i;
}

/* set(texts), in its order. */
static const Texts *texts_set(Arena *arena, const Texts *texts) {
    Set set = {.arena = arena, .items = texts->items, .is_same = is_same_text};
    if (!set_open(&set, LEAST_SET)) return NULL;
    for (int64_t n = 0; n < texts->count; n++) {
        int64_t hash;
        if (!hash_of_text(&texts->items[n], &hash) || !set_add(&set, hash, n)) return NULL;
    }
    Texts *made = texts_new(arena, set.used);
    for (uint64_t n = 0; made && n <= set.mask; n++) {
        if (set.entries[n].item) made->items[made->count++] = texts->items[set.entries[n].item - 1];
    }
    return made;
}

/* set(ints), in its order. */
static Vector *ints_set(Arena *arena, const Vector *ints) {
    Set set = {.arena = arena, .items = ints->words, .is_same = is_same_int};
    if (!set_open(&set, LEAST_SET)) return NULL;
    for (int64_t n = 0; n < ints->count; n++) {
        if (!set_add(&set, hash_of_int(ints->words[n].i), n)) return NULL;
    }
    Vector *made = vector_new(arena, 1);
    for (uint64_t n = 0; made && n <= set.mask; n++) {
        if (set.entries[n].item && !vector_add(made, &ints->words[set.entries[n].item - 1]))
            return NULL;
    }
    return made;
}

#endif
