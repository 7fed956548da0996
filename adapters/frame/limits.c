// Joint stops: the time at which a joint reaches one, and stops as rows. ODE gives a stop a row
// only when the joint is past it, so the time found here is a little later than that of the stop.
#include <math.h>

#include "frame_step.h"

typedef dReal value_fn(dJointID joint);
typedef dReal param_fn(dJointID joint, int parameter);
typedef void set_fn(dJointID joint, int parameter, dReal value);

// ODE's functions are called by name, not through a table of addresses: if only modules of a
// program are linked to ODE, the addresses do not exist yet when sprag is loaded.
#define VALUE(name)                                                                                \
    static dReal value_##name(dJointID joint)                                                      \
    {                                                                                              \
        return dJointGet##name(joint);                                                             \
    }
#define PARAMETERS(type)                                                                           \
    static dReal param_##type(dJointID joint, int parameter)                                       \
    {                                                                                              \
        return dJointGet##type##Param(joint, parameter);                                           \
    }                                                                                              \
    static void set_##type(dJointID joint, int parameter, dReal value)                             \
    {                                                                                              \
        dJointSet##type##Param(joint, parameter, value);                                           \
    }

VALUE(HingeAngle)
VALUE(SliderPosition)
VALUE(Hinge2Angle1)
VALUE(UniversalAngle1)
VALUE(UniversalAngle2)
VALUE(PRPosition)
VALUE(PRAngle)
VALUE(PUAngle1)
VALUE(PUAngle2)
VALUE(PUPosition)
VALUE(PistonPosition)
VALUE(PistonAngle)
PARAMETERS(Hinge)
PARAMETERS(Slider)
PARAMETERS(Hinge2)
PARAMETERS(Universal)
PARAMETERS(PR)
PARAMETERS(PU)
PARAMETERS(Piston)

// One coordinate of a joint type that has stops.
typedef struct coordinate {
    int type; // dJointType
    value_fn *value;
    param_fn *param;
    set_fn *set;
    int low; // parameter of the lower stop
    bool angle;
} coordinate;

static const coordinate coordinates[] = {
    {dJointTypeHinge, value_HingeAngle, param_Hinge, set_Hinge, dParamLoStop, true},
    {dJointTypeSlider, value_SliderPosition, param_Slider, set_Slider, dParamLoStop, false},
    {dJointTypeHinge2, value_Hinge2Angle1, param_Hinge2, set_Hinge2, dParamLoStop, true},
    {dJointTypeUniversal, value_UniversalAngle1, param_Universal, set_Universal, dParamLoStop,
     true},
    {dJointTypeUniversal, value_UniversalAngle2, param_Universal, set_Universal, dParamLoStop2,
     true},
    {dJointTypePR, value_PRPosition, param_PR, set_PR, dParamLoStop, false},
    {dJointTypePR, value_PRAngle, param_PR, set_PR, dParamLoStop2, true},
    {dJointTypePU, value_PUAngle1, param_PU, set_PU, dParamLoStop1, true},
    {dJointTypePU, value_PUAngle2, param_PU, set_PU, dParamLoStop2, true},
    {dJointTypePU, value_PUPosition, param_PU, set_PU, dParamLoStop3, false},
    {dJointTypePiston, value_PistonPosition, param_Piston, set_Piston, dParamLoStop1, false},
    {dJointTypePiston, value_PistonAngle, param_Piston, set_Piston, dParamLoStop2, true},
};

enum { COORDINATES = sizeof coordinates / sizeof coordinates[0] };

// Another parameter of the coordinate that has the lower stop `low`.
static int beside(const coordinate *c, int parameter)
{
    return c->low + sprag_ode_parameter(parameter);
}

// The stops of a coordinate by ODE's rules: a stop at infinity, or of an angle at pi and beyond,
// does not exist, and a lower stop above the upper one turns both off. false: no stops.
static bool stops_of(const coordinate *c, dJointID joint, double stop[2])
{
    stop[0] = c->param(joint, c->low);
    stop[1] = c->param(joint, beside(c, dParamHiStop));
    double most = c->angle ? M_PI : dInfinity;
    bool low = stop[0] > -most, high = stop[1] < most;
    stop[0] = low ? stop[0] : -dInfinity;
    stop[1] = high ? stop[1] : dInfinity;
    return (low || high) && stop[0] <= stop[1];
}

