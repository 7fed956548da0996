// Options as users write them.
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin_scene.h"
#include "settings.h"
#include "suite.h"

// ---- options

START_TEST(reads_options)
{
    static const char *const good[] = {
        "",
        ",, ,",
        "method=stribeck",
        "method=ode",
        "method=ode-step",
        "method=ode-quick",
        " method = ode , stribeck.tolerance = 1e-3 ",
        "stribeck.stiction_tolerance=1e-12,stribeck.stiction_at_rest=1e-12",
        "stribeck.stiction_at_rest=0.5,stribeck.stiction_tolerance=1",
        "stribeck.tolerance=.1",
        "stribeck.softness=1E-15",
        "stribeck.row_softness=+1.0",
        "stribeck.max_iterations=1",
        "stribeck.max_continuation=0",
        "stribeck.direct_work=1e15",
        "stribeck.scheme=one-way",
        "stribeck.scheme = two-way",
        "stribeck.stiffness=1e6,stribeck.dissipation=0.1",
        "stribeck.stiffness=0,stribeck.dissipation=0",
        "method=ode\n,\tmethod=stribeck\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        configure(world, good[i]);
        ck_assert_str_eq(sprag_error(), "");
    }
}
END_TEST

typedef struct bad_option {
    const char *string;
    const char *named; // what the message must tell
} bad_option;

static const bad_option bad_options[] = {
    {"method=stribek", "stribek"},
    {"method=ode-quick:0", "1 to 100000 iterations"},
    {"method=ode-quick:", "only ode-quick takes a number"},
    {"method=ode-quick:5x", "only ode-quick takes a number"},
    {"method=ode-step:5", "only ode-quick takes a number"},
    {"ode.erp=2", "ode.erp=2 is out of range"},
    {"method=", "no method is called \"\""},
    {"method", "method=..."},
    {"stribeck", "method=stribeck"},
    {"metod=ode", "did you mean method?"},
    {"=ode", "\"\""},
    {"tolerance=1", "did you mean stribeck.tolerance?"},
    {"stribeck.tolerence=1", "did you mean stribeck.tolerance?"},
    {"stribeck.tolerance=", "stribeck.tolerance= is empty"},
    {"stribeck.tolerance", "has no value"},
    {"stribeck.tolerance=0", "stribeck.tolerance=0 is out of range"},
    {"stribeck.tolerance=1", "out of range"},
    {"stribeck.tolerance=-1e-3", "out of range"},
    {"stribeck.tolerance=1e-3x", "not a number"},
    {"stribeck.tolerance=0x1p-4", "not a number"},
    {"stribeck.tolerance=nan", "not a number"},
    {"stribeck.tolerance=inf", "not a number"},
    {"stribeck.tolerance=1e999", "out of range"},
    {"stribeck.tolerance=1e-3 1e-4", "not a number"},
    {"stribeck.max_iterations=0", "out of range"},
    {"stribeck.max_iterations=1.5", "not a whole number"},
    {"stribeck.max_iterations=99999999999999999999", "out of range"},
    {"stribeck.max_iterations=ten", "stribeck.max_iterations=ten"},
    {"stribeck.max_continuation=-1", "out of range"},
    {"stribeck.sweeps=0", "out of range"},
    {"stribeck.direct_work=-1", "stribeck.direct_work"},
    {"stribeck.softness=2", "stribeck.softness"},
    {"stribeck.row_softness=0", "stribeck.row_softness"},
    {"stribeck.stiction_tolerance=1.1", "stribeck.stiction_tolerance"},
    {"stribeck.tolerance=1e-3=2", "1e-3=2"},
    {"stribeck.scheme=both",
     "stribeck.scheme=both is not known; the option takes two-way or one-way"},
    {"effort=most", "effort=most is not known; the option takes auto, fast, balanced or exact"},
    {"stribeck.scheme=", "is not known"},
    {"stribeck.scheme=1", "is not known"},
    {"scheme=one-way", "did you mean stribeck.scheme?"},
    {"stribeck.stiffness=-1", "stribeck.stiffness=-1 is out of range"},
    {"stribeck.stiffness=1e16", "out of range"},
    {"stribeck.stifness=1", "did you mean stribeck.stiffness?"},
    {"stribeck.dissipation=-0.1", "stribeck.dissipation=-0.1 is out of range"},
    {"nonsense", "nonsense"},
    {"a=b", "\"a\""},
    {"methodmethodmethodmethodmethodmethodmethodmethodmethodmethod=1", "..."},
    {"help=1", "\"help\""},
};

