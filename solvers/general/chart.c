#include "chart.h"

#include <stdint.h>
#include <string.h>

#include "block6.h"
#include "dense.h"
#include "space6.h"
#include "unions.h"
#include "vectors.h"

static bool acts_on(const sprag_general_problem *p, int contact, int velocity)
{
    size_t nv = (size_t)p->velocities, at = (size_t)velocity, c = (size_t)contact;
    return p->normal_jacobian[c * nv + at] != 0 || p->tangent_jacobian[2 * c * nv + at] != 0 ||
           p->tangent_jacobian[(2 * c + 1) * nv + at] != 0;
}

// Finds the nodes that a contact acts on. Returns false if there are more than two.
static bool find_nodes(const sprag_general_problem *p, const sprag_chart *chart, int contact,
                       int node[2])
{
    node[0] = node[1] = SPRAG_NOWHERE;
    for (int i = 0; i < p->velocities; i++) {
        int here = chart->place[i] / 6;
        if (here == node[0] || here == node[1] || !acts_on(p, contact, i)) {
            continue;
        }
        if (node[0] == SPRAG_NOWHERE) {
            node[0] = here;
        } else if (node[1] == SPRAG_NOWHERE) {
            node[1] = here;
        } else {
            return false;
        }
    }
    return true;
}

static bool find_all_nodes(const sprag_general_problem *p, sprag_chart *chart)
{
    for (int c = 0; c < p->contacts; c++) {
        if (!find_nodes(p, chart, c, chart->node[c])) {
            return false;
        }
    }
    return true;
}

SPRAG_VECTORS
static bool has_entry(const double *x, int count)
{
    int entries = 0;
    for (int i = 0; i < count; i++) {
        entries |= x[i] != 0;
    }
    return entries;
}

// Tries the usual order: body after body, with six velocities each. Returns false if the mass
// matrix couples two bodies, or if a contact acts on more than two.
static bool take_in_order(const sprag_general_problem *p, sprag_chart *chart)
{
    int nv = p->velocities;
    for (int i = 0; i < nv; i++) {
        const double *row = p->mass + (size_t)i * (size_t)nv;
        if (has_entry(row, i - i % 6)) {
            return false;
        }
        chart->place[i] = i;
    }
    chart->nodes = (nv + 5) / 6;
    return find_all_nodes(p, chart);
}

// Hash of a contact. A cluster's mark is the sum of the hashes of its contacts. Two different sets
// of contacts may have the same mark; find_all_nodes rejects a choice that fails for that reason.
static uint64_t mark_of(int contact)
{
    uint64_t x = (uint64_t)contact + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// Velocities that the mass matrix couples.
typedef struct cluster {
    uint64_t mark; // by mark_clusters: sum of the hashes of the contacts that act on them
    int size;      // by find_clusters: number of velocities
    int node;      // by assign_nodes; -1: not assigned yet
    int seen;      // by mark_clusters: the last contact that was added to the mark
} cluster;

static void find_clusters(const sprag_general_problem *p, int *parent, cluster *cluster)
{
    int nv = p->velocities;
    for (int i = 0; i < nv; i++) {
        parent[i] = i;
        for (int j = 0; j < i; j++) {
            if (p->mass[(size_t)i * (size_t)nv + (size_t)j] != 0) {
                parent[sprag_leader_of(parent, i)] = sprag_leader_of(parent, j);
            }
        }
    }
    for (int i = 0; i < nv; i++) {
        cluster[sprag_leader_of(parent, i)].size++;
    }
}

static void mark_clusters(const sprag_general_problem *p, int *parent, cluster *cluster)
{
    for (int i = 0; i < p->velocities; i++) {
        cluster[i].seen = -1;
    }
    for (int c = 0; c < p->contacts; c++) {
        for (int i = 0; i < p->velocities; i++) {
            int root = sprag_leader_of(parent, i);
            if (cluster[root].seen != c && acts_on(p, c, i)) {
                cluster[root].seen = c;
                cluster[root].mark += mark_of(c);
            }
        }
    }
}

// Assigns clusters to nodes. Clusters share a node if they have the same mark and at most six
// velocities together. Returns false if a cluster has more than six.
static bool assign_nodes(const sprag_general_problem *p, sprag_chart *chart, int *parent,
                         cluster *cluster, int *filled, int *first)
{
    chart->nodes = 0;
    for (int i = 0; i < p->velocities; i++) {
        cluster[i].node = -1;
    }
    for (int i = 0; i < p->velocities; i++) {
        struct cluster *mine = &cluster[sprag_leader_of(parent, i)];
        for (int n = 0; mine->node < 0 && n < chart->nodes; n++) {
            if (cluster[first[n]].mark == mine->mark && filled[n] + mine->size <= 6) {
                mine->node = n;
                filled[n] += mine->size;
            }
        }
        if (mine->size > 6) {
            return false;
        }
        if (mine->node < 0) {
            first[chart->nodes] = (int)(mine - cluster);
            filled[chart->nodes] = mine->size;
            mine->node = chart->nodes++;
        }
    }
    return true;
}

// Chooses nodes by couplings and contacts: velocities that the mass matrix couples share a node,
// and so do velocities on which the same contacts act. work: room for 3 nv.
static bool choose_by_contacts(const sprag_general_problem *p, sprag_chart *chart, cluster *cluster,
                               int *work)
{
    int nv = p->velocities, *parent = work, *filled = work + nv, *first = work + 2 * nv;
    find_clusters(p, parent, cluster);
    mark_clusters(p, parent, cluster);
    if (!assign_nodes(p, chart, parent, cluster, filled, first)) {
        return false;
    }
    memset(filled, 0, (size_t)nv * sizeof *filled);
    for (int i = 0; i < nv; i++) {
        int node = cluster[sprag_leader_of(parent, i)].node;
        chart->place[i] = 6 * node + filled[node]++;
    }
    return find_all_nodes(p, chart);
}

bool sprag_chart_choose(const sprag_general_problem *p, sprag_chart *chart, sprag_scratch *scratch)
{
    int nv = p->velocities;
    chart->place = SPRAG_TAKE(scratch, nv, int);
    chart->node = SPRAG_TAKE(scratch, p->contacts, int[2]);
    if (scratch->failed) {
        return false;
    }
    if (take_in_order(p, chart)) {
        return true;
    }
    int *work = SPRAG_TAKE(scratch, 3 * (size_t)nv, int);
    cluster *clusters = SPRAG_TAKE(scratch, nv, cluster);
    if (scratch->failed) {
        return false;
    }
    if (!choose_by_contacts(p, chart, clusters, work)) {
        for (int i = 0; i < nv; i++) {
            chart->place[i] = i;
        }
        chart->nodes = 0;
    }
    return true;
}

// Copies mass blocks and Jacobian rows. velocity: for each place the index of its velocity + 1; 0:
// no velocity.
static void copy_by_place(const sprag_general_problem *p, const sprag_chart *chart,
                          const int *velocity, sprag_space6 *space)
{
    size_t nv = (size_t)p->velocities;
    for (int node = 0; node < chart->nodes; node++) {
        const int *at = velocity + 6 * node;
        for (int i = 0; i < 6; i++) {
            const double *row = at[i] ? p->mass + (size_t)(at[i] - 1) * nv : NULL;
            for (int k = 0; row && k < 6; k++) {
                space->mass[node][6 * i + k] = at[k] ? row[at[k] - 1] : 0;
            }
            space->mass[node][7 * i] += !row;
        }
    }
    for (int c = 0; c < p->contacts; c++) {
        sprag_stencil *stencil = &space->point[c];
        stencil->first = c;
        stencil->run = 1;
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side] = chart->node[c][side];
            for (int k = 0; node != SPRAG_NOWHERE && k < 3; k++) {
                const int *at = velocity + 6 * node;
                const double *row = sprag_jacobian_row(p, c, k);
                for (int i = 0; i < 6; i++) {
                    space->jacobian[side][c][k][i] = at[i] ? row[at[i] - 1] : 0;
                }
            }
        }
    }
}

