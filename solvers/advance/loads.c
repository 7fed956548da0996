// Joints under load. A joint's force keeps its direction in a sub-step, so that a body that turns
// is on a spring of the stiffness K = (f.r) 1 - r f', with the force f of the last step at the
// lever r, and the end of a distance under the tension T on one of T / length across, both of which
// the sub-step treats explicitly. In sub-steps longer than two over the rate of that spring light
// links under a heavy load come apart.
//
// Sub-steps are shorter than that where bodies move. Where a group settles, its rate
// would be that of trembling which nobody sees, and inertia takes the place of sub-steps: I + A is
// no less than h^2 K / c, with the square c of what a sub-step may turn, in the problem of the
// sub-step alone. A pulls the body towards a share of its own velocity, so that what trembles comes
// to rest, and adds no energy. Only what joints hold to something that stands still gets it: others
// may turn as one, which loads of their own must not brake. The ends of distances take sub-steps at
// rest, too. Geometric stiffness, as in adapters/island/load_stiffness.c, which has the papers.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"
#include "spinners.h"
#include "symmetric3.h"

// ---- loads

// From row i on: how many, three at most, are of the joint of `of`, and have linear parts, or have
// none and hold.
static int count_rows(const advance_run *run, int i, const sprag_row *of, bool linear)
{
    int rows = 0;
    for (const sprag_row *row = &run->rows.row[i]; i + rows < run->rows.count && rows < 3; row++) {
        const double *e = row->jacobian[0];
        if (row->body[0] != of->body[0] || row->body[1] != of->body[1] || row->length > 0 ||
            (dot3(e, e) > 0) != linear || !(linear || sprag_row_holds(row))) {
            break;
        }
        rows++;
    }
    return rows;
}

// rad/s, of a body that rows swing about a point off its axis of rotation; 0: they do not. This is
// the rate of its load, which the first step does not know yet.
static double swing_rate(const advance_run *run, const sprag_row *row, int rows, int side)
{
    const sprag_mover *mover = &run->frame->body[row->body[side]];
    const double *w = mover->velocity + 3, rate = norm3(w);
    bool swings = false;
    for (int i = 0; i < rows && rate > 0; i++) {
        const double *J = row[i].jacobian[side], *I = run->inertia[row->body[side]];
        swings |= dot3(J, J) > 0 && sprag_spin_is_off_axis(mover->mass, I, dot3(w, J + 3) / rate);
    }
    return swings ? rate : 0;
}

// turns: the body does, against the force; its rate is at most that of (f.r + |f| |r|) / 2.
static void add_joint(const advance_run *run, advance_load *to, const sprag_row *row, int rows,
                      int side, bool turns)
{
    double force[3] = {0}, lever[3], turned[3], inverse = 0;
    sprag_rows_lever(row, rows, side, lever);
    for (int i = 0; i < rows; i++) {
        const double *J = row[i].jacobian[side];
        add_scaled(force, row[i].guess, J, 3);
        mul33(run->inverse[row->body[side]], J + 3, turned);
        inverse += dot3(J + 3, turned); // 2 |r|^2 over the inertia across r
    }
    const double along = dot3(force, lever), square = dot3(lever, lever);
    to->most +=
        square > 0 ? (along + sqrt(dot3(force, force) * square)) * inverse / (4 * square) : 0;
    for (int k = 0; k < 3 && turns; k++) {
        to->stiffness[4 * k] += along;
        add_scaled(to->stiffness + 3 * k, -lever[k], force, 3);
    }
}

// The bodies at both ends of a distance may go opposite ways, which makes it twice as stiff.
static void add_distance(const advance_run *run, advance_load *to, const sprag_row *row, int side)
{
    const double *about = row->jacobian[side] + 3;
    const int b = row->body[side];
    double turned[3];
    mul33(run->inverse[b], about, turned);
    to->rate_across += 2 * fmax(0, -row->guess) / row->length *
                       (1 / run->frame->body[b].mass + dot3(about, turned));
}

// A has real eigenvalues.
static double largest_eigenvalue(const double A[9])
{
    const double mean = (A[0] + A[4] + A[8]) / 3, x = A[0] - mean, y = A[4] - mean, z = A[8] - mean,
                 xy = A[1] * A[3], xz = A[2] * A[6], yz = A[5] * A[7];
    const double size = sqrt(fmax(0, (x * x + y * y + z * z) / 6 + (xy + xz + yz) / 3));
    const double det = x * (y * z - yz) - xy * z - xz * y + A[1] * A[5] * A[6] + A[2] * A[3] * A[7];
    const double cube = 2 * size * size * size;
    return mean + 2 * size * cos(acos(cube > 0 ? clamp(det / cube, -1, 1) : 1) / 3);
}

// Marks the assemblies that settle and are held to the world, or to what stands still.
static void find_settling(advance_run *run)
{
    for (int i = 0; i < run->rows.count && run->settling; i++) {
        const sprag_row *row = &run->rows.row[i];
        for (int side = 0; side < 2; side++) {
            if (row->body[side] != SPRAG_STATIC && sprag_row_holds(row) &&
                advance_stands_still(run->frame, row->body[!side])) {
                run->load[run->assembly[row->body[side]]].settles = true;
            }
        }
    }
}

