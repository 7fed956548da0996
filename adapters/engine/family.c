// The table of families (family.h), and how each of them fills in the rows of a joint.
#include "family.h"

// ---- dxJoint::getInfo2

typedef void in_pairs_fn(dJointID, dReal rate, dReal erp, int J_skip, dReal *J1, dReal *J2,
                         int pair_skip, dReal *rhs_cfm, dReal *lo_hi, int *findex);

static void rows_in_pairs(opaque_fn *get_info2, dJointID joint, dReal rate, dReal erp,
                          const ode_rows *to)
{
    ((in_pairs_fn *)get_info2)(joint, rate, erp, 6, to->J1, to->J2, 2, to->rhs_cfm, to->lo_hi,
                               to->findex);
}

// dxJoint::Info2Descr of 0.13 and 0.14. Each of its arrays has a number a row.
typedef struct info2_descr {
    dReal *J1_linear, *J1_angular, *J2_linear, *J2_angular;
    int J_skip;
    dReal *rhs, *cfm, *lo, *hi;
    int *findex;
} info2_descr;

typedef struct info2 { // dxJoint::Info2 of 0.12
    dReal rate, erp;
    info2_descr arrays;
} info2;

typedef struct row_arrays {
    dReal rhs[ODE_ROWS_MAX], cfm[ODE_ROWS_MAX], lo[ODE_ROWS_MAX], hi[ODE_ROWS_MAX];
} row_arrays;

static info2_descr split_pairs(row_arrays *a, const ode_rows *from)
{
    for (int k = 0; k < from->count; k++) {
        a->rhs[k] = from->rhs_cfm[2 * k];
        a->cfm[k] = from->rhs_cfm[2 * k + 1];
        a->lo[k] = from->lo_hi[2 * k];
        a->hi[k] = from->lo_hi[2 * k + 1];
    }
    return (info2_descr){from->J1, from->J1 + 3, from->J2, from->J2 + 3, 6,
                         a->rhs,   a->cfm,       a->lo,    a->hi,        from->findex};
}

static void join_pairs(const row_arrays *a, const ode_rows *to)
{
    for (int k = 0; k < to->count; k++) {
        to->rhs_cfm[2 * k] = a->rhs[k];
        to->rhs_cfm[2 * k + 1] = a->cfm[k];
        to->lo_hi[2 * k] = a->lo[k];
        to->lo_hi[2 * k + 1] = a->hi[k];
    }
}

typedef void in_arrays_fn(dJointID, dReal rate, dReal erp, const info2_descr *);

static void rows_in_arrays(opaque_fn *get_info2, dJointID joint, dReal rate, dReal erp,
                           const ode_rows *to)
{
    row_arrays arrays;
    const info2_descr descr = split_pairs(&arrays, to);
    ((in_arrays_fn *)get_info2)(joint, rate, erp, &descr);
    join_pairs(&arrays, to);
}

typedef void in_struct_fn(dJointID, info2 *);

static void rows_in_struct(opaque_fn *get_info2, dJointID joint, dReal rate, dReal erp,
                           const ode_rows *to)
{
    row_arrays arrays;
    info2 info = {rate, erp, split_pairs(&arrays, to)};
    ((in_struct_fn *)get_info2)(joint, &info);
    join_pairs(&arrays, to);
}

// ---- the table

const ode_family sprag_ode_families[] = {
    {"0.15 or 0.16", sprag_real_contact_rows_in_pairs, sprag_real_ball_rows_in_pairs, rows_in_pairs,
     .in_arena = false, .of_12 = false},
    {"0.13 or 0.14", sprag_real_contact_rows_in_arrays, sprag_real_ball_rows_in_arrays,
     rows_in_arrays, .in_arena = false, .of_12 = false},
    {"Webots' fork", sprag_real_contact_rows_in_arrays, sprag_real_ball_rows_in_arrays,
     rows_in_arrays, .in_arena = true, .of_12 = false},
    {"0.12", sprag_real_contact_rows_in_struct, sprag_real_ball_rows_in_struct, rows_in_struct,
     .in_arena = true, .of_12 = true},
    {0},
};

static opaque_fn *process_of(const ode_family *f)
{
    return f->in_arena ? (opaque_fn *)sprag_real_process_in_arena()
                       : (opaque_fn *)sprag_real_process_islands();
}

const ode_family *sprag_ode_find_family(void)
{
    const ode_family *by_rows = NULL, *by_process = NULL;
    for (const ode_family *f = sprag_ode_families; f->name; f++) {
        bool has_rows = f->contact_rows(), has_process = process_of(f);
        if (has_rows && has_process) {
            return f;
        }
        by_rows = !by_rows && has_rows ? f : by_rows;
        by_process = !by_process && has_process ? f : by_process;
    }
    return by_rows ? by_rows : by_process ? by_process : sprag_ode_families;
}

const char *sprag_ode_family_missing(const ode_family *f)
{
    const bool calls = !f->in_arena;
    const sprag_symbol needed[] = {
        SPRAG_SYMBOL(process_of(f), "dxProcessIslands"),
        SPRAG_SYMBOL(sprag_real_reallocate(), "dxReallocateWorldProcessContext"),
        SPRAG_SYMBOL(sprag_real_step_body(), "dxStepBody"),
        SPRAG_SYMBOL(sprag_real_step_island(), calls ? "dxStepIsland" : "dInternalStepIsland"),
        SPRAG_SYMBOL(sprag_real_quick_island(), calls ? "dxQuickStepIsland" : "dxQuickStepper"),
        SPRAG_SYMBOL(sprag_real_step_memory(), "dxEstimateStepMemoryRequirements"),
        SPRAG_SYMBOL(sprag_real_quick_memory(), "dxEstimateQuickStepMemoryRequirements"),
        SPRAG_SYMBOL(f->in_arena ? (opaque_fn *)sprag_real_clean_up() : sprag_real_step_calls(),
                     calls ? "dxEstimateStepMaxCallCount" : "dxCleanupWorldProcessContext"),
        SPRAG_SYMBOL(f->in_arena ? (opaque_fn *)sprag_real_clean_up() : sprag_real_quick_calls(),
                     "dxEstimateQuickStepMaxCallCount"),
        SPRAG_SYMBOL(sprag_real_contact_count(), "dxJointContact::getInfo1"),
        SPRAG_SYMBOL(f->contact_rows(), "dxJointContact::getInfo2"),
        SPRAG_SYMBOL(sprag_real_ball_count(), "dxJointBall::getInfo1"),
        SPRAG_SYMBOL(f->ball_rows(), "dxJointBall::getInfo2"),
    };
    const char *missing = sprag_first_missing(needed, sizeof needed / sizeof *needed);
    return missing ? missing : sprag_real_missing();
}

const char *sprag_ode_seems_to_be(void)
{
    static const struct {
        ode_mark mark;
        const char *name;
    } known[] = {
        {ODE_MARK_WEBOTS, "Webots' fork"},
        {ODE_MARK_GAZEBO, "Gazebo's fork"},
        {ODE_MARK_16, "0.16"},
        {ODE_MARK_15, "0.15"},
        {ODE_MARK_14, "0.14"},
        {ODE_MARK_13, "0.13"},
        {ODE_MARK_12, "0.12"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (sprag_real_has(known[i].mark)) {
            return known[i].name;
        }
    }
    return "of before 0.12";
}
