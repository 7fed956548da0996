// Warm start: the forces of the last step, from which the next solve starts. ODE makes its contact
// joints anew at every step, so forces of contacts are found by the pair of geoms (of bodies, if
// the program makes contacts without geoms) and then by position; forces of rows by the joint and
// the number of the row; the inertia that loads have added to a body, by the body; the step
// of an integrator, by the first body of its group.
//
// Several threads may read and store at once, each for other islands: no key belongs to two
// islands, and no result depends on the order of entries of different keys.
#include "island.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "linalg.h"
#include "loads.h"

// Entries of one pair that are compared with a contact. A pair with more of them (most are meshes)
// starts without a guess: the cost grows with the square of the number.
enum { NEAREST_OF = 64 };

typedef struct entry {
    // of a step's end:
    double position[3]; // m
    union {
        struct {
            double force[3];  // N, of a contact, on the first geom of the pair, world axes
            double normal[3]; // unit, into that geom
            ode_stop stop;
        };
        struct {
            double row_force; // N or N m
            double lag;       // s, of the velocities of its joint's bodies
            ode_mending mending;
        };
        sprag_memory memory;    // of an island
        double added[4];        // of a body under load: sprag_ode_warm_start_added()
        double integrator_step; // s, of a group
        double rebound;         // m/s, that a body may gain
    };
    // of the next step's start:
    double nearest; // m^2, squared distance to the nearest contact
    int successor;  // that contact, which starts with the force; -1: none, or it has it
} entry;

// Entries of one key that follow one another.
typedef struct run {
    uintptr_t key[3]; // two geoms and the lower body, which is in one island only; joint, its first
                      // row here, 0; body, of_body, 0
    int count;
    int next;  // older run of the same slot, -1: none
    int older; // run of the same key, -1: none; most keys have one run
    int total; // entries of this run and those older ones
    bool newest;
} run;

typedef struct table {
    entry *entry;
    run *run;        // at the index of its first entry
    int count, room; // entries
    int *slot;       // newest run of a hash, -1: none
    int slots;       // power of two, 0: none
    double rebound;  // m/s, most that a body may gain
} table;

struct ode_warm_start {
    table last, now; // what the last step has stored; what this one stores
    bool open;       // several threads may store
    atomic_int end;  // while open: entries reserved so far
};

ode_warm_start *sprag_ode_warm_start_make(void)
{
    return calloc(1, sizeof(ode_warm_start));
}

static void free_table(table *t)
{
    free(t->entry);
    free(t->run);
    free(t->slot);
}

void sprag_ode_warm_start_free(ode_warm_start *warm)
{
    if (warm) {
        free_table(&warm->last);
        free_table(&warm->now);
        free(warm);
    }
}

