// One frame of conservative advancement, as its parts see it (advance.h): advance.c goes through
// the frame, plan.c chooses each sub-step and substep.c makes it, pairs.c finds gaps and safe
// times, mesh.c treats triangles of a mesh, contacts.c, friction.c and solve.c make and
// solve the contact problem, impact.c makes bodies bounce, flight.c moves bodies that nothing
// holds, middles.c has forces act on those that joints hold up to the middle of sub-steps,
// loads.c shortens sub-steps of bodies that turn fast, or are under load, or adds inertia instead,
// speculative.c makes contacts of what blocks a sub-step, coarse.c plans a sub-step without events,
// and slows bodies that would still collide, projection.c changes its motion so that points stay
// apart, energy.c takes back what a sub-step gains, events.c reports events, error.c controls the
// error.
#ifndef SPRAG_ADVANCE_RUN_H
#define SPRAG_ADVANCE_RUN_H

#include <math.h>

#include "advance.h"
#include "advance_constants.h"
#include "certificate.h"
#include "linalg.h"
#include "tree.h"
#include "unions.h"

// A collider.
typedef struct advance_side {
    sprag_carried carried; // on its body's motion
    sprag_pose pose;       // now; by the scan
    double radius;         // m, about the centre of a moving body, or 0
} advance_side;

// A pair.
typedef struct advance_near {
    // by advance_open:
    int body[2];                     // of its shapes; [1] may be SPRAG_STATIC
    const sprag_carried *carried[2]; // shapes on their bodies' motions; of the run, as the others
    const sprag_shape *shape[2];     // the same shapes
    const sprag_pose *pose[2];       // now
    double radius[2];                // m, of the sides
    sprag_pair_memory *memory;       // of the pair
    int triangle;                    // the side that is a triangle of a mesh; -1: none or both
    int mesh; // first pair of those of one mesh with one body, or of two meshes: they follow one
              // another
    int mesh_end;     // at that one: the pair behind the last of them
    sprag_tree *tree; // likewise, of the triangles in the axes of the mesh; by mesh.c
    // by pairs.c, in every scan, unless noted:
    double clear;                     // m, lower bound of the gap; reduced by every motion
    bool fresh;                       // `gap` is that of the current poses
    bool closed;                      // the gap is small enough for a contact
    int points;                       // of contact
    bool slowed;                      // it has slowed its bodies down in this sub-step; by coarse.c
    bool rubs, has_rubbed;            // in an attempt's solve, where it may not always; likewise
    double normal_force, slide_force; // N, sums over the points, of these; by friction.c
    sprag_gap gap;                    // of the last query
    sprag_certificate certificate;    // of the attempt; time INFINITY: the pair blocks nothing
} advance_near;

// A contact point: of a closed pair, or speculative (the pair may close within the sub-step).
typedef struct advance_point {
    // by pairs.c or speculative.c:
    int pair;
    double at[2][3];  // m, on either shape
    double normal[3]; // into shape 0
    double gap;       // m
    bool speculative; // the pair is not closed yet
    double dip; // m, by which the gap at the end of the sub-step is expected to fall short, because
                // the motion curves; by speculative.c
    double restraint; // N, normal force of the last projection; by projection.c
    // by solve.c:
    double impact[2][6]; // N, N m, the impulses on both bodies at the start of the sub-step, over
                         // its length; by impact.c
    bool has_guess;      // wrench is that of another attempt at this sub-step
    double wrench[2][6]; // N, N m, of the last solve, on both bodies (sprag_contact_wrench)
    double normal_force; // N
    double expected; // force that the next sub-step's solve expects, relative to that of this one
} advance_point;

// Contact points, those of closed pairs first and in the order of the pairs.
typedef struct advance_points {
    advance_point *point; // in the frame's scratch
    int count, room;
    int closed;      // of closed pairs; by the scan
    int last_closed; // the same in the last sub-step that had any; by events.c
    long added;      // points made in the frame so far
} advance_points;

