// Contacts by the hundred between the same two bodies, as of meshes, or by the thousand between a
// few: some of them say as much. A contact inside the outline of others in one plane exerts no
// force that those cannot exert together; so the deepest contact stays, those that lie farthest
// along many directions, and then whatever differs most in place and normal from all that stay.
// Each of them stands for several: where forces of contacts add up by a law of their own (softness,
// stiffness, friction bounded by a force), its law is that of as many contacts at once.
#include "reduce.h"

#include <math.h>
#include <string.h>

#include "hash.h"
#include "linalg.h"

typedef struct kind { // of contacts: same bodies, same surface
    uint64_t key;     // 0: free
    int count, first; // its contacts, the first of them by `next`
} kind;

enum { AXES = 6 }; // of the place and of the normal

typedef struct many {
    sprag_contact *contact;
    int to;           // contacts that stay of a kind
    int *of;          // contacts of the kind, in order
    double *at[AXES]; // of each: place, as a share of the extent, and normal
    double *distance; // of each: square, to the nearest that stays
    bool *stays;      // of all contacts
    int count, kept;  // of the kind
} many;

static int moving_side(const sprag_contact *c)
{
    return c->body[1] > c->body[0]; // the greater index: not the static one
}

static uint64_t add_number(uint64_t key, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return sprag_hash(key, bits);
}

static uint64_t add_friction(uint64_t key, const sprag_friction *f)
{
    for (int k = 0; k < 2; k++) {
        key = add_number(key, f->coefficient[k]);
        key = add_number(key, f->velocity[k]);
        key = add_number(key, f->slip[k]);
        key = sprag_hash(key, f->force[k]);
    }
    return key;
}

static uint64_t key_of(const sprag_contact *c)
{
    int side = moving_side(c);
    uint64_t key = sprag_hash(sprag_hash(0, (uint64_t)c->body[side]), (uint64_t)c->body[!side]);
    key = add_friction(key, &c->slide);
    key = add_number(add_number(key, c->compliance), c->stiffness);
    key = add_number(add_number(key, c->dissipation), c->stiction);
    if (c->turning) {
        key = add_friction(add_friction(key, &c->turning->roll), &c->turning->spin);
    }
    return key | 1;
}

static kind *kind_of(kind *table, int mask, uint64_t key)
{
    int slot = sprag_hash_slot(key, mask);
    while (table[slot].key && table[slot].key != key) {
        slot = (slot + 1) & mask;
    }
    return &table[slot];
}

// ---- those that stay

static void set_places(many *m)
{
    const sprag_contact *first = &m->contact[m->of[0]];
    double extent = 0, from[3];
    for (int i = 0; i < m->count; i++) {
        const sprag_contact *c = &m->contact[m->of[i]];
        int side = moving_side(c);
        subtract3(c->arm[side], first->arm[moving_side(first)], from);
        extent = fmax(extent, norm3(from));
        for (int k = 0; k < 3; k++) {
            m->at[k][i] = from[k];
            m->at[3 + k][i] = (side ? -1 : 1) * c->frame[0][k];
        }
    }
    for (int k = 0; k < 3 && extent > 0; k++) {
        for (int i = 0; i < m->count; i++) {
            m->at[k][i] /= extent;
        }
    }
}

static void keep(many *m, int i)
{
    bool *stays = &m->stays[m->of[i]];
    m->kept += !*stays;
    *stays = true;
    for (int j = 0; j < m->count; j++) {
        double sum = 0;
        for (int k = 0; k < AXES; k++) {
            double apart = m->at[k][j] - m->at[k][i];
            sum += apart * apart;
        }
        m->distance[j] = sum < m->distance[j] ? sum : m->distance[j];
    }
}

static void keep_deepest(many *m)
{
    int deepest = 0;
    for (int i = 1; i < m->count; i++) {
        if (m->contact[m->of[i]].gap < m->contact[m->of[deepest]].gap) {
            deepest = i;
        }
    }
    keep(m, deepest);
}

