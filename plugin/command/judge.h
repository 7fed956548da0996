// Comparison of the measures of two methods.
#ifndef SPRAG_JUDGE_H
#define SPRAG_JUDGE_H

#include <stdbool.h>

#include "trial.h"

typedef enum verdict { NO_VERDICT, BETTER, SAME, WORSE } verdict;

double measure_error(const sprag_measure *m); // |value - exact|
bool measure_is_good(const sprag_measure *m);

// The verdict on an error against another one; errors up to `good` are as good as none.
verdict judge_errors(double error, double others, double good);

// Measure i of a trial against that of the reference, which gets no verdict itself.
verdict trial_judge(const trial *reference, const trial *t, int i);
const char *verdict_name(verdict v); // "better"; "" for none

#endif
