/* Records: rows that are bytes, one after another, and a key of each that is a piece of it. */

#ifndef PYRITE_RECORDS_H
#define PYRITE_RECORDS_H

#include "order.h"
#include "table.h"

#define LEAST_PAGES ((size_t)1 << 16)
#define MOST_RECORD_BYTES UINT32_MAX
/* Records behind the one that is copied, of which the next are brought into the cache. */
#define RECORDS_AHEAD 8

/* Where a record's key lies in it; a shorter record has less of it. */
typedef struct {
    Py_ssize_t first, last;
} Span;

typedef struct {
    const char *bytes;
    Py_ssize_t size;
} Piece;

static inline Piece key_in(Span span, Piece record) {
    Py_ssize_t first = span.first < record.size ? span.first : record.size;
    Py_ssize_t last = span.last < record.size ? span.last : record.size;
    return (Piece){record.bytes + first, last > first ? last - first : 0};
}

static int is_span(Span span) {
    if (span.first >= 0 && span.last >= 0) return 1;
    PyErr_SetString(PyExc_ValueError, "a key begins and ends within its record");
    return 0;
}

/* Records as they lie in a frame: of one size, or with a size of four bytes each. */
typedef struct {
    const char *bytes;
    Py_ssize_t count, size; /* 0 where sizes differ */
    Py_buffer data, sizes;
} Packed;

static Py_ssize_t size_in(const Packed *packed, Py_ssize_t record) {
    uint32_t size;
    if (packed->size) return packed->size;
    memcpy(&size, (const char *)packed->sizes.buf + record * sizeof size, sizeof size);
    return size;
}

static void packed_close(Packed *packed) {
    if (packed->sizes.obj) PyBuffer_Release(&packed->sizes);
    if (packed->data.obj) PyBuffer_Release(&packed->data);
}

static int has_whole_records(const Packed *packed) {
    if (packed->size) return packed->data.len % packed->size == 0;
    if (packed->sizes.len % sizeof(uint32_t)) return 0;
    Py_ssize_t left = packed->data.len;
    for (Py_ssize_t n = 0; n < packed->count; n++) {
        if (size_in(packed, n) > left) return 0;
        left -= size_in(packed, n);
    }
    return left == 0;
}

/* Opens records whose sizes are an int for all of them, or four bytes each; 0 with an exception. */
static int packed_open(Packed *packed, PyObject *sizes, PyObject *data) {
    if (PyObject_GetBuffer(data, &packed->data, PyBUF_SIMPLE)) return 0;
    packed->bytes = packed->data.buf;
    if (PyLong_Check(sizes)) {
        packed->size = PyLong_AsSsize_t(sizes);
        if (packed->size > 0) packed->count = packed->data.len / packed->size;
        if (packed->size <= 0 && !PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "records have a size");
    } else if (!PyObject_GetBuffer(sizes, &packed->sizes, PyBUF_SIMPLE)) {
        packed->count = packed->sizes.len / (Py_ssize_t)sizeof(uint32_t);
    }
    if (!PyErr_Occurred() && !has_whole_records(packed))
        PyErr_SetString(PyExc_ValueError, "sizes that are not those of the records");
    if (!PyErr_Occurred()) return 1;
    packed_close(packed);
    return 0;
}

/* unpack_records(sizes, data): the records as a list. */
static PyObject *unpack_records(PyObject *module, PyObject *args) {
    PyObject *sizes, *data;
    Packed packed = {0};
    if (!PyArg_ParseTuple(args, "OO:unpack_records", &sizes, &data)) return NULL;
    if (!packed_open(&packed, sizes, data)) return NULL;
    PyObject *list = PyList_New(packed.count);
    for (Py_ssize_t n = 0; list && n < packed.count; n++) {
        PyObject *record = PyBytes_FromStringAndSize(packed.bytes, size_in(&packed, n));
        packed.bytes += size_in(&packed, n);
        if (!record) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, n, record);
        }
    }
    packed_close(&packed);
    return list;
}

/* Sizes as frames have them: an int where all records have the same one. */
static PyObject *sizes_new(Py_ssize_t count, Py_ssize_t size, uint32_t **each) {
    *each = NULL;
    if (size) return PyLong_FromSsize_t(size);
    PyObject *sizes = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof **each);
    if (sizes) *each = (uint32_t *)PyBytes_AsString(sizes);
    return sizes;
}

/* The size of all rows, 0 where it differs, or -1 where one is no bytes, or too long. */
static Py_ssize_t size_of_rows(PyObject *rows, size_t *total) {
    Py_ssize_t common = -1;
    for (Py_ssize_t n = 0; n < PyList_Size(rows); n++) {
        PyObject *row = PyList_GetItem(rows, n);
        if (!PyBytes_CheckExact(row)) return -1;
        Py_ssize_t size = PyBytes_Size(row);
        if (size > MOST_RECORD_BYTES) return -1;
        if (common != size) common = n ? 0 : size;
        *total += (size_t)size;
    }
    return common;
}

