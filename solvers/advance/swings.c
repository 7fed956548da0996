// Sub-steps of bodies that joints swing. The centre of such a body moves along the tangent in a
// sub-step while the body turns, and where that is far the error of the joint, which is mended in
// any direction, brings in energy. A joint's force keeps its direction meanwhile, so that a body
// under load is on a spring that the sub-step treats explicitly: in steps longer than two over the
// rate of that spring a chain of light links under a heavy load comes apart. Likewise a body that
// turns on a contact: the speed that makes up for its curved motion (dip) turns it faster, and the
// next dip is larger. What that gains is taken back (energy.c), except where a kinematic body
// moves.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "spinners.h"

// rad/s, of a body that a row swings about a point off its axis of rotation; 0: it does not. This
// is the rate of its load, which the first step does not know yet.
static double swing_rate(const advance_run *run, const sprag_row *row, int side)
{
    const double *J = row->jacobian[side], *w = run->frame->body[row->body[side]].velocity + 3;
    const double rate = norm3(w);
    return rate > 0 && dot3(J, J) > 0 &&
                   sprag_spin_is_off_axis(run->frame->body[row->body[side]].mass,
                                          run->inertia[row->body[side]], dot3(w, J + 3) / rate)
               ? rate
               : 0;
}

// 1/s^2, stiffness over inertia of a body that turns about a joint under the force f of the last
// step: (f.r + |f| |r|) / 2 at most, with the lever r. The rows of the joint are (e, r x e), with
// orthogonal unit vectors e.
static double load_of_joint(const advance_run *run, const sprag_row *row, int rows, int side)
{
    double force[3] = {0}, lever[3] = {0}, inverse = 0;
    for (int i = 0; i < rows; i++) {
        const double *J = row[i].jacobian[side];
        double turned[3];
        add_scaled(force, row[i].guess, J, 3);
        cross3(J, J + 3, turned);
        add_scaled(lever, 1.0 / (rows - 1), turned, 3);
        mul33(run->inverse[row->body[side]], J + 3, turned);
        inverse += dot3(J + 3, turned); // 2 |r|^2 over the inertia across r
    }
    double square = dot3(lever, lever), size = sqrt(dot3(force, force) * square);
    return square > 0 ? (dot3(force, lever) + size) * inverse / (4 * square) : 0;
}

// 1/s^2, the same of a body at the end of a distance under tension, which is a spring across: the
// tension over the length. The bodies at both ends may go opposite ways, which makes it twice as
// stiff. The lever of the end is taken to be across the distance.
static double load_of_distance(const advance_run *run, const sprag_row *row, int side)
{
    const double *about = row->jacobian[side] + 3, tension = fmax(0, -row->guess);
    const int b = row->body[side];
    double turned[3];
    mul33(run->inverse[b], about, turned);
    return 2 * tension / row->length * (1 / run->frame->body[b].mass + dot3(about, turned));
}

// From i on: rows of one joint that have linear parts, or one row.
static int rows_of_joint(const advance_run *run, int i)
{
    const sprag_row *row = &run->rows.row[i];
    int rows = 0;
    while (i + rows < run->rows.count && row[rows].body[0] == row->body[0] &&
           row[rows].body[1] == row->body[1] && row[rows].length == 0 &&
           dot3(row[rows].jacobian[0], row[rows].jacobian[0]) > 0) {
        rows++;
    }
    return rows > 1 ? rows : 1;
}

// rad/s, at which the joints of a body swing it, or turn it under load, of the body where it is
// fastest.
static double load_rate(advance_run *run)
{
    double *sum = run->work.load, most = 0, fastest = 0;
    memset(sum, 0, (size_t)run->frame->bodies * sizeof *sum);
    for (int i = 0, rows; i < run->rows.count; i += rows) {
        const sprag_row *row = &run->rows.row[i];
        rows = rows_of_joint(run, i);
        for (int side = 0; side < 2; side++) {
            int b = row->body[side];
            if (b == SPRAG_STATIC || !(run->frame->body[b].mass > 0)) {
                continue;
            }
            if (rows > 1 || row->length > 0) {
                sum[b] += row->length > 0 ? load_of_distance(run, row, side)
                                          : load_of_joint(run, row, rows, side);
                most = fmax(most, sum[b]);
            }
            for (int k = 0; k < rows; k++) {
                fastest = fmax(fastest, swing_rate(run, &row[k], side));
            }
        }
    }
    return fmax(sqrt(most), fastest);
}

// rad/s, at which the fastest body turns that is in contact with a kinematic one that moves.
static double driven_rate(const advance_run *run)
{
    double fastest = 0;
    for (int i = 0; i < run->points.closed; i++) {
        const advance_near *near = &run->near[run->points.point[i].pair];
        const int *collider = run->frame->pair[run->points.point[i].pair].collider;
        for (int side = 0; side < 2; side++) {
            const int body = run->frame->collider[collider[side]].body,
                      other = run->frame->collider[collider[!side]].body;
            if (near->radius[!side] > 0 && body != SPRAG_STATIC &&
                !(run->frame->body[other].mass > 0) &&
                !advance_is_centred_ball(&near->carried[side])) {
                fastest = fmax(fastest, norm3(run->frame->body[body].velocity + 3));
            }
        }
    }
    return fastest;
}

double advance_part_of_swing(advance_run *run, double time)
{
    const double load = load_rate(run), driven = driven_rate(run);
    const double shortest = run->options->shortest * run->frame->step;
    double most = load > 0 ? advance_load_turn / load : INFINITY;
    most = driven > 0 ? fmin(most, advance_driven_turn / driven) : most;
    most = run->work_left > 0 ? fmax(shortest, most) : INFINITY;
    return time > most ? time / ceil(time / most) : time;
}
