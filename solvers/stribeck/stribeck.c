#include "stribeck.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "assemble.h"
#include "kinematics.h"
#include "linalg.h"
#include "oneway.h"
#include "stiction.h"
#include "strategy.h"
#include "stribeck_constants.h"
#include "sweeps.h"

sprag_stribeck_options sprag_stribeck_defaults(void)
{
    return (sprag_stribeck_options){.tolerance = 1e-6,
                                    .softness = 1e-3,
                                    .row_softness = 1e-8,
                                    .friction_softness = 1e-8,
                                    .exact = true,
                                    .sweeps = 500,
                                    .sweep_change = STRIBECK_SWEEP_TOLERANCE,
                                    .hard_in_motion = INFINITY,
                                    .max_iterations = 25,
                                    .max_continuation = 150,
                                    .direct_work = 400};
}

static double work_left(const sprag_stribeck_options *options)
{
    return options->work_left ? *options->work_left : INFINITY;
}

static sprag_strategy_state make_state(const sprag_scales *scales, double at_rest,
                                       const sprag_stribeck_options *options, unsigned attempts)
{
    return (sprag_strategy_state){
        .options = {.stiction = scales->stiction.moving,
                    .finest = at_rest,
                    .tolerance = options->tolerance,
                    .exact = options->sweep_change <= STRIBECK_SWEEP_TOLERANCE,
                    .small = STRIBECK_LIMITER_SMALL,
                    .theta = STRIBECK_LIMITER_TURN,
                    .max_iterations = options->max_iterations,
                    .max_continuation = options->max_continuation,
                    .softest = scales->soft.scale,
                    .attempts = attempts,
                    .small_work = options->direct_work,
                    .settled_work = options->settled_work,
                    .most_work = work_left(options)},
        .stats = {.stiction = scales->stiction.moving}};
}

// false: no memory.
static bool set_guess(sprag_strategy_state *w, const sprag_problem *problem, const int *node_of,
                      const sprag_solution *solution, sprag_scratch *scratch)
{
    double *guess = SPRAG_TAKE_RAW(scratch, w->system->size, double);
    for (int b = 0; b < problem->bodies && guess; b++) {
        if (node_of[b] != SPRAG_NOWHERE) {
            memcpy(guess + 6 * node_of[b], solution->velocity[b], 6 * sizeof *guess);
        }
    }
    w->guess = guess;
    return guess != NULL;
}

static void charge(const sprag_stribeck_options *options, double work)
{
    if (options->work_left) {
        *options->work_left -= work;
    }
}

// Speed of the fastest body, by its kinetic energy, relative to what a step changes (scale, m/s):
// in the solution, or (NULL) before the step. At most 1: near rest.
static double motion(const sprag_problem *problem, const sprag_solution *solution, double scale)
{
    double most = 0;
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        const double *v = solution ? solution->velocity[b] : body->velocity;
        const double own = body->mass * scale * scale;
        most = body->mass > 0 ? sprag_larger(mass_between(body, v, v) / own, most) : most;
    }
    return sqrt(most);
}

// Bodies that touch one another, and nothing immovable, and do not move on one another by more than
// what a step changes (m/s): a plate with crates pressed on both sides, what a gripper on an arm
// carries. They may move as one, however fast; that is no reason to leave to sweeps what holds
// them.
static bool moves_as_one(const sprag_problem *problem, const sprag_solution *solution, double most)
{
    const double *velocity = solution ? solution->velocity[0] : problem->body[0].velocity;
    const size_t bytes = solution ? sizeof *solution->velocity : sizeof *problem->body;
    for (int i = 0; i < problem->contacts; i++) {
        double u[3] = {0};
        if (problem->contact[i].body[1] == SPRAG_STATIC) {
            return false;
        }
        sprag_contact_velocity(&problem->contact[i], velocity, bytes, u);
        if (!(norm3(u) <= most)) {
            return false;
        }
    }
    return problem->contacts > 0;
}

