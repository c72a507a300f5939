/* Packed rows as columns: ints in as few bytes as their range needs. Small ints take less room so
   than pickled, and less time to check and to copy.

   The number of rows; the width of each column in bytes, padded to a multiple of 8; the least int of
   each column; the columns, one after another. */

#ifndef PYRITE_NARROW_H
#define PYRITE_NARROW_H

#include "packedrows.h"

typedef struct {
    int count; /* of columns */
    uint8_t widths[MOST_WORDS];
    uint64_t bases[MOST_WORDS];
} Columns;

static inline size_t padded(size_t size) { return (size + 7) / 8 * 8; }

static inline size_t columns_head(int count) { return 8 + padded(count) + 8 * (size_t)count; }

static size_t columns_row_bytes(const Columns *columns) {
    size_t size = 0;
    for (int n = 0; n < columns->count; n++) size += columns->widths[n];
    return size;
}

static inline uint64_t word_at(const char *words, size_t place) {
    uint64_t word;
    memcpy(&word, words + place * sizeof word, sizeof word);
    return word;
}

static void measure_column(Columns *columns, int column, const char *words, size_t rows) {
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t row = 0; row < rows; row++) {
        int64_t value = (int64_t)word_at(words, row * columns->count + column);
        if (value < least) least = value;
        if (value > most) most = value;
    }
    uint64_t range = (uint64_t)most - (uint64_t)least;
    int width = range <= UINT8_MAX ? 1 : range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
    columns->widths[column] = (uint8_t)width;
    columns->bases[column] = width == 8 ? 0 : (uint64_t)least;
}

static void measure_columns(Columns *columns, const char *layout, const char *words, size_t rows) {
    for (int column = 0; *layout; layout++) {
        if (!strchr("ifbs", *layout)) continue;
        columns->widths[column] = 8;
        columns->bases[column] = 0;
        if (*layout == 'i' || *layout == 'b') measure_column(columns, column, words, rows);
        column++;
    }
}

static char *write_column(const Columns *columns, int column, const char *words, size_t rows,
                          char *to) {
    int width = columns->widths[column];
    for (size_t row = 0; row < rows; row++, to += width) {
        uint64_t value = word_at(words, row * columns->count + column) - columns->bases[column];
        memcpy(to, &value, width);
    }
    return to;
}

/* narrow(layout, words): the same rows in less room, or None where that would not save a quarter. */
static PyObject *narrow(PyObject *module, PyObject *args) {
    const char *layout;
    Py_buffer view;
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "sy*:narrow", &layout, &view)) return NULL;
    Columns columns = {.count = layout_words(layout)};
    if (columns.count > 0) {
        uint64_t rows = (uint64_t)view.len / (columns.count * sizeof(Reg));
        measure_columns(&columns, layout, view.buf, rows);
        size_t head = columns_head(columns.count), size = head + rows * columns_row_bytes(&columns);
        if (size <= (size_t)view.len / 4 * 3) made = PyBytes_FromStringAndSize(NULL, size);
        if (made) {
            char *at = PyBytes_AsString(made);
            memset(at, 0, head);
            memcpy(at, &rows, 8);
            memcpy(at + 8, columns.widths, columns.count);
            memcpy(at + 8 + padded(columns.count), columns.bases, 8 * (size_t)columns.count);
            at += head;
            for (int n = 0; n < columns.count; n++)
                at = write_column(&columns, n, view.buf, rows, at);
        }
    }
    PyBuffer_Release(&view);
    if (made || PyErr_Occurred()) return made;
    Py_RETURN_NONE;
}

static const char *read_column(const Columns *columns, int column, const char *from, size_t rows,
                               char *words) {
    int width = columns->widths[column];
    for (size_t row = 0; row < rows; row++, from += width) {
        uint64_t value = 0;
        memcpy(&value, from, width);
        value += columns->bases[column];
        memcpy(words + (row * columns->count + column) * sizeof value, &value, sizeof value);
    }
    return from;
}

/* Reads the head of columns; 0 where the bytes are none. */
static int read_head(Columns *columns, const char *from, size_t size, uint64_t *rows) {
    size_t head = columns_head(columns->count);
    if (size < head) return 0;
    memcpy(rows, from, 8);
    memcpy(columns->widths, from + 8, columns->count);
    memcpy(columns->bases, from + 8 + padded(columns->count), 8 * (size_t)columns->count);
    for (int n = 0; n < columns->count; n++) {
        int width = columns->widths[n];
        if (width != 1 && width != 2 && width != 4 && width != 8) return 0;
    }
    size_t row_bytes = columns_row_bytes(columns);
    return *rows <= (size - head) / row_bytes && *rows * row_bytes == size - head;
}

/* widen(layout, narrowed): the words of rows that were narrowed. */
static PyObject *widen(PyObject *module, PyObject *args) {
    const char *layout;
    Py_buffer view;
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "sy*:widen", &layout, &view)) return NULL;
    Columns columns = {.count = layout_words(layout)};
    uint64_t rows = 0;
    if (columns.count > 0 && !read_head(&columns, view.buf, view.len, &rows))
        PyErr_SetString(PyExc_ValueError, "not the columns of packed rows");
    if (!PyErr_Occurred())
        made = PyBytes_FromStringAndSize(NULL, rows * columns.count * sizeof(Reg));
    if (made) {
        const char *from = (const char *)view.buf + columns_head(columns.count);
        char *words = PyBytes_AsString(made);
        for (int n = 0; n < columns.count; n++)
            from = read_column(&columns, n, from, rows, words);
    }
    PyBuffer_Release(&view);
    return made;
}

#endif