// The coordinates of a joint's type: those in the table from *first on.
static int coordinates_of(dJointID joint, const coordinate **first)
{
    const int type = dJointGetType(joint);
    int i = 0, count = 0;
    while (i < COORDINATES && coordinates[i].type != type) {
        i++;
    }
    *first = &coordinates[i];
    while (i + count < COORDINATES && coordinates[i + count].type == type) {
        count++;
    }
    return count;
}

bool sprag_ode_has_limit(dJointID joint)
{
    const coordinate *of;
    double stop[2];
    bool any = false;
    for (int i = coordinates_of(joint, &of); i-- > 0 && !any;) {
        any = stops_of(&of[i], joint, stop);
    }
    return any;
}

dReal sprag_ode_limit_parameter(dJointID joint, int parameter)
{
    const coordinate *of;
    coordinates_of(joint, &of);
    return of->param(joint, beside(of, parameter));
}

void sprag_ode_read_limited(ode_limited *limited)
{
    const coordinate *of;
    const int count = coordinates_of(limited->joint, &of);
    for (int i = 0; i < count; i++) {
        limited->value[i] = of[i].value(limited->joint);
    }
}

typedef struct crossing {
    const coordinate *of;
    dJointID joint;
    ode_place_fn *place;
    void *data;
    double stop, sign; // sign: of the coordinate minus the stop, inside
} crossing;

// rad or m, distance inside the stop, at t.
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

double sprag_ode_next_limit(const ode_limited *limited, double horizon, double turn,
                            ode_place_fn *place, void *data)
{
    const coordinate *of;
    const int count = coordinates_of(limited->joint, &of);
    double first = horizon, stop[2];
    for (int i = 0; i < count; i++) {
        if (!stops_of(&of[i], limited->joint, stop)) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const double sign = side ? -1 : 1, start = sign * (limited->value[i] - stop[side]);
            const bool far = of[i].angle && start > 2 * turn * first;
            if (isinf(stop[side]) || !(start > 0) || far) {
                continue;
            }
            const crossing crossing = {&of[i], limited->joint, place, data, stop[side], sign};
            const double end = inside(&crossing, first);
            if (end < -1e-9 && (!of[i].angle || start - end < M_PI)) {
                first = time_of(&crossing, start, end, first);
            }
        }
    }
    return first;
}

// ---- coordinates whose rows are marked by their CFM

typedef struct marked {
    const coordinate *of;
    double stop[2], erp, bounce, compliance; // of the program
    double mark;
} marked;

static void mark_row(marked *m, const coordinate *c, dJointID joint, int which)
{
    *m = (marked){.of = c,
                  .stop = {c->param(joint, c->low), c->param(joint, beside(c, dParamHiStop))},
                  .erp = c->param(joint, beside(c, dParamStopERP)),
                  .bounce = c->param(joint, beside(c, dParamBounce)),
                  .compliance = c->param(joint, beside(c, dParamStopCFM)),
                  .mark = 1e-90 * (which + 1)};
    c->set(joint, beside(c, dParamStopCFM), m->mark);
}

static void restore(const marked *m, dJointID joint)
{
    m->of->set(joint, m->of->low, m->stop[0]);
    m->of->set(joint, beside(m->of, dParamHiStop), m->stop[1]);
    m->of->set(joint, beside(m->of, dParamStopERP), m->erp);
    m->of->set(joint, beside(m->of, dParamBounce), m->bounce);
    m->of->set(joint, beside(m->of, dParamStopCFM), m->compliance);
}

// The rows of a joint; then its coordinates are as before. row: of those that are marked; `rows`:
// none.
static int pull_marked(sprag_row *to, marked *m, int count, dJointID joint, dWorldID world,
                       dReal step, const ode_index *index, const ode_warm_start *memory, int *row)
{
    int rows = sprag_ode_count_rows(joint).rows;
    rows = sprag_ode_pull_rows(to, joint, rows, world, step, index, memory, NULL);
    for (int i = 0; i < count; i++) {
        restore(&m[i], joint);
        for (row[i] = 0; row[i] < rows && to[row[i]].compliance != m[i].mark; row[i]++) {
        }
    }
    return rows;
}

