// All ways to load sprag into a program: preloaded, linked, loaded by a module, in an archive; and
// cases in which sprag must do nothing. host.c is the program, run as a child; the statistics it
// leaves behind tell whose step ran, the hash that it prints tells whether ODE's own did.
#define _GNU_SOURCE 1
#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell.h"

enum { STEPS = 20 };

#define PRELOAD "LD_PRELOAD=" PROGRAM_SPRAG_LIBRARY " "
#define STATS "SPRAG_STATS=stats "
#define ODE_METHOD "SPRAG_OPTIONS=method=ode "
#define OURS "SPRAG_OPTIONS=method=stribeck "

// Contents of a statistics file.
typedef struct rows {
    int count;
    int worlds;           // how often the time began anew
    int solved, unsolved; // rows by a direct strategy, by another one
} rows;

static bool exists(const char *name)
{
    return access(name, F_OK) == 0;
}

static int files_here(void)
{
    DIR *d = opendir(".");
    int n = -2; // . and ..
    while (readdir(d)) {
        n++;
    }
    closedir(d);
    return n;
}

static int count_of(const char *text, char c)
{
    int n = 0;
    for (; *text; text++) {
        n += *text == c;
    }
    return n;
}

static int lines(const char *text)
{
    return count_of(text, '\n');
}

// The cell in a column, counted from 0; "" if there is none. Cuts the row into pieces.
static const char *cell_of(char *row, int column)
{
    char *cell = strsep(&row, ",\n");
    while (column-- > 0 && cell) {
        cell = strsep(&row, ",\n");
    }
    return cell ? cell : "";
}

static int column_of(const char *names, const char *name)
{
    char row[OUTPUT_MAX];
    for (int column = 0; column <= count_of(names, ','); column++) {
        strcpy(row, names);
        if (strcmp(cell_of(row, column), name) == 0) {
            return column;
        }
    }
    ck_abort_msg("no column %s in %s", name, names);
}

// The file must be a whole table: as many cells in each row as there are names.
static rows read_stats(void)
{
    static const char *const ours[] = {"newton",          "warm_newton",  "continuation",
                                       "frozen_friction", "gauss_seidel", "kept"};
    rows r = {0};
    char names[OUTPUT_MAX], row[OUTPUT_MAX], copy[OUTPUT_MAX];
    double before = INFINITY;
    FILE *file = fopen("stats", "r");
    ck_assert_msg(file != NULL, "no statistics: our step did not run");
    ck_assert_ptr_nonnull(fgets(names, sizeof names, file));
    int strategy = column_of(names, "strategy"), time = column_of(names, "time");
    while (fgets(row, sizeof row, file)) {
        ck_assert_int_eq(count_of(row, ','), count_of(names, ','));
        strcpy(copy, row);
        double now = atof(cell_of(copy, time));
        r.worlds += now <= before;
        before = now;
        bool solved = false;
        strcpy(copy, row);
        const char *by = cell_of(copy, strategy);
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
            solved |= strcmp(by, ours[i]) == 0;
        }
        r.solved += solved;
        r.unsolved += !solved && strcmp(by, "none") != 0;
        r.count++;
    }
    fclose(file);
    return r;
}

// Each step of the host left a row, solved by us: never handed back to ODE.
static void assert_ours(int steps)
{
    rows r = read_stats();
    ck_assert_int_eq(r.count, steps);
    ck_assert_int_eq(r.unsolved, 0);
    ck_assert_msg(r.solved > 0, "nothing to solve");
}

static const char *const steppers[] = {"step", "quick"};

// ---- preloaded

