/* The values of each key in one vector, keys and values in the order in which they came.

   Values are noted with the number of their key's group first; when all have come, each goes to its
   group's vector. */

#ifndef PYRITE_GROUPS_H
#define PYRITE_GROUPS_H

#include "lookup.h"
#include "packedrows.h"
#include "tableobject.h"

#define LEAST_VALUES 1024

typedef struct {
    PyObject_HEAD
    Table *table; /* by key: how many values the group has, and where they end once all have come */
    uint32_t *owners;
    Reg *values;  /* in the order in which they came */
    Reg *vectors; /* by group, once all have come */
    Reg *reserved; /* room for them */
    size_t used, room, reserved_bytes;
    int width; /* of a value */
    TextPlaces texts; /* in a row; they lie in the table's heap */
} Groups;

static PyTypeObject *groups_type;

static inline size_t values_bytes(const Groups *groups) {
    return groups->room * groups->width * sizeof(Reg);
}

static inline size_t vectors_bytes(const Groups *groups) {
    return (groups->used + 1) * groups->width * sizeof(Reg);
}

static inline Lookup lookup_of(const Groups *groups) {
    return (Lookup){groups->table, groups->vectors, groups->width};
}

static void groups_free_values(Groups *groups) {
    pages_free(groups->owners, groups->room * sizeof *groups->owners);
    pages_free(groups->values, values_bytes(groups));
    groups->owners = NULL;
    groups->values = NULL;
}

/* Whether rows of a checked layout can be added. */
static int suits_groups(const Groups *groups, const char *layout, int words) {
    char key = groups->table->is_by_text ? 's' : 'i';
    if (words == groups->width + 1 && layout[0] == '(' && layout[1] == key &&
        has_texts_at(layout, 0, &groups->texts) && groups->values)
        return 1;
    PyErr_SetString(PyExc_ValueError, "rows of another layout");
    return 0;
}

/* Groups(layout): of packed rows with this layout, whose first item is the key. */
static PyObject *groups_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *layout;
    if (!PyArg_ParseTuple(args, "s:Groups", &layout)) return NULL;
    int words = layout_words(layout);
    if (words < 0) return NULL;
    if (words < 2 || layout[0] != '(' || (layout[1] != 'i' && layout[1] != 's')) {
        PyErr_SetString(PyExc_ValueError, "the layout has no key");
        return NULL;
    }
    PyObject *table = PyObject_CallFunction((PyObject *)table_type, "ii", 3, layout[1] == 's');
    if (!table) return NULL;
    Groups *groups = (Groups *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!groups) {
        Py_DECREF(table);
        return NULL;
    }
    groups->table = (Table *)table;
    groups->width = words - 1;
    groups->texts = text_places(layout, 0);
    groups->room = LEAST_VALUES;
    groups->owners = pages_new(groups->room * sizeof *groups->owners);
    groups->values = pages_new(values_bytes(groups));
    int has_heap = !groups->texts.count || heap_open(groups->table);
    if (groups->owners && groups->values && has_heap) return (PyObject *)groups;
    Py_DECREF(groups);
    return PyErr_NoMemory();
}

static void groups_dealloc(PyObject *self) {
    Groups *groups = (Groups *)self;
    groups_free_values(groups);
    pages_free(groups->vectors, vectors_bytes(groups));
    pages_free(groups->reserved, groups->reserved_bytes);
    Py_XDECREF((PyObject *)groups->table);
    release(self);
}

static int groups_grow(Groups *groups) {
    size_t owners_size = groups->room * sizeof *groups->owners, values_size = values_bytes(groups);
    if (groups->room > SIZE_MAX / 4096) return 0;
    Reg *values = mremap(groups->values, values_size, values_size * 2, MREMAP_MAYMOVE);
    if (values == MAP_FAILED) return 0;
    groups->values = values;
    uint32_t *owners = mremap(groups->owners, owners_size, owners_size * 2, MREMAP_MAYMOVE);
    if (owners == MAP_FAILED) {
        /* Back to the size that both have. */
        groups->values = mremap(values, values_size * 2, values_size, MREMAP_MAYMOVE);
        return 0;
    }
    groups->owners = owners;
    groups->room *= 2;
    return 1;
}

