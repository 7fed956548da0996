// Parts: bodies that joints weld turn as one. The forces within a part turn with it and have no
// stiffness (load_stiffness.c), however large they are where its joints contradict each other.
#include "linalg.h"
#include "loads.h"

bool sprag_ode_join_parts(ode_problem *pulled, const int body[2], sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    if (!pulled->part) {
        pulled->part = SPRAG_TAKE(scratch, bodies + 1, ode_part);
        for (int i = -1; i < bodies && pulled->part; i++) {
            pulled->part[i + 1].first = i;
        }
    }
    if (!pulled->part) {
        return false;
    }
    int first[2];
    for (int side = 0; side < 2; side++) { // what the program moves turns as the world does
        bool turns = body[side] != SPRAG_STATIC && pulled->body[body[side]].mass > 0;
        first[side] = turns ? sprag_ode_part(pulled, body[side]) : -1;
    }
    int last = first[0] > first[1];
    pulled->part[first[!last] + 1].first = first[last];
    return true;
}

void sprag_ode_measure_parts(ode_problem *pulled)
{
    const int bodies = pulled->part ? pulled->problem.bodies : 0;
    for (int i = 0; i < bodies; i++) {
        int first = sprag_ode_part(pulled, i);
        double mass = pulled->body[i].mass;
        if (first >= 0 && mass > 0) {
            ode_part *of = &pulled->part[first + 1];
            double way[3];
            subtract3(dBodyGetPosition(pulled->island.body[i]), of->centre, way);
            of->mass += mass;
            add_scaled(of->centre, mass / of->mass, way, 3);
        }
    }
    for (int i = 0; i < bodies; i++) {
        int first = sprag_ode_part(pulled, i);
        if (first >= 0) {
            ode_part *of = &pulled->part[first + 1];
            const double *I = pulled->body[i].inertia, m = pulled->body[i].mass;
            double arm[3];
            subtract3(dBodyGetPosition(pulled->island.body[i]), of->centre, arm);
            of->trace += I[0] + I[4] + I[8];
            add_scaled(of->inertia, 1, I, 9);
            for (int k = 0; k < 3; k++) {
                of->inertia[4 * k] += m * dot3(arm, arm);
                add_scaled(of->inertia + 3 * k, -m * arm[k], arm, 3);
            }
        }
    }
}
