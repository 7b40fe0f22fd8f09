/* What a program can tell Footrace. The functions exist in programs built with footrace-cc only; the
 * macros do nothing in others.
 *
 * Synchronisation that Footrace cannot see (your own assembly, a device, shared memory):
 *     footrace_release(object)   before it is handed over
 *     footrace_acquire(object)   after it was received; everything before the release happened before this
 *
 * Accesses not to look at, on the calling thread, nested:
 *     footrace_ignore_begin()  footrace_ignore_end()
 *
 * Memory:
 *     footrace_benign(start, bytes)      races on these bytes are not worth a report
 *     footrace_new_memory(start, bytes)  as if just allocated: what happened to it before is forgotten
 */
#ifndef FOOTRACE_H
#define FOOTRACE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOOTRACE_WEAK __attribute__((weak))

void footrace_acquire(const volatile void *object) FOOTRACE_WEAK;
void footrace_release(const volatile void *object) FOOTRACE_WEAK;
void footrace_ignore_begin(void) FOOTRACE_WEAK;
void footrace_ignore_end(void) FOOTRACE_WEAK;
void footrace_benign(const volatile void *start, size_t bytes) FOOTRACE_WEAK;
void footrace_new_memory(const volatile void *start, size_t bytes) FOOTRACE_WEAK;
void footrace_name_thread(const char *name) FOOTRACE_WEAK;

#define FOOTRACE_CALL(function, arguments)                                                                 \
    do {                                                                                                   \
        if (function)                                                                                      \
            function arguments;                                                                            \
    } while (0)

#define FOOTRACE_ACQUIRE(object) FOOTRACE_CALL(footrace_acquire, (object))
#define FOOTRACE_RELEASE(object) FOOTRACE_CALL(footrace_release, (object))
#define FOOTRACE_IGNORE_BEGIN() FOOTRACE_CALL(footrace_ignore_begin, ())
#define FOOTRACE_IGNORE_END() FOOTRACE_CALL(footrace_ignore_end, ())
#define FOOTRACE_BENIGN(start, bytes) FOOTRACE_CALL(footrace_benign, (start, bytes))
#define FOOTRACE_NEW_MEMORY(start, bytes) FOOTRACE_CALL(footrace_new_memory, (start, bytes))

#ifdef __cplusplus
}
#endif

#endif
