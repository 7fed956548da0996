// Block principal pivoting with factors L D L' within the envelope.
#include "row_solver.h"

#include <math.h>
#include <string.h>

#include "compliant_constants.h"

static bool is_bound(const compliant_row_system *s, int i)
{
    return s->row[i].at != COMPLIANT_BETWEEN;
}

// A of the rows between their bounds; the others have a row of the identity.
static void set_factor(compliant_row_system *s)
{
    memcpy(s->factor, s->A, s->entries * sizeof *s->A);
    for (int i = 0; i < s->count && s->has_bounds; i++) {
        double *row = s->line[i];
        for (int k = s->first[i]; k < i; k++) {
            row[k] = is_bound(s, i) || is_bound(s, k) ? 0 : row[k];
        }
        row[i] = is_bound(s, i) ? 1 : row[i];
    }
    for (int i = 0; i < s->count && !s->soft; i++) {
        s->line[i][i] -= is_bound(s, i) ? 0 : s->softness[i];
    }
}

// L D L' = A, with 1 / D on the diagonal. false: a row depends on others, and has no compliance;
// without softness, so much that it counts.
static bool factor(compliant_row_system *s)
{
    const double least = s->soft ? COMPLIANT_PIVOT_MIN : COMPLIANT_HARD_PIVOT_MIN;
    set_factor(s);
    for (int i = 0; i < s->count; i++) {
        double *row = s->line[i], diagonal = row[i], pivot = diagonal;
        for (int k = s->first[i]; k < i; k++) { // L D
            const double *other = s->line[k];
            double sum = row[k];
            int start = s->first[i] > s->first[k] ? s->first[i] : s->first[k];
            for (int l = start; l < k; l++) {
                sum -= row[l] * other[l];
            }
            row[k] = sum;
        }
        for (int k = s->first[i]; k < i; k++) {
            double product = row[k];
            row[k] *= s->line[k][k];
            pivot -= product * row[k];
        }
        if (!(pivot > least * diagonal)) {
            return false;
        }
        row[i] = 1 / pivot;
    }
    return true;
}

static void substitute(compliant_row_system *s, double *b)
{
    for (int i = 0; i < s->count; i++) {
        const double *row = s->line[i];
        double sum = b[i];
        for (int k = s->first[i]; k < i; k++) {
            sum -= row[k] * b[k];
        }
        b[i] = sum;
    }
    for (int i = 0; i < s->count; i++) {
        b[i] *= s->line[i][i];
    }
    for (int i = s->count; i-- > 0;) {
        const double *row = s->line[i], value = b[i];
        for (int k = s->first[i]; k < i; k++) {
            b[k] -= row[k] * value;
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
        s->solution[i] = is_bound(s, i) ? bound_of(&s->row[i]) : s->aim[i];
    }
    for (int i = 0; i < s->count && s->has_bounds; i++) {
        for (int k = s->first[i]; k < i; k++) {
            if (is_bound(s, i) != is_bound(s, k)) {
                int to = is_bound(s, i) ? k : i, from = is_bound(s, i) ? i : k;
                s->solution[to] -= *compliant_entry(s, s->A, i, k) * bound_of(&s->row[from]);
            }
        }
    }
}

// w = A lambda - aim
static void set_excess(compliant_row_system *s)
{
    double *w = s->excess;
    for (int i = 0; i < s->count; i++) {
        w[i] = -s->aim[i];
    }
    for (int i = 0; i < s->count; i++) {
        for (int k = s->first[i]; k <= i; k++) {
            double a = *compliant_entry(s, s->A, i, k);
            w[i] += a * s->solution[k];
            w[k] += k < i ? a * s->solution[i] : 0;
        }
    }
}

// Relative to the right side, per root of the diagonal: excess is rounding below. Two rows that
// share a force of 0 would change places without end by its sign.
static double rounding_of(const compliant_row_system *s)
{
    double largest = 0;
    for (int i = 0; i < s->count; i++) {
        largest = fmax(largest, fabs(s->right[i]) / sqrt(*compliant_entry(s, s->A, i, i)));
    }
    return COMPLIANT_EXCESS_ROUNDING * largest;
}

// Bound of a row by its lambda and excess.
static compliant_bound next_bound(const compliant_row_system *s, double rounding, int i)
{
    const compliant_active_row *row = &s->row[i];
    const double *w = s->excess;
    double least =
        row->at == COMPLIANT_BETWEEN ? 0 : rounding * sqrt(*compliant_entry(s, s->A, i, i));
    switch (row->at) {
    case COMPLIANT_BETWEEN:
        return s->solution[i] < row->lo   ? COMPLIANT_AT_LOWER
               : s->solution[i] > row->hi ? COMPLIANT_AT_UPPER
                                          : COMPLIANT_BETWEEN;
    case COMPLIANT_AT_LOWER:
        return w[i] < -least ? COMPLIANT_BETWEEN : COMPLIANT_AT_LOWER;
    case COMPLIANT_AT_UPPER:
        return w[i] > least ? COMPLIANT_BETWEEN : COMPLIANT_AT_UPPER;
    }
    return COMPLIANT_BETWEEN;
}

// Solves for the aim, with the factors of the bounds that rows are at. Exchanges all rows that
// violate a condition at once, and where their number does not fall, the last one alone, which is
// finite (Judice, Pires: A block principal pivoting algorithm for large scale strictly monotone
// linear complementarity problems, 1994).
static bool reach_aim(compliant_row_system *s)
{
    int fewest = s->count + 1, tries = COMPLIANT_BLOCK_TRIES;
    double rounding = s->has_bounds ? rounding_of(s) : 0;
    for (int pass = 0; pass < 50 + 4 * s->count; pass++) {
        int violated = 0, last = -1;
        s->exchanged += pass > 0 ? (double)s->entries : 0;
        if (pass > 0 && !factor(s)) {
            return false;
        }
        set_right(s);
        substitute(s, s->solution);
        if (!s->has_bounds) {
            return true;
        }
        set_excess(s);
        for (int i = 0; i < s->count; i++) {
            if (next_bound(s, rounding, i) != s->row[i].at) {
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
            s->row[i].at = next_bound(s, rounding, i);
        }
    }
    return false;
}

// The forces that the softness takes are given back by a step of the proximal point method: of the
// second solution only the square of softness / eigenvalue is missing along an eigenvector of A.
// Either problem has one solution, and its exchanges end; forces that were given back within the
// exchanges would depend on the bounds, which then could change for ever.
static bool solve(compliant_row_system *s)
{
    memcpy(s->aim, s->right, (size_t)s->count * sizeof *s->aim);
    if (!factor(s) || !reach_aim(s)) {
        return false;
    }
    for (int i = 0; i < s->count && s->soft; i++) {
        s->aim[i] += s->softness[i] * s->solution[i];
    }
    return !s->soft || reach_aim(s);
}

bool compliant_solve_rows(compliant_row_system *s)
{
    s->exchanged = 0;
    s->soft = s->dependent;
    if (solve(s)) {
        return true;
    }
    const bool again = !s->soft;
    s->soft = true;
    return again && solve(s);
}
