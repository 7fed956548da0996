// Functions that are worth a version for every width of vectors: the one for the processor at hand
// is chosen when the program is loaded. All give the same bits, since products are not contracted
// into sums (-ffp-contract=off) and no sum is reordered. For static functions: GCC exports the
// versions of others, whatever their visibility (and Clang what chooses between those of any).
#ifndef SPRAG_VECTORS_H
#define SPRAG_VECTORS_H

#if !defined(SPRAG_PLAIN) && defined(__x86_64__) && defined(__gnu_linux__) &&                      \
    !defined(__clang__) && __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) &&                     \
    !defined(__SANITIZE_THREAD__) // which cannot run that early
#define SPRAG_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SPRAG_VECTORS
#endif

#endif
