// The samples of a comparison in place, and the figures made of them.
#define _POSIX_C_SOURCE 200809L // getline
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "in_place.h"
#include "judge.h"

const sample *comparison_sample(const comparison *c, long state, int method)
{
    return &c->sample[state * c->methods + method];
}

// Whole runs are processes of their own.
static bool is_same_state(const comparison *c, const sample_state *a, const sample_state *b)
{
    return (c->whole || a->process == b->process) && a->world == b->world && a->step == b->step;
}

static bool make_room(comparison *c)
{
    if (c->states < c->room) {
        return true;
    }
    long room = c->room ? 2 * c->room : 64;
    sample_state *state = realloc(c->state, (size_t)room * sizeof *state);
    c->state = state ? state : c->state;
    sample *more = state ? realloc(c->sample, (size_t)(room * c->methods) * sizeof *more) : NULL;
    c->sample = more ? more : c->sample;
    c->room = more ? room : c->room;
    return more;
}

// Worlds that are stepped by several threads, or processes, mix their rows.
static long find_or_add(comparison *c, const sample_state *state)
{
    enum { BACK = 256 }; // states
    long oldest = c->states > BACK && !c->whole ? c->states - BACK : 0;
    for (long i = c->states; i-- > oldest;) {
        if (is_same_state(c, &c->state[i], state)) {
            return i;
        }
    }
    if (!make_room(c)) {
        return -1;
    }
    c->state[c->states] = *state;
    for (int k = 0; k < c->methods; k++) {
        sample *s = &c->sample[c->states * c->methods + k];
        *s = (sample){.outcome = SAMPLE_NO_FORK};
        for (int v = 0; v < SAMPLE_VALUES; v++) {
            s->value[v] = NAN;
        }
    }
    return c->states++;
}

static void add_row(comparison *c, const char *row, int of_all)
{
    sample_state state;
    sample s;
    int method;
    bool good = sample_read(row, &state, &method, &s);
    method = of_all < 0 ? method : of_all;
    if (!good || method < 0 || method >= c->methods) {
        return;
    }
    long at = find_or_add(c, &state);
    if (at >= 0) {
        sample *to = &c->sample[at * c->methods + method];
        s.value[SAMPLE_US] =
            fmin(s.value[SAMPLE_US], to->value[SAMPLE_US]); // of whole runs' rounds
        *to = s;
        if (s.outcome == SAMPLE_TAKEN) {
            c->state[at] = state; // with the number of bodies
        }
    }
}

long comparison_read(comparison *c, const char *file, long from, int method)
{
    FILE *in = fopen(file, "r");
    char *row = NULL;
    size_t room = 0;
    ssize_t length;
    if (!in || fseek(in, from, SEEK_SET) != 0) {
        return from;
    }
    while ((length = getline(&row, &room, in)) > 0 && row[length - 1] == '\n') {
        add_row(c, row, method);
        from += length;
    }
    free(row);
    fclose(in);
    return from;
}

void comparison_keep(comparison *c, const int *method, int count)
{
    choice kept[PLAN_CHOICES_MAX];
    sample row[PLAN_CHOICES_MAX];
    for (long i = 0; i < c->states; i++) {
        for (int k = 0; k < count; k++) {
            row[k] = *comparison_sample(c, i, method[k]);
        }
        memcpy(&c->sample[i * count], row, (size_t)count * sizeof *row);
    }
    for (int k = 0; k < count; k++) {
        kept[k] = c->method[method[k]];
    }
    memcpy(c->method, kept, (size_t)count * sizeof *kept);
    c->methods = count;
}

void comparison_free(comparison *c)
{
    free(c->state);
    free(c->sample);
    c->state = NULL;
    c->sample = NULL;
}

// ---- figures

static int by_size(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

double comparison_quantile(const comparison *c, int method, sample_value value, double share)
{
    double *known = calloc((size_t)c->states, sizeof *known), at = NAN;
    long count = 0;
    for (long i = 0; known && i < c->states; i++) {
        double v = comparison_sample(c, i, method)->value[value];
        if (!isnan(v)) {
            known[count++] = v;
        }
    }
    if (count > 0) {
        qsort(known, (size_t)count, sizeof *known, by_size);
        long place = (long)(share * (double)count);
        at = known[place < count ? place : count - 1];
    }
    free(known);
    return at;
}

static bool is_last_of_world(const comparison *c, int method, sample_value value, long state)
{
    for (long i = state + 1; i < c->states; i++) {
        if (c->state[i].world == c->state[state].world &&
            !isnan(comparison_sample(c, i, method)->value[value])) {
            return false;
        }
    }
    return true;
}

// Mean of the last values of all worlds.
static double mean_of_last(const comparison *c, int method, sample_value value)
{
    double sum = 0;
    long count = 0;
    for (long i = c->states; i-- > 0;) {
        double v = comparison_sample(c, i, method)->value[value];
        if (!isnan(v) && is_last_of_world(c, method, value, i)) {
            sum += v;
            count++;
        }
    }
    return count ? sum / (double)count : NAN;
}

double comparison_figure(const comparison *c, int method, sample_value value)
{
    double sum = 0, worst = -INFINITY;
    long count = 0;
    for (long i = 0; i < c->states; i++) {
        double v = comparison_sample(c, i, method)->value[value];
        if (!isnan(v)) {
            sum += v;
            worst = fmax(worst, v);
            count++;
        }
    }
    if (count == 0) {
        return NAN;
    }
    switch (sample_kinds[value].sum) {
    case SAMPLE_WORST:
        return worst;
    case SAMPLE_AVERAGE:
        return sum / (double)count;
    case SAMPLE_TOTAL:
        return sum;
    case SAMPLE_MEDIAN:
        break;
    case SAMPLE_LAST:
        return mean_of_last(c, method, value);
    }
    return comparison_quantile(c, method, value, 0.5);
}

double comparison_mean(const comparison *c, int method, sample_value value, double from, double to)
{
    long first = (long)(from * (double)c->states), end = (long)(to * (double)c->states), count = 0;
    double sum = 0;
    for (long i = first; i < end; i++) {
        double v = comparison_sample(c, i, method)->value[value];
        sum += isnan(v) ? 0 : v;
        count += !isnan(v);
    }
    return count ? sum / (double)count : NAN;
}

bool comparison_is_taken(const comparison *c, long state)
{
    for (int k = 0; k < c->methods; k++) {
        if (comparison_sample(c, state, k)->outcome == SAMPLE_TAKEN) {
            return true;
        }
    }
    return false;
}

long comparison_count(const comparison *c, int method, sample_outcome outcome)
{
    long count = 0;
    for (long i = 0; i < c->states; i++) {
        count += comparison_sample(c, i, method)->outcome == outcome;
    }
    return count;
}

const char *comparison_verdict(const comparison *c, int method, sample_value value)
{
    const sample_kind *kind = &sample_kinds[value];
    if (method == 0 || isnan(kind->right)) {
        return "";
    }
    double mine = comparison_figure(c, method, value) - kind->right;
    double others = comparison_figure(c, 0, value) - kind->right;
    return verdict_name(judge_errors(isnan(mine) ? NAN : fmax(mine, 0),
                                     isnan(others) ? NAN : fmax(others, 0), kind->fine));
}
