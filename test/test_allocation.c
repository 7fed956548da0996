// A settled step of ours allocates nothing. The linker's --wrap sends our own calls here; those
// inside libode are not counted.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/models.h"
#include "plugin/sprag.h"

static long allocations;

extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    allocations++;
    return __real_realloc(memory, size);
}

// Every phase, joints, and a heap that is swept.
static const struct {
    const char *model, *options;
    double settled; // s
} scenes[] = {{"stack", "", 1},
              {"gripper", "", 1},
              {"car", "", 6},
              {"chain", "", 4},
              {"pile:60", "", 6},
              {"pile:60", "stribeck.sweeps=0,stribeck.max_iterations=3", 6},
              {"pile:60", "stribeck.direct_work=0", 6},
              {"pile:300", "", 4}};

START_TEST(a_settled_step_allocates_nothing)
{
    sprag_scene scene;
    ck_assert(sprag_scene_open(&scene, sprag_model_find(scenes[_i].model), 0));
    ck_assert(sprag_world_configure(scene.world, scenes[_i].options));
    for (double t = 0; t < scenes[_i].settled; t += scene.step) {
        sprag_scene_step(&scene);
    }
    ck_assert_int_gt(allocations, 0); // they are counted
    long before = allocations;
    for (int i = 0; i < 100; i++) {
        sprag_scene_step(&scene);
    }
    ck_assert_int_eq(allocations - before, 0);
    sprag_scene_close(&scene);
}
END_TEST

int main(void)
{
    dInitODE2(0);
    Suite *suite = suite_create("allocation");
    TCase *tcase = tcase_create("settled");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_settled_step_allocates_nothing, 0,
                        sizeof scenes / sizeof scenes[0]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    dCloseODE();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