// Copies what all strategies of a solve have counted.
static void copy_counts(const sprag_stats *from, sprag_stats *to)
{
    to->history = from->history;
    to->history_room = from->history_room;
    to->iterations = from->iterations;
    to->sweeps = from->sweeps;
    to->sweep_work = from->sweep_work;
    to->factorizations = from->factorizations;
}

// An island, and what this solve has done so far. Work is in products of blocks.
typedef struct island {
    const sprag_problem *problem;
    const sprag_stribeck_options *options;
    sprag_scales scales;
    sprag_best *best;
    sprag_stats *stats;
    sprag_memory *memory;
    // before the solve (describe_island)
    int moving;      // bodies with a mass
    bool joined;     // by rows
    bool alone;      // one body on several contacts; of one contact a sweep is exact
    bool trees;      // without rows, bodies touch in chains and trees only
    bool stacked;    // face on face or in trees: likely to rest
    bool held;       // it moves as one
    bool near;       // near rest, or held
    double motion;   // of the bodies, 0: held
    bool goes_on;    // near rest, and a direct method solved it last
    bool free;       // pays for no failures
    bool known_pays; // known forces do not wait for their account
    bool root_pays;  // nor does what goes to a root
    double update;   // work of an update of the direct methods, by the last one and the laws now
    double most;     // work of a direct method where it is not likely to pay
    // so far
    bool assembled, settles; // the system, and by the scales of islands that settle
    sprag_system system;     // of all direct methods
    int *node_of;
    double at_rest;
    bool known_first;                      // known forces went before the sweeps
    bool solved;                           // by known forces, or to a root
    bool at_root;                          // to a root
    double known, root, interior, settled; // work of the direct methods
} island;

// The system of the direct methods, and its pattern, which stay in the scratch.
static sprag_result assemble(island *b, bool settles)
{
    sprag_scratch *scratch = b->best->scratch;
    sprag_scales scales = b->scales;
    sprag_stiction *stiction = &scales.stiction;
    if (b->assembled && b->settles == settles) {
        return SPRAG_OK;
    }
    if (settles) {
        stiction->at_rest = fmax(stiction->at_rest, STRIBECK_SETTLED_STICTION * stiction->moving);
    }
    sprag_result result =
        sprag_stribeck_assemble(b->problem, &scales, scratch, &b->system, &b->node_of, &b->at_rest);
    b->assembled = result == SPRAG_OK;
    b->settles = settles;
    b->memory->update = b->assembled ? sprag_system_update_work(&b->system) : b->memory->update;
    return scratch->failed ? SPRAG_NO_MEMORY : result;
}

// The strategies of strategy.h among the attempts, with at most so much work of updates. SPRAG_OK:
// accepted. Counts are added to b->stats, and what they took to *work, or b->root.
static sprag_result solve_directly(island *b, unsigned attempts, double most, double *work)
{
    const sprag_problem *problem = b->problem;
    const sprag_stribeck_options *options = b->options;
    sprag_scratch *scratch = b->best->scratch;
    sprag_strategy_state w = make_state(&b->scales, b->at_rest, options, attempts);
    w.problem = problem;
    w.node_of = b->node_of;
    w.best = b->best;
    w.is_two_way = options->scheme == SPRAG_TWO_WAY || problem->contacts == 0;
    copy_counts(b->stats, &w.stats);
    if (sprag_strategy_open(&w, &b->system, scratch) != SPRAG_OK ||
        (options->warm && !set_guess(&w, problem, b->node_of, b->best->solution, scratch))) {
        return SPRAG_NO_MEMORY;
    }
    const double before = sprag_strategy_work(&w); // of updates so far
    w.options.most_work = before + sprag_smaller(w.options.most_work, most);
    sprag_result result;
    if (w.is_two_way) {
        result = sprag_strategy_solve(&w);
    } else {
        result = sprag_oneway_solve(&w);
        if (result == SPRAG_OK && sprag_strategy_offer(&w) == SPRAG_NO_MEMORY) {
            result = SPRAG_NO_MEMORY;
        }
    }
    const double taken = sprag_larger(1, w.stats.iterations - b->stats->iterations) * w.update_work;
    charge(options, taken); // one at least: the assembly
    const double root = w.at_root ? sprag_larger(w.root_work, w.update_work) : w.root_work;
    b->at_root = w.at_root;
    b->root += root;
    *(attempts == SPRAG_ATTEMPT_ROOT ? &b->root : work) += taken - root;
    *b->stats = w.stats;
    return result;
}

