// Error control: a sub-step is made once whole and once as two halves. The distance between the
// poses of the two estimates the error of the first-order integration. If it is too large, the
// first half becomes the next whole. All sub-steps are certified.
//
// Hairer, Noersett, Wanner: Solving Ordinary Differential Equations I, II.4. The tolerance is that
// of a frame and a sub-step may have its share, so the sum of the errors falls with the tolerance.
// Through an impact that holds down to sub-steps in which bodies approach by more than epsilon.
// Shorter sub-steps divide the impact, and with friction the outcome differs.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

// All that a sub-step changes, with the events that it has not reported. Answers of `ask_pair` are
// not taken back: nobody is asked twice.
typedef struct state {
    sprag_mover *body;
    sprag_pair *pair;
    sprag_pair_memory *memory; // of the pairs that have one
    advance_near *near;
    sprag_advance_stats stats;
    double time, left, longest; // s
    int last_points, touching, rows, blocking, stalls;
    // of the sub-step that ended here:
    double (*velocity)[6]; // of the motion
    double *row_force;
    double (*given_force)[6];
    int row_room;
    double clock, acted; // s, that it took; that its forces acted for
    bool usable;         // it did not stall, and its contacts were solved
    sprag_event *event;  // not reported yet
    int events;
} state;

enum { START, WHOLE, FIRST, SECOND, STATES };

struct advance_control {
    state state[STATES];
    double *radius;   // m, bodies, of their shapes
    double suggested; // s, length of the next sub-step
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
    s->event = SPRAG_TAKE(run->scratch, 2 * frame->pairs + 2, sprag_event);
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

// ---- save and restore

// Copies what needs no conversion, to the state or back.
static void copy_course(advance_run *run, state *s, bool back)
{
    const struct {
        void *ours, *kept;
        size_t size;
    } part[] = {
        {&run->time, &s->time, sizeof s->time},
        {&run->left, &s->left, sizeof s->left},
        {&run->points.last_closed, &s->last_points, sizeof s->last_points},
        {&run->attempt.blocking, &s->blocking, sizeof s->blocking},
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
    s->rows = run->rows.count;
    if (run->rows.count > s->row_room) {
        s->row_force = SPRAG_TAKE(run->scratch, run->rows.count, double);
        s->row_room = run->rows.count;
    }
    if (run->scratch->failed) {
        return false;
    }
    if (run->rows.count > 0) {
        memcpy(s->row_force, run->rows.force, (size_t)run->rows.count * sizeof(double));
    }
    if (frame->contacts > 0) {
        memcpy(s->given_force, run->rows.given_force,
               (size_t)frame->contacts * sizeof *s->given_force);
    }
    return true;
}

static bool save(advance_run *run, state *s)
{
    const sprag_frame *frame = run->frame;
    copy_course(run, s, false);
    for (int i = 0; i < frame->bodies; i++) {
        memcpy(s->velocity[i], run->attempt.motion[i].velocity, sizeof s->velocity[i]);
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

// Makes a sub-step from the present state to `to`, without reporting it.
static sprag_result make(advance_run *run, double longest, bool to_the_end, state *to)
{
    double stalled = run->stats->stalled, floor = run->floor;
    run->event = to->event;
    run->event_count = 0;
    run->floor = fmin(floor, longest); // no speculative contacts of later events
    sprag_result result = advance_plan(run, longest, to_the_end);
    if (result == SPRAG_OK) {
        advance_move(run);
        result = save(run, to) ? SPRAG_OK : SPRAG_NO_MEMORY;
    }
    to->clock = run->last_clock;
    to->acted = run->attempt.length;
    to->usable = run->stats->stalled == stalled && !run->attempt.failed;
    to->events = run->event_count;
    run->event = NULL;
    run->floor = floor;
    return result;
}

// ---- reports of the sub-steps that are kept

// Forces belong to the rows at the start of the sub-step, which are asked for once more.
static sprag_result report_forces(advance_run *run, const state *from, const state *to)
{
    const sprag_frame_calls *calls = run->calls;
    sprag_frame *frame = run->frame;
    if (!calls->add_forces) {
        return SPRAG_OK;
    }
    if (calls->rows) {
        if (frame->bodies > 0) {
            memcpy(frame->body, from->body, (size_t)frame->bodies * sizeof *from->body);
        }
        int rows = calls->rows(calls->data, frame->body, frame->step, &run->rows.row);
        if (rows != to->rows) {
            return rows < 0 ? SPRAG_NO_MEMORY : SPRAG_BAD_PROBLEM;
        }
    }
    frame->touching = to->touching;
    frame->rows = to->rows;
    calls->add_forces(calls->data, run->rows.row, to->row_force,
                      (const double(*)[6])to->given_force, to->acted / frame->step);
    return SPRAG_OK;
}

static void report_events(const advance_run *run, const state *s)
{
    for (int i = 0; i < s->events && run->calls->event; i++) {
        run->calls->event(run->calls->data, &s->event[i]);
    }
}

static sprag_result keep_whole(advance_run *run)
{
    state *s = run->control->state;
    report_events(run, &s[WHOLE]);
    sprag_result result = report_forces(run, &s[START], &s[WHOLE]);
    restore(run, &s[WHOLE]);
    return result;
}

static sprag_result keep_halves(advance_run *run, double error)
{
    state *s = run->control->state;
    report_events(run, &s[FIRST]);
    report_events(run, &s[SECOND]);
    sprag_result result = report_forces(run, &s[START], &s[FIRST]);
    if (result == SPRAG_OK) {
        result = report_forces(run, &s[FIRST], &s[SECOND]);
    }
    restore(run, &s[SECOND]);
    run->stats->error = fmax(run->stats->error, error);
    return result;
}

// ---- the error

static double angle_between(const double *R, const double *Q)
{
    double sum = 0;
    for (int k = 0; k < 9; k++) {
        sum += (R[k] - Q[k]) * (R[k] - Q[k]);
    }
    return 2 * asin(fmin(1, sqrt(sum / 8)));
}

// m, largest distance of any point of a body between the end of the halves and the whole sub-step
// at that time. An event may end them at different times, so the motion of the whole is followed
// for as long as the halves took.
static double error_of_halves(const advance_run *run)
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

// s, longest second half. It ends where the whole ended; if an event ended the whole, the second
// half may take as long again and find its own event.
static double second_half(const state *start, const state *whole, const state *first)
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
    const double shortest = fmax(run->options->shortest, 1e-6) * run->frame->step;
    double length =
        control->suggested < advance_nearly_all * run->left ? control->suggested : run->left;
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
        double second = second_half(&s[START], &s[WHOLE], &s[FIRST]);
        if (result != SPRAG_OK || !s[FIRST].usable || !(second > 0)) {
            return result == SPRAG_OK ? keep_whole(run) : result;
        }
        result = make(run, second, to_the_end, &s[SECOND]);
        if (result != SPRAG_OK || !s[SECOND].usable) {
            return result == SPRAG_OK ? keep_whole(run) : result;
        }
        double error = error_of_halves(run),
               share = (s[FIRST].clock + s[SECOND].clock) / run->frame->step;
        if (error <= run->options->error * share || s[WHOLE].clock <= shortest) {
            control->suggested =
                error <= advance_error_slack * run->options->error * share ? 2 * length : length;
            return keep_halves(run, error);
        }
        state whole = s[WHOLE];
        s[WHOLE] = s[FIRST];
        s[FIRST] = whole;
        length = half;
    }
    return result;
}
