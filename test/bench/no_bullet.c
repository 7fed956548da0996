// Without Bullet: nobody asks for it.
#include "bench.h"

bool bench_has_bullet(void)
{
    return false;
}

void bench_bullet_print_version(void)
{
}

void bench_bullet_open(bench_scene *b)
{
    (void)b;
}

void bench_bullet_step(bench_scene *b)
{
    (void)b;
}

void bench_bullet_close(bench_scene *b)
{
    (void)b;
}
