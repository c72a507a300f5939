/* The table as an object of Python. */

#ifndef PYRITE_TABLEOBJECT_H
#define PYRITE_TABLEOBJECT_H

#include "layout.h"
#include "run.h"
#include "table.h"

static PyTypeObject *table_type;

/* The UTF-8 of a text that is an object; 0 where it has none. */
static int utf8_of(PyObject *object, Text *text) {
    Py_ssize_t size;
    text->bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text->bytes) PyErr_Clear();
    text->size = size;
    text->hash = 0;
    return text->bytes != NULL;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    int width, is_by_text = 0, is_log = 0;
    const char *layout = "i";
    if (!PyArg_ParseTuple(args, "i|pps:Table", &width, &is_by_text, &is_log, &layout)) return NULL;
    if (layout_words(layout) < 0) return NULL;
    if (width < 1 || width > MOST_WORDS) {
        PyErr_SetString(PyExc_ValueError, "a record has between 1 and 255 words");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Table *table = (Table *)allocate(type, 0);
    if (!table) return NULL;
    table->width = width;
    table->is_by_text = is_by_text;
    table->is_log = is_log;
    if (is_log) table->texts = text_places(layout, 0);
    if (!table_reset(table)) {
        Py_DECREF(table);
        return PyErr_NoMemory();
    }
    return (PyObject *)table;
}

static void release(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static void table_dealloc(PyObject *self) {
    table_free((Table *)self);
    release(self);
}

static Py_ssize_t table_length(PyObject *self) { return ((Table *)self)->used; }

static PyObject *table_nbytes(PyObject *self, void *closure) {
    return PyLong_FromSize_t(table_bytes((Table *)self));
}

/* Packed rows need not be aligned. */
static PyObject *unpack_words(const char *layout, int words, const char *packed, Py_ssize_t count,
                              const Heap *heap) {
    PyObject *list = PyList_New(count);
    Reg row_words[MOST_WORDS];
    size_t size = words * sizeof(Reg);
    for (Py_ssize_t n = 0; list && n < count; n++) {
        const char *at = layout;
        const Reg *word = row_words;
        memcpy(row_words, packed + n * size, size);
        PyObject *row = boxed(&at, &word, heap);
        if (!row) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, n, row);
        }
    }
    return list;
}

static int bounds(const Table *table, Py_ssize_t start, Py_ssize_t *stop) {
    if (*stop > table->used) *stop = table->used;
    if (start >= 0 && start <= *stop) return 1;
    PyErr_SetString(PyExc_IndexError, "no such records");
    return 0;
}

/* The words of the table's layout, or -1 with an exception. */
static int table_words(const Table *table, const char *layout) {
    int words = layout_words(layout);
    if (words < 0) return -1;
    char key = table->is_by_text ? 's' : 'i';
    if (words == table->width && layout[0] == '(' && layout[1] == key &&
        has_texts_at(layout, 0, &table->texts))
        return words;
    PyErr_SetString(PyExc_ValueError, "the layout is not the table's");
    return -1;
}

static PyObject *table_rows(PyObject *self, PyObject *args) {
    Table *table = (Table *)self;
    const char *layout;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "snn:rows", &layout, &start, &stop)) return NULL;
    int words = table_words(table, layout);
    if (words < 0 || !bounds(table, start, &stop)) return NULL;
    Heap heap = table_heap(table);
    return unpack_words(layout, words, (const char *)record_at(table, start), stop - start, &heap);
}

/* Whether a row of objects has come to a log: False as well where the log is full. */
static PyObject *log_put(Table *table, const Text *key, Reg *record) {
    Text texts[MOST_WORDS];
    for (int n = 0; n < table->texts.count; n++) {
        Reg *word = &record[table->texts.places[n]];
        if (!utf8_of(word->o, &texts[n])) Py_RETURN_FALSE;
        word->t = &texts[n];
    }
    return PyBool_FromLong(table_append(table, key, record->i, record + 1));
}

/* put(layout, row): whether the row is of the layout; it replaces the record of its key. */
static PyObject *table_put(PyObject *self, PyObject *args) {
    Table *table = (Table *)self;
    const char *layout;
    PyObject *row;
    if (!PyArg_ParseTuple(args, "sO:put", &layout, &row)) return NULL;
    if (table_words(table, layout) < 0) return NULL;
    Reg record[MOST_WORDS], *end = record;
    const char *at = layout;
    if (!unboxed(row, &at, &end)) Py_RETURN_FALSE;
    Text key = {NULL, 0, 0};
    if (table->is_by_text && !utf8_of(record->o, &key)) Py_RETURN_FALSE;
    if (table->is_log) return log_put(table, key.bytes ? &key : NULL, record);
    int64_t entry = key.bytes ? table_find_text(table, &key) : table_find(table, record->i);
    if (entry >= 0) {
        memcpy(record_at(table, entry) + 1, record + 1, (table->width - 1) * sizeof *record);
    } else if (key.bytes ? !table_insert_text(table, &key, record + 1)
                         : !table_insert(table, record->i, record + 1)) {
        return PyErr_NoMemory();
    }
    Py_RETURN_TRUE;
}