// Along the axes, and between two and three of them; if fewer stay, those that differ are enough.
static void keep_outermost(many *m)
{
    enum { DIRECTIONS = 27, NONE = 13 };
    for (int d = m->to < DIRECTIONS ? DIRECTIONS : 0; d < DIRECTIONS; d += d + 1 == NONE ? 2 : 1) {
        const double along[3] = {d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1};
        double most = -INFINITY;
        int farthest = 0;
        for (int i = 0; i < m->count; i++) {
            double far = along[0] * m->at[0][i] + along[1] * m->at[1][i] + along[2] * m->at[2][i];
            farthest = far > most ? i : farthest;
            most = far > most ? far : most;
        }
        if (!m->stays[m->of[farthest]]) {
            keep(m, farthest);
        }
    }
}

static void keep_different(many *m)
{
    while (m->kept < m->to) {
        int most = 0;
        for (int i = 1; i < m->count; i++) {
            most = m->distance[i] > m->distance[most] ? i : most;
        }
        if (!(m->distance[most] > 0)) {
            return; // all others are copies
        }
        keep(m, most);
    }
}

// ---- what they stand for

static void weigh_friction(sprag_friction *f, double share)
{
    for (int k = 0; k < 2; k++) {
        f->coefficient[k] /= f->force[k] ? share : 1;
        f->slip[k] *= share;
    }
}

// share: 1 / the contacts that it stands for.
static void weigh(sprag_contact *c, double share, sprag_scratch *scratch)
{
    c->compliance *= share;
    c->softening *= share;
    c->stiffness /= share;
    weigh_friction(&c->slide, share);
    if (c->turning) {
        sprag_turning *own = SPRAG_TAKE(scratch, 1, sprag_turning);
        if (own) {
            *own = *c->turning;
            weigh_friction(&own->roll, share);
            weigh_friction(&own->spin, share);
            c->turning = own;
        }
    }
}

static void reduce(many *m, sprag_scratch *scratch)
{
    m->kept = 0;
    for (int i = 0; i < m->count; i++) {
        m->distance[i] = INFINITY;
        m->stays[m->of[i]] = false;
    }
    set_places(m);
    keep_deepest(m);
    keep_outermost(m);
    keep_different(m);
    for (int i = 0; i < m->count; i++) {
        if (m->stays[m->of[i]]) {
            weigh(&m->contact[m->of[i]], (double)m->kept / m->count, scratch);
        }
    }
}

// ---- all contacts

// The last entry of a kind's chain is -1. *largest: contacts of the kind that has most. Returns the
// number of kinds.
static int sort_by_kind(kind *table, int mask, const sprag_contact *contact, int count, int *next,
                        int *largest)
{
    int kinds = 0;
    *largest = 0;
    for (int i = count - 1; i >= 0; i--) {
        uint64_t key = key_of(&contact[i]);
        kind *k = kind_of(table, mask, key);
        kinds += !k->key;
        next[i] = k->key ? k->first : -1;
        *k = (kind){.key = key, .count = k->count + 1, .first = i};
        *largest = k->count > *largest ? k->count : *largest;
    }
    return kinds;
}

// Contacts that a kind may have before it is reduced.
static int most_of_kind(const sprag_contact *contact, int count, int kinds)
{
    int bodies = SPRAG_REDUCE_BODIES;
    for (int i = 0; i < count && count > SPRAG_REDUCE_OF_BODY * SPRAG_REDUCE_BODIES; i++) {
        const int last = contact[i].body[moving_side(&contact[i])];
        bodies = last >= bodies ? last + 1 : bodies;
    }
    const double most = (double)SPRAG_REDUCE_OF_BODY * bodies;
    return count <= most ? SPRAG_REDUCE_FROM
                         : (int)fmin(SPRAG_REDUCE_FROM, fmax(SPRAG_REDUCE_LEAST, most / kinds));
}