// At most so many sweeps, whatever the residual. What moves needs less exact velocities than what
// has nearly come to rest: slow bodies, errors in proportion to their speed.
static sprag_result sweep(const island *b, int most)
{
    sprag_best *best = b->best;
    const double change = b->options->sweep_change * fmin(1, b->motion);
    const bool moves = !b->near && !b->options->exact;
    const sprag_sweeps_options sweeps = {.soft = best->soft,
                                         .most = most,
                                         .least = STRIBECK_POOR_SWEEPS,
                                         .most_work = work_left(b->options),
                                         .tolerance = b->options->exact
                                                          ? STRIBECK_SWEEP_TOLERANCE
                                                          : fmax(STRIBECK_SWEEP_TOLERANCE, change),
                                         .enough = moves ? STRIBECK_SWEEP_ENOUGH : 0,
                                         .moving = b->options->stiction_tolerance,
                                         .at_rest = b->options->stiction_at_rest};
    sprag_stats swept = *b->stats;
    const sprag_scratch before = *best->scratch;
    swept.strategy = SPRAG_STRATEGY_GAUSS_SEIDEL;
    sprag_result result =
        sprag_sweeps_solve(b->problem, &sweeps, best->scratch, &best->room, &swept);
    sprag_scratch_release(best->scratch, &before);
    charge(b->options, swept.sweep_work - b->stats->sweep_work);
    b->stats->sweeps = swept.sweeps;
    b->stats->sweep_work = swept.sweep_work;
    b->stats->convergence = swept.convergence;
    if (result == SPRAG_OK && !isfinite(sprag_best_offer(best, &swept))) {
        return SPRAG_NOT_CONVERGED;
    }
    return result;
}

// m/s: what the step changes of the body that it changes least, without contacts and rows.
static double least_change(const sprag_problem *problem)
{
    double least = INFINITY;
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        double gain[3];
        subtract3(body->free_velocity, body->velocity, gain);
        least = body->mass > 0 ? sprag_smaller(norm3(gain), least) : least;
    }
    return least;
}

// Velocities and forces before the step. SPRAG_OK: they balance as well as known forces do that
// need no update, and no body loses more momentum than these leave in all bodies together, as if
// all were like the one that the step changes least: it would lose it in every step, however large
// the loads of others are. Nothing is assembled for it. Contacts that are kept creep by the
// stiction tolerance, so not what joints hold, which stands still.
static sprag_result keep(const island *b)
{
    const sprag_problem *problem = b->problem;
    if (!b->memory->rests || !b->near || b->joined) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_solution *room = sprag_best_room(b->best);
    if (!room) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < problem->bodies; i++) {
        memcpy(room->velocity[i], problem->body[i].velocity, sizeof room->velocity[i]);
    }
    const double at_rest = b->scales.stiction.at_rest;
    sprag_stats kept = {.strategy = SPRAG_STRATEGY_KEPT, .stiction_least = INFINITY};
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        const double force[6] = {sprag_larger(0, contact->guess[0]), contact->guess[1],
                                 contact->guess[2]};
        const double stiction = contact->stiction > 0 ? contact->stiction : at_rest;
        memcpy(room->contact_force[i], force, sizeof force);
        kept.stiction = sprag_larger(kept.stiction, stiction);
        kept.stiction_least = sprag_smaller(kept.stiction_least, stiction);
    }
    const bool swept = b->memory->last == SPRAG_STRATEGY_GAUSS_SEIDEL;
    const double share = swept ? STRIBECK_FORCE_KNOWN : 1; // or the decay of an exact solve stops
    const double most = share * STRIBECK_FORCE_KNOWN * b->options->tolerance;
    const double lost = most * sqrt(b->moving) * least_change(problem);
    const sprag_residual found = sprag_best_measure(b->best);
    if (!(found.relative <= most && found.momentum <= lost)) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_best_take(b->best, &found, &kept);
    return SPRAG_OK;
}

