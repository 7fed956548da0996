// A sub-step of many bodies. Where an exact solve of their contacts would cost more than all else,
// sweeps leave velocities that still approach here and there: less than what anything moves by, but
// more than the contacts' gaps allow. What is left is taken out of the motion, not of the
// velocities: as the least change, in the metric of the masses, by which all points stay apart. It
// is found by Gauss-Seidel from the points that approach outwards, so that it costs what is wrong.
// What blocks a pair then is another point; and where points met what comes in, the contacts are
// solved once more with them.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "kinematics.h"

// A point, a given contact, or a joint row: its rate is to be what is wanted, lo <= force <= hi.
typedef struct link {
    int body[2]; // SPRAG_STATIC: nothing
    double jacobian[2][6];
    double turn[2][6]; // inverse mass times that
    double self;
    double wanted; // m/s, rad/s
    double lo, hi;
    double force;
    int next[2]; // of the same body, -1: none
    bool waits;
} link;

typedef struct heap {
    advance_run *run;
    link *link;
    int links, room;
    int *of_point; // link of a point
    int points;    // that have one
    int *first;    // bodies: of their links
    bool *moved;   // bodies: since their pairs were certified
    double (*inverse)[9];
    int *queue, head, waiting;
    long left; // links that may still be relaxed
    double tolerance, more;
    double *before, *push; // bodies, links
    double (*solved)[6];   // bodies: velocities
    double *farthest;      // bodies: m/s, that their motion may differ from it
} heap;

bool advance_is_heap(const advance_run *run)
{
    bool jammed = run->push_speed > 0; // what overlaps has no event to wait for
    return (advance_are_many(run) || jammed || run->hurries) && !run->control;
}

// ---- links

static double rate_of(const heap *h, const link *l)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            sum += dot6(l->jacobian[side], h->run->motion[l->body[side]].velocity);
        }
    }
    return sum;
}

static bool is_wrong(const heap *h, const link *l)
{
    double above = rate_of(h, l) - l->wanted;
    return (above < -h->tolerance && l->force < l->hi) ||
           (above > h->tolerance + 2 * h->more && l->force > l->lo);
}

static void ask(heap *h, int i)
{
    link *l = &h->link[i];
    if (!l->waits && l->self > 0 && is_wrong(h, l)) {
        l->waits = true;
        h->queue[(h->head + h->waiting++) % h->room] = i;
    }
}

static void ask_all(heap *h, int body)
{
    for (int i = h->first[body]; i >= 0;) {
        const link *l = &h->link[i];
        ask(h, i);
        i = l->next[l->body[0] != body];
    }
}

// Returns the square of what changed, in the metric of energy.
static double relax(heap *h, link *l)
{
    double more = l->lo == 0 && l->force >= 0 ? h->more : 0;
    double force = l->force + (l->wanted + more - rate_of(h, l)) / l->self;
    force = clamp(force, l->lo, l->hi);
    double change = force - l->force;
    l->force = force;
    for (int side = 0; side < 2 && change != 0; side++) {
        int body = l->body[side];
        if (body != SPRAG_STATIC && h->run->frame->body[body].mass > 0) {
            add_scaled(h->run->motion[body].velocity, change, l->turn[side], 6);
            h->moved[body] = true;
        }
    }
    return l->self * change * change;
}

static void accelerate(heap *h, double part)
{
    double *before = h->before, *push = h->push;
    for (int i = 0; i < h->run->frame->bodies; i++, before += 6, push += 6) {
        double *v = h->run->motion[i].velocity;
        for (int k = 0; k < 6; k++) {
            push[k] = part * (push[k] + v[k] - before[k]);
            v[k] += push[k];
            before[k] = v[k];
            h->moved[i] |= push[k] != 0;
        }
    }
    for (int i = 0; i < h->links; i++, before++, push++) {
        *push = part * (*push + h->link[i].force - *before);
        h->link[i].force += *push;
        *before = h->link[i].force;
    }
}

static int count_wrong(const heap *h)
{
    int wrong = 0;
    for (int i = 0; i < h->links; i++) {
        wrong += h->link[i].self > 0 && is_wrong(h, &h->link[i]);
    }
    return wrong;
}

