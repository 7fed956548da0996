// The method's calls, for a group within its frame: joint rows and stops, surfaces of pairs that
// touch, forces and events.
#include "frame_run.h"

#include <math.h>
#include <string.h>

#include "linalg.h"

// Puts the bodies into ODE where they are in the frame. Joints at powered stops add forces to them
// while ODE computes their rows.
static void expose(group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        body_expose(g->state[i], &g->frame.body[i]);
        sprag_ode_read_accumulators(g->state[i]->id, g->state[i]->before_rows);
    }
}

static void collect_forces(group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        body_state *b = g->state[i];
        double now[6];
        sprag_ode_read_accumulators(b->id, now);
        for (int k = 0; k < 6; k++) {
            g->frame.body[i].force[k] = b->start.force[k] + (now[k] - b->before_rows[k]);
        }
        sprag_ode_set_accumulators(b->id, b->before_rows);
    }
}

// A callback within the step may have detached the joint, or attached it to other bodies.
static bool joins_group(const group *g, dJointID joint)
{
    for (int side = 0; side < 2; side++) {
        dBodyID body = dJointGetBody(joint, side);
        const body_state *b = body ? step_body_of(g->s, body) : NULL;
        if (b && (b->local >= g->frame.bodies || g->state[b->local] != b)) {
            return false;
        }
    }
    return sprag_ode_joint_acts(joint);
}

// Sets the rows of a joint, behind `rows` others, and returns their number. stops NULL: with rows
// of the stops that it is at. -1: the joint cannot be asked within a step.
static int pull_joint(group *g, int j, int rows, double h, int *stops)
{
    step *s = g->s;
    dJointID joint = g->joint[j];
    int before = stops ? *stops : 0, more = 0, count = 0;
    if (!joins_group(g, joint)) {
        return 0;
    }
    if (stops) {
        count = sprag_ode_pull_coordinates(&g->row[rows], g->stop + before, &more, joint,
                                           s->a->input.world, h, &s->index, s->a->input.warm_start);
        *stops += more;
    } else if (!s->a->input.compliant) {
        count = sprag_ode_pull_bouncing_rows(&g->row[rows], joint, s->a->input.world, h, &s->index,
                                             s->a->input.warm_start);
    } else {
        count = sprag_ode_count_rows(joint).rows;
        count = sprag_ode_pull_rows(&g->row[rows], joint, count, s->a->input.world, h, &s->index,
                                    s->a->input.warm_start, NULL);
    }
    for (int i = before; i < before + more; i++) {
        g->stop[i].row += rows;
        g->stop_joint[i] = joint;
    }
    dVector3 anchor[2];
    if (count > 0 && sprag_ode_distance_anchors(joint, anchor)) {
        double between[3];
        subtract3(anchor[0], anchor[1], between);
        g->row[rows].length = norm3(between);
    }
    for (int k = rows; k < rows + count; k++) {
        const known_forces *known = &g->known[j];
        if (k - rows < known->rows) {
            g->row[k].guess = known->force[k - rows];
        }
        g->row_joint[k] = j;
        for (int side = 0; side < 2; side++) {
            int *b = &g->row[k].body[side];
            *b = *b == SPRAG_STATIC ? *b : s->body[*b].local;
        }
    }
    return count;
}

static int pull_joints(group *g, double step, const sprag_row **row, int *stops)
{
    int rows = 0;
    // An integrator may try any state, and ODE's joints abort the program at one that is not
    // finite.
    if (!sprag_frame_is_good(&g->frame)) {
        return -1;
    }
    expose(g);
    for (int j = 0; j < g->joints && rows >= 0; j++) {
        int more = pull_joint(g, j, rows, step, stops);
        if (more < 0) {
            g->s->a->warnings.whole_step_joint = g->joint[j];
        }
        rows = more < 0 ? -1 : rows + more;
    }
    collect_forces(g);
    *row = g->row;
    return rows;
}

