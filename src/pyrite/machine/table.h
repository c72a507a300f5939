/* A table from keys to records of registers, in the order in which keys were first seen. A key is an
   int64, or a text whose bytes lie in the table's heap. A log has no keys to look up: each record
   stands for itself, and may have texts behind its key. */

#ifndef PYRITE_TABLE_H
#define PYRITE_TABLE_H

#include <sys/mman.h>

#include "hash.h"
#include "layout.h"

#define LEAST_SLOTS 64
#define LEAST_HEAP 4096
/* A log with more text is full: between two steps its owner does not look. */
#define MOST_LOG_HEAP ((size_t)2 << 20)
/* Entries are numbered by 32 bits; zero marks an empty slot. */
#define MOST_RECORDS (UINT32_MAX / 2)

typedef struct {
    PyObject_HEAD
    uint32_t *slots;
    uint64_t *tagged; /* slots of text keys, below the upper half of their hash */
    Reg *records;
    char *heap;
    uint64_t mask;
    size_t heap_used, heap_room;
    Py_ssize_t used, room;
    int width; /* of a record: its key, and its state */
    int is_by_text, is_log;
    TextPlaces texts; /* in a log's record, its key apart */
} Table;

/* Tables lie in pages of their own: they grow without a copy, leave no holes in the heap, and go
   back to the system at once. */
