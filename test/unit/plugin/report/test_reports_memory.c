// Allocations of reports that fail, each once and from there on: a recording is refused in words,
// and nothing else happens. The linker gives this program's objects alone another malloc; jansson
// keeps its own.
#define _GNU_SOURCE 1
#include <stdlib.h>

#include "../failing_memory.h"
#include "export.h"
#include "film.h"
#include "film_scene.h"
#include "page.h"

// Is the recording whole? If not, what is told about its end is the message.
static bool tell(const char *end, char message[REPORT_MESSAGE])
{
    snprintf(message, REPORT_MESSAGE, "%s", end ? end : "");
    return !end;
}

static bool make_film(const char *directory, char message[REPORT_MESSAGE])
{
    film f;
    (void)directory;
    bool done = film_load(&f, filmed.recording, 5, message) && tell(f.end, message);
    film_free(&f);
    return done;
}

static bool make_gltf(const char *directory, char message[REPORT_MESSAGE])
{
    char file[64];
    const char *end = NULL;
    snprintf(file, sizeof file, "%s/run.glb", directory);
    bool done = export_gltf(filmed.recording, file, &end, message);
    return done && tell(end, message);
}

static bool make_tables(const char *directory, char message[REPORT_MESSAGE])
{
    const char *end = NULL;
    bool done = export_csv(filmed.recording, directory, &end, message);
    return done && tell(end, message);
}

static bool make_page(const char *directory, char message[REPORT_MESSAGE])
{
    char file[64];
    const char *const recordings[] = {filmed.recording, filmed.recording};
    const page p = {.recording = recordings, .recordings = 2};
    snprintf(file, sizeof file, "%s/page.html", directory);
    if (!page_write(&p, file, message)) {
        return false;
    }
    counting = false;
    char *text = NULL;
    size_t room = 0;
    FILE *from = fopen(file, "r");
    ck_assert(from && getdelim(&text, &room, '\0', from) > 0);
    const bool early = strstr(text, "\"truncated\":true");
    fclose(from);
    free(text);
    return tell(early ? "ends early" : NULL, message);
}

static bool (*const makes[])(const char *, char *) = {make_film, make_gltf, make_tables, make_page};

START_TEST(reports_without_memory_are_refused)
{
    char message[REPORT_MESSAGE];
    bool done = false;
    from_there_on = _i % 2;
    for (failing = 1; !done; failing++) {
        strcpy(message, "");
        allocation = 0;
        counting = true;
        done = makes[_i / 2](filmed.directory, message);
        counting = false;
        ck_assert_msg(done == (allocation < failing), "allocation %ld of %ld", failing, allocation);
        ck_assert(done || strlen(message) > 0);
    }
    ck_assert_int_gt(failing, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reports_memory");
    ADD_TESTS_WITH(suite, "all", film_setup, film_teardown,
                   {reports_without_memory_are_refused, 2 * COUNT(makes)});
    return run_suite_as(suite, CK_FORK);
}
