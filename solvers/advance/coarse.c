// A sub-step that no event ends. Where an exact solve of its contacts would cost too much, sweeps
// leave velocities at which pairs still approach by a little more than their gaps allow. The motion
// is projected: changed by as little as possible, in the metric of the masses, so that all points
// stay apart; the velocities stay as they were solved. Without joints the projection is
// Gauss-Seidel over a queue of violated constraints, so that it costs little where little is
// violated. Pairs that block the projected motion get speculative contacts, and the contacts are
// solved once more with them.
#include <math.h>
#include <string.h>

#include "kinematics.h"
#include "projection.h"

bool advance_is_coarse(const advance_run *run)
{
    bool jammed = run->push.speed > 0; // an overlap has no event to wait for
    return advance_event_work_is_spent(run) || (jammed && !advance_is_controlled(run));
}

// ---- points

// m/s, by which the push opens the gap of a point.
static double pushed_rate(const advance_projection *p, const advance_constraint *l)
{
    double sum = 0;
    for (int side = 0; side < 2 && p->run->push.acts; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            sum += dot6(l->jacobian[side], p->run->push.velocity[l->body[side]]);
        }
    }
    return sum;
}

// A gap below the target is opened as the push does, and is not to close otherwise.
static void set_target(const advance_projection *p, const advance_point *point,
                       advance_constraint *l)
{
    const advance_run *run = p->run;
    double missing = run->target - point->gap, step = run->attempt.length;
    bool overlaps = advance_is_overlap(run, point); // push_out.c separates it
    l->target = (fmin(missing, 0) + point->dip) / step;
    l->wanted = l->target + p->excess;
    if (!overlaps && missing > advance_gap_tolerance * run->target) {
        l->wanted = l->target += fmax(pushed_rate(p, l), 0);
        l->short_by = advance_closing_share * fmax(point->gap, 0) / step;
    }
}

static void set_normal(advance_constraint *l, int side, const double normal[3], const double arm[3])
{
    double J[6];
    l->presses = true;
    point_jacobian(arm, normal, J);
    add_scaled(l->jacobian[side], side ? -1 : 1, J, 6);
}

static void add_point(advance_projection *p, int i)
{
    const advance_run *run = p->run;
    const advance_point *point = &run->points.point[i];
    const int *collider = run->frame->pair[point->pair].collider;
    advance_constraint *l = advance_constraint_add(p, run->frame->collider[collider[0]].body,
                                                   run->frame->collider[collider[1]].body);
    p->of_point[i] = l ? (int)(l - p->constraint) : -1;
    for (int side = 0; side < 2 && l; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            double arm[3];
            subtract3(point->at[side], run->frame->body[l->body[side]].pose.position, arm);
            set_normal(l, side, point->normal, arm);
        }
    }
    if (l) {
        advance_constraint_attach(p, l);
        set_target(p, point, l);
    }
}

static void update_point(advance_projection *p, int i)
{
    int known = p->of_point[i];
    if (known >= 0) {
        set_target(p, &p->run->points.point[i], &p->constraint[known]);
        advance_constraint_queue(p, known);
    }
}

// Raises the target by the gap deficit at the end of the sub-step.
static void raise_target(advance_projection *p, int i, double lowest)
{
    advance_point *point = &p->run->points.point[i];
    double step = p->run->attempt.length, target = p->run->target;
    advance_constraint *l = p->of_point[i] < 0 ? NULL : &p->constraint[p->of_point[i]];
    if (l) {
        double missing = target - point->gap;
        double rate = fmax(l->target, advance_constraint_rate(p, l) +
                                          fmax(fmin(target, point->gap) - lowest, 0) / step);
        point->dip = fmax(0, rate * step - fmin(missing, 0));
        set_target(p, point, l);
        advance_constraint_queue(p, p->of_point[i]);
    }
}

// ---- given contacts and joint rows, which keep their rates

static void add_given(advance_projection *p, const sprag_contact *contact)
{
    advance_constraint *l = advance_constraint_add(p, contact->body[0], contact->body[1]);
    for (int side = 0; side < 2 && l; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            set_normal(l, side, contact->frame[0], contact->arm[side]);
        }
    }
    if (l) {
        advance_constraint_attach(p, l);
        l->target = l->wanted = fmin(0, advance_constraint_rate(p, l));
    }
}

