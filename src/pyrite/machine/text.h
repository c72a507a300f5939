/* Text as UTF-8. Pieces of a text lie in it, or in the arena of the row.

   UTF-8 orders texts as their characters do, and no character's bytes lie within another's, so most
   operations need not know characters. Where one must, and the text is not ASCII, it counts them or
   gives the row back. Text with surrogates has no UTF-8 and stays with the interpreter. */

#ifndef PYRITE_TEXT_H
#define PYRITE_TEXT_H

#include <string.h>

#include "arena.h"
#include "registers.h"

struct Text {
    const char *bytes;
    int64_t size;
    uint64_t hash; /* as a table mixes it, where it is known; else 0 */
};

struct Texts {
    int64_t count;
    Text *items;
    int64_t room;
};

static inline Text *text_made(Arena *arena, const char *bytes, int64_t size) {
    Text *made = arena_take(arena, sizeof *made);
    if (!made) return NULL;
    made->bytes = bytes;
    made->size = size;
    made->hash = 0;
    return made;
}

/* An empty list with room for so many texts. */
static inline Texts *texts_new(Arena *arena, int64_t room) {
    Texts *made = arena_take(arena, sizeof *made);
    if (!made) return NULL;
    *made = (Texts){0, arena_take(arena, room * sizeof *made->items), room};
    return made->items ? made : NULL;
}

static inline int texts_add(Arena *arena, Texts *texts, const Text *text) {
    if (texts->count == texts->room) {
        int64_t room = texts->room * 2;
        Text *items = arena_take(arena, room * sizeof *items);
        if (!items) return 0;
        memcpy(items, texts->items, texts->count * sizeof *items);
        texts->items = items;
        texts->room = room;
    }
    texts->items[texts->count++] = *text;
    return 1;
}

/* The text of an object; NULL where it is none, or has no UTF-8. Lives as long as the object. */
static inline const Text *text_of_object(Arena *arena, PyObject *object) {
    Py_ssize_t size;
    if (!PyUnicode_CheckExact(object)) return NULL;
    const char *bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (!bytes) {
        PyErr_Clear();
        return NULL;
    }
    return text_made(arena, bytes, size);
}

static inline int is_ascii(const char *bytes, int64_t size) {
    uint64_t word, all = 0;
    for (; size >= 8; size -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        all |= word;
    }
    while (size--) all |= (uint64_t)(unsigned char)*bytes++;
    return !(all & 0x8080808080808080ull);
}

static inline int is_continuation(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

static inline int64_t text_length(const Text *text) {
    int64_t length = 0;
    for (int64_t n = 0; n < text->size; n++) length += !is_continuation(text->bytes[n]);
    return length;
}

static inline int text_equal(const Text *left, const Text *right) {
    return left->size == right->size && !memcmp(left->bytes, right->bytes, left->size);
}

static inline int64_t text_compare(const Text *left, const Text *right) {
    int64_t size = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->bytes, right->bytes, size);
    if (order) return order < 0 ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size);
}

/* Where a text lies in the bytes of another from a place on, or -1. */
static inline int64_t bytes_find(const char *bytes, int64_t size, const Text *wanted) {
    if (!wanted->size) return 0;
    if (size < wanted->size) return -1;
    const char *found = wanted->size == 1 ? memchr(bytes, wanted->bytes[0], size)
                                          : memmem(bytes, size, wanted->bytes, wanted->size);
    return found ? found - bytes : -1;
}

static inline int text_starts(const Text *text, const Text *start) {
    return text->size >= start->size && !memcmp(text->bytes, start->bytes, start->size);
}

static inline int text_ends(const Text *text, const Text *end) {
    return text->size >= end->size &&
           !memcmp(text->bytes + text->size - end->size, end->bytes, end->size);
}

/* The number of bytes of the white space at a place, as str.isspace has it; 0 where there is none. */
static inline int space_width(const char *at, const char *end) {
    unsigned char first = (unsigned char)*at;
    if (first < 0x80) return first == ' ' || (first >= 9 && first <= 13) || (first >= 28 && first <= 31);
    if (end - at < 2) return 0;
    unsigned char second = (unsigned char)at[1];
    if (first == 0xC2) return second == 0x85 || second == 0xA0 ? 2 : 0;
    if (first < 0xE1 || first > 0xE3 || end - at < 3) return 0;
    unsigned char third = (unsigned char)at[2];
    if (first == 0xE1) return second == 0x9A && third == 0x80 ? 3 : 0;
    if (first == 0xE3) return second == 0x80 && third == 0x80 ? 3 : 0;
    if (second == 0x81) return third == 0x9F ? 3 : 0;
    if (second != 0x80) return 0;
    return third <= 0x8A || third == 0xA8 || third == 0xA9 || third == 0xAF ? 3 : 0;
}

static inline const char *space_end(const char *at, const char *end) {
    int width;
    while (at < end && (width = space_width(at, end))) at += width;
    return at;
}

static inline const char *word_end(const char *at, const char *end) {
    while (at < end && !space_width(at, end)) at++;
    return at;
}

/* Where the white space before a place begins. */
static inline const char *space_start(const char *begin, const char *at) {
    while (at > begin) {
        const char *last = at - 1;
        while (last > begin && is_continuation(*last)) last--;
        if (space_width(last, at) != at - last) return at;
        at = last;
    }
    return at;
}

/* The byte at which the character with this number begins; the text's size where there is none. */
static inline int64_t byte_of_character(const Text *text, int64_t number) {
    int64_t at = 0;
    while (at < text->size) {
        if (!is_continuation(text->bytes[at]) && number-- == 0) return at;
        at++;
    }
    return at;
}

