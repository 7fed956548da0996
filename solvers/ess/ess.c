// The interface to event-selected systems: names, defaults and the check of all arguments.
#include "ess.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ess_run.h"

sprag_ess_options sprag_ess_defaults(double step)
{
    return (sprag_ess_options){.mode = SPRAG_ESS_MIDPOINT,
                               .step = step,
                               .relative_tolerance = 1e-6,
                               .absolute_tolerance = 1e-9,
                               .eps = 0.01,
                               .label_tolerance = 1e-6,
                               .samples = 1,
                               .corner_time = 1e-10,
                               .zeno_events = 100,
                               .max_steps = 1000000000};
}

const char *sprag_ess_stop_name(sprag_ess_stop stop)
{
    switch (stop) {
    case SPRAG_ESS_DONE:
        return "done";
    case SPRAG_ESS_SLIDING:
        return "sliding";
    case SPRAG_ESS_ZENO:
        return "zeno";
    case SPRAG_ESS_MISMATCH:
        return "label mismatch";
    case SPRAG_ESS_NOT_LIVE:
        return "not live";
    case SPRAG_ESS_TINY_STEP:
        return "tiny step";
    case SPRAG_ESS_MANY_STEPS:
        return "many steps";
    case SPRAG_ESS_BAD_VALUE:
        return "bad value";
    case SPRAG_ESS_LAST_EVENT:
        return "last event";
    }
    return "unknown stop";
}

// ---- the check

typedef struct complaint {
    char *message;
    int size;
} complaint;

static complaint begin(char *message, int size)
{
    if (message && size > 0) {
        message[0] = '\0';
    }
    return (complaint){message, size};
}

#define BAD(to, ...) sprag_bad_problem((to)->message, (to)->size, __VA_ARGS__)

static sprag_result check_array(complaint *to, const char *name, const double *x, size_t count,
                                double least)
{
    if (!x && count > 0) {
        return BAD(to, "%s is missing", name);
    }
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i]) || !(x[i] >= least)) {
            return BAD(to, "%s[%zu] is %g", name, i, x[i]);
        }
    }
    return SPRAG_OK;
}

static sprag_result check_problem(complaint *to, const sprag_ess_problem *p)
{
    if (p->states < 1 || p->guards < 0 || p->resets < 0) {
        return BAD(to, "%s is %d",
                   p->states < 1   ? "states"
                   : p->guards < 0 ? "guards"
                                   : "resets",
                   p->states < 1   ? p->states
                   : p->guards < 0 ? p->guards
                                   : p->resets);
    }
    if (!p->field || (p->guards > 0 && !p->guard)) {
        return BAD(to, "%s is missing", p->field ? "guard" : "field");
    }
    if (p->row_entries < 0 || p->row_entries > p->states) {
        return BAD(to, "row_entries is %d of %d states", p->row_entries, p->states);
    }
    if (p->resets > 0 && !p->reset) {
        return BAD(to, "reset is missing");
    }
    for (int i = 0; i < p->resets; i++) {
        const sprag_ess_reset *r = &p->reset[i];
        if (r->crossed < 0 || r->crossed >= p->guards || r->guard < 0 || r->guard >= p->guards) {
            return BAD(to, "reset[%d] is of guards %d and %d, there are %d", i, r->crossed,
                       r->guard, p->guards);
        }
    }
    const struct {
        const char *name;
        const double *value;
        bool zero, infinity; // are allowed
    } array[] = {{"eps", p->eps, true, false},
                 {"label_tolerance", p->label_tolerance, false, true},
                 {"rate_bound", p->rate_bound, true, true}};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        const double *value = array[i].value;
        for (int k = 0; value && k < p->guards; k++) {
            if (!(value[k] >= 0) || (value[k] == 0 && !array[i].zero) ||
                (value[k] == INFINITY && !array[i].infinity)) {
                return BAD(to, "%s[%d] is %g", array[i].name, k, value[k]);
            }
        }
    }
    return SPRAG_OK;
}

// The search for crossings under a bound ends at the tolerance of the label.
static sprag_result check_bounds(complaint *to, const sprag_ess_problem *p,
                                 const sprag_ess_options *o)
{
    for (int k = 0; p->rate_bound && k < p->guards; k++) {
        double tolerance = p->label_tolerance ? p->label_tolerance[k] : o->label_tolerance;
        if (p->rate_bound[k] < INFINITY && !(tolerance < INFINITY)) {
            return BAD(to, "rate_bound[%d] needs a finite label_tolerance", k);
        }
    }
    return SPRAG_OK;
}

