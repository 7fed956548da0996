// The scan of guards for one width of vectors: included by scan.c once for each. LANES of them,
// TARGET that has them, NAME(of a function), MAX(a, b), and ABOVE(a): a bit for every lane that is
// more than 0 or NAN.
#define WIDE NAME(wide)
#define BITS NAME(bits)

typedef double WIDE __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
typedef int64_t BITS __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

TARGET static inline WIDE NAME(at)(const double *x)
{
    return *(const WIDE *)x;
}

TARGET static inline WIDE NAME(size)(WIDE x)
{
    return (WIDE)((BITS)x & INT64_MAX);
}

// Of a block: guards in their bands that are beyond, or will be in `soon` times what led from
// `before` to here; the others are counted.
TARGET static inline void NAME(list_near)(const sprag_guards *g, const double *before,
                                          const double *here, int first, sprag_scan *scan)
{
    bool all = !(scan->soon < INFINITY);
    double soon = all ? 0 : scan->soon;
    uint32_t in_band = 0, reach = all ? UINT32_MAX : 0, grows = 0;
    for (int i = 0; i < SPRAG_SCAN_BLOCK; i += LANES) {
        int k = first + i;
        WIDE sign = NAME(at)(g->sign + k), s = sign * NAME(at)(here + k);
        WIDE gain = s - sign * NAME(at)(before + k);
        in_band |= ABOVE(s + NAME(at)(g->depth + k)) << i;
        reach |= ABOVE(s + MAX(soon * gain, (WIDE){0})) << i;
        grows |= ABOVE(gain) << i;
    }
    scan->nears += list(in_band & reach, first, scan->near + scan->nears);
    uint32_t left = in_band & ~reach;
    if (left) {
        scan->receding += __builtin_popcount(left & ~grows);
        scan->far += __builtin_popcount(left & grows);
    }
}

// By how much h may get beyond the guard on its way: its highest value, extended by a quarter of
// the second difference, twice what a parabola reaches between. Then by how much beyond the near
// edge of its band.
TARGET static inline void NAME(list_way)(const sprag_guards *g, const double *start,
                                         const double *middle, const double *end, int first,
                                         sprag_scan *scan)
{
    uint32_t reached = 0, beyond = 0;
    for (int i = 0; i < SPRAG_SCAN_BLOCK; i += LANES) {
        int k = first + i;
        WIDE sign = NAME(at)(g->sign + k), h0 = NAME(at)(start + k), h1 = NAME(at)(middle + k),
             h2 = NAME(at)(end + k);
        WIDE most = MAX(MAX(sign * h0, sign * h2), sign * h1) + 0.25 * NAME(size)(h0 + h2 - 2 * h1);
        reached |= ABOVE(most) << i;
        beyond |= ABOVE(most + NAME(at)(g->depth + k)) << i;
    }
    scan->reaches += list(scan->edges ? beyond : reached, first, scan->reached + scan->reaches);
    if (beyond) {
        NAME(list_near)(g, start, end, first, scan);
    }
}

// That is at most one and a half of the longer half of the way behind the middle.
TARGET static void NAME(scan_way)(const sprag_guards *g, const double *start, const double *middle,
                                  const double *end, sprag_scan *scan)
{
    for (int first = 0; first < g->count; first += SPRAG_SCAN_BLOCK) {
        uint32_t some = 0;
        for (int i = 0; i < SPRAG_SCAN_BLOCK; i += LANES) {
            int k = first + i;
            WIDE h1 = NAME(at)(middle + k);
            WIDE far =
                MAX(NAME(size)(NAME(at)(start + k) - h1), NAME(size)(NAME(at)(end + k) - h1));
            some |= ABOVE(NAME(at)(g->sign + k) * h1 + 1.5 * far + NAME(at)(g->depth + k));
        }
        if (some) {
            NAME(list_way)(g, start, middle, end, first, scan);
        }
    }
}

TARGET static void NAME(scan_point)(const sprag_guards *g, const double *before, const double *here,
                                    sprag_scan *scan)
{
    for (int first = 0; first < g->count; first += SPRAG_SCAN_BLOCK) {
        uint32_t some = 0;
        for (int i = 0; i < SPRAG_SCAN_BLOCK; i += LANES) {
            int k = first + i;
            some |= ABOVE(NAME(at)(g->sign + k) * NAME(at)(here + k) + NAME(at)(g->depth + k));
        }
        if (some) {
            NAME(list_near)(g, before, here, first, scan);
        }
    }
}

TARGET static void NAME(scan)(const sprag_guards *g, const double *start, const double *middle,
                              const double *end, sprag_scan *scan)
{
    if (middle) {
        NAME(scan_way)(g, start, middle, end, scan);
    } else {
        NAME(scan_point)(g, start, end, scan);
    }
}

#undef WIDE
#undef BITS
#undef LANES
#undef TARGET
#undef NAME
#undef MAX
#undef ABOVE