/* Bounds of a slice as str has them, which may lie outside of the text. */
static inline const Text *text_slice(Arena *arena, const Text *text, int64_t start, int64_t stop) {
    int plain = is_ascii(text->bytes, text->size);
    int64_t length = plain ? text->size : text_length(text);
    if (start < 0) start = start < -length ? 0 : start + length;
    if (stop < 0) stop = stop < -length ? 0 : stop + length;
    if (stop > length) stop = length;
    if (start >= stop) return text_made(arena, text->bytes, 0);
    int64_t first = plain ? start : byte_of_character(text, start);
    int64_t end = plain ? stop : byte_of_character(text, stop);
    return text_made(arena, text->bytes + first, end - first);
}

static inline const Text *text_index(Arena *arena, const Text *text, int64_t index) {
    int64_t length = text_length(text);
    if (index < -length || index >= length) return NULL;
    if (index < 0) index += length;
    return text_slice(arena, text, index, index + 1);
}

static inline const Text *text_joined(Arena *arena, const Text *left, const Text *right) {
    char *bytes = arena_take(arena, (size_t)left->size + (size_t)right->size);
    if (!bytes) return NULL;
    memcpy(bytes, left->bytes, left->size);
    memcpy(bytes + left->size, right->bytes, right->size);
    return text_made(arena, bytes, left->size + right->size);
}

enum { STRIP_LEFT = 1, STRIP_RIGHT = 2 };

static inline const Text *text_strip(Arena *arena, const Text *text, int sides) {
    const char *begin = text->bytes, *end = text->bytes + text->size;
    if (sides & STRIP_LEFT) begin = space_end(begin, end);
    if (sides & STRIP_RIGHT) end = space_start(begin, end);
    return text_made(arena, begin, end - begin);
}

/* Characters of ASCII alone are taken off. */
static inline const Text *text_strip_of(Arena *arena, const Text *text, const Text *characters,
                                        int64_t sides) {
    const char *begin = text->bytes, *end = text->bytes + text->size;
    if (!is_ascii(characters->bytes, characters->size)) return NULL;
#define IS_TAKEN(byte) memchr(characters->bytes, (byte), characters->size)
    if (sides & STRIP_LEFT) {
        while (begin < end && IS_TAKEN(*begin)) begin++;
    }
    if (sides & STRIP_RIGHT) {
        while (begin < end && IS_TAKEN(end[-1])) end--;
    }
#undef IS_TAKEN
    return text_made(arena, begin, end - begin);
}

/* Only ASCII has one letter for each. */
static inline const Text *text_cased(Arena *arena, const Text *text, char first, char last) {
    if (!is_ascii(text->bytes, text->size)) return NULL;
    char *bytes = arena_take(arena, text->size);
    if (!bytes) return NULL;
    for (int64_t n = 0; n < text->size; n++) {
        char byte = text->bytes[n];
        bytes[n] = byte >= first && byte <= last ? byte ^ 0x20 : byte;
    }
    return text_made(arena, bytes, text->size);
}

enum { ALL_DIGITS, ALL_LETTERS, ALL_LETTERS_OR_DIGITS, ALL_SPACES };

/* str.isdigit and its like: 1 or 0, and -1 where the text is not ASCII. */
static inline int text_is_all(const Text *text, int kind) {
    if (!is_ascii(text->bytes, text->size)) return -1;
    for (int64_t n = 0; n < text->size; n++) {
        char byte = text->bytes[n];
        int is_digit = byte >= '0' && byte <= '9';
        int is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (kind == ALL_DIGITS ? !is_digit
            : kind == ALL_LETTERS ? !is_letter
            : kind == ALL_SPACES  ? !space_width(&byte, &byte + 1)
                                  : !is_letter && !is_digit)
            return 0;
    }
    return text->size > 0;
}

static inline const Text *text_replaced(Arena *arena, const Text *text, const Text *old,
                                        const Text *new) {
    if (!old->size) return NULL;
    int64_t count = 0, at = 0, found;
    while ((found = bytes_find(text->bytes + at, text->size - at, old)) >= 0) {
        count++;
        at += found + old->size;
    }
    if (!count) return text;
    if (new->size > old->size && count > (INT64_MAX / 4 - text->size) / (new->size - old->size))
        return NULL;
    int64_t size = text->size + count * (new->size - old->size);
    char *bytes = arena_take(arena, size), *end = bytes;
    if (!bytes) return NULL;
    for (at = 0; count--; at += found + old->size) {
        found = bytes_find(text->bytes + at, text->size - at, old);
        memcpy(end, text->bytes + at, found);
        memcpy(end + found, new->bytes, new->size);
        end += found + new->size;
    }
    memcpy(end, text->bytes + at, text->size - at);
    return text_made(arena, bytes, size);
}

/* How often a text lies in another; -1 where the interpreter counts in a way of its own. */
static inline int64_t text_count(const Text *text, const Text *wanted) {
    if (!wanted->size) return -1;
    int64_t count = 0, at = 0, found;
    while ((found = bytes_find(text->bytes + at, text->size - at, wanted)) >= 0) {
        count++;
        at += found + wanted->size;
    }
    return count;
}

/* The number of the character at which a text lies in another, or -1. */
static inline int64_t text_find(const Text *text, const Text *wanted) {
    int64_t found = bytes_find(text->bytes, text->size, wanted);
    if (found < 0) return -1;
    Text before = {text->bytes, found, 0};
    return text_length(&before);
}

#endif
