// Closed forms of the distance of a box from a capsule or a cylinder: where its foremost point is
// over a face of the box, or where a point within its axis is nearest. Rims at edges need a search.
#include <float.h>
#include <math.h>

#include "core_gap.h"
#include "linalg.h"
#include "tolerances.h"

typedef struct axis {                     // in the axes of the box
    double middle[3], u[3], half, radius; // m, unit
} axis;

// Sets the gap by the height over the farthest face. true: it is the distance, or beyond.
static bool try_faces(const sprag_core core[2], int box, const axis *of, double reach,
                      sprag_core_gap *a)
{
    const double *half = core[box].shape->half, *R = core[box].rotation, *u = of->u;
    double height = -INFINITY, back[3], from[3], at[3];
    int i = 0;
    for (int k = 0; k < 3; k++) {
        const double wide =
            of->half * fabs(u[k]) + of->radius * hypot(u[(k + 1) % 3], u[(k + 2) % 3]);
        const double apart = fabs(of->middle[k]) - half[k] - wide;
        i = apart > height ? k : i;
        height = fmax(height, apart);
    }
    const double sign = of->middle[i] > 0 ? 1 : -1;
    for (int k = 0; k < 3; k++) {
        back[k] = -sign * R[3 * k + i];
        a->normal[k] = box ? -back[k] : back[k];
    }
    a->distance = height;
    a->beyond = height > reach;
    if (a->beyond || height < 0) {
        return a->beyond;
    }
    sprag_core_support(&core[!box], back, a->point[!box]);
    memcpy(a->point[box], a->point[!box], sizeof at);
    add_scaled(a->point[box], height, back, 3);
    subtract3(a->point[box], core[box].at, from);
    mul33_transposed(R, from, at);
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    return fabs(at[j]) <= half[j] && fabs(at[k]) <= half[k];
}

// m^2, half the slope of the square of the distance from the box, at s (m) from the middle of the
// axis. out: m, from the box to that point.
static double slope_at(const axis *of, const double half[3], double s, double out[3])
{
    double slope = 0;
    for (int k = 0; k < 3; k++) {
        const double x = of->middle[k] + s * of->u[k];
        out[k] = x - clamp(x, -half[k], half[k]);
        slope += of->u[k] * out[k];
    }
    return slope;
}

// m from the middle of the axis, where the slope, which never falls, comes to a level: it is linear
// between the planes of the faces.
static double place_of(const axis *of, const double half[3], double level)
{
    double out[3], lo = -of->half, hi = of->half;
    double low = slope_at(of, half, lo, out) - level, high = slope_at(of, half, hi, out) - level;
    if (low >= 0 || high <= 0) {
        return low >= 0 ? lo : hi;
    }
    for (int i = 0; i < 6; i++) {
        const double at = ((i % 2 ? half[i / 2] : -half[i / 2]) - of->middle[i / 2]) / of->u[i / 2];
        if (at > lo && at < hi) {
            const double slope = slope_at(of, half, at, out) - level;
            *(slope < 0 ? &lo : &hi) = at;
            *(slope < 0 ? &low : &high) = slope;
        }
    }
    return lo - low * (hi - lo) / (high - low);
}

// The axis, D from the box. A cylinder is within the capsule about its axis, so its distance is at
// least D - r. It is no more if the nearest point of the axis is within it, and, where they overlap
// by d = r - D, at least d from both ends, which must be more than rounding: at an angle t from the
// normal, no slab is higher than -d cos t - d sin t.
static bool try_axis(const sprag_core core[2], int box, const axis *of, double reach,
                     sprag_core_gap *a)
{
    const double *half = core[box].shape->half, rounding = 4 * DBL_EPSILON * a->size;
    double out[3], into[3];
    // the middle of all places that are equally near
    const double at = (place_of(of, half, -rounding) + place_of(of, half, rounding)) / 2;
    slope_at(of, half, at, out);
    const double far = norm3(out), depth = fmax(0, of->radius - far);
    if (!(far > SPRAG_GAP_SHALLOW * a->size)) {
        return false; // its direction is rounding
    }
    scale3(1 / far, out, out);
    mul33(core[box].rotation, out, into);
    a->distance = far - of->radius;
    a->beyond = a->distance > reach;
    scale3(box ? 1 : -1, into, a->normal);
    sprag_core_axis(&core[!box], out);
    memcpy(a->point[!box], core[!box].at, sizeof a->point[0]);
    add_scaled(a->point[!box], at, out, 3);
    memcpy(a->point[box], a->point[!box], sizeof a->point[0]);
    add_scaled(a->point[!box], -of->radius, into, 3);
    add_scaled(a->point[box], -far, into, 3);
    const double inside = of->half - fabs(at);
    return a->beyond || of->radius == 0 ||
           (inside > SPRAG_GAP_SHALLOW * a->size && inside >= depth);
}

bool sprag_core_gap_box(const sprag_core core[2], double reach, sprag_core_gap *a)
{
    const int box = core[1].shape->kind == SPRAG_BOX;
    const sprag_shape *round = core[!box].shape;
    if (core[box].shape->kind != SPRAG_BOX ||
        (round->kind != SPRAG_CAPSULE && round->kind != SPRAG_CYLINDER)) {
        return false;
    }
    axis of = {.half = round->half[2], .radius = round->kind == SPRAG_CYLINDER ? round->radius : 0};
    double from[3], u[3];
    subtract3(core[!box].at, core[box].at, from);
    mul33_transposed(core[box].rotation, from, of.middle);
    sprag_core_axis(&core[!box], u);
    mul33_transposed(core[box].rotation, u, of.u);
    return try_faces(core, box, &of, reach, a) || try_axis(core, box, &of, reach, a);
}
