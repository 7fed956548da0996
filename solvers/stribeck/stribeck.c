#include "stribeck.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "assemble.h"
#include "laws.h"
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
                                    .max_iterations = 25,
                                    .max_continuation = 150,
                                    .direct_work = 400};
}

static sprag_shares shares_of(const sprag_stribeck_options *options)
{
    return (sprag_shares){options->softness, options->row_softness, options->friction_softness};
}

sprag_scales sprag_stribeck_scales(const sprag_problem *problem,
                                   const sprag_stribeck_options *options)
{
    sprag_softness soft = sprag_problem_softness(problem, shares_of(options));
    return (sprag_scales){.soft = soft,
                          .stiction = sprag_stiction_of(soft.scale, options->stiction_tolerance,
                                                        options->stiction_at_rest)};
}

// |slip| of a cone, m/s, in the metric of its shape, where the system is placed. What has gone
// along a chord goes along the next one after the turn: the bend of the last one is the other way.
static double slip_of(const sprag_system *system, int point, const sprag_cone *cone,
                      const sprag_contact *contact)
{
    const bool on_chord = contact->on_chords && cone->first < SPRAG_ROLL;
    double sum = 0;
    for (int k = 0; k < cone->axes; k++) {
        const int row = cone->first + k;
        double bend = on_chord ? 2 * contact->slide.velocity[row - SPRAG_SLIDE] : 0;
        double u = cone->shape[k] * (system->slip[point][row] + bend) / cone->of_stiction;
        sum += u * u;
    }
    return sqrt(sum);
}

// Sets the stiction tolerance of each cone: the contact's own if it has one, else a thousandth of
// its slip before the step, between the tolerance at rest, by which contacts at rest creep even if
// their bodies move together, and that of sliding contacts.
// *at_rest: m/s, the least of contacts at rest.
static void set_stiction(sprag_system *system, const sprag_problem *problem, sprag_scales *scales,
                         double *at_rest)
{
    sprag_system_place(system, system->start);
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            system->cone[c].stiction = slip_of(system, i, &system->cone[c], &problem->contact[i]);
            scales->fastest = fmax(scales->fastest, system->cone[c].stiction);
        }
    }
    *at_rest = scales->stiction.at_rest;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        double asked = problem->contact[i].stiction;
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double *tolerance = &system->cone[c].stiction;
            *tolerance =
                sprag_stiction_tolerance(&scales->stiction, asked, *tolerance, scales->fastest);
            system->cone[c].linear = asked > 0;
        }
        *at_rest = asked > 0 ? fmin(*at_rest, asked) : *at_rest;
    }
}

void sprag_stribeck_hold(sprag_system *system, const sprag_problem *problem,
                         const sprag_scales *scales, double at_rest)
{
    for (int i = 0; i < system->points; i++) {
        sprag_point *point = &system->point[i];
        const bool held = point->guess[0] > 0 && sprag_contact_rests(problem, &problem->contact[i],
                                                                     scales->stiction.moving);
        for (int c = point->cone; c < point->cone + point->cones && held; c++) {
            sprag_cone *cone = &system->cone[c];
            double slip[2];
            if (cone->first + cone->axes <= SPRAG_ROLL && isfinite(cone->coefficient) &&
                !cone->creeps && !cone->linear) {
                cone->of_stiction *= STRIBECK_HELD_TOLERANCE;
                sprag_cone_stuck_slip(cone, at_rest, cone->force ? system->step : point->guess[0],
                                      point->guess + cone->first, slip);
                add_scaled(point->offset + cone->first, 1, slip, cone->axes);
            }
        }
    }
}

static double work_left(const sprag_stribeck_options *options)
{
    return options->work_left ? *options->work_left : INFINITY;
}

