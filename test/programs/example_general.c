// The general solver without ODE: a pizza saver, that is a table with three legs, is twisted by a
// moment. Below 5 N m its friction holds it, above it turns.
//
//     cc example_general.c $(pkg-config --cflags --libs sprag_general) -lm
#include <math.h>
#include <sprag/general.h>
#include <stdio.h>

enum { VELOCITIES = 3, LEGS = 3 }; // x, y, and about z

int main(void)
{
    const double pi = 3.14159265358979323846, step = 1e-3; // s
    const double mass[VELOCITIES * VELOCITIES] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double normal_jacobian[LEGS * VELOCITIES] = {0}; // it moves in the plane
    double tangent_jacobian[2 * LEGS * VELOCITIES];        // of the legs, 1 m from the centre
    const double friction[LEGS] = {0.5, 0.5, 0.5};
    const double normal_force[LEGS] = {10.0 / 3, 10.0 / 3, 10.0 / 3}; // N: one-way coupled
    for (int leg = 0; leg < LEGS; leg++) {
        double angle = pi / 5 + 2 * pi / 3 * leg;
        double rows[2][VELOCITIES] = {{1, 0, -sin(angle)}, {0, 1, cos(angle)}};
        for (int i = 0; i < 2 * VELOCITIES; i++) {
            tangent_jacobian[2 * VELOCITIES * leg + i] = rows[i / VELOCITIES][i % VELOCITIES];
        }
    }
    sprag_scratch scratch = {0}; // kept from solve to solve
    for (int moment = 3; moment <= 6; moment += 3) {
        const double momentum[VELOCITIES] = {0, 0, step * moment};
        sprag_general_problem problem = {.velocities = VELOCITIES,
                                         .contacts = LEGS,
                                         .step = step,
                                         .mass = mass,
                                         .normal_jacobian = normal_jacobian,
                                         .tangent_jacobian = tangent_jacobian,
                                         .momentum = momentum,
                                         .friction = friction,
                                         .normal_force = normal_force};
        double velocity[VELOCITIES] = {0}, normal_velocity[LEGS], tangent_velocity[2 * LEGS];
        double force[LEGS], friction_force[2 * LEGS];
        double generalized_friction[VELOCITIES], generalized_force[VELOCITIES];
        sprag_general_solution solution = {.velocity = velocity, // the first guess, on entry
                                           .normal_velocity = normal_velocity,
                                           .tangent_velocity = tangent_velocity,
                                           .normal_force = force,
                                           .friction_force = friction_force,
                                           .generalized_friction = generalized_friction,
                                           .generalized_force = generalized_force};
        char message[100];
        sprag_result result =
            sprag_general_solve(&problem, NULL, &scratch, &solution, NULL, message, sizeof message);
        sprag_scratch_reset(&scratch);
        if (result != SPRAG_OK) {
            printf("%s: %s\n", sprag_result_name(result), message);
            return 1;
        }
        printf("%d N m: friction %.4f N m, turns at %.2e rad/s\n", moment, generalized_friction[2],
               velocity[2]);
    }
    sprag_scratch_free(&scratch);
    return 0;
}
