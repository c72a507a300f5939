/* Registers, instructions and the ways in which a run over rows ends. */

#ifndef PYRITE_REGISTERS_H
#define PYRITE_REGISTERS_H

#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "doubles must be computed as doubles, or sums differ from the interpreter's"
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packed rows are little-endian"
#endif

typedef struct Text Text;
typedef struct Texts Texts;
typedef struct Vector Vector;

typedef union {
    int64_t i;
    double d;
    PyObject *o;    /* borrowed from the row */
    const Text *t;  /* lives as long as the row, or the program */
    const Texts *l; /* lives as long as the row */
    Vector *v;      /* as long as the row, or the lookup */
} Reg;

_Static_assert(sizeof(Reg) == 8, "a word of a packed row is a register");

/* A jump's target takes two operands: b, and c above it. */
typedef struct {
    uint16_t op, a, b, c;
} Instruction;

/* One list for the enumeration, the names that the tracer knows, and the table of labels. */
#define OPERATIONS(X)                                                                              \
    X(MOVE) X(TUPLE) X(ITEM) X(LIST) X(LENGTH) X(AT) X(INT) X(FLOAT) X(BOOL)                       \
    X(ADD_INT) X(SUB_INT) X(MUL_INT) X(FLOORDIV_INT) X(MOD_INT) X(DIV_INT) X(AND_INT) X(OR_INT)    \
    X(XOR_INT) X(LSHIFT_INT) X(RSHIFT_INT) X(NEG_INT) X(INVERT_INT) X(ABS_INT)                     \
    X(ADD_FLOAT) X(SUB_FLOAT) X(MUL_FLOAT) X(DIV_FLOAT) X(POW_FLOAT) X(NEG_FLOAT) X(ABS_FLOAT)     \
    X(TO_FLOAT) X(TO_FLOAT_EXACTLY) X(TO_INT)                                                      \
    X(LT_INT) X(LE_INT) X(EQ_INT) X(NE_INT) X(GT_INT) X(GE_INT)                                    \
    X(LT_FLOAT) X(LE_FLOAT) X(EQ_FLOAT) X(NE_FLOAT) X(GT_FLOAT) X(GE_FLOAT) X(NOT)                 \
    X(EXP) X(SQRT) X(LOG) X(ADD_COMPENSATED) X(COMPENSATED)                                        \
    X(JUMP) X(JUMP_IF) X(JUMP_UNLESS) X(END) X(EMITTED) X(IS_TEXT)                                 \
    X(REQUIRE) X(TEXT) X(TEXT_SIZE) X(TEXT_LENGTH) X(EQUAL_TEXT) X(COMPARE_TEXT) X(CONTAINS)       \
    X(STARTS_WITH) X(ENDS_WITH) X(FIND_TEXT) X(COUNT_TEXT) X(JOIN_TEXT) X(SLICE_TEXT)              \
    X(INDEX_TEXT) X(STRIP) X(STRIP_OF) X(LOWER) X(UPPER) X(IS_ALL) X(REPLACE) X(TEXT_TO_INT)       \
    X(TEXT_TO_FLOAT) X(INT_TO_TEXT) X(SPLIT) X(SPLIT_AT) X(PARTITION) X(TEXTS_COUNT) X(TEXTS_AT)   \
    X(TEXTS_SLICE) X(TEXTS_HOLD) X(AHEAD) X(FIND) X(INSERT) X(FIND_BY_TEXT) X(INSERT_BY_TEXT) X(LOAD)       \
    X(STORE) X(APPEND) X(APPEND_BY_TEXT) X(VECTOR_COUNT) X(VECTOR_WORDS) X(VECTOR_AT)              \
    X(VECTOR_SUM_INT) X(VECTOR_MIN_INT) X(VECTOR_MAX_INT) X(FIND_GROUP) X(FIND_GROUP_BY_TEXT)     \
    X(VECTOR_TEXT) X(VECTOR_TEXT_AT) X(VECTOR_TEXTS) X(VECTOR_NEW) X(VECTOR_ADD) X(VECTOR_SORTED)  \
    X(VECTOR_SET) X(VECTOR_SLICE) X(TEXTS_NEW) X(TEXTS_ADD) X(TEXTS_SORTED) X(TEXTS_SET)           \
    X(FLOAT_TO_TEXT) X(BOOL_TO_TEXT) X(SHOW_FLOAT)

enum Operation {
#define X(name) name,
    OPERATIONS(X)
#undef X
        OPERATION_COUNT
};

/* How a row, and a run over rows, ends. FULL: a table finds no memory to grow. */
enum { DONE, GIVEN_BACK, EXHAUSTED, FULL };

#endif
