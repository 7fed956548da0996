#include "statistics.h"

#include <string.h>

#include "text.h"

typedef enum type { TYPE_INT, TYPE_LONG, TYPE_REAL, TYPE_STRATEGY } type;

// The rule by which the values of two parts combine. LEAST: 0 stands for "no value".
typedef enum rule { SUM, LARGEST, LEAST } rule;

typedef struct field {
    const char *column; // of the CSV file; NULL: not in it
    size_t offset;
    type type;
    rule rule;
    bool life;          // over the life of the world; false: over the last step
    const char *format; // of TYPE_REAL
    bool of_ode;        // known of a step of ODE too
} field;

#define AT(name) offsetof(sprag_world_statistics, name)
#define INT_OF_STEP(name)                                                                          \
    {                                                                                              \
        .column = #name, .offset = AT(name), .type = TYPE_INT                                      \
    }
#define LONG_OF_LIFE(name)                                                                         \
    {                                                                                              \
        .column = #name, .offset = AT(name), .type = TYPE_LONG, .life = true                       \
    }
#define REAL_FIELD(name, how, text, ...)                                                           \
    {                                                                                              \
        .column = #name, .offset = AT(name), .type = TYPE_REAL, .rule = how, .format = text,       \
        __VA_ARGS__                                                                                \
    }
#define REAL_OF_STEP(name, rule, format) REAL_FIELD(name, rule, format, .life = false)
#define REAL_OF_LIFE(name, rule, format) REAL_FIELD(name, rule, format, .life = true)
#define REAL_OF_ODE(name, is_life, format)                                                         \
    REAL_FIELD(name, SUM, format, .life = is_life, .of_ode = true)
#define LONG_OF(name, array, which)                                                                \
    {                                                                                              \
        .column = name, .offset = AT(array) + (which) * sizeof(long), .type = TYPE_LONG,           \
        .life = true                                                                               \
    }
#define EVENT(name, kind) LONG_OF(name, events, kind)