static bool is_same_key(const uintptr_t a[3], const uintptr_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// The body of a contact by which its island is found.
static uintptr_t lower_body(dBodyID a, dBodyID b)
{
    return !b || (a && (uintptr_t)a < (uintptr_t)b) ? (uintptr_t)a : (uintptr_t)b;
}

// Programs name the two geoms (or bodies) of a pair in either order, its key does not. Returns
// whether b is its first.
static bool set_key_of_pair(uintptr_t key[3], const void *a, const void *b, uintptr_t third)
{
    const bool swapped = (uintptr_t)a > (uintptr_t)b;
    key[0] = (uintptr_t)(swapped ? b : a);
    key[1] = (uintptr_t)(swapped ? a : b);
    key[2] = third;
    return swapped;
}

// The sign turns a force on body[0] into one on the first of the pair.
void sprag_ode_warm_key_set(ode_warm_key *key, const ode_contact_view *of,
                            const sprag_contact *contact)
{
    const dContactGeom *geom = of->geom;
    const void *first = geom->g1 ? (const void *)geom->g1 : of->body[of->reversed];
    const void *second = geom->g2 ? (const void *)geom->g2 : of->body[!of->reversed];
    bool swapped = set_key_of_pair(key->key, first, second, lower_body(of->body[0], of->body[1]));
    bool reversed = dot3(geom->normal, contact->frame[0]) < 0; // it points into body[0]
    key->sign = swapped == reversed ? 1 : -1;
    memcpy(key->position, geom->pos, sizeof key->position);
}

static int slot_of(const table *t, const uintptr_t key[3])
{
    uint64_t hash = sprag_hash(sprag_hash(sprag_hash(0, key[0]), key[1]), key[2]);
    return sprag_hash_slot(hash, t->slots - 1);
}

// The first run of a key among i and those after it; -1: none.
static int find_run(const table *t, int i, const uintptr_t key[3])
{
    while (i >= 0 && !is_same_key(t->run[i].key, key)) {
        i = t->run[i].next;
    }
    return i;
}

static int newest_run(const table *t, const uintptr_t key[3])
{
    return t->count ? find_run(t, t->slot[slot_of(t, key)], key) : -1;
}

// Newest entry of a key; NULL: none.
static const entry *newest_entry(const table *t, const uintptr_t key[3])
{
    int i = newest_run(t, key);
    return i < 0 ? NULL : &t->entry[i + t->run[i].count - 1];
}

static bool make_room(table *now, long entries)
{
    long wanted = now->count + entries;
    if (wanted > now->room) {
        long twice = 2L * now->room, room = wanted > twice ? wanted : twice;
        room = room > 64 ? room : 64;
        if (room > INT_MAX) {
            return false;
        }
        entry *entry = realloc(now->entry, (size_t)room * sizeof *entry);
        now->entry = entry ? entry : now->entry;
        run *runs = entry ? realloc(now->run, (size_t)room * sizeof *runs) : NULL;
        if (!runs) {
            return false;
        }
        now->run = runs;
        now->room = (int)room;
    }
    return true;
}

// The first of so many new entries; -1: no memory, and the next step starts without these guesses.
static int reserve(ode_warm_start *warm, int entries)
{
    table *now = &warm->now;
    if (warm->open) {
        return atomic_fetch_add_explicit(&warm->end, entries, memory_order_relaxed);
    }
    if (!make_room(now, entries)) {
        return -1;
    }
    now->count += entries;
    return now->count - entries;
}

bool sprag_ode_warm_start_begin_threads(ode_warm_start *warm, long joints)
{
    // Rows, an island, and two bodies; or a contact, those of touches.c, an island, and two bodies.
    enum { OF_ROWS = ODE_ROWS_MAX + 3, OF_CONTACT = 1 + ODE_TOUCHES_MAX + 3 };
    enum { OF_JOINT = OF_ROWS > OF_CONTACT ? OF_ROWS : OF_CONTACT };
    warm->open = make_room(&warm->now, OF_JOINT * joints);
    atomic_store_explicit(&warm->end, warm->now.count, memory_order_relaxed);
    return warm->open;
}

void sprag_ode_warm_start_end_threads(ode_warm_start *warm)
{
    if (warm->open) {
        warm->now.count = atomic_load_explicit(&warm->end, memory_order_relaxed);
        warm->open = false;
    }
}

static double squared_distance(const double *a, const double *b)
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return dot3(d, d);
}

// The newest run of a key. It is mostly at `expected`, behind the one that it followed in the last
// step.
static int newest_run_near(const table *t, int expected, const uintptr_t key[3])
{
    bool found = expected >= 0 && expected < t->count && t->run[expected].newest &&
                 is_same_key(t->run[expected].key, key);
    return found ? expected : newest_run(t, key);
}

// Forgets the nearest contacts of those that were asked about before, as displaced ones of a
// linearization.
static void forget_successors(table *last, int run)
{
    for (int r = run; r >= 0; r = last->run[r].older) {
        for (int i = r; i < r + last->run[r].count; i++) {
            last->entry[i].nearest = dInfinity;
        }
    }
}

// Finds the entries of all pairs, that no contact succeeds yet.
static void find_pairs(table *last, ode_warm_key *key, int contacts)
{
    for (int i = 0, expected = INT_MAX; i < contacts; i++) {
        if (i > 0 && is_same_key(key[i].key, key[i - 1].key)) {
            key[i].run = key[i - 1].run;
            continue;
        }
        const int run = newest_run_near(last, expected, key[i].key);
        expected = run >= 0 ? run + last->run[run].count : expected;
        key[i].run = run >= 0 && last->run[run].total <= NEAREST_OF ? run : -1;
        forget_successors(last, key[i].run);
    }
}

