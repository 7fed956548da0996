// Steps of a pile at rest under valgrind's callgrind; test/scripts/profile.sh runs it.
#include <stdio.h>

#include "bench.h"

// Counting begins where this is entered.
__attribute__((noinline)) void bench_profiled_steps(bench_scene *b, int steps);

void bench_profiled_steps(bench_scene *b, int steps)
{
    for (int k = 0; k < steps; k++) {
        bench_step(b);
    }
}

void bench_profile(long size)
{
    enum { WARM = 20, STEPS = 5 };
    bench_scene b;
    bench_settled_pile(&b, size);
    bench_configure(b.scene.world, "method=stribeck", 20);
    for (int k = 0; k < WARM; k++) {
        bench_step(&b);
    }
    bench_profiled_steps(&b, STEPS);
    printf("steps %d\n", STEPS);
    sprag_scene_close(&b.scene);
}
