/* Stable orders of keys that are all ints, floats, ASCII texts or bytes.

   A key has 64 bits whose order is the key's, or that of its first bytes beyond those that all keys
   share; a radix sort orders them, and ties are settled by what follows. */

#ifndef PYRITE_ORDER_H
#define PYRITE_ORDER_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

#define DIGITS 8
#define DIGIT_VALUES 256

typedef enum { NO_KEYS, INT_KEYS, FLOAT_KEYS, TEXT_KEYS, BYTES_KEYS } KeyKind;

typedef struct {
    uint64_t prefix;
    uint32_t index, size; /* of what follows the shared bytes, where keys have bytes */
} Place;

typedef struct {
    PyObject *keys; /* a list, borrowed */
    KeyKind kind;
    int is_reversed;
    Py_ssize_t shared; /* the bytes that all keys begin with */
} Order;

static KeyKind kind_of_key(PyObject *key) {
    if (PyLong_CheckExact(key)) return INT_KEYS;
    if (PyFloat_CheckExact(key)) return FLOAT_KEYS;
    if (PyUnicode_CheckExact(key)) return TEXT_KEYS;
    return PyBytes_CheckExact(key) ? BYTES_KEYS : NO_KEYS;
}

/* The bytes of a text or of bytes; 0 for other objects, and for texts that would have to keep a copy
   of their UTF-8. */
static int bytes_of_key(KeyKind kind, PyObject *key, const char **bytes, Py_ssize_t *size) {
    if (kind == BYTES_KEYS) {
        if (!PyBytes_CheckExact(key)) return 0;
        *bytes = PyBytes_AsString(key);
        *size = PyBytes_Size(key);
        return 1;
    }
    if (!PyUnicode_CheckExact(key)) return 0;
    *bytes = PyUnicode_AsUTF8AndSize(key, size);
    if (!*bytes) PyErr_Clear();
    return *bytes && *size == PyUnicode_GetLength(key);
}

static uint64_t bits_of_int(int64_t value) { return (uint64_t)value ^ (1ull << 63); }

/* Bits that order as floats do; 0 for what has no place in an order. */
static int bits_of_float(double value, uint64_t *bits) {
    if (isnan(value)) return 0;
    value += 0.0; /* Zeros are equal. */
    memcpy(bits, &value, sizeof value);
    *bits = *bits >> 63 ? ~*bits : *bits | 1ull << 63;
    return 1;
}

static uint64_t bits_of_bytes(const char *bytes, Py_ssize_t size) {
    unsigned char padded[8] = {0};
    uint64_t bits = 0;
    memcpy(padded, bytes, size < 8 ? size : 8);
    for (int n = 0; n < 8; n++) bits = bits << 8 | padded[n];
    return bits;
}

static int find_place(const Order *order, PyObject *key, Place *place) {
    const char *bytes;
    Py_ssize_t size;
    int64_t value;
    switch (order->kind) {
    case INT_KEYS:
        if (!unbox_int(key, &value)) return 0;
        place->prefix = bits_of_int(value);
        return 1;
    case FLOAT_KEYS:
        return PyFloat_CheckExact(key) && bits_of_float(PyFloat_AsDouble(key), &place->prefix);
    default:
        if (!bytes_of_key(order->kind, key, &bytes, &size)) return 0;
        size -= order->shared;
        place->prefix = bits_of_bytes(bytes + order->shared, size);
        place->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
        return 1;
    }
}

/* Finds how many bytes all keys begin with; 0 where one is of another kind. */
static int find_shared(Order *order, Py_ssize_t count) {
    const char *first, *bytes;
    Py_ssize_t size, shared;
    if (!bytes_of_key(order->kind, PyList_GetItem(order->keys, 0), &first, &shared)) return 0;
    for (Py_ssize_t n = 1; n < count; n++) {
        if (!bytes_of_key(order->kind, PyList_GetItem(order->keys, n), &bytes, &size)) return 0;
        if (size < shared) shared = size;
        Py_ssize_t equal = 0;
        while (equal < shared && bytes[equal] == first[equal]) equal++;
        shared = equal;
    }
    order->shared = shared;
    return 1;
}

