// Price of method=ess: time of a step beside dWorldStep's, at 10 ms and 2 s of each scene, without
// collision detection before the step; by tolerance. Scenes: a rod on a hinge; a chain of 12 links
// on ball joints; the same on hinges; a leg of three hinges that hops on a soft foot; a heap of 20
// soft boxes that has come to rest in 2 s, and one that hardly loses energy and swings up and down
// for ever; 49 elastic balls; rigid: a box that slides and comes to rest, 20 boxes at rest, eight
// boxes and balls that fall on one another. "declined": groups' steps, a step, that the implicit
// step took in part. Then errors of the first three after half a second beside stock's with shorter
// steps, and the time that stock would take to the error of ess: beyond its runs, by the order that
// its error has at the last of them.
#include <math.h>
#include <string.h>

#include "bench.h"
#include "worlds_ess.h"

static const double STEP = 0.01; // s
enum { STEPS = 200 };

typedef yielding *open_fn(const char *options, double step);

static dBodyID add_link(yielding *y, int i, bool hinge, dBodyID before)
{
    dMass mass;
    dMassSetBoxTotal(&mass, 0.1, 0.1, 0.02, 0.02);
    dBodyID link = yielding_body(y, &mass, NULL, 0.05 + 0.1 * i, 0, 0);
    dJointID joint = hinge ? dJointCreateHinge(y->world, 0) : dJointCreateBall(y->world, 0);
    dJointAttach(joint, link, before);
    if (hinge) {
        dJointSetHingeAnchor(joint, 0.1 * i, 0, 0);
        dJointSetHingeAxis(joint, 0, i % 2 ? 0 : 1, i % 2);
    } else {
        dJointSetBallAnchor(joint, 0.1 * i, 0, 0);
    }
    return link;
}

static yielding *open_links(const char *options, double step, int links, bool hinges)
{
    yielding *y = yielding_open(options, (material){.bounce = -1}, step);
    dBodyID last = NULL;
    for (int i = 0; i < links; i++) {
        last = add_link(y, i, hinges, last);
    }
    return y;
}

static yielding *open_chain(const char *options, double step)
{
    return open_links(options, step, 12, false);
}

static yielding *open_hinges(const char *options, double step)
{
    return open_links(options, step, 12, true);
}

static yielding *open_leg(const char *options, double step)
{
    const material soft = {
        .stiffness = 1e4, .dissipation = 0.2, .friction = 0.8, .stiction = 0.01, .bounce = -1};
    yielding *y = yielding_open(options, soft, step);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dMass mass;
    dMassSetBoxTotal(&mass, 2, 0.3, 0.2, 0.1);
    dBodyID upper = yielding_body(y, &mass, NULL, 0, 0, 0.75);
    static const double height[] = {0.55, 0.3, 0.08}; // m: thigh, shank, foot
    for (int i = 0; i < 3; i++) {
        dMassSetBoxTotal(&mass, 0.3, 0.05, 0.05, 0.2);
        dGeomID geom = i < 2 ? NULL : dCreateSphere(y->space, 0.05);
        dBodyID lower = yielding_body(y, &mass, geom, 0, 0, height[i]);
        dJointID hinge = dJointCreateHinge(y->world, 0);
        dJointAttach(hinge, upper, lower);
        dJointSetHingeAnchor(hinge, 0, 0, height[i] + 0.1);
        dJointSetHingeAxis(hinge, 0, 1, 0);
        upper = lower;
    }
    return y;
}

static yielding *open_boxes(const char *options, double step, material made_of)
{
    yielding *y = yielding_open(options, made_of, step);
    dCreatePlane(y->space, 0, 0, 1, 0);
    for (int i = 0; i < 20; i++) {
        dMass mass;
        dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.2);
        yielding_body(y, &mass, dCreateBox(y->space, 0.2, 0.2, 0.2), 0.25 * (i % 2),
                      0.25 * (i / 2 % 2), 0.1 + 0.2 * (i / 4));
    }
    return y;
}

static material soft(double dissipation)
{
    return (material){.stiffness = 1e4,
                      .dissipation = dissipation,
                      .friction = 0.5,
                      .stiction = 0.01,
                      .bounce = -1};
}

static yielding *open_heap(const char *options, double step)
{
    yielding *y = open_boxes(options, step, soft(5));
    for (int k = 0; k < STEPS; k++) {
        yielding_step(y);
    }
    return y;
}

static yielding *open_towers(const char *options, double step)
{
    return open_boxes(options, step, soft(0.2));
}

static yielding *open_balls(const char *options, double step)
{
    yielding *y = yielding_open(options, (material){.bounce = 1}, step);
    dCreatePlane(y->space, 0, 0, 1, 0);
    for (int i = 0; i < 49; i++) {
        yielding_ball(y, 1, 0.1, 0.5 * (i % 7), 0.5 * (i / 7), 1 + 0.01 * i);
    }
    return y;
}

static const material RIGID = {.friction = 0.5, .bounce = -1};

static yielding *open_slide(const char *options, double step)
{
    yielding *y = yielding_open(options, RIGID, step);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.1);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID box = yielding_body(y, &mass, dCreateBox(y->space, 0.2, 0.2, 0.1), 0, 0, 0.05);
    dBodySetLinearVel(box, 5, 0, 0);
    return y;
}

static yielding *open_rest(const char *options, double step)
{
    return open_boxes(options, step, RIGID);
}

