// Taylor coefficients of turning vectors; first zeros by Bernstein coefficients.
#include "series.h"

#include "toi_constants.h"

void sprag_turning_set(const double of[3], const double seen_from[3], sprag_turning *turning)
{
    subtract3(of, seen_from, turning->rate[0]);
    turning->length[0] = norm3(turning->rate[0]);
    int k = 0;
    while (turning->length[k] != 0 && ++k < SPRAG_TERMS) {
        cross3(turning->rate[k - 1], seen_from, turning->rate[k]);
        for (int i = 0; i < 3; i++) {
            turning->rate[k][i] /= k;
        }
        turning->length[k] = norm3(turning->rate[k]);
    }
    turning->terms = k;
}

// Bound of the coefficient after the last one at any time.
static double remainder_of(const sprag_turning *turning, const double a[3])
{
    double bound[SPRAG_TERMS + 1] = {norm3(a)};
    for (int k = 0; k < SPRAG_TERMS; k++) {
        double sum = 0;
        for (int j = 0; j <= k && j < turning->terms; j++) {
            sum += turning->length[j] * bound[k - j];
        }
        bound[k + 1] = sum / (k + 1);
    }
    return bound[SPRAG_TERMS];
}

void sprag_turning_apply(const sprag_turning *turning, const double a[3], sprag_series3 *m)
{
    memset(m, 0, sizeof *m);
    memcpy(m->c[0], a, sizeof m->c[0]);
    if (turning->terms == 0) {
        return;
    }
    for (int k = 0; k + 1 < SPRAG_TERMS; k++) {
        for (int j = 0; j <= k && j < turning->terms; j++) {
            double part[3];
            cross3(turning->rate[j], m->c[k - j], part);
            add_scaled(m->c[k + 1], 1.0 / (k + 1), part, 3);
        }
    }
    m->remainder = remainder_of(turning, a);
}

void sprag_series_line(const double d[3], const double v[3], const double w[3], sprag_series3 *y)
{
    static const double still[3] = {0};
    sprag_turning seen;
    sprag_series3 way;
    sprag_turning_set(still, w, &seen);
    sprag_turning_apply(&seen, d, y);
    sprag_turning_apply(&seen, v, &way); // times u
    for (int k = 1; k < SPRAG_TERMS; k++) {
        add_scaled(y->c[k], 1, way.c[k - 1], 3);
    }
    y->remainder += norm3(way.c[SPRAG_TERMS - 1]) + way.remainder;
}

void sprag_series_multiply(const sprag_series *f, const sprag_series *g, sprag_series *fg)
{
    double sum_f = 0, sum_g = 0, beyond = 0;
    sprag_series product = {.remainder = 0};
    for (int i = 0; i < SPRAG_TERMS; i++) {
        for (int j = 0; j < SPRAG_TERMS; j++) {
            if (i + j < SPRAG_TERMS) {
                product.c[i + j] += f->c[i] * g->c[j];
            } else {
                beyond += fabs(f->c[i] * g->c[j]);
            }
        }
        sum_f += fabs(f->c[i]);
        sum_g += fabs(g->c[i]);
    }
    product.remainder = beyond + f->remainder * (sum_g + g->remainder) + g->remainder * sum_f;
    *fg = product;
}

// For any positive s: sqrt(q) <= s + (q - s^2) / (2 s). s takes the coefficients of the root; then
// q - s^2 consists of the remainder and rounding errors.
bool sprag_series_root(const sprag_series *q, sprag_series *root)
{
    if (!(q->c[0] > 0)) {
        return false;
    }
    sprag_series s = {.c = {sqrt(q->c[0])}}, square;
    double least = s.c[0];
    for (int k = 1; k < SPRAG_TERMS; k++) {
        double sum = q->c[k];
        for (int j = 1; j < k; j++) {
            sum -= s.c[j] * s.c[k - j];
        }
        s.c[k] = sum / (2 * s.c[0]);
        least -= fabs(s.c[k]);
    }
    if (!(least > SPRAG_SERIES_ROOT * s.c[0])) {
        return false;
    }
    sprag_series_multiply(&s, &s, &square);
    s.remainder = (q->remainder + square.remainder) / (2 * least);
    *root = s;
    return true;
}

// ---- zeros

enum { DEGREE = SPRAG_TERMS };

// Control points of the parts left and right of x (de Casteljau).
static void split(const double b[DEGREE + 1], double x, double left[DEGREE + 1],
                  double right[DEGREE + 1])
{
    memcpy(right, b, (DEGREE + 1) * sizeof *b);
    left[0] = right[0];
    for (int k = 1; k <= DEGREE; k++) {
        for (int i = 0; i <= DEGREE - k; i++) {
            right[i] += x * (right[i + 1] - right[i]);
        }
        left[k] = right[0];
    }
}

// First and last crossing of 0 by the convex hull of the control points: the curve is positive up
// to the first, and negative from the last on if it ends negative.
static void hull_crosses(const double b[DEGREE + 1], double *first, double *last)
{
    *first = 1;
    *last = 0;
    for (int i = 0; i < DEGREE; i++) {
        for (int j = i + 1; j <= DEGREE && b[i] >= 0; j++) {
            if (b[j] < 0) {
                double x = (i + (j - i) * (b[i] / (b[i] - b[j]))) / DEGREE;
                *first = x < *first ? x : *first;
                *last = x > *last ? x : *last;
            }
        }
    }
}

// Each call halves the interval, or more.
static double positive_until(const double b[DEGREE + 1], double from, double to)
{
    double least = b[0], x, last, left[DEGREE + 1], right[DEGREE + 1];
    for (int i = 1; i <= DEGREE; i++) {
        least = b[i] < least ? b[i] : least;
    }
    if (least >= 0) {
        return to;
    }
    hull_crosses(b, &x, &last);
    double reached = from + x * (to - from);
    if (!(b[0] > 0) || to - from < SPRAG_SERIES_FINEST + SPRAG_SERIES_RELATIVE * from) {
        return b[0] > 0 ? reached : from;
    }
    if (b[DEGREE] < 0 && last - x < 0.5) { // the first zero is between
        split(b, x, left, right);
        if (last < 1) {
            split(right, (last - x) / (1 - x), left, right);
            memcpy(right, left, sizeof left);
        }
        return positive_until(right, reached, from + last * (to - from));
    }
    double middle = from + (to - from) / 2;
    split(b, 0.5, left, right);
    reached = positive_until(left, from, middle);
    return reached < middle ? reached : positive_until(right, middle, to);
}

double sprag_series_positive(const sprag_series *f, double until)
{
    static const double over_binomial[DEGREE + 1] = {1, 0.2, 0.1, 0.1, 0.2, 1}; // 1 / C(5, k)
    double a[DEGREE + 1], sum = f->c[0], scale = 1;
    a[0] = f->c[0];
    for (int k = 1; k <= DEGREE; k++) {
        scale *= until;
        a[k] = scale * (k < SPRAG_TERMS ? f->c[k] : -f->remainder);
        sum += fmin(a[k], 0);
        a[k] *= over_binomial[k];
    }
    if (sum >= 0) {
        return until;
    }
    if (!(a[0] > 0) || !isfinite(sum)) {
        return 0;
    }
    // b_j = sum over k of C(j, k) a_k: sums of sums.
    for (int k = 1; k <= DEGREE; k++) {
        for (int i = DEGREE; i >= k; i--) {
            a[i] += a[i - 1];
        }
    }
    // The control points may be wrong by a few units in the last place of the largest term.
    return positive_until(a, 0, until);
}
