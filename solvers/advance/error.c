// Error control: a sub-step is made once whole and once as two halves. Where both put a body tells
// what the first order of the integration costs; where that is too much the first half is the next
// whole. Whatever is kept has been certified like any other sub-step.
//
// Hairer, Noersett, Wanner: Solving Ordinary Differential Equations I, II.4. The error asked for is
// that of a frame, a sub-step may have its share: then what adds up falls as fast as the tolerance.
// Through an impact it does so down to sub-steps in which bodies approach by more than epsilon; in
// shorter ones the impact is divided over several, and with friction the outcome is another.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

// All that a sub-step changes, with what it has not told anybody yet. What `touch` has answered
// stays: nobody is asked twice.
typedef struct state {
    sprag_mover *body;
    sprag_pair *pair;
    sprag_pair_memory *memory; // of the pairs that have one
    advance_near *near;
    sprag_advance_stats stats;
    double time, left, longest; // s
    int last_points, touching, rows, blocking, stalls;
    // of the sub-step that led here:
    double (*velocity)[6]; // of the motion
    double *row_force;
    double (*given_force)[6];
    int row_room;
    double clock, acted; // s, acted: that forces were taken to
    bool usable;         // neither stalled nor without impulses
    sprag_event *told;
    int tellings;
} state;

enum { START, WHOLE, FIRST, SECOND, STATES };

struct advance_control {
    state state[STATES];
    double *radius;   // m, bodies, of their shapes
    double suggested; // s, the next sub-step
};

static void take_state(advance_run *run, state *s)
{
    const sprag_frame *frame = run->frame;
    s->body = SPRAG_TAKE(run->scratch, frame->bodies, sprag_mover);
    s->pair = SPRAG_TAKE(run->scratch, frame->pairs, sprag_pair);
    s->memory = SPRAG_TAKE(run->scratch, frame->pairs, sprag_pair_memory);
    s->near = SPRAG_TAKE(run->scratch, frame->pairs, advance_near);
    s->velocity = SPRAG_TAKE(run->scratch, frame->bodies, *s->velocity);
    s->given_force = SPRAG_TAKE(run->scratch, frame->contacts, *s->given_force);
    s->told = SPRAG_TAKE(run->scratch, 2 * frame->pairs + 2, sprag_event);
}

bool advance_take_control(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    advance_control *control = SPRAG_TAKE(run->scratch, 1, advance_control);
    if (!control) {
        return false;
    }
    for (int i = 0; i < STATES; i++) {
        take_state(run, &control->state[i]);
    }
    control->radius = SPRAG_TAKE(run->scratch, frame->bodies, double);
    control->suggested = frame->step;
    run->control = control;
    for (int i = 0; i < frame->colliders && !run->scratch->failed; i++) {
        const sprag_collider *c = &frame->collider[i];
        double radius = advance_radius(c);
        if (c->body != SPRAG_STATIC && isfinite(radius)) {
            control->radius[c->body] = fmax(control->radius[c->body], radius);
        }
    }
    return !run->scratch->failed;
}

// ---- there and back

// What is kept as it is.
static void copy_course(advance_run *run, state *s, bool back)
{
    const struct {
        void *ours, *kept;
        size_t size;
    } part[] = {
        {&run->time, &s->time, sizeof s->time},
        {&run->left, &s->left, sizeof s->left},
        {&run->last_points, &s->last_points, sizeof s->last_points},
        {&run->blocking, &s->blocking, sizeof s->blocking},
        {&run->stalls, &s->stalls, sizeof s->stalls},
        {&run->frame->touching, &s->touching, sizeof s->touching},
        {run->frame->body, s->body, (size_t)run->frame->bodies * sizeof *s->body},
        {run->near, s->near, (size_t)run->frame->pairs * sizeof *s->near},
        {run->stats, &s->stats, sizeof s->stats},
    };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i].size > 0) {
            memcpy(back ? part[i].ours : part[i].kept, back ? part[i].kept : part[i].ours,
                   part[i].size);
        }
    }
}

