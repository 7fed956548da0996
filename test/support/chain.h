// Random trees of joints at constant rates, against the bound of their links (bounds.h, 11 to 14).
// Of a tree, only the joints between base and link count; the branches share those near the base.
#ifndef TEST_CHAIN_H
#define TEST_CHAIN_H

#include "bounds.h"
#include "chance.h"

enum { CHAIN_JOINTS = 12, CHAIN_POINTS = 6 };

typedef struct chain_tree {
    int parent[CHAIN_JOINTS]; // -1: the base
    sprag_bound_joint joint[CHAIN_JOINTS];
    double axis[CHAIN_JOINTS][3]; // in the axes of the link before: of turning or sliding
    double next[CHAIN_JOINTS][3]; // m, in the axes of the link: joint to the joints that follow
    double velocity[6];           // of the base at its joints
} chain_tree;

static inline void chain_make(chance *c, chain_tree *tree)
{
    for (int j = 0; j < CHAIN_JOINTS; j++) {
        sprag_bound_joint *joint = &tree->joint[j];
        tree->parent[j] =
            (int)(chance_fraction(c) * 3) ? j - 1 : (int)((j + 1) * chance_fraction(c)) - 1;
        joint->kind = chance_fraction(c) < 0.4 ? SPRAG_BOUND_SLIDES : SPRAG_BOUND_TURNS;
        joint->position = joint->kind == SPRAG_BOUND_SLIDES ? chance_between(c, -1, 1) : 0;
        joint->rate = chance_power(c, -2, 0.7) * (chance_fraction(c) < 0.5 ? -1 : 1);
        joint->length = chance_power(c, -2, 0.3);
        chance_unit(c, tree->axis[j]);
        chance_unit(c, tree->next[j]);
        for (int k = 0; k < 3; k++) {
            tree->next[j][k] *= joint->length;
        }
    }
    chance_unit(c, tree->velocity);
    chance_unit(c, tree->velocity + 3);
    double turns = chance_fraction(c) < 0.5 ? 0 : chance_power(c, -1, 0.5);
    for (int k = 0; k < 3; k++) {
        tree->velocity[3 + k] *= turns;
    }
}

// Computes the position of a point of the last link at time t. A revolute or spherical joint at a
// constant rate turns about one axis.
static inline void chain_point(const chain_tree *tree, const int *path, int joints,
                               const double local[3], double t, double out[3])
{
    double x[3] = {local[0], local[1], local[2]}, turned[3];
    for (int i = joints - 1; i >= 0; i--) {
        int j = path[i];
        const sprag_bound_joint *joint = &tree->joint[j];
        if (i < joints - 1) {
            add_scaled(x, 1, tree->next[j], 3);
        }
        if (joint->kind == SPRAG_BOUND_SLIDES) {
            add_scaled(x, joint->position + t * joint->rate, tree->axis[j], 3);
        } else {
            sprag_motion turn = {.pose.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
            sprag_pose pose;
            for (int k = 0; k < 3; k++) {
                turn.velocity[3 + k] = joint->rate * tree->axis[j][k];
            }
            sprag_motion_at(&turn, t, &pose);
            mul33(pose.rotation, x, turned);
            memcpy(x, turned, sizeof x);
        }
    }
    sprag_motion base = {.pose.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    sprag_pose pose;
    memcpy(base.velocity, tree->velocity, sizeof base.velocity);
    sprag_motion_at(&base, t, &pose);
    mul33(pose.rotation, x, out);
    add_scaled(out, 1, pose.position, 3);
}

// Returns the largest motion of points of a random link along a random direction, as a share of the
// bound, within up to a second: at most 1 if the bound holds.
static inline double chain_trial(uint64_t seed)
{
    chance c = {seed * 0x9e3779b97f4a7c15u + 1};
    chain_tree tree;
    chain_make(&c, &tree);
    int path[CHAIN_JOINTS], joints = 0, reversed[CHAIN_JOINTS];
    for (int j = (int)(CHAIN_JOINTS * chance_fraction(&c)); j >= 0; j = tree.parent[j]) {
        reversed[joints++] = j;
    }
    sprag_bound_joint joint[CHAIN_JOINTS];
    for (int i = 0; i < joints; i++) {
        path[i] = reversed[joints - 1 - i];
        joint[i] = tree.joint[path[i]];
    }
    sprag_bound_chain chain = {joints, joint, chance_power(&c, -2, 0), {0}};
    memcpy(chain.velocity, tree.velocity, sizeof chain.velocity);
    double n[3], centre[3], worst = 0, t = chance_power(&c, -4, 0);
    chance_unit(&c, n);
    chance_unit(&c, centre); // the joint is on or within the ball
    double off = chain.radius * chance_fraction(&c), bound = sprag_bound_link(&chain, n);
    for (int i = 0; i < CHAIN_POINTS; i++) {
        double local[3], from[3], to[3];
        chance_unit(&c, local);
        for (int k = 0; k < 3; k++) {
            local[k] = chain.radius * local[k] + off * centre[k];
        }
        chain_point(&tree, path, joints, local, 0, from);
        chain_point(&tree, path, joints, local, t, to);
        subtract3(to, from, to);
        worst = fmax(worst, fabs(dot3(n, to)) / (t * bound));
    }
    return worst;
}

#endif
