#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

// Errors below `fine` are as good as none: 0.1 micrometres, or micrometres a second.
const sample_kind sample_kinds[SAMPLE_VALUES] = {
    [SAMPLE_DEPTH_LARGEST] = {"depth_largest", "largest depth", "m", 0, 1e-7, SAMPLE_WORST},
    [SAMPLE_DEPTH_MEAN] = {"depth_mean", "mean depth", "m", 0, 1e-7, SAMPLE_AVERAGE},
    [SAMPLE_APPROACH] = {"approach", "approach of contacts", "m/s", 0, 1e-7, SAMPLE_AVERAGE},
    [SAMPLE_SLIP] = {"slip", "slip where contacts stick", "m/s", 0, 1e-7, SAMPLE_AVERAGE},
    [SAMPLE_SLIP_LARGEST] = {"slip_largest", "largest such slip", "m/s", 0, 1e-7, SAMPLE_WORST},
    [SAMPLE_CONE] = {"cone", "friction / cone, largest", "", 1, 1e-6, SAMPLE_WORST},
    [SAMPLE_JOINT_GAP] = {"joint_gap", "joint error", "m", 0, 1e-7, SAMPLE_WORST},
    [SAMPLE_JOINT_TURN] = {"joint_turn", "joint error, turned", "rad", 0, 1e-7, SAMPLE_WORST},
    [SAMPLE_ENERGY_MADE] = {"energy_made", "energy made", "J", NAN, NAN, SAMPLE_TOTAL},
    [SAMPLE_MOMENTUM] = {"momentum", "velocity without a force", "m/s", 0, 1e-7, SAMPLE_WORST},
    [SAMPLE_RESIDUAL] = {"residual", "residual", "", NAN, NAN, SAMPLE_MEDIAN},
    [SAMPLE_ENERGY] = {"energy", "energy", "J", NAN, NAN, SAMPLE_AVERAGE},
    [SAMPLE_SPEED] = {"speed", "mean speed of bodies", "m/s", NAN, NAN, SAMPLE_AVERAGE},
    [SAMPLE_RESTING] = {"resting", "share of bodies at rest, last tenth", "", NAN, NAN,
                        SAMPLE_LAST},
    [SAMPLE_CREEP] = {"creep", "creep of these, last tenth", "m/s", 0, 1e-7, SAMPLE_LAST},
    [SAMPLE_LCP_ERRORS] = {"lcp_errors", "LCP errors", "", NAN, NAN, SAMPLE_TOTAL},
    [SAMPLE_FALLBACKS] = {"fallbacks", "fallbacks to ODE", "", NAN, NAN, SAMPLE_TOTAL},
    [SAMPLE_ITERATIONS] = {"iterations", "iterations", "", NAN, NAN, SAMPLE_AVERAGE},
    [SAMPLE_US] = {"us", "CPU time of the step", "us", NAN, NAN, SAMPLE_MEDIAN},
};

const char *sample_outcome_name(sample_outcome outcome)
{
    static const char *const name[] = {"taken", "hung", "died", "no fork"};
    return name[outcome];
}

size_t sample_print(char row[SAMPLE_ROW_MAX], const sample_state *state, int choice,
                    const sample *s)
{
    size_t at = (size_t)text_print(row, SAMPLE_ROW_MAX, "%ld %d %ld %.17g %.17g %d %d %d %d %d %d",
                                   state->process, state->world, state->step, state->time,
                                   state->length, state->bodies, state->contacts, state->joint_rows,
                                   choice, (int)s->outcome, (int)s->strategy);
    for (int i = 0; i < SAMPLE_VALUES; i++) {
        const char *format = isnan(s->value[i]) ? " nan" : " %.9g";
        at += (size_t)text_print(row + at, SAMPLE_ROW_MAX - at, format, s->value[i]);
    }
    row[at++] = '\n';
    row[at] = '\0';
    return at;
}

bool sample_read(const char *row, sample_state *state, int *choice, sample *s)
{
    enum { HEAD = 11 };
    double number[HEAD + SAMPLE_VALUES];
    for (int i = 0; i < HEAD + SAMPLE_VALUES; i++) {
        char *end;
        number[i] = strtod(row, &end);
        if (end == row) {
            return false;
        }
        row = end;
    }
    *state = (sample_state){(long)number[0], (int)number[1], (long)number[2], number[3],
                            number[4],       (int)number[5], (int)number[6],  (int)number[7]};
    *choice = (int)number[8];
    s->outcome = (sample_outcome)number[9];
    s->strategy = (sprag_strategy)number[10];
    memcpy(s->value, number + HEAD, sizeof s->value);
    return *row == '\n' && s->outcome >= SAMPLE_TAKEN && s->outcome <= SAMPLE_NO_FORK;
}
