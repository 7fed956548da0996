// Boxes over a floor in sprag_advance, without ODE. `rows` is asked at the start of each sub-step,
// so there the check sees where bodies are; in between they move at constant twist (motion.h), so
// it knows where they were at a third and two thirds of the way too.
#include <math.h>
#include <string.h>

#include "bench_advance.h"

static const double gravity = 9.8; // m/s^2, as in the experiment

// ---- the check

// Share t of the way between two poses at constant twist.
static sprag_pose between(const sprag_pose *from, const sprag_pose *to, double t)
{
    double D[9] = {0}, axis[3], E[9];
    sprag_pose pose;
    for (int i = 0; i < 9; i++) {
        for (int k = 0; k < 3; k++) {
            D[i] += to->rotation[i / 3 * 3 + k] * from->rotation[i % 3 * 3 + k];
        }
    }
    axis[0] = (D[7] - D[5]) / 2;
    axis[1] = (D[2] - D[6]) / 2;
    axis[2] = (D[3] - D[1]) / 2;
    double sine = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double angle = t * atan2(sine, (D[0] + D[4] + D[8] - 1) / 2);
    double s = sine > 0 ? sin(angle) / sine : 0;
    double c = sine > 0 ? 2 * pow(sin(angle / 2) / sine, 2) : 0;
    for (int i = 0; i < 3; i++) {
        const double *a = axis;
        const double cross[3][3] = {{0, -a[2], a[1]}, {a[2], 0, -a[0]}, {-a[1], a[0], 0}};
        for (int k = 0; k < 3; k++) {
            double square = a[i] * a[k] - (i == k ? sine * sine : 0);
            E[3 * i + k] = (i == k) + s * cross[i][k] + c * square;
        }
        pose.position[i] = from->position[i] + t * (to->position[i] - from->position[i]);
    }
    for (int i = 0; i < 9; i++) {
        pose.rotation[i] = 0;
        for (int k = 0; k < 3; k++) {
            pose.rotation[i] += E[i / 3 * 3 + k] * from->rotation[3 * k + i % 3];
        }
    }
    return pose;
}