static yielding *open_fall(const char *options, double step)
{
    yielding *y = yielding_open(options, RIGID, step);
    dCreatePlane(y->space, 0, 0, 1, 0);
    for (int i = 0; i < 8; i++) {
        double x = (i % 2 ? 0.13 : 0.1) * (i % 3), z = 0.2 + 0.25 * i;
        dMass mass;
        dMassSetBoxTotal(&mass, 1, 0.2, 0.25, 0.15);
        if (i % 2) {
            yielding_ball(y, 1, 0.1, x, 0.05, z);
        } else {
            yielding_body(y, &mass, dCreateBox(y->space, 0.2, 0.25, 0.15), x, 0, z);
        }
    }
    return y;
}

static const struct {
    const char *name;
    open_fn *open;
    double target; // times stock; INFINITY: none
} scene[] = {{"pendulum", pendulum_open, 10},
             {"chain of 12", open_chain, 12},
             {"hinges, 12", open_hinges, 12},
             {"leg", open_leg, 10},
             {"heap of 20 at rest", open_heap, 3},
             {"20 boxes, swinging", open_towers, INFINITY},
             {"49 balls", open_balls, 3},
             {"rigid box slides", open_slide, INFINITY},
             {"20 rigid at rest", open_rest, INFINITY},
             {"8 rigid fall", open_fall, INFINITY}};
enum { SCENES = sizeof scene / sizeof *scene };

static const struct {
    const char *name, *text;
} options[] = {{"ode-step", "method=ode-step"},
               {"ess", "method=ess"},
               {"ess 1e-9", "method=ess,ess.tolerance=1e-9"},
               {"ess 1e-4", "method=ess,ess.tolerance=1e-4"}};
enum { OPTIONS = sizeof options / sizeof *options };

typedef struct price {
    double us;       // a step, the least of three runs
    double declined; // steps of groups, a step
    double steps;    // of the integrator, a step
} price;

static price run_once(open_fn *open, const char *with, double step, int steps)
{
    price p = {0};
    sprag_world_statistics stats = {.struct_size = sizeof stats};
    yielding *y = open(with, step);
    for (int k = 0; k < steps; k++) {
        yielding_step(y);
        p.us += bench_stepper_us / steps;
    }
    if (!y->stock && sprag_world_stats(y->world, &stats)) {
        p.steps = (double)stats.ess_steps / steps;
        p.declined = (double)(stats.ess_declined + stats.ess_switched) / steps;
    }
    yielding_close(y);
    return p;
}

static price run_scene(open_fn *open, const char *with, double step, int steps)
{
    price least = {.us = INFINITY};
    for (int i = 0; i < 3; i++) {
        price p = run_once(open, with, step, steps);
        least = p.us < least.us ? p : least;
    }
    return least;
}

static void bench_scenes_price(line_fn *line)
{
    line("price|step|options|us a step|x stock|ess steps|declined");
    for (int s = 0; s < SCENES; s++) {
        double stock = 0;
        for (int o = 0; o < OPTIONS; o++) {
            price p = run_scene(scene[s].open, options[o].text, STEP, STEPS);
            stock = o == 0 ? p.us : stock;
            line("%s||%s|%.1f|%.1f|%.1f|%.2f", scene[s].name, options[o].name, p.us, p.us / stock,
                 p.steps, p.declined);
            if (o == 1 && scene[s].target < INFINITY) {
                bench_at_most(scene[s].name, p.us / stock, scene[s].target);
            }
        }
    }
}

// ---- at equal error

// Distance of the last body after half a second from where it is under a tolerance of 1e-11 (m).
static double run_error(open_fn *open, const char *with, double step, double *us)
{
    static double exact[3];
    static open_fn *of;
    double at[2][3];
    const char *run[] = {"method=ess,ess.tolerance=1e-11", with};
    for (int i = of == open; i < 2; i++) {
        double h = i ? step : STEP;
        int steps = (int)lround(0.5 / h);
        yielding *y = open(run[i], h);
        *us = 0;
        for (int k = 0; k < steps; k++) {
            yielding_step(y);
            *us += bench_stepper_us;
        }
        const dReal *x = dBodyGetPosition(y->body[y->bodies - 1]);
        for (int k = 0; k < 3; k++) {
            *(i ? &at[1][k] : &exact[k]) = x[k];
        }
        yielding_close(y);
    }
    of = open;
    return sqrt(pow(at[1][0] - exact[0], 2) + pow(at[1][1] - exact[1], 2) +
                pow(at[1][2] - exact[2], 2));
}

enum { HALVINGS = 7 };

// Time (us) that stock would take to an error: between or beyond its runs, by the order there.
static double stock_us(const double *error, const double *us, double wanted)
{
    int k = 1;
    while (k < HALVINGS - 1 && error[k] > wanted) {
        k++;
    }
    double order = log(error[k - 1] / error[k]) / log(us[k] / us[k - 1]);
    return us[k] * pow(error[k] / wanted, 1 / order);
}

static void bench_equal_error(line_fn *line)
{
    line("equal error|step|options|error, m|us|stock, us|stock/ess");
    for (int s = 0; s < 3; s++) { // stock has the same laws there
        double error[HALVINGS], us[HALVINGS];
        for (int k = 0; k < HALVINGS; k++) {
            double h = STEP / (1 << k);
            error[k] = run_error(scene[s].open, options[0].text, h, &us[k]);
            line("%s|%.3g ms|ode-step|%.1e|%.0f", scene[s].name, 1e3 * h, error[k], us[k]);
        }
        for (int o = 1; o < OPTIONS; o++) {
            double ours, wrong = run_error(scene[s].open, options[o].text, STEP, &ours);
            double stock = stock_us(error, us, wrong);
            line("%s|%g ms|%s|%.1e|%.0f|%.2g|%.1f", scene[s].name, 1e3 * STEP, options[o].name,
                 wrong, ours, stock, stock / ours);
        }
    }
}

void bench_ess_price(line_fn *line)
{
    bench_scenes_price(line);
    bench_equal_error(line);
}