static int groups_put(Groups *groups, const Text *text, const Reg *row) {
    static const Reg none[2];
    Table *table = groups->table;
    if (groups->used == groups->room && !groups_grow(groups)) return 0;
    int64_t entry = text ? table_find_text(table, text) : table_find(table, row->i);
    if (entry < 0) {
        if (text ? !table_insert_text(table, text, none) : !table_insert(table, row->i, none))
            return 0;
        entry = table->used - 1;
    }
    record_at(table, entry)[1].i++;
    groups->owners[groups->used] = (uint32_t)entry;
    memcpy(groups->values + groups->used * groups->width, row + 1, groups->width * sizeof *row);
    groups->used++;
    return 1;
}

/* Adds a packed row; 0 where there is no memory, or a text lies outside of the heap. */
static int groups_add_row(Groups *groups, const Heap *heap, Reg *row) {
    Text key, texts[MOST_WORDS];
    int is_by_text = groups->table->is_by_text;
    if (is_by_text && !text_at(heap, row->i, &key)) return 0;
    for (int n = 0; n < groups->texts.count; n++) {
        Reg *word = &row[groups->texts.places[n]];
        if (!text_at(heap, word->i, &texts[n])) return 0;
        word->t = &texts[n];
    }
    if (!keep_texts(groups->table, &groups->texts, row + 1)) return 0;
    return groups_put(groups, is_by_text ? &key : NULL, row);
}

/* add(layout, words, heap): adds packed rows; how many of them there was memory for. */
static PyObject *groups_add(PyObject *self, PyObject *args) {
    Groups *groups = (Groups *)self;
    Py_buffer words, heap;
    const char *layout;
    if (!PyArg_ParseTuple(args, "sy*y*:add", &layout, &words, &heap)) return NULL;
    Py_ssize_t at = -1;
    int width = layout_words(layout);
    if (width > 0 && suits_groups(groups, layout, width)) {
        size_t size = width * sizeof(Reg);
        const Heap texts = {heap.buf, heap.len};
        for (at = 0; at < words.len / (Py_ssize_t)size; at++) {
            Reg row[MOST_WORDS];
            memcpy(row, (const char *)words.buf + at * size, size);
            if (!groups_add_row(groups, &texts, row)) break;
        }
    }
    PyBuffer_Release(&words);
    PyBuffer_Release(&heap);
    return at < 0 ? NULL : PyLong_FromSsize_t(at);
}

/* Adds a row of objects, whose words are borrowed from them. */
static int groups_put_row(Groups *groups, Reg *row) {
    Text key, texts[MOST_WORDS];
    int is_by_text = groups->table->is_by_text;
    if (is_by_text && !utf8_of(row->o, &key)) return 0;
    for (int n = 0; n < groups->texts.count; n++) {
        Reg *word = &row[groups->texts.places[n]];
        if (!utf8_of(word->o, &texts[n])) return 0;
        word->t = &texts[n];
    }
    if (!keep_texts(groups->table, &groups->texts, row + 1)) return 0;
    return groups_put(groups, is_by_text ? &key : NULL, row);
}

/* put(layout, rows): adds rows of a list; how many were of the layout, and there was memory for. */
static PyObject *groups_add_rows(PyObject *self, PyObject *args) {
    Groups *groups = (Groups *)self;
    const char *layout;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "sO!:put", &layout, &PyList_Type, &list)) return NULL;
    int words = layout_words(layout);
    if (words < 0 || !suits_groups(groups, layout, words)) return NULL;
    Py_ssize_t at = 0;
    for (; at < PyList_Size(list); at++) {
        Reg row[MOST_WORDS], *end = row;
        const char *left = layout;
        if (!unboxed(PyList_GetItem(list, at), &left, &end)) break;
        if (!groups_put_row(groups, row)) break;
    }
    return PyLong_FromSsize_t(at);
}

