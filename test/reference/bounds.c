// The equations of bounds.h.
#include "bounds.h"

#include "linalg.h"

static double across(const double w[3], const double n[3])
{
    double c[3];
    cross3(w, n, c);
    return norm3(c);
}

static double over(double distance, double speed)
{
    return speed > 0 ? distance / speed : INFINITY;
}

double sprag_bound_apart(double distance, const double normal[3], const double velocity[2][6],
                         const double radius[2])
{
    double v[3], speed = 0;
    subtract3(velocity[0], velocity[1], v);
    for (int b = 0; b < 2; b++) {
        speed += across(velocity[b] + 3, normal) * radius[b];
    }
    return over(distance, fabs(dot3(normal, v)) + speed);
}

// (7) t = height / ((|w0 x n| + |w1 x n|) lever)
//
// height: m, of a vertex from the separating plane, of either sign. lever: m, from there to the
// farthest point that its body has on the plane. spin: rad/s.
static double bound_vertex(double height, double lever, const double normal[3],
                           const double spin[2][3])
{
    return over(fabs(height), (across(spin[0], normal) + across(spin[1], normal)) * lever);
}

static double height_of(const sprag_bound_plane *plane, const double vertex[3])
{
    return dot3(plane->normal, vertex) - plane->offset;
}

// From a vertex to the farthest one that is on the plane.
static double lever_of(const sprag_bound_plane *plane, int b, const double vertex[3])
{
    double most = 0;
    for (int i = 0; i < plane->vertices[b]; i++) {
        const double *on = plane->vertex[b][i];
        double from[3];
        if (fabs(height_of(plane, on)) <= plane->touching) {
            subtract3(vertex, on, from);
            most = fmax(most, norm3(from));
        }
    }
    return most;
}

// (8) the least of (7) over all vertices that are not on the plane. INFINITY: all are on it.
static double bound_touching(const sprag_bound_plane *plane, const double spin[2][3])
{
    double least = INFINITY;
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < plane->vertices[b]; i++) {
            const double *vertex = plane->vertex[b][i];
            double height = height_of(plane, vertex), lever;
            if (fabs(height) <= plane->touching) {
                continue;
            }
            // A body that is touched inside a face or edge has no vertex on the plane; then the
            // other body has one.
            lever = fmax(lever_of(plane, b, vertex), lever_of(plane, !b, vertex));
            least = fmin(least, bound_vertex(height, lever, plane->normal, spin));
        }
    }
    return least;
}

static double speed_at(const sprag_bound_pair *pair, const double point[3])
{
    double speed = 0;
    for (int b = 0; b < 2; b++) {
        double arm[3], turn[3];
        subtract3(point, pair->centre[b], arm);
        cross3(pair->velocity[b] + 3, arm, turn);
        double along = dot3(pair->plane.normal, pair->velocity[b]) + dot3(pair->plane.normal, turn);
        speed += b ? -along : along;
    }
    return speed;
}

double sprag_bound_step(const sprag_bound_pair *pair)
{
    const sprag_bound_plane *plane = &pair->plane;
    if (pair->distance > plane->touching) {
        return sprag_bound_apart(pair->distance, plane->normal, pair->velocity, pair->radius);
    }
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < plane->vertices[b]; i++) {
            const double *vertex = plane->vertex[b][i];
            if (fabs(height_of(plane, vertex)) <= plane->touching &&
                fabs(speed_at(pair, vertex)) > pair->rest) {
                return pair->shortest;
            }
        }
    }
    double spin[2][3];
    memcpy(spin[0], pair->velocity[0] + 3, sizeof spin[0]);
    memcpy(spin[1], pair->velocity[1] + 3, sizeof spin[1]);
    return fmax(bound_touching(plane, spin), pair->shortest);
}

double sprag_bound_link(const sprag_bound_chain *chain, const double normal[3])
{
    double gamma = 2 * chain->radius, speed = fabs(dot3(chain->velocity, normal));
    for (int j = chain->joints - 1; j >= 0; j--) {
        const sprag_bound_joint *joint = &chain->joint[j];
        bool slides = joint->kind == SPRAG_BOUND_SLIDES;
        gamma += j < chain->joints - 1 ? joint->length : 0;
        gamma += slides ? fabs(joint->position) + fabs(joint->rate) : 0;
        speed += fabs(joint->rate) * (slides ? 1 : gamma);
    }
    return speed + norm3(chain->velocity + 3) * gamma;
}
