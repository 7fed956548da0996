// Numbers that decide how the library works. None of them changes the result of a step except where
// the comment says so.
#ifndef SPRAG_PLUGIN_CONSTANTS_H
#define SPRAG_PLUGIN_CONSTANTS_H

// ---- islands in threads (island_threads.c). Work is counted in bodies and joints of islands with
// joints; a unit takes 0.4 us or more, and waking a thread takes 30 us.
enum {
    SHARES_PER_THREAD = 8,     // more: threads end together; fewer: less overhead
    LEAST_WORK_PER_SHARE = 64, // less: more time goes into taking shares
    LEAST_WORK_FOR_THREADS =
        1024, // below, one thread steps all; less: waking costs more than it saves
};

// ---- stribeck.speculative (island_step.c)

// Advances in time, each of a gap (1 to 3 us), by which an island finds pairs that pass each other
// as they turn. More: meshes that tumble several times in a step take longer (4096: 47 instead of
// 28 ms in a step of build/fuzz -g -f 8094). Less: balls pass a spinning rod (64 and 1: 3 and 4 of
// 1000 in build/bench loads speed).
enum { TOUCH_ADVANCES = 1024, TOUCH_ADVANCES_OF_CONTACT = 16 };

// The same by which calls of dCollide in a thread, between two steps, find what meets triangles.
// More: worlds of meshes that tumble take longer (without a bound: 150 instead of 38 ms in a step of
// build/fuzz -g -f 72004). Less: fast marbles pass cells of a mesh, of which one takes up to 9940.
enum { MESH_ADVANCES = 65536 };

// ---- methods that keep distance (frame_methods.c, reach.c). All change results.
enum {
    // A step starts again after it has enabled disabled bodies in the way. More rounds: chains of
    // disabled bodies are enabled in one step. Fewer: bodies hit disabled ones as if these were
    // static until the next step.
    ENABLE_ROUNDS_MAX = 3,
    // Every so many steps the normals of the program's contacts are compared with those of the
    // geoms, to print a warning. Changes no result.
    NORMALS_COMPARED_EVERY = 64,
};

// advance.callbacks=before: pairs count as touching up to the distance that two bodies can cover in
// a step as long as the last one, 2 (1.5 v + 2 g h) h, v (m/s) being the speed of the fastest body
// and g h (m/s) what gravity adds. Larger: callbacks see more pairs. Smaller: fast bodies may touch
// without the callback having been called, and then slide without friction.
#define LOOK_AHEAD_SPEED 1.5
#define LOOK_AHEAD_FALL 2.0

// Sweeps of Gauss-Seidel that effort=balanced allows an island in motion. More: heaps slip less
// (50: by 0.3 to 1 times what they do with 25), at a cost in proportion (1.1 to 1.35 times). Less:
// shaken heaps of 1000 with stribeck.speculative are deeper than a fifth of QuickStep's (25:
// 0.2015).
enum { BALANCED_SWEEPS = 30 };

// Change of the last sweep, relative to what the step changes, with which the sweeps of islands in
// motion end. Smaller: small islands take more sweeps than their error is worth (1e-5: a shaken
// heap of 30 takes 3.2 times QuickStep(20) at the depth and slip of 1e-3). Larger: with 1e-2 heaps
// slip by 1.6 times as much; with 1e-3 under `balanced` leaning planks come to rest later, and what
// fingers close on goes 1 um to the side instead of 0.5.
static const double FAST_CHANGE = 1e-3, BALANCED_CHANGE = 1e-4;

// Gap of the sweeps' solution, relative to the speed of the fastest body, from which the
// interior-point method follows in motion, where bodies are stacked: the same share as near rest,
// of what the step changes. Smaller: what falls takes longer; larger: a load of 1000 times what
// bears it throws that out where it lands (1: 51 of 2000 stacks of 4 to 8 cubes, 0.5: 40).
// Sub-steps of method=advance do without: they would take three times the work.
static const double HARD_IN_MOTION = 0.5;

// ---- files beside the program (output.c). s.

// For the reader of a named pipe, at the first step. Longer: a program whose pipe nobody reads
// starts later.
#define READER_COMES 1.0

// For a reader that takes nothing. Longer: a reader that hangs holds the program for longer.
// Shorter: one that pauses misses the rest.
#define READER_TAKES 10.0

// For another process that writes the names of the columns. Longer: one that keeps the lock holds
// the program for longer.
#define LOCK_COMES 1.0

enum { OUTPUT_START_MAX = 4096 }; // bytes that are compared to know a file as ours

#endif