static bool has_failed(sprag_result result)
{
    return result == SPRAG_NOT_CONVERGED || result == SPRAG_SINGULAR;
}

static bool left_near_rest(const island *b)
{
    const sprag_solution *found = b->best->solution;
    const double scale = b->scales.soft.scale;
    return isfinite(b->best->stats.residual) &&
           (motion(b->problem, found, scale) <= 1 || moves_as_one(b->problem, found, scale));
}

// Without work left not even the matrix is assembled.
static sprag_result try_directly(island *b, unsigned attempts, double most, double *work)
{
    if (!(work_left(b->options) > 0)) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_result result = assemble(b, attempts == SPRAG_ATTEMPT_SETTLED);
    if (result == SPRAG_OK) {
        const sprag_scratch before = *b->best->scratch;
        result = solve_directly(b, attempts, most, work);
        sprag_scratch_release(b->best->scratch, &before);
        sprag_space6_forget(&b->system);
    }
    return result;
}

// The interior-point method brings the island to rest, where known forces need an update or two:
// then its debt is forgiven. Exact solves owe for failures only.
static sprag_result try_interior(island *b, double most)
{
    sprag_memory *memory = b->memory;
    sprag_result result = try_directly(b, SPRAG_ATTEMPT_INTERIOR, most, &b->interior);
    memory->interior -= b->options->exact && result == SPRAG_OK ? 0 : b->interior;
    memory->runs = result == SPRAG_OK && left_near_rest(b) &&
                   memory->interior > -STRIBECK_LONGEST_RUN * b->interior;
    return result;
}

// Does a solve pay that has taken so much work? In exact solves any does: sweeps in its place would
// leave random worlds with a residual above 1, from which no method finds back (test_random).
static bool pays_off(const island *b, double taken)
{
    return taken <= b->most || b->options->exact || ((b->trees || b->joined) && left_near_rest(b));
}

// The account of a method that has taken so much work: where it does not pay, it takes at most as
// much as the others do, and half of that after each failure in a row.
static void settle(const island *b, sprag_account *account, double taken, bool pays)
{
    const double all = b->stats->sweep_work + b->known + b->root + b->interior + b->settled;
    const int most = b->stacked ? STRIBECK_MOST_FAILURES : STRIBECK_MOST_FAILURES_OF_HEAPS;
    if (account->left < 0) {
        account->left = fmin(0, account->left + ldexp(all - taken, -account->failures));
    }
    if (taken > 0) {
        const int failures = account->failures + (pays ? -1 : 1);
        account->failures = failures < 0 ? 0 : failures > most ? most : failures;
        account->left -= pays ? 0 : taken;
    }
}

