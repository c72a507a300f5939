/* Which of some sorted bounds keys fall between, for keys that are all ints, floats, ASCII texts or
   bytes. */

#ifndef PYRITE_RANGES_H
#define PYRITE_RANGES_H

#include "order.h"

typedef struct {
    Order order;
    Place *bounds;
    size_t count;
} Ranges;

/* Whether a bound is less than a key; prefixes decide, unless they are equal and all is not told. */
static int is_below(const Ranges *ranges, size_t bound, const Place *place, PyObject *key) {
    const Place *other = &ranges->bounds[bound];
    if (other->prefix != place->prefix) return other->prefix < place->prefix;
    if (ranges->order.kind == INT_KEYS || ranges->order.kind == FLOAT_KEYS) return 0;
    const char *left, *right;
    Py_ssize_t left_size, right_size;
    PyObject *whole = PyList_GetItem(ranges->order.keys, other->index);
    bytes_of_key(ranges->order.kind, whole, &left, &left_size);
    bytes_of_key(ranges->order.kind, key, &right, &right_size);
    int found = memcmp(left, right, left_size < right_size ? left_size : right_size);
    return found ? found < 0 : left_size < right_size;
}

/* As bisect_left finds it; -1 for a key of another kind. */
static int64_t find_range(const Ranges *ranges, PyObject *key) {
    Place place = {0};
    if (!find_place(&ranges->order, key, &place)) return -1;
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_below(ranges, middle, &place, key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)low;
}

static int find_ranges(const Ranges *ranges, PyObject *keys, uint32_t *found) {
    for (Py_ssize_t n = 0; n < PyList_Size(keys); n++) {
        int64_t range = find_range(ranges, PyList_GetItem(keys, n));
        if (range < 0) return 0;
        found[n] = (uint32_t)range;
    }
    return 1;
}

static int set_bounds(Ranges *ranges) {
    for (size_t n = 0; n < ranges->count; n++) {
        if (!find_place(&ranges->order, PyList_GetItem(ranges->order.keys, n), &ranges->bounds[n]))
            return 0;
        ranges->bounds[n].index = (uint32_t)n;
    }
    return 1;
}

static int append_rows(PyObject *rows, PyObject *buckets, const uint32_t *found, Py_ssize_t last) {
    for (Py_ssize_t n = 0; n < PyList_Size(rows); n++) {
        Py_ssize_t bucket = last < 0 ? found[n] : last - (Py_ssize_t)found[n];
        if (PyList_Append(PyList_GetItem(buckets, bucket), PyList_GetItem(rows, n))) return 0;
    }
    return 1;
}

static int are_buckets(PyObject *buckets, Py_ssize_t bounds) {
    if (PyList_Size(buckets) <= bounds) return 0;
    for (Py_ssize_t n = 0; n < PyList_Size(buckets); n++) {
        if (!PyList_CheckExact(PyList_GetItem(buckets, n))) return 0;
    }
    return 1;
}

/* deal_ranges(rows, keys, bounds, ascending, buckets): whether the rows were added to the buckets
   that their keys fall into; nothing has changed where keys or bounds are not all of one plain
   kind. */
static PyObject *deal_ranges(PyObject *module, PyObject *args) {
    PyObject *rows, *keys, *buckets;
    Ranges ranges = {0};
    int is_ascending;
    if (!PyArg_ParseTuple(args, "O!O!O!pO!:deal_ranges", &PyList_Type, &rows, &PyList_Type, &keys,
                          &PyList_Type, &ranges.order.keys, &is_ascending, &PyList_Type, &buckets))
        return NULL;
    Py_ssize_t count = PyList_Size(rows), bounds = PyList_Size(ranges.order.keys);
    if (PyList_Size(keys) != count || !are_buckets(buckets, bounds)) {
        PyErr_SetString(PyExc_ValueError, "a key for each row, and a bucket for each range");
        return NULL;
    }
    if (!bounds || !count) Py_RETURN_FALSE;
    ranges.order.kind = kind_of_key(PyList_GetItem(ranges.order.keys, 0));
    ranges.count = (size_t)bounds;
    ranges.bounds = calloc(bounds, sizeof *ranges.bounds);
    uint32_t *found = malloc(count * sizeof *found);
    int is_found = ranges.bounds && found && ranges.order.kind != NO_KEYS && set_bounds(&ranges) &&
                   find_ranges(&ranges, keys, found);
    int is_dealt = is_found && append_rows(rows, buckets, found, is_ascending ? -1 : bounds);
    free(ranges.bounds);
    free(found);
    if (is_found && !is_dealt) return NULL;
    return PyBool_FromLong(is_dealt);
}

#endif
