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
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "scene.h"
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
    bool scatters; // goes another way, or rests in another pose, at each tolerance
} scene[] = {{"pendulum", pendulum_open, 10, false},
             {"chain of 12", open_chain, 12, false},
             {"hinges, 12", open_hinges, 12, false},
             {"leg", open_leg, 10, false},
             {"heap of 20 at rest", open_heap, 3, true},
             {"20 boxes, swinging", open_towers, INFINITY, true},
             {"49 balls", open_balls, 3, false},
             {"rigid box slides", open_slide, INFINITY, false},
             {"20 rigid at rest", open_rest, INFINITY, false},
             {"8 rigid fall", open_fall, INFINITY, true}};
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

// ---- by tolerance: who asks for less pays no more

static const double tolerances[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
// Of what goes another way at each tolerance, the cost is the mean of those near one.
static const double near[] = {1, 0.9, 0.95, 1.05, 1.1};
enum { TOLERANCES = sizeof tolerances / sizeof *tolerances, WAYS = sizeof near / sizeof *near };

// A cost and that of the next tighter tolerance: what runs of the same scene differ by.
static const double NO_MORE = 1.1;

typedef struct tolerance_options {
    char text[64];
} tolerance_options;

static tolerance_options with_tolerance(int t, int way)
{
    tolerance_options o;
    snprintf(o.text, sizeof o.text, "method=ess,ess.tolerance=%g", near[way] * tolerances[t]);
    return o;
}

// us a step, the least of some runs each, in turn, and of more if they are short.
static void add_scene_us(open_fn *open, int way, int runs, double *us)
{
    double spent = 0, least[TOLERANCES];
    for (int i = 0; i < runs || (i < 20 && spent < 5e5); i++) {
        for (int t = 0; t < TOLERANCES; t++) {
            double once = run_once(open, with_tolerance(t, way).text, STEP, STEPS).us;
            least[t] = i == 0 ? once : fmin(least[t], once);
            spent += once * STEPS;
        }
    }
    for (int t = 0; t < TOLERANCES; t++) {
        us[t] += least[t];
    }
}

// us a step in 2 s.
static double model_us(const sprag_model *model, int t, int way)
{
    bench_scene of;
    double us = 0;
    const long steps = lround(2 / model->step);
    bench_open(&of, model, with_tolerance(t, way).text, 20);
    for (long k = 0; k < steps; k++) {
        bench_step(&of);
        us += bench_stepper_us / (double)steps;
    }
    sprag_scene_close(&of.scene);
    return us;
}

static void judge_tolerances(line_fn *line, const char *name, const double *us, bool judged)
{
    double most = 0;
    line("%s|||%.1f|%.1f|%.1f|%.1f|%.1f|%.1f", name, us[0], us[1], us[2], us[3], us[4], us[5]);
    for (int t = 0; t + 1 < TOLERANCES; t++) {
        most = fmax(most, us[t] / us[t + 1]);
    }
    if (judged) {
        bench_at_most(name, most, NO_MORE);
    }
}

// Of the crowds the sum is judged: which of their steps reach the limit of work is chance.
void bench_ess_tolerance(line_fn *line)
{
    static const char *const models[] = {"chain", "ragdolls:1", "bowl:20", "dominoes:20",
                                         "wreck:20"};
    double us[TOLERANCES], sum[TOLERANCES] = {0};
    line("tolerance: us a step|||1e-3|1e-4|1e-5|1e-6|1e-7|1e-8");
    for (int s = 0; s < SCENES; s++) {
        const int ways = scene[s].scatters ? WAYS : 1;
        memset(us, 0, sizeof us);
        for (int way = 0; way < ways; way++) {
            add_scene_us(scene[s].open, way, WAYS / ways, us);
        }
        for (int t = 0; t < TOLERANCES; t++) {
            us[t] /= ways;
        }
        judge_tolerances(line, scene[s].name, us, true);
    }
    for (size_t s = 0; s < sizeof models / sizeof *models; s++) {
        const sprag_model *model = sprag_model_find(models[s]);
        memset(us, 0, sizeof us);
        for (int i = 0; i < WAYS * TOLERANCES; i++) {
            us[i % TOLERANCES] += model_us(model, i % TOLERANCES, i / TOLERANCES) / WAYS;
        }
        for (int t = 0; t < TOLERANCES; t++) {
            sum[t] += s > 0 ? us[t] : 0;
        }
        judge_tolerances(line, models[s], us, s == 0);
    }
    judge_tolerances(line, "these four", sum, true);
}

void bench_ess_price(line_fn *line)
{
    bench_scenes_price(line);
    bench_equal_error(line);
}
