// The table of options, and all that reads it: strings "name=value,name=value", SPRAG_OPTIONS, the
// help text. A string is taken as a whole or not at all, and numbers have a decimal point whatever
// locale the program has chosen.
#include "settings.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "text.h"

typedef enum kind { METHOD, REAL, INTEGER, WORD } kind;

typedef struct option {
    const char *name;
    kind kind;
    size_t offset;      // into settings
    double least, most; // limits, both allowed
    const char *unit;
    const char *meaning;
    const char *const *words; // WORD: its values, two of them, by their numbers
} option;

#define AT(field) offsetof(settings, field)

// In the order of sprag_stribeck_scheme.
static const char *const schemes[] = {"two-way", "one-way"};
// In the order of callback_time.
static const char *const callbacks[] = {"within", "before"};

enum { WORDS = 2 };

static const option options[] = {
    {"method", METHOD, AT(method), 0, 0, "", "what steps the world, from the list below", NULL},
    {"stribeck.scheme", WORD, AT(stribeck.scheme), 0, 0, "",
     "two-way: normal forces and friction together; one-way: friction under known ones", schemes},
    {"stribeck.stiffness", REAL, AT(stiffness.stiffness), 0, 1e15, "N/m",
     "of contacts without an ERP or CFM of their own, by Hunt and Crossley's law; 0: ODE's", NULL},
    {"stribeck.dissipation", REAL, AT(stiffness.dissipation), 0, 1e6, "s/m", "of that law", NULL},
    {"stribeck.stiction_tolerance", REAL, AT(stribeck.stiction_tolerance), 0, 1, "m/s",
     "slip speed that counts as sticking, of contacts that slide; 0: 1/1000 of the change in a "
     "step",
     NULL},
    {"stribeck.stiction_at_rest", REAL, AT(stribeck.stiction_at_rest), 0, 1, "m/s",
     "the same of contacts at rest; 0: 1e-8 of the change in a step", NULL},
    {"stribeck.tolerance", REAL, AT(stribeck.tolerance), 1e-15, 0.1, "",
     "of momentum, relative to the island's impulses", NULL},
    {"stribeck.softness", REAL, AT(stribeck.softness), 1e-15, 1, "",
     "of contact normals, relative to the contact's inverse mass", NULL},
    {"stribeck.row_softness", REAL, AT(stribeck.row_softness), 1e-15, 1, "",
     "of joint rows, likewise", NULL},
    {"stribeck.max_iterations", INTEGER, AT(stribeck.max_iterations), 1, 10000, "",
     "Newton iterations of the first strategy, newton", NULL},
    {"stribeck.max_continuation", INTEGER, AT(stribeck.max_continuation), 0, 100000, "",
     "Newton iterations of continuation, together", NULL},
    {"stribeck.sweeps", INTEGER, AT(stribeck.sweeps), 0, 1e6, "",
     "Gauss-Seidel sweeps before warm_newton, and of gauss_seidel up to ten times as many; 0: none",
     NULL},
    {"stribeck.lagged_passes", INTEGER, AT(stribeck.lagged_passes), 1, 10000, "",
     "passes of frozen_friction", NULL},
    {"stribeck.direct_work", REAL, AT(stribeck.direct_work), 0, 1e15, "",
     "products of 6x6 blocks that a factorization may take; larger islands are solved by "
     "gauss_seidel; 0: all",
     NULL},
    {"advance.epsilon", REAL, AT(advance.epsilon), 1e-12, 1, "m",
     "gap at which bodies touch; contacts keep half of it", NULL},
    {"advance.shortest", REAL, AT(advance.shortest), 1e-6, 1, "",
     "part of the step that no sub-step is planned shorter than", NULL},
    {"advance.substeps", INTEGER, AT(advance.substeps), 0, 10000, "",
     "of a step, aimed at; 0: 200 / bodies that may meet, at most 100; of more than 20 bodies 1",
     NULL},
    {"advance.error", REAL, AT(advance.error), 0, 1, "m",
     "of a step: a sub-step and its halves, which are kept, differ by less than its share; 0: not "
     "asked",
     NULL},
    {"advance.checks", INTEGER, AT(advance.checks), 0, 1, "",
     "1: measures the least gap of all pairs, three times in a sub-step", NULL},
    {"advance.callbacks", WORD, AT(callbacks), 0, 0, "",
     "when the program's collision callback is asked about what will touch: within the step, or "
     "before it",
     callbacks},
    {"ess.tolerance", REAL, AT(compliant.tolerance), 1e-13, 0.1, "",
     "of a step of the integrator, relative to the fastest motion", NULL},
    {"ess.steps", INTEGER, AT(compliant.steps), 1, 1e6, "",
     "of the integrator in a step; what needs more goes by the implicit step", NULL},
};

enum {
    OPTIONS = sizeof options / sizeof options[0],
    NAME_MAX_LENGTH = 40, // of a name or value; no valid one is longer
    NUMBER_MAX = 32,      // bytes of a printed number
    CELL_MAX = 64,        // bytes of a cell in the help
};