static sprag_result check_options(complaint *to, const sprag_ess_options *o, int states)
{
    const struct {
        const char *name;
        double value;
        bool zero; // is allowed
    } number[] = {{"step", o->step, false},
                  {"first_step", o->first_step, true},
                  {"relative_tolerance", o->relative_tolerance, true},
                  {"absolute_tolerance", o->absolute_tolerance, false},
                  {"eps", o->eps, true},
                  {"corner_time", o->corner_time, true},
                  {"zeno_time", o->zeno_time, true}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        double value = number[i].value;
        if (!isfinite(value) || !(value >= 0) || (value == 0 && !number[i].zero)) {
            return BAD(to, "%s is %g, it must be %s", number[i].name, value,
                       number[i].zero ? "a finite number >= 0" : "positive");
        }
    }
    if (o->mode != SPRAG_ESS_MIDPOINT && o->mode != SPRAG_ESS_FIRST &&
        o->mode != SPRAG_ESS_LOCATE) {
        return BAD(to, "mode is %d", (int)o->mode);
    }
    if (o->samples < 1 || o->samples > SPRAG_ESS_SAMPLES) {
        return BAD(to, "samples is %d, it must be 1 to %d", o->samples, SPRAG_ESS_SAMPLES);
    }
    if (!(o->label_tolerance > 0)) {
        return BAD(to, "label_tolerance is %g, it must be positive", o->label_tolerance);
    }
    if (o->zeno_events < 1 || o->max_steps < 1) {
        return BAD(to, "%s must be positive", o->zeno_events < 1 ? "zeno_events" : "max_steps");
    }
    return o->scale ? check_array(to, "scale", o->scale, (size_t)states, DBL_MIN) : SPRAG_OK;
}

static sprag_result check_output(complaint *to, const sprag_ess_output *out, double start,
                                 double end, int states)
{
    if (out->times < 0 || out->event_room < 0 || out->directions < 0) {
        return BAD(to, "times, event_room or directions is negative");
    }
    if (out->times > 0 && !out->state) {
        return BAD(to, "state is missing");
    }
    if (check_array(to, "time", out->time, (size_t)out->times, -DBL_MAX) != SPRAG_OK) {
        return SPRAG_BAD_PROBLEM;
    }
    for (int i = 0; i < out->times; i++) {
        double least = i > 0 ? out->time[i - 1] : start;
        if (!(out->time[i] >= least) || !(out->time[i] <= end)) {
            return BAD(to, "time[%d] is %g, it must be from %g to %g", i, out->time[i], least, end);
        }
    }
    return check_array(to, "direction", out->direction, (size_t)out->directions * (size_t)states,
                       -DBL_MAX);
}

static sprag_result check(complaint *to, const sprag_ess_problem *p, const sprag_ess_options *o,
                          double start, double end, const double *x, const double *label,
                          const sprag_ess_output *out)
{
    if (!p || !o) {
        return BAD(to, "%s missing", p ? "options are" : "problem is");
    }
    if (check_problem(to, p) != SPRAG_OK || check_options(to, o, p->states) != SPRAG_OK ||
        check_bounds(to, p, o) != SPRAG_OK ||
        check_array(to, "x", x, (size_t)p->states, -DBL_MAX) != SPRAG_OK) {
        return SPRAG_BAD_PROBLEM;
    }
    if (!isfinite(start) || !isfinite(end) || !(start <= end)) {
        return BAD(to, "from %g to %g is no interval of time", start, end);
    }
    if (!label && p->guards > 0) {
        return BAD(to, "label is missing");
    }
    for (int k = 0; k < p->guards; k++) {
        if (!(label[k] == 0) && !(label[k] == 1) && !isnan(label[k])) {
            return BAD(to, "label[%d] is %g, it must be 0, 1 or NAN", k, label[k]);
        }
    }
    return out ? check_output(to, out, start, end, p->states) : SPRAG_OK;
}

