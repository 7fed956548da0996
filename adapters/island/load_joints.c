// Joints that may carry loads: their rows, levers, and forces in the last step (load_stiffness.c).
//
// Rows alone give the levers, whatever the joint: the angular part of a row is r x e, with its
// linear part e. The rows of a joint are many lines of the cache, so they are read once to find the
// joints, of which loops must be known first, and once for all that follows.
//
// Joints between the same two parts (two hinges of a door) act as one, at the place of the first:
// what they pull against one another is a stiffness of +K for one part and -K for the other, which
// turn as one, and the positive part alone would brake both. About the axis that is left to them
// all places on it are the same.
//
// In an island in which joints form a loop, each joint holds both its bodies at one point, as its
// anchors may stay apart: joints that contradict each other pull with all their might. With each
// body held at its own anchor their forces are a torque on both together, which brakes every turn
// of the whole. (To mend the way between these as ODE does, by its turn before the step as well,
// wins energy.)
#include <math.h>
#include <string.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"
#include "vectors3.h"

// ---- one joint

// Finds the rows of a joint with linear parts, from its first row on. A row that holds a point is
// the first of three, and no other row of its joint has a linear part.
static void find_rows(const ode_problem *pulled, int first, ode_loaded_joint *joint)
{
    const dJointID *id = &pulled->row_joint[first];
    const sprag_row *row = &pulled->row[first];
    const int most = pulled->joint_rows - first;
    int rows = row->holds_point ? 3 : 0, linear = rows, from = 0, end = rows;
    unsigned turning = 0;
    for (; rows < most && id[rows] == *id; rows++) {
        if (row->holds_point || sprag_ode_turns(&row[rows])) {
            turning |= 1u << rows;
        } else {
            from = linear == 0 ? rows : from;
            linear += rows == from + linear;
            end = rows + 1;
        }
    }
    joint->first = first, joint->end = first + rows;
    joint->at = first + from;
    joint->row = &pulled->row[joint->at];
    joint->rows = end - from;
    joint->linear = linear;
    joint->turning = turning;
    joint->along_axes = row->holds_point && row[0].jacobian[0][0] == 1 &&
                        row[1].jacobian[0][1] == 1 && row[2].jacobian[0][2] == 1;
    joint->arc = NO_ARC;
}

// Whether its bodies move as one.
static bool welds(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    int hard = 0;
    for (int i = joint->first; hard + joint->end - i >= 6; i++) {
        const sprag_row *row = &pulled->row[i];
        hard += sprag_row_holds(row) && row->compliance <= load_hard_weld;
        if (hard == 6) {
            return true;
        }
    }
    return false;
}

// Puts the bodies of a joint into one group. false: they were, and the joint closes a loop. The
// world, and what the program moves, is one place.
static inline bool join_groups(int *group, const int body[2])
{
    const int a = sprag_leader_of(group, body[0] - SPRAG_STATIC),
              b = sprag_leader_of(group, body[1] - SPRAG_STATIC);
    group[a > b ? a : b] = a > b ? b : a;
    return a != b;
}

// The linear parts are unit vectors e at right angles to one another. Of a single one the lever is
// not known along it, and nothing else counts: ODE knows it of joints that hold a distance, others
// have none.
static void find_lever_of_distance(const ode_problem *pulled, ode_loaded_joint *joint)
{
    bool any = false;
    memset(joint->lever, 0, sizeof joint->lever);
    for (int side = 0; side < 2 && joint->linear == 1; side++) {
        any |= sprag_ode_lever_of_distance(pulled, joint->at, side, joint->lever[side]);
    }
    joint->rows = any ? joint->rows : 0;
    joint->linear = any ? joint->linear : 0;
}

