// Sets of numbers, by union: each number refers to another one of its set, or to itself.
#ifndef SPRAG_UNIONS_H
#define SPRAG_UNIONS_H

// The number that leads the set.
static inline int sprag_leader_of(int *set, int i)
{
    while (set[i] != i) {
        i = set[i] = set[set[i]];
    }
    return i;
}

// Makes one set of those of two numbers; the least number leads, if that was so before.
static inline void sprag_unite(int *set, int a, int b)
{
    a = sprag_leader_of(set, a);
    b = sprag_leader_of(set, b);
    set[a > b ? a : b] = a > b ? b : a;
}

#endif