static const field fields[] = {
    REAL_OF_ODE(time, true, "%.9g"),
    REAL_OF_ODE(step, false, "%.9g"),
    INT_OF_STEP(bodies),
    INT_OF_STEP(islands),
    INT_OF_STEP(contacts),
    INT_OF_STEP(rows),
    INT_OF_STEP(dropped),
    {.column = "strategy", .offset = AT(strategy), .type = TYPE_STRATEGY},
    INT_OF_STEP(iterations),
    INT_OF_STEP(factorizations),
    INT_OF_STEP(sweeps),
    REAL_OF_STEP(residual, LARGEST, "%.4g"),
    REAL_OF_STEP(penetration, LARGEST, "%.6g"),
    REAL_OF_STEP(bound_error, LARGEST, "%.4g"),
    REAL_OF_STEP(stiction, LARGEST, "%.4g"),
    REAL_OF_STEP(stiction_least, LEAST, "%.4g"),
    REAL_OF_STEP(stiffness_least, LEAST, "%.6g"),
    REAL_OF_STEP(stiffness_most, LARGEST, "%.6g"),
    REAL_OF_STEP(damping_least, LEAST, "%.6g"),
    REAL_OF_STEP(damping_most, LARGEST, "%.6g"),
    LONG_OF_LIFE(fallbacks),
    LONG_OF_LIFE(invalid_forces),
    LONG_OF_LIFE(frozen),
    LONG_OF_LIFE(invalid_surfaces),
    REAL_OF_STEP(pull_us, SUM, "%.2f"),
    REAL_OF_ODE(solve_us, false, "%.2f"),
    REAL_OF_STEP(push_us, SUM, "%.2f"),
    LONG_OF_LIFE(substeps),
    LONG_OF_LIFE(shortened),
    LONG_OF_LIFE(contact_changes),
    LONG_OF_LIFE(overlaps),
    LONG_OF_LIFE(squeezed),
    LONG_OF_LIFE(callbacks),
    LONG_OF_LIFE(without_geometry),
    REAL_OF_LIFE(least_gap, LEAST, "%.6g"),
    REAL_OF_LIFE(largest_gap, LARGEST, "%.6g"),
    REAL_OF_LIFE(stalled, SUM, "%.6g"),
    EVENT("contacts_made", SPRAG_EVENT_CONTACT_MADE),
    EVENT("contacts_lost", SPRAG_EVENT_CONTACT_LOST),
    EVENT("limits_reached", SPRAG_EVENT_LIMIT_REACHED),
    EVENT("slips_begun", SPRAG_EVENT_SLIP_BEGINS),
    EVENT("slips_ended", SPRAG_EVENT_SLIP_ENDS),
    LONG_OF_LIFE(ess_steps),
    LONG_OF_LIFE(ess_events),
    LONG_OF_LIFE(ess_projected),
    LONG_OF_LIFE(ess_declined),
    LONG_OF_LIFE(ess_switched),
    LONG_OF_LIFE(ess_whole),
    LONG_OF("ess_joints", ess_left, SPRAG_ESS_JOINTS),
    LONG_OF("ess_given", ess_left, SPRAG_ESS_GIVEN),
    LONG_OF("ess_surface", ess_left, SPRAG_ESS_SURFACE),
    LONG_OF("ess_stiff", ess_left, SPRAG_ESS_STIFF),
    LONG_OF("ess_joint_error", ess_left, SPRAG_ESS_JOINT_ERROR),
    LONG_OF("ess_limit", ess_left, SPRAG_ESS_LIMIT),
    LONG_OF("ess_stopped", ess_left, SPRAG_ESS_STOPPED),
    LONG_OF_LIFE(unsearched),
    EVENT(NULL, SPRAG_EVENT_STALLED),
    {.offset = AT(steps), .type = TYPE_LONG, .life = true},
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static inline double combined(rule rule, double a, double b)
{
    switch (rule) {
    case SUM:
        return a + b;
    case LARGEST:
        return b > a ? b : a;
    case LEAST:
        return a == 0 || (b < a && b != 0) ? b : a;
    }
    return a;
}

static sprag_strategy worse(sprag_strategy a, sprag_strategy b)
{
    return a > b ? a : b;
}

static inline void add_field(const field *f, void *to, const void *part)
{
    switch (f->type) {
    case TYPE_INT:
        *(int *)to += *(const int *)part;
        break;
    case TYPE_LONG:
        *(long *)to += *(const long *)part;
        break;
    case TYPE_REAL:
        *(double *)to = combined(f->rule, *(double *)to, *(const double *)part);
        break;
    case TYPE_STRATEGY:
        *(sprag_strategy *)to = worse(*(const sprag_strategy *)to, *(const sprag_strategy *)part);
        break;
    }
}

// Called for every island: the compiler writes the loop out, and leaves one operation of each
// field.
void statistics_add(sprag_world_statistics *to, const sprag_world_statistics *part)
{
#pragma GCC unroll 64
    for (int i = 0; i < FIELDS; i++) {
        size_t offset = fields[i].offset;
        add_field(&fields[i], (char *)to + offset, (const char *)part + offset);
    }
}

void statistics_count(long *total, long *count)
{
    __atomic_fetch_add(total, *count, __ATOMIC_RELAXED);
    *count = 0;
}

void statistics_start_step(sprag_world_statistics *s, double step)
{
    static const size_t bytes[] = {sizeof(int), sizeof(long), sizeof(double),
                                   sizeof(sprag_strategy)};
#pragma GCC unroll 64
    for (int i = 0; i < FIELDS; i++) {
        if (!fields[i].life) {
            memset((char *)s + fields[i].offset, 0, bytes[fields[i].type]);
        }
    }
    s->time += step;
    s->step = step;
    s->steps++;
}

size_t statistics_print_names(char text[STATISTICS_TEXT_MAX])
{
    size_t length = 0;
    for (int i = 0; i < FIELDS && fields[i].column && length < STATISTICS_TEXT_MAX; i++) {
        length += (size_t)text_print(text + length, STATISTICS_TEXT_MAX - length, ",%s",
                                     fields[i].column);
    }
    return length;
}

static int print_field(char *text, size_t room, const field *f, const void *value)
{
    switch (f->type) {
    case TYPE_INT:
        return text_print(text, room, "%d", *(const int *)value);
    case TYPE_LONG:
        return text_print(text, room, "%ld", *(const long *)value);
    case TYPE_REAL:
        return text_print(text, room, f->format, *(const double *)value);
    case TYPE_STRATEGY:
        return text_print(text, room, "%s", sprag_strategy_name(*(const sprag_strategy *)value));
    }
    return 0;
}

size_t statistics_print_row(char text[STATISTICS_TEXT_MAX], const sprag_world_statistics *s,
                            bool all)
{
    size_t length = 0;
    for (int i = 0; i < FIELDS && fields[i].column && length + 1 < STATISTICS_TEXT_MAX; i++) {
        text[length++] = ',';
        text[length] = '\0';
        if (all || fields[i].of_ode) {
            length += (size_t)print_field(text + length, STATISTICS_TEXT_MAX - length, &fields[i],
                                          (const char *)s + fields[i].offset);
        }
    }
    return length;
}

static double number_of(const field *f, const void *value)
{
    switch (f->type) {
    case TYPE_INT:
        return *(const int *)value;
    case TYPE_LONG:
        return (double)*(const long *)value;
    case TYPE_REAL:
        return *(const double *)value;
    case TYPE_STRATEGY:
        return *(const sprag_strategy *)value;
    }
    return NAN;
}

int statistics_numbers(double number[STATISTICS_MAX], const sprag_world_statistics *s, bool all)
{
    _Static_assert((int)FIELDS <= (int)STATISTICS_MAX, "there is room for all columns");
    int count = 0;
    for (; count < FIELDS && fields[count].column; count++) {
        const field *f = &fields[count];
        number[count] = all || f->of_ode ? number_of(f, (const char *)s + f->offset) : NAN;
    }
    return count;
}