/* reserve(): makes room for the vectors of the values that have come; False where there is no memory
   for them, and nothing has changed. */
static PyObject *groups_reserve(PyObject *self, PyObject *ignored) {
    Groups *groups = (Groups *)self;
    if (groups->vectors) Py_RETURN_TRUE;
    pages_free(groups->reserved, groups->reserved_bytes);
    groups->reserved_bytes = vectors_bytes(groups);
    groups->reserved = pages_new(groups->reserved_bytes);
    return PyBool_FromLong(groups->reserved != NULL);
}

/* close(): makes the vectors, where there is room for them. */
static PyObject *groups_close(PyObject *self, PyObject *ignored) {
    Groups *groups = (Groups *)self;
    Table *table = groups->table;
    if (groups->vectors) Py_RETURN_NONE;
    Reg *vectors = groups->reserved;
    if (!vectors || groups->reserved_bytes != vectors_bytes(groups)) {
        PyErr_SetString(PyExc_ValueError, "no room is reserved for these groups");
        return NULL;
    }
    groups->reserved = NULL;
    int64_t end = 0;
    for (Py_ssize_t entry = 0; entry < table->used; entry++) {
        Reg *state = record_at(table, entry) + 1;
        state[1].i = end;
        end += state[0].i;
    }
    for (size_t n = 0; n < groups->used; n++) {
        Reg *state = record_at(table, groups->owners[n]) + 1;
        memcpy(vectors + state[1].i++ * groups->width, groups->values + n * groups->width,
               groups->width * sizeof(Reg));
    }
    groups_free_values(groups);
    groups->vectors = vectors;
    Py_RETURN_NONE;
}

static PyObject *boxed_key(const Groups *groups, int64_t entry) {
    const Table *table = groups->table;
    if (!table->is_by_text) return PyLong_FromLongLong(record_at(table, entry)->i);
    Text key = key_of_entry(table, entry);
    return PyUnicode_DecodeUTF8(key.bytes, key.size, NULL);
}

/* A pair with this key; takes the value. */
static PyObject *pair_with(const Groups *groups, int64_t entry, PyObject *value) {
    PyObject *key = value ? boxed_key(groups, entry) : NULL;
    PyObject *pair = key ? PyTuple_New(2) : NULL;
    if (!pair) {
        Py_XDECREF(key);
        Py_XDECREF(value);
        return NULL;
    }
    PyTuple_SetItem(pair, 0, key);
    PyTuple_SetItem(pair, 1, value);
    return pair;
}

static int has_values(const Groups *groups, const char *layout) {
    int words = layout_words(layout);
    if (words < 0) return 0;
    if (words == groups->width && has_texts_at(layout, 1, &groups->texts)) return 1;
    PyErr_SetString(PyExc_ValueError, "no such values");
    return 0;
}

static int are_closed(const Groups *groups, const char *layout) {
    if (!has_values(groups, layout)) return 0;
    if (!groups->vectors) PyErr_SetString(PyExc_ValueError, "groups that are not closed");
    return groups->vectors != NULL;
}

/* The values of a vector, of a checked layout, in a list. */
static PyObject *boxed_vector(const char *layout, Vector vector) {
    return unpack_words(layout, (int)vector.width, (const char *)vector.words, vector.count,
                        &vector.heap);
}

