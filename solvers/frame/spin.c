// A step turns a fast body by a radian or more. If its angular velocity is solved in world axes, at
// the start of the step, its spin stays along the old axis, and the axis runs away from it. So the
// step is solved in a frame that follows the spin axis a but does not spin. With the spin S = a.w,
// which is constant there, and a as the axis of the inertia I,
//     I dw/dt = torque - N(w),  N(w) = w x I w - S I (a x w).
// It is linearised about w before the step (w0) and solved implicitly:
//     M (w - w0) = step (torque - N(w0)),  M = I + share step D,  D = dN/dw at w0.
// The frame turns by Q = exp(step across), across = w - (a.w) a, the body by Q exp(step S a). The
// part of I that is not symmetric about a is that of the middle of the step, and averaged over it.
#include "spin.h"

#include <math.h>
#include <string.h>

#include "linalg.h"
#include "symmetric3.h"

// A slower spin gains nothing: rad a step, and rad/s in steps below 10 ms. There, a step in world
// axes feeds the nutation of a spin S at the rate step S^2: of 30 rad/s at 1 ms it is 0.9 1/s.
static const double spin_least = 0.1, spin_least_speed = 10;
// rad a step: a faster spin is an accident.
static const double spin_most = 100;
// Least spin about the axis, relative to the part of the angular velocity across it.
static const double spin_above_across = 4;
// Relative to the largest moment: a body whose moments differ by less has no axis.
static const double spin_round = 1e-3;

// rad, of a sub-step of free flight. Larger: less time, a nutation that gets ahead by the fourth
// power. And sub-steps, beyond which a body turns about its angular momentum.
static const double spin_substep = 0.05;
enum { SPIN_SUBSTEPS_MAX = 1000 };
// rad, at most, by which a body is turned to keep its energy.
static const double spin_correction = 1e-3;
// rad a step: an angular velocity whose direction moves by less stays, as ODE has it.
static const double spin_tumbling = 1e-6;

// The principal axes, in body axes, as rows; false: the body is as good as a ball.
static bool principal_axes(const double I[9], double axes[9])
{
    double moment[3] = {I[0], I[4], I[8]};
    if (I[1] != 0 || I[2] != 0 || I[5] != 0) {
        sprag_eigen3(I, moment, axes);
    } else {
        memset(axes, 0, 9 * sizeof *axes);
        axes[0] = axes[4] = axes[8] = 1;
    }
    double most = fmax(moment[0], fmax(moment[1], moment[2]));
    double least = fmin(moment[0], fmin(moment[1], moment[2]));
    return most - least > spin_round * most;
}

double sprag_spin_least(double step)
{
    return fmin(spin_least / step, spin_least_speed);
}

bool sprag_spin_is_round(const double inertia[9])
{
    double axes[9];
    return !principal_axes(inertia, axes);
}

// square: of the angular velocity, of which the spin is a part.
static bool is_fast(double spin, double square, double step)
{
    const double across = sqrt(fmax(0, square - spin * spin));
    return spin > sprag_spin_least(step) && spin * step < spin_most &&
           spin >= spin_above_across * across;
}

bool sprag_spin_is_about(const double axis[3], const double w[3], double step)
{
    return is_fast(fabs(dot3(axis, w)), dot3(w, w), step);
}

bool sprag_spin_find(const double inertia[9], const double rotation[9], const double w[3],
                     double step, double axis[3])
{
    double axes[9], own[3], square = dot3(w, w), most = 0, least = sprag_spin_least(step);
    int best = 0;
    if (!(square > least * least) || !principal_axes(inertia, axes)) {
        return false;
    }
    mul33_transposed(rotation, w, own);
    for (int k = 0; k < 3; k++) {
        double spin = fabs(dot3(axes + 3 * k, own));
        best = spin > most ? k : best;
        most = fmax(spin, most);
    }
    mul33(rotation, axes + 3 * best, axis);
    return is_fast(most, square, step);
}

// C += scale A B
static void add_product(double C[9], double scale, const double A[9], const double B[9])
{
    double product[9];
    mul33_33(A, B, product);
    add_scaled(C, scale, product, 9);
}