static void *pages_new(size_t size) {
    const int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *made = mmap(NULL, size, access, flags, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

static void pages_free(void *pages, size_t size) {
    if (pages) munmap(pages, size);
}

static inline size_t slots_bytes(const Table *table) {
    return (table->mask + 1) * (table->is_by_text ? sizeof *table->tagged : sizeof *table->slots);
}

static inline size_t records_bytes(const Table *table) {
    return (size_t)table->room * table->width * sizeof *table->records;
}

static inline size_t table_bytes(const Table *table) {
    return slots_bytes(table) + records_bytes(table) + table->heap_room;
}

static inline Reg *record_at(const Table *table, int64_t entry) {
    return table->records + entry * table->width;
}

static inline Heap table_heap(const Table *table) {
    return (Heap){table->heap, table->heap_used};
}

static inline Text text_of_word(const Table *table, Reg word) {
    return (Text){table->heap + (uint32_t)word.i, (int64_t)((uint64_t)word.i >> 32), 0};
}

static inline Text key_of_entry(const Table *table, int64_t entry) {
    return text_of_word(table, *record_at(table, entry));
}

/* The entry of the key, or -1. */
static inline int64_t table_find(const Table *table, int64_t key) {
    uint64_t slot = mixed_by_eights(key) & table->mask;
    uint32_t entry;
    while ((entry = table->slots[slot])) {
        if (record_at(table, entry - 1)->i == key) return entry - 1;
        slot = (slot + 1) & table->mask;
    }
    return -1;
}

static inline uint64_t hash_of_key(const Text *key) {
    return key->hash ? key->hash : mixed_bytes(key->bytes, key->size);
}

static inline int64_t table_find_text(const Table *table, const Text *key) {
    uint64_t hash = hash_of_key(key), slot = hash & table->mask, tagged;
    while ((tagged = table->tagged[slot])) {
        if (tagged >> 32 == hash >> 32) {
            int64_t entry = (int64_t)(uint32_t)tagged - 1;
            Text found = key_of_entry(table, entry);
            if (text_equal(&found, key)) return entry;
        }
        slot = (slot + 1) & table->mask;
    }
    return -1;
}

/* Has what lookups of these keys will need brought into the cache, so that they do not wait for it
   one after another: a table is larger than a cache, and words come in any order. */
static void table_prefetch(const Table *table, Text *keys, int64_t count) {
    for (int64_t n = 0; n < count; n++) {
        keys[n].hash = mixed_bytes(keys[n].bytes, keys[n].size);
        __builtin_prefetch(&table->tagged[keys[n].hash & table->mask]);
    }
    for (int64_t n = 0; n < count; n++) {
        uint32_t entry = (uint32_t)table->tagged[keys[n].hash & table->mask];
        if (entry) __builtin_prefetch(record_at(table, entry - 1));
    }
    for (int64_t n = 0; n < count; n++) {
        uint32_t entry = (uint32_t)table->tagged[keys[n].hash & table->mask];
        if (entry) __builtin_prefetch(key_of_entry(table, entry - 1).bytes);
    }
}

static void table_place(Table *table, Py_ssize_t entry) {
    if (table->is_by_text) {
        Text key = key_of_entry(table, entry);
        uint64_t hash = hash_of_key(&key), slot = hash & table->mask;
        while (table->tagged[slot]) slot = (slot + 1) & table->mask;
        table->tagged[slot] = hash >> 32 << 32 | (uint32_t)(entry + 1);
        return;
    }
    uint64_t slot = mixed_by_eights(record_at(table, entry)->i) & table->mask;
    while (table->slots[slot]) slot = (slot + 1) & table->mask;
    table->slots[slot] = (uint32_t)(entry + 1);
}

static void slots_free(Table *table) {
    pages_free(table->slots, slots_bytes(table));
    pages_free(table->tagged, slots_bytes(table));
    table->slots = NULL;
    table->tagged = NULL;
}

static void slots_set(Table *table, void *slots) {
    if (table->is_by_text) {
        table->tagged = slots;
    } else {
        table->slots = slots;
    }
}

static int log_grow(Table *table) {
    if (table->room > MOST_RECORDS / 2) return 0;
    size_t size = records_bytes(table);
    Reg *records = mremap(table->records, size, size * 2, MREMAP_MAYMOVE);
    if (records == MAP_FAILED) return 0;
    table->records = records;
    table->room *= 2;
    return 1;
}

/* Makes room for twice as many records; 0 where there is no memory, and nothing has changed. */
static int table_grow(Table *table) {
    if (table->is_log) return log_grow(table);
    uint64_t count = (table->mask + 1) * 2;
    Py_ssize_t room = (Py_ssize_t)(count / 2);
    if (room > MOST_RECORDS) return 0;
    size_t size = slots_bytes(table) * 2;
    void *slots = pages_new(size);
    if (!slots) return 0;
    size_t wanted = (size_t)room * table->width * sizeof(Reg);
    Reg *records = mremap(table->records, records_bytes(table), wanted, MREMAP_MAYMOVE);
    if (records == MAP_FAILED) {
        pages_free(slots, size);
        return 0;
    }
    slots_free(table);
    slots_set(table, slots);
    table->records = records;
    table->mask = count - 1;
    table->room = room;
    for (Py_ssize_t entry = 0; entry < table->used; entry++) table_place(table, entry);
    return 1;
}

/* Copies a text into the heap; 0 where there is no memory, or no word could say where it lies. */
static int heap_put(Table *table, const Text *text, int64_t *word) {
    size_t size = (size_t)text->size, wanted = table->heap_room;
    if (size > UINT32_MAX - table->heap_used) return 0;
    if (table->is_log && table->used && table->heap_used + size > MOST_LOG_HEAP) return 0;
    while (wanted - table->heap_used < size) wanted *= 2;
    if (wanted != table->heap_room) {
        char *heap = mremap(table->heap, table->heap_room, wanted, MREMAP_MAYMOVE);
        if (heap == MAP_FAILED) return 0;
        table->heap = heap;
        table->heap_room = wanted;
    }
    memcpy(table->heap + table->heap_used, text->bytes, size);
    *word = text_word(table->heap_used, text->size);
    table->heap_used += size;
    return 1;
}

/* Adds a record with a key that the table does not have; 0 where there is no memory. */
static int table_insert(Table *table, int64_t key, const Reg *state) {
    if (table->used == table->room && !table_grow(table)) return 0;
    Reg *record = record_at(table, table->used);
    record->i = key;
    memcpy(record + 1, state, (table->width - 1) * sizeof *state);
    if (!table->is_log) table_place(table, table->used);
    table->used++;
    return 1;
}

static int table_insert_text(Table *table, const Text *key, const Reg *state) {
    int64_t word;
    if (table->used == table->room && !table_grow(table)) return 0;
    return heap_put(table, key, &word) && table_insert(table, word, state);
}

/* Replaces the texts of a record by their words in the heap; `first` is behind the record's key. */
static int keep_texts(Table *table, const TextPlaces *places, Reg *first) {
    for (int n = 0; n < places->count; n++) {
        Reg *word = first + places->places[n] - 1;
        if (!heap_put(table, word->t, &word->i)) return 0;
    }
    return 1;
}

/* Adds a record to a log, whose texts are in registers; 0 where there is no memory, or enough text. */
static int table_append(Table *table, const Text *text, int64_t key, const Reg *state) {
    Reg kept[MOST_WORDS];
    if (table->texts.count) {
        memcpy(kept, state, (table->width - 1) * sizeof *kept);
        if (!keep_texts(table, &table->texts, kept)) return 0;
        state = kept;
    }
    return text ? table_insert_text(table, text, state) : table_insert(table, key, state);
}

static void table_free(Table *table) {
    slots_free(table);
    pages_free(table->records, records_bytes(table));
    pages_free(table->heap, table->heap_room);
    table->records = NULL;
    table->heap = NULL;
    table->heap_used = table->heap_room = 0;
}

static int heap_open(Table *table) {
    if (table->heap) return 1;
    table->heap = pages_new(LEAST_HEAP);
    table->heap_room = table->heap ? LEAST_HEAP : 0;
    return table->heap != NULL;
}

/* Empties the table, and gives its memory back; 0 where there is none for an empty one. */
static int table_reset(Table *table) {
    table_free(table);
    table->used = 0;
    table->mask = LEAST_SLOTS - 1;
    table->room = LEAST_SLOTS / 2;
    slots_set(table, pages_new(slots_bytes(table)));
    table->records = pages_new(records_bytes(table));
    if ((table->is_by_text || table->texts.count) && !heap_open(table)) return 0;
    return (table->is_by_text ? table->tagged != NULL : table->slots != NULL) && table->records;
}

#endif
