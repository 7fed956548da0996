// Exact search along an update with frozen friction bounds: the minimum of a convex function of one
// variable. The laws are copied along the line once, into arrays; the slope at any place is then a
// few vector operations.
#include <math.h>

#include "laws.h"
#include "linalg.h"
#include "stribeck_constants.h"
#include "system.h"
#include "vectors.h"

enum { LANES = 8, FRICTION_ROWS = 7, LIMITED_ROWS = 5 };

// Arrays of the same quantity one after the other, padded to whole vectors with entries that add 0.
typedef struct line {
    double constant, linear; // of the slope: inertia, given impulses, linear laws
    // friction: impulse = -weight m(rho)/rho (u + alpha du), rho^2 = |u + alpha du|^2 + least
    int frictions;
    double *u0, *u1, *du0, *du1, *weight, *least, *knee;
    // springs and rows: impulse = clamp(-slope (r + alpha dr), lo, hi)
    int limited;
    double *r, *dr, *slope, *lo, *hi;
} line;

static size_t padded(int count)
{
    return ((size_t)count + LANES - 1) / LANES * LANES;
}

size_t sprag_search_room(int points, int cones, int equations)
{
    return FRICTION_ROWS * padded(cones) + LIMITED_ROWS * padded(points + equations);
}

static void open_line(line *line, const sprag_system *system)
{
    size_t n = padded(system->cones), m = padded(system->points + system->equations);
    double *f = system->line, *l = f + FRICTION_ROWS * n;
    line->constant = line->linear = 0;
    line->frictions = line->limited = 0;
    line->u0 = f, line->u1 = f + n;
    line->du0 = f + 2 * n, line->du1 = f + 3 * n;
    line->weight = f + 4 * n;
    line->least = f + 5 * n;
    line->knee = f + 6 * n;
    line->r = l, line->dr = l + m;
    line->slope = l + 2 * m;
    line->lo = l + 3 * m, line->hi = l + 4 * m;
}

static void add_limited(line *line, double r, double dr, double yield, double lo, double hi)
{
    int at = line->limited++;
    line->r[at] = r;
    line->dr[at] = dr;
    line->slope[at] = 1 / yield;
    line->lo[at] = lo;
    line->hi[at] = hi;
}

static void add_friction(line *line, const sprag_system *system, const sprag_cone *cone, int point,
                         double stiction, double bound)
{
    const double *slip = system->slip[point] + cone->first;
    const double *change = system->slip_change[point] + cone->first;
    double u[2] = {cone->shape[0] * slip[0], 0}, du[2] = {cone->shape[0] * change[0], 0};
    if (cone->axes == 2) {
        u[1] = cone->shape[1] * slip[1];
        du[1] = cone->shape[1] * change[1];
    }
    if (isinf(cone->coefficient)) {
        line->constant += u[0] * change[0] / cone->slip_yield;
        line->linear += du[0] * change[0] / cone->slip_yield;
        return;
    }
    sprag_friction_law law = sprag_cone_law(cone, stiction, cone->force ? system->step : bound);
    int at = line->frictions++;
    line->u0[at] = u[0];
    line->u1[at] = u[1];
    line->du0[at] = du[0];
    line->du1[at] = du[1];
    line->weight[at] = law.largest;
    line->least[at] = law.least;
    line->knee[at] = law.knee;
}

static void pad(line *line)
{
    for (int i = line->frictions; i % LANES; i++) {
        line->u0[i] = line->u1[i] = line->du0[i] = line->du1[i] = line->weight[i] = 0;
        line->least[i] = line->knee[i] = 1;
    }
    for (int i = line->limited; i % LANES; i++) {
        line->r[i] = line->dr[i] = line->slope[i] = line->lo[i] = line->hi[i] = 0;
    }
}