// The inertia of the middle of the step, its part that is not symmetric about the axis averaged:
// half of the angle turns that part D, across the axis, to cos(angle) D + sin(angle) a x D.
static void mean_inertia(const double I[9], const double a[3], double angle, double mean[9])
{
    double Ia[3], apart[9], turn[9];
    mul33(I, a, Ia);
    const double along = dot3(a, Ia), across = (I[0] + I[4] + I[8] - along) / 2;
    const double sine = sin(angle), keep = sine / angle; // what spins fast turns in a step
    for (int i = 0; i < 9; i++) {
        const double round = across * (i % 4 == 0) + (along - across) * a[i / 3] * a[i % 3];
        apart[i] = I[i] - round;
        mean[i] = round + keep * cos(angle) * apart[i];
    }
    cross33(a, turn);
    add_product(mean, keep * sine, turn, apart);
}

// M is positive definite, as every solver needs it, if the leading minors of its symmetric part are
// positive.
static bool is_positive_definite(const double M[9])
{
    const double x = 2 * M[0], y = 2 * M[4], z = 2 * M[8], xy = M[1] + M[3], xz = M[2] + M[6],
                 yz = M[5] + M[7], minor = x * y - xy * xy;
    return x > 0 && minor > 0 && z * minor > x * yz * yz + y * xz * xz - 2 * xy * xz * yz;
}

bool sprag_spin_free(double inertia[9], const double axis[3], const double w[3], double step,
                     bool damped, double free[3])
{
    double I[9], M[9], X[9], L[3], turned[3], change[3], push[3], spin = dot3(axis, w);
    double share = damped ? step : step / 2;
    mean_inertia(inertia, axis, spin * step, I);
    mul33(I, w, L);
    cross3(axis, w, change);
    mul33(I, change, turned); // I (a x w)
    memcpy(M, I, sizeof M);
    cross33(w, X);
    add_product(M, share, X, I);
    cross33(L, X);
    add_scaled(M, -share, X, 9);
    cross33(axis, X);
    add_product(M, -share * spin, I, X);
    for (int i = 0; i < 3; i++) {
        add_scaled(M + 3 * i, -share * turned[i], axis, 3);
    }
    subtract3(free, w, change);
    mul33(inertia, change, push); // step torque
    cross3(L, w, change);         // -w x I w
    for (int k = 0; k < 3; k++) {
        push[k] += step * (change[k] + spin * turned[k]);
    }
    if (!is_positive_definite(M) || !solve33(M, push, change)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        free[k] = w[k] + change[k];
    }
    memcpy(inertia, M, sizeof M);
    return true;
}

// exp(turn) as a quaternion
static void quaternion_of(const double turn[3], double q[4])
{
    double angle = norm3(turn), scale = angle > 0 ? sin(angle / 2) / angle : 0.5;
    q[0] = cos(angle / 2);
    for (int k = 0; k < 3; k++) {
        q[1 + k] = scale * turn[k];
    }
}

// c = a b; may be a or b.
static void multiply_quaternions(const double a[4], const double b[4], double c[4])
{
    double across[3];
    cross3(a + 1, b + 1, across);
    for (int k = 0; k < 3; k++) {
        across[k] = a[0] * b[1 + k] + b[0] * a[1 + k] + across[k];
    }
    c[0] = a[0] * b[0] - dot3(a + 1, b + 1);
    memcpy(c + 1, across, sizeof across);
}

void sprag_spin_rotate(const double q[4], double x[3])
{
    double across[3], twice[3];
    cross3(q + 1, x, across);
    add_scaled(across, q[0], x, 3);
    cross3(q + 1, across, twice);
    add_scaled(x, 2, twice, 3);
}

void sprag_spin_turn(const double axis[3], double step, double w[3], double turn[4])
{
    double spin = dot3(axis, w), across[3], about[3], Q[4], S[4];
    for (int k = 0; k < 3; k++) {
        across[k] = step * (w[k] - spin * axis[k]);
        about[k] = step * spin * axis[k];
    }
    quaternion_of(across, Q);
    quaternion_of(about, S);
    multiply_quaternions(Q, S, turn);
    sprag_spin_rotate(Q, w);
}

// ---- free flight

// y = R A R' x, of a matrix A in the axes of the body.
static void multiply_turned(const double A[9], const double q[4], const double x[3], double y[3])
{
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    double own[3] = {x[0], x[1], x[2]};
    sprag_spin_rotate(back, own);
    mul33(A, own, y);
    sprag_spin_rotate(q, y);
}

