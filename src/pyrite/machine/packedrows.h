/* Packed rows as they come from elsewhere. */

#ifndef PYRITE_PACKEDROWS_H
#define PYRITE_PACKEDROWS_H

#include "layout.h"

/* Packed rows, and which of their words are texts. */
typedef struct {
    Py_buffer words, heap;
    int width, text_count;
    uint8_t texts[MOST_WORDS];
} PackedRows;

static int find_texts(PackedRows *rows, const char *layout) {
    rows->width = 0;
    rows->text_count = 0;
    if (layout_words(layout) < 0) return 0;
    for (; *layout; layout++) {
        if (*layout == 's') rows->texts[rows->text_count++] = (uint8_t)rows->width;
        rows->width += strchr("ifbs", *layout) != NULL;
    }
    return 1;
}

#endif
