// Six numbers in vector registers: compilers keep arrays of six in memory. The arithmetic of each
// lane is that of a plain loop.
#ifndef SPRAG_VECTORS6_H
#define SPRAG_VECTORS6_H

typedef double sprag_four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double sprag_two __attribute__((vector_size(16), aligned(8), may_alias));

typedef struct vector6 {
    sprag_four a;
    sprag_two b;
} vector6;

static inline __attribute__((always_inline)) void load6(vector6 *s, const double *x)
{
    s->a = *(const sprag_four *)x;
    s->b = *(const sprag_two *)(x + 4);
}

static inline __attribute__((always_inline)) void store6(double *x, const vector6 *s)
{
    *(sprag_four *)x = s->a;
    *(sprag_two *)(x + 4) = s->b;
}

static inline __attribute__((always_inline)) double lane6(const vector6 *s, int i)
{
    return i < 4 ? s->a[i] : s->b[i - 4];
}

// s += f x
static inline __attribute__((always_inline)) void add6(vector6 *s, double f, const double *x)
{
    s->a += f * *(const sprag_four *)x;
    s->b += f * *(const sprag_two *)(x + 4);
}

// x.y: the sums of even and odd products.
static inline __attribute__((always_inline)) double product6(const double *x, const double *y)
{
    const sprag_two *a = (const sprag_two *)x, *b = (const sprag_two *)y;
    sprag_two sum = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    return sum[0] + sum[1];
}

// s -= f x
static inline __attribute__((always_inline)) void subtract6(vector6 *s, double f, const double *x)
{
    s->a -= f * *(const sprag_four *)x;
    s->b -= f * *(const sprag_two *)(x + 4);
}

#endif