static void add_row(advance_projection *p, const sprag_row *row)
{
    advance_constraint *l = isinf(row->lo) || isinf(row->hi)
                                ? advance_constraint_add(p, row->body[0], row->body[1])
                                : NULL;
    if (l) {
        memcpy(l->jacobian, row->jacobian, sizeof l->jacobian);
        l->lo = isinf(row->lo) ? row->lo : 0;
        l->hi = isinf(row->hi) ? row->hi : 0;
        advance_constraint_attach(p, l);
        l->target = l->wanted = advance_constraint_rate(p, l);
    }
}

// ---- rounds of projection

static bool start(advance_projection *p, advance_run *run)
{
    const sprag_frame *frame = run->frame;
    *p = (advance_projection){.run = run,
                              .tolerance = 0.5 * run->target / run->attempt.length,
                              .excess =
                                  advance_excess * run->options->epsilon / run->attempt.length};
    int points = 2 * run->points.count + 256;
    p->room = points + frame->contacts + run->rows.count;
    if (!advance_projection_take(p)) {
        return false;
    }
    for (int i = 0; i < run->rows.count; i++) {
        add_row(p, &run->rows.row[i]);
    }
    for (int i = 0; i < frame->contacts; i++) {
        add_given(p, &frame->contact[i]);
    }
    for (; p->points < run->points.count; p->points++) {
        add_point(p, p->points);
    }
    advance_projection_begin(p);
    return true;
}

static void add_speculative_point(advance_projection *p, int pair)
{
    int point = advance_add_speculative(p->run, pair);
    for (; p->points < p->run->points.count; p->points++) {
        add_point(p, p->points);
    }
    if (point >= 0) {
        raise_target(p, point, p->run->near[pair].certificate.lowest);
    }
}

// Adds speculative contacts of pairs that block, or raises targets. false: nothing changed.
static bool add_blocking(advance_projection *p)
{
    advance_run *run = p->run;
    bool declined = false;
    for (int i = 0, at = 0; i < run->frame->pairs; i++) {
        const advance_near *near = &run->near[i];
        advance_skip_to_pair(run, i, &at);
        if (!(near->certificate.time < run->attempt.length)) {
            continue;
        }
        int first = at, waiting = p->waiting;
        for (bool curves = near->closed && advance_update_dips(run, i, &at);
             curves && first < at;) {
            update_point(p, first++);
        }
        if (!advance_accepts(run, i)) {
            run->near[i].certificate.time = INFINITY;
            declined = true;
        } else if (p->waiting == waiting && near->certificate.side >= 0 &&
                   p->constraints < p->room) {
            add_speculative_point(p, i);
        }
    }
    return p->waiting > 0 || declined;
}

// Rounds of projection, certificates and constraints of what blocks. as_solved: the motion is first
// certified as it was solved. true: another solve comes first, with contacts that this has found,
// or, of what settles, with friction bounds of better forces.
static bool project(advance_projection *p, bool as_solved)
{
    advance_run *run = p->run;
    const int points = run->points.count;
    for (int round = 0; round < ADVANCE_ROUNDS; round++) {
        if (!as_solved) {
            advance_project(p);
        }
        advance_certify(run, run->attempt.length, round == 0 ? NULL : p->moved);
        memset(p->moved, 0, (size_t)run->frame->bodies * sizeof *p->moved);
        bool apart = run->attempt.safe >= run->attempt.length && p->waiting == 0;
        if (apart || p->budget <= 0 || advance_is_spent(run) || !add_blocking(p)) {
            break;
        }
        if (as_solved && (run->settling || run->points.count > points) && run->work_left > 0) {
            return true;
        }
        as_solved = false;
    }
    return false;
}

sprag_result advance_plan_coarse(advance_run *run, double longest)
{
    run->attempt.has_guess = false;
    advance_begin_attempt(run, longest);
    for (int pass = 0; pass < ADVANCE_COARSE_SOLVES && (pass == 0 || run->work_left > 0); pass++) {
        advance_projection p;
        int points = run->points.count;
        run->attempt.ignore_dips = true;
        sprag_result result = advance_solve(run, longest);
        run->attempt.ignore_dips = false;
        if (result == SPRAG_OK && !start(&p, run)) {
            result = SPRAG_NO_MEMORY;
        }
        if (result != SPRAG_OK) {
            return result;
        }
        bool again = project(&p, pass == 0), more = run->points.count > points;
        bool apart = run->attempt.safe >= longest;
        // Bodies that cannot pay for the projection are solved again with the contacts found.
        if (!again && (!more || (apart && !advance_find_costly(run, run->work.moved)))) {
            break;
        }
    }
    return SPRAG_OK;
}