static island describe_island(const sprag_problem *problem, const sprag_stribeck_options *options,
                              sprag_best *best, sprag_stats *stats, sprag_memory *memory)
{
    const sprag_scales scales = sprag_stribeck_scales(problem, options);
    island b = {
        problem, options, scales, best, stats, memory, .moving = sprag_problem_moving(problem)};
    const double updates = options->direct_work;
    const int laws = problem->contacts + problem->rows;
    b.joined = problem->rows > 0;
    b.alone = b.moving == 1 && problem->contacts > 1 && !b.joined;
    b.trees = !b.joined && sprag_problem_is_trees(problem);
    b.stacked = b.trees || problem->contacts >= STRIBECK_STACKED_CONTACTS * b.moving;
    b.held = moves_as_one(problem, NULL, scales.soft.scale);
    b.motion = b.held ? 0 : motion(problem, NULL, scales.soft.scale);
    b.near = b.motion <= 1;
    b.goes_on = b.near && memory->last != SPRAG_STRATEGY_NONE &&
                memory->last != SPRAG_STRATEGY_GAUSS_SEIDEL;
    b.update =
        sprag_larger(memory->update, STRIBECK_UPDATE_WORK * laws); // the island may have grown
    b.free = (options->exact || b.joined) &&
             b.update <= sprag_larger(updates, b.held && b.joined ? STRIBECK_SMALL_GRASP : 0);
    b.known_pays = updates > 0 && (b.free || memory->known.left >= 0);
    b.root_pays = updates > 0 && options->exact && (b.free || memory->root.left >= 0);
    b.most = STRIBECK_AFFORDABLE_SWEEPS * laws;
    return b;
}

// The attempts in known forces that go before the sweeps; 0: none. They go near rest if a direct
// method solved the island last, in one body alone, where contacts have a stiffness of their own,
// and where joints hold bodies. Newton's method in the velocities goes with them in small islands
// with joints (a gripper that closes moves by its motors, and is not near rest), and in their place
// in one body alone whose forces are not known. What is held in the air goes to a root, or it
// slips.
static unsigned attempts_before_sweeps(const island *b)
{
    if (b->options->exact) {
        return (b->known_pays ? SPRAG_ATTEMPT_DIRECT : 0) | (b->root_pays ? SPRAG_ATTEMPT_ROOT : 0);
    }
    if (!b->known_pays ||
        !(b->joined || b->alone || b->goes_on || sprag_problem_is_stiff(b->problem))) {
        return 0;
    }
    const unsigned forces = b->held ? SPRAG_ATTEMPT_FORCES : 0;
    return b->alone && !b->goes_on ? SPRAG_ATTEMPT_NEWTON
           : b->free               ? SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_NEWTON | forces
           : b->memory->runs       ? SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_PATIENT
                                   : SPRAG_ATTEMPT_DIRECT;
}

// Known forces; the interior-point method, near rest, until known forces solve the island or it
// owes too much; and for islands that settle, frozen friction, while sweeps find nothing better.
static sprag_result solve_before_sweeps(island *b)
{
    const sprag_stribeck_options *options = b->options;
    const bool exact = options->exact, cheap = b->trees || b->joined;
    const unsigned attempts = attempts_before_sweeps(b);
    sprag_result result = SPRAG_NOT_CONVERGED;
    b->known_first = attempts;
    if (attempts) {
        result = try_directly(b, attempts, cheap || exact ? INFINITY : b->most, &b->known);
        b->solved = result == SPRAG_OK;
    }
    const bool runs = (b->near || exact) && b->memory->runs;
    const bool pays = exact && b->stacked && (b->free || b->memory->interior >= 0);
    if (has_failed(result) && options->direct_work > 0 && (runs || pays)) {
        result = try_interior(b, runs ? INFINITY : b->most);
    }
    if (has_failed(result) && options->settled_work > 0 && b->memory->frozen.left >= 0) {
        result = try_directly(b, SPRAG_ATTEMPT_SETTLED, INFINITY, &b->settled);
    }
    return result;
}

static sprag_result solve_by_sweeps(island *b)
{
    const bool exact = b->options->exact;
    const int least = b->near && !exact ? STRIBECK_REST_SWEEPS : 0;
    const int most = b->options->sweeps < least ? least : b->options->sweeps;
    const int times = b->trees && !exact ? STRIBECK_SWEEPS_OF_TREES : 1;
    return sweep(b, most < INT_MAX / times ? times * most : INT_MAX);
}