enum { BAD_OPTIONS = sizeof bad_options / sizeof bad_options[0] };

START_TEST(a_method_may_have_a_number)
{
    char message[MESSAGE_MAX];
    settings s = settings_defaults();
    ck_assert_int_eq(s.stock.iterations, 0);
    ck_assert(settings_read(&s, "method=ode-quick:1000,ode.erp=0.3,ode.cfm=1e-7", message));
    ck_assert_str_eq(s.method->name, "ode-quick");
    ck_assert_int_eq(s.stock.iterations, 1000);
    ck_assert_double_eq(s.stock.erp, 0.3);
    ck_assert_double_eq(s.stock.cfm, 1e-7);
}
END_TEST

START_TEST(refuses_options_and_says_why)
{
    const bad_option *bad = &bad_options[_i];
    ck_assert_int_eq(sprag_world_configure(world, bad->string), 0);
    ck_assert_msg(strstr(sprag_error(), bad->named) != NULL, "%s: %s", bad->string, sprag_error());
    ck_assert_ptr_null(strchr(sprag_error(), '\n'));
    configure(world, "method=ode");
    ck_assert_str_eq(sprag_error(), "");
}
END_TEST

static bool settings_equal(const settings *a, const settings *b)
{
    const sprag_stribeck_options *x = &a->stribeck, *y = &b->stribeck;
    return a->method == b->method && a->contacts == b->contacts &&
           a->speculative == b->speculative && a->stiffness.arcs == b->stiffness.arcs &&
           a->stiffness.stiffness == b->stiffness.stiffness &&
           a->stiffness.dissipation == b->stiffness.dissipation && x->scheme == y->scheme &&
           x->stiction_tolerance == y->stiction_tolerance &&
           x->stiction_at_rest == y->stiction_at_rest && x->tolerance == y->tolerance &&
           x->softness == y->softness && x->row_softness == y->row_softness &&
           x->max_iterations == y->max_iterations && x->max_continuation == y->max_continuation &&
           x->sweeps == y->sweeps && x->direct_work == y->direct_work;
}

// Entries before and behind a bad one are not applied either.
START_TEST(takes_a_string_whole_or_not_at_all)
{
    char string[256], message[MESSAGE_MAX];
    const settings before = settings_defaults();
    settings after = before;
    snprintf(string, sizeof string,
             "method=ode-quick,stribeck.softness=0.5,stribeck.stiffness=7,stribeck.scheme=one-way,"
             "%s,stribeck.tolerance=0.05",
             bad_options[_i].string);
    ck_assert(!settings_read(&after, string, message));
    ck_assert(settings_equal(&after, &before));
    ck_assert_uint_gt(strlen(message), 10);
}
END_TEST

START_TEST(later_options_win)
{
    char message[MESSAGE_MAX];
    settings s = settings_defaults();
    ck_assert(settings_read(&s,
                            "method=ode,stribeck.tolerance=1e-3,stribeck.max_iterations=7,"
                            "method=ode-quick,stribeck.tolerance=2e-3",
                            message));
    ck_assert_str_eq(s.method->name, "ode-quick");
    ck_assert_double_eq(s.stribeck.tolerance, 2e-3);
    ck_assert_int_eq(s.stribeck.max_iterations, 7);
    ck_assert(settings_read(&s, "method=stribeck", message)); // the others stay
    ck_assert_int_eq(s.stribeck.max_iterations, 7);
}
END_TEST

START_TEST(asks_for_a_world_and_a_string)
{
    ck_assert_int_eq(sprag_world_configure(NULL, "method=ode"), 0);
    ck_assert_ptr_nonnull(strstr(sprag_error(), "the world is NULL"));
    ck_assert_int_eq(sprag_world_configure(world, NULL), 0);
    ck_assert_ptr_nonnull(strstr(sprag_error(), "the options are NULL"));
}
END_TEST