// Lists the joints. false: no memory.
static bool find_joints(ode_problem *pulled, sprag_scratch *scratch)
{
    pulled->group = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies + 1, int);
    pulled->loaded = SPRAG_TAKE_RAW(scratch, pulled->joint_rows, ode_loaded_joint);
    pulled->load = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_load);
    pulled->turn = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_turn);
    if (scratch->failed) {
        return false;
    }
    int *group = pulled->group, loose = 0;
    ode_loaded_joint *joint = pulled->loaded;
    group[0] = 0;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const bool moves = pulled->body[i].mass > 0;
        group[i + 1] = moves ? i + 1 : 0;
        loose += moves;
    }
    for (int i = 0; i < pulled->joint_rows; i = joint++->end) {
        find_rows(pulled, i, joint);
        if (joint->linear < 2) {
            find_lever_of_distance(pulled, joint);
        }
        if (joint->linear > 0) {
            const bool joins = join_groups(group, joint->row->body);
            pulled->loops |= !joins;
            loose -= joins;
        }
        if (welds(pulled, joint) && !sprag_ode_join_parts(pulled, joint->row->body, scratch)) {
            return false;
        }
    }
    pulled->loose = loose;
    pulled->loadeds = (int)(joint - pulled->loaded);
    sprag_ode_measure_parts(pulled);
    return !scratch->failed;
}

// ---- all of them

// r x e of an axis e has the numbers of r.
INLINE void find_levers(ode_loaded_joint *joint)
{
    const sprag_row *row = joint->row;
    for (int side = 0; side < 2 && joint->linear > 1; side++) {
        const double sign = side ? -1 : 1;
        joint->lever[side][3] = 0;
        if (joint->along_axes) {
            joint->lever[side][0] = sign * row[1].jacobian[side][5];
            joint->lever[side][1] = sign * row[2].jacobian[side][3];
            joint->lever[side][2] = sign * row[0].jacobian[side][4];
        } else {
            sprag_rows_lever(row, joint->linear, side, joint->lever[side]);
        }
    }
}

// at: m, of each body.
INLINE void hold_in_the_middle(ode_loaded_joint *joint, double (*at)[4])
{
    static const lane_mask three = {-1, -1, -1, 0};
    const int *body = joint->row->body;
    if (joint->linear == 3 && body[1] != SPRAG_STATIC) {
        const vector3 apart = VECTOR3(at[body[0]]) - VECTOR3(at[body[1]]) +
                              VECTOR3(joint->lever[0]) - VECTOR3(joint->lever[1]),
                      half = 0.5 * SELECT(three, apart, zeros);
        VECTOR3(joint->lever[0]) -= half;
        VECTOR3(joint->lever[1]) += half;
        for (int i = 0; i < joint->rows; i++) {
            double(*J)[6] = joint->row[i].jacobian;
            vector3 part; // the fourth number is 0, and changes nothing behind the torques
            cross_vectors3(&part, &half, &CONST_VECTOR3(J[0]));
            VECTOR3(J[0] + 3) -= part;
            VECTOR3(J[1] + 3) -= part;
        }
    }
}

// Joints between the same two parts act at the arms of the first. newest: of the joints in the list
// of each part. A joint is in the list of its later part, as a body of many joints mostly comes
// before those it holds. A distance has two anchors, and is alone.
static void share_arms(const ode_problem *pulled, int at, int *newest, double (*arm)[4])
{
    ode_loaded_joint *joint = &pulled->loaded[at];
    const int *part = joint->part;
    int *list = &newest[part[0] > part[1] ? part[0] : part[1]];
    for (int i = *list; i >= 0; i = pulled->loaded[i].older) {
        const ode_loaded_joint *other = &pulled->loaded[i];
        bool same = other->part[0] == part[0] && other->part[1] == part[1];
        if (same || (other->part[0] == part[1] && other->part[1] == part[0])) {
            memcpy(arm[0], other->arm[!same], sizeof *arm);
            memcpy(arm[1], other->arm[same], sizeof *arm);
            joint->arm = (const double(*)[4])arm;
            break;
        }
    }
    joint->older = *list;
    *list = at;
}

INLINE void find_arms(const ode_problem *pulled, ode_loaded_joint *joint, double (*at)[4],
                      double (*arm)[4])
{
    const int *body = joint->row->body;
    for (int side = 0; side < 2 && pulled->part; side++) {
        const int part = joint->part[side] = sprag_ode_part(pulled, body[side]);
        vector3 way = VECTOR3(joint->lever[side]);
        if (part >= 0) {
            way += VECTOR3(at[body[side]]) - VECTOR3(pulled->part[part + 1].centre);
        }
        VECTOR3(arm[side]) = way;
    }
    if (!pulled->part) {
        memcpy(joint->part, body, sizeof joint->part);
    }
    joint->arm = (const double(*)[4])(pulled->part ? arm : joint->lever);
    if (joint->part[0] == joint->part[1]) {
        joint->part[0] = joint->part[1] = -1;
    }
}

