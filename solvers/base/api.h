// Linkage for C++ and visibility of the functions that libsprag_general.so and libsprag_ess.so
// export, for their installed headers (general.h, ess.h, smooth.h, result.h, scratch.h).
// libsprag.so contains the same functions but does not export them.
#ifndef SPRAG_API_H
#define SPRAG_API_H

#ifdef __cplusplus
#define SPRAG_BEGIN_C extern "C" {
#define SPRAG_END_C }
#else
#define SPRAG_BEGIN_C
#define SPRAG_END_C
#endif

#ifdef SPRAG_EXPORT_SOLVER // while such a library is compiled
#define SPRAG_SOLVER_API __attribute__((visibility("default")))
#else
#define SPRAG_SOLVER_API
#endif

#endif
