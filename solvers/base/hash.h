// The hash of all tables: 64-bit words one after the other.
#ifndef SPRAG_HASH_H
#define SPRAG_HASH_H

#include <stdint.h>

static inline uint64_t sprag_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u; // 2^64 / golden ratio
    return hash ^ hash >> 29;
}

// mask: slots of the table - 1, a power of two - 1.
static inline int sprag_hash_slot(uint64_t hash, int mask)
{
    return (int)((hash >> 32) & (uint64_t)mask);
}

#endif
