// The memory that the programs of these projects race on, or not.
#include "counter.h"

static long counter;

void counter_bump(void) { counter++; }

long counter_value(void) { return counter; }
