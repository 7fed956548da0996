// The table of options, and the functions that read it. A string with an error changes nothing.
#include "settings.h"

#include <ctype.h>
#include <string.h>

#include "text.h"

typedef enum kind { METHOD, REAL, INTEGER, WORD } kind;

typedef struct option {
    const char *name;
    kind kind;
    size_t offset;            // into settings
    double least, most;       // REAL, INTEGER: limits, both allowed
    const char *const *words; // WORD: names of the values 0, 1 ..., then NULL
    const char *unit;
    const char *meaning;
} option;

#define AT(field) offsetof(settings, field)

// In the order of sprag_stribeck_scheme.
static const char *const schemes[] = {"two-way", "one-way", NULL};
// In the order of callback_time.
static const char *const callbacks[] = {"within", "before", NULL};
// In the order of contact_source.
static const char *const sources[] = {"auto", "ode", "sprag", NULL};
// In the order of effort.
static const char *const efforts[] = {"auto", "fast", "balanced", "exact", NULL};

enum { STOCK_ITERATIONS_MAX = 100000 };

static const option options[] = {
    {"method", METHOD, AT(method), 0, 0, NULL, "", "how to step the world; see the list below"},
    {"ode.iterations", INTEGER, AT(stock.iterations), 0, STOCK_ITERATIONS_MAX, NULL, "",
     "iterations of dWorldQuickStep under the methods ode, ode-step and ode-quick; 0: those that "
     "the program has set; method=ode-quick:N sets them too"},
    {"ode.erp", REAL, AT(stock.erp), 0, 1, NULL, "",
     "ERP of the world under these methods; 0: that of the program"},
    {"ode.cfm", REAL, AT(stock.cfm), 0, 1, NULL, "",
     "CFM of the world under these methods; 0: that of the program"},
    {"effort", WORD, AT(effort), 0, 0, efforts, "",
     "most work of method stribeck: fast takes as many Gauss-Seidel sweeps as the world has "
     "QuickStep iterations, balanced 30, and both take direct methods near rest; exact takes up to "
     "stribeck.sweeps, and direct methods in motion, too; auto is fast for dWorldQuickStep, "
     "balanced for dWorldStep"},
    {"stribeck.scheme", WORD, AT(stribeck.scheme), 0, 0, schemes, "",
     "two-way solves normal forces and friction together; one-way takes normal forces from the "
     "start of the step, and stiff contacts then gain energy"},
    {"stribeck.contacts", WORD, AT(contacts), 0, 0, sources, "",
     "who finds the contacts of convex geoms and cylinders, of boxes and capsules among "
     "themselves, "
     "and of balls, boxes, capsules and meshes on meshes and heightfields: ODE's dCollide, or "
     "sprag's geometry, with up to 8 points "
     "spread over the faces that touch; auto is ode until sprag steps the world, then sprag"},
    {"stribeck.speculative", INTEGER, AT(speculative), 0, 1, NULL, "",
     "1: geoms that would overlap within the step, at their velocities, have contacts before, so "
     "that fast bodies do not pass thin ones"},
    {"stribeck.arcs", INTEGER, AT(stiffness.arcs), 0, 1, NULL, "",
     "1: joints move their bodies on arcs, not along tangents, so that they open less and swings "
     "keep their energy; 0: joints under load only, the others as ODE"},
    {"stribeck.stiffness", REAL, AT(stiffness.stiffness), 0, 1e15, NULL, "N/m",
     "normal stiffness (Hunt and Crossley) of contacts without ERP or CFM of their own; higher: "
     "less overlap; 0: ODE's ERP and CFM"},
    {"stribeck.dissipation", REAL, AT(stiffness.dissipation), 0, 1e6, NULL, "s/m",
     "dissipation of these contacts; higher: less bounce"},
    {"stribeck.stiction_tolerance", REAL, AT(stribeck.stiction_tolerance), 0, 1, NULL, "m/s",
     "slip speed up to which a sliding contact counts as sticking; higher: easier to solve, but "
     "more creep; 0: 1/1000 of the change of velocity in the step"},
    {"stribeck.stiction_at_rest", REAL, AT(stribeck.stiction_at_rest), 0, 1, NULL, "m/s",
     "the same for contacts at rest, which creep by up to this speed; 0: 1e-8 of the change of "
     "velocity in the step"},
    {"stribeck.tolerance", REAL, AT(stribeck.tolerance), 1e-15, 0.1, NULL, "",
     "largest error of momentum, relative to the impulses of the island; lower: more iterations"},
    {"stribeck.softness", REAL, AT(stribeck.softness), 1e-15, 1, NULL, "",
     "compliance of contact normals, relative to the inverse mass at the contact, up to ten times "
     "that in islands of more than 10 bodies unless effort=exact; higher: easier to solve, but "
     "bodies sink in more"},
    {"stribeck.row_softness", REAL, AT(stribeck.row_softness), 1e-15, 1, NULL, "",
     "the same for joint equations; higher: joints give way more"},
    {"stribeck.max_iterations", INTEGER, AT(stribeck.max_iterations), 1, 10000, NULL, "",
     "most iterations of strategy newton; lower: other strategies are tried sooner"},
    {"stribeck.max_continuation", INTEGER, AT(stribeck.max_continuation), 0, 100000, NULL, "",
     "most iterations of strategy continuation; 0: the strategy is not tried"},
    {"stribeck.sweeps", INTEGER, AT(stribeck.sweeps), 1, 1e6, NULL, "",
     "most Gauss-Seidel sweeps of an island with effort=exact; other efforts set their own"},
    {"stribeck.direct_work", REAL, AT(stribeck.direct_work), 0, 1e15, NULL, "",
     "most work of a factorization, in products of 6x6 blocks, with which effort=exact ends at a "
     "root; lower limits the time of a step; 0: islands are solved by sweeps alone"},
    {"advance.epsilon", REAL, AT(advance.epsilon), 1e-12, 1, NULL, "m",
     "gap at which bodies touch; resting bodies keep half of it"},
    {"advance.shortest", REAL, AT(advance.shortest), 1e-6, 1, NULL, "",
     "shortest planned sub-step, as a part of the step; lower: events are separated better, but "
     "steps may take longer"},
    {"advance.substeps", INTEGER, AT(advance.substeps), 0, 10000, NULL, "",
     "sub-steps to aim at in a step; more: more exact and slower; 0: 200 / number of bodies that "
     "may touch, at most 100, and 1 for what is planned coarsely"},
    {"advance.error", REAL, AT(advance.error), 0, 1, NULL, "m",
     "error of a step, estimated by halving sub-steps; lower: more sub-steps; 0: no estimate"},
    {"advance.checks", INTEGER, AT(advance.checks), 0, 1, NULL, "",
     "1: measure the least gap of all pairs three times per sub-step, for tests"},
    {"advance.callbacks", WORD, AT(callbacks), 0, 0, callbacks, "",
     "when sprag calls the program's collision callback for bodies that will touch: within the "
     "step, at the time of the touch; or before the step, for all that may touch"},
    {"ess.tolerance", REAL, AT(compliant.tolerance), 1e-13, 0.1, NULL, "",
     "error of a step of the integrator, relative to the motion in the step; lower: more steps"},
    {"ess.steps", INTEGER, AT(compliant.steps), 1, 1e6, NULL, "",
     "most steps of the integrator in a step of the world; groups of bodies that need more are "
     "stepped by the implicit Stribeck step"},
};

