/* A log of records that can be put in the order of their keys. */

#ifndef PYRITE_RECORDLOG_H
#define PYRITE_RECORDLOG_H

#include "records.h"
#include "tableobject.h"

/* Pages that grow by a quarter. */
typedef struct {
    char *bytes;
    size_t used, room;
} Pages;

typedef struct {
    PyObject_HEAD
    Pages data, ends; /* bytes, and where each record of them ends */
    Place *places;    /* in order, once they are sorted */
    size_t places_bytes;
    Span span; /* of the keys by which they are sorted */
    int is_reversed;
} RecordLog;

static PyTypeObject *recordlog_type;

static void pages_drop(Pages *pages) {
    pages_free(pages->bytes, pages->room);
    *pages = (Pages){0};
}

static int pages_reserve(Pages *pages, size_t more) {
    if (pages->room - pages->used >= more) return 1;
    if (more > SIZE_MAX / 4 - pages->used) return 0;
    size_t wanted = pages->used + more, grown = pages->room + pages->room / 4;
    if (wanted < grown) wanted = grown;
    wanted = (wanted + LEAST_PAGES - 1) / LEAST_PAGES * LEAST_PAGES;
    char *made = pages->bytes ? mremap(pages->bytes, pages->room, wanted, MREMAP_MAYMOVE)
                              : pages_new(wanted);
    if (!made || made == MAP_FAILED) return 0;
    pages->bytes = made;
    pages->room = wanted;
    return 1;
}

static inline Py_ssize_t recordlog_count(const RecordLog *log) {
    return (Py_ssize_t)(log->ends.used / sizeof(uint64_t));
}

static inline Piece record_of(const RecordLog *log, size_t number) {
    const uint64_t *ends = (const uint64_t *)log->ends.bytes;
    uint64_t start = number ? ends[number - 1] : 0;
    return (Piece){log->data.bytes + start, (Py_ssize_t)(ends[number] - start)};
}

/* The record at a place of the order, or as they came. */
static inline Piece record_in_order(const RecordLog *log, Py_ssize_t place) {
    return record_of(log, log->places ? log->places[place].index : (size_t)place);
}

static void recordlog_unsort(RecordLog *log) {
    pages_free(log->places, log->places_bytes);
    log->places = NULL;
}

/* Makes room for so many more records and bytes; 0 where there is none. */
static int recordlog_reserve(RecordLog *log, size_t records, size_t bytes) {
    if (records >= UINT32_MAX - (size_t)recordlog_count(log)) return 0;
    /* One byte more: even records without bytes lie somewhere. */
    return pages_reserve(&log->ends, records * sizeof(uint64_t)) &&
           pages_reserve(&log->data, bytes + 1);
}

/* Adds a record for which there is room. */
static inline void recordlog_append(RecordLog *log, Piece record) {
    if (record.size) memcpy(log->data.bytes + log->data.used, record.bytes, record.size);
    log->data.used += record.size;
    uint64_t end = log->data.used;
    memcpy(log->ends.bytes + log->ends.used, &end, sizeof end);
    log->ends.used += sizeof end;
}

static PyObject *log_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (!PyArg_ParseTuple(args, ":RecordLog")) return NULL;
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

static void log_dealloc(PyObject *self) {
    RecordLog *log = (RecordLog *)self;
    recordlog_unsort(log);
    pages_drop(&log->data);
    pages_drop(&log->ends);
    release(self);
}

/* add(sizes, data): adds packed records; False where there is no memory for them. */
static PyObject *log_add(PyObject *self, PyObject *args) {
    RecordLog *log = (RecordLog *)self;
    PyObject *sizes, *data;
    Packed packed = {0};
    if (!PyArg_ParseTuple(args, "OO:add", &sizes, &data)) return NULL;
    if (!packed_open(&packed, sizes, data)) return NULL;
    int has_room = recordlog_reserve(log, (size_t)packed.count, (size_t)packed.data.len);
    if (has_room) recordlog_unsort(log);
    for (Py_ssize_t n = 0; has_room && n < packed.count; n++) {
        Piece record = {packed.bytes, size_in(&packed, n)};
        recordlog_append(log, record);
        packed.bytes += record.size;
    }
    packed_close(&packed);
    return PyBool_FromLong(has_room);
}

static int are_records(const RecordLog *log, Py_ssize_t start, Py_ssize_t *stop) {
    if (*stop > recordlog_count(log)) *stop = recordlog_count(log);
    if (start >= 0 && start <= *stop) return 1;
    PyErr_SetString(PyExc_IndexError, "no such records");
    return 0;
}

