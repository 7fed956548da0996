// Holds the support table (support.h) against what the methods do, and plugin/COMPATIBILITY.md
// against the table. `test_support --table` prints it.
#define _GNU_SOURCE 1 // memfd_create
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sprag.h"
#include "start.h"
#include "suite.h"
#include "support.h"

static const char *const methods[SUPPORT_METHODS] = {"stribeck", "ess", "advance"};

static const struct {
    const char *name; // of a table; NULL: more rows of the table before
    const support_row *rows;
} groups[] = {{"Joints", support_joints},
              {"Motors and stops of hinge, slider, universal, hinge2, PR, PU, piston, AMotor "
               "(user, Euler), LMotor, plane2D",
               support_joint_axes},
              {"Joints in use", support_joint_uses},
              {NULL, support_joint_changes},
              {"Joint parameters", support_joint_parameters},
              {"Contact surface", support_surfaces},
              {NULL, support_surface_uses},
              {"Contacts in use", support_contacts},
              {NULL, support_contact_uses},
              {"Bodies", support_bodies},
              {NULL, support_body_callbacks},
              {"Worlds", support_worlds},
              {"Geoms", support_geoms},
              {NULL, support_program_geoms},
              {"Spaces, rays, and shapes in use", support_shapes}};

enum { GROUPS = sizeof groups / sizeof groups[0] };

static const double SAME = 1e-9;  // relative
static const double LOOSEST = 10; // how many times what is off may be claimed

// ---- for rows

dWorldID support_world(const support_run *run, const char *options)
{
    char text[256];
    dWorldID world = dWorldCreate();
    const char *tolerance = strcmp(run->method, "ess") == 0 ? ",ess.tolerance=1e-10" : "";
    snprintf(text, sizeof text, "method=%s%s%s%s", run->method, tolerance, options ? "," : "",
             options ? options : "");
    if (!sprag_world_configure(world, text)) { // Check's assertions are not for threads
        fprintf(stderr, "%s\n", sprag_error());
        abort();
    }
    return world;
}

dBodyID support_body(dWorldID world, double x, double y, double z)
{
    dMass mass;
    dBodyID body = dBodyCreate(world);
    dMassSetBoxTotal(&mass, 2, 0.2, 0.3, 0.4);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, x, y, z);
    return body;
}

static void nothing_near(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
}

static dSpaceID solids;

dBodyID support_solid(dWorldID world, double x, double y, double z)
{
    dBodyID body = support_body(world, x, y, z);
    dGeomSetBody(dCreateSphere(solids, 0.01), body);
    return body;
}

void support_look(void)
{
    dSpaceCollide(solids, NULL, nothing_near);
}

void support_step(dWorldID world, dReal step)
{
    support_look();
    dWorldStep(world, step);
}

void support_report(support_run *run, double value)
{
    ck_assert_int_lt(run->values, SUPPORT_VALUES);
    ck_assert_msg(isfinite(value), "%s: a value is not finite", run->method);
    run->value[run->values++] = value;
}

void support_report_vector(support_run *run, const dReal *value)
{
    for (int i = 0; i < 3; i++) {
        support_report(run, value[i]);
    }
}

void support_report_body(support_run *run, dBodyID body)
{
    support_report_vector(run, dBodyGetLinearVel(body));
    support_report_vector(run, dBodyGetAngularVel(body));
    support_report_vector(run, dBodyGetPosition(body));
    for (int i = 0; i < 4; i++) {
        support_report(run, dBodyGetQuaternion(body)[i]);
    }
}

void support_report_error(support_run *run, double error)
{
    ck_assert_int_lt(run->errors, SUPPORT_VALUES);
    ck_assert_msg(error >= 0, "%s: an error is no number", run->method);
    run->error[run->errors++] = error;
}

// ---- runs and cells