// Gives every stored force to the contact that is nearest now. So the sum of a pair's forces stays
// the same when its number of contacts changes.
static void find_successors(table *last, const ode_warm_key *key, int contact)
{
    for (int r = key->run; r >= 0; r = last->run[r].older) {
        entry *first = &last->entry[r];
        for (entry *e = first + last->run[r].count; e-- > first;) {
            double distance = squared_distance(e->position, key->position);
            if (distance < e->nearest) {
                e->nearest = distance;
                e->successor = contact;
            }
        }
    }
}

// Gives what is stored for a pair, once, to its contacts: forces are summed, stops too. guess: N,
// on the first geom of the pair, world axes.
static void give_forces(table *last, ode_warm_key *key, int run, sprag_contact *contact)
{
    for (int r = run; r >= 0; r = last->run[r].older) {
        entry *first = &last->entry[r];
        for (entry *e = first + last->run[r].count; e-- > first;) {
            if (e->successor >= 0) {
                ode_stop *stop = &key[e->successor].stop;
                add_scaled(contact[e->successor].guess, 1, e->force, 3);
                stop->left = e->stop.alone > stop->alone ? e->stop.left : stop->left;
                stop->alone = sprag_larger(stop->alone, e->stop.alone);
                stop->work += e->stop.work;
                e->successor = -1;
            }
        }
    }
}

void sprag_ode_warm_start_contacts(ode_warm_start *warm, ode_warm_key *key, sprag_contact *contact,
                                   int contacts)
{
    find_pairs(&warm->last, key, contacts);
    for (int i = 0; i < contacts; i++) {
        find_successors(&warm->last, &key[i], i);
        key[i].stop = (ode_stop){0};
        memset(contact[i].guess, 0, sizeof contact[i].guess);
    }
    for (int i = 0; i < contacts; i++) {
        double force[3], *guess = contact[i].guess;
        if (i == 0 || key[i].run != key[i - 1].run) {
            give_forces(&warm->last, key, key[i].run, contact);
        }
        memcpy(force, guess, sizeof force);
        for (int k = 0; k < 3 && key[i].run >= 0; k++) {
            guess[k] = key[i].sign * dot3(contact[i].frame[k], force);
        }
        guess[0] = key[i].run < 0 ? -1 : positive(guess[0]);
    }
}

int sprag_ode_warm_start_of_pair(const ode_warm_start *warm, dGeomID a, dGeomID b, int most,
                                 double (*normal)[3], double (*position)[3])
{
    const table *last = &warm->last;
    uintptr_t key[3];
    const bool swapped = set_key_of_pair(key, a, b, lower_body(dGeomGetBody(a), dGeomGetBody(b)));
    int count = 0;
    for (int r = newest_run(last, key); r >= 0; r = last->run[r].older) {
        for (int i = r; i < r + last->run[r].count && count < most; i++) {
            const double *of = last->entry[i].normal;
            for (int k = 0; k < 3; k++) {
                normal[count][k] = swapped ? -of[k] : of[k];
            }
            memcpy(position[count], last->entry[i].position, sizeof *position);
            count++;
        }
    }
    return count;
}

// Entry i, to be filled in, in the run of the entry before it if both have the same key.
static entry *store(table *now, int i, int *first, const uintptr_t key[3])
{
    if (*first >= 0 && is_same_key(now->run[*first].key, key)) {
        now->run[*first].count++;
    } else {
        *first = i;
        now->run[i] = (run){.key = {key[0], key[1], key[2]}, .count = 1};
    }
    return &now->entry[i];
}

static void store_contact(table *now, int i, int *first, const ode_warm_key *key,
                          const sprag_contact *contact, const double force[6], ode_stop stop)
{
    entry *e = store(now, i, first, key->key);
    e->stop = stop;
    double sum[3] = {0};
    memcpy(e->position, key->position, sizeof e->position);
    for (int k = 0; k < 3; k++) {
        add_scaled(sum, key->sign * force[k], contact->frame[k], 3);
        e->normal[k] = key->sign * contact->frame[0][k];
    }
    memcpy(e->force, sum, sizeof sum);
    e->successor = -1;
}

// from: the first row of the run.
static void store_row(table *now, int i, int *first, dJointID joint, int from, double force,
                      double lag, const ode_mending *mending)
{
    const uintptr_t key[3] = {(uintptr_t)joint, (uintptr_t)from};
    entry *e = store(now, i, first, key);
    e->row_force = force;
    e->lag = lag;
    e->mending = mending ? *mending : (ode_mending){.expected = NAN};
}