static sprag_strategy_state make_state(const sprag_scales *scales, double at_rest,
                                       const sprag_stribeck_options *options, unsigned attempts)
{
    return (sprag_strategy_state){.options = {.stiction = scales->stiction.moving,
                                              .finest = at_rest,
                                              .tolerance = options->tolerance,
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
    double *guess = SPRAG_TAKE(scratch, w->system->size, double);
    for (int b = 0; b < problem->bodies && guess; b++) {
        if (node_of[b] != SPRAG_NOWHERE) {
            memcpy(guess + 6 * node_of[b], solution->velocity[b], 6 * sizeof *guess);
        }
    }
    w->guess = guess;
    return guess != NULL;
}

sprag_result sprag_stribeck_assemble(const sprag_problem *problem, sprag_scales *scales,
                                     sprag_scratch *scratch, sprag_system *system, int **node_of,
                                     double *at_rest)
{
    sprag_result result = sprag_assemble(system, problem, &scales->soft, scratch, node_of);
    if (result == SPRAG_OK) {
        set_stiction(system, problem, scales, at_rest);
    }
    return result;
}

static void charge(const sprag_stribeck_options *options, double work)
{
    if (options->work_left) {
        *options->work_left -= work;
    }
}

// J.
static double kinetic_energy(const sprag_body *body, const double v[6])
{
    double L[3];
    mul33(body->inertia, v + 3, L);
    return body->mass > 0 ? (body->mass * dot3(v, v) + dot3(v + 3, L)) / 2 : 0;
}

// No body has more kinetic energy than if it moved by what a step changes: in the solution, or
// (NULL) before the step.
static bool is_near_rest(const sprag_problem *problem, const sprag_solution *solution)
{
    double scale = sprag_problem_scale(problem);
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        const double *v = solution ? solution->velocity[b] : body->velocity;
        if (kinetic_energy(body, v) > body->mass * scale * scale / 2) {
            return false;
        }
    }
    return true;
}

// The strategies of strategy.h among the attempts, with at most so much work of updates. SPRAG_OK:
// accepted. Counts are added to *stats, and what they took to *work; *update: that of a Newton
// update; both in products of blocks.
static sprag_result solve_directly(const sprag_problem *problem,
                                   const sprag_stribeck_options *options, unsigned attempts,
                                   double most, sprag_best *best, sprag_stats *stats,
                                   double *update, double *work)
{
    sprag_scales scales = sprag_stribeck_scales(problem, options);
    sprag_stiction *stiction = &scales.stiction;
    sprag_scratch *scratch = best->scratch;
    sprag_system system;
    int *node_of;
    double at_rest;
    if (attempts == SPRAG_ATTEMPT_SETTLED) {
        stiction->at_rest = fmax(stiction->at_rest, STRIBECK_SETTLED_STICTION * stiction->moving);
    }
    sprag_result result =
        sprag_stribeck_assemble(problem, &scales, scratch, &system, &node_of, &at_rest);
    if (result != SPRAG_OK) {
        return result;
    }
    sprag_stribeck_hold(&system, problem, &scales, at_rest);
    sprag_strategy_state w = make_state(&scales, at_rest, options, attempts);
    w.problem = problem;
    w.node_of = node_of;
    w.best = best;
    w.is_two_way = options->scheme == SPRAG_TWO_WAY || problem->contacts == 0;
    w.stats.history = stats->history;
    w.stats.history_room = stats->history_room;
    w.stats.iterations = stats->iterations;
    w.stats.sweeps = stats->sweeps;
    w.stats.sweep_work = stats->sweep_work;
    w.stats.factorizations = stats->factorizations;
    if (sprag_strategy_open(&w, &system, scratch) != SPRAG_OK ||
        (options->warm && !set_guess(&w, problem, node_of, best->solution, scratch))) {
        return SPRAG_NO_MEMORY;
    }
    const double before = sprag_strategy_work(&w); // of updates so far
    w.options.most_work = before + fmin(w.options.most_work, most);
    if (problem->contacts == 0 && problem->rows == 0) {
        memcpy(w.v, system.free, (size_t)system.size * sizeof *w.v);
        result = sprag_strategy_offer(&w);
    } else if (w.is_two_way) {
        result = sprag_strategy_solve(&w);
    } else {
        result = sprag_oneway_solve(&w);
        if (result == SPRAG_OK && sprag_strategy_offer(&w) == SPRAG_NO_MEMORY) {
            result = SPRAG_NO_MEMORY;
        }
    }
    const double taken = fmax(1, w.stats.iterations - stats->iterations) * w.update_work;
    charge(options, taken); // one at least: the assembly
    *update = w.update_work;
    *work += taken;
    *stats = w.stats;
    return result;
}

static int count_moving(const sprag_problem *problem)
{
    int moving = 0;
    for (int b = 0; b < problem->bodies; b++) {
        moving += problem->body[b].mass > 0;
    }
    return moving;
}

// Do bodies touch in chains and trees only, as in a stack? Then a factorization has no fill.
// Contacts of a pair follow each other.
static bool contacts_form_trees(const sprag_problem *problem, int moving)
{
    int edges = 0, last[2] = {SPRAG_STATIC, SPRAG_STATIC};
    for (int i = 0; i < problem->contacts; i++) {
        const int *body = problem->contact[i].body;
        bool joins = body[1] != SPRAG_STATIC && problem->body[body[0]].mass > 0 &&
                     problem->body[body[1]].mass > 0;
        edges += joins && (body[0] != last[0] || body[1] != last[1]);
        last[0] = body[0], last[1] = body[1];
    }
    return edges < moving;
}

// Contacts of a stiffness of their own: sweeps converge slowly, and what they leave throws bodies.
static bool has_stiff_contacts(const sprag_problem *problem)
{
    for (int i = 0; i < problem->contacts; i++) {
        if (problem->contact[i].stiffness > 0) {
            return true;
        }
    }
    return false;
}

// At most so many sweeps, whatever the residual.
static sprag_result sweep(const sprag_problem *problem, const sprag_stribeck_options *options,
                          int most, sprag_best *best, sprag_stats *stats)
{
    const sprag_sweeps_options sweeps = {.soft = shares_of(options),
                                         .most = most,
                                         .least = STRIBECK_POOR_SWEEPS,
                                         .most_work = work_left(options),
                                         .tolerance = STRIBECK_SWEEP_TOLERANCE,
                                         .moving = options->stiction_tolerance,
                                         .at_rest = options->stiction_at_rest};
    sprag_stats swept = *stats;
    const sprag_scratch before = *best->scratch;
    swept.strategy = SPRAG_STRATEGY_GAUSS_SEIDEL;
    sprag_result result = sprag_sweeps_solve(problem, &sweeps, best->scratch, &best->room, &swept);
    sprag_scratch_release(best->scratch, &before);
    charge(options, swept.sweep_work - stats->sweep_work);
    stats->sweeps = swept.sweeps;
    stats->sweep_work = swept.sweep_work;
    stats->convergence = swept.convergence;
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
        least = body->mass > 0 ? fmin(least, norm3(gain)) : least;
    }
    return least;
}