// Where much is wrong: all of them, in turn, with Nesterov's momentum (gauss_seidel.h).
static void sweep_all(heap *h)
{
    enum { SWEEPS = 400, EACH = 8, FEW = 10 };
    double last = INFINITY;
    if (h->waiting < FEW) {
        return;
    }
    accelerate(h, 0);
    for (int it = 1, since = 1; it <= SWEEPS; it++, since++) {
        double change = 0;
        for (int i = 0; i < h->links; i++) {
            link *l = &h->link[i];
            bool idle = l->force == l->lo && rate_of(h, l) >= l->wanted - h->tolerance;
            change += idle || !(l->self > 0) ? 0 : relax(h, l);
        }
        if (it % EACH == 0 && count_wrong(h) < FEW) {
            break;
        }
        since = change > last ? 1 : since;
        last = change;
        accelerate(h, (since - 1.0) / (since + 2.0));
    }
    for (; h->waiting > 0; h->waiting--) {
        h->link[h->queue[h->head]].waits = false;
        h->head = (h->head + 1) % h->room;
    }
    for (int i = 0; i < h->links; i++) {
        h->link[i].force = clamp(h->link[i].force, h->link[i].lo, h->link[i].hi);
        ask(h, i);
    }
}

static void relax_all(heap *h)
{
    sweep_all(h);
    for (; h->waiting > 0; h->waiting--) {
        link *l = &h->link[h->queue[h->head]];
        h->head = (h->head + 1) % h->room;
        l->waits = false;
        if (h->left > 0) {
            h->left--;
            h->waiting--;
            bool changes = relax(h, l) > 0;
            for (int side = 0; side < 2 && changes; side++) {
                if (l->body[side] != SPRAG_STATIC) {
                    ask_all(h, l->body[side]);
                }
            }
            h->waiting++;
        }
    }
}

// NULL: no room. Its jacobian is to be set, then it is to be hung up.
static link *new_link(heap *h, int body0, int body1)
{
    if (h->links == h->room) {
        return NULL;
    }
    link *l = &h->link[h->links++];
    *l = (link){.body = {body0, body1}, .hi = INFINITY};
    return l;
}

static void hang_up(heap *h, link *l)
{
    int i = (int)(l - h->link);
    for (int side = 0; side < 2; side++) {
        int body = l->body[side];
        if (body == SPRAG_STATIC) {
            continue;
        }
        l->next[side] = h->first[body];
        h->first[body] = i;
        double mass = h->run->frame->body[body].mass;
        if (mass > 0) {
            add_scaled(l->turn[side], 1 / mass, l->jacobian[side], 3);
            mul33(h->inverse[body], l->jacobian[side] + 3, l->turn[side] + 3);
            l->self += dot6(l->jacobian[side], l->turn[side]);
        }
    }
}

// ---- points

static double wanted_of(const heap *h, const advance_point *point, double rate)
{
    const advance_run *run = h->run;
    if (run->frame->pair[point->pair].overlapped && point->gap < run->target) {
        return fmin(rate, 0); // it is pushed out elsewhere
    }
    return (run->target - point->gap + point->dip) / run->trial;
}

static void set_normal(link *l, int side, const double normal[3], const double arm[3])
{
    double J[6];
    point_jacobian(arm, normal, J);
    add_scaled(l->jacobian[side], side ? -1 : 1, J, 6);
}

static void add_point(heap *h, int i)
{
    const advance_run *run = h->run;
    const advance_point *point = &run->point[i];
    const int *collider = run->frame->pair[point->pair].collider;
    link *l =
        new_link(h, run->frame->collider[collider[0]].body, run->frame->collider[collider[1]].body);
    h->of_point[i] = l ? (int)(l - h->link) : -1;
    for (int side = 0; side < 2 && l; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            double arm[3];
            subtract3(point->at[side], run->frame->body[l->body[side]].pose.position, arm);
            set_normal(l, side, point->normal, arm);
        }
    }
    if (l) {
        hang_up(h, l);
        l->wanted = wanted_of(h, point, rate_of(h, l));
    }
}

