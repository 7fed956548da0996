// The scan of all guards after every step, in vectors as wide as the processor has (compilers do
// not make branches of the masks of comparisons). All widths give the same bits.
#include <math.h>
#include <stdint.h>

#include "ess_guards.h"

// Lists guards by their bits; returns their number.
static inline int list(uint32_t bits, int first, int *found)
{
    int count = 0;
    for (; bits; bits &= bits - 1) {
        found[count++] = first + __builtin_ctz(bits);
    }
    return count;
}

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 2
#define TARGET
#define NAME(of) of##_sse2
#define MAX(a, b) ((wide_sse2)_mm_max_pd((__m128d)(a), (__m128d)(b)))
#define ABOVE(a) ((uint32_t)_mm_movemask_pd(_mm_cmpnle_pd((__m128d)(a), _mm_setzero_pd())))
#include "scan_wide.h"

#ifndef SPRAG_PLAIN
#define LANES 4
#define TARGET __attribute__((target("avx2,popcnt")))
#define NAME(of) of##_avx2
#define MAX(a, b) ((wide_avx2)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define ABOVE(a)                                                                                   \
    ((uint32_t)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(a), _mm256_setzero_pd(), _CMP_NLE_UQ)))
#include "scan_wide.h"

#define LANES 8
#define TARGET __attribute__((target("avx512f,popcnt")))
#define NAME(of) of##_avx512
#define MAX(a, b) ((wide_avx512)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define ABOVE(a) ((uint32_t)_mm512_cmp_pd_mask((__m512d)(a), _mm512_setzero_pd(), _CMP_NLE_UQ))
#include "scan_wide.h"
#endif

#else

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline pair larger(pair a, pair b)
{
    return (pair){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
}

#define LANES 2
#define TARGET
#define NAME(of) of##_pair
#define MAX(a, b) ((wide_pair)larger((pair)(a), (pair)(b)))
#define ABOVE(a) ((uint32_t) !((a)[0] <= 0) | (uint32_t) !((a)[1] <= 0) << 1)
#include "scan_wide.h"
#endif

void sprag_guards_scan(const sprag_guards *g, const double *start, const double *middle,
                       const double *end, sprag_scan *found)
{
    found->due_count = found->reached_count = 0;
    found->receding = found->slow = 0;
#ifdef __x86_64__
#ifndef SPRAG_PLAIN
    if (__builtin_cpu_supports("avx512f")) {
        scan_avx512(g, start, middle, end, found);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        scan_avx2(g, start, middle, end, found);
        return;
    }
#endif
    scan_sse2(g, start, middle, end, found);
#else
    scan_pair(g, start, middle, end, found);
#endif
}
