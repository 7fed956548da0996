// Stops of joints as guards, and impacts at them. A stop that is reached becomes an active row that
// only pushes. At that instant velocities jump by impulses p of the active rows:
//
//     (J M^-1 J' + CFM / h) p = -J v of stops, times 1 + restitution of the one that is reached,
//                               what rigid rows lack of their speed, 0 of others
//
// as in a step of ODE. Were rows to keep the velocities of bodies that the program has set against
// them, they would do work. Stops that separate after an impact are released at once: until their
// distance is measurable they would be reached again, faster than they were left, and two stops
// that alternate would do so without end. Stops that separate too slowly to get measurably away
// stay active.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"

// ---- guards

// m/s or rad/s, scale of the velocity of a stop's coordinate.
static double speed_scale(const compliant_run *run, int which)
{
    const compliant_joints *j = run->joints;
    const sprag_row *row = &j->row[j->stop[which].row];
    double speed = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            const double *scale = run->sizes.scale + COMPLIANT_STATES * row->body[side];
            speed += norm3(row->jacobian[side]) * scale[COMPLIANT_VELOCITY] +
                     norm3(row->jacobian[side] + 3) * scale[COMPLIANT_SPIN];
        }
    }
    return speed;
}

// Errors of the integration must not take bodies off a stop that they rest on.
double compliant_stop_hysteresis(const compliant_run *run, int which)
{
    double error = run->options->tolerance * run->frame->step * speed_scale(run, which);
    return fmax(COMPLIANT_STOP_HYSTERESIS_MIN, COMPLIANT_STOP_HYSTERESIS * error);
}

bool compliant_stop_guards(compliant_run *run, const double *x, const int *stop, int count,
                           double *h)
{
    if (run->joints->has_laws) {
        compliant_move_stops(run, x);
    } else if (!compliant_ask_rows(run, x, 0)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        int which = stop ? stop[i] : i;
        h[i] = run->joints->hysteresis[which] - run->joints->stop[which].inside;
    }
    return true;
}

int compliant_stop_row(compliant_run *run, const double *x, int which, int *column, double *value)
{
    int entries = 0;
    if (!compliant_evaluate_rows(run, x)) {
        return -1;
    }
    const sprag_stop *stop = &run->joints->stop[which];
    const sprag_row *row = &run->joints->row[stop->row];
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            entries += compliant_guard_row(x, row->body[side], row->jacobian[side], -stop->sign,
                                           column + entries, value + entries);
        }
    }
    return entries;
}

void compliant_set_stop_bands(compliant_run *run, double time)
{
    for (int s = 0; s < run->stops; s++) {
        run->guards.band[run->guards.pairs + s] =
            fmax(COMPLIANT_BAND_MIN, time * speed_scale(run, s));
    }
}

static double band_of(const compliant_run *run, int which)
{
    return run->guards.band[run->guards.pairs + which];
}

void compliant_release_stop(compliant_run *run, int which)
{
    run->joints->hysteresis[which] = 0;
    run->joints->separation_speed[which] = 0;
}

bool compliant_is_at_stop(const compliant_run *run, int which)
{
    return run->joints->stop[which].inside <= COMPLIANT_STOP_REACHED * band_of(run, which);
}

bool compliant_is_past_stop(const compliant_run *run, int which)
{
    return run->joints->stop[which].inside <= 0;
}

double compliant_stop_velocity(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    return stop->sign * compliant_row_velocity(&run->joints->row[stop->row], run->state.x);
}

double compliant_hit_speed(const compliant_run *run, int which)
{
    double speed = -compliant_stop_velocity(run, which);
    bool just_reached =
        compliant_is_at_stop(run, which) && -run->joints->stop[which].inside <= band_of(run, which);
    return just_reached && speed > 1e-9 * run->sizes.fastest ? speed : 0;
}

// ---- impacts

// Reports impulses as forces over the whole frame.
bool compliant_apply_impulses(compliant_run *run)
{
    run->joints->has_forces = false;
    memset(run->joints->force, 0, (size_t)run->rows * sizeof *run->joints->force);
    if (!compliant_apply_rows(run, run->state.x)) {
        return false;
    }
    compliant_set_motors(run);
    compliant_report_rows(run, 1 / run->frame->step);
    return true;
}

static bool is_in_contact(const compliant_run *run, int which)
{
    return fabs(run->joints->stop[which].inside) <= COMPLIANT_STOP_CONTACT * band_of(run, which);
}

bool compliant_release_separating(compliant_run *run, double *label)
{
    bool creeps = false;
    for (int s = 0; s < run->stops; s++) {
        double speed = compliant_stop_velocity(run, s), scale = speed_scale(run, s);
        if (label[s] == 0 || !(speed > 0) || !is_in_contact(run, s)) {
            continue;
        }
        double height = COMPLIANT_STOP_FLIGHT * compliant_stop_hysteresis(run, s);
        if (speed > sqrt(2 * height * scale / run->frame->step)) {
            label[s] = 0;
            compliant_release_stop(run, s);
        } else {
            creeps = true;
        }
    }
    return creeps;
}

// Removes the velocities by which active stops separate.
static bool remove_separation(compliant_run *run, const double *label)
{
    compliant_row_system *s = &run->joints->active;
    compliant_set_active_rows(run, label, COMPLIANT_FOR_IMPACT);
    compliant_set_yields(run, 0);
    for (int i = 0; i < s->count; i++) {
        compliant_active_row *row = &s->row[i];
        bool at = row->stop >= 0 && is_in_contact(run, row->stop);
        row->lo = at ? -INFINITY : row->lo;
        s->right[i] = at ? -compliant_stop_velocity(run, row->stop) : 0;
    }
    return compliant_apply_impulses(run);
}

bool compliant_hit_stop(compliant_run *run, int which, double *label)
{
    compliant_joints *j = run->joints;
    compliant_row_system *s = &j->active;
    compliant_place(run, run->state.x);
    if (j->hits[which] > COMPLIANT_STOP_HITS_MAX || !compliant_evaluate_rows(run, run->state.x)) {
        return false;
    }
    compliant_set_active_rows(run, label, COMPLIANT_FOR_IMPACT);
    compliant_set_yields(run, 0);
    bool bounces = j->hits[which]++ < COMPLIANT_BOUNCES_MAX;
    double bounce = bounces ? fmin(fmax(j->stop[which].bounce, 0), 1) : 0;
    for (int i = 0; i < s->count; i++) {
        const compliant_active_row *row = &s->row[i];
        double times = row->stop == which ? 1 + bounce : row->stop >= 0;
        double speed = row->sign * compliant_row_velocity(&j->row[row->row], run->state.x);
        bool rigid = row->stop < 0 && j->rule[row->row] == COMPLIANT_RIGID;
        s->right[i] = rigid ? j->target_speed[row->row] - speed : -times * speed;
    }
    j->hysteresis[which] = compliant_stop_hysteresis(run, which);
    j->separation_speed[which] = 0;
    return compliant_apply_impulses(run) &&
           (!compliant_release_separating(run, label) || remove_separation(run, label));
}
