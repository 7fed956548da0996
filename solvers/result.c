#include "solvers/result.h"

const char *sprag_result_name(sprag_result result)
{
    switch (result) {
    case SPRAG_OK:
        return "ok";
    case SPRAG_NOT_CONVERGED:
        return "not converged";
    case SPRAG_SINGULAR:
        return "singular";
    case SPRAG_BAD_PROBLEM:
        return "bad problem";
    case SPRAG_NO_MEMORY:
        return "no memory";
    }
    return "unknown result";
}