/* find(layout, key): the values of a key, which have this layout, or None. */
static PyObject *groups_find(PyObject *self, PyObject *args) {
    const Groups *groups = (Groups *)self;
    const char *layout;
    PyObject *key;
    int64_t value, entry = -1;
    Text text;
    if (!PyArg_ParseTuple(args, "sO:find", &layout, &key)) return NULL;
    if (!are_closed(groups, layout)) return NULL;
    if (!groups->table->is_by_text) {
        if (unbox_int(key, &value)) entry = table_find(groups->table, value);
    } else if (PyUnicode_CheckExact(key) && utf8_of(key, &text)) {
        entry = table_find_text(groups->table, &text);
    }
    if (entry < 0) Py_RETURN_NONE;
    Lookup lookup = lookup_of(groups);
    return boxed_vector(layout, lookup_at(&lookup, entry, NULL));
}

/* keys(start, stop): some of the keys. */
static PyObject *groups_keys(PyObject *self, PyObject *args) {
    const Groups *groups = (Groups *)self;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "nn:keys", &start, &stop)) return NULL;
    if (!bounds(groups->table, start, &stop)) return NULL;
    PyObject *list = PyList_New(stop - start);
    for (Py_ssize_t entry = start; list && entry < stop; entry++) {
        PyObject *key = boxed_key(groups, entry);
        if (!key) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, entry - start, key);
        }
    }
    return list;
}

/* rows(layout, start, stop): keys with a value each, as they came, while groups are not closed. */
static PyObject *groups_rows(PyObject *self, PyObject *args) {
    const Groups *groups = (Groups *)self;
    const char *layout;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "snn:rows", &layout, &start, &stop)) return NULL;
    if (!has_values(groups, layout)) return NULL;
    if (stop > (Py_ssize_t)groups->used) stop = (Py_ssize_t)groups->used;
    if (!groups->values || start < 0 || start > stop) {
        PyErr_SetString(PyExc_ValueError, "no such values, or groups that are closed");
        return NULL;
    }
    const Heap heap = table_heap(groups->table);
    PyObject *list = PyList_New(stop - start);
    for (Py_ssize_t n = start; list && n < stop; n++) {
        const char *at = layout;
        const Reg *words = groups->values + n * groups->width;
        PyObject *pair = pair_with(groups, groups->owners[n], boxed(&at, &words, &heap));
        if (!pair) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, n - start, pair);
        }
    }
    return list;
}

static Py_ssize_t groups_length(PyObject *self) { return ((Groups *)self)->table->used; }

static PyObject *groups_values(PyObject *self, void *closure) {
    return PyLong_FromSize_t(((Groups *)self)->used);
}

static PyObject *groups_vector_bytes(PyObject *self, void *closure) {
    return PyLong_FromSize_t(vectors_bytes((Groups *)self));
}

static PyMethodDef groups_methods[] = {
    {"add", groups_add, METH_VARARGS, "Adds packed rows; returns how many there was memory for."},
    {"reserve", groups_reserve, METH_NOARGS, "Makes room for vectors; False without memory."},
    {"close", groups_close, METH_NOARGS, "Makes the vectors, for which there is room."},
    {"find", groups_find, METH_VARARGS, "The values of a key, or None."},
    {"keys", groups_keys, METH_VARARGS, "The keys from start to stop."},
    {"put", groups_add_rows, METH_VARARGS, "Adds rows of a list, up to one of another layout."},
    {"rows", groups_rows, METH_VARARGS, "Keys with a value each, as they came."},
    {0},
};

static PyGetSetDef groups_properties[] = {
    {"values", groups_values, NULL, "How many values there are.", NULL},
    {"vector_bytes", groups_vector_bytes, NULL, "What the vectors take.", NULL},
    {0},
};

static PyType_Slot groups_slots[] = {
    {Py_tp_new, groups_new},           {Py_tp_dealloc, groups_dealloc},
    {Py_tp_methods, groups_methods},   {Py_sq_length, groups_length},
    {Py_tp_getset, groups_properties}, {0},
};

static PyType_Spec groups_spec = {
    "pyrite.machine._rows.Groups", sizeof(Groups), 0, Py_TPFLAGS_DEFAULT, groups_slots,
};

#endif
