/* The row machine: runs traced functions over rows without the interpreter.

   Built for the limited API of 3.11, so that one file serves all later versions. */

#define _GNU_SOURCE /* mremap */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdlib.h>

#include "run.h"
#include "tableobject.h"
#include "cogroups.h"
#include "narrow.h"
#include "ranges.h"
#include "recordlog.h"

static int set_register(Program *program, Py_ssize_t place, PyObject *value) {
    if (place < 0 || place >= program->register_count) {
        PyErr_SetString(PyExc_IndexError, "no such register");
        return 0;
    }
    Reg *target = &program->registers[place];
    if (PyFloat_CheckExact(value)) {
        target->d = PyFloat_AsDouble(value);
        return 1;
    }
    if (PyUnicode_CheckExact(value)) {
        /* The program keeps a copy, since nobody else may keep the object. */
        const Text *text = text_of_object(&program->constants, value), none = {"", 0, 0};
        target->t = text ? text_joined(&program->constants, text, &none) : NULL;
        if (!target->t) PyErr_SetString(PyExc_ValueError, "a constant without UTF-8");
        return target->t != NULL;
    }
    target->i = PyLong_AsLongLong(value);
    return !PyErr_Occurred();
}

static int load_code(Program *program, PyObject *code) {
    Py_buffer view;
    if (PyObject_GetBuffer(code, &view, PyBUF_SIMPLE)) return 0;
    program->count = (int)(view.len / (Py_ssize_t)sizeof(Instruction));
    program->code = malloc(view.len + 1);
    if (program->code) memcpy(program->code, view.buf, view.len);
    PyBuffer_Release(&view);
    if (!program->code) PyErr_NoMemory();
    return program->code != NULL;
}

static int is_of_table(int op) {
    return op == FIND || op == INSERT || op == FIND_BY_TEXT || op == INSERT_BY_TEXT || op == LOAD ||
           op == STORE || op == APPEND || op == APPEND_BY_TEXT || op == AHEAD;
}

static int is_inserting(int op) {
    return op == INSERT || op == INSERT_BY_TEXT || op == APPEND || op == APPEND_BY_TEXT;
}

static int suits_table(const Table *table, int op) {
    if (!table) return 0;
    int is_append = op == APPEND || op == APPEND_BY_TEXT;
    if (table->is_log != is_append) return 0;
    if (op == LOAD || op == STORE) return 1;
    int is_by_text =
        op == FIND_BY_TEXT || op == INSERT_BY_TEXT || op == APPEND_BY_TEXT || op == AHEAD;
    return table->is_by_text == is_by_text;
}

static int suits_lookup(const Program *program, int op) {
    if (op != FIND_GROUP && op != FIND_GROUP_BY_TEXT) return 1;
    return program->groups && program->lookup.table->is_by_text == (op == FIND_GROUP_BY_TEXT);
}

/* Code comes from the tracer alone; what would leave the program or its registers is refused. */
static int check_code(const Program *program) {
    int count = program->count, registers = program->register_count;
    int is_sound = count && program->code[count - 1].op == END;
    for (int n = 0; is_sound && n < count; n++) {
        Instruction x = program->code[n];
        uint32_t target = x.b | (uint32_t)x.c << 16;
        int is_jump = x.op == JUMP || x.op == JUMP_IF || x.op == JUMP_UNLESS;
        int is_keyed = is_of_table(x.op), is_insert = is_inserting(x.op);
        int is_immediate = x.op == ITEM || x.op == STRIP || x.op == IS_ALL ||
                           x.op == SHOW_FLOAT || x.op == VECTOR_NEW;
        int span = x.op == LOAD || x.op == STORE ? x.c : 1;
        if (is_insert && program->table) span = program->table->width - 1;
        is_sound = (!is_keyed || suits_table(program->table, x.op)) && suits_lookup(program, x.op);
        is_sound = is_sound && (x.op != VECTOR_ADD || x.b + x.c <= registers) &&
                   (x.op != VECTOR_NEW || (x.c && x.c <= MOST_WORDS));
        is_sound = is_sound && x.op < OPERATION_COUNT && x.a + span <= registers &&
                   (!is_keyed || (program->table && span < program->table->width)) &&
                   (is_jump ? target < (uint32_t)count
                            : (x.op == TUPLE || x.b < registers) &&
                                  (is_immediate || span > 1 || x.c < registers));
    }
    if (!is_sound) PyErr_SetString(PyExc_ValueError, "not a program of the row machine");
    return is_sound;
}