enum {
    OPTIONS = sizeof options / sizeof options[0],
    NAME_MAX_LENGTH = 40, // of a name or value; no valid one is longer
    CELL_MAX = 64,        // bytes of a cell in the help
    MEANING_WIDTH = 84,   // letters of a line of the help
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

// A copy for a message: cut to a length and without control characters.
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

// The option that is meant by a misspelt name, with or without the part before the point; or NULL.
static const char *nearest_option(slice name)
{
    const char *nearest = NULL;
    int least = text_edits_most(name.length);
    for (int i = 0; i < OPTIONS; i++) {
        const char *whole = options[i].name;
        const char *point = strchr(whole, '.');
        const char *tail = point ? point + 1 : whole;
        int far = text_edits(name.at, name.length, whole);
        int far_tail = text_edits(name.at, name.length, tail);
        far = far_tail < far ? far_tail : far;
        if (far <= least && (!nearest || far < least)) {
            nearest = whole;
            least = far;
        }
    }
    return nearest;
}

// ---- What belongs to a name

static const option *find_option(slice name)
{
    for (int i = 0; i < OPTIONS; i++) {
        if (is(name, options[i].name)) {
            return &options[i];
        }
    }
    return NULL;
}

// `ess` finds pairs and asks callbacks as `advance` does, but divides the step itself. The options
// of `stribeck` count where either leaves an island to the implicit step.
static bool is_heeded(const option *o, const method *m)
{
    if (o->kind == METHOD) {
        return true;
    }
    if (o->offset == AT(advance.epsilon) || o->offset == AT(callbacks)) {
        return m->keeps_distance;
    }
    if (o->offset == AT(contacts) || o->offset == AT(speculative) ||
        o->offset == AT(stiffness.arcs)) {
        return m->ours && !m->keeps_distance;
    }
    return strncmp(o->name, "ode.", 4) == 0       ? !m->ours
           : strncmp(o->name, "advance.", 8) == 0 ? m->keeps_distance && !m->is_compliant
           : strncmp(o->name, "ess.", 4) == 0     ? m->is_compliant
                                                  : m->ours;
}

// The names of the methods that heed an option, or of all (NULL), with ", " between them, cut.
static const char *method_names(const option *o, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (const method *m = methods; m->name && length < size; m++) {
        if (!o || is_heeded(o, m)) {
            int more = snprintf(text + length, size - length, "%s%s", length ? ", " : "", m->name);
            length += (size_t)(more > 0 ? more : 0);
        }
    }
    return text;
}

// The words that an option takes: "one, two or three".
static const char *word_names(const option *o, char text[CELL_MAX])
{
    size_t used = 0;
    for (int i = 0; o->words[i]; i++) {
        const char *before = i == 0 ? "" : o->words[i + 1] ? ", " : " or ";
        used += (size_t)snprintf(text + used, CELL_MAX - used, "%s%s", before, o->words[i]);
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
        snprintf(message, MESSAGE_MAX, "\"%s\" is a value without a name; did you mean method=%s?",
                 text, text);
    } else if (meant) {
        snprintf(message, MESSAGE_MAX, "\"%s\" has no value; did you mean %s=...?", text, meant);
    } else {
        snprintf(message, MESSAGE_MAX,
                 "\"%s\" is not of the form name=value; `sprag options` lists the names", text);
    }
    return false;
}

static bool refuse_value(const option *o, slice value, const char *what, char *message)
{
    char text[NAME_MAX_LENGTH + 4];
    text_print(message, MESSAGE_MAX, "%s=%s is %s; the option takes %s from %.7g to %.7g%s%s",
               o->name, shown(value, text), what, o->kind == REAL ? "a number" : "a whole number",
               o->least, o->most, *o->unit ? " " : "", o->unit);
    return false;
}

// The number behind the colon of "ode-quick:100". Without a colon nothing is read.
static bool read_iterations(settings *s, const method *m, slice value, size_t name, char *message)
{
    char text[NAME_MAX_LENGTH + 4];
    double number = 0;
    if (name == value.length) {
        return true;
    }
    size_t length = value.length - name - 1;
    bool takes = m->fixed && m->stepper == STOCK_QUICK && length <= NAME_MAX_LENGTH;
    snprintf(text, sizeof text, "%.*s", takes ? (int)length : 0, value.at + name + 1);
    if (!takes || !text_read_integer(text, &number) || number < 1 ||
        number > STOCK_ITERATIONS_MAX) {
        snprintf(message, MESSAGE_MAX,
                 "method \"%s\": only ode-quick takes a number, of 1 to %d iterations, as in "
                 "ode-quick:100",
                 shown(value, text), STOCK_ITERATIONS_MAX);
        return false;
    }
    s->stock.iterations = (int)number;
    return true;
}

static bool read_method(settings *s, slice value, char *message)
{
    const char *colon = memchr(value.at, ':', value.length);
    size_t name = colon ? (size_t)(colon - value.at) : value.length;
    const method *m = method_find(value.at, name);
    if (!m) {
        char text[NAME_MAX_LENGTH + 4], names[MESSAGE_MAX / 2];
        snprintf(message, MESSAGE_MAX, "no method is called \"%s\"; the methods are %s",
                 shown((slice){value.at, name}, text), method_names(NULL, names, sizeof names));
        return false;
    }
    s->method = m;
    return read_iterations(s, m, value, name, message);
}

static bool read_word(const option *o, int *to, slice value, char *message)
{
    for (int i = 0; o->words[i]; i++) {
        if (is(value, o->words[i])) {
            *to = i;
            return true;
        }
    }
    char text[NAME_MAX_LENGTH + 4], names[CELL_MAX];
    snprintf(message, MESSAGE_MAX, "%s=%s is not known; the option takes %s", o->name,
             shown(value, text), word_names(o, names));
    return false;
}

static bool read_value(settings *s, const option *o, slice value, char *message)
{
    void *field = (char *)s + o->offset;
    if (o->kind == METHOD) {
        return read_method(s, value, message);
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
        return refuse_value(o, value, o->kind == REAL ? "not a number" : "not a whole number",
                            message);
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
    const option *o = find_option(name);
    return o ? read_value(s, o, trimmed(value), message) : refuse_name(name, message);
}

// The next entry of a string; empty ones come from joining. *at: behind it.
static slice next_entry(const char **at)
{
    size_t length = strcspn(*at, ",");
    slice entry = trimmed((slice){*at, length});
    *at += length + ((*at)[length] == ',');
    return entry;
}

bool settings_read(settings *s, const char *string, char *message)
{
    settings next = *s;
    for (const char *at = string; *at;) {
        slice entry = next_entry(&at);
        if (entry.length && !read_entry(&next, entry, message)) {
            return false;
        }
    }
    *s = next;
    return true;
}

bool settings_are_heeded(const char *string, const method *const m[], int count, char *message)
{
    for (const char *at = string; *at;) {
        slice entry = next_entry(&at);
        const option *o = find_option(trimmed((slice){entry.at, strcspn(entry.at, "=")}));
        bool heeded = !o;
        for (int i = 0; i < count && !heeded; i++) {
            heeded = is_heeded(o, m[i]);
        }
        if (!heeded) {
            char names[MESSAGE_MAX / 2];
            snprintf(message, MESSAGE_MAX, "%s has no effect under %s; methods that heed it: %s",
                     o->name, count == 1 ? m[0]->name : "these methods",
                     method_names(o, names, sizeof names));
            return false;
        }
    }
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

bool settings_collide_some(const settings *s)
{
    return s->method->ours && !s->method->keeps_distance && s->contacts != CONTACTS_ODE;
}

bool settings_speculate(const settings *s)
{
    return s->method->ours && !s->method->keeps_distance && s->speculative;
}

bool settings_record(const settings *s)
{
    return s->method->keeps_distance || settings_speculate(s);
}

bool settings_collide(const settings *s)
{
    return settings_record(s) || settings_collide_some(s);
}

bool settings_collide_at_once(const settings *s)
{
    return settings_record(s) || (settings_collide_some(s) && s->contacts == CONTACTS_SPRAG);
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
    if (o->kind == METHOD) {
        snprintf(text, CELL_MAX, "see below");
    } else if (o->kind == WORD) {
        word_names(o, text);
    } else {
        text_print(text, CELL_MAX, "%.7g to %.7g", o->least, o->most);
    }
}

static int wider(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static void print_meaning(FILE *to, const char *text)
{
    while (*text) {
        size_t length = strlen(text);
        if (length > MEANING_WIDTH) {
            for (length = MEANING_WIDTH; text[length] != ' ';) {
                length--;
            }
        }
        fprintf(to, "      %.*s\n", (int)length, text);
        text += length + (text[length] == ' ');
    }
}

void settings_help(FILE *to)
{
    static const char row[] = "  %-*s  %-*s  %-*s  %s\n";
    char value[OPTIONS][CELL_MAX], range[OPTIONS][CELL_MAX];
    int name_width = 0, value_width = 7, range_width = 5;
    settings defaults = settings_defaults();
    for (int i = 0; i < OPTIONS; i++) {
        print_default(&defaults, &options[i], value[i]);
        print_range(&options[i], range[i]);
        name_width = wider(name_width, options[i].name);
        value_width = wider(value_width, value[i]);
        range_width = wider(range_width, range[i]);
    }
    fprintf(to,
            "Options of sprag: name=value,name=value,... in SPRAG_OPTIONS, after -o of the sprag\n"
            "command, and in sprag_world_configure(). Of two values for one name the later "
            "counts.\n\n");
    fprintf(to, row, name_width, "name", value_width, "default", range_width, "range", "unit");
    for (int i = 0; i < OPTIONS; i++) {
        fprintf(to, row, name_width, options[i].name, value_width, value[i], range_width, range[i],
                options[i].unit);
        print_meaning(to, options[i].meaning);
    }
    fprintf(to, "\nMethods:\n\n");
    for (const method *m = methods; m->name; m++) {
        fprintf(to, "  %-*s  %s\n", name_width, m->name, m->summary);
    }
    fprintf(to,
            "\nFiles, named by environment variables; %%p in FILE stands for the process id:\n\n"
            "  SPRAG_STATS=FILE   appends a row of statistics per step, as CSV\n"
            "  SPRAG_RECORD=FILE  records every step, for sprag export, report and replay\n");
}
