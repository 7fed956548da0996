// Shared by the files of the bench.
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "models.h"

typedef void line_fn(const char *format, ...); // a row of cells, separated by '|'

void bench_factor(line_fn *line);                               // factor.c
void bench_general(line_fn *line, bool full);                   // general.c
void bench_geometry(line_fn *line);                             // collision/geometry.c
bool bench_ess(line_fn *line);                                  // ess.c; are targets met?
bool bench_ess_figure(line_fn *line, const char *name);         // ess_figures.c; is it one?
bool bench_ess_worlds(line_fn *line);                           // ess_worlds.c; are targets met?
void bench_ess_price(line_fn *line);                            // ess_price.c
void bench_ess_tolerance(line_fn *line);                        // likewise
void bench_ess_share(line_fn *line);                            // ess_share.c
void bench_derivatives(line_fn *line);                          // derivatives.c
void bench_threads(line_fn *line);                              // threads.c
int bench_overhead(line_fn *line, int names, char **name);      // overhead.c; 0: targets are met
int bench_advance(int names, char **name, bool full, bool csv); // advance/advance.c; 0: all is well
void bench_record(line_fn *line);                               // record.c
bool bench_solve(const char *file);                             // solve.c; the same result?
void bench_simbench(line_fn *line);                             // simbench.c
void bench_loads(line_fn *line, int names, char **name);        // loads.c
void bench_terrain(line_fn *line);                              // collision/terrain.c
void bench_profile(long size);                                  // profile.c

// ---- bench.c

double bench_cpu_us(void);                       // CPU time of the calling thread
void *bench_allocate(size_t count, size_t size); // or ends the program
// Ends the program: the bench has no such scene, part or size.
_Noreturn void bench_refuse(const char *bench, const char *word);
long bench_size_of(const char *bench, const char *word); // bodies; or ends the program
int bench_by_size(const void *a, const void *b);         // of doubles, for qsort
double bench_median(double *value, long count);          // sorts them; NAN of none

// A figure and its target, as a line of their own. bench exits non-zero when a target is missed.
void bench_at_most(const char *figure, double value, double target);
void bench_at_least(const char *figure, double value, double target);

// CPU time of the last step, without collision detection.
extern double bench_stepper_us;

extern int (*bench_stepper)(dWorldID world, dReal step); // of scenes; NULL: dWorldStep
int bench_world_step(dWorldID world, dReal step);        // dWorldStep, not timed

// A scene under options, with a sequence of ODE's random numbers of its own.
typedef struct bench_scene {
    sprag_scene scene;
    unsigned long seed;
    long lcp_errors;       // messages of dWorldStep: what it then returns is not a solution
    struct mujoco *mujoco; // what steps it instead, or NULL
    struct bullet *bullet; // likewise
} bench_scene;

void bench_open(bench_scene *, const sprag_model *, const char *options, int iterations);
void bench_configure(dWorldID world, const char *options, int iterations); // of QuickStep
void bench_step(bench_scene *);
void bench_copy_state(sprag_scene *to, const sprag_scene *from);

// ---- error.c

typedef struct error_request {
    char **size; // bodies
    int sizes;
    const char *const *options; // of sprag, further ones: "options" or "name:options"
    int methods;                // how many
    double budget_us;           // per method and scene
} error_request;

void bench_error(line_fn *line, const error_request *request);

// ---- mujoco.c

// From then on MuJoCo steps the scene, from the state that it is in. options: attributes of
// MuJoCo's <option>; contacts: about as many as it will have.
void bench_mujoco_open(bench_scene *, const char *options, int contacts);
void bench_mujoco_step(bench_scene *); // sets bench_stepper_us
void bench_mujoco_close(bench_scene *);
void bench_mujoco_print_version(void); // if it is there

bool bench_has_mujoco(void);

// ---- bullet.cpp, or no_bullet.c

bool bench_has_bullet(void);
void bench_bullet_print_version(void); // if it is there
void bench_bullet_open(bench_scene *); // from then on Bullet steps the scene
void bench_bullet_step(bench_scene *); // sets bench_stepper_us
void bench_bullet_close(bench_scene *);

// ---- simbench.c

// The surface that the model gives to a pair of geoms.
dSurfaceParameters bench_surface(const sprag_scene *, dGeomID a, dGeomID b);

// ---- pile.c

// Opens a pile and lets it come to rest.
void bench_settled_pile(bench_scene *, long size);
void bench_set_gravity(sprag_scene *, bool shaken);  // in a horizontal circle, twice a second
void bench_settled(bench_scene *, const char *name); // "pile:30:2", with a seed

// ---- bench_scenes.c: are targets met?

bool bench_scenes(char **names, int count, const char *ours, int seeds);

// ---- residue.c: what a step left undone

// Sums and maxima over contacts and steps. Forces in weights: those of the mean body.
typedef struct residue {
    long steps, contacts, loaded, sticking;
    double depth, depth_max;       // m; sum
    double slip, slip_max;         // m/s, of sticking contacts; sum of load times squares
    double held;                   // weights, load of those; sum
    double cone, cone_max;         // weights, friction outside of the cone; sum of squares
    double approach, approach_max; // m/s; sum of squares
    double momentum_max;           // weights, force that no contact and no gravity explains
} residue;

// At the beginning of the step, but the force.
typedef struct residue_contact {
    dBodyID body[2];            // NULL for what does not move; the normal points into body[0]
    double point[3], normal[3]; // m; unit
    double depth, friction;     // m; Coulomb coefficient
    double force[3];            // N, on body[0]; of a contact joint its feedback tells
} residue_contact;

void residue_begin(const sprag_scene *scene);     // contacts of the next step are watched
void residue_add(const residue_contact *contact); // one that is not a joint of ODE
void residue_end(residue *r, double weight);      // after it; weight: N, of the mean body
void residue_free(void);
double residue_weight(const sprag_scene *scene);        // N, of the mean body
double residue_root_mean(double squares, double count); // 0 of none

#endif