/* Sorts by prefix, from the last digit on; digits that all have are left out. */
static Place *radix_sorted(Place *places, Place *spare, size_t count) {
    static const size_t none[DIGIT_VALUES];
    for (int digit = 0; digit < DIGITS; digit++) {
        size_t starts[DIGIT_VALUES], start = 0;
        int shift = digit * 8;
        memcpy(starts, none, sizeof starts);
        for (size_t n = 0; n < count; n++) starts[places[n].prefix >> shift & 0xFF]++;
        if (starts[places[0].prefix >> shift & 0xFF] == count) continue;
        for (int value = 0; value < DIGIT_VALUES; value++) {
            size_t size = starts[value];
            starts[value] = start;
            start += size;
        }
        for (size_t n = 0; n < count; n++)
            spare[starts[places[n].prefix >> shift & 0xFF]++] = places[n];
        Place *sorted = spare;
        spare = places;
        places = sorted;
    }
    return places;
}

static int compare_bytes(const char *left, Py_ssize_t left_size, const char *right,
                         Py_ssize_t right_size) {
    int found = memcmp(left, right, left_size < right_size ? left_size : right_size);
    return found ? found : (left_size > right_size) - (left_size < right_size);
}

/* Compares keys with the same prefix. */
static int compare_whole(const void *one, const void *other, void *context) {
    const Order *order = context;
    const char *left, *right;
    Py_ssize_t left_size, right_size;
    const Place *a = one, *b = other;
    int found = (a->size > b->size) - (a->size < b->size);
    if (a->size > sizeof a->prefix || b->size > sizeof b->prefix) {
        bytes_of_key(order->kind, PyList_GetItem(order->keys, a->index), &left, &left_size);
        bytes_of_key(order->kind, PyList_GetItem(order->keys, b->index), &right, &right_size);
        found = compare_bytes(left, left_size, right, right_size);
    }
    if (found) return order->is_reversed ? -found : found;
    return (a->index > b->index) - (a->index < b->index);
}

/* Compares places with the same prefix, in some context. */
typedef int (*Compare)(const void *, const void *, void *);

static int is_in_order(const Place *places, size_t count, Compare compare, void *context) {
    size_t n = 1;
    while (n < count && compare(&places[n - 1], &places[n], context) < 0) n++;
    return n == count;
}

static void settle_ties(Place *places, size_t count, Compare compare, void *context) {
    for (size_t start = 0, end; start < count; start = end) {
        end = start + 1;
        while (end < count && places[end].prefix == places[start].prefix) end++;
        /* Equal keys are in order already. */
        if (!is_in_order(places + start, end - start, compare, context))
            qsort_r(places + start, end - start, sizeof *places, compare, context);
    }
}

/* Orders the keys; NULL where they have none that is plain. `places` has room for twice as many. */
static Place *ordered(Order *order, Place *places, size_t count) {
    int is_long = order->kind == TEXT_KEYS || order->kind == BYTES_KEYS;
    if (is_long && !find_shared(order, (Py_ssize_t)count)) return NULL;
    for (size_t n = 0; n < count; n++) {
        if (!find_place(order, PyList_GetItem(order->keys, n), &places[n])) return NULL;
        if (order->is_reversed) places[n].prefix = ~places[n].prefix;
        places[n].index = (uint32_t)n;
    }
    Place *sorted = radix_sorted(places, places + count, count);
    if (is_long) settle_ties(sorted, count, compare_whole, order);
    return sorted;
}

/* sorted_rows(rows, keys, reverse): the rows in the order of their keys, as `sorted` has it; None
   where the keys are not all ints, floats, ASCII texts or bytes. */
static PyObject *sorted_rows(PyObject *module, PyObject *args) {
    PyObject *rows, *made = NULL;
    Order order = {0};
    if (!PyArg_ParseTuple(args, "O!O!p:sorted_rows", &PyList_Type, &rows, &PyList_Type, &order.keys,
                          &order.is_reversed))
        return NULL;
    Py_ssize_t count = PyList_Size(rows);
    if (PyList_Size(order.keys) != count || count > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a key for each row, and no more than can be numbered");
        return NULL;
    }
    if (!count) return PyList_New(0);
    order.kind = kind_of_key(PyList_GetItem(order.keys, 0));
    if (order.kind == NO_KEYS) Py_RETURN_NONE;
    Place *places = malloc(2 * count * sizeof *places);
    if (!places) Py_RETURN_NONE;
    const Place *sorted = ordered(&order, places, count);
    if (sorted) made = PyList_New(count);
    for (Py_ssize_t n = 0; made && n < count; n++)
        PyList_SetItem(made, n, Py_NewRef(PyList_GetItem(rows, sorted[n].index)));
    free(places);
    if (sorted) return made;
    Py_RETURN_NONE;
}

#endif
