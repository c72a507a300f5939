/* Texts cut into pieces, and numbers read from them. */

#ifndef PYRITE_SPLIT_H
#define PYRITE_SPLIT_H

#include "text.h"

#define FIRST_PIECES 16
#define MOST_DIGITS 18
#define MOST_EXACT_DIGITS 15
#define MOST_EXACT_TENS 22
#define LONGEST_NUMBER 63

typedef struct {
    Arena *arena;
    Text *items;
    int64_t count, room;
} Pieces;

static inline int piece_add(Pieces *pieces, const char *begin, const char *end) {
    if (pieces->count == pieces->room) {
        int64_t room = pieces->room ? pieces->room * 2 : FIRST_PIECES;
        Text *items = arena_take(pieces->arena, room * sizeof *items);
        if (!items) return 0;
        if (pieces->count) memcpy(items, pieces->items, pieces->count * sizeof *items);
        pieces->items = items;
        pieces->room = room;
    }
    pieces->items[pieces->count++] = (Text){begin, end - begin, 0};
    return 1;
}

static inline const Texts *pieces_made(const Pieces *pieces) {
    Texts *made = arena_take(pieces->arena, sizeof *made);
    if (!made) return NULL;
    *made = (Texts){pieces->count, pieces->items, pieces->room};
    return made;
}

/* str.split at white space, at most so often; a negative number means always. */
static const Texts *text_split(Arena *arena, const Text *text, int64_t most) {
    const char *end = text->bytes + text->size, *at = space_end(text->bytes, end);
    Pieces pieces = {arena, NULL, 0, 0};
    for (; at < end; most--) {
        const char *stop = most ? word_end(at, end) : end;
        if (!piece_add(&pieces, at, stop)) return NULL;
        at = most ? space_end(stop, end) : end;
    }
    return pieces_made(&pieces);
}

/* str.split at a separator. */
static const Texts *text_split_at(Arena *arena, const Text *text, const Text *separator,
                                  int64_t most) {
    const char *end = text->bytes + text->size, *at = text->bytes;
    Pieces pieces = {arena, NULL, 0, 0};
    int64_t found;
    if (!separator->size) return NULL;
    for (; most && (found = bytes_find(at, end - at, separator)) >= 0; most--) {
        if (!piece_add(&pieces, at, at + found)) return NULL;
        at += found + separator->size;
    }
    return piece_add(&pieces, at, end) ? pieces_made(&pieces) : NULL;
}

/* str.partition */
static const Texts *text_parted(Arena *arena, const Text *text, const Text *separator) {
    const char *begin = text->bytes, *end = text->bytes + text->size;
    Pieces pieces = {arena, NULL, 0, 0};
    if (!separator->size) return NULL;
    int64_t found = bytes_find(begin, text->size, separator);
    const char *first = found < 0 ? end : begin + found;
    const char *behind = found < 0 ? end : first + separator->size;
    if (!piece_add(&pieces, begin, first) || !piece_add(&pieces, first, behind) ||
        !piece_add(&pieces, behind, end))
        return NULL;
    return pieces_made(&pieces);
}

/* texts[start:stop] */
static inline const Texts *texts_slice(Arena *arena, const Texts *texts, int64_t start,
                                       int64_t stop) {
    int64_t count = texts->count;
    if (start < 0) start = start < -count ? 0 : start + count;
    if (stop < 0) stop = stop < -count ? 0 : stop + count;
    if (stop > count) stop = count;
    Texts *made = arena_take(arena, sizeof *made);
    if (!made) return NULL;
    made->count = start < stop ? stop - start : 0;
    made->items = made->count ? texts->items + start : texts->items;
    made->room = made->count;
    return made;
}

static inline int texts_hold(const Texts *texts, const Text *wanted) {
    for (int64_t n = 0; n < texts->count; n++) {
        if (text_equal(&texts->items[n], wanted)) return 1;
    }
    return 0;
}

static inline int is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static inline int is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* int(text) of at most 18 digits; 0 for all else that Python may understand, or refuse. */
static inline int int_of_text(const Text *text, int64_t *value) {
    const char *at = text->bytes, *end = at + text->size;
    while (at < end && is_blank(*at)) at++;
    while (at < end && is_blank(end[-1])) end--;
    int is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || end - at > MOST_DIGITS) return 0;
    int64_t made = 0;
    for (; at < end; at++) {
        if (!is_digit(*at)) return 0;
        made = made * 10 + (*at - '0');
    }
    *value = is_negative ? -made : made;
    return 1;
}

/* float(text) by the interpreter's own function. */
static inline int float_by_python(const char *begin, const char *end, double *value) {
    char copied[LONGEST_NUMBER + 1], *stop;
    if (end - begin > LONGEST_NUMBER) return 0;
    memcpy(copied, begin, end - begin);
    copied[end - begin] = 0;
    *value = PyOS_string_to_double(copied, &stop, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return stop == copied + (end - begin);
}

/* float(text) of a plain decimal number; 0 for all else. Where the digits and the power of ten are
   doubles exactly, one operation rounds once, as it must (Clinger 1990). */
static inline int float_of_text(const Text *text, double *value) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = text->bytes, *end = at + text->size;
    while (at < end && is_blank(*at)) at++;
    while (at < end && is_blank(end[-1])) end--;
    const char *begin = at;
    int is_negative = at < end && *at == '-', digits = 0, behind = 0, seen = 0;
    if (at < end && (*at == '-' || *at == '+')) at++;
    int64_t made = 0;
    for (int is_fraction = 0; at < end; at++) {
        if (*at == '.' && !is_fraction) {
            is_fraction = 1;
            continue;
        }
        if (!is_digit(*at)) break;
        seen = 1;
        digits += digits || *at != '0';
        behind += is_fraction;
        if (digits <= MOST_EXACT_DIGITS) made = made * 10 + (*at - '0');
        if (at - begin > LONGEST_NUMBER) return 0;
    }
    if (!seen) return 0;
    if (at < end && (*at | 0x20) == 'e') {
        const char *exponent = at + 1;
        if (exponent < end && (*exponent == '-' || *exponent == '+')) exponent++;
        if (exponent == end) return 0;
        while (exponent < end && is_digit(*exponent)) exponent++;
        return exponent == end ? float_by_python(begin, end, value) : 0;
    }
    if (at < end) return 0;
    if (digits > MOST_EXACT_DIGITS || behind > MOST_EXACT_TENS)
        return float_by_python(begin, end, value);
    double size = (double)made / tens[behind];
    *value = is_negative ? -size : size;
    return 1;
}

/* str(value) */
static inline const Text *text_of_int(Arena *arena, int64_t value) {
    char *bytes = arena_take(arena, 24), *at = bytes + 24;
    if (!bytes) return NULL;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
    } while (left /= 10);
    if (value < 0) *--at = '-';
    return text_made(arena, at, bytes + 24 - at);
}

/* str(value), or with so many decimals, by the interpreter's own function. */
static const Text *text_of_float(Arena *arena, double value, char kind, int decimals) {
    int flags = kind == 'r' ? Py_DTSF_ADD_DOT_0 : 0;
    char *shown = PyOS_double_to_string(value, kind, decimals, flags, NULL);
    if (!shown) {
        PyErr_Clear();
        return NULL;
    }
    size_t size = strlen(shown);
    char *bytes = arena_take(arena, size);
    if (bytes) memcpy(bytes, shown, size);
    PyMem_Free(shown);
    return bytes ? text_made(arena, bytes, size) : NULL;
}

static inline const Text *text_of_bool(Arena *arena, int value) {
    return text_made(arena, value ? "True" : "False", value ? 4 : 5);
}

#endif
