/* A program of typed register instructions, run once for each row.

   A guard that fails gives the row back: nothing but the sink's own state has changed by then, and
   `emitted` says how many of the row's results have reached it. */

#ifndef PYRITE_RUN_H
#define PYRITE_RUN_H

#include <math.h>

#include "look.h"
#include "lookup.h"
#include "sets.h"
#include "sorted.h"
#include "split.h"

#define EXACT_INTS (1ll << 53)
/* Results, or rounds of loops, between two looks for signals, so that a long row can be cancelled. */
#define ROUNDS_PER_LOOK 65536
/* Keys that a table prepares for at a time. */
#define KEYS_AHEAD 16

typedef struct {
    PyObject_HEAD
    Instruction *code;
    Reg *registers;
    Table *table;
    Arena row;       /* what the texts of a row need */
    Arena constants; /* the program's own texts */
    PyObject *groups; /* whose vectors are looked up, or NULL */
    Lookup lookup;
    Vector found; /* the last that was looked up */
    Arena found_texts;
    int count, register_count;
    Py_ssize_t give_back_every, seen;
    int64_t turn_ends_ns; /* when other threads run next */
    int64_t since_look;   /* the work since the last look, in rows */
    int64_t rounds;       /* of all loops within rows */
    int borrows;          /* whether registers may hold objects of a row while it is run */
} Program;

static inline int64_t floor_mod(int64_t left, int64_t right) {
    int64_t rest = left % right;
    return rest && ((rest < 0) != (right < 0)) ? rest + right : rest;
}

static inline int64_t floor_div(int64_t left, int64_t right) {
    int64_t quotient = left / right;
    return left % right && ((left < 0) != (right < 0)) ? quotient - 1 : quotient;
}

/* float ** float where neither is special and the result is a normal number, as float_pow calls
   pow; 0 for all that the interpreter treats in ways of its own. */
static inline int power(double base, double exponent, double *result) {
    if (!isfinite(base) || !isfinite(exponent) || base == 0.0) return 0;
    int negative = 0;
    if (base < 0) {
        if (exponent != floor(exponent)) return 0;
        negative = fmod(fabs(exponent), 2.0) == 1.0;
        base = -base;
        if (base == 1.0) return 0;
    }
    double made = pow(base, exponent);
    if (!isnormal(made)) return 0;
    *result = negative ? -made : made;
    return 1;
}

/* The vector of an entry. Nothing is left of the last one's texts by then. */
static inline Vector *look_up_entry(Program *program, int64_t entry) {
    arena_reset(&program->found_texts);
    program->found = lookup_at(&program->lookup, entry, &program->found_texts);
    return &program->found;
}

/* Has a table prepare for the next texts of a list. */
static void look_ahead(const Table *table, const Texts *texts, int64_t at) {
    int64_t left = texts->count - at;
    if (left > 1) table_prefetch(table, texts->items + at, left < KEYS_AHEAD ? left : KEYS_AHEAD);
}

static int look_within_row(Program *program) {
    return program->borrows ? !PyErr_CheckSignals() : look_up(&program->turn_ends_ns);
}

/* Looks up when enough was done since; `items` are those of the row. 0 with an exception. */
static inline int row_done(Program *program, int64_t items) {
    if ((program->since_look += 1 + items) < WORK_PER_LOOK) return 1;
    program->since_look = 0;
    return look_up(&program->turn_ends_ns);
}