static int attach(Program *program, PyObject *table, PyObject *groups) {
    if (table != Py_None && !PyObject_TypeCheck(table, table_type)) {
        PyErr_SetString(PyExc_TypeError, "a program's table is a Table");
        return 0;
    }
    if (groups != Py_None &&
        (!PyObject_TypeCheck(groups, groups_type) || !((Groups *)groups)->vectors)) {
        PyErr_SetString(PyExc_TypeError, "a program looks up in Groups that are closed");
        return 0;
    }
    program->table = table == Py_None ? NULL : (Table *)Py_NewRef(table);
    if (groups != Py_None) {
        program->groups = Py_NewRef(groups);
        program->lookup = lookup_of((Groups *)groups);
    }
    return 1;
}

/* Program(code, constants by register, registers, table or None, give back every n-th row, groups
   to look up in) */
static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *code, *constants, *table, *place, *value, *groups = Py_None;
    int register_count;
    Py_ssize_t every, at = 0;
    if (!PyArg_ParseTuple(args, "OO!iOn|O:Program", &code, &PyDict_Type, &constants,
                          &register_count, &table, &every, &groups))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Program *program = (Program *)allocate(type, 0);
    if (!program) return NULL;
    program->register_count = register_count;
    program->give_back_every = every;
    program->registers = calloc(register_count > 0 ? register_count : 1, sizeof(Reg));
    if (!program->registers) PyErr_NoMemory();
    if (!program->registers || !attach(program, table, groups) || !load_code(program, code) ||
        !check_code(program)) {
        Py_DECREF(program);
        return NULL;
    }
    while (PyDict_Next(constants, &at, &place, &value)) {
        if (!set_register(program, PyLong_AsSsize_t(place), value)) {
            Py_DECREF(program);
            return NULL;
        }
    }
    return (PyObject *)program;
}

static void program_dealloc(PyObject *self) {
    Program *program = (Program *)self;
    free(program->code);
    free(program->registers);
    arena_free(&program->row);
    arena_free(&program->found_texts);
    arena_free(&program->constants);
    Py_XDECREF((PyObject *)program->table);
    Py_XDECREF(program->groups);
    release(self);
}

/* rows(iterator, most): how it ended, the row that is given back, its results that have arrived,
   and the rows that were taken. */
static PyObject *program_rows(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    PyObject *iterator, *row = NULL;
    Py_ssize_t most, taken = 0;
    if (!PyArg_ParseTuple(args, "On:rows", &iterator, &most)) return NULL;
    if (!PyIter_Check(iterator)) {
        PyErr_SetString(PyExc_TypeError, "rows come from an iterator");
        return NULL;
    }
    int64_t emitted = 0;
    int ended = DONE;
    program->borrows = 1;
    while (ended == DONE && taken < most) {
        row = PyIter_Next(iterator);
        if (!row) {
            if (PyErr_Occurred()) return NULL;
            ended = EXHAUSTED;
            break;
        }
        taken++;
        emitted = 0;
        program->registers[0].o = row;
        ended = run_or_give_back(program, &emitted);
        if (ended == DONE) {
            Py_DECREF(row);
            row = NULL;
            if (!row_done(program, emitted)) ended = -1;
        }
    }
    if (ended < 0) {
        Py_XDECREF(row);
        return NULL;
    }
    return Py_BuildValue("iNLn", ended, row ? row : Py_NewRef(Py_None), (long long)emitted, taken);
}

/* count(start, step, rows): how it ended, the results that arrived of the row that is given back,
   and the rows that are done. */
static PyObject *program_count(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    long long start, step;
    Py_ssize_t rows, done = 0;
    if (!PyArg_ParseTuple(args, "LLn:count", &start, &step, &rows)) return NULL;
    int64_t emitted = 0;
    for (; done < rows; done++) {
        emitted = 0;
        program->registers[0].i = start + (int64_t)done * step;
        int ended = run_or_give_back(program, &emitted);
        if (ended < 0) return NULL;
        if (ended != DONE) return Py_BuildValue("iLn", ended, (long long)emitted, done);
        if (!row_done(program, emitted)) return NULL;
    }
    return Py_BuildValue("iLn", DONE, (long long)emitted, done);
}

/* lines(block, start, most): how it ended, the results that arrived of the line that is given back,
   the lines that were taken, where the last of them begins, and where the next one does. The block
   is UTF-8. */