START_TEST(steps_by_our_method)
{
    run stock = sh(PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run ours = sh(PRELOAD STATS PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    ck_assert_fine(ours);
    ck_assert_str_ne(ours.out, stock.out);
    assert_ours(STEPS);
}
END_TEST

START_TEST(gives_the_same_bits_twice)
{
    run first = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run second = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    ck_assert_str_eq(first.out, second.out);
}
END_TEST

// method=ode is as if sprag were not there: states, random numbers, callbacks, feedback.
START_TEST(is_stock_under_method_ode)
{
    static const char *const modes[] = {"",      "chain", "random", "callbacks",
                                        "dlsym", "again", "late"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        run stock = sh(PROGRAM_HOST " %s %d %s", steppers[_i], STEPS, modes[i]);
        run ours = sh(PRELOAD ODE_METHOD PROGRAM_HOST " %s %d %s", steppers[_i], STEPS, modes[i]);
        ck_assert_fine(ours);
        ck_assert_str_eq(ours.out, stock.out);
        ck_assert_int_eq(files_here(), 0);
    }
}
END_TEST

static const char *seed_in(const char *out)
{
    const char *seed = strstr(out, "seed");
    ck_assert_ptr_nonnull(seed);
    return seed;
}

// Stock dWorldQuickStep draws random numbers, as many as there are equations; the programs that
// draw from the same sequence must not notice us. With contacts after one step, when both still
// have the same ones.
START_TEST(leaves_random_numbers_as_stock_does)
{
    static const char *const runs[] = {"100 chain", "1 random"};
    for (int i = 0; i < 2; i++) {
        run stock = sh(PROGRAM_HOST " %s %s", steppers[_i], runs[i]);
        run ours = sh(PRELOAD OURS STATS PROGRAM_HOST " %s %s", steppers[_i], runs[i]);
        ck_assert_str_eq(seed_in(ours.out), seed_in(stock.out));
        assert_ours(atoi(runs[i]));
    }
}
END_TEST

START_TEST(calls_back_and_gives_feedback)
{
    run stock = sh(PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    run ours = sh(PRELOAD STATS PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    ck_assert_fine(ours);
    ck_assert_str_eq(strstr(ours.out, "moved"), strstr(stock.out, "moved"));
    assert_ours(STEPS);
}
END_TEST

START_TEST(catches_a_stepper_from_dlsym)
{
    run plain = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run r = sh(PRELOAD STATS PROGRAM_HOST " %s %d dlsym", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert_str_eq(r.out, plain.out);
    assert_ours(STEPS);
}
END_TEST

START_TEST(steps_two_worlds_at_once)
{
    run one = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run two = sh(PRELOAD STATS PROGRAM_HOST " %s %d threads", steppers[_i], STEPS);
    ck_assert_fine(two);
    ck_assert_int_eq(lines(two.out), 2);
    ck_assert(starts_with(two.out, one.out));
    ck_assert_str_eq(two.out + strlen(one.out), one.out);
    assert_ours(2 * STEPS);
}
END_TEST

// Programs may give their world threads. The step of sprag does not need them.
START_TEST(steps_a_world_with_a_pool)
{
    run one = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run pool = sh(PRELOAD STATS PROGRAM_HOST " %s %d pool", steppers[_i], STEPS);
    ck_assert_fine(pool);
    ck_assert_str_eq(pool.out, one.out);
    assert_ours(STEPS);
    // Stock itself is not reproducible with a pool, and sometimes complains.
    run off = sh(PRELOAD ODE_METHOD PROGRAM_HOST " %s %d pool", steppers[_i], STEPS);
    ck_assert_int_eq(off.status, 0);
}
END_TEST

// No state of a destroyed world remains, even if the next world has its address.
START_TEST(forgets_a_destroyed_world)
{
    run one = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run three = sh(PRELOAD STATS PROGRAM_HOST " %s %d again", steppers[_i], STEPS);
    ck_assert_fine(three);
    ck_assert_int_eq(lines(three.out), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert(starts_with(three.out + (size_t)i * strlen(one.out), one.out));
    }
    assert_ours(3 * STEPS);
    ck_assert_int_eq(read_stats().worlds, 3);
}
END_TEST

START_TEST(outlives_main)
{
    run r = sh(PRELOAD STATS PROGRAM_HOST " %s %d late", steppers[_i], STEPS);
    ck_assert_fine(r);
    assert_ours(STEPS);
}
END_TEST

// ---- programs that step no world

START_TEST(says_nothing)
{
    run r = sh(PRELOAD OURS PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert(starts_with(r.out, "hash "));
    ck_assert_int_eq(lines(r.out), 1);
    ck_assert_int_eq(files_here(), 0);
}
END_TEST

// A preloaded library reaches every child process; those that step no world must behave as without,
// even if the options are invalid.
START_TEST(leaves_other_programs_alone)
{
    run stock = sh(PROGRAM_HOST " step 0 idle");
    run ours = sh(PRELOAD STATS "SPRAG_OPTIONS=nonsense " PROGRAM_HOST " step 0 idle");
    ck_assert_fine(ours);
    ck_assert(starts_with(ours.out, "threads 1\n"));
    ck_assert_str_eq(ours.out, stock.out);
    ck_assert_int_eq(files_here(), 0);

#ifndef SPRAG_SANITIZE // or the child lacks what the sanitizer needs
    run child = sh(PRELOAD STATS PROGRAM_HOST " step %d fork", STEPS);
    ck_assert_fine(child);
    ck_assert(starts_with(child.out, "child 0\n"));
    assert_ours(STEPS);
#endif
}
END_TEST

// Files that the dynamic linker does not open anyway: none. Needs strace.
START_TEST(opens_no_file_when_loaded)
{
#ifndef SPRAG_SANITIZE
    static const char trace[] =
        "strace -f -o trace -e trace=open,openat,creat,clone,clone3,connect ";
    static const char others[] = "grep -v -e '[.]so' -e ENOENT -e exited trace | cut -d ' ' -f 2-";
    if (sh("%s /bin/true", trace).status != 0) {
        return;
    }
    run stock = sh("%s env " PROGRAM_HOST " step 0 idle && %s", trace, others);
    run ours = sh("%s env " PRELOAD STATS PROGRAM_HOST " step 0 idle && %s", trace, others);
    ck_assert_int_gt(lines(stock.out), 2);
    ck_assert_str_eq(ours.out, stock.out);
#endif
}
END_TEST

// ---- other ways in

START_TEST(works_when_linked_before_ode)
{
    run preloaded = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run linked = sh(STATS PROGRAM_HOST_LINKED " %s %d", steppers[_i], STEPS);
    ck_assert_fine(linked);
    ck_assert_str_eq(linked.out, preloaded.out);
    assert_ours(STEPS);
    run off = sh(ODE_METHOD PROGRAM_HOST_LINKED " %s %d random", steppers[_i], STEPS);
    run stock = sh(PROGRAM_HOST " %s %d random", steppers[_i], STEPS);
    ck_assert_str_eq(off.out, stock.out);
}
END_TEST

START_TEST(works_on_a_module_with_local_names)
{
    static const char program[] = PROGRAM_LOAD_MODULE " " PROGRAM_HOST_MODULE;
    run preloaded = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run module = sh(PRELOAD STATS "%s %s %d", program, steppers[_i], STEPS);
    ck_assert_fine(module);
    ck_assert_str_eq(module.out, preloaded.out);
    assert_ours(STEPS);
    run off = sh(PRELOAD ODE_METHOD "%s %s %d", program, steppers[_i], STEPS);
    run stock = sh("%s %s %d", program, steppers[_i], STEPS);
    ck_assert_fine(off);
    ck_assert_str_eq(off.out, stock.out);
}
END_TEST

// Debian's python3-pyode, where it is installed.
START_TEST(works_in_python)
{
#ifndef SPRAG_SANITIZE
    static const char python[] = "/usr/bin/python3";
    if (sh("%s -c 'import ode'", python).status != 0) {
        return;
    }
    run r = sh("cat >ball.py <<'end'\n"
               "import ode\n"
               "world = ode.World()\n"
               "world.setGravity((0, 0, -9.81))\n"
               "body = ode.Body(world)\n"
               "joint = ode.BallJoint(world)\n"
               "joint.attach(body, ode.environment)\n"
               "joint.setAnchor((1, 0, 0))\n"
               "for i in range(10):\n"
               "    world.step(0.01)\n"
               "    world.quickStep(0.01)\n"
               "print('z %%.2f' %% body.getPosition()[2])\n"
               "end\n" PRELOAD STATS "%s ball.py",
               python);
    ck_assert_fine(r);
    ck_assert(starts_with(r.out, "z -0."));
    assert_ours(20);
#endif
}
END_TEST

START_TEST(works_as_an_archive)
{
#ifdef PROGRAM_HOST_ARCHIVE
    run archive = sh(STATS PROGRAM_HOST_ARCHIVE " %s %d", steppers[_i], STEPS);
    ck_assert_fine(archive);
    assert_ours(STEPS);
    run off = sh(ODE_METHOD PROGRAM_HOST_ARCHIVE " %s %d callbacks", steppers[_i], STEPS);
    run stock = sh(PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    ck_assert_fine(off);
    ck_assert_str_eq(off.out, stock.out);
    run again = sh(PROGRAM_HOST_ARCHIVE " %s %d again", steppers[_i], STEPS);
    ck_assert_fine(again);
    ck_assert(starts_with(again.out + 2 * strlen(archive.out), archive.out));
#endif
}
END_TEST

START_TEST(exec_is_preload)
{
#ifdef PROGRAM_SPRAG_COMMAND
    run preloaded = sh(PRELOAD PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    run r = sh(STATS PROGRAM_SPRAG_COMMAND " exec " PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert_str_eq(r.out, preloaded.out);
    assert_ours(STEPS);
#endif
}
END_TEST

START_TEST(exec_warns_about_a_static_program)
{
#if defined PROGRAM_SPRAG_COMMAND && defined PROGRAM_STATIC_PROGRAM
    ck_assert_fine(sh(PROGRAM_STATIC_PROGRAM));
    run r = sh(PROGRAM_SPRAG_COMMAND " exec " PROGRAM_STATIC_PROGRAM);
    ck_assert_msg(strstr(r.err, "static") != NULL, "%s", r.err);
    ck_assert_int_eq(lines(r.err), 1);
#endif
}
END_TEST

// QuickStep with as many iterations as are asked for; 20 are ODE's own.
START_TEST(command_takes_iterations)
{
#ifdef PROGRAM_SPRAG_COMMAND
#define MEASURED(method)                                                                           \
    PROGRAM_SPRAG_COMMAND " run stack --seconds 1.5 -m " method " | grep creep | tr -s ' '"
    run own = sh(MEASURED("ode-quick")), same = sh(MEASURED("ode-quick:20"));
    run more = sh(MEASURED("ode-quick:100"));
    ck_assert_fine(own);
    ck_assert_fine(more);
    ck_assert_str_eq(own.out, same.out);
    ck_assert_str_ne(own.out, more.out);
    run r = sh(PROGRAM_SPRAG_COMMAND
               " compare slope --seconds 0.1 -m ode-quick:100,ode-quick,stribeck");
    ck_assert_fine(r);
    ck_assert_msg(strstr(r.out, "ode-quick against ode-quick:100: ") != NULL, "%s", r.out);
    static const char *const bad[] = {"stribeck:3",   "ode-step:3",      "ode-quick:0",
                                      "ode-quick:",   "ode-quick:1x",    "ode-quick:-1",
                                      "ode-quick: 1", "ode-quick:100001"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        r = sh(PROGRAM_SPRAG_COMMAND " compare slope -m 'stribeck,%s'", bad[i]);
        ck_assert_int_eq(r.status, 2);
        ck_assert_str_eq(r.out, "");
        ck_assert_msg(strstr(r.err, "as in ode-quick:100") != NULL, "%s: %s", bad[i], r.err);
    }
#endif
}
END_TEST

// ---- refusals

START_TEST(ends_on_options_that_it_cannot_read)
{
    static const char *const bad[] = {"nonsense", "method=nonsense", "stribeck.nonsense=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        run r = sh(PRELOAD STATS "SPRAG_OPTIONS=%s " PROGRAM_HOST " %s %d", bad[i], steppers[_i],
                   STEPS);
        const char *text = r.err + strspn(r.err, "\n");
        ck_assert_int_ne(r.status, 0);
        ck_assert_int_lt(r.status, 128); // an end, no crash
        ck_assert_str_eq(r.out, "");
        ck_assert_int_eq(lines(text), 1);
        ck_assert_msg(strstr(text, "sprag") && strstr(text, "nonsense"), "%s", text);
        ck_assert(!exists("stats"));
    }
}
END_TEST

START_TEST(prints_the_options_and_ends)
{
    run r = sh(PRELOAD "SPRAG_OPTIONS=help " PROGRAM_HOST " %s %d", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert_ptr_nonnull(strstr(r.out, "stribeck.tolerance"));
    ck_assert_ptr_null(strstr(r.out, "hash"));
}
END_TEST

// ---- other ODEs

// A copy of ODE in which one text is another, in a directory of its own.
#define OTHER_ODE "LD_LIBRARY_PATH=../other "

static const char *ode_file(void)
{
    static run found;
    if (!found.out[0]) {
        found =
            sh("ldd " PROGRAM_HOST " | sed -n 's/.*libode.*=> \\([^ ]*\\).*/\\1/p' | tr -d '\\n'");
        ck_assert_fine(found);
    }
    return found.out;
}

static void edit_ode(const char *from, const char *to)
{
    run r = sh("mkdir -p ../other; LC_ALL=C sed 's/%s/%s/g' %s >../other/libode.so.8", from, to,
               ode_file());
    ck_assert_fine(r);
}

// A module with an ODE of its own, which goes by another name: ../other/<letter>.so
static void make_module(char letter, const char *precision)
{
    run r = sh("mkdir -p ../other; export LC_ALL=C; name=s/libode[.]so[.]8/libod%c.so.8/g; "
               "sed $name " PROGRAM_HOST_MODULE " >../other/%c.so; "
               "sed \"$name; s/ODE_double_precision/ODE_%s_precision/g\" %s >../other/libod%c.so.8",
               letter, letter, precision, ode_file(), letter);
    ck_assert_fine(r);
}

// Stock took all steps, and one line states the reason.
static void assert_passed_on(const run *r, const run *stock, const char *reason)
{
    const char *text = r->err + strspn(r->err, "\n");
    ck_assert_int_eq(r->status, 0);
    ck_assert_str_eq(r->out, stock->out);
    ck_assert_msg(lines(text) == 1, "%s: %s", reason, r->err);
    ck_assert_msg(strstr(text, "sprag: this ODE lacks ") && strstr(text, reason), "%s: %s", reason,
                  text);
    ck_assert(!exists("stats"));
}

// An ODE that lacks what we call. The new name has the hash of the old one (33 a + b), so that ODE
// still finds it, and has as many letters.
START_TEST(passes_unknown_calls_on)
{
    static const struct {
        const char *from, *to, *name;
    } renamed[] = {
        {"6dxProcessIslandsP", "6dxProcessIslandrq", "dxProcessIslands"},
        {"WorldProcessContextP7", "WorldProcessContexsq7", "dxReallocateWorldProcessContext"},
        {"dxStepBodyP", "dxStepBodxq", "dxStepBody"},
        {"2dxStepIslandP", "2dxStepIslancq", "dxStepIsland"},
        {"dxQuickStepIslandP", "dxQuickStepIslancq", "dxQuickStepIsland"},
        {"eStepMemoryRequirementsP", "eStepMemoryRequirementrq",
         "dxEstimateStepMemoryRequirements"},
        {"QuickStepMemoryRequirementsP", "QuickStepMemoryRequirementrq",
         "dxEstimateQuickStepMemoryRequirements"},
        {"eStepMaxC", "eStepMawd", "dxEstimateStepMaxCallCount"},
        {"QuickStepMaxC", "QuickStepMawd", "dxEstimateQuickStepMaxCallCount"},
        {"dxJointContact8getInfo1", "dxJointContact8gesjnfo1", "dxJointContact::getInfo1"},
        {"dxJointContact8getInfo2", "dxJointContact8gesjnfo2", "dxJointContact::getInfo2"},
        {"dxJointBall8getInfo1", "dxJointBall8gesjnfo1", "dxJointBall::getInfo1"},
        {"dxJointBall8getInfo2", "dxJointBall8gesjnfo2", "dxJointBall::getInfo2"},
        {"dBodyGetGyroscopicMode", "dBodxhetGyroscopicMode", "dBodyGetGyroscopicMode"},
        {"dCheckConfiguration", "dChecjdonfiguration", "dCheckConfiguration"},
    };
    run stock[2];
    for (int k = 0; k < 2; k++) {
        stock[k] = sh(PROGRAM_HOST " %s %d random", steppers[k], STEPS);
    }
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        edit_ode(renamed[i].from, renamed[i].to);
        for (int k = 0; k < 2; k++) {
            run r = sh(OTHER_ODE PRELOAD STATS PROGRAM_HOST " %s %d random", steppers[k], STEPS);
            assert_passed_on(&r, &stock[k], renamed[i].name);
        }
    }
}
END_TEST

START_TEST(passes_on_an_archive_that_it_does_not_know)
{
#ifdef PROGRAM_HOST_LACKING
    run stock = sh(PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    run r = sh(STATS PROGRAM_HOST_LACKING " %s %d callbacks", steppers[_i], STEPS);
    assert_passed_on(&r, &stock, "dxStepBody");
#endif
}
END_TEST

// One that says it was built in single precision.
START_TEST(passes_on_single_precision)
{
    edit_ode("ODE_double_precision", "ODE_single_precision");
    run stock = sh(PROGRAM_HOST " %s %d random", steppers[_i], STEPS);
    run r = sh(OTHER_ODE PRELOAD STATS PROGRAM_HOST " %s %d random", steppers[_i], STEPS);
    assert_passed_on(&r, &stock, "double precision");
}
END_TEST

#define PRELOAD_BEFORE_ALTERED                                                                     \
    "ALTERED='%s' LD_PRELOAD='" PROGRAM_SPRAG_LIBRARY " " PROGRAM_ALTERED "' " STATS

// One whose private structs and functions are not those that we know: altered.c, which steps as
// stock does whatever of it is altered.
START_TEST(passes_on_another_layout)
{
    static const struct {
        const char *altered, *reason;
    } ode[] = {
        {"virtual functions", "the known virtual functions of dxJoint"},
        {"joint types", "the known numbers of joint types"},
        {"contact", "the known layout of dxJointContact"},
        {"islands", "the known layout of dxWorldProcessIslandsInfo"},
        {"search for islands", "the known layout of dxWorldProcessIslandsInfo"},
        {"counts", "the known layout of dxJoint::Info1"},
        {"right hand sides", "the known rows of getInfo2"},
        {"jacobians", "the known rows of getInfo2"},
        {"second jacobians", "the known rows of getInfo2"},
        {"one softness", "the known rows of getInfo2"},
        {"indices", "the known rows of getInfo2"},
        {"bounds", "the known rows of getInfo2"},
        {"dxStepBody", "the known dxStepBody"},
    };
    enum { MODES = 4, METHODS = 3 };
    static const char *const modes[MODES] = {"random", "callbacks", "again", "dlsym"};
    static const char *const methods[METHODS] = {"stribeck", "advance", "ess"};
    run stock[MODES];
    for (size_t m = 0; m < MODES; m++) {
        stock[m] = sh(PROGRAM_HOST " %s %d %s", steppers[_i], STEPS, modes[m]);
    }
    // Each alteration under each stepper, with one method; the first one with each method and mode.
    for (size_t i = 0; i < sizeof ode / sizeof *ode; i++) {
        for (size_t k = 0; k < (i ? 1 : METHODS * MODES); k++) {
            size_t m = (i + k) % MODES, method = (i + k + (size_t)_i) % METHODS;
            run r = sh(PRELOAD_BEFORE_ALTERED "SPRAG_OPTIONS=method=%s " PROGRAM_HOST " %s %d %s",
                       ode[i].altered, methods[method], steppers[_i], STEPS, modes[m]);
            assert_passed_on(&r, &stock[m], ode[i].reason);
        }
    }
}
END_TEST

#define PRELOAD_WEBOTS "LD_PRELOAD='" PROGRAM_SPRAG_LIBRARY " " PROGRAM_WEBOTS "' "

// What Webots' fork of ODE does before and after a step, and its worlds of one thread each, which
// must not be taken for the worlds that they give their addresses to.
START_TEST(steps_as_webots_does)
{
    static const char *const methods[] = {"stribeck", "advance", "ess"};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        int worlds = 0, fluid, clean, part;
        long left = -1;
        char first[32], second[32], third[32];
        run stock = sh(PROGRAM_HOST " %s %d again", steppers[_i], STEPS);
        run r = sh("(" PRELOAD_WEBOTS STATS "SPRAG_OPTIONS=method=%s " PROGRAM_HOST
                   " %s %d parts 2>said) && tail -n 1 said >&2",
                   methods[k], steppers[_i], STEPS);
        ck_assert_int_eq(r.status, 0);
        ck_assert_msg(sscanf(r.out, "hash %31s hash %31s hash %31s left %ld", first, second, third,
                             &left) == 4,
                      "%s", r.out);
        ck_assert_int_eq(strncmp(first, stock.out + strlen("hash "), strlen(first)), 0);
        ck_assert_str_ne(second, first); // the first world's method=ode has ended with it
        ck_assert_str_eq(third, second);
        ck_assert_int_lt(left, 512); // bytes; the state of a world has more
        ck_assert_msg(sscanf(r.err, "fluid %d clean %d part %d", &fluid, &clean, &part) == 3, "%s",
                      r.err);
        ck_assert_int_eq(part, 23);
        ck_assert_int_eq(fluid, _i == 0 ? 22 * STEPS : 0); // none in dWorldQuickStep
        ck_assert_int_ge(clean, 2 * 22 * STEPS);           // before islands are found, and after
        char line[4096];
        FILE *stats = fopen("stats", "r");
        ck_assert_ptr_nonnull(stats);
        while (fgets(line, sizeof line, stats)) {
            int world = 0;
            sscanf(line, "%*d,%d", &world);
            worlds = world > worlds ? world : worlds;
        }
        fclose(stats);
        ck_assert_int_eq(worlds, 23);
        r = sh("cut -d, -f2,4 stats | sort | uniq -d");
        ck_assert_str_eq(r.out, ""); // no world goes on where another ended
    }
}
END_TEST

// A cube on water, without drag, goes on as it began: for 60 s it rises and turns as far as it did
// first. Its own forces would add energy in each step if they only held for the step.
START_TEST(floats_as_on_webots_water)
{
    static const char *const methods[] = {"stribeck", "advance", "ess"};
    const double end[4] = {-0.1, 0.1, -sin(0.1), sin(0.1)};
    run r =
        sh(PRELOAD_WEBOTS "SPRAG_OPTIONS=method=%s " PROGRAM_HOST " step 6000 floats", methods[_i]);
    ck_assert_int_eq(r.status, 0);
    char *at = r.out;
    for (int late = 0; late < 2; late++) {
        for (int k = 0; k < 4; k++) {
            ck_assert_double_eq_tol(strtod(at, &at), end[k], 1e-4);
        }
    }
}
END_TEST

// dWorldQuickStep has no fluids: the next step knows no change of their force. It flies exactly.
START_TEST(knows_no_water_of_quick_steps)
{
    static const char *const methods[] = {"advance", "ess"};
    const double h = 0.01;
    double z = 0.1, v = 0;
    for (int i = 0; i < 3; i++) {
        double a = (i == 1 ? 0 : 9810 * (0.5 - z)) / 500 - 9.81;
        z += h * v + h * h * a / 2;
        v += h * a;
    }
    run r = sh(PRELOAD_WEBOTS "SPRAG_OPTIONS=method=%s " PROGRAM_HOST " step 3 mixes", methods[_i]);
    ck_assert_int_eq(r.status, 0);
    ck_assert_double_eq_tol(strtod(r.out, NULL), z, 1e-10); // the change would lift it by 7e-7 m
}
END_TEST

// A velocity that the program sets is what it is: the change of the force is not added to it.
START_TEST(throws_on_webots_water_as_told)
{
    static const char *const methods[] = {"advance", "ess"};
    const double h = 0.01;
    double z = 0.1;
    for (int i = 0; i < 2; i++) {
        double a = 9810 * (0.5 - z) / 500 - 9.81;
        z += h * (i ? 0.3 : 0) + h * h * a / 2;
    }
    run r =
        sh(PRELOAD_WEBOTS "SPRAG_OPTIONS=method=%s " PROGRAM_HOST " step 2 throws", methods[_i]);
    ck_assert_int_eq(r.status, 0);
    ck_assert_double_eq_tol(strtod(r.out, NULL), z, 1e-10); // the change would lift it by 1e-7 m
}
END_TEST

START_TEST(steps_a_layout_that_is_not_altered)
{
    run plain = sh(PRELOAD PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    run r = sh(PRELOAD_BEFORE_ALTERED PROGRAM_HOST " %s %d callbacks", "", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert_str_eq(r.out, plain.out);
    assert_ours(STEPS);
}
END_TEST

// Sets the flag that the linker's -Bsymbolic leaves in a library: it binds to itself first.
static void mark_symbolic(const char *name)
{
    FILE *file = fopen(name, "r+b");
    Elf64_Ehdr head;
    Elf64_Phdr part = {0};
    Elf64_Dyn entry[2];
    ck_assert(file && fread(&head, sizeof head, 1, file) == 1);
    for (int i = 0; i < head.e_phnum && part.p_type != PT_DYNAMIC; i++) {
        fseek(file, (long)(head.e_phoff + (size_t)i * sizeof part), SEEK_SET);
        ck_assert_uint_eq(fread(&part, sizeof part, 1, file), 1);
    }
    ck_assert_uint_eq(part.p_type, PT_DYNAMIC);
    long at = (long)part.p_offset - (long)sizeof *entry;
    do { // to the end; there is room for one more
        at += (long)sizeof *entry;
        fseek(file, at, SEEK_SET);
        ck_assert_uint_eq(fread(entry, sizeof entry, 1, file), 1);
    } while (entry[0].d_tag != DT_NULL);
    ck_assert_int_eq(entry[1].d_tag, DT_NULL);
    entry[0].d_tag = DT_SYMBOLIC;
    fseek(file, at, SEEK_SET);
    ck_assert_uint_eq(fwrite(entry, sizeof *entry, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
}

// Calls within that ODE bypass sprag, and so do calls of the program through ODE's own handle.
START_TEST(steps_an_ode_bound_symbolically)
{
    edit_ode("^$", "");
    mark_symbolic("../other/libode.so.8");
    run plain = sh(PRELOAD PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    run r = sh(OTHER_ODE PRELOAD STATS PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert_str_eq(r.out, plain.out);
    assert_ours(STEPS);
    run stock = sh(PROGRAM_HOST " %s %d dlsym", steppers[_i], STEPS);
    r = sh(OTHER_ODE PRELOAD STATS PROGRAM_HOST " %s %d dlsym", steppers[_i], STEPS);
    ck_assert_fine(r);
    ck_assert_str_eq(r.out, stock.out);
    ck_assert(!exists("stats"));
}
END_TEST

// A program that closes its ODE and opens it again, or has two: the one that calls first is served
// until it is closed. Worlds of the other one are stepped by stock, with a message.
// Where the first is in sight of all, the dynamic linker itself lets it do the second one's work.
// What is closed is out of sight of what comes later.
static run run_modules(const char *modules, const char *stepper, const char *environment)
{
    char arguments[COMMAND_MAX / 4] = "";
    for (size_t used = 0; *modules; modules++, used = strlen(arguments)) {
        snprintf(arguments + used, sizeof arguments - used,
                 *modules == '|'     ? "-- "
                 : islower(*modules) ? "../other/%c.so %s %d callbacks "
                                     : "-%c ",
                 tolower(*modules), stepper, STEPS);
    }
    return sh("%s" OTHER_ODE PRELOAD STATS PROGRAM_LOAD_MODULE " %s", environment, arguments);
}

START_TEST(serves_the_first_of_two_odes)
{
    static const struct {
        const char *modules; // C: closed when it has run; G: in sight of all
        const char *stepped; // s: by sprag, o: by ODE
        int lines;
    } program[] = {
        {"Ca|Ca", "ss", 0}, {"GCa|Ca|a", "sss", 0}, {"Ga|Gb", "ss", 0},     {"Ga|b", "ss", 0},
        {"a|b", "so", 1},   {"Ca|Cb|Ca", "sss", 0}, {"b|Ca|b", "sos", 1},   {"a|Gb|a", "sos", 1},
        {"x", "o", 1},      {"x|a", "oo", 2},       {"Cx|Ga", "os", 1},     {"a|x|a", "sos", 1},
        {"GCa|x", "so", 1}, {"GCx|Ca|a", "oss", 1}, {"Ca|GCb|x", "sso", 1}, {"Ca|GCa|x", "sso", 1},
    };
    make_module('a', "double");
    make_module('b', "double");
    make_module('x', "single"); // so it says
    run stock = sh(PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    run ours = sh(PRELOAD PROGRAM_HOST " %s %d callbacks", steppers[_i], STEPS);
    // Calls are bound as they are made under one stepper, all at once under the other, in turn.
    for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
        const char *m = program[i].modules;
        run r = run_modules(m, steppers[_i], (i + (size_t)_i) % 2 ? "LD_BIND_NOW=1 " : "");
        char expected[OUTPUT_MAX] = "";
        int stepped = 0;
        for (const char *by = program[i].stepped; *by; by++) {
            strcat(expected, *by == 's' ? ours.out : stock.out);
            stepped += *by == 's';
        }
        ck_assert_msg(r.status == 0, "%s: status %d, %s", m, r.status, r.err);
        ck_assert_msg(strcmp(r.out, expected) == 0, "%s: %s, not %s", m, r.out, expected);
        ck_assert_msg(lines(r.err) == 2 * program[i].lines, "%s: %s", m, r.err);
        if (stepped) {
            assert_ours(stepped * STEPS);
        }
        ck_assert(stepped || !exists("stats"));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("preload");
    ADD_TESTS(suite, "with either stepper", {steps_by_our_method, 2},
              {gives_the_same_bits_twice, 2}, {is_stock_under_method_ode, 2},
              {leaves_random_numbers_as_stock_does, 2}, {calls_back_and_gives_feedback, 2},
              {catches_a_stepper_from_dlsym, 2}, {steps_two_worlds_at_once, 2},
              {steps_a_world_with_a_pool, 2}, {forgets_a_destroyed_world, 2}, {outlives_main, 2},
              {says_nothing, 2}, {works_when_linked_before_ode, 2},
              {works_on_a_module_with_local_names, 2}, {works_as_an_archive, 2},
              {exec_is_preload, 2}, {ends_on_options_that_it_cannot_read, 2},
              {prints_the_options_and_ends, 2}, {passes_on_an_archive_that_it_does_not_know, 2},
              {passes_on_single_precision, 2}, {passes_on_another_layout, 2},
              {steps_as_webots_does, 2}, {steps_a_layout_that_is_not_altered, 2},
              {steps_an_ode_bound_symbolically, 2}, {serves_the_first_of_two_odes, 2});
    ADD_TESTS(suite, "once", {floats_as_on_webots_water, 3}, {knows_no_water_of_quick_steps, 2},
              {throws_on_webots_water_as_told, 2}, {leaves_other_programs_alone, 1},
              {opens_no_file_when_loaded, 1}, {works_in_python, 1}, {passes_unknown_calls_on, 1},
              {exec_warns_about_a_static_program, 1}, {command_takes_iterations, 1});
    return run_in_directory(suite);
}
