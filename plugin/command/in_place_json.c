// The JSON of a comparison in place; plugin/MEASURE.md describes it.
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "in_place_print.h"
#include "json.h"
#include "say.h"
#include "sprag.h"

static json_t *of_kinds(void)
{
    json_t *all = json_array();
    for (int i = 0; i < SAMPLE_VALUES; i++) {
        const sample_kind *kind = &sample_kinds[i];
        all = json_appended(all, json_pack("{s:s, s:s, s:s, s:o}", "name", kind->name, "label",
                                           kind->label, "unit", kind->unit, "right",
                                           json_number(kind->right)));
    }
    return all;
}

// One array per member of a state.
static json_t *of_states(const comparison *c)
{
    static const char *const name[] = {"process", "world",    "step",      "time",
                                       "bodies",  "contacts", "joint_rows"};
    enum { MEMBERS = sizeof name / sizeof *name };
    json_t *all = json_object();
    for (int k = 0; k < MEMBERS; k++) {
        json_t *array = json_array();
        for (long i = 0; i < c->states; i++) {
            const sample_state *s = &c->state[i];
            const double value[MEMBERS] = {
                (double)s->process, s->world,    (double)s->step, s->time,
                s->bodies,          s->contacts, s->joint_rows};
            array = json_appended(array, k == 3 ? json_real(value[k])
                                                : json_integer((json_int_t)value[k]));
        }
        json_object_set_new(all, name[k], array);
    }
    return all;
}

static json_t *of_values(const comparison *c, int method)
{
    json_t *all = json_object();
    for (int v = 0; v < SAMPLE_VALUES; v++) {
        json_t *array = json_array();
        for (long i = 0; i < c->states; i++) {
            array = json_appended(array, json_number(comparison_sample(c, i, method)->value[v]));
        }
        json_object_set_new(all, sample_kinds[v].name, array);
    }
    return all;
}

static json_t *of_figures(const comparison *c, int method)
{
    json_t *all = json_object();
    for (int i = 0; i < SAMPLE_VALUES; i++) {
        const sample_value v = (sample_value)i;
        json_object_set_new(
            all, sample_kinds[v].name,
            json_pack("{s:o, s:o, s:o, s:o}", "value", json_number(comparison_figure(c, method, v)),
                      "median", json_number(comparison_quantile(c, method, v, 0.5)), "p99",
                      json_number(comparison_quantile(c, method, v, 0.99)), "verdict",
                      json_text_or_null(comparison_verdict(c, method, v))));
    }
    return all;
}

static json_t *of_method(const comparison *c, int method)
{
    json_t *strategies = json_array(), *outcomes = json_array();
    for (long i = 0; i < c->states; i++) {
        const sample *s = comparison_sample(c, i, method);
        strategies = json_appended(strategies, json_string(sprag_strategy_name(s->strategy)));
        outcomes = json_appended(outcomes, json_string(sample_outcome_name(s->outcome)));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "method", c->method[method].name, "outcome",
                     outcomes, "strategy", strategies, "figures", of_figures(c, method), "values",
                     of_values(c, method));
}

json_t *in_place_json(const comparison *c)
{
    json_t *command = json_array(), *methods_compared = json_array();
    for (char **word = c->command; *word; word++) {
        command = json_appended(command, json_string(*word));
    }
    for (int k = 0; k < c->methods; k++) {
        methods_compared = json_appended(methods_compared, of_method(c, k));
    }
    return json_pack("{s:i, s:s, s:s, s:o, s:s, s:s, s:i, s:i, s:f, s:o, s:o, s:o}", "schema",
                     JSON_SCHEMA, "kind", c->whole ? "whole" : "in place", "sprag", sprag_version(),
                     "command", command, "options", c->options, "under", c->under, "every",
                     c->every, "exit_code", c->exit_code, "seconds", c->seconds, "measures",
                     of_kinds(), "states", of_states(c), "methods", methods_compared);
}

bool in_place_write_json(const comparison *c, const char *file)
{
    json_t *root = in_place_json(c);
    if (!root) {
        cli_fail(0, "no memory for JSON");
        return false;
    }
    bool written = json_dump_file(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
    if (!written) {
        cli_fail(0, "cannot write to %s: %s", file, strerror(errno));
    }
    json_decref(root);
    return written;
}