static PyObject *program_lines(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    Py_buffer view;
    Py_ssize_t at, most, taken = 0, begin;
    int ended = DONE;
    if (!PyArg_ParseTuple(args, "y*nn:lines", &view, &at, &most)) return NULL;
    const char *bytes = view.buf;
    int64_t emitted = 0;
    begin = at = at < 0 ? 0 : at;
    while (ended == DONE && taken < most) {
        if (at >= view.len) {
            ended = EXHAUSTED;
            break;
        }
        const char *feed = memchr(bytes + at, '\n', view.len - at);
        Text line = {bytes + at, feed ? feed - (bytes + at) : view.len - at, 0};
        begin = at;
        at += line.size + 1;
        taken++;
        emitted = 0;
        program->registers[0].t = &line;
        ended = run_or_give_back(program, &emitted);
        if (ended == DONE && !row_done(program, emitted + line.size / BYTES_OF_WORK)) ended = -1;
    }
    PyBuffer_Release(&view);
    if (ended < 0) return NULL;
    return Py_BuildValue("iLnnn", ended, (long long)emitted, taken, begin, at);
}

/* Puts a row into the first registers; its texts into `texts`. */
static int load_packed(const Program *program, const PackedRows *rows, Py_ssize_t at, Text *texts) {
    Reg *registers = program->registers;
    size_t size = rows->width * sizeof(Reg);
    Heap heap = {rows->heap.buf, rows->heap.len};
    memcpy(registers, (const char *)rows->words.buf + at * size, size);
    for (int n = 0; n < rows->text_count; n++) {
        Reg *word = &registers[rows->texts[n]];
        if (!text_at(&heap, word->i, &texts[n])) {
            PyErr_SetString(PyExc_ValueError, "a text that lies outside of its heap");
            return 0;
        }
        word->t = &texts[n];
    }
    return 1;
}

static PyObject *run_packed(Program *program, const PackedRows *rows, Py_ssize_t at,
                            Py_ssize_t stop) {
    Text texts[MOST_WORDS];
    Py_ssize_t start = at;
    int64_t emitted = 0;
    int ended = DONE;
    for (; at < stop; at++) {
        emitted = 0;
        if (!load_packed(program, rows, at, texts)) return NULL;
        ended = run_or_give_back(program, &emitted);
        if (ended == DONE && !row_done(program, emitted)) return NULL;
        if (ended < 0) return NULL;
        if (ended != DONE) break;
    }
    return Py_BuildValue("iLn", ended, (long long)emitted, at - start);
}

/* packed(layout, words, heap, start, stop): as count, over packed rows. */
static PyObject *program_packed(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    PackedRows rows;
    const char *layout;
    Py_ssize_t at, stop;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "sy*y*nn:packed", &layout, &rows.words, &rows.heap, &at, &stop))
        return NULL;
    if (find_texts(&rows, layout)) {
        Py_ssize_t size = rows.width * (Py_ssize_t)sizeof(Reg);
        if (rows.width > program->register_count || at < 0 || stop > rows.words.len / size) {
            PyErr_SetString(PyExc_ValueError, "no such packed rows");
        } else {
            result = run_packed(program, &rows, at, stop);
        }
    }
    PyBuffer_Release(&rows.words);
    PyBuffer_Release(&rows.heap);
    return result;
}

/* Puts a key and its vectors into the first registers. */
static void load_groups(Program *program, const CoGroups *all, Py_ssize_t at, Text *key,
                        Vector *vectors) {
    Reg *registers = program->registers;
    int64_t entry;
    const Groups *owner = owner_of(all, at, &entry);
    if (owner->table->is_by_text) {
        *key = key_of_entry(owner->table, entry);
        registers[0].t = key;
    } else {
        registers[0].i = record_at(owner->table, entry)->i;
    }
    for (int side = 0; side < all->count; side++) {
        Lookup lookup = lookup_of(all->sides[side]);
        vectors[side] = lookup_at(&lookup, entry_of_side(all, at, side), &program->row);
        registers[1 + side].v = &vectors[side];
    }
}