static void ask_point(heap *h, int i)
{
    int known = h->of_point[i];
    if (known >= 0) {
        h->link[known].wanted = wanted_of(h, &h->run->point[i], h->link[known].wanted);
        ask(h, known);
    }
}

// As much as it ends too low.
static void ask_more(heap *h, int i, double lowest)
{
    advance_point *point = &h->run->point[i];
    double step = h->run->trial, target = h->run->target;
    link *l = h->of_point[i] < 0 ? NULL : &h->link[h->of_point[i]];
    if (l) {
        l->wanted = fmax(l->wanted, rate_of(h, l) + fmax(target - lowest, 0) / step);
        point->dip = fmax(0, l->wanted * step - target + point->gap);
        ask(h, h->of_point[i]);
    }
}

// ---- what else must stay as it was solved

static void add_given(heap *h, const sprag_contact *contact)
{
    link *l = new_link(h, contact->body[0], contact->body[1]);
    for (int side = 0; side < 2 && l; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            set_normal(l, side, contact->frame[0], contact->arm[side]);
        }
    }
    if (l) {
        hang_up(h, l);
        l->wanted = fmin(0, rate_of(h, l));
    }
}

static void add_row(heap *h, const sprag_row *row)
{
    link *l = isinf(row->lo) || isinf(row->hi) ? new_link(h, row->body[0], row->body[1]) : NULL;
    if (l) {
        memcpy(l->jacobian, row->jacobian, sizeof l->jacobian);
        l->lo = isinf(row->lo) ? row->lo : 0;
        l->hi = isinf(row->hi) ? row->hi : 0;
        hang_up(h, l);
        l->wanted = rate_of(h, l);
    }
}

// ---- no farther than anything moves

// m/s, of a body that had the same energy without turning.
static double speed_of(const advance_run *run, int body, const double v[6])
{
    double mass = run->frame->body[body].mass;
    return mass > 0 ? sqrt(advance_product(run, body, v, v) / mass) : norm3(v);
}

// Where points cannot all stay apart, sweeps go on for ever: what is taken apart goes no farther
// than it, and what it touches, would have gone.
static void set_farthest(heap *h)
{
    const advance_run *run = h->run;
    double *speed = h->before;
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(h->solved[i], run->motion[i].velocity, sizeof h->solved[i]);
        speed[i] = speed_of(run, i, h->solved[i]);
        h->farthest[i] = speed[i] + 4 * (h->tolerance + h->more);
    }
    for (int i = 0; i < h->links; i++) {
        const int *body = h->link[i].body;
        for (int side = 0; side < 2 && body[!side] != SPRAG_STATIC; side++) {
            if (body[side] != SPRAG_STATIC) {
                h->farthest[body[side]] = fmax(h->farthest[body[side]], speed[body[!side]]);
            }
        }
    }
}

static void restrain(heap *h)
{
    for (int i = 0; i < h->run->frame->bodies; i++) {
        double *v = h->run->motion[i].velocity, change[6];
        for (int k = 0; k < 6; k++) {
            change[k] = v[k] - h->solved[i][k];
        }
        double most = h->farthest[i], size = speed_of(h->run, i, change);
        for (int k = 0; size > most && k < 6; k++) {
            v[k] = h->solved[i][k] + most / size * change[k];
        }
        h->moved[i] |= size > most;
    }
}

// ---- one after the other