// Newton's method in the velocities brings few contacts of an island to rest with each update, and
// the more bodies there are, the fewer updates it is given without progress.
static bool newton_may_end(const island *b)
{
    const double patience = STRIBECK_BRIEF_PATIENCE / (6.0 * b->moving);
    const int laws = b->problem->contacts + b->problem->rows;
    return b->problem->contacts == 0 || patience >= STRIBECK_NEWTON_SHARE * laws;
}

// Direct methods follow sweeps that leave the island near rest, where contacts creep without them,
// or one body alone. In loops, known forces follow only sweeps that have converged: from others
// they do not end. Newton's method in the velocities goes on in trees, and where joints hold
// bodies: what a gripper holds by a line slips by millimetres otherwise. The interior-point method
// earns the more the larger the gap is. In motion it earns nothing, and follows where the gap is
// large beside the motion: a heavy load that lands moves what bears it, and sweeps do not find it
// there. result: of the sweeps; returns SPRAG_NO_MEMORY, or it.
static sprag_result finish_sweeps(island *b, sprag_result result)
{
    const sprag_stribeck_options *options = b->options;
    sprag_memory *memory = b->memory;
    const bool exact = options->exact, rests = left_near_rest(b);
    const double moves = options->hard_in_motion * fmax(1, b->motion);
    const double found = b->best->stats.gap;
    const double gap = found / (rests || exact ? STRIBECK_HARD : moves);
    const bool ends =
        !exact && b->best->stats.residual <= STRIBECK_FORCE_KNOWN * options->tolerance;
    sprag_result last = result == SPRAG_OK && !ends ? SPRAG_NOT_CONVERGED : result;
    memory->runs = false;
    const bool nearly = b->trees || b->stats->convergence <= STRIBECK_SWEEP_TOLERANCE;
    const bool known_next = b->joined ? !b->free : !b->known_first && nearly;
    if (b->known_pays && has_failed(last) && (exact || b->moving == 1 || (rests && known_next))) {
        const bool may_end = (b->trees || b->joined) && newton_may_end(b);
        const unsigned newton = may_end ? SPRAG_ATTEMPT_NEWTON : 0;
        const unsigned known = b->joined ? 0 : SPRAG_ATTEMPT_SWEPT; // of joints they have failed
        last = newton | known ? try_directly(b, newton | known, b->most, &b->known) : last;
        b->solved = last == SPRAG_OK;
    }
    const double cost = STRIBECK_INTERIOR_LEAST * b->update;
    const bool finds = rests || exact || found < STRIBECK_LOST_IN_MOTION;
    const bool earns = rests || exact || gap >= 1;
    const bool may = options->direct_work > 0 && finds && b->stacked && earns;
    const double share = may ? fmin(1, STRIBECK_GAP_SHARE * gap) : 0;
    memory->interior = fmin(cost, memory->interior + share * b->stats->sweep_work);
    if (share > 0 && has_failed(last) && memory->interior >= cost * fmax(0, 1 - gap)) {
        last = try_interior(b, INFINITY);
    }
    return last == SPRAG_NO_MEMORY ? last : result;
}

// For the next solve of the island.
static void remember(island *b)
{
    sprag_memory *memory = b->memory;
    const sprag_stats *found = &b->best->stats;
    const bool known = b->solved && !b->at_root && pays_off(b, b->known);
    settle(b, &memory->root, b->root, b->solved && b->at_root && pays_off(b, b->root));
    settle(b, &memory->known, b->known, known);
    settle(b, &memory->frozen, b->settled, found->strategy == SPRAG_STRATEGY_FROZEN_FRICTION);
    if (known && found->strategy == SPRAG_STRATEGY_WARM_NEWTON) {
        memory->interior = fmax(0, memory->interior); // it may have brought the island here
    }
    memory->last = found->strategy;
    const bool swept_once = // and is exact, as of a body on one contact
        b->stats->sweeps == 1 && found->residual <= STRIBECK_FORCE_KNOWN * b->options->tolerance;
    memory->rests = b->stats->iterations == 0 && (b->solved || swept_once);
}