/* groups(groups, start, stop): as count, over the keys and vectors of CoGroups. */
static PyObject *program_groups(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    PyObject *object;
    Py_ssize_t at, stop;
    if (!PyArg_ParseTuple(args, "O!nn:groups", cogroups_type, &object, &at, &stop)) return NULL;
    const CoGroups *all = (CoGroups *)object;
    if (program->register_count < 1 + all->count || at < 0 || stop > all->used) {
        PyErr_SetString(PyExc_ValueError, "no such groups");
        return NULL;
    }
    Py_ssize_t start = at;
    int64_t emitted = 0;
    int ended = DONE;
    for (; at < stop; at++) {
        Text key;
        Vector vectors[MOST_SIDES];
        emitted = 0;
        load_groups(program, all, at, &key, vectors);
        int64_t values = 0;
        for (int side = 0; side < all->count; side++) values += vectors[side].count;
        ended = run_or_give_back(program, &emitted);
        if (ended == DONE && !row_done(program, emitted + values)) ended = -1;
        if (ended != DONE) break;
    }
    if (ended < 0) return NULL;
    return Py_BuildValue("iLn", ended, (long long)emitted, at - start);
}

static int find_registers(const Program *program, const char *layout, int first) {
    int words = layout_words(layout);
    if (words < 0) return 0;
    if (strchr(layout, 's')) {
        PyErr_SetString(PyExc_ValueError, "registers keep no text between two rows");
        return 0;
    }
    if (first >= 0 && first + words <= program->register_count) return 1;
    PyErr_SetString(PyExc_IndexError, "no such registers");
    return 0;
}

/* get(layout, first): the value in the registers from `first` on. */
static PyObject *program_get(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    const char *layout;
    int first;
    if (!PyArg_ParseTuple(args, "si:get", &layout, &first)) return NULL;
    if (!find_registers(program, layout, first)) return NULL;
    const Reg *words = program->registers + first;
    const Heap none = {NULL, 0};
    return boxed(&layout, &words, &none);
}

/* set(layout, first, value): whether the value is of the layout; its registers are set then. */
static PyObject *program_set(PyObject *self, PyObject *args) {
    Program *program = (Program *)self;
    const char *layout;
    int first;
    PyObject *value;
    if (!PyArg_ParseTuple(args, "siO:set", &layout, &first, &value)) return NULL;
    if (!find_registers(program, layout, first)) return NULL;
    Reg words[MOST_WORDS], *end = words;
    if (!unboxed(value, &layout, &end)) Py_RETURN_FALSE;
    memcpy(program->registers + first, words, (end - words) * sizeof *words);
    Py_RETURN_TRUE;
}

static PyMethodDef program_methods[] = {
    {"rows", program_rows, METH_VARARGS, "Runs over the rows of an iterator."},
    {"count", program_count, METH_VARARGS, "Runs over a range of ints."},
    {"groups", program_groups, METH_VARARGS, "Runs over keys and their vectors."},
    {"lines", program_lines, METH_VARARGS, "Runs over the lines of a block."},
    {"packed", program_packed, METH_VARARGS, "Runs over packed rows."},
    {"get", program_get, METH_VARARGS, "The value of a layout in some registers."},
    {"set", program_set, METH_VARARGS, "Sets registers; False where the layout differs."},
    {0},
};

static PyType_Slot program_slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, program_methods},
    {0},
};

static PyType_Spec program_spec = {
    "pyrite.machine._rows.Program", sizeof(Program), 0, Py_TPFLAGS_DEFAULT, program_slots,
};

/* unpack(layout, words, heap): the rows of packed words. */
static PyObject *unpack(PyObject *module, PyObject *args) {
    const char *layout;
    Py_buffer view, heap_view = {0};
    PyObject *rows = NULL;
    if (!PyArg_ParseTuple(args, "sy*y*:unpack", &layout, &view, &heap_view)) return NULL;
    int words = layout_words(layout);
    Py_ssize_t size = words * (Py_ssize_t)sizeof(Reg);
    if (words > 0 && view.len % size) {
        PyErr_SetString(PyExc_ValueError, "packed rows end in the middle of one");
    } else if (words > 0) {
        const Heap heap = {heap_view.buf, heap_view.len};
        rows = unpack_words(layout, words, view.buf, view.len / size, &heap);
    }
    PyBuffer_Release(&view);
    PyBuffer_Release(&heap_view);
    return rows;
}

/* Whether the bytes of each text are UTF-8, as str has it; 0 with an exception. */
static int check_words(const PackedRows *rows) {
    Heap heap = {rows->heap.buf, rows->heap.len};
    Py_ssize_t count = rows->words.len / (Py_ssize_t)(rows->width * sizeof(Reg));
    for (Py_ssize_t row = 0; row < count; row++) {
        for (int n = 0; n < rows->text_count; n++) {
            int64_t word;
            Text text;
            size_t place = row * rows->width + rows->texts[n];
            memcpy(&word, (const char *)rows->words.buf + place * sizeof word, sizeof word);
            if (text_at(&heap, word, &text) && is_ascii(text.bytes, text.size)) continue;
            PyObject *made = boxed_text(&heap, word);
            if (!made) return 0;
            Py_DECREF(made);
        }
    }
    return 1;
}