// Every option of the table is in the help, and can be set to what the help says is its default.
START_TEST(help_lists_the_defaults)
{
    char *text = NULL, line[512], name[64], value[64], entry[160], message[MESSAGE_MAX];
    size_t size = 0;
    int found = 0;
    FILE *file = open_memstream(&text, &size);
    settings_help(file);
    fclose(file);
    file = fmemopen(text, strlen(text), "r");
    while (fgets(line, sizeof line, file) && strncmp(line, "Methods", 7)) {
        if (sscanf(line, " %63s %63s", name, value) == 2 &&
            (strchr(name, '.') || !strcmp(name, "method")) && line[0] == ' ') {
            settings s = settings_defaults(), defaults = s;
            snprintf(entry, sizeof entry, "%s=%s", name, value);
            ck_assert_msg(settings_read(&s, entry, message), "%s", message);
            ck_assert(settings_equal(&s, &defaults));
            found++;
        }
    }
    ck_assert_int_eq(found, 27);
    fclose(file);
    free(text);
}
END_TEST

// The help's range of every number is what can be set, both ends included.
START_TEST(ranges_include_their_ends)
{
    char *text = NULL, line[512], name[64], value[64], low[64], high[64], entry[160];
    char message[MESSAGE_MAX];
    size_t size = 0;
    int found = 0;
    FILE *file = open_memstream(&text, &size);
    settings_help(file);
    fclose(file);
    file = fmemopen(text, strlen(text), "r");
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, " %63s %63s %63s to %63s ", name, value, low, high) < 4 ||
            !strchr(name, '.')) {
            continue;
        }
        settings s = settings_defaults();
        for (int k = 0; k < 2; k++) {
            snprintf(entry, sizeof entry, "%s=%s", name, k ? high : low);
            ck_assert_msg(settings_read(&s, entry, message), "%s", message);
            snprintf(entry, sizeof entry, "%s=%s%s", name, k ? "" : "-", k ? "1e99" : high);
            ck_assert_msg(!settings_read(&s, entry, message), "%s", entry);
        }
        found++;
    }
    ck_assert_int_ge(found, 15);
    fclose(file);
    free(text);
}
END_TEST

// A letter replaced, added, left out, two swapped; up to a quarter of the letters and one more.
START_TEST(misspelt_names_are_guessed)
{
    static const char *const cases[][2] = {
        {"metohd", "method"},
        {"mathad", "method"},
        {"mathat", NULL},
        {"mthd", "method"},
        {"mehod", "method"},
        {"methoddd", "method"},
        {"methodddddd", NULL},
        {"effrot", "effort"},
        {"stribeck.toleranecs", "stribeck.tolerance"},
        {"zzzzzzzzzzzzzzzz", NULL},
        {"ode.itreations", "ode.iterations"},
        {"iteratoins", "ode.iterations"},
        {"advance.epslion", "advance.epsilon"},
        {"epsolon", "advance.epsilon"},
        {"stribeck.max_continuatoin", "stribeck.max_continuation"},
        {"stribeck.max_iteration", "stribeck.max_iterations"},
        {"stribeck.row_softnes", "stribeck.row_softness"},
        {"erp", "ode.erp"},
    };
    char entry[80], meant[80], message[MESSAGE_MAX];
    for (int i = 0; i < COUNT(cases); i++) {
        settings s = settings_defaults();
        snprintf(entry, sizeof entry, "%s=1", cases[i][0]);
        snprintf(meant, sizeof meant, "did you mean %s?", cases[i][1] ? cases[i][1] : "");
        ck_assert(!settings_read(&s, entry, message));
        if (cases[i][1]) {
            ck_assert_msg(strstr(message, meant) != NULL, "%s: %s", entry, message);
        } else {
            ck_assert_msg(!strstr(message, "did you mean"), "%s: %s", entry, message);
        }
    }
}
END_TEST

START_TEST(iterations_have_a_range)
{
    char message[MESSAGE_MAX];
    settings s = settings_defaults();
    ck_assert(settings_read(&s, "method=ode-quick:1", message) && s.stock.iterations == 1);
    ck_assert(settings_read(&s, "method=ode-quick:100000", message));
    ck_assert(!settings_read(&s, "method=ode-quick:100001", message));
    ck_assert(!settings_read(&s, "method=ode-quick:-1", message));
    ck_assert(!settings_read(&s, "method=stribeck:1", message));
    ck_assert_int_eq(s.stock.iterations, 100000);
}
END_TEST

