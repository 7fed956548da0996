// Functions that are worth a version for every width of vectors: the one for the processor at hand
// is chosen when the program is loaded. All give the same bits, since products are not contracted
// into sums (-ffp-contract=off) and no sum is reordered. For static functions: the versions of
// others would be exported, whatever their visibility.
#ifndef SPRAG_VECTORS_H
#define SPRAG_VECTORS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPRAG_SANITIZED 1 // its checks cannot run in what chooses: too early
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SPRAG_SANITIZED 1
#endif

#if !defined(__x86_64__) || !defined(__gnu_linux__) || defined(SPRAG_SANITIZED)
#define SPRAG_VECTORS
#elif !defined(__clang__) && __GNUC__ >= 12
#define SPRAG_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SPRAG_VECTORS __attribute__((target_clones("avx2", "default")))
#endif

#endif