// The slope at alpha, but for the points whose normal law is Hunt and Crossley's.
SPRAG_VECTORS
static double slope_of(const line *restrict line, double alpha)
{
    double sum[LANES] = {0};
    for (int i = 0; i < line->frictions; i += LANES) {
        for (int k = i; k < i + LANES; k++) {
            double x = line->u0[k] + alpha * line->du0[k];
            double y = line->u1[k] + alpha * line->du1[k];
            double ratio = sprag_friction_ratio(x * x + y * y + line->least[k], line->knee[k]);
            sum[k - i] += line->weight[k] * ratio * (x * line->du0[k] + y * line->du1[k]);
        }
    }
    for (int i = 0; i < line->limited; i += LANES) {
        for (int k = i; k < i + LANES; k++) {
            double impulse = -(line->r[k] + alpha * line->dr[k]) * line->slope[k];
            sum[k - i] -= clamp(impulse, line->lo[k], line->hi[k]) * line->dr[k];
        }
    }
    double total = line->constant + alpha * line->linear;
    for (int k = 0; k < LANES; k++) {
        total += sum[k];
    }
    return total;
}

static double slope_at(const sprag_system *system, const line *line, double alpha)
{
    double sum = slope_of(line, alpha);
    for (int i = 0; system->curved && i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        double change = system->slip_change[i][SPRAG_NORMAL];
        if (point->law == SPRAG_HUNT_CROSSLEY) {
            double speed = system->slip[i][SPRAG_NORMAL] + alpha * change;
            sum -= sprag_normal_impulse(system, point, speed, NULL) * change;
        }
    }
    return sum;
}

static void fill_line(line *line, sprag_system *system, const double *v, const double *dv,
                      double stiction, const double *bound)
{
    open_line(line, system);
    system->space->momentum(system, dv, system->work);
    for (int i = 0; i < system->size; i++) {
        line->constant += (v[i] - system->free[i]) * system->work[i]; // M is symmetric
        line->linear += dv[i] * system->work[i];
    }
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        double now = system->slip[i][SPRAG_NORMAL], change = system->slip_change[i][SPRAG_NORMAL];
        if (point->law == SPRAG_GIVEN) {
            line->constant -= point->given * change;
        } else if (point->law == SPRAG_SPRING) {
            add_limited(line, now, change, point->yield, 0, INFINITY);
        }
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            add_friction(line, system, &system->cone[c], i, stiction, bound[i]);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        add_limited(line, system->rate[i], system->rate_change[i], equation->yield, equation->lo,
                    equation->hi);
    }
    pad(line);
}

double sprag_system_search(sprag_system *system, const double *v, const double *dv, double stiction,
                           const double *bound)
{
    line line;
    fill_line(&line, system, v, dv, stiction, bound);
    double at_end = slope_at(system, &line, 1);
    double at_start = at_end > 0 ? slope_at(system, &line, 0) : at_end;
    if (!(at_start < 0) || !(at_end > STRIBECK_SEARCH_SLOPE * -at_start)) {
        return 1; // still falling, or rounding: the full step
    }
    // The slope grows monotonically, by leaps where laws are stiff: regula falsi (Illinois) and
    // bisection in turn.
    double low = 0, high = 1, low_slope = at_start, high_slope = at_end, alpha = 1;
    for (int it = 0, side = 0;
         it < STRIBECK_SEARCH_EVALUATIONS && high - low > STRIBECK_SEARCH_INTERVAL; it++) {
        bool halve = it % 2;
        alpha = halve ? low + (high - low) / 2
                      : (low * high_slope - high * low_slope) / (high_slope - low_slope);
        double slope = slope_at(system, &line, alpha);
        if (fabs(slope) <= STRIBECK_SEARCH_SLOPE * -at_start) {
            break;
        }
        if (slope > 0) {
            high = alpha, high_slope = slope;
            low_slope *= side == 1 && !halve ? 0.5 : 1;
            side = 1;
        } else {
            low = alpha, low_slope = slope;
            high_slope *= side == -1 && !halve ? 0.5 : 1;
            side = -1;
        }
    }
    return alpha;
}