static sprag_result take_bodies(const sprag_general_problem *p, const sprag_chart *chart,
                                sprag_system *system, sprag_scratch *scratch)
{
    sprag_space6 *space = SPRAG_TAKE(scratch, 1, sprag_space6);
    if (!space || sprag_space6_take(space, system, chart->nodes, scratch) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    int *velocity = SPRAG_TAKE(scratch, 6 * (size_t)chart->nodes, int);
    if (!velocity) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < p->velocities; i++) {
        velocity[chart->place[i]] = i + 1;
    }
    copy_by_place(p, chart, velocity, space);
    return SPRAG_OK;
}

static sprag_result take_dense(const sprag_general_problem *p, sprag_system *system,
                               sprag_scratch *scratch)
{
    size_t nv = (size_t)p->velocities;
    sprag_dense *dense = SPRAG_TAKE(scratch, 1, sprag_dense);
    double *jacobian = SPRAG_TAKE(scratch, 3 * (size_t)p->contacts * nv, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int c = 0; c < p->contacts; c++) {
        for (int k = 0; k < 3; k++) {
            memcpy(jacobian + (3 * (size_t)c + (size_t)k) * nv, sprag_jacobian_row(p, c, k),
                   nv * sizeof *jacobian);
        }
    }
    system->size = p->velocities;
    return sprag_dense_take(dense, system, p->mass, jacobian, scratch);
}

sprag_result sprag_chart_take(const sprag_general_problem *p, const sprag_chart *chart,
                              sprag_system *system, sprag_scratch *scratch)
{
    return chart->nodes ? take_bodies(p, chart, system, scratch) : take_dense(p, system, scratch);
}

// x = M^-1 x. Returns false if M is not positive definite.
static bool divide_by_block(const double *M, double *x)
{
    bool diagonal = true;
    for (int i = 0; i < 6; i++) { // M is symmetric, as check_mass has found
        for (int j = 0; j < i; j++) {
            diagonal &= M[6 * i + j] == 0;
        }
    }
    if (diagonal) { // its entries are positive, as check_mass has found
        for (int i = 0; i < 6; i++) {
            x[i] /= M[7 * i];
        }
        return true;
    }
    double L[36];
    memcpy(L, M, sizeof L);
    if (!cholesky(L)) {
        return false;
    }
    solve_cholesky(L, x);
    return true;
}

sprag_result sprag_chart_free_velocity(const sprag_general_problem *p, const sprag_chart *chart,
                                       sprag_system *system)
{
    for (int i = 0; i < p->velocities; i++) {
        system->free[chart->place[i]] = p->momentum[i];
    }
    if (chart->nodes == 0) {
        return sprag_dense_divide_by_mass(system, system->free);
    }
    const sprag_space6 *space = system->chart;
    for (int node = 0; node < chart->nodes; node++) {
        if (!divide_by_block(space->mass[node], system->free + 6 * node)) {
            return SPRAG_SINGULAR;
        }
    }
    return SPRAG_OK;
}