// Joint rows and given contacts with the forces of the last solve, in its scratch.
typedef struct advance_rows {
    const sprag_row *row; // of the caller; asked for at the start of each sub-step
    int count;
    double *force;            // N, N m
    double (*given_force)[6]; // N, N m, of the frame's contacts, as sprag_solution's
} advance_rows;

// The displacement that takes back overlaps, as a velocity that is added to the motion; by
// projection.c, unless noted.
typedef struct advance_push {
    bool asked;            // by the scan: a pair overlaps, or has less than its gap
    bool acts;             // in this attempt
    double (*velocity)[6]; // m/s, rad/s, bodies
    double deepest;        // m, of the overlaps
    double speed;          // m/s, largest separation speed that an overlap asks for; by the scan
    long solved_for;       // points->added at the last solve of this sub-step; 0: closed points
                           // alone; -1: not solved yet
} advance_push;

// J, of the rows of an assembly that bring in nothing of their own.
typedef struct advance_chords {
    double work;   // of their forces
    double ahead;  // the part of it by which they ask for chords
    double energy; // kinetic, at the end of the sub-step
    bool kept;     // its rows keep the tangents: one of its bodies may touch another one, or the
                   // chords would win too much
} advance_chords;

// An attempt at the sub-step of a given length: the solved velocities and how long they are safe.
typedef struct advance_attempt {
    // asked of the solve, by plan.c and coarse.c:
    double length;    // s
    bool has_guess;   // velocity is that of another attempt at this sub-step
    bool ignore_dips; // contacts ask for no speed to make up for curved motion
    // by solve.c:
    double (*velocity)[6];  // m/s, rad/s, bodies, at the end of the sub-step
    bool failed;            // no solution: the bodies keep their velocities, without impulses
    bool *flies;            // bodies that nothing holds; by flight.c
    double (*lag)[6];       // m/s, rad/s, by which these and spinning ones move slower than
                            // `velocity`, which they have at the end; likewise and by solve.c
    advance_chords *chords; // of assemblies, at their first bodies; by chords.c
    double (*axis)[3];      // of bodies that spin fast, unit; 0: of others; by spinners.c
    sprag_motion *motion;   // bodies; velocity less lag, and push, as certified
    // by pairs.c and plan.c:
    double safe;   // s, for which all pairs stay apart
    int blocking;  // pair that bounds it, -1: none
    bool at_limit; // a joint's stop bounds it
    // by coarse.c:
    double *share;   // bodies, of the path that they go; 1, less where they would collide
    int slowed_pair; // pair that slowed a body down, -1: none
} advance_attempt;

typedef struct advance_load { // of loads.c: what its joints do to a body
    double stiffness[9];      // N m/rad, of its turns: torque against a turn
    double rate, rate_across; // 1/s^2, of this over its inertia; of its distances over its mass
    double most;              // 1/s^2, a bound of the first
    double swing;             // rad/s, at which rows swing it about a point off its axis
    bool settles;             // of the first body of an assembly: it is held, and hardly moves
} advance_load;

typedef struct advance_middles { // of middles.c
    double usual;                // s, of the longest sub-step of the frame, if no event ends it
    int *joined; // bodies: the first of those that joints and motors connect it to; by advance_look
    double *lag, *next; // s, bodies: of their velocities, before the sub-step and behind it
    double *ratio;      // bodies: time for which forces act, over the length of the sub-step
    double (*kick)[6];  // m/s, rad/s, of bodies that hang on joints, in their lag; 0 where nothing
                        // bounces
    bool counts;        // lags change with the sub-step
} advance_middles;

typedef struct advance_cluster { // of energy.c: bodies that contacts or joints connect
    double gain, energy;         // J; kinetic
    double mass, momentum[3];
    bool driven, held; // something does work; something that no force moves touches
} advance_cluster;

typedef struct advance_energy { // of energy.c
    double *before;             // J, bodies: kinetic, before the sub-step, and work of the forces
    int *leader;                // bodies: the first of their cluster, by union
    advance_cluster *cluster;   // of the leaders
} advance_energy;

