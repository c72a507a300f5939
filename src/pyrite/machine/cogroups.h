/* The groups of several sides by key: all keys of the first side, then those of the next that no side
   before it has. */

#ifndef PYRITE_COGROUPS_H
#define PYRITE_COGROUPS_H

#include "groups.h"

#define MOST_SIDES 16

typedef struct {
    PyObject_HEAD
    Groups *sides[MOST_SIDES];
    uint32_t *places; /* by key and side: the entry's number, from one on; zero where there is none */
    size_t places_bytes;
    Py_ssize_t used;
    int count;
} CoGroups;

static PyTypeObject *cogroups_type;

static inline int64_t entry_of_side(const CoGroups *all, Py_ssize_t at, int side) {
    return (int64_t)all->places[at * all->count + side] - 1;
}

/* A side that has a key, and its entry there. */
static inline const Groups *owner_of(const CoGroups *all, Py_ssize_t at, int64_t *entry) {
    int side = 0;
    while ((*entry = entry_of_side(all, at, side)) < 0) side++;
    return all->sides[side];
}

/* Finds the key of an entry in all sides; 0 where an earlier side has it, too. */
static int find_places(const CoGroups *all, int owner, Py_ssize_t entry, uint32_t *places) {
    const Table *table = all->sides[owner]->table;
    Text key = {NULL, 0, 0};
    if (table->is_by_text) key = key_of_entry(table, entry);
    for (int side = 0; side < all->count; side++) {
        int64_t found = entry;
        if (side != owner) {
            const Table *other = all->sides[side]->table;
            found = key.bytes ? table_find_text(other, &key)
                              : table_find(other, record_at(table, entry)->i);
        }
        if (side < owner && found >= 0) return 0;
        places[side] = (uint32_t)(found + 1);
    }
    return 1;
}

static void find_all_places(CoGroups *all) {
    for (int side = 0; side < all->count; side++) {
        for (Py_ssize_t entry = 0; entry < all->sides[side]->table->used; entry++) {
            uint32_t *places = all->places + all->used * all->count;
            if (find_places(all, side, entry, places)) all->used++;
        }
    }
}

static int add_side(CoGroups *all, PyObject *side) {
    if (!PyObject_TypeCheck(side, groups_type) || !((Groups *)side)->vectors) {
        PyErr_SetString(PyExc_ValueError, "sides are groups that are closed");
        return 0;
    }
    Groups *groups = (Groups *)Py_NewRef(side);
    all->sides[all->count++] = groups;
    all->places_bytes += (groups->table->used + 1) * sizeof *all->places;
    if (groups->table->is_by_text == all->sides[0]->table->is_by_text) return 1;
    PyErr_SetString(PyExc_ValueError, "sides with keys of several types");
    return 0;
}

/* CoGroups(sides): of a tuple of closed Groups. */
static PyObject *cogroups_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *sides;
    if (!PyArg_ParseTuple(args, "O!:CoGroups", &PyTuple_Type, &sides)) return NULL;
    Py_ssize_t count = PyTuple_Size(sides);
    if (count < 1 || count > MOST_SIDES) {
        PyErr_SetString(PyExc_ValueError, "between 1 and 16 sides");
        return NULL;
    }
    CoGroups *all = (CoGroups *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!all) return NULL;
    for (Py_ssize_t side = 0; side < count; side++) {
        if (!add_side(all, PyTuple_GetItem(sides, side))) {
            Py_DECREF(all);
            return NULL;
        }
    }
    all->places_bytes *= count;
    all->places = pages_new(all->places_bytes);
    if (!all->places) {
        Py_DECREF(all);
        return PyErr_NoMemory();
    }
    find_all_places(all);
    return (PyObject *)all;
}

static void cogroups_dealloc(PyObject *self) {
    CoGroups *all = (CoGroups *)self;
    pages_free(all->places, all->places_bytes);
    for (int side = 0; side < all->count; side++) Py_DECREF((PyObject *)all->sides[side]);
    release(self);
}

static PyObject *side_list(const CoGroups *all, Py_ssize_t at, int side, PyObject *layouts) {
    PyObject *layout = PyTuple_GetItem(layouts, side);
    const char *name = layout ? PyUnicode_AsUTF8AndSize(layout, NULL) : NULL;
    const Groups *groups = all->sides[side];
    if (!name || !are_closed(groups, name)) return NULL;
    Lookup lookup = lookup_of(groups);
    return boxed_vector(name, lookup_at(&lookup, entry_of_side(all, at, side), NULL));
}

/* The list of the only side, or a tuple of all sides' lists. */
static PyObject *side_lists(const CoGroups *all, Py_ssize_t at, PyObject *layouts) {
    if (all->count == 1) return side_list(all, at, 0, layouts);
    PyObject *lists = PyTuple_New(all->count);
    for (int side = 0; lists && side < all->count; side++) {
        PyObject *list = side_list(all, at, side, layouts);
        if (!list) {
            Py_CLEAR(lists);
        } else {
            PyTuple_SetItem(lists, side, list);
        }
    }
    return lists;
}

/* lists(layouts, start, stop): keys and the lists of their values, one by side. */
static PyObject *cogroups_lists(PyObject *self, PyObject *args) {
    const CoGroups *all = (CoGroups *)self;
    PyObject *layouts;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(args, "O!nn:lists", &PyTuple_Type, &layouts, &start, &stop)) return NULL;
    if (stop > all->used) stop = all->used;
    if (PyTuple_Size(layouts) != all->count || start < 0 || start > stop) {
        PyErr_SetString(PyExc_ValueError, "no such groups");
        return NULL;
    }
    PyObject *list = PyList_New(stop - start);
    for (Py_ssize_t at = start; list && at < stop; at++) {
        int64_t entry;
        const Groups *owner = owner_of(all, at, &entry);
        PyObject *pair = pair_with(owner, entry, side_lists(all, at, layouts));
        if (!pair) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, at - start, pair);
        }
    }
    return list;
}

static Py_ssize_t cogroups_length(PyObject *self) { return ((CoGroups *)self)->used; }

static PyMethodDef cogroups_methods[] = {
    {"lists", cogroups_lists, METH_VARARGS, "Keys and lists of their values."},
    {0},
};

static PyType_Slot cogroups_slots[] = {
    {Py_tp_new, cogroups_new},
    {Py_tp_dealloc, cogroups_dealloc},
    {Py_tp_methods, cogroups_methods},
    {Py_sq_length, cogroups_length},
    {0},
};

static PyType_Spec cogroups_spec = {
    "pyrite.machine._rows.CoGroups", sizeof(CoGroups), 0, Py_TPFLAGS_DEFAULT, cogroups_slots,
};

#endif