/* check_texts(layout, words, heap): raises ValueError where a text is none. */
static PyObject *check_texts(PyObject *module, PyObject *args) {
    PackedRows rows;
    const char *layout;
    if (!PyArg_ParseTuple(args, "sy*y*:check_texts", &layout, &rows.words, &rows.heap)) return NULL;
    int is_sound = find_texts(&rows, layout) && check_words(&rows);
    PyBuffer_Release(&rows.words);
    PyBuffer_Release(&rows.heap);
    if (!is_sound) return NULL;
    Py_RETURN_NONE;
}

/* set_order(items): a list of texts, or of ints, as a set gives them; None for other items. */
static PyObject *set_order(PyObject *module, PyObject *list) {
    Arena arena = {0};
    PyObject *made = NULL;
    if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "items are in a list");
    Py_ssize_t count = PyList_Size(list), done = 0;
    int are_texts = count && PyUnicode_CheckExact(PyList_GetItem(list, 0));
    Texts *texts = texts_new(&arena, count + 1);
    Vector *ints = vector_new(&arena, 1);
    for (; texts && ints && done < count; done++) {
        Text text;
        Reg word;
        PyObject *item = PyList_GetItem(list, done);
        if (are_texts ? !PyUnicode_CheckExact(item) || !utf8_of(item, &text)
                      : !unbox_int(item, &word.i))
            break;
        if (!(are_texts ? texts_add(&arena, texts, &text) : vector_add(ints, &word))) break;
    }
    if (done == count && are_texts) {
        const Texts *ordered = texts_set(&arena, texts);
        if (ordered) made = PyList_New(ordered->count);
        for (int64_t n = 0; made && n < ordered->count; n++) {
            const Text *text = &ordered->items[n];
            PyList_SetItem(made, n, PyUnicode_DecodeUTF8(text->bytes, text->size, NULL));
        }
    } else if (done == count) {
        const Vector *ordered = ints_set(&arena, ints);
        if (ordered) made = boxed_vector("i", *ordered);
    }
    arena_free(&arena);
    if (made || PyErr_Occurred()) return made;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"check_texts", check_texts, METH_VARARGS, "Raises ValueError where a text is none."},
    {"deal_records", deal_records, METH_VARARGS, "The records of each range of keys."},
    {"deal_ranges", deal_ranges, METH_VARARGS, "Adds rows to the buckets of their ranges."},
    {"set_order", set_order, METH_O, "Texts or ints as a set gives them, or None."},
    {"narrow", narrow, METH_VARARGS, "Packed rows in less room, or None."},
    {"pack_records", pack_records, METH_VARARGS, "Sizes and bytes of a list of bytes, or None."},
    {"unpack_records", unpack_records, METH_VARARGS, "The list of some packed records."},
    {"sorted_rows", sorted_rows, METH_VARARGS, "Rows in the order of their keys, or None."},
    {"widen", widen, METH_VARARGS, "The words of rows that were narrowed."},
    {"unpack", unpack, METH_VARARGS, "The rows of packed words."},
    {0},
};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject **kept) {
    PyObject *type = PyType_FromSpec(spec);
    if (!type) return 0;
    if (kept) *kept = (PyTypeObject *)Py_NewRef(type);
    int failed = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return !failed;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_rows", "The row machine's inner loops.", -1, methods,
};

#define X(name) #name " "
#define NAMES OPERATIONS(X)

PyMODINIT_FUNC PyInit__rows(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (!add_type(module, &table_spec, "Table", &table_type) ||
        !add_type(module, &program_spec, "Program", NULL) ||
        !add_type(module, &groups_spec, "Groups", &groups_type) ||
        !add_type(module, &cogroups_spec, "CoGroups", &cogroups_type) ||
        !add_type(module, &recordlog_spec, "RecordLog", &recordlog_type) ||
        PyModule_AddStringConstant(module, "OPERATIONS", NAMES) ||
        PyModule_AddIntConstant(module, "MOST_WORDS", MOST_WORDS) ||
        PyModule_AddIntConstant(module, "MOST_SIDES", MOST_SIDES)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