typedef struct advance_run {
    // by the caller of advance_open:
    sprag_frame *frame;
    const sprag_advance_options *options;
    const sprag_frame_calls *calls;
    sprag_scratch *scratch, *solving; // of the frame, of a solve
    sprag_advance_stats *stats;
    double level;        // m, that certified gaps do not fall below
    double target;       // m, gap that contacts aim at
    sprag_result result; // unless it is OK, the frame ends
    // by advance_open, for the whole frame:
    sprag_mover *before;  // bodies, at the start of the frame
    double acceleration;  // m/s^2, largest by forces
    advance_near *near;   // pairs
    advance_side *side;   // colliders
    double (*inertia)[9]; // kg m^2, bodies, world axes; by advance_look, energy.c
    double (*inverse)[9]; // of these at the start of the sub-step, 0: none; by advance_look
    int *assembly;        // bodies: the first of those that joints connect it to; likewise
    advance_load *load;   // bodies; likewise
    // the course of the frame, by advance.c and substep.c:
    double time, left;                        // s, done and to go
    double floor;                             // s, no sub-step is planned shorter
    double longest;                           // s, that the sub-step may take
    int stalls;                               // sub-steps that stalled
    bool settling;                            // slow at the start of the frame
    double work_given, work_left, exact_left; // of the frame, and of what locates events
    double look_work;                         // of the last look
    // of the sub-step:
    advance_points points;
    advance_rows rows;
    advance_push push;
    advance_attempt attempt;
    advance_middles middles;
    advance_energy energy;
    double suggested;   // s, length of the next sub-step, by error.c
    double (*half)[6];  // m/s, rad/s, bodies: of half the sub-step, of error.c
    bool *marked;       // bodies, of coarse.c and middles.c
    int *listed;        // pairs, of mesh.c
    int crossing_first; // pair of the two meshes that mesh.c has looked at last; -1: none
    bool crosses;       // they do
} advance_run;

// Does no force move it?
static inline bool advance_stays(const advance_run *run, int body)
{
    return body == SPRAG_STATIC || !(run->frame->body[body].mass > 0);
}

// The first of two bodies that forces move; if none, the first.
static inline int advance_body_of(const advance_run *run, const int body[2])
{
    return body[body[1] != SPRAG_STATIC && advance_stays(run, body[0])];
}

// m/s or rad/s, at which bodies go towards a stop, by the rate J v of its row.
static inline double advance_stop_approach(const sprag_row *stop, double rate)
{
    return stop->hi > 0 ? -rate : rate;
}

// ---- advance.c

// Sets what does not change in the frame. false: it cannot be begun.
bool advance_open(advance_run *run);

// Ends the frame, unless all that was taken is there. false: it ends.
static inline bool advance_has_memory(advance_run *run)
{
    run->result = run->scratch->failed || run->solving->failed ? SPRAG_NO_MEMORY : run->result;
    return run->result == SPRAG_OK;
}

// Is it static, or kinematic without velocity?
bool advance_stands_still(const sprag_frame *frame, int body);

static inline void advance_spend(advance_run *run, double work)
{
    run->work_left -= work;
    run->exact_left -= work;
}

// Work that is left for the rest of the frame once no more events are located.
static inline double advance_reserved_work(const advance_run *run)
{
    return (1 - ADVANCE_FINE_WORK) * run->work_given;
}

// Has the frame cost so much that no more events are located?
static inline bool advance_event_work_is_spent(const advance_run *run)
{
    return !(run->exact_left > 0);
}

// Would so much more work exceed what the frame may take in all? Its bodies then stand still.
static inline bool advance_is_spent(const advance_run *run, double work)
{
    return run->work_left - work < -ADVANCE_EXTRA_WORK * run->work_given;
}

// Is the error bounded (advance.error)? Then sub-steps are solved exactly.
static inline bool advance_is_controlled(const advance_run *run)
{
    return run->options->error > 0 && !advance_event_work_is_spent(run);
}

