// The table of families: how joints of older releases are asked for their rows, and how the surface
// of a contact joint of 0.12 is read. The functions asked are stand-ins with those releases'
// arguments.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "layout.h"
#include "suite.h"

enum { OF_16, OF_13, OF_WEBOTS, OF_12 }; // in the table

// What a stand-in has been asked, and answers.
enum { ROWS = 2 };
static const dReal rate = 50, erp = 0.25;
static dJointID const asked = (dJointID)(uintptr_t)64;
static int asks;

typedef struct descr { // dxJoint::Info2Descr
    dReal *J1l, *J1a, *J2l, *J2a;
    int rowskip;
    dReal *c, *cfm, *lo, *hi;
    int *findex;
} descr;

typedef struct info { // dxJoint::Info2
    dReal fps, erp;
    dReal *J1l, *J1a, *J2l, *J2a;
    int rowskip;
    dReal *c, *cfm, *lo, *hi;
    int *findex;
} info;

static void answer(const descr *d)
{
    asks++;
    for (int k = 0; k < ROWS; k++) {
        ck_assert(d->c[k] == 0 && d->cfm[k] == 1e-5); // as the caller has set them
        ck_assert(d->lo[k] == -dInfinity && d->hi[k] == dInfinity && d->findex[k] == -1);
        for (int i = 0; i < 3; i++) {
            d->J1l[k * d->rowskip + i] = 100 * k + i;
            d->J1a[k * d->rowskip + i] = 100 * k + 3 + i;
            d->J2l[k * d->rowskip + i] = -100 * k - i;
            d->J2a[k * d->rowskip + i] = -100 * k - 3 - i;
        }
        d->c[k] = 10 + k;
        d->lo[k] = -30 - k;
        d->hi[k] = 40 + k;
    }
    d->cfm[1] = 0.5; // of the second row alone
    d->findex[1] = 0;
}

static void in_arrays(dJointID joint, dReal fps, dReal e, const descr *d)
{
    ck_assert(joint == asked && fps == rate && e == erp);
    answer(d);
}

// Joints of 0.12 leave their own ERP behind.
static void in_struct(dJointID joint, info *i)
{
    ck_assert(joint == asked && i->fps == rate && i->erp == erp);
    const descr d = {i->J1l, i->J1a, i->J2l, i->J2a, i->rowskip,
                     i->c,   i->cfm, i->lo,  i->hi,  i->findex};
    answer(&d);
    i->erp = 1;
}

// Asks twice: the second time nothing of the first is left.
START_TEST(rows_of_older_releases)
{
    const ode_family *family = sprag_ode_families + (_i ? OF_12 : OF_13);
    opaque_fn *get_info2 = _i ? (opaque_fn *)in_struct : (opaque_fn *)in_arrays;
    asks = 0;
    for (int time = 0; time < 2; time++) {
        dReal J[2][6 * ROWS], rhs_cfm[2 * ROWS + 1], lo_hi[2 * ROWS + 1];
        int findex[ROWS];
        for (int k = 0; k < ROWS; k++) {
            rhs_cfm[2 * k] = 0;
            rhs_cfm[2 * k + 1] = 1e-5;
            lo_hi[2 * k] = -dInfinity;
            lo_hi[2 * k + 1] = dInfinity;
            findex[k] = -1;
        }
        rhs_cfm[2 * ROWS] = lo_hi[2 * ROWS] = 7;
        const ode_rows rows = {ROWS, J[0], J[1], rhs_cfm, lo_hi, findex};
        family->get_rows(get_info2, asked, rate, erp, &rows);
        for (int k = 0; k < ROWS; k++) {
            for (int i = 0; i < 6; i++) {
                ck_assert(J[0][6 * k + i] == 100 * k + i && J[1][6 * k + i] == -100 * k - i);
            }
            ck_assert(rhs_cfm[2 * k] == 10 + k && rhs_cfm[2 * k + 1] == (k ? 0.5 : 1e-5));
            ck_assert(lo_hi[2 * k] == -30 - k && lo_hi[2 * k + 1] == 40 + k);
            ck_assert_int_eq(findex[k], k ? 0 : -1);
        }
        ck_assert(rhs_cfm[2 * ROWS] == 7 && lo_hi[2 * ROWS] == 7); // no room for more
    }
    ck_assert_int_eq(asks, 2);
}
END_TEST