// Velocities and forces before the step. SPRAG_OK: they balance as well as known forces do that
// need no update, and no body loses more momentum than these leave in all bodies together, as if
// all were like the one that the step changes least: it would lose it in every step, however large
// the loads of others are. Nothing is assembled for it.
static sprag_result keep(const sprag_problem *problem, const sprag_stribeck_options *options,
                         sprag_best *best)
{
    sprag_solution *room = sprag_best_room(best);
    if (!room) {
        return SPRAG_NO_MEMORY;
    }
    for (int b = 0; b < problem->bodies; b++) {
        memcpy(room->velocity[b], problem->body[b].velocity, sizeof room->velocity[b]);
    }
    const double at_rest = sprag_stribeck_scales(problem, options).stiction.at_rest;
    sprag_stats kept = {.strategy = SPRAG_STRATEGY_KEPT, .stiction_least = INFINITY};
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        const double force[6] = {fmax(0, contact->guess[0]), contact->guess[1], contact->guess[2]};
        const double stiction = contact->stiction > 0 ? contact->stiction : at_rest;
        memcpy(room->contact_force[i], force, sizeof force);
        kept.stiction = fmax(kept.stiction, stiction);
        kept.stiction_least = fmin(kept.stiction_least, stiction);
    }
    const bool swept = options->memory->last == SPRAG_STRATEGY_GAUSS_SEIDEL;
    const double share = swept ? STRIBECK_FORCE_KNOWN : 1; // or the decay of an exact solve stops
    const double most = share * STRIBECK_FORCE_KNOWN * options->tolerance;
    const double lost = most * sqrt(count_moving(problem)) * least_change(problem);
    const sprag_residual found = sprag_best_measure(best);
    if (!(found.relative <= most && found.momentum <= lost)) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_best_take(best, &found, &kept);
    return SPRAG_OK;
}

