// Triangles of one mesh near one ball. The distance of a ball from a mesh is that of the nearest
// triangle, or of several at several points (a valley). Triangles that share an edge or a corner
// share the points on it: there, the contact belongs to one of them. It is the one whose gap is
// the least; of equal ones the first.
#include "compliant_run.h"
#include "linalg.h"

static void corners_of(const compliant_run *run, int guard, int side, double corner[3][3])
{
    sprag_pose room;
    const sprag_pose *pose = compliant_shape_pose(run, guard, side, &room);
    const sprag_polytope *p = compliant_collider(run, guard, side)->shape.polytope;
    for (int i = 0; i < 3; i++) {
        mul33(pose->rotation, p->vertex[i], corner[i]);
        add_scaled(corner[i], 1, pose->position, 3);
    }
}

bool compliant_belongs_to_neighbour(compliant_run *run, int guard, const sprag_gap *gap)
{
    const compliant_guards *guards = &run->guards;
    int pair = guards->pair[guard], side = sprag_pair_triangle(run->frame, pair);
    for (int way = -1; way <= 1 && side >= 0; way += 2) {
        for (int g = guard + way; g >= 0 && g < guards->pairs; g += way) {
            double corner[3][3];
            sprag_gap other;
            if (!sprag_pairs_of_mesh(run->frame, pair, guards->pair[g])) {
                break;
            }
            corners_of(run, g, sprag_pair_triangle(run->frame, guards->pair[g]), corner);
            if (sprag_triangle_has((const double(*)[3])corner, gap->point[side],
                                   COMPLIANT_SHARED_POINT) &&
                compliant_find_gap(run, g, INFINITY, 0, NULL, &other, NULL) &&
                (other.distance < gap->distance ||
                 (other.distance == gap->distance && g < guard))) {
                return true;
            }
        }
    }
    return false;
}
