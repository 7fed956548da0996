// Guards in the order in which they may be reached, ties by index: a binary heap. Of very many, few
// are asked for: those that one step or projection resolves.
#include "ess_run.h"

static bool sooner(const sprag_ess_ahead *a, const sprag_ess_ahead *b)
{
    return a->time < b->time || (a->time == b->time && a->guard < b->guard);
}

void sprag_ess_push(sprag_ess_run *run, sprag_ess_ahead new)
{
    sprag_ess_ahead *heap = run->ahead;
    int at = run->aheads++;
    for (; at > 0 && sooner(&new, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = new;
}

sprag_ess_ahead sprag_ess_pop(sprag_ess_run *run)
{
    sprag_ess_ahead *heap = run->ahead, first = heap[0], last = heap[--run->aheads];
    int at = 0;
    for (int child = 1; child < run->aheads; child = 2 * at + 1) {
        child += child + 1 < run->aheads && sooner(&heap[child + 1], &heap[child]);
        if (!sooner(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}
