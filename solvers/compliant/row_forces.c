// Forces of lines between their bounds.
#include <math.h>

#include "compliant_rows.h"

// L L' = A of the free lines; the others have a row of the identity. false: there is a row that is
// not independent, and has no CFM.
static bool factor(compliant_joints *j)
{
    for (int i = 0; i < j->lines; i++) {
        double *row = compliant_entry(j, j->L, i, j->first[i]) - j->first[i];
        const double *from = compliant_entry(j, j->A, i, j->first[i]) - j->first[i];
        bool held = j->line[i].at != COMPLIANT_FREE;
        double own = held ? 1 : from[i], pivot = own;
        for (int k = j->first[i]; k < i; k++) {
            const double *other = compliant_entry(j, j->L, k, j->first[k]) - j->first[k];
            double sum = held || j->line[k].at != COMPLIANT_FREE ? 0 : from[k];
            int start = j->first[i] > j->first[k] ? j->first[i] : j->first[k];
            for (int l = start; l < k; l++) {
                sum -= row[l] * other[l];
            }
            row[k] = sum / other[k];
            pivot -= row[k] * row[k];
        }
        if (!(pivot > 1e-13 * own)) {
            return false;
        }
        row[i] = sqrt(pivot);
    }
    return true;
}

static void solve(compliant_joints *j, double *b)
{
    for (int i = 0; i < j->lines; i++) {
        const double *row = compliant_entry(j, j->L, i, j->first[i]) - j->first[i];
        for (int k = j->first[i]; k < i; k++) {
            b[i] -= row[k] * b[k];
        }
        b[i] /= row[i];
    }
    for (int i = j->lines; i-- > 0;) {
        const double *row = compliant_entry(j, j->L, i, j->first[i]) - j->first[i];
        b[i] /= row[i];
        for (int k = j->first[i]; k < i; k++) {
            b[k] -= row[k] * b[i];
        }
    }
}

// What those at bounds do to the others' right sides; b of those at bounds is their force.
static void set_sides(compliant_joints *j)
{
    for (int i = 0; i < j->lines; i++) {
        const compliant_line *l = &j->line[i];
        j->b[i] = l->at == COMPLIANT_FREE       ? j->right[i]
                  : l->at == COMPLIANT_AT_LOWER ? l->lo
                                                : l->hi;
    }
    for (int i = 0; i < j->lines; i++) {
        for (int k = j->first[i]; k < i; k++) {
            bool held[2] = {j->line[i].at != COMPLIANT_FREE, j->line[k].at != COMPLIANT_FREE};
            if (held[0] != held[1]) {
                int to = held[0] ? k : i, from = held[0] ? i : k;
                const compliant_line *l = &j->line[from];
                j->b[to] -=
                    *compliant_entry(j, j->A, i, k) * (l->at == COMPLIANT_AT_LOWER ? l->lo : l->hi);
            }
        }
    }
}

// A lambda - right, of all lines.
static void excess(compliant_joints *j, double *w)
{
    for (int i = 0; i < j->lines; i++) {
        w[i] = -j->right[i];
    }
    for (int i = 0; i < j->lines; i++) {
        for (int k = j->first[i]; k <= i; k++) {
            double a = *compliant_entry(j, j->A, i, k);
            w[i] += a * j->b[k];
            w[k] += k < i ? a * j->b[i] : 0;
        }
    }
}

// Where a line belongs, by its force or by its excess.
static compliant_bound belongs(const compliant_joints *j, const double *w, int i)
{
    const compliant_line *l = &j->line[i];
    switch (l->at) {
    case COMPLIANT_FREE:
        return j->b[i] < l->lo   ? COMPLIANT_AT_LOWER
               : j->b[i] > l->hi ? COMPLIANT_AT_UPPER
                                 : COMPLIANT_FREE;
    case COMPLIANT_AT_LOWER:
        return w[i] < 0 ? COMPLIANT_FREE : COMPLIANT_AT_LOWER;
    case COMPLIANT_AT_UPPER:
        return w[i] > 0 ? COMPLIANT_FREE : COMPLIANT_AT_UPPER;
    }
    return COMPLIANT_FREE;
}

// Principal pivoting: all that are on the wrong side at once, and where that does not get nearer,
// the last of them alone, which ends (Judice, Pires: A block principal pivoting algorithm for large
// scale strictly monotone linear complementarity problems, 1994). L holds no factor afterwards.
static bool solve_bounded(compliant_joints *j)
{
    enum { TRIES = 3 };
    int fewest = j->lines + 1, tries = TRIES;
    for (int pass = 0; pass < 50 + 4 * j->lines; pass++) {
        int wrong = 0, last = -1;
        if (!factor(j)) {
            return false;
        }
        set_sides(j);
        solve(j, j->b);
        double *w = j->L;
        bool bounded = false;
        for (int i = 0; i < j->lines; i++) {
            bounded |= isfinite(j->line[i].lo) || isfinite(j->line[i].hi);
        }
        if (!bounded) {
            return true;
        }
        excess(j, w);
        for (int i = 0; i < j->lines; i++) {
            if (belongs(j, w, i) != j->line[i].at) {
                wrong++;
                last = i;
            }
        }
        if (wrong == 0) {
            return true;
        }
        tries = wrong < fewest ? TRIES : tries - 1;
        fewest = wrong < fewest ? wrong : fewest;
        for (int i = tries > 0 ? 0 : last; i <= last; i++) {
            j->line[i].at = belongs(j, w, i);
        }
    }
    return false;
}

bool compliant_push(compliant_joints *j, double *f)
{
    if (!solve_bounded(j)) {
        return false;
    }
    for (int i = 0; i < j->lines; i++) {
        double force = j->line[i].sign * j->b[i];
        j->force[j->line[i].row] += force;
        compliant_push_along(j, j->line[i].row, force, f);
    }
    return true;
}