// Sweeps of Gauss-Seidel solve everything, but not exactly. Direct methods are exact, take longer,
// and may fail: Newton's method in known forces, the way to a root of exact solves, and the
// interior-point method. Each has an account of work in the island's memory: what does not pay is
// charged, and the method waits until a share of the work of the others has paid for it. So
// failures take at most that share in the long run; before it waits, the interior-point method may
// owe what brings a tower to rest. Without accounts larger islands in motion fail in every step
// (exact solves of a shaken pile of 100 then take 16 instead of 7.3 times QuickStep's time). What
// solved the island last goes first. If solves are exact, direct methods go first and last, at rest
// or not. Islands of exact solves, and those with joints, in which an update takes no more than
// direct_work (more in what is held in the air) have no accounts: what is done is a function of the
// problem.
static sprag_result solve_two_way(island *b)
{
    sprag_result result = keep(b);
    if (!has_failed(result)) {
        return result;
    }
    result = solve_before_sweeps(b);
    if (has_failed(result) && b->options->sweeps > 0) {
        result = finish_sweeps(b, solve_by_sweeps(b));
    }
    remember(b);
    return result;
}

sprag_result sprag_stribeck_solve(const sprag_problem *problem,
                                  const sprag_stribeck_options *options, sprag_scratch *scratch,
                                  sprag_solution *solution, sprag_stats *stats)
{
    sprag_stribeck_options defaults = sprag_stribeck_defaults();
    sprag_stats own = {0};
    sprag_result result = sprag_problem_check(problem, NULL, 0);
    if (result != SPRAG_OK) {
        return result;
    }
    options = options ? options : &defaults;
    stats = stats ? stats : &own;
    stats->sweep_work = stats->iterations = stats->sweeps = stats->factorizations = 0;
    if (problem->contacts == 0 && problem->rows == 0) {
        sprag_stats free = {.stiction = sprag_stribeck_scales(problem, options).stiction.moving};
        copy_counts(stats, &free);
        *stats = free;
        sprag_assemble_free(problem, solution);
        charge(options, sprag_problem_moving(problem));
        return SPRAG_OK;
    }
    const bool two_way =
        problem->contacts > 0 ? options->scheme == SPRAG_TWO_WAY : problem->rows > 0;
    const bool swept =
        two_way && !options->memory && options->direct_work + options->settled_work == 0;
    sprag_best best = {.problem = problem,
                       .soft = sprag_stribeck_shares(options),
                       .scratch = scratch,
                       .solution = solution,
                       .sole = swept && stats == &own,
                       .stats = {.residual = INFINITY}};
    const sprag_scratch before = *scratch;
    if (!sprag_best_room(&best)) { // before strategies, whose memory is released
        return SPRAG_NO_MEMORY;
    }
    sprag_memory none = {0};
    island b = describe_island(problem, options, &best, stats,
                               two_way && options->memory ? options->memory : &none);
    bool poor = !(work_left(options) > 0) && problem->contacts > 0;
    if (!poor) {
        result = two_way ? solve_two_way(&b)
                         : try_directly(&b, SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_ROOT, INFINITY,
                                        &b.known);
        poor = !(work_left(options) > 0) && result != SPRAG_OK && result != SPRAG_NO_MEMORY;
    }
    if (poor) {
        result = sweep(&b, STRIBECK_POOR_SWEEPS);
    }
    if (result != SPRAG_NO_MEMORY && isfinite(best.stats.residual)) {
        copy_counts(stats, &best.stats);
        *stats = best.stats;
        result = SPRAG_OK;
    }
    sprag_scratch_release(scratch, &before);
    return result;
}
