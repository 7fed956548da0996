// Gap of a pair where its bodies are placed, and a lower bound of it by the motion of the bodies
// since all gaps were evaluated.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"

void compliant_place_pair(compliant_run *run, const double *x, int guard)
{
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            compliant_place_body(run, x, body);
        }
    }
}

const sprag_pose *compliant_shape_pose(const compliant_run *run, int guard, int side,
                                       sprag_pose *room)
{
    static const sprag_pose centred = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const sprag_collider *collider = compliant_collider(run, guard, side);
    if (collider->body == SPRAG_STATIC) {
        return &collider->mount;
    }
    const sprag_pose *body = &run->state.pose[collider->body];
    if (memcmp(&collider->mount, &centred, sizeof centred) == 0) {
        return body;
    }
    mul33(body->rotation, collider->mount.position, room->position);
    add_scaled(room->position, 1, body->position, 3);
    mul33_33(body->rotation, collider->mount.rotation, room->rotation);
    return room;
}

bool compliant_find_gap(compliant_run *run, int guard, double reach, double margin,
                        sprag_gap_memory *memory, sprag_gap *gap, sprag_manifold *manifold)
{
    const sprag_gap_query query = {reach, margin};
    sprag_gap_memory copy = run->guards.memory[guard];
    sprag_pose room[2];
    const sprag_pose *pose[2];
    const sprag_shape *shape[2];
    for (int side = 0; side < 2; side++) {
        pose[side] = compliant_shape_pose(run, guard, side, &room[side]);
        shape[side] = &compliant_collider(run, guard, side)->shape;
    }
    bool found = sprag_gap_find(shape, pose, &query, memory ? memory : &copy, gap, manifold) !=
                 SPRAG_BAD_PROBLEM;
    run->budget.work += COMPLIANT_COST_GAP * run->guards.cost[guard] + gap->work;
    return found;
}

void compliant_set_reference(compliant_run *run)
{
    memcpy(run->bounds.x, run->state.x,
           (size_t)run->frame->bodies * COMPLIANT_STATES * sizeof *run->bounds.x);
}

static double motion_of(const compliant_run *run, const double *x, int body)
{
    const double *from = run->bounds.x + COMPLIANT_STATES * body, *to = x + COMPLIANT_STATES * body;
    double way[3], square = 0;
    subtract3(to, from, way);
    for (int k = COMPLIANT_QUATERNION; k < COMPLIANT_VELOCITY; k++) {
        square += (to[k] - from[k]) * (to[k] - from[k]);
    }
    double turn = COMPLIANT_TURN_PER_CHORD * run->sizes.radius[body] * sqrt(square);
    return norm3(way) + (square > 0 ? turn : 0);
}

void compliant_measure_motion(compliant_run *run, const double *x)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        run->bounds.moved[i] = motion_of(run, x, i);
    }
}

double compliant_gap_bound(const compliant_run *run, int guard)
{
    double least = run->guards.gap[guard];
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        least -= body != SPRAG_STATIC ? run->bounds.moved[body] : 0;
    }
    return least;
}

// ---- triangles

static void corners_of(const compliant_run *run, int guard, int side, double corner[3][3])
{
    sprag_pose room;
    const sprag_pose *pose = compliant_shape_pose(run, guard, side, &room);
    sprag_triangle_corners(compliant_collider(run, guard, side), pose, corner);
}

// Touches a shape the front of a triangle, and not an edge from the side? Faces do so at several
// points, of which the gap has one.
static bool is_on_front(const compliant_run *run, int guard, int side, const sprag_gap *gap)
{
    sprag_pose room;
    double front[3];
    const sprag_shape *triangle = &compliant_collider(run, guard, side)->shape;
    return compliant_collider(run, guard, !side)->shape.kind != SPRAG_SPHERE &&
           sprag_gap_front(triangle, compliant_shape_pose(run, guard, side, &room), front) &&
           (side ? 1 : -1) * dot3(front, gap->normal) > 1 - COMPLIANT_ON_FRONT;
}

int compliant_next_of_mesh(const compliant_run *run, int guard, int last)
{
    const int *first = run->guards.first_of_mesh;
    int next = last < 0 ? first[guard] : last + 1;
    next += next == guard;
    return next < run->guards.pairs && first[next] == first[guard] ? next : -1;
}

// Triangles of one mesh near one body. The distance of a ball from a mesh is that of the nearest
// triangle, or of several at several points (a valley). Triangles that share an edge or a corner
// share the points on it: there, the contact belongs to one of them. It is the one whose gap is
// the least; of equal ones the first. All have the same two bodies.
bool compliant_belongs_to_neighbour(compliant_run *run, const double *x, int guard,
                                    const sprag_gap *gap, double *depth)
{
    const compliant_guards *guards = &run->guards;
    int pair = guards->pair[guard], side = sprag_pair_triangle(run->frame, pair);
    double moved = 0, from[3], local[3];
    sprag_pose room;
    if (side >= 0 && is_on_front(run, guard, side, gap)) {
        return false;
    }
    for (int i = 0; i < 2 && side >= 0; i++) {
        int body = compliant_body(run, guard, i);
        moved += body != SPRAG_STATIC ? motion_of(run, x, body) : 0;
    }
    if (side >= 0) {
        const sprag_pose *mesh = compliant_shape_pose(run, guard, side, &room);
        subtract3(gap->point[side], mesh->position, from);
        mul33_transposed(mesh->rotation, from, local);
    }
    for (int g = -1; side >= 0 && (g = compliant_next_of_mesh(run, guard, g)) >= 0;) {
        double corner[3][3];
        sprag_gap other;
        const int of = sprag_pair_triangle(run->frame, guards->pair[g]);
        if (guards->gap[g] - moved > gap->distance ||
            !sprag_triangle_is_about(compliant_collider(run, g, of)->shape.polytope->vertex, local,
                                     2 * COMPLIANT_SHARED_POINT)) {
            continue;
        }
        corners_of(run, g, of, corner);
        if (sprag_triangle_has((const double(*)[3])corner, gap->point[side],
                               COMPLIANT_SHARED_POINT) &&
            compliant_find_gap(run, g, gap->distance, 0, NULL, &other, NULL) && !other.beyond &&
            (other.distance < gap->distance || (other.distance == gap->distance && g < guard))) {
            *depth = -other.distance;
            return true;
        }
    }
    return false;
}
