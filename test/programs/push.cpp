// A planner that pushes: OMPL's RRT moves a box that pushes a ball to a place, and ODE says where a
// push leads. Then the plan is replayed from its first state. A plan is worth what its replay is: a
// propagation must be a function of state and control.
//
//     push <seed> [<seconds>]
//
// Prints the states of the plan, ODE's steps, and the greatest distance of a body from its place in
// the plan during the replay (m).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ompl/base/goals/GoalRegion.h>
#include <ompl/control/PathControl.h>
#include <ompl/control/planners/rrt/RRT.h>
#include <ompl/extensions/ode/OpenDESimpleSetup.h>
#include <ompl/util/RandomNumbers.h>

namespace ob = ompl::base;
namespace oc = ompl::control;

namespace
{
enum { PUSHER, PUSHED, WALL_1, WALL_2, BODIES };

// Four boxes on the ground. The control is a horizontal force on the first of them.
class environment : public oc::OpenDEEnvironment
{
  public:
    environment()
    {
        static const double place[BODIES][2] = {{0, 0}, {0.6, 0.1}, {1.2, 0.7}, {1.2, -0.7}};
        static const double mass[BODIES] = {1, 0.5, 2, 2};
        world_ = dWorldCreate();
        space_ = dHashSpaceCreate(nullptr);
        dWorldSetGravity(world_, 0, 0, -9.81);
        dCreatePlane(space_, 0, 0, 1, 0);
        for (int i = 0; i < BODIES; i++) {
            dBodyID body = dBodyCreate(world_);
            dMass m;
            dMassSetBoxTotal(&m, mass[i], 0.2, 0.2, 0.2);
            dBodySetMass(body, &m);
            dGeomSetBody(dCreateBox(space_, 0.2, 0.2, 0.2), body);
            dBodySetPosition(body, place[i][0], place[i][1], 0.0999);
            stateBodies_.push_back(body);
        }
        collisionSpaces_.push_back(space_);
        stepSize_ = 0.02;
        maxContacts_ = 4;
        minControlSteps_ = 10;
        maxControlSteps_ = 50;
    }

    ~environment() override
    {
        dSpaceDestroy(space_);
        dWorldDestroy(world_);
    }

    unsigned getControlDimension() const override
    {
        return 2;
    }

    void getControlBounds(std::vector<double> &lower, std::vector<double> &upper) const override
    {
        lower = {-12, -12};
        upper = {12, 12};
    }

    void applyControl(const double *control) const override
    {
        dBodyAddForce(stateBodies_[PUSHER], control[0], control[1], 0);
    }

    bool isValidCollision(dGeomID, dGeomID, const dContact &) const override
    {
        return true;
    }

    void setupContact(dGeomID, dGeomID, dContact &contact) const override
    {
        contact.surface.mode = dContactApprox1;
        contact.surface.mu = 0.5;
    }

  private:
    dSpaceID space_;
};

const double *place_of(const ob::State *state, unsigned body)
{
    return state->as<oc::OpenDEStateSpace::StateType>()->getBodyPosition(body);
}

class goal : public ob::GoalRegion
{
  public:
    explicit goal(const ob::SpaceInformationPtr &info) : ob::GoalRegion(info)
    {
        threshold_ = 0.15; // m
    }

    double distanceGoal(const ob::State *state) const override
    {
        const double *at = place_of(state, PUSHED);
        return std::hypot(at[0] - 1.2, at[1]);
    }
};

// Near states are those whose first two bodies are near; the height and the turn of a box that lies
// on the ground say little.
class states : public oc::OpenDEStateSpace
{
  public:
    explicit states(const oc::OpenDEEnvironmentPtr &env) : oc::OpenDEStateSpace(env)
    {
    }

    double distance(const ob::State *a, const ob::State *b) const override
    {
        double square = 0;
        for (unsigned i = PUSHER; i <= PUSHED; i++) {
            const double *p = place_of(a, i), *q = place_of(b, i);
            square += (p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]);
        }
        return std::sqrt(square);
    }
};

double apart(const ob::State *a, const ob::State *b)
{
    double most = 0;
    for (unsigned i = 0; i < BODIES; i++) {
        const double *p = place_of(a, i), *q = place_of(b, i);
        most = std::fmax(most, std::hypot(std::hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]));
    }
    return most;
}

double replay(const oc::PathControl &path, const oc::SpaceInformationPtr &info, long *steps)
{
    double most = 0;
    ob::State *state = info->cloneState(path.getState(0));
    for (std::size_t i = 0; i < path.getControlCount(); i++) {
        long duration = std::lround(path.getControlDuration(i) / info->getPropagationStepSize());
        info->propagate(state, path.getControl(i), (int)duration, state);
        most = std::fmax(most, apart(state, path.getState(i + 1)));
        *steps += duration;
    }
    info->freeState(state);
    return most;
}
} // namespace

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)std::atoi(argv[1]) : 1;
    ompl::msg::setLogLevel(ompl::msg::LOG_ERROR);
    ompl::RNG::setSeed(seed);
    dInitODE2(0);
    auto env = std::make_shared<environment>();
    oc::OpenDESimpleSetup setup(std::make_shared<states>(env));
    ob::RealVectorBounds volume(3), speed(3);
    volume.setLow(-1);
    volume.setHigh(2);
    speed.setLow(-5);
    speed.setHigh(5);
    setup.setVolumeBounds(volume);
    setup.setLinearVelocityBounds(speed);
    setup.setAngularVelocityBounds(speed);
    setup.setGoal(std::make_shared<goal>(setup.getSpaceInformation()));
    setup.setPlanner(std::make_shared<oc::RRT>(setup.getSpaceInformation()));
    setup.setup();
    if (setup.solve(argc > 2 ? std::atof(argv[2]) : 60) != ob::PlannerStatus::EXACT_SOLUTION) {
        std::puts("no plan");
        return 1;
    }
    const oc::PathControl &path = setup.getSolutionPath();
    long steps = 0;
    double most = replay(path, setup.getSpaceInformation(), &steps);
    std::printf("states %zu steps %ld apart %.3g\n", path.getStateCount(), steps, most);
    return 0;
}
