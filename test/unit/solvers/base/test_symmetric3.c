// Eigenvectors and Cholesky factors of symmetric 3x3 matrices.
#include <math.h>

#include "linalg.h"
#include "suite.h"
#include "symmetric3.h"

// A = V' diag(value) V of random vectors; some values equal, some matrices with one entry beside
// the diagonal, below 0.
START_TEST(eigenvectors_diagonalise)
{
    double A[9], value[3], V[9], turned[3];
    for (int i = 0; i < 9; i++) {
        A[i] = sin(100 * _i + 10 * i);
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < i; k++) {
            A[3 * i + k] = A[3 * k + i];
        }
    }
    if (_i % 3 == 0) { // two equal values
        double u[3] = {sin(_i), cos(_i), 0.1 * _i};
        normalise3(u);
        for (int i = 0; i < 9; i++) {
            A[i] = (i % 4 == 0) + 2 * u[i / 3] * u[i % 3];
        }
    }
    if (_i % 3 == 1) {
        static const int row[] = {0, 0, 1}, column[] = {1, 2, 2};
        int p = row[_i / 3 % 3], q = column[_i / 3 % 3];
        double entry = -fabs(A[3 * p + q]);
        A[1] = A[2] = A[3] = A[5] = A[6] = A[7] = 0;
        A[3 * p + q] = A[3 * q + p] = entry;
    }
    sprag_eigen3(A, value, V);
    for (int i = 0; i < 3; i++) {
        mul33(A, V + 3 * i, turned);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(turned[k], value[i] * V[3 * i + k], 1e-14);
            ck_assert_double_eq_tol(dot3(V + 3 * i, V + 3 * k), i == k, 1e-14);
        }
    }
    cross3(V, V + 3, turned);
    ck_assert_double_eq_tol(dot3(turned, V + 6), 1, 1e-14);
}
END_TEST

START_TEST(a_diagonal_matrix_stays)
{
    double A[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1}, value[3], V[9];
    A[4 * _i] = -3;
    sprag_eigen3(A, value, V);
    for (int i = 0; i < 9; i++) {
        ck_assert(V[i] == (i % 4 == 0));
        ck_assert(i % 4 != 0 || value[i / 4] == A[i]);
    }
}
END_TEST

// Random matrices, of no, one or two positive eigenvalues or all, of which some are equal or zero.
START_TEST(positive_parts_are_of_positive_eigenvalues)
{
    enum { COUNT = 18, FOURS = 5, AT_ONCE = SPRAG_PARTS_AT_ONCE, NEXT = 6 * AT_ONCE + 3 };
    static const double eigenvalue[9][3] = {{3, 2, 1},    {3, 2, -1}, {3, -2, -1},
                                            {-3, -2, -1}, {2, 2, -1}, {2, -1, -1},
                                            {2, 0, -3},   {2, 2, 1},  {-1, -1, -3}};
    static const int row[] = {0, 0, 0, 1, 1, 2}, column[] = {0, 1, 2, 1, 2, 2};
    double S[FOURS * NEXT] = {0}, right[6][COUNT] = {0}, value[3], A[9], V[9];
    const double size = pow(10, _i % 9 - 4);
    for (int i = 0; i < 9; i++) {
        A[i] = sin(100 * _i + 10 * (3 * sprag_smaller(i / 3, i % 3) + sprag_larger(i / 3, i % 3)));
    }
    sprag_eigen3(A, value, V);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 6; k++) {
            for (int j = 0; j < 3; j++) {
                const double of = V[3 * j + row[k]] * V[3 * j + column[k]] * size;
                S[i / AT_ONCE * NEXT + k * AT_ONCE + i % AT_ONCE] += eigenvalue[i % 9][j] * of;
                right[k][i] += sprag_larger(0, eigenvalue[i % 9][j]) * of;
            }
        }
    }
    sprag_positive_parts(FOURS, NEXT, S);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 6; k++) {
            const double found = S[i / AT_ONCE * NEXT + k * AT_ONCE + i % AT_ONCE];
            ck_assert_double_eq_tol(found, right[k][i], 3e-9 * size);
        }
    }
}
END_TEST

// 1 + K about an axis, K of a known size, seen in other units along each axis.
START_TEST(skew_share_is_that_of_the_metric)
{
    const double unit[3] = {1, 10, 0.1}, size = 0.5 * _i, axis[3] = {0.6, -0.64, 0.48};
    double A[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, inverse[9];
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3, last = (k + 2) % 3;
        A[3 * last + next] = size * axis[k];
        A[3 * next + last] = -size * axis[k];
    }
    for (int i = 0; i < 9; i++) {
        A[i] *= unit[i / 3] * unit[i % 3];
    }
    invert33(A, inverse);
    ck_assert_double_eq_tol(sprag_skew_share3(A), size * size, 1e-12);
    ck_assert_double_eq_tol(sprag_skew_share3(inverse), size * size, 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symmetric3");
    ADD_TESTS(suite, "matrices", {eigenvectors_diagonalise, 30}, {a_diagonal_matrix_stays, 3},
              {positive_parts_are_of_positive_eigenvalues, 30},
              {skew_share_is_that_of_the_metric, 8});
    return run_suite(suite);
}
