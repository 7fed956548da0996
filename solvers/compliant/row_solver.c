// Block principal pivoting with Cholesky factors within the envelope.
#include "row_solver.h"

#include <math.h>

#include "compliant_constants.h"

static double *row_of(const compliant_row_system *s, double *A, int i)
{
    return compliant_entry(s, A, i, s->first[i]) - s->first[i];
}

static bool is_bound(const compliant_row_system *s, int i)
{
    return s->row[i].at != COMPLIANT_BETWEEN;
}

// L L' = A of the rows between their bounds; the others have a row of the identity. false: a row
// depends on others, and has no compliance.
static bool factor(compliant_row_system *s)
{
    for (int i = 0; i < s->count; i++) {
        double *row = row_of(s, s->factor, i);
        const double *from = row_of(s, s->A, i);
        double diagonal = is_bound(s, i) ? 1 : from[i], pivot = diagonal;
        for (int k = s->first[i]; k < i; k++) {
            const double *other = row_of(s, s->factor, k);
            double sum = is_bound(s, i) || is_bound(s, k) ? 0 : from[k];
            int start = s->first[i] > s->first[k] ? s->first[i] : s->first[k];
            for (int l = start; l < k; l++) {
                sum -= row[l] * other[l];
            }
            row[k] = sum / other[k];
            pivot -= row[k] * row[k];
        }
        if (!(pivot > COMPLIANT_PIVOT_MIN * diagonal)) {
            return false;
        }
        row[i] = sqrt(pivot);
    }
    return true;
}

static void substitute(compliant_row_system *s, double *b)
{
    for (int i = 0; i < s->count; i++) {
        const double *row = row_of(s, s->factor, i);
        for (int k = s->first[i]; k < i; k++) {
            b[i] -= row[k] * b[k];
        }
        b[i] /= row[i];
    }
    for (int i = s->count; i-- > 0;) {
        const double *row = row_of(s, s->factor, i);
        b[i] /= row[i];
        for (int k = s->first[i]; k < i; k++) {
            b[k] -= row[k] * b[i];
        }
    }
}

static double bound_of(const compliant_active_row *row)
{
    return row->at == COMPLIANT_AT_LOWER ? row->lo : row->hi;
}

// Right side of the rows between their bounds, less the effect of those at bounds, whose entry is
// their bound.
static void set_right(compliant_row_system *s)
{
    for (int i = 0; i < s->count; i++) {
        s->solution[i] = is_bound(s, i) ? bound_of(&s->row[i]) : s->right[i];
    }
    for (int i = 0; i < s->count; i++) {
        for (int k = s->first[i]; k < i; k++) {
            if (is_bound(s, i) != is_bound(s, k)) {
                int to = is_bound(s, i) ? k : i, from = is_bound(s, i) ? i : k;
                s->solution[to] -= *compliant_entry(s, s->A, i, k) * bound_of(&s->row[from]);
            }
        }
    }
}

// w = A lambda - right
static void set_excess(compliant_row_system *s, double *w)
{
    for (int i = 0; i < s->count; i++) {
        w[i] = -s->right[i];
    }
    for (int i = 0; i < s->count; i++) {
        for (int k = s->first[i]; k <= i; k++) {
            double a = *compliant_entry(s, s->A, i, k);
            w[i] += a * s->solution[k];
            w[k] += k < i ? a * s->solution[i] : 0;
        }
    }
}

// Bound of a row by its lambda and excess.
static compliant_bound next_bound(const compliant_row_system *s, const double *w, int i)
{
    const compliant_active_row *row = &s->row[i];
    switch (row->at) {
    case COMPLIANT_BETWEEN:
        return s->solution[i] < row->lo   ? COMPLIANT_AT_LOWER
               : s->solution[i] > row->hi ? COMPLIANT_AT_UPPER
                                          : COMPLIANT_BETWEEN;
    case COMPLIANT_AT_LOWER:
        return w[i] < 0 ? COMPLIANT_BETWEEN : COMPLIANT_AT_LOWER;
    case COMPLIANT_AT_UPPER:
        return w[i] > 0 ? COMPLIANT_BETWEEN : COMPLIANT_AT_UPPER;
    }
    return COMPLIANT_BETWEEN;
}

static bool has_bounds(const compliant_row_system *s)
{
    for (int i = 0; i < s->count; i++) {
        if (isfinite(s->row[i].lo) || isfinite(s->row[i].hi)) {
            return true;
        }
    }
    return false;
}

// Exchanges all rows that violate a condition at once, and where their number does not fall, the
// last one alone, which is finite (Judice, Pires: A block principal pivoting algorithm for large
// scale strictly monotone linear complementarity problems, 1994).
bool compliant_solve_rows(compliant_row_system *s)
{
    int fewest = s->count + 1, tries = COMPLIANT_BLOCK_TRIES;
    for (int pass = 0; pass < 50 + 4 * s->count; pass++) {
        int violated = 0, last = -1;
        if (!factor(s)) {
            return false;
        }
        set_right(s);
        substitute(s, s->solution);
        if (!has_bounds(s)) {
            return true;
        }
        double *w = s->factor; // which is not needed any more
        set_excess(s, w);
        for (int i = 0; i < s->count; i++) {
            if (next_bound(s, w, i) != s->row[i].at) {
                violated++;
                last = i;
            }
        }
        if (violated == 0) {
            return true;
        }
        tries = violated < fewest ? COMPLIANT_BLOCK_TRIES : tries - 1;
        fewest = violated < fewest ? violated : fewest;
        for (int i = tries > 0 ? 0 : last; i <= last; i++) {
            s->row[i].at = next_bound(s, w, i);
        }
    }
    return false;
}