// The methods that heed an option, as a word of their letters: s a e o (ode, ode-step, ode-quick).
START_TEST(options_are_heeded_by_their_methods)
{
    static const char *const cases[][2] = {{"method=ode", "saeo"},
                                           {"effort=fast", "sae"},
                                           {"ode.erp=0.1", "o"},
                                           {"stribeck.tolerance=1e-3", "sae"},
                                           {"stribeck.contacts=ode", "s"},
                                           {"stribeck.speculative=1", "s"},
                                           {"stribeck.arcs=1", "s"},
                                           {"advance.epsilon=1e-3", "ae"},
                                           {"advance.callbacks=before", "ae"},
                                           {"advance.error=1e-3", "a"},
                                           {"advance.shortest=0.1", "a"},
                                           {"advance.substeps=9", "a"},
                                           {"advance.checks=1", "a"},
                                           {"ess.steps=5", "e"},
                                           {"no.option=1", "saeo"},
                                           {"ess.steps=5,effort=fast", "e"}};
    static const char *const names[] = {"stribeck", "advance",  "ess",
                                        "ode",      "ode-step", "ode-quick"};
    char message[MESSAGE_MAX];
    for (int i = 0; i < COUNT(cases); i++) {
        for (int k = 0; k < COUNT(names); k++) {
            const method *one = method_find(names[k], strlen(names[k]));
            bool heeds = strchr(cases[i][1], names[k][0]);
            ck_assert_msg(settings_are_heeded(cases[i][0], &one, 1, message) == heeds, "%s: %s",
                          cases[i][0], names[k]);
        }
    }
    const method *both[] = {method_find("ode", 3), method_find("ess", 3)};
    ck_assert(settings_are_heeded("ess.steps=5,ode.erp=0.1", both, 2, message));
    ck_assert(!settings_are_heeded("ess.steps=5,stribeck.arcs=1", both, 2, message));
    ck_assert_str_eq(message, "stribeck.arcs has no effect under these methods; methods that heed "
                              "it: stribeck");
}
END_TEST

// Methods that keep a distance record collision calls; the option of contacts takes them over, some
// or all.
START_TEST(settings_tell_what_they_need)
{
    static const struct {
        const char *string;
        bool some, speculate, record, collide, at_once;
    } cases[] = {{"method=stribeck", true, false, false, true, false},
                 {"stribeck.contacts=ode", false, false, false, false, false},
                 {"stribeck.contacts=sprag", true, false, false, true, true},
                 {"stribeck.speculative=1,stribeck.contacts=ode", false, true, true, true, true},
                 {"method=advance", false, false, true, true, true},
                 {"method=advance,stribeck.speculative=1", false, false, true, true, true},
                 {"method=ess,stribeck.contacts=sprag", false, false, true, true, true},
                 {"method=ode,stribeck.contacts=sprag", false, false, false, false, false},
                 {"method=ode,stribeck.speculative=1", false, false, false, false, false}};
    char message[MESSAGE_MAX];
    for (int i = 0; i < COUNT(cases); i++) {
        settings s = settings_defaults();
        ck_assert(settings_read(&s, cases[i].string, message));
        ck_assert_msg(settings_collide_some(&s) == cases[i].some &&
                          settings_speculate(&s) == cases[i].speculate &&
                          settings_record(&s) == cases[i].record &&
                          settings_collide(&s) == cases[i].collide &&
                          settings_collide_at_once(&s) == cases[i].at_once,
                      "%s", cases[i].string);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    ADD_TESTS_WITH(suite, "all", setup, teardown, {reads_options, 1},
                   {refuses_options_and_says_why, BAD_OPTIONS},
                   {takes_a_string_whole_or_not_at_all, BAD_OPTIONS},
                   {a_method_may_have_a_number, 1}, {later_options_win, 1},
                   {asks_for_a_world_and_a_string, 1}, {help_lists_the_defaults, 1},
                   {ranges_include_their_ends, 1}, {misspelt_names_are_guessed, 1},
                   {iterations_have_a_range, 1}, {options_are_heeded_by_their_methods, 1},
                   {settings_tell_what_they_need, 1});
    return run_suite(suite);
}