static bool has_failed(sprag_result result)
{
    return result == SPRAG_NOT_CONVERGED || result == SPRAG_SINGULAR;
}

static bool left_near_rest(const sprag_best *best)
{
    return isfinite(best->stats.residual) && is_near_rest(best->problem, best->solution);
}

// An island, and what this solve has done so far.
typedef struct island {
    const sprag_problem *problem;
    const sprag_stribeck_options *options;
    sprag_best *best;
    sprag_stats *stats;
    sprag_memory *memory;
    bool stacked;                    // face on face or in trees: likely to rest
    double known, interior, settled; // work of the direct methods, products of blocks
} island;

// Without work left not even the matrix is assembled.
static sprag_result try_directly(island *b, unsigned attempts, double most, double *work)
{
    if (!(work_left(b->options) > 0)) {
        return SPRAG_NOT_CONVERGED;
    }
    const sprag_scratch before = *b->best->scratch;
    sprag_result result = solve_directly(b->problem, b->options, attempts, most, b->best, b->stats,
                                         &b->memory->update, work);
    sprag_scratch_release(b->best->scratch, &before);
    return result;
}

// It brings the island to rest, where known forces need an update or two: then its debt is
// forgiven. Exact solves owe for failures only.
static sprag_result try_interior(island *b, double most)
{
    sprag_memory *memory = b->memory;
    sprag_result result = try_directly(b, SPRAG_ATTEMPT_INTERIOR, most, &b->interior);
    memory->interior -= b->options->exact && result == SPRAG_OK ? 0 : b->interior;
    memory->runs = result == SPRAG_OK && left_near_rest(b->best) &&
                   memory->interior > -STRIBECK_LONGEST_RUN * b->interior;
    return result;
}

// The account of known forces: it takes at most as much as the others do, where it fails, and half
// of that after each failure in a row.
static void settle_known(island *b, bool pays)
{
    sprag_memory *memory = b->memory;
    double others = b->stats->sweep_work + b->interior + b->settled;
    if (memory->known < 0) {
        memory->known = fmin(0, memory->known + ldexp(others, -memory->failures));
    }
    if (b->known > 0) {
        int most = b->stacked ? STRIBECK_MOST_FAILURES : STRIBECK_MOST_FAILURES_OF_HEAPS;
        int failures = memory->failures + (pays ? -1 : 1);
        memory->failures = failures < 0 ? 0 : failures > most ? most : failures;
        if (!pays) {
            memory->known -= b->known;
        } else if (b->best->stats.strategy == SPRAG_STRATEGY_WARM_NEWTON) {
            memory->interior = fmax(0, memory->interior); // it may have brought the island here
        }
    }
}