// dContact of 0.12 in a joint, 168 bytes after its start.
typedef struct joint_of_12 {
    char before[168];
    int mode;
    dReal mu, mu2, bounce, bounce_vel, soft_erp, soft_cfm, motion1, motion2, motionN, slip1, slip2;
    dContactGeom geom;
    dVector3 fdir1;
} joint_of_12;

START_TEST(surface_of_12)
{
    joint_of_12 j;
    memset(&j, 0, sizeof j);
    j.mode = dContactBounce | dContactSlip2 | dContactRolling; // 0.12 knows no such bit
    j.mu = 1;
    j.mu2 = 2;
    j.bounce = 3;
    j.soft_cfm = 4;
    j.slip2 = 5;
    const ode_layout was = *sprag_ode_layout();
    const ode_layout layout = {.family = sprag_ode_families + OF_12,
                               .surface = offsetof(joint_of_12, mode),
                               .geom = offsetof(joint_of_12, geom),
                               .direction = offsetof(joint_of_12, fdir1)};
    sprag_ode_set_layout(&layout);
    dJointID joint = (dJointID)(void *)&j;
    dSurfaceParameters room;
    memset(&room, 0xff, sizeof room);
    const dSurfaceParameters *s = sprag_ode_contact_surface(joint, &room);
    ck_assert_ptr_eq(s, &room);
    ck_assert_int_eq(s->mode, dContactBounce | dContactSlip2);
    ck_assert(s->mu == 1 && s->mu2 == 2 && s->bounce == 3 && s->soft_cfm == 4 && s->slip2 == 5);
    ck_assert(s->rho == 0 && s->rho2 == 0 && s->rhoN == 0);
    ck_assert_ptr_eq(sprag_ode_contact_geom(joint), &j.geom);
    ck_assert_ptr_eq(sprag_ode_contact_direction(joint), j.fdir1);
    unsigned char written[sizeof(dSurfaceParameters)];
    size_t size = sprag_ode_write_surface(layout.family, written, s);
    ck_assert_uint_eq(size, offsetof(joint_of_12, geom) - offsetof(joint_of_12, mode));
    j.mode = s->mode;
    ck_assert_mem_eq(written, &j.mode, size);
    sprag_ode_set_layout(&was);
}
END_TEST

// 0.12 numbers them as LoStop, HiStop, Vel, FMax, FudgeFactor, Bounce, CFM and so on.
START_TEST(parameters_of_12)
{
    const ode_layout was = *sprag_ode_layout();
    ck_assert_int_eq(sprag_ode_parameter(dParamFMax), dParamFMax);
    const ode_layout layout = {.family = sprag_ode_families + OF_12};
    sprag_ode_set_layout(&layout);
    ck_assert_int_eq(sprag_ode_parameter(dParamHiStop), 1);
    ck_assert_int_eq(sprag_ode_parameter(dParamVel), 2);
    ck_assert_int_eq(sprag_ode_parameter(dParamFMax), 3);
    ck_assert_int_eq(sprag_ode_parameter(dParamStopCFM), 8);
    sprag_ode_set_layout(&was);
}
END_TEST

START_TEST(the_running_ode_is_of_16)
{
    ck_assert_ptr_eq(sprag_ode_find_family(), sprag_ode_families + OF_16);
    ck_assert_ptr_null(sprag_ode_family_missing(sprag_ode_families + OF_16));
    ck_assert_str_eq(sprag_ode_family_missing(sprag_ode_families + OF_13),
                     "dxJointContact::getInfo2");
    ck_assert_str_eq(sprag_ode_family_missing(sprag_ode_families + OF_WEBOTS), "dxProcessIslands");
    ck_assert_str_eq(sprag_ode_family_missing(sprag_ode_families + OF_12), "dxProcessIslands");
    ck_assert_str_eq(sprag_ode_seems_to_be(), "0.16");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("family");
    ADD_TESTS(suite, "all", {rows_of_older_releases, 2}, {surface_of_12, 1}, {parameters_of_12, 1},
              {the_running_ode_is_of_16, 1});
    return run_suite(suite);
}
