// Six numbers in registers: compilers leave arrays of six, copied in and out, in memory. Lane by
// lane the arithmetic is that of the loops it stands for.
#ifndef SPRAG_VECTORS6_H
#define SPRAG_VECTORS6_H

typedef double sprag_four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double sprag_two __attribute__((vector_size(16), aligned(8), may_alias));

typedef struct six {
    sprag_four a;
    sprag_two b;
} six;

static inline __attribute__((always_inline)) void load6(six *s, const double *x)
{
    s->a = *(const sprag_four *)x;
    s->b = *(const sprag_two *)(x + 4);
}

static inline __attribute__((always_inline)) void store6(double *x, const six *s)
{
    *(sprag_four *)x = s->a;
    *(sprag_two *)(x + 4) = s->b;
}

static inline __attribute__((always_inline)) double lane6(const six *s, int i)
{
    return i < 4 ? s->a[i] : s->b[i - 4];
}

// s += f x
static inline __attribute__((always_inline)) void add6(six *s, double f, const double *x)
{
    s->a += f * *(const sprag_four *)x;
    s->b += f * *(const sprag_two *)(x + 4);
}

// s -= f x
static inline __attribute__((always_inline)) void subtract6(six *s, double f, const double *x)
{
    s->a -= f * *(const sprag_four *)x;
    s->b -= f * *(const sprag_two *)(x + 4);
}

#endif