static bool save_forces(advance_run *run, state *s)
{
    const sprag_frame *frame = run->frame;
    s->rows = run->rows;
    if (run->rows > s->row_room) {
        s->row_force = SPRAG_TAKE(run->scratch, run->rows, double);
        s->row_room = run->rows;
    }
    if (run->scratch->failed) {
        return false;
    }
    if (run->rows > 0) {
        memcpy(s->row_force, run->row_force, (size_t)run->rows * sizeof(double));
    }
    if (frame->contacts > 0) {
        memcpy(s->given_force, run->given_force, (size_t)frame->contacts * sizeof *s->given_force);
    }
    return true;
}

static bool save(advance_run *run, state *s)
{
    const sprag_frame *frame = run->frame;
    copy_course(run, s, false);
    for (int i = 0; i < frame->bodies; i++) {
        memcpy(s->velocity[i], run->motion[i].velocity, sizeof s->velocity[i]);
    }
    for (int i = 0; i < frame->pairs; i++) {
        s->pair[i] = frame->pair[i];
        if (frame->pair[i].memory) {
            s->memory[i] = *frame->pair[i].memory;
        }
    }
    s->longest = run->longest;
    return save_forces(run, s);
}

static void restore(advance_run *run, state *s)
{
    sprag_frame *frame = run->frame;
    long solves = run->stats->solves, failed = run->stats->failed;
    copy_course(run, s, true);
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair *pair = &frame->pair[i];
        pair->gap = s->pair[i].gap;
        pair->overlapped = s->pair[i].overlapped;
        memcpy(pair->impulse, s->pair[i].impulse, sizeof pair->impulse);
        if (pair->memory) {
            *pair->memory = s->memory[i];
        }
    }
    run->stats->solves = solves;
    run->stats->failed = failed;
    frame->rows = s->rows;
}

// A sub-step from where the bodies are to `to`, of which nobody hears.
static sprag_result make(advance_run *run, double longest, bool to_the_end, state *to)
{
    double stalled = run->stats->stalled, floor = run->floor;
    run->told = to->told;
    run->tellings = 0;
    run->floor = fmin(floor, longest); // what comes later is not to be met beforehand
    sprag_result result = advance_substep(run, longest, to_the_end);
    if (result == SPRAG_OK) {
        advance_go(run);
        result = save(run, to) ? SPRAG_OK : SPRAG_NO_MEMORY;
    }
    to->clock = run->clock;
    to->acted = run->trial;
    to->usable = run->stats->stalled == stalled && !run->failed;
    to->tellings = run->tellings;
    run->told = NULL;
    run->floor = floor;
    return result;
}

// ---- what is kept is told

// Forces belong to rows as they were where the sub-step began: those are asked for once more.
static sprag_result tell_forces(advance_run *run, const state *from, const state *to)
{
    const sprag_frame_calls *calls = run->calls;
    sprag_frame *frame = run->frame;
    if (!calls->carried) {
        return SPRAG_OK;
    }
    if (calls->rows) {
        if (frame->bodies > 0) {
            memcpy(frame->body, from->body, (size_t)frame->bodies * sizeof *from->body);
        }
        int rows = calls->rows(calls->data, frame->body, frame->step, &run->row);
        if (rows != to->rows) {
            return rows < 0 ? SPRAG_NO_MEMORY : SPRAG_BAD_PROBLEM;
        }
    }
    frame->touching = to->touching;
    frame->rows = to->rows;
    calls->carried(calls->data, to->row_force, (const double(*)[6])to->given_force,
                   to->acted / frame->step);
    return SPRAG_OK;
}

static void tell_events(const advance_run *run, const state *s)
{
    for (int i = 0; i < s->tellings && run->calls->event; i++) {
        run->calls->event(run->calls->data, &s->told[i]);
    }
}

