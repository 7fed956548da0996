// The time that a step takes.
#ifndef SPRAG_CLOCK_H
#define SPRAG_CLOCK_H

double now_us(void); // microseconds of the monotonic clock
double cpu_us(void); // microseconds of the processor, for the calling thread

#endif