int sprag_reduce_contacts(sprag_contact *contact, int count, int **kept, sprag_scratch *scratch)
{
    *kept = NULL;
    if (count <= SPRAG_REDUCE_FROM) {
        return count;
    }
    int slots = 2;
    while (slots < 2 * count) {
        slots *= 2;
    }
    kind *table = SPRAG_TAKE(scratch, slots, kind);
    int *next = SPRAG_TAKE(scratch, count, int), left = 0;
    if (scratch->failed) {
        return count;
    }
    int largest;
    const int kinds = sort_by_kind(table, slots - 1, contact, count, next, &largest);
    const int most = most_of_kind(contact, count, kinds);
    if (largest <= most) {
        return count;
    }
    many m = {.contact = contact,
              .to = most < SPRAG_REDUCE_TO ? most : SPRAG_REDUCE_TO,
              .of = SPRAG_TAKE(scratch, count, int),
              .distance = SPRAG_TAKE(scratch, count, double),
              .stays = SPRAG_TAKE(scratch, count, bool)};
    for (int k = 0; k < AXES; k++) {
        m.at[k] = SPRAG_TAKE(scratch, count, double);
    }
    *kept = SPRAG_TAKE(scratch, count, int);
    if (scratch->failed) {
        return count;
    }
    memset(m.stays, true, (size_t)count * sizeof *m.stays);
    for (int slot = 0; slot < slots; slot++) {
        if (table[slot].count > most) {
            m.count = 0;
            for (int i = table[slot].first; i >= 0; i = next[i]) {
                m.of[m.count++] = i;
            }
            reduce(&m, scratch);
        }
    }
    for (int i = 0; i < count; i++) {
        if (m.stays[i]) {
            (*kept)[left] = i;
            contact[left++] = contact[i];
        }
    }
    return left;
}

// ---- outlines, plane by plane (Eddy, A New Convex Hull Algorithm for Planar Sets, 1977)

static bool is_level(const sprag_outline_point *a, const sprag_outline_point *b,
                     const sprag_outline *by)
{
    double apart[3], from[3];
    subtract3(a->normal, b->normal, apart);
    subtract3(b->at, a->at, from);
    return norm3(apart) <= by->turned && fabs(dot3(from, a->normal)) <= by->off &&
           fabs(a->gap - b->gap) <= by->off;
}

// Marks the corners between a and b, on the left of the way from a to b about the normal, that are
// farther (m) from it than this: the farthest, and those between it and a, and b.
static void mark_corners(sprag_outline_point *point, int count, const double normal[3], int a,
                         int b, double bend)
{
    double way[3], left[3], from[3], most = bend;
    int farthest = -1;
    subtract3(point[b].at, point[a].at, way);
    cross3(normal, way, left);
    const bool apart = normalise3(left);
    for (int i = 0; i < count && apart; i++) {
        subtract3(point[i].at, point[a].at, from);
        const double far = dot3(left, from);
        if (point[i].state == SPRAG_ON_PLANE && far > most) {
            most = far;
            farthest = i;
        }
    }
    if (farthest >= 0) {
        point[farthest].state = SPRAG_CORNER;
        mark_corners(point, count, normal, a, farthest, bend);
        mark_corners(point, count, normal, farthest, b, bend);
    }
}

// The point of the plane that is farthest from another.
static int farthest_from(const sprag_outline_point *point, int count, int other)
{
    int farthest = other;
    double most = 0, from[3];
    for (int i = 0; i < count; i++) {
        subtract3(point[i].at, point[other].at, from);
        const double square = dot3(from, from);
        if (point[i].state == SPRAG_ON_PLANE && square > most) {
            most = square;
            farthest = i;
        }
    }
    return farthest;
}

void sprag_find_corners(sprag_outline_point *point, int count, const sprag_outline *by)
{
    for (int i = 0; i < count; i++) {
        point[i].state = SPRAG_UNSEEN;
    }
    for (int i = 0; i < count; i++) {
        for (int j = i; j < count && point[i].state <= SPRAG_ON_PLANE; j++) {
            if (point[j].state == SPRAG_UNSEEN && is_level(&point[i], &point[j], by)) {
                point[j].state = SPRAG_ON_PLANE;
            }
        }
        if (point[i].state == SPRAG_ON_PLANE) {
            const int a = farthest_from(point, count, i), b = farthest_from(point, count, a);
            point[a].state = point[b].state = SPRAG_CORNER;
            mark_corners(point, count, point[i].normal, a, b, by->bend);
            mark_corners(point, count, point[i].normal, b, a, by->bend);
            for (int j = i; j < count; j++) {
                point[j].state = point[j].state == SPRAG_ON_PLANE ? SPRAG_WITHIN : point[j].state;
            }
        }
    }
}