// With stderr taken down.
static void run_row(const support_row *row, const char *method, support_run *run)
{
    *run = (support_run){.method = method};
    int saved = dup(STDERR_FILENO), file = memfd_create("stderr", 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    row->run(run);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    ssize_t length = pread(file, run->messages, sizeof run->messages - 1, 0);
    run->messages[length > 0 ? length : 0] = '\0';
    close(saved);
    close(file);
}

// Largest difference, relative to the largest value.
static double difference(const support_run *a, const support_run *b)
{
    double size = 1, most = 0;
    ck_assert_int_eq(a->values, b->values);
    for (int i = 0; i < a->values; i++) {
        size = fmax(size, fabs(b->value[i]));
        most = fmax(most, fabs(a->value[i] - b->value[i]));
    }
    return most / size;
}

// Has neither sprag nor ODE printed a message?
static bool is_silent(const char *messages)
{
    return !strstr(messages, "sprag: ") && !strstr(messages, "ODE Message");
}

static void cell_holds(const support_row *row, int method, const support_run *stock)
{
    const support_cell *cell = &row->cell[method];
    const bool nearer = cell->kind == SUPPORT_NEARER, near = cell->kind == SUPPORT_NEAR || nearer;
    support_run *runs = calloc(2, sizeof *runs), *ours = runs, *reference = runs + 1;
    ck_assert_ptr_nonnull(runs);
    solids = dSimpleSpaceCreate(0);
    run_row(row, methods[method], ours);
    *reference = *stock;
    if (cell->kind == SUPPORT_AS_STRIBECK) {
        run_row(row, "stribeck", reference);
    } else if (cell->kind != SUPPORT_AS_STOCK && row->expected) {
        *reference = (support_run){.method = "the right answer"};
        row->expected(reference);
    }
    ck_assert_msg((cell->kind != SUPPORT_EXACT && !nearer) || row->expected,
                  "%s: nothing to be exact about", row->feature);
    if (cell->kind != SUPPORT_REFUSED) {
        double within = near ? cell->within : SAME, far = difference(ours, reference);
        ck_assert_msg(far <= within, "%s, %s: %g off, %g is claimed", row->feature, ours->method,
                      far, within);
        ck_assert_msg(!near || (cell->how && far > SAME),
                      "%s, %s: %g off, that is not approximated", row->feature, ours->method, far);
        ck_assert_msg(!near || LOOSEST * far >= within,
                      "%s, %s: %g off, %g is claimed, which would hide errors", row->feature,
                      ours->method, far, within);
        ck_assert_msg(!nearer || far < difference(stock, reference), "%s, %s: %g off, stock %g",
                      row->feature, ours->method, far, difference(stock, reference));
    }
    // m; bodies of loops turn otherwise than in stock by as much as their joints are open
    const double more = near ? 0.03 : 1e-6;
    ck_assert_int_eq(ours->errors, stock->errors);
    for (int i = 0; i < ours->errors; i++) {
        ck_assert_msg(ours->error[i] <= stock->error[i] * (1 + more) + 1e-12,
                      "%s, %s: an error of %g, stock %g", row->feature, ours->method,
                      ours->error[i], stock->error[i]);
    }
    bool speaks =
        cell->says ? strstr(ours->messages, cell->says) != NULL : is_silent(ours->messages);
    ck_assert_msg(speaks, "%s, %s: says '%s', expected '%s'", row->feature, ours->method,
                  ours->messages, cell->says ? cell->says : "");
    dSpaceDestroy(solids);
    free(runs);
}

// ---- the table

static void print_cell(FILE *out, const support_cell *cell)
{
    static const char *const word[] = {"as stock",
                                       "exact",
                                       "",
                                       ", nearer than stock",
                                       "as `stribeck`, with a message",
                                       "refused, with a message"};
    if (cell->kind == SUPPORT_NEAR || cell->kind == SUPPORT_NEARER) {
        fprintf(out, " to %g%s: %s |", cell->within, word[cell->kind], cell->how);
    } else {
        fprintf(out, " %s%s%s |", word[cell->kind], cell->how ? ": " : "",
                cell->how ? cell->how : "");
    }
}

static void print_table(FILE *out)
{
    for (int g = 0; g < GROUPS; g++) {
        if (groups[g].name) {
            fprintf(out, "%s| %s | `stribeck` | `ess` | `advance` |\n|---|---|---|---|\n",
                    g ? "\n" : "", groups[g].name);
        }
        for (const support_row *row = groups[g].rows; row->feature; row++) {
            fprintf(out, "| %s |", row->feature);
            for (int m = 0; m < SUPPORT_METHODS; m++) {
                print_cell(out, &row->cell[m]);
            }
            fputc('\n', out);
        }
    }
}

START_TEST(page_has_the_table)
{
    char *table, *page = calloc(1, 1 << 20);
    size_t length;
    FILE *out = open_memstream(&table, &length), *in = fopen("../plugin/COMPATIBILITY.md", "r");
    ck_assert(out && in && page);
    print_table(out);
    fclose(out);
    ck_assert(fread(page, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    ck_assert_msg(strstr(page, table) != NULL, "the support table of plugin/COMPATIBILITY.md is "
                                               "not what build/test_support --table prints");
    free(table);
    free(page);
}
END_TEST

// ---- one test per row

static int rows_before(int group)
{
    int count = 0;
    for (int g = 0; g < group; g++) {
        for (const support_row *row = groups[g].rows; row->feature; row++) {
            count++;
        }
    }
    return count;
}

START_TEST(methods_keep_row)
{
    static support_run stock;
    int g = GROUPS - 1;
    while (rows_before(g) > _i) {
        g--;
    }
    const support_row *row = &groups[g].rows[_i - rows_before(g)];
    start_ode();
    solids = dSimpleSpaceCreate(0);
    run_row(row, "ode", &stock);
    dSpaceDestroy(solids);
    for (int method = 0; method < SUPPORT_METHODS; method++) {
        cell_holds(row, method, &stock);
    }
    dCloseODE();
}
END_TEST

int main(int count, char **argument)
{
    if (count > 1 && strcmp(argument[1], "--table") == 0) {
        print_table(stdout);
        return EXIT_SUCCESS;
    }
    Suite *suite = suite_create("support");
    ADD_TESTS(suite, "rows", {methods_keep_row, rows_before(GROUPS)});
    ADD_TESTS(suite, "page", {page_has_the_table, 1});
    return run_suite_as(suite, CK_FORK); // sprag prints the same text once a process
}