static int pull_rows(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    group *g = data;
    (void)body;
    const int rows = pull_joints(g, step, row, NULL);
    for (int i = 0; i < g->limits && rows >= 0; i++) {
        sprag_ode_read_limited(&g->limited[i]);
    }
    return rows;
}

static int pull_coordinates(void *data, const sprag_mover *body, double step, const sprag_row **row,
                            const sprag_stop **stop, int *stops)
{
    group *g = data;
    (void)body;
    *stops = 0;
    *stop = g->stop;
    return pull_joints(g, step, row, stops);
}

static bool row_laws(void *data, int rows, sprag_row_law *law)
{
    const group *g = data;
    int end;
    for (int i = 0; i < rows; i = end) {
        for (end = i + 1; end < rows && g->row_joint[end] == g->row_joint[i]; end++) {
        }
        if (!sprag_ode_row_laws(law + i, g->row + i, end - i, g->joint[g->row_joint[i]])) {
            return false;
        }
    }
    return true;
}

static void add_forces(void *data, const sprag_row *row, const double *row_force,
                       const double (*contact_force)[6], double share)
{
    group *g = data;
    for (int i = 0; i < g->joints; i++) {
        g->known[i].rows = 0;
    }
    for (int i = 0; i < g->frame.rows; i++) {
        known_forces *known = &g->known[g->row_joint[i]];
        known->force[known->rows++] = row_force[i];
        for (int side = 0; side < 2; side++) {
            add_scaled(g->joint_wrench[g->row_joint[i]][side], share * row_force[i],
                       row[i].jacobian[side], 6);
        }
    }
    for (int i = 0; i < g->frame.contacts; i++) {
        double wrench[2][6];
        sprag_contact_wrench(&g->contact[i], contact_force[i], wrench);
        add_scaled(*g->contact_wrench[i], share, *wrench, 12);
    }
}

static void place_at(void *data, dBodyID body, double t)
{
    const group *g = data;
    const body_state *b = step_body_of(g->s, body);
    if (b) {
        sprag_pose pose;
        sprag_motion_at(&g->motion[b->local], t, &pose);
        step_place(body, &pose);
    }
}

static double next_limit(void *data, const sprag_motion *motion, double horizon)
{
    group *g = data;
    double first = horizon;
    g->motion = motion;
    for (int i = 0; i < g->limits; i++) {
        const ode_limited *limited = &g->limited[i];
        double turn = 0;
        if (!joins_group(g, limited->joint)) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const body_state *b = step_body_of(g->s, dJointGetBody(limited->joint, side));
            turn += b ? norm3(motion[b->local].velocity + 3) : 0;
        }
        const double time = sprag_ode_next_limit(limited, first, turn, place_at, g);
        g->at_limit = time < first ? limited->joint : g->at_limit;
        first = time;
    }
    return first;
}

static void set_compliance(const step *s, sprag_surface *to, dJointID joint)
{
    sprag_contact contact = {.stiffness = 0};
    dSurfaceParameters room;
    const dSurfaceParameters *surface = sprag_ode_contact_surface(joint, &room);
    double erp =
        surface->mode & dContactSoftERP ? surface->soft_erp : dWorldGetERP(s->a->input.world);
    const char *surface_error = sprag_ode_pull_surface(&contact, surface, s->a->input.stiffness);
    if (!surface_error && to->bounce > 1) {
        surface_error = "has a bounce above 1: under method=ess it bounces as with 1";
    }
    if (surface_error) {
        s->a->warnings.invalid_surface = joint;
        s->a->warnings.surface_error = surface_error;
    }
    to->stiffness = contact.stiffness;
    to->dissipation = contact.dissipation;
    to->stiction = contact.stiction;
    to->erp = erp > 0 && isfinite(erp) ? erp : 0;
}