static solid solid_at(const advance_scene *s, int collider, const sprag_pose *pose)
{
    solid at = {.kind = SOLID_PLANE, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    if (collider < s->bodies) {
        at.kind = SOLID_BOX;
        memcpy(at.half, s->collider[collider].shape.half, sizeof at.half);
        memcpy(at.at, pose[collider].position, sizeof at.at);
        memcpy(at.R, pose[collider].rotation, sizeof at.R);
    }
    return at;
}

static double least_gap(const advance_scene *s, const sprag_pose *pose)
{
    double least = INFINITY;
    for (int i = 0; i < s->bodies; i++) {
        solid a = solid_at(s, i, pose);
        for (int k = i + 1; k <= s->bodies; k++) {
            solid b = solid_at(s, k, pose);
            least = fmin(least, solid_apart(&a, &b));
        }
    }
    return least;
}

static void look(advance_scene *s, const sprag_mover *body)
{
    sprag_pose pose[ADVANCE_BODIES];
    bool moved = false;
    for (int i = 0; i < s->bodies; i++) {
        moved = moved || memcmp(&body[i].pose, &s->seen[i], sizeof s->seen[i]) != 0;
    }
    for (int third = 1; third <= 3 && moved; third++) {
        for (int i = 0; i < s->bodies; i++) {
            pose[i] = third < 3 ? between(&s->seen[i], &body[i].pose, third / 3.0) : body[i].pose;
        }
        s->least = fmin(s->least, least_gap(s, pose));
    }
    for (int i = 0; i < s->bodies; i++) {
        s->seen[i] = body[i].pose;
    }
    s->looks += moved;
}

// ---- callbacks of the solver

static bool on_touch(void *data, int pair, double time, double gap)
{
    advance_scene *s = data;
    (void)time;
    (void)gap;
    s->pair[pair].surface = (sprag_surface){
        .slide = {.coefficient = {s->friction, s->friction}},
    };
    return true;
}

static int on_rows(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    static const sprag_row none;
    (void)step;
    look(data, body);
    *row = &none;
    return 0;
}

static void on_solved(void *data, int bodies, double (*velocity)[6])
{
    advance_scene *s = data;
    for (int i = 0; i < bodies; i++) {
        bool spoilt = chance_between(&s->chance, 0, 1) < 0.5;
        for (int k = 0; k < 6 && spoilt; k++) {
            velocity[i][k] += chance_between(&s->chance, -s->noise, s->noise);
        }
    }
}

// ---- the scene

void advance_scene_start(advance_scene *s, double friction)
{
    *s = (advance_scene){.friction = friction, .least = INFINITY, .initial = INFINITY};
    s->simulate = sprag_advance;
    s->options = sprag_advance_defaults();
    s->options.checks = true;
    s->calls = (sprag_frame_calls){.data = s, .ask_pair = on_touch, .rows = on_rows};
}

sprag_mover *advance_scene_box(advance_scene *s, const double side[3], double density, double x,
                               double y, double z)
{
    sprag_mover *body = &s->body[s->bodies];
    sprag_collider *collider = &s->collider[s->bodies];
    double mass = density * side[0] * side[1] * side[2];
    *body = (sprag_mover){.mass = mass,
                          .pose = {{x, y, z}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                          .force = {0, 0, -mass * gravity},
                          .gyroscopic = true};
    *collider = (sprag_collider){.body = s->bodies,
                                 .shape = {.kind = SPRAG_BOX},
                                 .mount = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    for (int k = 0; k < 3; k++) {
        double p = side[(k + 1) % 3], q = side[(k + 2) % 3];
        collider->shape.half[k] = side[k] / 2;
        body->inertia[4 * k] = mass * (p * p + q * q) / 12;
    }
    s->bodies++;
    return body;
}

void advance_scene_close_up(advance_scene *s)
{
    s->collider[s->bodies] = (sprag_collider){.body = SPRAG_STATIC,
                                              .shape = {.kind = SPRAG_PLANE},
                                              .mount = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    for (int i = 0; i < s->bodies; i++) {
        s->seen[i] = s->body[i].pose;
        for (int k = i + 1; k <= s->bodies; k++) {
            s->pair[s->pairs] = (sprag_pair){.collider = {i, k}, .memory = &s->memory[s->pairs]};
            s->pairs++;
        }
    }
    s->initial = least_gap(s, s->seen);
    s->calls.disturb = s->noise > 0 ? on_solved : NULL;
}

void advance_scene_step(advance_scene *s, double step)
{
    sprag_frame frame = {.step = step,
                         .bodies = s->bodies,
                         .colliders = s->bodies + 1,
                         .pairs = s->pairs,
                         .body = s->body,
                         .collider = s->collider,
                         .pair = s->pair};
    sprag_scratch_reset(&s->scratch[0]);
    s->failed += s->simulate(&frame, &s->options, &s->calls, s->scratch, &s->stats) != SPRAG_OK;
    s->time += step;
    look(s, s->body);
}

double advance_scene_energy(const advance_scene *s)
{
    double sum = 0;
    for (int i = 0; i < s->bodies; i++) {
        const sprag_mover *b = &s->body[i];
        for (int k = 0; k < 3 && b->mass > 0; k++) {
            const double *R = b->pose.rotation, *w = b->velocity + 3;
            double spin = R[k] * w[0] + R[3 + k] * w[1] + R[6 + k] * w[2];
            sum +=
                (b->mass * b->velocity[k] * b->velocity[k] + b->inertia[4 * k] * spin * spin) / 2;
        }
        sum += b->mass * gravity * b->pose.position[2];
    }
    return sum;
}

double advance_scene_speed(const advance_scene *s)
{
    double most = 0;
    for (int i = 0; i < s->bodies; i++) {
        for (int k = 0; k < 6; k++) {
            most = fmax(most, fabs(s->body[i].velocity[k]));
        }
    }
    return most;
}

void advance_scene_free(advance_scene *s)
{
    sprag_scratch_free(&s->scratch[0]);
    sprag_scratch_free(&s->scratch[1]);
}
