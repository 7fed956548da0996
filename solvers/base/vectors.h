// SPRAG_VECTORS compiles a function once for each vector width; the loader chooses the version for
// the processor. All versions give the same bits, as products are not contracted into sums
// (-ffp-contract=off) and no sum is reordered. Use it for static functions only: GCC exports the
// versions of others whatever their visibility, and Clang the resolver of all.
#ifndef SPRAG_VECTORS_H
#define SPRAG_VECTORS_H

#if !defined(SPRAG_PLAIN) && defined(__x86_64__) && defined(__gnu_linux__) &&                      \
    !defined(__clang__) && __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) &&                     \
    !defined(__SANITIZE_THREAD__) // sanitizers cannot run before the loader is done
#define SPRAG_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SPRAG_VECTORS
#endif

#endif
