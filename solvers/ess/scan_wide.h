// The scan of guards for one width of vectors; scan.c includes it once for each. LANES: doubles in
// a vector. TARGET: the attribute of the processor that has them. NAME(f): a function's name for
// this width. MAX(a, b). ABOVE(a): a bit for each lane that is more than 0 or NAN.
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

// Lists the guards of a block that are in their bands and are beyond 0, or will be within
// `lookahead` times the way from `before` to `here`; counts the others in their bands.
TARGET static inline void NAME(list_near)(const sprag_guards *g, const double *before,
                                          const double *here, int first, sprag_scan *scan)
{
    bool all = !(scan->lookahead < INFINITY);
    double lookahead = all ? 0 : scan->lookahead;
    uint32_t in_band = 0, reach = all ? UINT32_MAX : 0, grows = 0;
    for (int i = 0; i < SPRAG_SCAN_BLOCK; i += LANES) {
        int k = first + i;
        WIDE sign = NAME(at)(g->sign + k), s = sign * NAME(at)(here + k);
        WIDE gain = s - sign * NAME(at)(before + k);
        in_band |= ABOVE(s + NAME(at)(g->depth + k)) << i;
        reach |= ABOVE(s + MAX(lookahead * gain, (WIDE){0})) << i;
        grows |= ABOVE(gain) << i;
    }
    scan->due_count += list(in_band & reach, first, scan->due + scan->due_count);
    uint32_t left = in_band & ~reach;
    if (left) {
        scan->receding += __builtin_popcount(left & ~grows);
        scan->slow += __builtin_popcount(left & grows);
    }
}

// A guard may be reached if its highest value, plus a quarter of the second difference (twice the
// rise of a parabola between the points), is beyond 0, or beyond the near edge of its band.
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
    scan->reached_count +=
        list(scan->to_bands ? beyond : reached, first, scan->reached + scan->reached_count);
    if (beyond) {
        NAME(list_near)(g, start, end, first, scan);
    }
}

// Skips blocks without a guard that may be reached: h stays within one and a half of its larger
// change from the middle.
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