sprag_result sprag_ess_integrate(const sprag_ess_problem *problem, const sprag_ess_options *options,
                                 double start, double end, double *x, double *label,
                                 sprag_ess_output *output, sprag_scratch *scratch,
                                 sprag_ess_stats *stats, char *message, int size)
{
    complaint to = begin(message, size);
    if (check(&to, problem, options, start, end, x, label, output) != SPRAG_OK) {
        return SPRAG_BAD_PROBLEM;
    }
    sprag_ess_stats own;
    stats = stats ? stats : &own;
    *stats = (sprag_ess_stats){
        .stop_guard = SPRAG_ESS_NO_GUARD, .time = start, .smallest_gap = INFINITY};
    int directions = output ? output->directions : 0;
    sprag_ess_run run = {.problem = problem,
                         .options = options,
                         .smooth = options->smooth ? options->smooth : &sprag_dopri5,
                         .output = output,
                         .stats = stats,
                         .message = message,
                         .message_size = size,
                         .states = problem->states,
                         .size = problem->states * (1 + directions),
                         .directions = directions,
                         .time = start,
                         .end = end};
    if (!sprag_ess_take(&run, label, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    sprag_ess_begin(&run, x);
    sprag_ess_loop(&run);
    size_t n = (size_t)run.states;
    memcpy(x, run.now.y, n * sizeof *x);
    if (directions > 0) {
        memcpy(output->direction, run.now.y + n, (size_t)directions * n * sizeof *x);
    }
    stats->time = run.time;
    stats->next_step = run.step;
    if (stats->stop == SPRAG_ESS_BAD_VALUE) {
        return SPRAG_BAD_PROBLEM;
    }
    return sprag_ess_is_running(&run) ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

sprag_result sprag_ess_corner(const sprag_ess_problem *problem, const double *x,
                              const double *label, const int *guard, int guards, bool affine,
                              const double *v, double *w, int *order, sprag_scratch *scratch,
                              char *message, int size)
{
    complaint to = begin(message, size);
    if (!problem || guards < 0 || (guards > 0 && !guard)) {
        return BAD(&to, "%s missing", problem ? "guards are" : "problem is");
    }
    size_t n = problem->states > 0 ? (size_t)problem->states : 0;
    if (check_problem(&to, problem) != SPRAG_OK ||
        check_array(&to, "x", x, n, -DBL_MAX) != SPRAG_OK ||
        check_array(&to, "label", label, (size_t)problem->guards, 0) != SPRAG_OK ||
        check_array(&to, "v", v, n, -DBL_MAX) != SPRAG_OK) {
        return SPRAG_BAD_PROBLEM;
    }
    for (int i = 0; i < guards; i++) {
        if (guard[i] < 0 || guard[i] >= problem->guards) {
            return BAD(&to, "guard[%d] is %d of %d", i, guard[i], problem->guards);
        }
        if (problem->reset_map && (!problem->is_mapped || problem->is_mapped[guard[i]])) {
            return BAD(&to, "guard[%d], %d, resets the state", i, guard[i]);
        }
    }
    sprag_ess_stats stats = {0};
    sprag_guards set;
    sprag_corner corner;
    double *now = SPRAG_TAKE(scratch, problem->guards, double);
    double *nominal = SPRAG_TAKE(scratch, n, double);
    if (!now || !nominal || !sprag_guards_take(&set, problem, now, now, &stats, scratch) ||
        !sprag_corner_take(&corner, &set, guards, 0, &stats.field_values, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    sprag_corner_move(&corner, x, label);
    corner.guards = guards;
    for (int i = 0; i < guards; i++) {
        corner.guard[i] = guard[i];
        corner.h[i] = affine ? sprag_guards_value(&set, x, guard[i]) : 0;
    }
    bool live = !affine || sprag_corner_map(&corner, nominal);
    memmove(w, v, n * sizeof *w);
    live = live && sprag_corner_map(&corner, w);
    if (set.row.bad != SPRAG_ESS_NO_GUARD) {
        return BAD(&to, "row of guard %d has an invalid column or value", set.row.bad);
    }
    if (!live || !sprag_ess_finite(w, problem->states)) {
        BAD(&to, "the flow approaches none of the guards that are left");
        return SPRAG_NOT_CONVERGED;
    }
    for (int i = 0; i < problem->states; i++) {
        w[i] -= nominal[i];
    }
    for (int i = 0; order && i < guards; i++) {
        order[i] = guard[corner.order[i]];
    }
    return SPRAG_OK;
}
