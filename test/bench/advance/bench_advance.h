// Shared by the files of `bench advance`: the table, the separation check, scenes of the solver
// alone and worlds of ODE.
#ifndef BENCH_ADVANCE_H
#define BENCH_ADVANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "advance.h"
#include "bench.h"
#include "scene.h"

// ---- advance/advance.c: rows. A part and its scene are said once, by row_scene.

void row_scene(const char *format, ...) __attribute__((format(printf, 1, 2)));
void row_report(const char *figure, double value); // no target
void row_at_most(const char *figure, double value, double target);
void row_at_least(const char *figure, double value, double target);
void row_near(const char *figure, double value, double exact, double good);
void row_missing(const char *figure, const char *why); // could not be measured: fails

// The parts. full: as long as it takes.
typedef void advance_part(bool full);
advance_part part_alone, part_die, part_chain, part_legs, part_rest, part_fast, part_piles,
    part_disturb, part_order, part_models, part_bounds, part_certify, part_paper, part_compare,
    part_crafts;

// ---- advance/apart.c: separation by brute force

typedef enum solid_kind { SOLID_PLANE, SOLID_BALL, SOLID_BOX, SOLID_POINTS } solid_kind;

typedef struct solid {
    solid_kind kind;
    double radius, half[3]; // m
    int points;
    const double *point; // m, three each, own axes
    double at[3], R[9];  // plane: at is a point of it, its normal the third column
} solid;

// m: not more than the distance, negative only if they overlap, or if corners that no box has are
// next to something round or with corners of its own.
double solid_apart(const solid *a, const solid *b);

double solid_boxes_distance(const solid *a, const solid *b); // m, of boxes that are apart

double solid_radius(const solid *s); // m, about `at`; INFINITY of a plane

// ---- chance: the same numbers on every machine

typedef struct chance {
    uint64_t state;
} chance;

double chance_between(chance *c, double low, double high);
void chance_turn_by(const double q[4], double R[9]);
void chance_turn(chance *c, double R[9]); // quaternion in [-1,1]^4

// ---- advance/scene.c: boxes in sprag_advance alone

enum { ADVANCE_BODIES = 16, ADVANCE_PAIRS = ADVANCE_BODIES * (ADVANCE_BODIES + 1) / 2 };

typedef sprag_result advance_simulate(sprag_frame *, const sprag_advance_options *,
                                      const sprag_frame_calls *, sprag_scratch[2],
                                      sprag_advance_stats *);

typedef struct advance_scene {
    int bodies, pairs;
    sprag_mover body[ADVANCE_BODIES];
    sprag_collider collider[ADVANCE_BODIES + 1]; // the last: the floor
    sprag_pair pair[ADVANCE_PAIRS];
    sprag_pair_memory memory[ADVANCE_PAIRS];
    sprag_advance_options options;
    sprag_frame_calls calls;
    sprag_advance_stats stats;
    sprag_scratch scratch[2];
    advance_simulate *simulate; // sprag_advance, if not set otherwise
    double friction;
    double time; // s
    // what the check saw: three times in each sub-step
    sprag_pose seen[ADVANCE_BODIES];
    double initial, least; // m
    long looks, failed;    // failed: frames that were refused
    // velocities spoilt behind the solver's back
    double noise; // m/s, rad/s
    chance chance;
} advance_scene;

void advance_scene_start(advance_scene *s, double friction); // all zero but the options
sprag_mover *advance_scene_box(advance_scene *s, const double side[3], double density, double x,
                               double y, double z);
void advance_scene_close_up(advance_scene *s); // the floor and the pairs; then no more boxes
void advance_scene_step(advance_scene *s, double step);
void advance_scene_free(advance_scene *s);
// advance/die.c: a thrown die; s, when it came to rest, NAN: never
void advance_scene_die(advance_scene *s, double friction, int seed);
double advance_scene_rest(advance_scene *s, double step);

double advance_scene_energy(const advance_scene *s); // J
double advance_scene_speed(const advance_scene *s);  // largest, m/s or rad/s

// ---- advance/world.c: ODE worlds

extern const char *const advance_ours; // options

typedef struct advance_counts { // of a world's life
    long substeps, limited, changes, overlaps;
    double least_gap, stalled, penetration; // m, s, m
} advance_counts;

// A world with a check after each step. It must stay where it is.
typedef struct advance_world {
    bench_scene of;
    sprag_script script;
    sprag_model model;
    double us;        // of the steps, all
    long groups;      // that moved by themselves, sum over the steps
    double initial;   // m, least gap at the start
    double least;     // m, later, of pairs that were apart then
    double deeper;    // m, by how much a pair that overlapped then did so more later, most
    double still;     // m, gap of these now, 0 if none overlaps
    long overlapping; // pairs then
    int unknown;      // geoms that the check leaves out
    struct overlap *overlap;
} advance_world;

void advance_world_open(advance_world *w, const sprag_model *model, double step,
                        const char *options);
// step: 10 ms
void advance_world_make(advance_world *w, void (*open)(sprag_scene *), double friction,
                        const char *options);
void advance_world_step(advance_world *w);
void advance_world_run(advance_world *w, double seconds);
advance_counts advance_world_counts(const advance_world *w);
void advance_world_close(advance_world *w);

// The rows that every scene has: gap, stalled share.
void row_world(const advance_world *w);
// And sub-steps that they cost, at most so many each; INFINITY: no target.
void row_changes(const advance_world *w, double most);

void advance_place_turned(dBodyID body, double ax, double ay, double az, double angle);

#endif