/* take(other, start, stop): adds records of another log, in its order; False without memory. */
static PyObject *log_take(PyObject *self, PyObject *args) {
    RecordLog *log = (RecordLog *)self, *other;
    PyObject *object;
    Py_ssize_t start, stop;
    size_t bytes = 0;
    if (!PyArg_ParseTuple(args, "O!nn:take", recordlog_type, &object, &start, &stop)) return NULL;
    other = (RecordLog *)object;
    if (!are_records(other, start, &stop)) return NULL;
    for (Py_ssize_t n = start; n < stop; n++) bytes += (size_t)record_in_order(other, n).size;
    if (other == log || !recordlog_reserve(log, (size_t)(stop - start), bytes)) Py_RETURN_FALSE;
    recordlog_unsort(log);
    for (Py_ssize_t n = start; n < stop; n++) recordlog_append(log, record_in_order(other, n));
    Py_RETURN_TRUE;
}

static Py_ssize_t shared_bytes(const RecordLog *log) {
    Piece first = key_in(log->span, record_of(log, 0));
    Py_ssize_t shared = first.size;
    for (Py_ssize_t n = 1; shared && n < recordlog_count(log); n++) {
        Piece key = key_in(log->span, record_of(log, (size_t)n));
        if (key.size < shared) shared = key.size;
        Py_ssize_t equal = 0;
        while (equal < shared && key.bytes[equal] == first.bytes[equal]) equal++;
        shared = equal;
    }
    return shared;
}

static int compare_keys(const RecordLog *log, Piece left, Piece right) {
    int found = compare_bytes(left.bytes, left.size, right.bytes, right.size);
    return log->is_reversed ? -found : found;
}

static int compare_records(const void *one, const void *other, void *context) {
    const RecordLog *log = context;
    const Place *a = one, *b = other;
    Piece left = key_in(log->span, record_of(log, a->index));
    Piece right = key_in(log->span, record_of(log, b->index));
    int found = compare_keys(log, left, right);
    return found ? found : (a->index > b->index) - (a->index < b->index);
}

static void fill_places(const RecordLog *log, Place *places) {
    Py_ssize_t shared = shared_bytes(log);
    for (Py_ssize_t n = 0; n < recordlog_count(log); n++) {
        Piece key = key_in(log->span, record_of(log, (size_t)n));
        uint64_t prefix = bits_of_bytes(key.bytes + shared, key.size - shared);
        places[n] = (Place){log->is_reversed ? ~prefix : prefix, (uint32_t)n, 0};
    }
}

/* sort(first, last, reverse): orders the records by the bytes of them from the first to the last, as
   `sorted` has it; False without memory. */
static PyObject *log_sort(PyObject *self, PyObject *args) {
    RecordLog *log = (RecordLog *)self;
    Span span;
    int is_reversed;
    if (!PyArg_ParseTuple(args, "nnp:sort", &span.first, &span.last, &is_reversed)) return NULL;
    if (!is_span(span)) return NULL;
    recordlog_unsort(log);
    log->span = span;
    log->is_reversed = is_reversed;
    if (!recordlog_count(log)) Py_RETURN_TRUE;
    size_t count = (size_t)recordlog_count(log), bytes = count * sizeof *log->places;
    Place *places = pages_new(bytes), *spare = pages_new(bytes);
    if (places && spare) {
        fill_places(log, places);
        log->places = radix_sorted(places, spare, count);
        log->places_bytes = bytes;
        settle_ties(log->places, count, compare_records, log);
    }
    if (places != log->places) pages_free(places, bytes);
    if (spare != log->places) pages_free(spare, bytes);
    return PyBool_FromLong(log->places != NULL);
}

/* ordered(first, last, reverse): says that the records came in the order of these keys. */
static PyObject *log_ordered(PyObject *self, PyObject *args) {
    RecordLog *log = (RecordLog *)self;
    Span span;
    int is_reversed;
    if (!PyArg_ParseTuple(args, "nnp:ordered", &span.first, &span.last, &is_reversed)) return NULL;
    if (!is_span(span)) return NULL;
    recordlog_unsort(log);
    log->span = span;
    log->is_reversed = is_reversed;
    Py_RETURN_NONE;
}

static inline void prefetch_record(const RecordLog *log, Py_ssize_t place, Py_ssize_t stop) {
    if (!log->places) return;
    /* Where it ends is needed before the record itself can be asked for. */
    if (place + 2 * RECORDS_AHEAD < stop)
        __builtin_prefetch((const uint64_t *)log->ends.bytes +
                           log->places[place + 2 * RECORDS_AHEAD].index);
    if (place + RECORDS_AHEAD < stop) {
        Piece record = record_in_order(log, place + RECORDS_AHEAD);
        __builtin_prefetch(record.bytes);
        __builtin_prefetch(record.bytes + record.size);
    }
}

