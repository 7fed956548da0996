// What the headers of the general solver need to be installed (general.h, result.h, scratch.h):
// linkage for C++, and the visibility of what libsprag_general.so exports. In libsprag.so, which
// has the same objects inside, it stays hidden.
#ifndef SPRAG_API_H
#define SPRAG_API_H

#ifdef __cplusplus
#define SPRAG_BEGIN_C extern "C" {
#define SPRAG_END_C }
#else
#define SPRAG_BEGIN_C
#define SPRAG_END_C
#endif

#ifdef SPRAG_EXPORT_GENERAL // while that library is compiled
#define SPRAG_GENERAL_API __attribute__((visibility("default")))
#else
#define SPRAG_GENERAL_API
#endif

#endif