// ---- their loads

INLINE void add_force(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    const double(*arm)[4] = joint->arm;
    const sprag_row *row = joint->row;
    vector3 force = {0};
    if (joint->along_axes) {
        force = (vector3){row[0].guess, row[1].guess, row[2].guess};
    }
    for (int i = 0; i < joint->rows && !joint->along_axes; i++) {
        force += row[i].guess * CONST_VECTOR3(row[i].jacobian[0]);
    }
    for (int side = 0; side < 2; side++, force = -force) {
        if (joint->part[side] >= 0) {
            ode_load *to = &pulled->load[joint->part[side]];
            for (int k = 0; k < 3; k++) {
                VECTOR3(to->moment[k]) += arm[side][k] * force;
            }
        }
    }
}

INLINE void add_torque(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    vector3 torque[2] = {{0}, {0}};
    for (unsigned left = joint->turning; left; left &= left - 1) {
        const sprag_row *row = &pulled->row[joint->first + __builtin_ctz(left)];
        torque[0] += row->guess * CONST_VECTOR3(row->jacobian[0] + 3);
        torque[1] += row->guess * CONST_VECTOR3(row->jacobian[1] + 3);
    }
    for (int side = 0; side < 2 && joint->turning; side++) {
        if (joint->part[side] >= 0) {
            VECTOR3(pulled->load[joint->part[side]].torque) += torque[side];
        }
    }
}

// Not by memset: for so many bytes it may leave them outside of the first-level cache.
INLINE void clear_load(ode_load *of)
{
    const vector3 none = {0};
    VECTOR3(of->moment[0]) = none;
    VECTOR3(of->moment[1]) = none;
    VECTOR3(of->moment[2]) = none;
    VECTOR3(of->torque) = none;
}

// at, arm: NULL: no loops, and no parts. newest: see share_arms(); NULL: no loops, and no two
// joints between the same parts. placed: it is known where joints act.
SPRAG_VECTORS
static void add_loads(const ode_problem *pulled, double (*at)[4], double (*arm)[4], int *newest,
                      bool placed)
{
    for (int i = 0; i < pulled->problem.bodies; i++) {
        clear_load(&pulled->load[i]);
    }
    for (int i = 0; i < pulled->loadeds; i++) {
        ode_loaded_joint *joint = &pulled->loaded[i];
        if (!placed) {
            find_levers(joint);
            if (newest) {
                hold_in_the_middle(joint, at);
            }
            find_arms(pulled, joint, at, arm ? &arm[2 * i] : NULL);
            if (newest && joint->linear > 1 && joint->part[0] != joint->part[1]) {
                share_arms(pulled, i, newest, &arm[2 * i]);
            }
        }
        add_force(pulled, joint);
        add_torque(pulled, joint);
    }
}

void sprag_ode_find_loads(ode_problem *pulled, sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    const bool placed = pulled->loaded != NULL;
    if (!placed && !find_joints(pulled, scratch)) {
        return;
    }
    const bool wants_places = !placed && (pulled->loops || pulled->part);
    int *newest = !placed && pulled->loops ? SPRAG_TAKE_RAW(scratch, bodies, int) : NULL;
    double(*at)[4] = wants_places ? SPRAG_TAKE_RAW(scratch, bodies, double[4]) : NULL;
    double(*arm)[4] = wants_places ? SPRAG_TAKE_RAW(scratch, 2 * pulled->loadeds, double[4]) : NULL;
    if (scratch->failed) {
        return;
    }
    for (int i = 0; i < bodies && wants_places; i++) {
        memcpy(at[i], dBodyGetPosition(pulled->island.body[i]), sizeof at[i]);
    }
    for (int i = 0; i < bodies && newest; i++) {
        newest[i] = -1;
    }
    add_loads(pulled, at, arm, newest, placed);
}
