// A recording in memory: its figures against those of the run itself, and the frames that it keeps.
#define _GNU_SOURCE 1
#include <time.h>

#include "film.h"
#include "film_scene.h"
#include "fnv.h"

static film f;

static void load(int frames)
{
    char message[REPORT_MESSAGE];
    ck_assert_msg(film_load(&f, filmed.recording, frames, message), "%s", message);
}

START_TEST(figures_are_those_of_the_run)
{
    double slip[FILM_STEPS] = {0};
    uint64_t hash = fnv_of_nothing;
    sprag_recording r;
    ck_assert(sprag_recording_open(&r, filmed.recording));
    int stick = 0, faster = 0;
    for (int k = 0; k < FILM_STEPS && sprag_recording_next(&r); k++) {
        for (uint32_t i = 0; i < r.contacts; i++) {
            const bool sticks = r.contact[i].state == SPRAG_RECORDED_STICK;
            slip[k] = sticks ? fmax(slip[k], (double)r.contact[i].slip) : slip[k];
            stick += sticks;
            faster += !sticks && r.contact[i].slip > 1;
        }
        for (uint32_t i = 0; i < r.poses; i++) {
            fnv_add(&hash, r.pose[i].position,
                    sizeof r.pose[i] - offsetof(sprag_recorded_pose, position));
        }
    }
    ck_assert(stick > 0 && faster > 0);
    sprag_recording_close(&r);
    load(0);
    const film_world *w = &f.world[0];
    ck_assert_int_eq(w->steps, FILM_STEPS);
    ck_assert_int_eq(w->frames, 0);
    ck_assert_str_eq(w->method, "stribeck");
    double cpu = 0;
    ck_assert(w->hash == hash);
    for (int k = 0; k < FILM_STEPS; k++) {
        const film_truth *truth = &filmed.truth[k];
        const film_step *s = &w->step[k];
        ck_assert_double_eq_tol(s->time, (k + 1) * step, 1e-12);
        ck_assert_double_eq(s->step, step);
        ck_assert_double_eq_tol(s->energy, truth->energy, 1e-10 * fabs(truth->energy));
        ck_assert_double_eq_tol(s->joint_gap, truth->gap, 1e-6);
        ck_assert_double_eq(s->contacts, truth->contacts);
        ck_assert_double_eq_tol(s->depth, truth->depth, 1e-6 * truth->depth);
        ck_assert_double_eq_tol(s->mean_depth, truth->mean_depth, 1e-6 * truth->depth);
        ck_assert_double_eq(s->slip, slip[k]);
        ck_assert(s->cpu > 0 && s->residual >= 0 && s->iterations >= 0 && s->fallbacks == 0);
        cpu += s->cpu;
    }
    ck_assert_double_le(cpu, (double)clock() / CLOCKS_PER_SEC); // this process made all steps
    ck_assert(isnan(f.world[1].step[0].joint_gap));
    ck_assert_double_eq(f.world[1].step[0].depth, 0);
    film_free(&f);
}
END_TEST

START_TEST(bodies_and_shapes_have_their_steps)
{
    load(0);
    ck_assert_int_eq(f.worlds, 2);
    const film_world *w = &f.world[0];
    ck_assert_int_eq(w->bodies, FILM_BODIES);
    for (int i = 0; i < FILM_BODIES; i++) {
        const film_body *b = film_body_of(w, w->body[i].body);
        ck_assert_ptr_eq(b, &w->body[i]);
        ck_assert_int_eq(b->first, i == COMING ? COMES : 0);
        ck_assert_int_eq(b->last, i == GOING ? GOES - 1 : FILM_STEPS - 1);
    }
    ck_assert_ptr_null(film_body_of(w, w->body[FILM_BODIES - 1].body + 1));
    ck_assert_double_eq(w->body[SLIDES].mass, 1);
    ck_assert_double_eq(w->body[SLIDES].inertia[5], 0.1);
    int grown = 0, meshes = 0;
    ck_assert_int_eq(w->shapes, FILM_GEOMS + 2); // one grows, one is left by its body
    for (int i = 0; i < w->shapes; i++) {
        const sprag_recorded_shape *s = &w->shape[i].shape;
        if (s->body == w->body[TUMBLES].body) {
            ck_assert_double_eq(s->size[0], grown ? 0.3 : 0.2);
            ck_assert_int_eq(w->shape[i].from, grown ? GROWS : 0);
            ck_assert_double_eq_tol(s->position[2], -0.3, 1e-12);
            grown++;
        }
        if (s->kind == SPRAG_RECORDED_MESH) { // a cube, from the corner of the least coordinates on
            const film_shape *mesh = &w->shape[i];
            double side = meshes++ ? 1 : 0.5; // the newest first
            ck_assert_uint_eq(s->triangles, 12);
            for (uint32_t k = 0; k < 36; k++) {
                const float *at = mesh->vertex[mesh->triangle[k / 3].vertex[k % 3]].at;
                for (int n = 0; n < 3; n++) {
                    ck_assert_double_eq((double)fabsf(at[n]), side / 2);
                }
            }
        }
    }
    ck_assert_int_eq(grown, 2);
    ck_assert_int_eq(meshes, 2);
    film_free(&f);
}
END_TEST

static int worst_of(const film_world *w, size_t figure)
{
    int worst = 0;
    for (int k = 1; k < w->steps; k++) {
        const char *now = (const char *)&w->step[k], *most = (const char *)&w->step[worst];
        double a = *(const double *)(const void *)(now + figure);
        double b = *(const double *)(const void *)(most + figure);
        worst = a > b || (isnan(b) && a > 0) ? k : worst;
    }
    return worst;
}

// Evenly spaced ones, the last, and the worst of each figure.
START_TEST(frames_are_spaced_and_the_worst)
{
    static const int most[] = {1, 5, 6, FILM_STEPS - 1, FILM_STEPS, 1000},
                     stride[] = {25, 5, 5, 2, 1, 1};
    load(most[_i]);
    const film_world *w = &f.world[0];
    int next = 0;
    for (int k = 0; k < w->steps; k++) {
        bool kept = k % stride[_i] == 0 || k == w->steps - 1 ||
                    k == worst_of(w, offsetof(film_step, cpu)) ||
                    k == worst_of(w, offsetof(film_step, depth)) ||
                    k == worst_of(w, offsetof(film_step, slip)) ||
                    k == worst_of(w, offsetof(film_step, residual)) ||
                    k == worst_of(w, offsetof(film_step, joint_gap));
        if (kept) {
            const film_frame *frame = &w->frame[next];
            ck_assert_int_lt(next, w->frames);
            ck_assert_int_eq(frame->step, k);
            ck_assert_uint_eq(frame->contacts, (unsigned)filmed.truth[k].contacts);
            ck_assert_uint_eq(frame->poses,
                              FILM_BODIES - (unsigned)(k >= GOES) - (unsigned)(k < COMES));
            next++;
        }
    }
    ck_assert_int_eq(next, w->frames);
    ck_assert_int_eq(f.world[1].frames, 1);
    ck_assert_double_eq(f.world[1].frame[0].pose[0].position[0], 2000);
    film_free(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("film");
    ADD_TESTS_WITH(suite, "all", film_setup, film_teardown, {figures_are_those_of_the_run, 1},
                   {bodies_and_shapes_have_their_steps, 1}, {frames_are_spaced_and_the_worst, 6});
    return run_suite_as(suite, CK_FORK);
}
