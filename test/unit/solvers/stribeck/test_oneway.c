// Rebounds that friction lets happen, and others that it contradicts.
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "suite.h"

// m/s: the speed at which a body meets each wall, and at which it is to leave.
static const double meets = 3, leaves = 2;

// A body without extent meets walls at right angles.
static void meet_walls(int walls, double mu)
{
    open_scene(&s);
    add_cube(&s, MASS);
    for (int k = 0; k < walls; k++) {
        double normal[3] = {0};
        normal[k] = 1;
        s.body[0].velocity[k] = s.body[0].free_velocity[k] = -meets;
        sprag_contact *contact = add_contact(&s, 0, SPRAG_STATIC, normal);
        memset(contact->arm, 0, sizeof contact->arm);
        contact->slide.coefficient[0] = contact->slide.coefficient[1] = mu;
        contact->bias = contact->recovery = leaves;
        contact->rebounds = true;
        contact->softening = 0;
    }
    const sprag_stribeck_options options = sprag_stribeck_defaults();
    ck_assert_int_eq(
        sprag_stribeck_solve_bounded(&s.problem, &options, &scratch, &s.solution, &s.stats),
        SPRAG_OK);
    ck_assert_double_le(momentum_error(&s), 2 * TOLERANCE);
}

// The friction of each wall presses the body to the others: a normal force is what the rebound
// takes, f, and that. By Coulomb's law it is f / (1 - share mu), by friction that f bounds
// f (1 + share mu).
START_TEST(rebounds_from_several_walls_are_met)
{
    static const struct {
        int walls;
        double mu;
        bool possible;
    } cases[] = {{2, 0.5, true},  {2, 0.9, true}, {3, 0.3, true},  {3, 0.6, true},
                 {2, 1.1, false}, {2, 2, false},  {3, 0.8, false}, {3, 3, false}};
    const int walls = cases[_i].walls;
    const double share = sqrt(walls - 1) * cases[_i].mu;
    const double alone = MASS * (meets + leaves) / STEP;
    const double normal = cases[_i].possible ? alone / (1 - share) : alone * (1 + share);
    meet_walls(walls, cases[_i].mu);
    for (int k = 0; k < walls; k++) {
        ck_assert_double_eq_tol(s.velocity[0][k], leaves, 1e-4 * leaves);
        ck_assert_double_eq_tol(fn(k), normal, 1e-3 * normal);
        ck_assert_double_eq_tol(ft(k), cases[_i].mu * (cases[_i].possible ? normal : alone),
                                1e-3 * normal);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oneway");
    ADD_CASE(suite, "walls", {rebounds_from_several_walls_are_met, 8});
    return run_suite(suite);
}
