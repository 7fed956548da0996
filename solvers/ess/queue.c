// A binary heap of guards in the order in which they may be reached, ties by number. Usually few of
// very many are taken out: those that one step or projection resolves.
#include "ess_run.h"

static bool sooner(const sprag_ess_pending *a, const sprag_ess_pending *b)
{
    return a->time < b->time || (a->time == b->time && a->guard < b->guard);
}

void sprag_ess_push(sprag_ess_run *run, sprag_ess_pending new)
{
    sprag_ess_pending *heap = run->queue.entry;
    int at = run->queue.count++;
    for (; at > 0 && sooner(&new, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = new;
}

sprag_ess_pending sprag_ess_pop(sprag_ess_run *run)
{
    sprag_ess_pending *heap = run->queue.entry, first = heap[0], last = heap[--run->queue.count];
    int at = 0;
    // entry[count] still is `last`: where it is sooner than an only child, its place is found.
    for (int child = 1; child < run->queue.count; child = 2 * at + 1) {
        child += sooner(&heap[child + 1], &heap[child]);
        if (!sooner(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}