// Ends the frame; unless the result is OK, the bodies are put back.
sprag_result advance_close(advance_run *run);

// Is the overlap at a point so deep that it is taken back at a speed? Smaller ones are gaps that
// are opened.
static inline bool advance_is_overlap(const advance_run *run, const advance_point *point)
{
    return run->frame->pair[point->pair].overlapped && point->gap < -run->options->epsilon;
}

// Does the push open its gap, without speed?
static inline bool advance_is_pushed(const advance_run *run, const advance_point *point)
{
    return run->frame->pair[point->pair].overlapped && point->gap < run->target;
}

// ---- substep.c

// Joint rows and contact points, with the bodies where they are. longest: s, of the sub-step.
void advance_look(advance_run *run, double longest);

// Makes the sub-step that has been planned.
void advance_move(advance_run *run);

// Forces of the last solve: impulses and memory of the pairs, calls->forces.
void advance_keep_forces(advance_run *run);

// ---- energy.c

// Unites bodies that touch, or that joints connect, at their energy.leader.
void advance_set_clusters(advance_run *run);

// Before bodies move for t s.
void advance_note_energy(advance_run *run, double t);

// After advance_note_energy: may joints, kinematic bodies or moving surfaces do work on the body?
bool advance_is_driven(const advance_run *run, int body);

// After the bodies have moved: takes back what they have gained.
void advance_limit_energy(advance_run *run);

// ---- events.c

// Counts and reports an event, so long (s) after the start of the sub-step. at: of it, with its
// normal; NULL: none.
void advance_report(advance_run *run, sprag_event_kind kind, double after, int pair,
                    const double *at, const double *normal, double speed);

// So long (s) bodies stand still, because of a pair; -1: none.
void advance_stall(advance_run *run, double time, int pair);

// Contacts made and lost, slip that begins and ends: the attempt compared with the last sub-step.
void advance_compare_contacts(advance_run *run);

// ---- error.c

// s: the longest sub-step whose error is small enough.
double advance_choose_length(advance_run *run);

// ---- pairs.c

// Gaps and points of pairs that may meet within `reach` s; asks about pairs of unknown state that
// touch.
void advance_scan(advance_run *run, double reach);

// Does a pair that blocks end the sub-step?
typedef bool advance_ends_fn(const advance_run *run, int pair);

// Sets the attempt's safe and blocking, and the certificates of the pairs: for how long, `horizon`
// at most, the motion may go on. moved: bodies whose motion has changed since; NULL: all. ends:
// behind the first pair that ends the sub-step nothing is looked for; NULL: none does.
void advance_certify(advance_run *run, double horizon, const bool *moved, advance_ends_fn *ends);

// m/s, along a normal into shape 0, of a point on each shape: positive apart.
double advance_rate(const advance_near *near, const double at[2][3], const double *normal);

// All pairs have moved for t.
void advance_move_pairs(advance_run *run, double t);

// Notes the least separation of certified pairs, at three times up to t s.
void advance_check_gaps(advance_run *run, double t);

// Adds a point, all zero; NULL: no memory.
advance_point *advance_add_point(advance_run *run);

// Does the pair have a surface? Asks the caller if the state is unknown.
bool advance_accepts(advance_run *run, int pair);

// ---- mesh.c

typedef enum advance_seam {
    ADVANCE_NO_SEAM,
    ADVANCE_SEAM,       // of triangles that form a valley
    ADVANCE_LEVEL_SEAM, // of triangles that lie in one plane
} advance_seam;

// Is the normal of the pair's gap one that only a seam of its triangle's mesh has?
advance_seam advance_find_seam(advance_run *run, int pair);

// If a triangle blocks: finds the plane, by its normal into shape 0, to which the shapes come least
// near: near a face of the other shape, above which the triangle rises by epsilon at most, or near
// the front of a triangle that rises from a corner of this one. The plane separates the shapes now
// by the level. Returns the side that carries it; -1: there is none.
int advance_other_plane(advance_run *run, int pair, double horizon, double plane[3]);

