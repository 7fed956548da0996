// Reads and checks the arguments of run and compare before anything runs.
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "recording_header.h"
#include "request.h"
#include "say.h"
#include "table.h"
#include "text.h"

static const double shortest = 1e-7, longest = 1e6; // s, of a time that makes sense

// The model that is meant by a misspelt name of so many letters; or NULL.
static const sprag_model *nearest_model(const char *name, size_t length)
{
    const sprag_model *nearest = NULL;
    int least = text_edits_most(length);
    for (const sprag_model *m = sprag_models; m->name; m++) {
        int far = text_edits(name, length, m->name);
        if (far <= least && (!nearest || far < least)) {
            nearest = m;
            least = far;
        }
    }
    return nearest;
}

static void refuse_model(const char *name)
{
    const size_t length = strcspn(name, ":");
    const sprag_model *meant = nearest_model(name, length);
    if (!meant) {
        cli_fail(0,
                 "no model is called \"%s\"; `sprag list` names the models; for a program: sprag "
                 "exec PROGRAM, or sprag compare -- PROGRAM",
                 name);
    } else if (strlen(meant->name) != length || memcmp(meant->name, name, length) != 0) {
        cli_fail(0, "no model is called \"%s\"; did you mean %s?", name, meant->name);
    } else if (meant->size) {
        cli_fail(0,
                 "\"%s\": the size of %s is a whole number from 1 to %d, as in %s:%d; a seed may "
                 "follow, as in %s:%d:2",
                 name, meant->name, sprag_model_size_max(meant), meant->name, meant->size,
                 meant->name, meant->size);
    } else {
        cli_fail(0, "\"%s\": %s takes no size", name, meant->name);
    }
}

const sprag_model *request_find_model(const char *name)
{
    const sprag_model *model = sprag_model_find(name);
    if (!model) {
        refuse_model(name);
    }
    return model;
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
        const sprag_model *model = request_find_model(argv[i]);
        if (!model) {
            return false;
        }
        r->model[r->models++] = model;
    }
    if (!r->models) {
        cli_fail(0, "the name of a model is missing; `sprag list` names the models");
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
    if (!choose_models(r, argc - optind, argv + optind, all) ||
        !choose_methods(r, names, default_methods)) {
        return EXIT_USAGE;
    }
    return !record || cli_set_output("SPRAG_RECORD", record, RECORDING_START) ? -1 : EXIT_FAILURE;
}

void request_free(request *r)
{
    free(r->model);
    *r = (request){0};
}
