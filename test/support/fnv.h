// FNV-1a, 64 bits: a hash of bytes (Fowler, Noll, Vo).
#ifndef TEST_FNV_H
#define TEST_FNV_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t fnv_of_nothing = 14695981039346656037u;

static inline void fnv_add(uint64_t *hash, const void *data, size_t size)
{
    for (const unsigned char *at = data; size--; at++) {
        *hash = (*hash ^ *at) * 1099511628211u;
    }
}

#endif
