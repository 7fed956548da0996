// Reads and checks the arguments of run and compare before anything runs.
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "request.h"
#include "say.h"
#include "table.h"
#include "text.h"

static const double shortest = 1e-7, longest = 1e6; // s, of a time that makes sense

enum { NAMES_MAX = 1024 };

// ", " between them.
static void list_models(char names[NAMES_MAX])
{
    size_t length = 0;
    names[0] = '\0';
    for (int i = 0; sprag_models[i].name && length < NAMES_MAX; i++) {
        length += (size_t)snprintf(names + length, NAMES_MAX - length, "%s%s", i ? ", " : "",
                                   sprag_models[i].name);
    }
}

static bool add_model(request *r, const char *name)
{
    const sprag_model *model = sprag_model_find(name);
    if (!model && strncmp(name, "pile:", 5) == 0) {
        cli_fail(0, "\"%s\": a pile has 1 to 100000 bodies, as in pile:500", name);
        return false;
    }
    if (!model) {
        char names[NAMES_MAX];
        list_models(names);
        cli_fail(0, "no model is called \"%s\" (a program: sprag compare -- PROGRAM); there are %s",
                 name, names);
        return false;
    }
    r->model[r->models++] = model;
    return true;
}

bool choices_add(choice *choices, int *count, const char *names)
{
    for (const char *at = names; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        settings s = settings_defaults();
        if (*count == METHODS_MAX) {
            cli_fail(0, "too many methods; at most %d fit side by side", METHODS_MAX);
            return false;
        }
        if (!cli_read_method(&s, at, length)) {
            return false;
        }
        choice *c = &choices[(*count)++];
        c->method = s.method;
        snprintf(c->name, sizeof c->name, "%.*s", (int)length, at);
    }
    return true;
}

void choices_note_unheeded(const choice *choices, int count, const method *under,
                           const char *options)
{
    const method *m[METHODS_MAX + 1];
    for (int i = 0; i < count; i++) {
        m[i] = choices[i].method;
    }
    m[count] = under;
    cli_note_unheeded(options, m, count + (under != NULL));
}

// The methods of a comparison are its columns; one in the options would go unheeded.
static bool choose_methods(request *r, const char *names, const char *default_methods)
{
    settings s;
    names = names ? names : default_methods;
    if (!cli_read_settings(&s, r->options, names) ||
        !choices_add(r->method, &r->methods, names ? names : s.method->name)) {
        return false;
    }
    choices_note_unheeded(r->method, r->methods, NULL, r->options);
    return true;
}

static bool choose_models(request *r, int argc, char **argv, bool all)
{
    int known = 0;
    if (all && argc > 0) {
        cli_fail(0, "--all takes no models besides, such as \"%s\"", argv[0]);
        return false;
    }
    while (sprag_models[known].name) {
        known++;
    }
    r->model = calloc((size_t)known + (size_t)argc, sizeof *r->model);
    if (!r->model) {
        cli_fail(0, "no memory");
        return false;
    }
    for (int i = 0; all && i < known; i++) {
        r->model[r->models++] = &sprag_models[i];
    }
    for (int i = 0; i < argc; i++) {
        if (!add_model(r, argv[i])) {
            return false;
        }
    }
    if (!r->models) {
        char names[NAMES_MAX];
        list_models(names);
        cli_fail(0, "name one or more models of %s", names);
    }
    return r->models > 0;
}

int request_read(request *r, int argc, char **argv, const char *help, const char *default_methods)
{
    static const char refusal[] = "is an option for programs: sprag compare ... -- PROGRAM";
    const char *names = NULL, *record = NULL;
    bool all = false, markdown = false, whole = false; // models are compared whole in any case
    *r = (request){.options = ""};
    const argument table[] = {{"method", 'm', ARGUMENT_TEXT, .to = &names},
                              {"options", 'o', ARGUMENT_TEXT, .to = &r->options},
                              {"step", 0, ARGUMENT_NUMBER, .to = &r->step, shortest, longest},
                              {"seconds", 0, ARGUMENT_NUMBER, .to = &r->seconds, shortest, longest},
                              {"json", 0, ARGUMENT_FLAG, .to = &r->json},
                              {"all", 0, ARGUMENT_FLAG, .to = &all},
                              {"record", 0, ARGUMENT_FILE, .to = &record},
                              {"report", 0, ARGUMENT_FILE, .to = &r->report},
                              {"markdown", 0, ARGUMENT_FLAG, .to = &markdown},
                              {"whole", 0, ARGUMENT_FLAG, .to = &whole},
                              {"every", 0, ARGUMENT_REFUSED, .why = refusal},
                              {"under", 0, ARGUMENT_REFUSED, .why = refusal},
                              {"steps", 0, ARGUMENT_REFUSED, .why = refusal},
                              {"patience", 0, ARGUMENT_REFUSED, .why = refusal},
                              {0}};
    int code = arguments_read(table, argc, argv, help, false);
    if (code >= 0) {
        return code;
    }
    table_choose_style(markdown);
    bool fine = choose_models(r, argc - optind, argv + optind, all) &&
                choose_methods(r, names, default_methods) &&
                (!record || cli_set_file("SPRAG_RECORD", record, false));
    return fine ? -1 : EXIT_USAGE;
}

void request_free(request *r)
{
    free(r->model);
    *r = (request){0};
}