// dq/dt = w q / 2 with w = R I^-1 R' L
static void quaternion_rate(const double inverse[9], const double L[3], const double q[4],
                            double rate[4])
{
    double w[4] = {0};
    multiply_turned(inverse, q, L, w + 1);
    multiply_quaternions(w, q, rate);
    for (int k = 0; k < 4; k++) {
        rate[k] *= 0.5;
    }
}

static void normalise4(double q[4])
{
    double length = sqrt(q[0] * q[0] + dot3(q + 1, q + 1));
    for (int k = 0; k < 4; k++) {
        q[k] /= length;
    }
}

static void runge_kutta(const double inverse[9], const double L[3], double step, double q[4])
{
    static const double at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1 / 6., 1 / 3., 1 / 3., 1 / 6.};
    double rate[4] = {0}, sum[4] = {0}, here[4];
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            here[k] = q[k] + step * at[i] * rate[k];
        }
        normalise4(here);
        quaternion_rate(inverse, L, here, rate);
        add_scaled(sum, weight[i], rate, 4);
    }
    add_scaled(q, step, sum, 4);
    normalise4(q);
}

// Turns the body, by what the integration has lost, to where its energy is what it was: a small
// turn t changes L.w by 2 t.(w x L). false: it has lost more.
static bool restore_energy(const double inverse[9], const double L[3], double energy, double q[4])
{
    double w[3], slope[3], turn[3], small[4];
    multiply_turned(inverse, q, L, w);
    cross3(w, L, slope);
    double lost = energy - dot3(L, w), square = dot3(slope, slope);
    if (!(fabs(lost) < 2 * spin_correction * sqrt(square))) {
        // about a principal axis the energy does not depend on turns
        return fabs(lost) < spin_correction * energy;
    }
    for (int k = 0; k < 3; k++) {
        turn[k] = lost / (2 * square) * slope[k];
    }
    quaternion_of(turn, small);
    multiply_quaternions(small, q, q);
    return true;
}

// Turns the body about its angular momentum, as a round one would: both are kept, energy and
// momentum, but the axes of the body do not tumble.
static void turn_about_momentum(const double L[3], const double w[3], double step, double q[4])
{
    double turn[3], rotation[4], square = dot3(L, L);
    for (int k = 0; k < 3; k++) {
        turn[k] = square > 0 ? step * dot3(w, L) / square * L[k] : 0;
    }
    quaternion_of(turn, rotation);
    multiply_quaternions(rotation, q, q);
}

// w so that I w is L to the last bit: what rounding leaves over would add up.
static void set_velocity(const double inertia[9], const double inverse[9], const double L[3],
                         const double q[4], double w[3])
{
    double left[3], turned[3];
    memset(w, 0, 3 * sizeof *w);
    for (int i = 0; i < 2; i++) {
        multiply_turned(inertia, q, w, turned);
        subtract3(L, turned, left);
        multiply_turned(inverse, q, left, turned);
        add_scaled(w, 1, turned, 3);
    }
}

bool sprag_spin_tumbles(const double inertia[9], const double w[3], double step)
{
    double L[3], torque[3];
    mul33(inertia, w, L);
    cross3(L, w, torque);
    return step * norm3(torque) > spin_tumbling * norm3(L);
}

void sprag_spin_fly(const double inertia[9], double step, double w[3], double q[4])
{
    double inverse[9], L[3];
    if (invert33(inertia, inverse) == 0) {
        return;
    }
    multiply_turned(inertia, q, w, L);
    double energy = dot3(L, w);
    double steps = ceil(norm3(w) * step / spin_substep), turned[4] = {q[0], q[1], q[2], q[3]};
    for (int i = 0; i < steps && steps <= SPIN_SUBSTEPS_MAX; i++) {
        runge_kutta(inverse, L, step / steps, turned);
    }
    if (steps <= SPIN_SUBSTEPS_MAX && restore_energy(inverse, L, energy, turned)) {
        memcpy(q, turned, sizeof turned);
    } else { // too fast to be followed
        turn_about_momentum(L, w, step, q);
    }
    set_velocity(inertia, inverse, L, q, w);
}
