/* Rows as words, and words as rows, by a layout such as "(s(ffi))". A text's word says where in a
   heap of UTF-8 it lies: its offset below, its size above. */

#ifndef PYRITE_LAYOUT_H
#define PYRITE_LAYOUT_H

#include "text.h"

#define DEEPEST_LAYOUT 16
#define MOST_WORDS 255

/* Checks one value of a layout; returns what follows it, or NULL. Counts its words. */
static const char *layout_value(const char *at, int depth, int *words) {
    char opened = *at++;
    if (opened == 'i' || opened == 'f' || opened == 'b' || opened == 's')
        return ++*words > MOST_WORDS ? NULL : at;
    if ((opened != '(' && opened != '[') || depth == DEEPEST_LAYOUT) return NULL;
    char closing = opened == '(' ? ')' : ']';
    while (*at != closing) {
        if (!(at = layout_value(at, depth + 1, words))) return NULL;
    }
    return at + 1;
}

/* The number of words of a layout, or -1 with an exception. */
static int layout_words(const char *layout) {
    int words = 0;
    const char *end = layout_value(layout, 0, &words);
    if (end && !*end && words) return words;
    PyErr_SetString(PyExc_ValueError, "not a layout of packed rows");
    return -1;
}

/* Which words of a row are texts, its first word apart. */
typedef struct {
    int count;
    uint8_t places[MOST_WORDS];
} TextPlaces;

/* The texts of a checked layout whose first word has this number in its row. */
static TextPlaces text_places(const char *layout, int place) {
    TextPlaces found = {0};
    for (; *layout; layout++) {
        if (*layout == 's' && place) found.places[found.count++] = (uint8_t)place;
        place += strchr("ifbs", *layout) != NULL;
    }
    return found;
}

static int has_texts_at(const char *layout, int place, const TextPlaces *texts) {
    TextPlaces found = text_places(layout, place);
    return found.count == texts->count && !memcmp(found.places, texts->places, found.count);
}

static int layout_items(const char *at) {
    int items = 0, depth = 0;
    for (; depth || (*at != ')' && *at != ']'); at++) {
        if (*at == '(' || *at == '[') {
            if (!depth++) items++;
        } else if (*at == ')' || *at == ']') {
            depth--;
        } else if (!depth) {
            items++;
        }
    }
    return items;
}

typedef struct {
    const char *bytes;
    size_t size;
} Heap;

static inline int64_t text_word(size_t offset, int64_t size) {
    return (int64_t)((uint64_t)size << 32 | offset);
}

/* The text of a word; 0 where it would lie outside of the heap. */
static inline int text_at(const Heap *heap, int64_t word, Text *text) {
    size_t offset = (uint32_t)word, size = (uint64_t)word >> 32;
    if (offset > heap->size || size > heap->size - offset) return 0;
    text->bytes = heap->bytes + offset;
    text->size = (int64_t)size;
    text->hash = 0;
    return 1;
}

static PyObject *boxed_text(const Heap *heap, int64_t word) {
    Text text;
    if (text_at(heap, word, &text)) return PyUnicode_DecodeUTF8(text.bytes, text.size, NULL);
    PyErr_SetString(PyExc_ValueError, "a text that lies outside of its heap");
    return NULL;
}

/* The value of a checked layout at some words; both move on. */
static PyObject *boxed(const char **layout, const Reg **words, const Heap *heap) {
    char kind = *(*layout)++;
    if (kind == 's') return boxed_text(heap, (*words)++->i);
    if (kind == 'i') return PyLong_FromLongLong((*words)++->i);
    if (kind == 'f') return PyFloat_FromDouble((*words)++->d);
    if (kind == 'b') return PyBool_FromLong((*words)++->i != 0);
    int count = layout_items(*layout);
    PyObject *made = kind == '(' ? PyTuple_New(count) : PyList_New(count);
    for (int n = 0; made && n < count; n++) {
        PyObject *item = boxed(layout, words, heap);
        if (!item) {
            Py_CLEAR(made);
        } else if (kind == '(') {
            PyTuple_SetItem(made, n, item);
        } else {
            PyList_SetItem(made, n, item);
        }
    }
    ++*layout;
    return made;
}

/* Takes an int of 64 bits out of an object; 0 where it is another object. */
static inline int unbox_int(PyObject *object, int64_t *value) {
    int overflow;
    if (!PyLong_CheckExact(object)) return 0;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* Writes a value's words; 0 where it is not of this checked layout. Both move on. The word of a text
   is its object, which is borrowed. */
static int unboxed(PyObject *value, const char **layout, Reg **words) {
    char kind = *(*layout)++;
    if (kind == 'i') return unbox_int(value, &(*words)++->i);
    if (kind == 'f') {
        if (!PyFloat_CheckExact(value)) return 0;
        (*words)++->d = PyFloat_AsDouble(value);
        return 1;
    }
    if (kind == 'b') {
        if (!PyBool_Check(value)) return 0;
        (*words)++->i = value == Py_True;
        return 1;
    }
    if (kind == 's') {
        (*words)++->o = value;
        return PyUnicode_CheckExact(value);
    }
    int is_tuple = kind == '(', count = layout_items(*layout);
    if (is_tuple ? !PyTuple_CheckExact(value) : !PyList_CheckExact(value)) return 0;
    if ((is_tuple ? PyTuple_Size(value) : PyList_Size(value)) != count) return 0;
    for (int n = 0; n < count; n++) {
        PyObject *item = is_tuple ? PyTuple_GetItem(value, n) : PyList_GetItem(value, n);
        if (!unboxed(item, layout, words)) return 0;
    }
    ++*layout;
    return 1;
}

#endif