// Rows are mostly in the run of the joint's first one.
double sprag_ode_warm_start_row(const ode_warm_start *warm, dJointID joint, int row, int *at,
                                ode_mending *mending)
{
    const table *last = &warm->last;
    const uintptr_t first[3] = {(uintptr_t)joint, 0}, alone[3] = {(uintptr_t)joint, (uintptr_t)row};
    *at = newest_run_near(last, *at, first);
    const entry *e = *at >= 0 && row < last->run[*at].count ? &last->entry[*at + row]
                     : row > 0                              ? newest_entry(last, alone)
                                                            : NULL;
    if (mending) {
        *mending = e ? e->mending : (ode_mending){.expected = NAN};
    }
    return e ? e->row_force : 0;
}

// The keys of an island and of a body; rows of joints have small numbers.
static const uintptr_t of_island = UINTPTR_MAX, of_body = UINTPTR_MAX - 1;
static const uintptr_t of_integrator = UINTPTR_MAX - 2, of_rebound = UINTPTR_MAX - 3;

sprag_memory sprag_ode_warm_start_island(const ode_warm_start *warm, dBodyID first)
{
    const uintptr_t key[3] = {(uintptr_t)first, of_island};
    const entry *e = newest_entry(&warm->last, key);
    return e ? e->memory : (sprag_memory){0};
}

static bool is_worth_keeping(const sprag_memory *memory)
{
    return memory->last != SPRAG_STRATEGY_NONE;
}

static void store_island(table *now, int i, dBodyID body, const sprag_memory *memory)
{
    const uintptr_t key[3] = {(uintptr_t)body, of_island};
    int first = -1;
    store(now, i, &first, key)->memory = *memory;
}

void sprag_ode_warm_start_store_group(ode_warm_start *warm, dBodyID first,
                                      const sprag_memory *memory)
{
    int i = is_worth_keeping(memory) ? reserve(warm, 1) : -1;
    if (i >= 0) {
        store_island(&warm->now, i, first, memory);
    }
}

void sprag_ode_warm_start_store_row(ode_warm_start *warm, dJointID joint, int row, double force,
                                    double lag)
{
    int i = reserve(warm, 1), first = -1;
    if (i >= 0) {
        store_row(&warm->now, i, &first, joint, row, force, lag, NULL);
    }
}

double sprag_ode_warm_start_lag(const ode_warm_start *warm, dJointID joint)
{
    const uintptr_t first[3] = {(uintptr_t)joint, 0};
    const entry *e = newest_entry(&warm->last, first);
    return e ? e->lag : 0;
}

double sprag_ode_warm_start_integrator_step(const ode_warm_start *warm, dBodyID first)
{
    const uintptr_t key[3] = {(uintptr_t)first, of_integrator};
    const entry *e = newest_entry(&warm->last, key);
    return e ? e->integrator_step : 0;
}

void sprag_ode_warm_start_store_integrator_step(ode_warm_start *warm, dBodyID first, double step)
{
    const uintptr_t key[3] = {(uintptr_t)first, of_integrator};
    int i = reserve(warm, 1), run = -1;
    if (i >= 0) {
        store(&warm->now, i, &run, key)->integrator_step = step;
    }
}

static void store_added(table *now, int i, const void *of, double added, double stored,
                        double share)
{
    const uintptr_t key[3] = {(uintptr_t)of, of_body};
    int first = -1;
    double *to = store(now, i, &first, key)->added;
    to[0] = added, to[1] = stored, to[2] = share, to[3] = 0;
}

const double *sprag_ode_warm_start_added(const ode_warm_start *warm, const void *of, int *at)
{
    static const double none[4] = {0, 0, 1};
    const uintptr_t key[3] = {(uintptr_t)of, of_body};
    const int run = newest_run_near(&warm->last, *at, key);
    *at = run + 1;
    return run >= 0 ? warm->last.entry[run].added : none;
}

static void store_rebound(table *now, int i, dBodyID body, double rebound)
{
    const uintptr_t key[3] = {(uintptr_t)body, of_rebound};
    int first = -1;
    store(now, i, &first, key)->rebound = rebound;
}

double sprag_ode_warm_start_rebound(const ode_warm_start *warm, dBodyID body)
{
    const uintptr_t key[3] = {(uintptr_t)body, of_rebound};
    const entry *e = warm && body ? newest_entry(&warm->last, key) : NULL;
    return e ? e->rebound : warm && !body ? warm->last.rebound : 0;
}