/* find(layout, key): the row of the key, or None. */
static PyObject *table_get(PyObject *self, PyObject *args) {
    Table *table = (Table *)self;
    const char *layout;
    PyObject *key;
    int64_t value, entry = -1;
    Text text;
    if (!PyArg_ParseTuple(args, "sO:find", &layout, &key)) return NULL;
    if (table_words(table, layout) < 0) return NULL;
    if (table->is_log) Py_RETURN_NONE;
    if (!table->is_by_text) {
        if (unbox_int(key, &value)) entry = table_find(table, value);
    } else if (PyUnicode_CheckExact(key) && utf8_of(key, &text)) {
        entry = table_find_text(table, &text);
    }
    if (entry < 0) Py_RETURN_NONE;
    const Reg *record = record_at(table, entry);
    Heap heap = table_heap(table);
    return boxed(&layout, &record, &heap);
}

typedef struct {
    Py_ssize_t records;
    size_t heap_bytes;
    char *words, *heap, *heap_end;
} Part;

/* The part of each entry, by the hash of its key, and what falls to each part. */
static int find_parts(const Table *table, Py_ssize_t start, Py_ssize_t stop, Part *parts,
                      Py_ssize_t count, uint32_t *places) {
    for (Py_ssize_t entry = start; entry < stop; entry++) {
        int64_t hash = 0;
        Text key = {NULL, 0, 0};
        if (!table->is_by_text) {
            if (count > 1) hash = hash_of_int(record_at(table, entry)->i);
        } else {
            key = key_of_entry(table, entry);
            if (count > 1 && !hash_of_text(&key, &hash)) return 0;
        }
        uint32_t part = (uint32_t)floor_mod(hash, count);
        places[entry - start] = part;
        parts[part].records++;
        parts[part].heap_bytes += key.size;
        for (int n = 0; n < table->texts.count; n++) {
            Reg word = record_at(table, entry)[table->texts.places[n]];
            parts[part].heap_bytes += (uint64_t)word.i >> 32;
        }
    }
    return 1;
}

/* The part's words and its heap as bytes, which are filled afterwards. */
static PyObject *part_new(Part *part, size_t record_bytes) {
    PyObject *words = PyBytes_FromStringAndSize(NULL, part->records * record_bytes);
    PyObject *heap = PyBytes_FromStringAndSize(NULL, part->heap_bytes);
    if (!words || !heap) {
        Py_XDECREF(words);
        Py_XDECREF(heap);
        return NULL;
    }
    part->words = PyBytes_AsString(words);
    part->heap = part->heap_end = PyBytes_AsString(heap);
    return Py_BuildValue("NN", words, heap);
}

static void part_add_text(const Table *table, const Reg *record, int place, Part *part) {
    Text text = text_of_word(table, record[place]);
    int64_t word = text_word(part->heap_end - part->heap, text.size);
    memcpy(part->words + place * sizeof word, &word, sizeof word);
    memcpy(part->heap_end, text.bytes, text.size);
    part->heap_end += text.size;
}

static void part_add(const Table *table, Py_ssize_t entry, Part *part) {
    size_t size = table->width * sizeof(Reg);
    const Reg *record = record_at(table, entry);
    memcpy(part->words, record, size);
    if (table->is_by_text) part_add_text(table, record, 0, part);
    for (int n = 0; n < table->texts.count; n++)
        part_add_text(table, record, table->texts.places[n], part);
    part->words += size;
}

/* deal(parts, start, stop): the words and the heap of each part, by the hash of their keys. */
static PyObject *table_deal(PyObject *self, PyObject *args) {
    Table *table = (Table *)self;
    Py_ssize_t count, start, stop;
    if (!PyArg_ParseTuple(args, "nnn:deal", &count, &start, &stop)) return NULL;
    if (count < 1 || count > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "there is at least one part");
        return NULL;
    }
    if (!bounds(table, start, &stop)) return NULL;
    Part *parts = calloc(count, sizeof *parts);
    uint32_t *places = malloc((stop - start + 1) * sizeof *places);
    int is_found = parts && places && find_parts(table, start, stop, parts, count, places);
    PyObject *dealt = is_found ? PyList_New(count) : PyErr_NoMemory();
    for (Py_ssize_t part = 0; dealt && part < count; part++) {
        PyObject *made = part_new(&parts[part], table->width * sizeof(Reg));
        if (!made) {
            Py_CLEAR(dealt);
        } else {
            PyList_SetItem(dealt, part, made);
        }
    }
    for (Py_ssize_t entry = start; dealt && entry < stop; entry++)
        part_add(table, entry, &parts[places[entry - start]]);
    free(parts);
    free(places);
    return dealt;
}

static PyObject *table_clear(PyObject *self, PyObject *ignored) {
    if (!table_reset((Table *)self)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef table_methods[] = {
    {"rows", table_rows, METH_VARARGS, "The records from start to stop as rows of the layout."},
    {"put", table_put, METH_VARARGS, "Sets a row by its key; False where its layout differs."},
    {"find", table_get, METH_VARARGS, "The row of a key, or None."},
    {"deal", table_deal, METH_VARARGS, "Words and heaps by part, from start to stop."},
    {"clear", table_clear, METH_NOARGS, "Empties the table and frees its memory."},
    {0},
};

static PyGetSetDef table_properties[] = {
    {"nbytes", table_nbytes, NULL, "The bytes that the table holds.", NULL},
    {0},
};

static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new},           {Py_tp_dealloc, table_dealloc},
    {Py_tp_methods, table_methods},   {Py_sq_length, table_length},
    {Py_tp_getset, table_properties}, {0},
};

static PyType_Spec table_spec = {
    "pyrite.machine._rows.Table", sizeof(Table), 0, Py_TPFLAGS_DEFAULT, table_slots,
};

#endif
