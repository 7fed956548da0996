// Rows of joints: every type under load; the table of all of them.
#define _POSIX_C_SOURCE 200112L // unsetenv
#include "start.h"
#include "support_joints.h"

// ---- scenes

support_scene support_scene_open(const support_run *run, double step)
{
    return (support_scene){
        .world = support_world(run, NULL), .space = dSimpleSpaceCreate(NULL), .step = step};
}

static void no_contact(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
}

void support_scene_step(const support_scene *scene)
{
    dSpaceCollide(scene->space, NULL, no_contact);
    dWorldStep(scene->world, scene->step);
}

void support_scene_close(const support_scene *scene)
{
    dSpaceDestroy(scene->space);
    dWorldDestroy(scene->world);
}

void support_scene_add(const support_scene *scene, dBodyID body)
{
    dGeomSetBody(dCreateSphere(scene->space, 0.01), body);
    dBodySetFiniteRotationMode(body, 1);
}

void support_report_limit(support_run *run, support_sampled *sampled)
{
    enum { LEVELS = 4, COARSEST = 32 };
    support_run *at = calloc(LEVELS, sizeof *at);
    if (!at) {
        abort();
    }
    for (int i = 0; i < LEVELS; i++) {
        at[i].method = "ode-step";
        sampled(&at[i], COARSEST << i);
    }
    for (int order = 1; order < LEVELS; order++) {
        double gain = 1 << order;
        for (int i = 0; i + order < LEVELS; i++) {
            for (int k = 0; k < at->values; k++) {
                at[i].value[k] = (gain * at[i + 1].value[k] - at[i].value[k]) / (gain - 1);
            }
        }
    }
    for (int k = 0; k < at->values; k++) {
        support_report(run, at->value[k]);
    }
    free(at);
}

// ---- every type under load

void support_load_and_step(const support_scene *scene, pair *p, int steps, int pieces)
{
    support_scene piece = *scene;
    piece.step /= pieces;
    for (int i = 0; i < steps * pieces; i++) {
        load_pair(p);
        support_scene_step(&piece);
    }
}

void support_open_pair(const support_scene *scene, pair *p, const joint_kind *kind, int like)
{
    *p = (pair){.world = scene->world};
    dSetMessageHandler(quiet); // stock complains of the axes that a PU has before it is set
    make_pair(p, kind, like);
    dSetMessageHandler(NULL);
    for (int i = 0; i < 2 && p->body[i]; i++) {
        support_scene_add(scene, p->body[i]);
        dBodySetForce(p->body[i], 0, 0, 0);
        dBodySetTorque(p->body[i], 0, 0, 0);
    }
    if (kind->type == dJointTypeHinge2) { // rigid, as all others
        dJointSetHinge2Param(p->joint, dParamSuspensionERP, dWorldGetERP(p->world));
        dJointSetHinge2Param(p->joint, dParamSuspensionCFM, dWorldGetCFM(p->world));
    }
}

bool support_pair_can_be(const joint_kind *kind, int like)
{
    bool runs_away = kind->type == dJointTypePR || kind->type == dJointTypePiston;
    return kind_can_be(kind, like) && !(like & PAIR_REVERSED && runs_away);
}

const joint_kind *support_joint_kind(int type)
{
    const joint_kind *kind = joint_kinds;
    while (kind->type != type) {
        kind++;
    }
    return kind;
}

void support_report_pair(support_run *run, const pair *p)
{
    for (int i = 0; i < 2 && p->body[i]; i++) {
        support_report_body(run, p->body[i]);
    }
}

// Two bodies, turned, on the world from either side, and on a kinematic body.
static void under_load(support_run *run, int type, int pieces)
{
    enum { STEPS = 20 };
    static const int like[] = {PAIR_PLAIN, PAIR_SKEWED, PAIR_TO_WORLD | PAIR_SKEWED, PAIR_REVERSED,
                               PAIR_KINEMATIC};
    for (int i = 0; i < 5; i++) {
        if (!support_pair_can_be(support_joint_kind(type), like[i])) {
            continue;
        }
        support_scene scene = support_scene_open(run, 0.01);
        pair p;
        double error = 0;
        support_open_pair(&scene, &p, support_joint_kind(type), like[i] | PAIR_AT_REST);
        for (int k = 0; k < STEPS; k++) {
            support_load_and_step(&scene, &p, 1, pieces);
            error = fmax(error, joint_error(p.joint));
        }
        support_report_pair(run, &p);
        support_report_error(run, error);
        support_scene_close(&scene);
    }
}

#define TYPE(name, type)                                                                           \
    static void name##_sampled(support_run *run, int pieces)                                       \
    {                                                                                              \
        under_load(run, type, pieces);                                                             \
    }                                                                                              \
    static void name(support_run *run)                                                             \
    {                                                                                              \
        under_load(run, type, 1);                                                                  \
    }                                                                                              \
    static void name##_in_time(support_run *run)                                                   \
    {                                                                                              \
        support_report_limit(run, name##_sampled);                                                 \
    }

TYPE(ball, dJointTypeBall)
TYPE(hinge, dJointTypeHinge)
TYPE(slider, dJointTypeSlider)
TYPE(universal, dJointTypeUniversal)
TYPE(hinge2, dJointTypeHinge2)
TYPE(fixed, dJointTypeFixed)
TYPE(null, dJointTypeNull)
TYPE(plane2d, dJointTypePlane2D)
TYPE(pr, dJointTypePR)
TYPE(pu, dJointTypePU)
TYPE(piston, dJointTypePiston)
TYPE(dball, dJointTypeDBall)
TYPE(dhinge, dJointTypeDHinge)

#define ROW(words, name, ess, advance)                                                             \
    {                                                                                              \
        words, name, name##_in_time,                                                               \
        {                                                                                          \
            AS_STOCK, ess, advance                                                                 \
        }                                                                                          \
    }

const support_row support_joints[] = {
    ROW("ball", ball, EXACT, NEARER(0.004, CIRCLES)),
    ROW("hinge", hinge, EXACT, NEAR(0.004, "of order 1, as stock's")),
    ROW("slider", slider, EXACT, AS_STOCK),
    ROW("universal", universal, EXACT, NEARER(0.02, CIRCLES)),
    ROW("hinge2", hinge2, EXACT, NEARER(0.004, CIRCLES)),
    ROW("fixed", fixed, EXACT, NEAR(0.006, "of order 1, as stock's")),
    {"null", null, null_in_time, {AS_STOCK, EXACT, NEAR(2e-7, "torques act in halves")}},
    ROW("plane2D", plane2d, EXACT, AS_STOCK),
    ROW("PR", pr, EXACT, AS_STOCK),
    ROW("PU", pu, NEAR(0.06, "in continuous time; ODE's rows let its anchors part, as in stock"),
        AS_STOCK),
    ROW("piston", piston, EXACT, AS_STOCK),
    ROW("DBall", dball, EXACT, AS_STOCK),
    ROW("DHinge", dhinge, EXACT, AS_STOCK),
    {0},
};