/* Runs the program over the row in its registers; -1 with an exception. */
static int run_row(Program *program, int64_t *emitted) {
#define X(name) &&LABEL_##name,
    static const void *const labels[] = {OPERATIONS(X)};
#undef X
    Reg *const r = program->registers;
    Table *const table = program->table;
    const Lookup *const lookup = &program->lookup;
    Arena *const arena = &program->row;
    const Instruction *const code = program->code;
    const Instruction *x = code;
    int64_t value;

#define A r[x->a]
#define B r[x->b]
#define C r[x->c]
#define GO goto *labels[x->op]
#define NEXT                                                                                       \
    do {                                                                                           \
        x++;                                                                                       \
        GO;                                                                                        \
    } while (0)
#define JUMP_TO_TARGET                                                                             \
    do {                                                                                           \
        x = code + (x->b | (uint32_t)x->c << 16);                                                  \
        GO;                                                                                        \
    } while (0)
#define GUARD(condition)                                                                           \
    if (!(condition)) return GIVEN_BACK
/* What is not made gives the row back; its register keeps what it was. */
#define MADE(maker, target)                                                                        \
    do {                                                                                           \
        void *made = (void *)(maker);                                                              \
        GUARD(made);                                                                               \
        target = made;                                                                             \
    } while (0)
#define OPERATION(name, body)                                                                      \
    LABEL_##name : body;                                                                           \
    NEXT;

    arena_reset(arena);
    GO;
    OPERATION(MOVE, A = B)
    OPERATION(TUPLE, GUARD(PyTuple_CheckExact(A.o) && PyTuple_Size(A.o) == x->b))
    OPERATION(ITEM, A.o = PyTuple_GetItem(B.o, x->c))
    OPERATION(LIST, GUARD(PyList_CheckExact(A.o)))
    OPERATION(LENGTH, A.i = PyList_Size(B.o))
    OPERATION(AT, GUARD(C.i < PyList_Size(B.o)); A.o = PyList_GetItem(B.o, C.i))
    OPERATION(INT, GUARD(unbox_int(B.o, &A.i)))
    OPERATION(FLOAT, GUARD(PyFloat_CheckExact(B.o)); A.d = PyFloat_AsDouble(B.o))
    OPERATION(BOOL, GUARD(PyBool_Check(B.o)); A.i = B.o == Py_True)

    OPERATION(ADD_INT, GUARD(!__builtin_add_overflow(B.i, C.i, &value)); A.i = value)
    OPERATION(SUB_INT, GUARD(!__builtin_sub_overflow(B.i, C.i, &value)); A.i = value)
    OPERATION(MUL_INT, GUARD(!__builtin_mul_overflow(B.i, C.i, &value)); A.i = value)
    OPERATION(FLOORDIV_INT, GUARD(C.i != 0 && C.i != -1); A.i = floor_div(B.i, C.i))
    OPERATION(MOD_INT, GUARD(C.i != 0 && C.i != -1); A.i = floor_mod(B.i, C.i))
    /* The quotient of two doubles that are exactly these ints is rounded once, as int's is. */
    OPERATION(DIV_INT, GUARD(C.i != 0 && B.i <= EXACT_INTS && B.i >= -EXACT_INTS);
              GUARD(C.i <= EXACT_INTS && C.i >= -EXACT_INTS); A.d = (double)B.i / (double)C.i)
    OPERATION(AND_INT, A.i = B.i & C.i)
    OPERATION(OR_INT, A.i = B.i | C.i)
    OPERATION(XOR_INT, A.i = B.i ^ C.i)
    OPERATION(LSHIFT_INT, GUARD(C.i >= 0 && C.i < 62 && B.i >= 0 && B.i <= INT64_MAX >> C.i);
              A.i = B.i << C.i)
    OPERATION(RSHIFT_INT, GUARD(C.i >= 0 && C.i < 64 && B.i >= 0); A.i = B.i >> C.i)
    OPERATION(NEG_INT, GUARD(B.i != INT64_MIN); A.i = -B.i)
    OPERATION(INVERT_INT, A.i = ~B.i)
    OPERATION(ABS_INT, GUARD(B.i != INT64_MIN); A.i = B.i < 0 ? -B.i : B.i)

    OPERATION(ADD_FLOAT, A.d = B.d + C.d)
    OPERATION(SUB_FLOAT, A.d = B.d - C.d)
    OPERATION(MUL_FLOAT, A.d = B.d * C.d)
    OPERATION(DIV_FLOAT, GUARD(C.d != 0.0); A.d = B.d / C.d)
    OPERATION(POW_FLOAT, GUARD(power(B.d, C.d, &A.d)))
    OPERATION(NEG_FLOAT, A.d = -B.d)
    OPERATION(ABS_FLOAT, A.d = fabs(B.d))
    OPERATION(TO_FLOAT, A.d = (double)B.i)
    OPERATION(TO_FLOAT_EXACTLY, GUARD(B.i <= EXACT_INTS && B.i >= -EXACT_INTS); A.d = (double)B.i)
    OPERATION(TO_INT, GUARD(fabs(B.d) < 0x1p62); A.i = (int64_t)B.d)

    OPERATION(LT_INT, A.i = B.i < C.i)
    OPERATION(LE_INT, A.i = B.i <= C.i)
    OPERATION(EQ_INT, A.i = B.i == C.i)
    OPERATION(NE_INT, A.i = B.i != C.i)
    OPERATION(GT_INT, A.i = B.i > C.i)
    OPERATION(GE_INT, A.i = B.i >= C.i)
    OPERATION(LT_FLOAT, A.i = B.d < C.d)
    OPERATION(LE_FLOAT, A.i = B.d <= C.d)
    OPERATION(EQ_FLOAT, A.i = B.d == C.d)
    OPERATION(NE_FLOAT, A.i = B.d != C.d)
    OPERATION(GT_FLOAT, A.i = B.d > C.d)
    OPERATION(GE_FLOAT, A.i = B.d >= C.d)
    OPERATION(NOT, A.i = !B.i)

    OPERATION(EXP, A.d = exp(B.d); GUARD(isfinite(A.d)))
    OPERATION(SQRT, GUARD(B.d >= 0 && isfinite(B.d)); A.d = sqrt(B.d))
    OPERATION(LOG, GUARD(B.d > 0 && isfinite(B.d)); A.d = log(B.d))
    /* A += B as `sum` does it since 3.12, with the lost low bits in C (Neumaier). */
    OPERATION(ADD_COMPENSATED, {
        double sum = A.d + B.d;
        C.d += fabs(A.d) >= fabs(B.d) ? (A.d - sum) + B.d : (B.d - sum) + A.d;
        A.d = sum;
    })
    OPERATION(COMPENSATED, A.d = C.d != 0.0 && isfinite(C.d) ? B.d + C.d : B.d)

LABEL_JUMP:
    /* A loop ends its rounds by jumping back. */
    if ((x->b | (uint32_t)x->c << 16) <= x - code && ++program->rounds % ROUNDS_PER_LOOK == 0 &&
        !look_within_row(program))
        return -1;
    JUMP_TO_TARGET;
LABEL_JUMP_IF:
    if (A.i) JUMP_TO_TARGET;
    NEXT;
LABEL_JUMP_UNLESS:
    if (!A.i) JUMP_TO_TARGET;
    NEXT;
LABEL_END:
    return DONE;
LABEL_EMITTED:
    if (++*emitted % ROUNDS_PER_LOOK == 0 && !look_within_row(program)) return -1;
    NEXT;

    OPERATION(REQUIRE, GUARD(A.i))
    OPERATION(IS_TEXT, GUARD(PyUnicode_CheckExact(B.o)))
    OPERATION(TEXT, MADE(text_of_object(arena, B.o), A.t))
    OPERATION(TEXT_SIZE, A.i = B.t->size)
    OPERATION(TEXT_LENGTH, A.i = text_length(B.t))
    OPERATION(EQUAL_TEXT, A.i = text_equal(B.t, C.t))
    OPERATION(COMPARE_TEXT, A.i = text_compare(B.t, C.t))
    OPERATION(CONTAINS, A.i = bytes_find(B.t->bytes, B.t->size, C.t) >= 0)
    OPERATION(STARTS_WITH, A.i = text_starts(B.t, C.t))
    OPERATION(ENDS_WITH, A.i = text_ends(B.t, C.t))
    OPERATION(FIND_TEXT, A.i = text_find(B.t, C.t))
    OPERATION(COUNT_TEXT, A.i = text_count(B.t, C.t); GUARD(A.i >= 0))
    OPERATION(JOIN_TEXT, MADE(text_joined(arena, B.t, C.t), A.t))
    OPERATION(SLICE_TEXT, MADE(text_slice(arena, A.t, B.i, C.i), A.t))
    OPERATION(INDEX_TEXT, MADE(text_index(arena, B.t, C.i), A.t))
    OPERATION(STRIP, MADE(text_strip(arena, B.t, x->c), A.t))
    OPERATION(STRIP_OF, MADE(text_strip_of(arena, B.t, C.t, A.i), A.t))
    OPERATION(LOWER, MADE(text_cased(arena, B.t, 'A', 'Z'), A.t))
    OPERATION(UPPER, MADE(text_cased(arena, B.t, 'a', 'z'), A.t))
    OPERATION(IS_ALL, A.i = text_is_all(B.t, x->c); GUARD(A.i >= 0))
    OPERATION(REPLACE, MADE(text_replaced(arena, B.t, C.t, A.t), A.t))
    OPERATION(TEXT_TO_INT, GUARD(int_of_text(B.t, &A.i)))
    OPERATION(TEXT_TO_FLOAT, GUARD(float_of_text(B.t, &A.d)))
    OPERATION(INT_TO_TEXT, MADE(text_of_int(arena, B.i), A.t))
    OPERATION(SPLIT, MADE(text_split(arena, B.t, A.i), A.l))
    OPERATION(SPLIT_AT, MADE(text_split_at(arena, B.t, C.t, A.i), A.l))
    OPERATION(PARTITION, MADE(text_parted(arena, B.t, C.t), A.l))
    OPERATION(TEXTS_COUNT, A.i = B.l->count)
    OPERATION(TEXTS_AT, value = C.i < 0 ? C.i + B.l->count : C.i;
              GUARD(value >= 0 && value < B.l->count); A.t = &B.l->items[value])
    OPERATION(TEXTS_SLICE, MADE(texts_slice(arena, A.l, B.i, C.i), A.l))
    OPERATION(TEXTS_HOLD, A.i = texts_hold(B.l, C.t))

    OPERATION(AHEAD, if (B.i % KEYS_AHEAD == 0) look_ahead(table, A.l, B.i))

    OPERATION(VECTOR_COUNT, A.i = B.v->count)
    OPERATION(VECTOR_WORDS, A.i = B.v->count * B.v->width)
    OPERATION(VECTOR_AT, GUARD(C.i >= 0 && C.i < B.v->count * B.v->width); A = B.v->words[C.i])
    OPERATION(VECTOR_TEXT, GUARD(C.i >= 0 && C.i < B.v->count * B.v->width);
              MADE(vector_one_text(arena, B.v, C.i), A.t))
    OPERATION(VECTOR_TEXT_AT, GUARD(C.i >= 0 && C.i < B.v->count * B.v->width);
              MADE(vector_text(B.v, C.i), A.t))
    OPERATION(VECTOR_TEXTS, MADE(vector_texts(arena, B.v), A.l))
    OPERATION(VECTOR_NEW, MADE(vector_new(arena, x->c), A.v))
    OPERATION(VECTOR_ADD, GUARD(A.v->width == x->c && vector_add(A.v, &B)))
    OPERATION(VECTOR_SORTED, MADE(vector_sorted(arena, A.v, B.t, C.i != 0), A.v))
    OPERATION(VECTOR_SET, MADE(ints_set(arena, B.v), A.v))
    OPERATION(VECTOR_SLICE, MADE(vector_slice(arena, A.v, B.i, C.i), A.v))
    OPERATION(TEXTS_NEW, MADE(texts_new(arena, FIRST_PIECES), A.l))
    OPERATION(TEXTS_ADD, GUARD(texts_add(arena, (Texts *)A.l, B.t)))
    OPERATION(TEXTS_SORTED, MADE(texts_sorted(arena, B.l, C.i != 0), A.l))
    OPERATION(TEXTS_SET, MADE(texts_set(arena, B.l), A.l))
    OPERATION(FLOAT_TO_TEXT, MADE(text_of_float(arena, B.d, 'r', 0), A.t))
    OPERATION(SHOW_FLOAT, MADE(text_of_float(arena, B.d, 'f', x->c), A.t))
    OPERATION(BOOL_TO_TEXT, MADE(text_of_bool(arena, B.i != 0), A.t))
    OPERATION(VECTOR_SUM_INT, GUARD(vector_sum(B.v, &A.i)))
    OPERATION(VECTOR_MIN_INT, GUARD(B.v->count); A.i = vector_least(B.v))
    OPERATION(VECTOR_MAX_INT, GUARD(B.v->count); A.i = vector_most(B.v))

    OPERATION(FIND_GROUP, A.v = look_up_entry(program, table_find(lookup->table, B.i)))
    OPERATION(FIND_GROUP_BY_TEXT,
              A.v = look_up_entry(program, table_find_text(lookup->table, B.t)))

    OPERATION(FIND, A.i = table_find(table, B.i))
    OPERATION(FIND_BY_TEXT, A.i = table_find_text(table, B.t))
LABEL_APPEND:
    if (!table_append(table, NULL, B.i, &A)) return FULL;
    NEXT;
LABEL_APPEND_BY_TEXT:
    if (!table_append(table, B.t, 0, &A)) return FULL;
    NEXT;
LABEL_INSERT_BY_TEXT:
    if (!table_insert_text(table, B.t, &A)) return FULL;
    NEXT;
LABEL_INSERT:
    if (!table_insert(table, B.i, &A)) return FULL;
    NEXT;
    OPERATION(LOAD, memcpy(&A, record_at(table, B.i) + 1, x->c * sizeof(Reg)))
    OPERATION(STORE, memcpy(record_at(table, B.i) + 1, &A, x->c * sizeof(Reg)))

#undef A
#undef B
#undef C
#undef GO
#undef NEXT
#undef JUMP_TO_TARGET
#undef GUARD
#undef MADE
#undef OPERATION
}

/* Whether a test wants this row given back, though nothing is wrong with it. */
static inline int is_unwanted(Program *program) {
    return program->give_back_every && ++program->seen % program->give_back_every == 0;
}

/* Runs the program over the row in its registers. Of one that does not get to its end nothing is
   kept: the interpreter, which runs it then, may need the memory. */
static inline int run_or_give_back(Program *program, int64_t *emitted) {
    int ended = is_unwanted(program) ? GIVEN_BACK : run_row(program, emitted);
    if (ended != DONE) {
        arena_free(&program->row);
        arena_free(&program->found_texts);
    }
    return ended;
}

#endif