// A part of the option string.
typedef struct slice {
    const char *at;
    size_t length;
} slice;

// ---- Strings

static slice trimmed(slice s)
{
    while (s.length && isspace((unsigned char)*s.at)) {
        s.at++;
        s.length--;
    }
    while (s.length && isspace((unsigned char)s.at[s.length - 1])) {
        s.length--;
    }
    return s;
}

// Text for a message: short, and without what would break its line.
static const char *shown(slice s, char text[NAME_MAX_LENGTH + 4])
{
    size_t length = s.length < NAME_MAX_LENGTH ? s.length : NAME_MAX_LENGTH;
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(iscntrl((unsigned char)s.at[i]) ? '?' : s.at[i]);
    }
    strcpy(text + length, length < s.length ? "..." : "");
    return text;
}

static bool is(slice s, const char *name)
{
    return strlen(name) == s.length && !memcmp(s.at, name, s.length);
}

// Single-letter edits (insert, remove, replace, swap neighbours) from a to b.
static int distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int row[3][NAME_MAX_LENGTH + 1]; // i - 2, i - 1, i, in turn
    if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH) {
        return INT_MAX;
    }
    for (size_t j = 0; j <= b_length; j++) {
        row[0][j] = (int)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        int *now = row[i % 3];
        const int *last = row[(i + 2) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                int swapped = row[(i + 1) % 3][j - 2] + 1;
                best = swapped < best ? swapped : best;
            }
            now[j] = best;
        }
    }
    return row[a_length % 3][b_length];
}

// The option that was probably meant, by its whole name or by what follows the point; or NULL.
static const char *nearest_option(slice name)
{
    const char *nearest = NULL;
    int least = 1 + (int)(name.length < 30 ? name.length : 30) / 4; // more edits: another word
    for (int i = 0; i < OPTIONS; i++) {
        const char *whole = options[i].name;
        const char *point = strchr(whole, '.');
        const char *tail = point ? point + 1 : whole;
        int far = distance(name.at, name.length, whole, strlen(whole));
        int far_tail = distance(name.at, name.length, tail, strlen(tail));
        far = far_tail < far ? far_tail : far;
        if (far <= least && (!nearest || far < least)) {
            nearest = whole;
            least = far;
        }
    }
    return nearest;
}

// "ode, ode-step, stribeck", cut to fit
static const char *method_names(char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (const method *m = methods; m->name && length < size; m++) {
        int more = snprintf(text + length, size - length, "%s%s", length ? ", " : "", m->name);
        length += (size_t)(more > 0 ? more : 0);
    }
    return text;
}

// ---- Reading

static bool refuse_name(slice name, char *message)
{
    char text[NAME_MAX_LENGTH + 4];
    const char *meant = nearest_option(name);
    snprintf(message, MESSAGE_MAX, "no option is called \"%s\"; %s%s%s", shown(name, text),
             meant ? "did you mean " : "`sprag options` lists them", meant ? meant : "",
             meant ? "?" : "");
    return false;
}

// An entry without "=": a method's or an option's name alone, or something else.
static bool refuse_entry(slice entry, char *message)
{
    char text[NAME_MAX_LENGTH + 4];
    const char *meant = nearest_option(entry);
    shown(entry, text);
    if (method_find(entry.at, entry.length)) {
        snprintf(message, MESSAGE_MAX, "\"%s\" lacks its name; did you mean method=%s?", text,
                 text);
    } else if (meant) {
        snprintf(message, MESSAGE_MAX, "\"%s\" lacks a value; did you mean %s=...?", text, meant);
    } else {
        snprintf(message, MESSAGE_MAX, "\"%s\" is no name=value; `sprag options` lists the names",
                 text);
    }
    return false;
}

static bool refuse_value(const option *o, slice value, const char *what, char *message)
{
    char text[NAME_MAX_LENGTH + 4];
    text_print(message, MESSAGE_MAX, "%s=%s is %s; it takes %s from %.7g to %.7g%s%s", o->name,
               shown(value, text), what, o->kind == REAL ? "a number" : "a whole number", o->least,
               o->most, *o->unit ? " " : "", o->unit);
    return false;
}

static bool read_method(const method **to, slice value, char *message)
{
    const method *m = method_find(value.at, value.length);
    if (!m) {
        char text[NAME_MAX_LENGTH + 4], names[MESSAGE_MAX / 2];
        snprintf(message, MESSAGE_MAX, "no method is called \"%s\"; there are %s",
                 shown(value, text), method_names(names, sizeof names));
        return false;
    }
    *to = m;
    return true;
}

static bool read_word(const option *o, int *to, slice value, char *message)
{
    for (int i = 0; i < WORDS; i++) {
        if (is(value, o->words[i])) {
            *to = i;
            return true;
        }
    }
    char text[NAME_MAX_LENGTH + 4];
    snprintf(message, MESSAGE_MAX, "%s=%s is no %s; there are %s and %s", o->name,
             shown(value, text), strchr(o->name, '.') + 1, o->words[0], o->words[1]);
    return false;
}