// Sweeps of Gauss-Seidel solve everything, but not exactly. Two direct methods are exact, take
// longer, and may fail: Newton's method in known forces, and the interior-point method. Each has an
// account of work in the island's memory: what does not pay is charged, and the method waits until
// a share of the work of the others has paid for it. So failures take at most that share in the
// long run; before it waits, the interior-point method may owe what brings a tower to rest.
// What solved the island last goes first. Velocities and forces of contacts are kept, without a
// look at the matrix, while they balance after a step in which known forces took no update, or one
// sweep was enough. They creep by the stiction tolerance, so not what joints hold, which stands
// still. Known forces go first near rest, in one body alone, where contacts have a stiffness of
// their own, and where joints hold bodies; the interior-point method near rest, until known forces
// solve it or it owes too much. Otherwise sweeps go first.
// Direct methods follow sweeps that leave the island near rest, where contacts creep without them
// (in loops, known forces follow only sweeps that have converged: from others they do not end), or
// one body alone. Newton's method in the velocities goes on in trees, and where joints hold
// bodies: what a gripper holds by a line slips by millimetres otherwise. The interior-point method
// earns the more the larger the gap is. Islands that settle are solved by frozen friction in full
// instead of sweeps. If solves are exact, both go first and last, at rest or not, known forces
// never wait, and small islands are solved to a root. Those, and islands with joints, in which an
// update takes no more than direct_work have no accounts: what is done is a function of the
// problem. Newton's method in the velocities goes before sweeps in such islands with joints (a
// gripper that closes moves by its motors, and is not near rest), and of one body alone whose
// forces are not known. The accounts keep larger islands in motion from failing in every step.
static sprag_result solve_two_way(const sprag_problem *problem,
                                  const sprag_stribeck_options *options, sprag_best *best,
                                  sprag_stats *stats)
{
    const bool exact = options->exact;
    sprag_memory none = {0}, *memory = options->memory ? options->memory : &none;
    const int moving = count_moving(problem), laws = problem->contacts + problem->rows;
    const bool joined = problem->rows > 0;
    const bool trees = !joined && contacts_form_trees(problem, moving);
    const bool cheap = trees || joined, near = is_near_rest(problem, NULL);
    const bool stacked = trees || problem->contacts >= STRIBECK_STACKED_CONTACTS * moving;
    const bool goes_on = // a direct method solved it last
        memory->last != SPRAG_STRATEGY_NONE && memory->last != SPRAG_STRATEGY_GAUSS_SEIDEL;
    const double most = STRIBECK_AFFORDABLE_SWEEPS * laws;
    island b = {problem, options, best, stats, memory, stacked, 0, 0, 0};
    const bool direct = options->direct_work > 0;
    const bool free = (exact || joined) && memory->update <= options->direct_work; // of accounts
    const bool may = direct && (exact || free || memory->known >= 0);
    const bool alone = // of one contact a sweep is exact
        moving == 1 && problem->contacts > 1 && !joined;
    const bool first =
        may && (exact || joined || alone || (near && goes_on) || has_stiff_contacts(problem));
    bool solved = false;
    sprag_result result = memory->rests && near && !exact && !joined ? keep(problem, options, best)
                                                                     : SPRAG_NOT_CONVERGED;
    if (result == SPRAG_OK || result == SPRAG_NO_MEMORY) {
        return result;
    }
    if (first) {
        const unsigned attempts = exact ? SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_ROOT
                                  : alone && !(near && goes_on) ? SPRAG_ATTEMPT_NEWTON
                                  : free         ? SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_NEWTON
                                  : memory->runs ? SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_PATIENT
                                                 : SPRAG_ATTEMPT_DIRECT;
        result = try_directly(&b, attempts, cheap || exact ? INFINITY : most, &b.known);
        solved = result == SPRAG_OK;
    }
    const bool runs = (near || exact) && memory->runs;
    const bool pays = exact && stacked && (free || memory->interior >= 0);
    if (has_failed(result) && direct && (runs || pays)) {
        result = try_interior(&b, runs ? INFINITY : most);
    }
    if (has_failed(result) && options->settled_work > 0) {
        result = try_directly(&b, SPRAG_ATTEMPT_SETTLED, INFINITY, &b.settled);
    }
    if (has_failed(result) && options->sweeps > 0) {
        const int least = near && !exact ? STRIBECK_REST_SWEEPS : 0;
        const int sweeps = options->sweeps < least ? least : options->sweeps;
        const int times = trees && !exact ? STRIBECK_SWEEPS_OF_TREES : 1;
        result = sweep(problem, options, sweeps < INT_MAX / times ? times * sweeps : INT_MAX, best,
                       stats);
        const bool swept = left_near_rest(best);
        const double gap = best->stats.gap / STRIBECK_HARD;
        const double left = best->stats.residual;
        const bool ends = !exact && left <= STRIBECK_FORCE_KNOWN * options->tolerance;
        sprag_result last = result == SPRAG_OK && !ends ? SPRAG_NOT_CONVERGED : result;
        memory->runs = false;
        const bool nearly = trees || stats->convergence <= STRIBECK_SWEEP_TOLERANCE;
        if (may && has_failed(last) &&
            (exact || moving == 1 || (swept && (joined ? !free : !first && nearly)))) {
            const unsigned newton = cheap ? SPRAG_ATTEMPT_NEWTON : 0;
            const unsigned known = joined ? 0 : SPRAG_ATTEMPT_SWEPT; // of joints they have failed
            last = try_directly(&b, newton | known, most, &b.known);
            solved = last == SPRAG_OK;
        }
        const double update = fmax(memory->update, STRIBECK_UPDATE_WORK * laws); // 0: not known
        const double cost = STRIBECK_INTERIOR_LEAST * update;
        const double share =
            direct && (swept || exact) && stacked ? fmin(1, STRIBECK_GAP_SHARE * gap) : 0;
        memory->interior = fmin(cost, memory->interior + share * stats->sweep_work);
        if (share > 0 && has_failed(last) && memory->interior >= cost * fmax(0, 1 - gap)) {
            last = try_interior(&b, INFINITY);
        }
        result = last == SPRAG_NO_MEMORY ? last : result;
    }
    const bool rests = left_near_rest(best);
    settle_known(&b, solved && (b.known <= most || (cheap && rests)));
    memory->last = best->stats.strategy;
    const bool swept_once = // and is exact, as of a body on one contact
        stats->sweeps == 1 && best->stats.residual <= STRIBECK_FORCE_KNOWN * options->tolerance;
    memory->rests = stats->iterations == 0 && (solved || swept_once);
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
    double update, work = 0;
    stats->iterations = stats->sweeps = stats->factorizations = 0;
    stats->sweep_work = 0;
    sprag_best best = {.problem = problem,
                       .soft = shares_of(options),
                       .scratch = scratch,
                       .solution = solution,
                       .stats = {.residual = INFINITY}};
    if (!sprag_best_room(&best)) { // before strategies, whose memory is released
        return SPRAG_NO_MEMORY;
    }
    bool poor = !(work_left(options) > 0) && problem->contacts > 0;
    if (!poor) {
        bool two_way = problem->contacts > 0 ? options->scheme == SPRAG_TWO_WAY : problem->rows > 0;
        result = two_way
                     ? solve_two_way(problem, options, &best, stats)
                     : solve_directly(problem, options, SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_ROOT,
                                      INFINITY, &best, stats, &update, &work);
        poor = !(work_left(options) > 0) && result != SPRAG_OK && result != SPRAG_NO_MEMORY;
    }
    if (poor) {
        result = sweep(problem, options, STRIBECK_POOR_SWEEPS, &best, stats);
    }
    if (result != SPRAG_NO_MEMORY && isfinite(best.stats.residual)) {
        best.stats.history = stats->history;
        best.stats.history_room = stats->history_room;
        best.stats.iterations = stats->iterations;
        best.stats.sweeps = stats->sweeps;
        best.stats.sweep_work = stats->sweep_work;
        best.stats.factorizations = stats->factorizations;
        *stats = best.stats;
        result = SPRAG_OK;
    }
    return result;
}
