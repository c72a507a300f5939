/* Looks up from a run over rows: for signals, and for other threads that wait for the interpreter. */

#ifndef PYRITE_LOOK_H
#define PYRITE_LOOK_H

#include <stdint.h>
#include <time.h>

/* Rows, or items of theirs, between two looks. */
#define WORK_PER_LOOK 256
#define BYTES_OF_WORK 64
/* How long others wait, as sys.getswitchinterval() has it. */
#define TURN_NS 5000000

static inline int64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Has the handlers of signals run; 0 with an exception. When this thread's turn is over, others run
   first: they may change any object, so nothing may be borrowed from one by now. */
static int look_up(int64_t *turn_ends_ns) {
    int64_t now = clock_ns();
    if (now >= *turn_ends_ns) {
        PyThreadState *own = PyEval_SaveThread();
        PyEval_RestoreThread(own);
        *turn_ends_ns = clock_ns() + TURN_NS;
    }
    return !PyErr_CheckSignals();
}

#endif