void group_set_surface(const step *s, sprag_pair *pair, const ode_pair *of,
                       const pair_answer *answer)
{
    if (answer->accepted && answer->joint) {
        dSurfaceParameters room;
        const int mode = sprag_ode_contact_surface(answer->joint, &room)->mode;
        sprag_ode_surface_of(&pair->surface, answer->joint, s->a->input.world, of->side[0]->body);
        pair->wants_impulse = dJointGetFeedback(answer->joint) != NULL;
        if (s->a->input.compliant) {
            set_compliance(s, &pair->surface, answer->joint);
            return;
        }
        const int soft = dContactSoftCFM | dContactSoftERP | ODE_SURFACE_STIFFNESS;
        s->a->warnings.soft = mode & soft ? answer->joint : s->a->warnings.soft;
    }
}

static bool take_answer(step *s, sprag_pair *pair, const ode_pair *of, dJointID joint)
{
    pair_answer *answer = step_add_answer(s, of->side[0]->named, of->side[1]->named);
    if (!answer) {
        s->failed = true;
        return false;
    }
    answer->joint = joint;
    answer->accepted = joint != NULL;
    answer->paired = true;
    group_set_surface(s, pair, of, answer);
    return answer->accepted;
}

// Asks the program, with both bodies in ODE where they touch.
static dJointID ask_there(const group *g, const ode_pair *source, double gap)
{
    body_state *b[2];
    for (int side = 0; side < 2; side++) {
        b[side] = step_mover_of(g->s, source->side[side]);
        if (b[side]) {
            body_expose(b[side], &g->frame.body[b[side]->local]);
        }
    }
    dJointID joint = g->s->a->calls.ask(g->s->a->calls.data, source, gap);
    for (int side = 0; side < 2; side++) {
        if (b[side]) {
            body_observe(b[side], &g->frame.body[b[side]->local]);
        }
    }
    return joint;
}

static bool ask_pair(void *data, int i, double gap, double time)
{
    group *g = data;
    const ode_pair *source = g->source[i];
    const pair_answer *known = step_answer_for(g->s, source);
    ode_advance *a = g->s->a;
    if (known) { // by another triangle, or in an earlier attempt
        group_set_surface(g->s, &g->frame.pair[i], source, known);
        return known->accepted && known->paired;
    }
    bool offered = a->calls.was_offered(a->calls.data, source->side[0]->id, source->side[1]->id);
    if (offered && ((time == 0 && gap <= frame_surely_near * a->input.reach) ||
                    step_was_within(source, frame_surely_near * a->input.look_ahead))) {
        return take_answer(g->s, &g->frame.pair[i], source, NULL);
    }
    if (!a->calls.ask) {
        g->frame.pair[i].surface = (sprag_surface){.bounce = 0};
        return true;
    }
    return take_answer(g->s, &g->frame.pair[i], source, ask_there(g, source, gap));
}

static void report_event(void *data, const sprag_event *event)
{
    const group *g = data;
    ode_event reported = {.kind = event->kind, .time = event->time, .speed = event->speed};
    memcpy(reported.position, event->point, sizeof reported.position);
    memcpy(reported.normal, event->normal, sizeof reported.normal);
    if (event->kind == SPRAG_LIMIT_REACHED) {
        reported.joint = g->s->a->input.compliant ? g->stop_joint[event->stop] : g->at_limit;
        reported.body[0] = dJointGetBody(reported.joint, 0);
        reported.body[1] = dJointGetBody(reported.joint, 1);
    }
    for (int side = 0; side < 2 && event->pair >= 0; side++) {
        reported.geom[side] = g->source[event->pair]->side[side]->named;
        reported.body[side] = g->source[event->pair]->side[side]->body;
    }
    g->s->a->calls.event(g->s->a->calls.data, &reported);
}

sprag_frame_calls group_calls(group *g)
{
    return (sprag_frame_calls){.data = g,
                               .ask_pair = ask_pair,
                               .rows = g->joints ? pull_rows : NULL,
                               .coordinates = g->joints ? pull_coordinates : NULL,
                               .row_laws = g->joints ? row_laws : NULL,
                               .next_limit = g->limits ? next_limit : NULL,
                               .event = g->s->a->calls.event ? report_event : NULL,
                               .add_forces = add_forces};
}