/* rows(start, stop): some of the records, in order. */
static PyObject *log_rows(PyObject *self, PyObject *args) {
    const RecordLog *log = (RecordLog *)self;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "nn:rows", &start, &stop)) return NULL;
    if (!are_records(log, start, &stop)) return NULL;
    PyObject *list = PyList_New(stop - start);
    for (Py_ssize_t n = start; list && n < stop; n++) {
        prefetch_record(log, n, stop);
        Piece record = record_in_order(log, n);
        PyObject *row = PyBytes_FromStringAndSize(record.bytes, record.size);
        if (!row) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, n - start, row);
        }
    }
    return list;
}

/* packed(start, stop): the sizes and the bytes of some of the records, in order. */
static PyObject *log_packed(PyObject *self, PyObject *args) {
    const RecordLog *log = (RecordLog *)self;
    Py_ssize_t start, stop, common = -1;
    size_t total = 0;
    uint32_t *each;
    if (!PyArg_ParseTuple(args, "nn:packed", &start, &stop)) return NULL;
    if (!are_records(log, start, &stop)) return NULL;
    for (Py_ssize_t n = start; n < stop; n++) {
        Py_ssize_t size = record_in_order(log, n).size;
        if (common != size) common = n > start ? 0 : size;
        total += (size_t)size;
    }
    PyObject *sizes = sizes_new(stop - start, common > 0 ? common : 0, &each);
    PyObject *data = sizes ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total) : NULL;
    if (!data) {
        Py_XDECREF(sizes);
        return NULL;
    }
    char *end = PyBytes_AsString(data);
    for (Py_ssize_t n = start; n < stop; n++) {
        prefetch_record(log, n, stop);
        Piece record = record_in_order(log, n);
        if (record.size) memcpy(end, record.bytes, record.size);
        if (each) each[n - start] = (uint32_t)record.size;
        end += record.size;
    }
    return Py_BuildValue("NN", sizes, data);
}

/* key(place): the key of the record at a place of the order, by which the log is sorted. */
static PyObject *log_key(PyObject *self, PyObject *args) {
    const RecordLog *log = (RecordLog *)self;
    Py_ssize_t place;
    if (!PyArg_ParseTuple(args, "n:key", &place)) return NULL;
    if (place < 0 || place >= recordlog_count(log)) {
        PyErr_SetString(PyExc_IndexError, "no such records");
        return NULL;
    }
    Piece key = key_in(log->span, record_in_order(log, place));
    return PyBytes_FromStringAndSize(key.bytes, key.size);
}

/* place(key, behind): how many records of a sorted log come before a key; or are not behind it. */
static PyObject *log_place(PyObject *self, PyObject *args) {
    const RecordLog *log = (RecordLog *)self;
    Piece wanted;
    int is_behind;
    if (!PyArg_ParseTuple(args, "y#p:place", &wanted.bytes, &wanted.size, &is_behind)) return NULL;
    Py_ssize_t low = 0, high = recordlog_count(log);
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        int found = compare_keys(log, key_in(log->span, record_in_order(log, middle)), wanted);
        if (found < 0 || (is_behind && !found)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return PyLong_FromSsize_t(low);
}

static PyObject *log_clear(PyObject *self, PyObject *ignored) {
    RecordLog *log = (RecordLog *)self;
    recordlog_unsort(log);
    pages_drop(&log->data);
    pages_drop(&log->ends);
    Py_RETURN_NONE;
}

static Py_ssize_t log_length(PyObject *self) { return recordlog_count((RecordLog *)self); }

static PyMethodDef recordlog_methods[] = {
    {"add", log_add, METH_VARARGS, "Adds packed records; False without memory."},
    {"take", log_take, METH_VARARGS, "Adds records of another log; False without memory."},
    {"sort", log_sort, METH_VARARGS, "Orders the records by a piece of them."},
    {"ordered", log_ordered, METH_VARARGS, "Says that the records came in this order."},
    {"rows", log_rows, METH_VARARGS, "The records from start to stop, in order."},
    {"packed", log_packed, METH_VARARGS, "The same, as sizes and bytes."},
    {"key", log_key, METH_VARARGS, "The key of the record at a place."},
    {"place", log_place, METH_VARARGS, "How many records come before a key."},
    {"clear", log_clear, METH_NOARGS, "Forgets the records."},
    {0},
};

static PyType_Slot recordlog_slots[] = {
    {Py_tp_new, log_new},
    {Py_tp_dealloc, log_dealloc},
    {Py_tp_methods, recordlog_methods},
    {Py_sq_length, log_length},
    {0},
};

static PyType_Spec recordlog_spec = {
    "pyrite.machine._rows.RecordLog", sizeof(RecordLog), 0, Py_TPFLAGS_DEFAULT, recordlog_slots,
};

#endif
