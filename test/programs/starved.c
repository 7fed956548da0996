// A plain ODE program: a step in which the whole process has no memory, at every allocation in
// turn, once or from there on: sprag's allocations, ODE's and those of C++. Each case is a process
// of its own. The step is done, or the world is as it was; nothing ends the process. Without sprag,
// ODE's first steps crash.
//
//     LD_PRELOAD=build/libsprag.so SPRAG_OPTIONS=method=ess build/starved
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ode/ode.h>

// ---- memory

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool counting, from_there_on;
static long allocation, failing; // number of the last one; of the first that fails, 0: none

static bool fails(void)
{
    if (!counting) {
        return false;
    }
    allocation++;
    return failing > 0 && (from_there_on ? allocation >= failing : allocation == failing);
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

// ---- a heap and a chain

enum { BOXES = 12, BODIES = BOXES + 6, CONTACTS_MAX = 8 };

typedef int step_fn(dWorldID world, dReal step);

static const dReal step = 0.01; // s
static step_fn *stepper = dWorldStep;
static dWorldID world;
static dSpaceID space;
static dJointGroupID contacts;
static dBodyID body[BODIES];

typedef struct state {
    dReal position[3], quaternion[4], velocity[3], spin[3], force[3];
} state;

static void open_scene(void)
{
    static const double flat[4] = {0};
    dHeightfieldDataID ground = dGeomHeightfieldDataCreate();
    world = dWorldCreate();
    space = dHashSpaceCreate(0);
    contacts = dJointGroupCreate(0);
    dWorldSetGravity(world, 0, 0, -9.81);
    dCreatePlane(space, 0, 0, 1, 0);
    // Touched by none: what records geoms looks at it.
    dGeomHeightfieldDataBuildDouble(ground, flat, 0, 1, 1, 2, 2, 1, 0, 0, 0);
    dGeomSetPosition(dCreateHeightfield(space, ground, 1), 0, -100, 0);
    for (int i = 0; i < BODIES; i++) {
        body[i] = dBodyCreate(world);
        if (i < BOXES) {
            dBodySetPosition(body[i], 0.19 * (i % 3), 0.19 * (i / 3 % 2), 0.1 + 0.2 * (i / 6));
            dGeomSetBody(i % 4 ? dCreateBox(space, 0.2, 0.2, 0.2) : dCreateSphere(space, 0.1),
                         body[i]);
        } else {
            dJointID ball = dJointCreateBall(world, 0);
            dBodySetPosition(body[i], i, 0, 5);
            dJointAttach(ball, body[i], i > BOXES ? body[i - 1] : NULL);
            dJointSetBallAnchor(ball, i - 0.5, 0, 5);
        }
    }
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    dContact contact[CONTACTS_MAX];
    int count = dCollide(a, b, CONTACTS_MAX, &contact[0].geom, sizeof *contact);
    (void)data;
    for (int i = 0; i < count; i++) {
        contact[i].surface.mode = dContactApprox1;
        contact[i].surface.mu = 0.7;
        dJointAttach(dJointCreateContact(world, contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void read_states(state to[BODIES])
{
    memset(to, 0, BODIES * sizeof *to);
    for (int i = 0; i < BODIES; i++) {
        memcpy(to[i].position, dBodyGetPosition(body[i]), sizeof to->position);
        memcpy(to[i].quaternion, dBodyGetQuaternion(body[i]), sizeof to->quaternion);
        memcpy(to[i].velocity, dBodyGetLinearVel(body[i]), sizeof to->velocity);
        memcpy(to[i].spin, dBodyGetAngularVel(body[i]), sizeof to->spin);
        memcpy(to[i].force, dBodyGetForce(body[i]), sizeof to->force);
    }
}

// ---- one case

typedef enum outcome { DONE, UNDONE, NOT_REACHED, WRONG, OUTCOMES } outcome;

static void quiet(int number, const char *format, va_list arguments)
{
    (void)number;
    (void)format;
    (void)arguments;
}

static void take_steps(int count)
{
    for (int k = 0; k < count; k++) {
        dSpaceCollide(space, NULL, touch);
        stepper(world, step);
        dJointGroupEmpty(contacts);
    }
}

static bool is_finite(const state *s)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += s->position[i] + s->quaternion[i] + s->velocity[i] + s->spin[i];
    }
    return isfinite(sum);
}

// Another method may have taken the step: it moves what moves, not quite as far.
static bool is_done(const state *before, const state *after)
{
    bool done = true;
    for (int i = 0; i < BODIES; i++) {
        double fall = before[i].position[2] - after[i].position[2];
        done = done && is_finite(&after[i]) && fabs(fall) < 0.01 && after[i].force[2] == 0 &&
               (i < BOXES || fall > 0);
    }
    return done;
}

static outcome take_case(int warm)
{
    state before[BODIES], after[BODIES];
    dInitODE2(0);
    dSetMessageHandler(quiet);
    open_scene();
    take_steps(warm);
    dSpaceCollide(space, NULL, touch);
    read_states(before);
    counting = true;
    int done = stepper(world, step);
    counting = false;
    read_states(after);
    bool right = done ? is_done(before, after) : !memcmp(before, after, sizeof after);
    dJointGroupEmpty(contacts);
    take_steps(2);
    read_states(before);
    for (int i = 0; i < BODIES; i++) {
        right = right && is_finite(&before[i]);
    }
    return !right ? WRONG : allocation < failing ? NOT_REACHED : done ? DONE : UNDONE;
}

static outcome run_case(int warm)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        _exit((int)take_case(warm));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) < OUTCOMES ? (outcome)WEXITSTATUS(status)
                                                               : WRONG;
}

// Returns the cases that are wrong.
static int run_step(int warm)
{
    int count[OUTCOMES] = {0};
    for (int mode = 0; mode < 2; mode++) {
        outcome last = DONE;
        from_there_on = mode;
        for (failing = 1; last != NOT_REACHED; failing++) {
            last = run_case(warm);
            count[last]++;
            if (last == WRONG) {
                printf("WRONG: allocation %ld%s\n", failing, mode ? " and all after it" : "");
            }
        }
    }
    printf("%-15s %4d %6d %6d %6d\n", stepper == dWorldStep ? "dWorldStep" : "dWorldQuickStep",
           warm + 1, count[DONE], count[UNDONE], count[WRONG]);
    return count[WRONG];
}

int main(void)
{
    int wrong = 0;
    printf("%-15s %4s %6s %6s %6s\n", "stepper", "step", "done", "undone", "wrong");
    for (int k = 0; k < 4; k++) {
        stepper = k % 2 ? dWorldQuickStep : dWorldStep;
        wrong += run_step(3 * (k / 2));
    }
    return wrong > 0;
}