void sprag_ode_warm_start_store(ode_warm_start *warm, const ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    bool island = is_worth_keeping(&pulled->memory);
    int entries = problem->contacts + pulled->joint_rows + pulled->stiffened_bodies +
                  pulled->stiffened_distances + pulled->rebounds + island;
    int at = reserve(warm, entries), first = -1;
    if (at < 0) {
        return;
    }
    const double share = sprag_ode_share_of_stops(pulled);
    for (const ode_stiffened_four *of = pulled->stiffened_four, *end = of + pulled->stiffened_fours;
         of < end; of++) {
        for (int l = 0; l < LANES; l++) {
            if (of->trace[l] > 0) {
                store_added(&warm->now, at++, pulled->island.body[of->body[l]], of->trace[l],
                            of->stored[l], of->share[l]);
            }
        }
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        const ode_stiffened_distance *of = &pulled->stiffened_distance[i];
        store_added(&warm->now, at++, of->joint, of->added, of->stored, of->share);
    }
    for (int b = 0; b < problem->bodies && pulled->rebounds > 0; b++) {
        if (pulled->rebound[b] > 0) {
            store_rebound(&warm->now, at++, pulled->island.body[b], pulled->rebound[b]);
        }
    }
    for (int i = 0; i < problem->contacts; i++) {
        store_contact(&warm->now, at++, &first, &pulled->warm_key[i], &problem->contact[i],
                      pulled->solution.contact_force[i], sprag_ode_stop_of(pulled, i, share));
    }
    for (int i = 0; i < pulled->joint_rows; i++) {
        store_row(&warm->now, at++, &first, pulled->row_joint[i], 0, pulled->solution.row_force[i],
                  0, pulled->knows_opened ? &pulled->mending[i] : NULL);
    }
    if (island) {
        store_island(&warm->now, at, pulled->island.body[0], &pulled->memory);
    }
}

static void index_entries(table *t)
{
    int slots = 64;
    while (slots < 2 * t->count) {
        slots *= 2;
    }
    if (slots > t->slots) {
        int *bigger = realloc(t->slot, (size_t)slots * sizeof *bigger);
        if (!bigger) {
            t->count = 0;
            return;
        }
        t->slot = bigger;
        t->slots = slots;
    }
    memset(t->slot, -1, (size_t)t->slots * sizeof *t->slot); // none
    t->rebound = 0;
    for (int i = 0; i < t->count; i += t->run[i].count) {
        run *r = &t->run[i];
        if (r->key[1] == of_rebound && t->entry[i].rebound > t->rebound) {
            t->rebound = t->entry[i].rebound;
        }
        int *slot = &t->slot[slot_of(t, r->key)];
        r->next = *slot;
        r->older = find_run(t, *slot, r->key);
        r->newest = true;
        r->total = r->count;
        if (r->older >= 0) {
            r->total += t->run[r->older].total;
            t->run[r->older].newest = false;
        }
        *slot = i;
    }
}

void sprag_ode_warm_start_next_step(ode_warm_start *warm)
{
    table old = warm->last;
    warm->last = warm->now;
    warm->now = old;
    warm->now.count = 0;
    index_entries(&warm->last);
}

size_t sprag_ode_warm_start_write(const ode_warm_start *warm, void *to, size_t room)
{
    const table *t = &warm->last;
    size_t entries = (size_t)t->count * sizeof *t->entry, runs = (size_t)t->count * sizeof *t->run;
    if (room >= entries + runs && t->count > 0) {
        memcpy(to, t->entry, entries);
        memcpy((char *)to + entries, t->run, runs);
    }
    return entries + runs;
}

bool sprag_ode_warm_start_read(ode_warm_start *warm, const void *from, size_t length)
{
    size_t one = sizeof(entry) + sizeof(run), count = length / one;
    warm->now.count = 0;
    bool good = length % one == 0 && make_room(&warm->now, (long)count);
    if (good && count > 0) {
        memcpy(warm->now.entry, from, count * sizeof(entry));
        memcpy(warm->now.run, (const char *)from + count * sizeof(entry), count * sizeof(run));
        warm->now.count = (int)count;
    }
    sprag_ode_warm_start_next_step(warm);
    return good;
}