/* pack_records(rows, most): the sizes and the bytes of a list of bytes; None for other rows, or where
   they take more bytes. */
static PyObject *pack_records(PyObject *module, PyObject *args) {
    PyObject *rows;
    Py_ssize_t most;
    size_t total = 0;
    uint32_t *each;
    if (!PyArg_ParseTuple(args, "O!n:pack_records", &PyList_Type, &rows, &most)) return NULL;
    Py_ssize_t count = PyList_Size(rows), size = size_of_rows(rows, &total);
    if (size < 0 || most < 0 || total > (size_t)most) Py_RETURN_NONE;
    PyObject *sizes = sizes_new(count, size, &each);
    PyObject *data = sizes ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total) : NULL;
    if (!data) {
        Py_XDECREF(sizes);
        return NULL;
    }
    char *end = PyBytes_AsString(data);
    for (Py_ssize_t n = 0; n < count; n++) {
        PyObject *row = PyList_GetItem(rows, n);
        size_t length = (size_t)PyBytes_Size(row);
        memcpy(end, PyBytes_AsString(row), length);
        if (each) each[n] = (uint32_t)length;
        end += length;
    }
    return Py_BuildValue("NN", sizes, data);
}

typedef struct {
    Piece key;
    uint64_t prefix;
} Bound;

/* How many bounds are less than a key. */
static uint32_t range_of(const Bound *bounds, Py_ssize_t count, Piece key) {
    uint64_t prefix = bits_of_bytes(key.bytes, key.size);
    Py_ssize_t low = 0, high = count;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        const Bound *bound = &bounds[middle];
        int is_below = bound->prefix < prefix;
        if (bound->prefix == prefix)
            is_below = compare_bytes(bound->key.bytes, bound->key.size, key.bytes, key.size) < 0;
        if (is_below) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

static Bound *bounds_of(PyObject *list) {
    Py_ssize_t count = PyList_Size(list);
    Bound *bounds = calloc(count + 1, sizeof *bounds);
    if (!bounds) PyErr_NoMemory();
    for (Py_ssize_t n = 0; bounds && n < count; n++) {
        PyObject *bound = PyList_GetItem(list, n);
        if (!PyBytes_CheckExact(bound)) {
            PyErr_SetString(PyExc_TypeError, "bounds are bytes");
            free(bounds);
            return NULL;
        }
        bounds[n].key = (Piece){PyBytes_AsString(bound), PyBytes_Size(bound)};
        bounds[n].prefix = bits_of_bytes(bounds[n].key.bytes, bounds[n].key.size);
    }
    return bounds;
}

/* The parts that records of one size were found to fall to, as bytes. */
static PyObject *records_by_part(const Packed *packed, const uint32_t *found, Py_ssize_t parts) {
    char **ends = calloc(parts, sizeof *ends);
    size_t *counts = calloc(parts, sizeof *counts);
    PyObject *list = ends && counts ? PyList_New(parts) : PyErr_NoMemory();
    for (Py_ssize_t n = 0; list && n < packed->count; n++) counts[found[n]]++;
    for (Py_ssize_t part = 0; list && part < parts; part++) {
        PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)counts[part] * packed->size);
        if (!made) {
            Py_CLEAR(list);
        } else {
            ends[part] = PyBytes_AsString(made);
            PyList_SetItem(list, part, made);
        }
    }
    for (Py_ssize_t n = 0; list && n < packed->count; n++) {
        memcpy(ends[found[n]], packed->bytes + n * packed->size, packed->size);
        ends[found[n]] += packed->size;
    }
    free(ends);
    free(counts);
    return list;
}

/* deal_records(size, data, first, last, bounds, ascending): the records of each range of keys, which
   lie from the first to the last byte of a record. */
static PyObject *deal_records(PyObject *module, PyObject *args) {
    PyObject *size, *data, *list, *made = NULL;
    Span span;
    Packed packed = {0};
    int is_ascending;
    if (!PyArg_ParseTuple(args, "O!OnnO!p:deal_records", &PyLong_Type, &size, &data, &span.first,
                          &span.last, &PyList_Type, &list, &is_ascending))
        return NULL;
    if (!is_span(span) || !packed_open(&packed, size, data)) return NULL;
    Py_ssize_t count = PyList_Size(list);
    Bound *bounds = bounds_of(list);
    uint32_t *found = malloc((packed.count + 1) * sizeof *found);
    if (bounds && !found) PyErr_NoMemory();
    if (bounds && found) {
        for (Py_ssize_t n = 0; n < packed.count; n++) {
            Piece record = {packed.bytes + n * packed.size, packed.size};
            uint32_t range = range_of(bounds, count, key_in(span, record));
            found[n] = is_ascending ? range : (uint32_t)count - range;
        }
        made = records_by_part(&packed, found, count + 1);
    }
    free(bounds);
    free(found);
    packed_close(&packed);
    return made;
}

#endif