// ODE gives the row of a stop that does not bounce.
int sprag_ode_pull_bouncing_rows(sprag_row *to, dJointID joint, dWorldID world, dReal step,
                                 const ode_index *index, const ode_warm_start *memory)
{
    marked stop[ODE_MOST_COORDINATES];
    const coordinate *of;
    int count = 0, row[ODE_MOST_COORDINATES];
    for (int i = 0, all = coordinates_of(joint, &of); i < all; i++) {
        if (of[i].param(joint, beside(&of[i], dParamBounce)) > 0 &&
            of[i].param(joint, beside(&of[i], dParamStopCFM)) >= 0) {
            mark_row(&stop[count], &of[i], joint, count);
            of[i].set(joint, beside(&of[i], dParamBounce), 0);
            count++;
        }
    }
    const int rows = pull_marked(to, stop, count, joint, world, step, index, memory, row);
    for (int i = 0; i < count; i++) {
        if (row[i] < rows) {
            to[row[i]].compliance = stop[i].compliance;
            to[row[i]].bounce =
                sprag_row_is_stop(&to[row[i]]) ? stop[i].bounce : 0; // it may be locked
        }
    }
    return rows;
}

// ---- stops as compliant.h wants them

// With both stops at 0 ODE gives the row of the coordinate at any value, without the motor or
// forces. Its bias, with an ERP of 1, is the value of the coordinate. Two stops in one place are an
// equation: ODE gives its row.
static int force_rows(marked *forced, dJointID joint)
{
    const coordinate *of;
    int count = 0;
    double stop[2];
    for (int i = 0, all = coordinates_of(joint, &of); i < all; i++) {
        if (stops_of(&of[i], joint, stop) && stop[0] < stop[1]) {
            mark_row(&forced[count++], &of[i], joint, i);
            of[i].set(joint, of[i].low, 0);
            of[i].set(joint, beside(&of[i], dParamHiStop), 0);
            of[i].set(joint, beside(&of[i], dParamStopERP), 1);
        }
    }
    return count;
}

// Makes the row that of the motor, and adds the stops.
static void add_stops(const marked *m, dJointID joint, sprag_row *to, int row, double step,
                      sprag_stop *stop, int *stops)
{
    const coordinate *c = m->of;
    const double place = -to[row].bias * step, force = c->param(joint, beside(c, dParamFMax));
    double limit[2];
    stops_of(c, joint, limit);
    to[row].bias = c->param(joint, beside(c, dParamVel));
    to[row].compliance = c->param(joint, beside(c, dParamCFM));
    to[row].lo = -force;
    to[row].hi = force;
    for (int side = 0; side < 2; side++) {
        if (isfinite(limit[side])) {
            const double sign = side ? -1 : 1;
            stop[(*stops)++] = (sprag_stop){.row = row,
                                            .sign = sign,
                                            .inside = sign * (place - limit[side]),
                                            .erp = m->erp,
                                            .compliance = m->compliance,
                                            .bounce = m->bounce,
                                            .fudge = c->param(joint, beside(c, dParamFudgeFactor))};
        }
    }
}

// A transmission counts its turns and aborts the program if it is bent too far. The angles of an
// angular motor are ODE's own or the program's, and their rates are not those of its rows.
static bool is_for_whole_steps(dJointID joint)
{
    bool limited = dJointGetType(joint) == dJointTypeTransmission;
    for (int i = 0; i < 3 && dJointGetType(joint) == dJointTypeAMotor; i++) {
        int low = dParamLoStop + i * dParamGroup, high = dParamHiStop + i * dParamGroup;
        limited |=
            dJointGetAMotorParam(joint, low) > -M_PI || dJointGetAMotorParam(joint, high) < M_PI;
    }
    return limited;
}

int sprag_ode_pull_coordinates(sprag_row *to, sprag_stop *stop, int *stops, dJointID joint,
                               dWorldID world, dReal step, const ode_index *index,
                               const ode_warm_start *memory)
{
    marked forced[ODE_MOST_COORDINATES];
    int row[ODE_MOST_COORDINATES];
    *stops = 0;
    if (is_for_whole_steps(joint)) {
        return -1;
    }
    const int count = force_rows(forced, joint);
    const int rows = pull_marked(to, forced, count, joint, world, step, index, memory, row);
    for (int i = 0; i < count; i++) { // in the order of their rows
        if (row[i] >= rows) {
            return -1;
        }
        add_stops(&forced[i], joint, to, row[i], step, stop, stops);
    }
    return rows;
}