static bool open(heap *h, advance_run *run)
{
    // By how much more than it must a point is taken apart (epsilon), so that it is not asked again
    // after every neighbour. Nothing sticks meanwhile: what rests would slide by that, every time.
    static const double roughly = 10, exactly = 0.5;
    enum {
        EFFORT = 60,  // times that a link is relaxed, on the average,
        LEAST = 10000 // or in all
    };
    const sprag_frame *frame = run->frame;
    sprag_scratch *scratch = run->solving;
    bool exact = run->stats->solve.strategy == SPRAG_STRATEGY_INTERIOR_POINT;
    *h = (heap){.run = run,
                .tolerance = 0.5 * run->target / run->trial,
                .more = (exact ? exactly : roughly) * run->options->epsilon / run->trial};
    int points = 2 * run->points + 256;
    h->room = points + frame->contacts + run->rows;
    h->link = SPRAG_TAKE(scratch, h->room, link);
    h->queue = SPRAG_TAKE(scratch, h->room, int);
    h->of_point = SPRAG_TAKE(scratch, h->room, int);
    h->first = SPRAG_TAKE(scratch, frame->bodies, int);
    h->moved = SPRAG_TAKE(scratch, frame->bodies, bool);
    h->inverse = SPRAG_TAKE(scratch, frame->bodies, *h->inverse);
    h->before = SPRAG_TAKE(scratch, 6 * frame->bodies + h->room, double);
    h->push = SPRAG_TAKE(scratch, 6 * frame->bodies + h->room, double);
    h->solved = SPRAG_TAKE(scratch, frame->bodies, *h->solved);
    h->farthest = SPRAG_TAKE(scratch, frame->bodies, double);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < frame->bodies; i++) {
        h->first[i] = -1;
        invert33(run->inertia[i], h->inverse[i]);
    }
    for (int i = 0; i < run->rows; i++) {
        add_row(h, &run->row[i]);
    }
    for (int i = 0; i < frame->contacts; i++) {
        add_given(h, &frame->contact[i]);
    }
    for (; h->points < run->points; h->points++) {
        add_point(h, h->points);
    }
    set_farthest(h);
    h->left = (long)EFFORT * h->links + LEAST;
    for (int i = 0; i < h->links; i++) {
        ask(h, i);
    }
    return true;
}

static void hold_point(heap *h, int pair)
{
    int point = advance_capture(h->run, pair);
    for (; h->points < h->run->points; h->points++) {
        add_point(h, h->points);
    }
    if (point >= 0) {
        ask_more(h, point, h->run->near[pair].certificate.lowest);
    }
}

// What blocks becomes a point, or is asked more of. false: that asks for nothing more.
static bool hold(heap *h)
{
    advance_run *run = h->run;
    bool declined = false;
    for (int i = 0, at = 0; i < run->frame->pairs; i++) {
        const advance_near *near = &run->near[i];
        advance_skip_points(run, i, &at);
        if (!(near->certificate.time < run->trial)) {
            continue;
        }
        int first = at, waiting = h->waiting;
        for (bool curves = near->closed && advance_correct(run, i, &at); curves && first < at;) {
            ask_point(h, first++);
        }
        if (!advance_accepts(run, i)) {
            run->near[i].certificate.time = INFINITY;
            declined = true;
        } else if (h->waiting == waiting && near->certificate.side >= 0 && h->links < h->room) {
            hold_point(h, i);
        }
    }
    return h->waiting > 0 || declined;
}

sprag_result advance_settle(advance_run *run, double longest)
{
    enum { SOLVES = 4, ROUNDS = 12 };
    run->tried = false;
    advance_begin(run, longest);
    for (int pass = 0; pass < SOLVES; pass++) {
        heap h;
        int points = run->points;
        run->calm = true;
        sprag_result result = advance_solve(run, longest);
        run->calm = false;
        if (result == SPRAG_OK && !open(&h, run)) {
            result = SPRAG_NO_MEMORY;
        }
        if (result != SPRAG_OK) {
            return result;
        }
        for (int round = 0; round < (pass == 0 ? 1 : ROUNDS); round++) {
            if (pass > 0) { // the first one only looks for points
                relax_all(&h);
                restrain(&h);
            }
            advance_certify(run, longest, round == 0 ? NULL : h.moved);
            memset(h.moved, 0, (size_t)run->frame->bodies * sizeof *h.moved);
            if (run->safe >= longest || h.left <= 0 || !hold(&h)) {
                break;
            }
        }
        bool done = run->safe >= longest && h.waiting == 0;
        if (done || (pass > 0 && (run->safe >= longest || run->points == points))) {
            break;
        }
    }
    return SPRAG_OK;
}
