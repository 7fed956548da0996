// Numbers that are not finite become null. If an allocation fails, json_pack passes NULL on, so
// the whole result is NULL.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "json.h"
#include "judge.h"
#include "say.h"

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

json_t *json_appended(json_t *array, json_t *item)
{
    if (json_array_append_new(array, item) != 0) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *of_measure(const trial *reference, const trial *t, int i)
{
    const sprag_measure *m = &t->measure[i];
    json_t *good =
        isnan(m->good) || isnan(m->value) ? json_null() : json_boolean(measure_is_good(m));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", m->name, "unit", m->unit,
                     "value", json_number(m->value), "exact", json_number(m->exact), "error",
                     json_number(measure_error(m)), "good_up_to", json_number(m->good), "good",
                     good, "verdict",
                     json_text_or_null(verdict_name(trial_judge(reference, t, i))));
}

static json_t *of_trial(const trial *reference, const trial *t, bool judged)
{
    json_t *measures = json_array();
    double steps = (double)(t->scene.steps_done > 0 ? t->scene.steps_done : 1);
    for (int i = 0; i < t->measures; i++) {
        measures = json_appended(measures, of_measure(reference, t, i));
    }
    if (!judged) {
        size_t i;
        json_t *measure;
        json_array_foreach(measures, i, measure)
        {
            json_object_del(measure, "verdict");
        }
    }
    return json_pack("{s:s, s:o, s:I, s:b, s:b, s:o, s:o, s:o, s:I, s:o, s:s, s:I, s:I}", "method",
                     t->choice->name, "measures", measures, "steps",
                     (json_int_t)t->scene.steps_done, "finite", !t->scene.nonfinite, "completed",
                     trial_finished(t), "failure", json_text_or_null(t->failure), "us_per_step",
                     json_number(t->median_us), "us_per_step_p99", json_number(t->p99_us),
                     "lcp_errors", (json_int_t)t->lcp_errors, "iterations_per_step",
                     t->method->ours ? json_number((double)t->iterations / steps) : json_null(),
                     "worst_strategy", sprag_strategy_name(t->strategy), "fallbacks",
                     (json_int_t)t->fallbacks, "frozen", (json_int_t)t->frozen);
}

json_t *json_of_trials(const job *j, const trial *trials, int count, bool judged)
{
    json_t *methods_done = json_array();
    for (int i = 0; i < count; i++) {
        methods_done = json_appended(methods_done, of_trial(trials, &trials[i], judged));
    }
    return json_pack("{s:s, s:s, s:f, s:I, s:o, s:o}", "model", j->model->name, "summary",
                     j->model->summary, "step", j->step, "steps", (json_int_t)j->steps, "reference",
                     json_text_or_null(judged ? trials->choice->name : ""), "methods",
                     methods_done);
}

json_t *json_root(json_t *models, const char *options)
{
    return json_pack("{s:i, s:s, s:s, s:o}", "schema", JSON_SCHEMA, "sprag", sprag_version(),
                     "options", options, "models", models);
}

int json_print(const json_t *root)
{
    int failed = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    return failed ? cli_fail(EXIT_FAILURE, "cannot write JSON") : EXIT_SUCCESS;
}