static bool read_value(settings *s, const option *o, slice value, char *message)
{
    void *field = (char *)s + o->offset;
    if (o->kind == METHOD) {
        return read_method(field, value, message);
    }
    if (o->kind == WORD) {
        return read_word(o, field, value, message);
    }
    char text[NAME_MAX_LENGTH + 1] = "";
    double number;
    if (value.length <= NAME_MAX_LENGTH) {
        memcpy(text, value.at, value.length);
    }
    if (!value.length) {
        return refuse_value(o, value, "empty", message);
    }
    if (!(o->kind == REAL ? text_read_real(text, &number) : text_read_integer(text, &number))) {
        return refuse_value(o, value, o->kind == REAL ? "no number" : "no whole number", message);
    }
    if (!(number >= o->least && number <= o->most)) {
        return refuse_value(o, value, "out of range", message);
    }
    if (o->kind == REAL) {
        *(double *)field = number;
    } else {
        *(int *)field = (int)number;
    }
    return true;
}

static bool read_entry(settings *s, slice entry, char *message)
{
    const char *equals = memchr(entry.at, '=', entry.length);
    if (!equals) {
        return refuse_entry(entry, message);
    }
    slice name = trimmed((slice){entry.at, (size_t)(equals - entry.at)});
    slice value = {equals + 1, entry.length - (size_t)(equals + 1 - entry.at)};
    for (int i = 0; i < OPTIONS; i++) {
        if (is(name, options[i].name)) {
            return read_value(s, &options[i], trimmed(value), message);
        }
    }
    return refuse_name(name, message);
}

bool settings_read(settings *s, const char *string, char *message)
{
    settings next = *s;
    for (const char *at = string; *at;) {
        size_t length = strcspn(at, ",");
        slice entry = trimmed((slice){at, length});
        if (entry.length && !read_entry(&next, entry, message)) { // empty ones come from joining
            return false;
        }
        at += length + (at[length] == ',');
    }
    *s = next;
    return true;
}

settings settings_defaults(void)
{
    const method *m = methods;
    while (m->name && !m->ours) {
        m++;
    }
    return (settings){.method = m->name ? m : methods,
                      .stribeck = sprag_stribeck_defaults(),
                      .advance = sprag_advance_defaults(),
                      .compliant = sprag_compliant_defaults()};
}

// ---- Help

static void print_default(const settings *s, const option *o, char text[CELL_MAX])
{
    const void *field = (const char *)s + o->offset;
    switch (o->kind) {
    case METHOD:
        snprintf(text, CELL_MAX, "%s", s->method->name);
        break;
    case REAL:
        text_print(text, CELL_MAX, "%.7g", *(const double *)field);
        break;
    case INTEGER:
        snprintf(text, CELL_MAX, "%d", *(const int *)field);
        break;
    case WORD:
        snprintf(text, CELL_MAX, "%s", o->words[*(const int *)field]);
        break;
    }
}

static void print_range(const option *o, char text[CELL_MAX])
{
    if (o->kind == METHOD || o->kind == WORD) {
        text[0] = '\0';
        return;
    }
    text_print(text, CELL_MAX, "%.7g to %.7g", o->least, o->most);
}

static int wider(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

void settings_help(FILE *to)
{
    static const char row[] = "  %-*s  %-*s  %-*s  %-*s  %s\n";
    char value[OPTIONS][CELL_MAX], range[OPTIONS][CELL_MAX];
    int name_width = 0, value_width = 7, range_width = 5, unit_width = 4;
    settings defaults = settings_defaults();
    for (int i = 0; i < OPTIONS; i++) {
        print_default(&defaults, &options[i], value[i]);
        print_range(&options[i], range[i]);
        name_width = wider(name_width, options[i].name);
        value_width = wider(value_width, value[i]);
        range_width = wider(range_width, range[i]);
        unit_width = wider(unit_width, options[i].unit);
    }
    fprintf(to,
            "Options of sprag: name=value,name=value,... where later ones win; in SPRAG_OPTIONS,\n"
            "behind -o of the sprag command, and in sprag_world_configure().\n\n");
    fprintf(to, row, name_width, "name", value_width, "default", range_width, "range", unit_width,
            "unit", "meaning");
    for (int i = 0; i < OPTIONS; i++) {
        fprintf(to, row, name_width, options[i].name, value_width, value[i], range_width, range[i],
                unit_width, options[i].unit, options[i].meaning);
    }
    fprintf(to, "\nMethods:\n\n");
    for (const method *m = methods; m->name; m++) {
        fprintf(to, "  %-*s  %s\n", name_width, m->name, m->summary);
    }
    fprintf(to,
            "\nSPRAG_STATS=FILE appends what each step did to FILE, as CSV; %%p in FILE stands for "
            "the\nprocess id.\n");
}
