/* Hashes: those of the machine's tables, and portable_hash for parts. */

#ifndef PYRITE_HASH_H
#define PYRITE_HASH_H

#include "text.h"

#define ODD_CONSTANT 0x9E3779B97F4A7C15ull

static inline uint64_t mixed(int64_t key) {
    /* Both halves of the product: keys that differ in their upper bits alone are spread, too. */
    unsigned __int128 product = (unsigned __int128)(uint64_t)key * ODD_CONSTANT;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* As `mixed`, but neighbours among the keys are neighbours: keys often come in their order, and a
   line of the cache holds the slots of several then. */
static inline uint64_t mixed_by_eights(int64_t key) { return mixed(key >> 3) + (key & 7); }

static inline uint64_t mixed_bytes(const char *bytes, int64_t size) {
    uint64_t hash = (uint64_t)size * ODD_CONSTANT, word = 0;
    for (; size >= 8; size -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * ODD_CONSTANT;
        hash ^= hash >> 32;
    }
    for (word = 0; size; size--) word = word << 8 | (unsigned char)bytes[size - 1];
    hash = (hash ^ word) * ODD_CONSTANT;
    hash = (hash ^ hash >> 29) * ODD_CONSTANT;
    return hash ^ hash >> 32;
}

/* hash() of an int of 64 bits, which portable_hash gives as well. */
static inline int64_t hash_of_int(int64_t value) {
    const uint64_t prime = (1ull << 61) - 1;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int64_t hash = (int64_t)(size % prime);
    if (value < 0) hash = -hash;
    return hash == -1 ? -2 : hash;
}

#define ROTATED(value, bits) ((value) << (bits) | (value) >> (64 - (bits)))
#define SIP_ROUND                                                                                  \
    do {                                                                                           \
        v0 += v1, v2 += v3;                                                                        \
        v1 = ROTATED(v1, 13) ^ v0, v3 = ROTATED(v3, 16) ^ v2;                                      \
        v0 = ROTATED(v0, 32);                                                                      \
        v2 += v1, v0 += v3;                                                                        \
        v1 = ROTATED(v1, 17) ^ v2, v3 = ROTATED(v3, 21) ^ v0;                                      \
        v2 = ROTATED(v2, 32);                                                                      \
    } while (0)

/* SipHash-1-3 with a zero key: how the interpreter hashes a buffer under PYTHONHASHSEED=0. */
static int64_t siphash13(const char *bytes, int64_t size) {
    if (!size) return 0;
    uint64_t v0 = 0x736F6D6570736575, v1 = 0x646F72616E646F6D, v2 = 0x6C7967656E657261,
             v3 = 0x7465646279746573, word = 0, last = (uint64_t)size << 56;
    int64_t left = size;
    for (; left >= 8; left -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        v3 ^= word;
        SIP_ROUND;
        v0 ^= word;
    }
    while (left--) last |= (uint64_t)(unsigned char)bytes[left] << (8 * left);
    v3 ^= last;
    SIP_ROUND;
    v0 ^= last;
    v2 ^= 0xFF;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    int64_t hash = (int64_t)(v0 ^ v1 ^ v2 ^ v3);
    return hash == -1 ? -2 : hash;
}

static inline uint32_t character_at(const unsigned char *at, int *width) {
    if (*at < 0x80) return *width = 1, *at;
    if (*at < 0xE0) return *width = 2, (uint32_t)(*at & 0x1F) << 6 | (at[1] & 0x3F);
    if (*at < 0xF0)
        return *width = 3, (uint32_t)(*at & 0x0F) << 12 | (uint32_t)(at[1] & 0x3F) << 6 |
                               (at[2] & 0x3F);
    return *width = 4, (uint32_t)(*at & 0x07) << 18 | (uint32_t)(at[1] & 0x3F) << 12 |
                           (uint32_t)(at[2] & 0x3F) << 6 | (at[3] & 0x3F);
}

/* The hash of the buffer in which the interpreter keeps a text: 1, 2 or 4 bytes a character, by the
   largest of them. 0 where there is no memory for the buffer. */
static int hash_of_text(const Text *text, int64_t *hash) {
    if (is_ascii(text->bytes, text->size)) {
        *hash = siphash13(text->bytes, text->size);
        return 1;
    }
    const unsigned char *at = (const unsigned char *)text->bytes, *end = at + text->size;
    uint32_t largest = 0;
    int width;
    int64_t length = 0;
    for (const unsigned char *here = at; here < end; here += width, length++) {
        uint32_t character = character_at(here, &width);
        if (character > largest) largest = character;
    }
    int bytes_each = largest < 0x100 ? 1 : largest < 0x10000 ? 2 : 4;
    char *buffer = malloc(length * bytes_each);
    if (!buffer) return 0;
    for (char *to = buffer; at < end; at += width, to += bytes_each) {
        uint32_t character = character_at(at, &width);
        memcpy(to, &character, bytes_each);
    }
    *hash = siphash13(buffer, length * bytes_each);
    free(buffer);
    return 1;
}

#endif