void advance_find_loads(advance_run *run)
{
    const int bodies = run->rows.count > 0 ? run->frame->bodies : 0;
    advance_load *load = run->load;
    if (bodies > 0) {
        memset(load, 0, (size_t)bodies * sizeof *load);
    }
    for (int i = 0, next; i < run->rows.count; i = next) {
        const sprag_row *row = &run->rows.row[i];
        const int rows = count_rows(run, i, row, true);
        const bool welds = rows == 3 && count_rows(run, i + rows, row, false) == 3;
        next = i + (rows > 1 ? rows : 1);
        for (int side = 0; side < 2; side++) {
            const int b = row->body[side];
            if (advance_stays(run, b)) {
                continue;
            }
            if (row->length > 0) {
                add_distance(run, &load[b], row, side);
            } else if (rows > 1) { // what is welded turns with its force
                add_joint(run, &load[b], row, rows, side, !welds);
            }
            load[b].swing = fmax(load[b].swing, swing_rate(run, row, next - i, side));
        }
    }
    for (int i = 0; i < bodies; i++) {
        const double *K = load[i].stiffness;
        if (dot3(K, K) + dot6(K + 3, K + 3) > 0) {
            double ratio[9];
            mul33_33(run->inverse[i], K, ratio);
            load[i].rate = largest_eigenvalue(ratio);
            load[i].most = fmax(load[i].most, load[i].rate);
        }
    }
    find_settling(run);
}

// ---- the length of a sub-step
//
// A body that joints swing turns about the joint by its turn before the sub-step (chords.c), and
// where it turns far, any error of that is large. Likewise a body that turns on a contact: the
// speed that makes up for its curved motion (dip) turns it faster, and the next dip is larger. What
// that gains is taken back (energy.c), except where a kinematic body moves.

// s, for a spring of the rate `square` (1/s^2) that turns at such a speed.
static double length_for(double square, double turn, bool settles)
{
    const double length = square > 0 ? advance_load_turn / sqrt(square) : INFINITY;
    return settles && turn * length < advance_slow_turn ? advance_slow_turn / turn : length;
}

// s, of a sub-step, at most, by the joints of the body that bounds it most.
static double length_of_loads(const advance_run *run)
{
    double least = INFINITY;
    for (int i = 0; i < run->frame->bodies && run->rows.count > 0; i++) {
        const advance_load *load = &run->load[i];
        const double turn = norm3(run->frame->body[i].velocity + 3);
        const bool settles = run->load[run->assembly[i]].settles;
        least = fmin(least, length_for(load->most, turn, settles));
        least = fmin(least, length_for(load->rate_across, 0, false));
        least = load->swing > 0 ? fmin(least, advance_load_turn / load->swing) : least;
    }
    return least;
}

// rad/s, at which the fastest body turns that is in contact with a kinematic one that moves.
static double driven_rate(const advance_run *run)
{
    double fastest = 0;
    for (int i = 0; i < run->points.closed; i++) {
        const int pair = run->points.point[i].pair;
        const advance_near *near = &run->near[pair];
        for (int side = 0; side < 2; side++) {
            const int body = near->body[side], other = near->body[!side];
            if (near->radius[!side] > 0 && body != SPRAG_STATIC &&
                !(run->frame->body[other].mass > 0) &&
                sprag_carried_spin(near->carried[side]) > 0) {
                fastest = fmax(fastest, norm3(run->frame->body[body].velocity + 3));
            }
        }
    }
    return fastest;
}

double advance_part_of_swing(advance_run *run, double time)
{
    const double driven = driven_rate(run);
    const double shortest = run->options->shortest * run->frame->step;
    double most = length_of_loads(run);
    most = driven > 0 ? fmin(most, advance_driven_turn / driven) : most;
    most = run->work_left > 0 ? fmax(shortest, most) : INFINITY;
    return time > most ? time / ceil(time / most) : time;
}

// ---- inertia in place of sub-steps

// Does inertia hold it? It does where the group settles, and in a sub-step for which forces act for
// longer than it takes (middles.c).
static bool is_held(const advance_run *run, int body)
{
    return run->load[run->assembly[body]].settles || run->middles.ratio[body] > 1;
}

// A: the positive part of square K - I.
static void add_inertia(const double K[9], double square, sprag_body *body)
{
    enum { APART = SPRAG_PARTS_AT_ONCE };
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    const double *I = body->inertia;
    double part[6 * APART] = {0}, A[9], way[3], pull[3];
    for (int k = 0; k < 9; k++) {
        const int mirror = 3 * (k % 3) + k / 3;
        part[APART * at[k]] = 0.5 * (square * (K[k] + K[mirror]) - I[k] - I[mirror]);
    }
    sprag_positive_parts(1, 0, part);
    const double size = part[0] + part[APART * 3] + part[APART * 5],
                 most = advance_most_added * (I[0] + I[4] + I[8]),
                 share = size > most ? most / size : 1;
    for (int k = 0; k < 9; k++) {
        A[k] = share * part[APART * at[k]];
        body->inertia[k] += A[k];
    }
    for (int k = 0; k < 3; k++) {
        way[k] = advance_kept_turn * body->velocity[3 + k] - body->free_velocity[3 + k];
    }
    mul33(A, way, pull);
    if (solve33(body->inertia, pull, way)) {
        add_scaled(body->free_velocity + 3, 1, way, 3);
    }
}

void advance_hold_loads(const advance_run *run, const advance_problem *p)
{
    const double step = p->problem.step, turn = advance_load_turn;
    for (int i = 0; i < run->frame->bodies && run->rows.count > 0; i++) {
        const double square = fmax(1, run->middles.ratio[i]) * step * step / (turn * turn);
        if (is_held(run, i) && square * run->load[i].rate > 1 && !advance_spins(run, i)) {
            add_inertia(run->load[i].stiffness, square, &p->body[i]);
        }
    }
}