static sprag_result keep_whole(advance_run *run)
{
    state *s = run->control->state;
    tell_events(run, &s[WHOLE]);
    sprag_result result = tell_forces(run, &s[START], &s[WHOLE]);
    restore(run, &s[WHOLE]);
    return result;
}

static sprag_result keep_halves(advance_run *run, double error)
{
    state *s = run->control->state;
    tell_events(run, &s[FIRST]);
    tell_events(run, &s[SECOND]);
    sprag_result result = tell_forces(run, &s[START], &s[FIRST]);
    if (result == SPRAG_OK) {
        result = tell_forces(run, &s[FIRST], &s[SECOND]);
    }
    restore(run, &s[SECOND]);
    run->stats->error = fmax(run->stats->error, error);
    return result;
}

// ---- how far apart they end

static double angle_between(const double *R, const double *Q)
{
    double sum = 0;
    for (int k = 0; k < 9; k++) {
        sum += (R[k] - Q[k]) * (R[k] - Q[k]);
    }
    return 2 * asin(fmin(1, sqrt(sum / 8)));
}

// m, of any point of a body, between the halves' end and where the whole sub-step is by then. If
// they end at an event they need not meet it at the same time: the whole's motion is followed for
// as long as the halves took.
static double difference(const advance_run *run)
{
    const advance_control *control = run->control;
    const state *start = &control->state[START], *end = &control->state[SECOND];
    double most = 0, t = end->clock + control->state[FIRST].clock;
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_motion motion = {.pose = start->body[i].pose};
        sprag_pose pose;
        double d[3];
        memcpy(motion.velocity, control->state[WHOLE].velocity[i], sizeof motion.velocity);
        sprag_motion_at(&motion, t, &pose);
        subtract3(pose.position, end->body[i].pose.position, d);
        most = fmax(most, norm3(d) + control->radius[i] *
                                         angle_between(pose.rotation, end->body[i].pose.rotation));
    }
    return most;
}

// The second half goes to where the whole ended. Where that was an event it may look for its own,
// for as long again.
static double rest_of(const state *start, const state *whole, const state *first)
{
    if (whole->clock < whole->longest) {
        return fmin(whole->clock, first->left);
    }
    return whole->left <= 0 ? first->left : start->left - whole->left - first->clock;
}

sprag_result advance_controlled(advance_run *run, bool to_the_end)
{
    advance_control *control = run->control;
    state *s = control->state;
    const double nearly = 0.8, much = 0.4;
    const double shortest = fmax(run->options->shortest, 1e-6) * run->frame->step;
    double length = control->suggested < nearly * run->left ? control->suggested : run->left;
    sprag_result result = save(run, &s[START]) ? SPRAG_OK : SPRAG_NO_MEMORY;
    if (result == SPRAG_OK) {
        result = make(run, length, to_the_end, &s[WHOLE]);
    }
    while (result == SPRAG_OK) {
        double half = 0.5 * s[WHOLE].clock;
        if (!s[WHOLE].usable || !(half > 0)) {
            return keep_whole(run);
        }
        restore(run, &s[START]);
        result = make(run, half, to_the_end, &s[FIRST]);
        double rest = rest_of(&s[START], &s[WHOLE], &s[FIRST]);
        if (result != SPRAG_OK || !s[FIRST].usable || !(rest > 0)) {
            return result == SPRAG_OK ? keep_whole(run) : result;
        }
        result = make(run, rest, to_the_end, &s[SECOND]);
        if (result != SPRAG_OK || !s[SECOND].usable) {
            return result == SPRAG_OK ? keep_whole(run) : result;
        }
        double error = difference(run),
               share = (s[FIRST].clock + s[SECOND].clock) / run->frame->step;
        if (error <= run->options->error * share || s[WHOLE].clock <= shortest) {
            control->suggested = error <= much * run->options->error * share ? 2 * length : length;
            return keep_halves(run, error);
        }
        state whole = s[WHOLE];
        s[WHOLE] = s[FIRST];
        s[FIRST] = whole;
        length = half;
    }
    return result;
}
