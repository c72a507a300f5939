/* Memory that lives as long as one row. */

#ifndef PYRITE_ARENA_H
#define PYRITE_ARENA_H

#include <stdint.h>
#include <stdlib.h>

#define LEAST_CHUNK ((size_t)1 << 14)
/* A chunk that one long row needed is not kept for the short ones behind it. */
#define MOST_KEPT_CHUNK ((size_t)1 << 20)
/* A row that needs a larger one is given back: what its loops make goes with the row only, where the
   interpreter frees it round by round. */
#define MOST_CHUNK ((size_t)1 << 26)

typedef struct Chunk {
    struct Chunk *before;
    size_t size;
    char bytes[];
} Chunk;

typedef struct {
    Chunk *chunk;
    size_t used;
} Arena;

static void *arena_grow(Arena *arena, size_t size) {
    size_t wanted = arena->chunk ? arena->chunk->size * 2 : LEAST_CHUNK;
    if (wanted < size) wanted = size;
    if (wanted > MOST_CHUNK) return NULL;
    Chunk *made = malloc(sizeof *made + wanted);
    if (!made) return NULL;
    made->before = arena->chunk;
    made->size = wanted;
    arena->chunk = made;
    arena->used = size;
    return made->bytes;
}

/* Memory of this size, or NULL. */
static inline void *arena_take(Arena *arena, size_t size) {
    if (size > PTRDIFF_MAX / 4) return NULL;
    size = (size + 7) & ~(size_t)7;
    if (arena->chunk && arena->chunk->size - arena->used >= size) {
        void *taken = arena->chunk->bytes + arena->used;
        arena->used += size;
        return taken;
    }
    return arena_grow(arena, size);
}

static void arena_free(Arena *arena) {
    while (arena->chunk) {
        Chunk *before = arena->chunk->before;
        free(arena->chunk);
        arena->chunk = before;
    }
    arena->used = 0;
}

static inline void arena_reset(Arena *arena) {
    if (!arena->used) return;
    arena->used = 0;
    if (arena->chunk->size > MOST_KEPT_CHUNK) {
        arena_free(arena);
        return;
    }
    while (arena->chunk->before) {
        Chunk *before = arena->chunk->before;
        arena->chunk->before = before->before;
        free(before);
    }
}

#endif