// m: a height along a normal after the horizon, if the nearest points go straight on towards each
// other.
double advance_lowest_along(const advance_run *run, int pair, const double normal[3], double height,
                            double horizon);

// Is the pair's triangle the far side of a thin wall that the other shape is in from the near side?
bool advance_is_far_side(const advance_run *run, int pair);

// Does the other shape lie on the back of the pair's triangle, and reach through it by little? It
// leaves by the back then, and not by the front.
bool advance_lies_behind(const advance_run *run, int pair);

// Has the pair's triangle of one mesh passed through that of the other, by little?
bool advance_is_through(advance_run *run, int pair);

// Has another triangle of the mesh such a point already?
bool advance_has_point(const advance_run *run, int pair, const double at[2][3],
                       const double normal[3]);

// Removes points of which others say as much: of many between the same two bodies, and inside the
// outline of many on one plane.
void advance_thin_out(advance_run *run);

// Marks triangles without points as active where another triangle of their mesh is.
void advance_share_active(advance_run *run);

// ---- solve.c

// Solves for the velocities at the end of a sub-step of the attempt's length, and sets its motion.
void advance_solve(advance_run *run);

// The motion of a body (m/s, rad/s) by its velocity and the push, not projected.
void advance_motion_of(const advance_run *run, int body, double v[6]);

// kg m^2/s^2: a' M b of a body's velocities.
double advance_product(const advance_run *run, int body, const double *a, const double *b);

// Does a body spin fast, in this attempt?
static inline bool advance_spins(const advance_run *run, int body)
{
    return dot3(run->attempt.axis[body], run->attempt.axis[body]) > 0;
}

// ---- projection.c

// Sets what the contact points ask of the push.
void advance_find_push(advance_run *run);

// Marks the bodies of clusters with a point that the motion leaves less than the rate that it is to
// have; the others keep their motion. false: there are none.
bool advance_find_short(advance_run *run, bool *shorts);

// Raises the dip of a point whose gap goes down to `lowest` (m).
void advance_raise_dip(advance_run *run, advance_point *point, double lowest);

// Changes the attempt's motion by as little as possible so that all points have their rates, if any
// falls short. sweeps: of its solve; 0: it is exact. moved: bodies whose motion it has changed.
void advance_project(advance_run *run, int sweeps, bool *moved);

// ---- plan.c

// Looks, then chooses and solves the next sub-step, at most `longest`. to_the_end: as long as that,
// with speculative contacts instead of an event that ends it.
void advance_plan(advance_run *run, double longest, bool to_the_end);

// Ends the attempt where a joint reaches its stop.
void advance_stop_at_limit(advance_run *run);

// ---- loads.c

// Sets the loads of the bodies, by the joint rows.
void advance_find_loads(advance_run *run);

// s: equal parts of a time, in which no body is turned too far by joints that swing it, or that
// load it, nor turns too far on a kinematic body that moves.
double advance_part_of_swing(advance_run *run, double time);

// ---- speculative.c

// Starts an attempt of this length: the points of closed pairs alone, with their dips.
void advance_begin_attempt(advance_run *run, double length);

// Makes speculative points of pairs that block before `until` (s) from no higher than `highest`
// (m), and increases the dips of the points that block; as_solved: of pairs whose dips grow nothing
// else, as a solve follows. false: nothing changed. INFINITY: from any height, for a motion that is
// projected.
bool advance_meet_blocking(advance_run *run, double until, double highest, bool as_solved);

// Does a pair that blocks do so at a place where it has no point?
bool advance_blocks_elsewhere(const advance_run *run, int pair);

// ---- coarse.c

// Is the sub-step planned without events that end it?
bool advance_is_coarse(const advance_run *run);

// Plans such a sub-step. Only a joint's stop ends it.
void advance_plan_coarse(advance_run *run, double longest);

#endif
