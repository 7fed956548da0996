// When joints reach their stops. ODE notices that a stop is passed when it is next asked for the
// joint's rows: the time that is found here is a little later than that of the stop.
#include <math.h>

#include "adapters/advance.h"

typedef dReal value_fn(dJointID joint);
typedef dReal param_fn(dJointID joint, int parameter);

// One coordinate of a joint type that has stops.
typedef struct coordinate {
    int type; // dJointType
    value_fn *value;
    param_fn *param;
    int low, high; // parameters
    bool angle;
} coordinate;

static const coordinate coordinates[] = {
    {dJointTypeHinge, dJointGetHingeAngle, dJointGetHingeParam, dParamLoStop, dParamHiStop, true},
    {dJointTypeSlider, dJointGetSliderPosition, dJointGetSliderParam, dParamLoStop, dParamHiStop,
     false},
    {dJointTypeHinge2, dJointGetHinge2Angle1, dJointGetHinge2Param, dParamLoStop, dParamHiStop,
     true},
    {dJointTypeUniversal, dJointGetUniversalAngle1, dJointGetUniversalParam, dParamLoStop,
     dParamHiStop, true},
    {dJointTypeUniversal, dJointGetUniversalAngle2, dJointGetUniversalParam, dParamLoStop2,
     dParamHiStop2, true},
    {dJointTypePR, dJointGetPRPosition, dJointGetPRParam, dParamLoStop, dParamHiStop, false},
    {dJointTypePR, dJointGetPRAngle, dJointGetPRParam, dParamLoStop2, dParamHiStop2, true},
    {dJointTypePU, dJointGetPUAngle1, dJointGetPUParam, dParamLoStop1, dParamHiStop1, true},
    {dJointTypePU, dJointGetPUAngle2, dJointGetPUParam, dParamLoStop2, dParamHiStop2, true},
    {dJointTypePU, dJointGetPUPosition, dJointGetPUParam, dParamLoStop3, dParamHiStop3, false},
    {dJointTypePiston, dJointGetPistonPosition, dJointGetPistonParam, dParamLoStop1, dParamHiStop1,
     false},
    {dJointTypePiston, dJointGetPistonAngle, dJointGetPistonParam, dParamLoStop2, dParamHiStop2,
     true},
};

enum { COORDINATES = sizeof coordinates / sizeof coordinates[0] };

// Stops as ODE takes them: there is none at infinity, of an angle none at pi and beyond, and none
// at all where the lower one is above the upper.
static bool stops_of(const coordinate *c, dJointID joint, double stop[2])
{
    stop[0] = c->param(joint, c->low);
    stop[1] = c->param(joint, c->high);
    double most = c->angle ? M_PI : dInfinity;
    bool low = stop[0] > -most, high = stop[1] < most;
    stop[0] = low ? stop[0] : -dInfinity;
    stop[1] = high ? stop[1] : dInfinity;
    return (low || high) && stop[0] <= stop[1];
}

bool sprag_ode_has_limit(dJointID joint)
{
    double stop[2];
    for (int i = 0; i < COORDINATES; i++) {
        if (coordinates[i].type == (int)dJointGetType(joint) &&
            stops_of(&coordinates[i], joint, stop)) {
            return true;
        }
    }
    return false;
}

typedef struct crossing {
    const coordinate *of;
    dJointID joint;
    ode_place_fn *place;
    void *data;
    double stop, sign; // sign: of the coordinate inside, relative to the stop
} crossing;

// How far inside the stop, at t.
static double inside(const crossing *c, double t)
{
    for (int side = 0; side < 2; side++) {
        dBodyID body = dJointGetBody(c->joint, side);
        if (body) {
            c->place(c->data, body, t);
        }
    }
    return c->sign * (c->of->value(c->joint) - c->stop);
}

static double time_of(const crossing *c, double start, double end, double horizon)
{
    enum { SECANTS = 30 };
    static const double past = 1e-9; // rad or m
    double low = 0, high = horizon, at_low = start + past, at_high = end + past;
    for (int i = 0; i < SECANTS && high - low > 1e-12 * horizon; i++) {
        double t = low + (high - low) * fmin(0.95, fmax(0.05, at_low / (at_low - at_high)));
        double here = inside(c, t) + past;
        if (here > 0) {
            low = t;
            at_low = here;
        } else {
            high = t;
            at_high = here;
        }
        if (here <= 0 && here > -past) {
            break;
        }
    }
    return high;
}

double sprag_ode_next_limit(const dJointID *joint, int joints, double horizon, ode_place_fn *place,
                            void *data, dJointID *which)
{
    double first = horizon, stop[2];
    for (int j = 0; j < joints; j++) {
        for (int i = 0; i < COORDINATES; i++) {
            const coordinate *c = &coordinates[i];
            if (c->type != (int)dJointGetType(joint[j]) || !stops_of(c, joint[j], stop)) {
                continue;
            }
            for (int side = 0; side < 2; side++) {
                crossing crossing = {c, joint[j], place, data, stop[side], side ? -1 : 1};
                double start = isinf(stop[side]) ? 0 : inside(&crossing, 0);
                double end = start > 0 ? inside(&crossing, first) : 0;
                if (start > 0 && end < -1e-9 && (!c->angle || start - end < M_PI)) {
                    first = time_of(&crossing, start, end, first);
                    *which = joint[j];
                }
            }
        }
    }
    return first;
}
