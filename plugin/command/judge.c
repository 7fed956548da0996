// The error of a measure is the distance to the exact answer (to 0 where none is
// known), and two methods are compared by their errors.
#include <math.h>

#include "judge.h"

// Errors that differ by less are the same: what a change of the last digit of an input does.
static const double margin = 0.1;

double measure_error(const sprag_measure *m)
{
    return fabs(m->value - (isnan(m->exact) ? 0 : m->exact));
}

bool measure_is_good(const sprag_measure *m)
{
    return measure_error(m) <= m->good;
}

verdict judge_errors(double error, double others, double good)
{
    if (isnan(error) || isnan(others)) {
        return NO_VERDICT;
    }
    if ((error <= good && others <= good) || fabs(error - others) <= margin * others) {
        return SAME;
    }
    return error < others ? BETTER : WORSE;
}

verdict trial_judge(const trial *reference, const trial *t, int i)
{
    if (t == reference || i >= t->measures || i >= reference->measures ||
        isnan(t->measure[i].good)) {
        return NO_VERDICT;
    }
    const sprag_measure *mine = &t->measure[i], *other = &reference->measure[i];
    double error = measure_error(mine), others = measure_error(other);
    if (trial_finished(t) != trial_finished(reference)) {
        return trial_finished(t) ? BETTER : WORSE;
    }
    return judge_errors(error, others, fmin(mine->good, other->good));
}

const char *verdict_name(verdict v)
{
    switch (v) {
    case NO_VERDICT:
        return "";
    case BETTER:
        return "better";
    case SAME:
        return "same";
    case WORSE:
        return "worse";
    }
    return "";
}
