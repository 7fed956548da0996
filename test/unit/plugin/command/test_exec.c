// `sprag exec`: how a program is found, what its file tells, and the environment that it gets.
#define _GNU_SOURCE 1
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"
#include "suite.h"

enum { TEXT = 1 << 16 };

static char directory[] = "/tmp/sprag_exec_XXXXXX", text[TEXT];

static void setup_exec(void)
{
    ck_assert(mkdtemp(directory) && chdir(directory) == 0);
    unsetenv("LD_PRELOAD");
    unsetenv("SPRAG_OPTIONS");
}

static void teardown_exec(void)
{
    char command[64];
    snprintf(command, sizeof command, "/bin/rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

// The exit code of a program without arguments; what it and sprag print is in `text`. Some of these
// programs make no sense, and crash.
static int run(const char *program, const char *method, const char *options, bool quiet)
{
    char *words[] = {(char *)(uintptr_t)program, NULL};
    FILE *to = tmpfile();
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(to), STDOUT_FILENO);
        dup2(fileno(to), STDERR_FILENO);
        alarm(20);
        _exit(exec_program(words, method, options, quiet));
    }
    ck_assert(child > 0 && waitpid(child, &status, 0) == child);
    rewind(to);
    text[fread(text, 1, TEXT - 1, to)] = '\0';
    fclose(to);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// ---- the file

static char *program;
static size_t program_size;

static ElfW(Ehdr) * head(void)
{
    return (ElfW(Ehdr) *)(void *)program;
}

static ElfW(Phdr) * linker_part(void)
{
    ElfW(Phdr) *part = (ElfW(Phdr) *)(void *)(program + head()->e_phoff);
    while (part->p_type != PT_INTERP) {
        part++;
    }
    return part;
}

static void read_program(const char *path)
{
    FILE *from = fopen(path, "rb");
    ck_assert(from && fseek(from, 0, SEEK_END) == 0);
    program_size = (size_t)ftell(from);
    program = realloc(program, program_size + PATH_MAX + sizeof(ElfW(Phdr)));
    memset(program + program_size, 0, PATH_MAX + sizeof(ElfW(Phdr)));
    rewind(from);
    ck_assert_uint_eq(fread(program, 1, program_size, from), program_size);
    fclose(from);
}

// Whether sprag prints a note with this, of a program that has been changed; NULL: none at all.
static void expect(const char *note)
{
    FILE *to = fopen("changed", "wb");
    ck_assert(to && fwrite(program, 1, program_size, to) == program_size && fclose(to) == 0);
    ck_assert_int_eq(chmod("changed", 0755), 0);
    run("./changed", NULL, NULL, false);
    ck_assert_msg(!strstr(text, "sprag: note") == !note, "%s: %s", note ? note : "nothing", text);
    ck_assert_msg(!note || strstr(text, note), "%s: %s", note ? note : "", text);
    run("./changed", NULL, NULL, true);
    ck_assert_ptr_null(strstr(text, "sprag: note"));
    read_program("/bin/true");
}

START_TEST(files_are_read_with_care)
{
    static const char bad[] = "has an ELF header that cannot be read";
    read_program("/bin/true");
    expect("does not use a dynamic libode");
    program_size = sizeof(ElfW(Ehdr)) - 1; // no program at all
    expect(NULL);
    program_size = 0;
    expect(NULL);
    program[1] = 'X';
    expect(NULL);
    head()->e_machine ^= 1;
    expect("another kind of machine");
    head()->e_ident[EI_DATA] ^= 3;
    expect("another kind of machine");
    head()->e_ident[EI_CLASS] ^= 3;
    expect("another kind of machine");
    head()->e_phentsize++;
    expect(bad);
    head()->e_phoff = program_size + 1;
    expect(bad);
    linker_part()->p_type = PT_NULL;
    expect("is statically linked");
    head()->e_phnum = 0;
    expect("is statically linked");
    linker_part()->p_filesz = 0;
    expect(bad);
    linker_part()->p_filesz = PATH_MAX + 1;
    expect(bad);
    linker_part()->p_filesz--; // without its end
    expect(bad);
    linker_part()->p_offset = program_size + 1;
    expect(bad);
    linker_part()->p_offset = program_size - linker_part()->p_filesz + 1;
    expect(bad);
    linker_part()->p_offset = ~(size_t)0 - 2;
    expect(bad);
    free(program);
    program = NULL;
}
END_TEST

// Headers and names that end where the file does are whole.
START_TEST(files_may_end_with_what_is_read)
{
    read_program("/bin/true");
    ElfW(Phdr) part = *linker_part();
    char linker[PATH_MAX];
    memcpy(linker, program + part.p_offset, part.p_filesz);
    for (int less = 0; less < 2; less++) { // one header, at the end
        part.p_type = PT_NULL;
        program_size -= program_size % 8;
        memcpy(program + program_size, &part, sizeof part);
        head()->e_phoff = program_size;
        head()->e_phnum = 1;
        program_size += sizeof part - (size_t)less;
        expect(less ? "cannot be read" : "is statically linked");
    }
    for (int less = 0; less < 2; less++) { // the name, at the end
        linker_part()->p_offset = program_size;
        memcpy(program + program_size, linker, part.p_filesz);
        program_size += part.p_filesz - (size_t)less;
        expect(less ? "cannot be read" : "does not use a dynamic libode");
    }
    free(program);
    program = NULL;
}
END_TEST

START_TEST(programs_with_rights_are_told)
{
    struct stat is;
    if (getuid() != 0) {
        return;
    }
    for (int k = 0; k < 4; k++) { // of another user or group, or of our own
        read_program("/bin/true");
        FILE *to = fopen("rights", "wb");
        ck_assert(to && fwrite(program, 1, program_size, to) == program_size && fclose(to) == 0);
        bool group = k % 2, own = k >= 2;
        ck_assert_int_eq(chown("rights", group || own ? 0 : 1, group && !own ? 1 : 0), 0);
        ck_assert_int_eq(chmod("rights", group ? 02755 : 04755), 0);
        ck_assert_int_eq(stat("rights", &is), 0);
        run("./rights", NULL, NULL, false);
        ck_assert_msg(!strstr(text, "runs with rights of its own") == own, "%d: %s", k, text);
    }
    free(program);
    program = NULL;
}
END_TEST

// ---- where it is

static void write_script(const char *name, const char *words, unsigned mode)
{
    FILE *to = fopen(name, "w");
    ck_assert(to && fprintf(to, "#!/bin/sh\necho %s\n", words) > 0 && fclose(to) == 0);
    ck_assert_int_eq(chmod(name, mode), 0);
}

START_TEST(programs_are_found_in_the_path)
{
    ck_assert(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0 && mkdir("a/folder", 0755) == 0);
    write_script("b/here", "b", 0755);
    write_script("a/barred", "a", 0644);
    write_script("b/barred", "b", 0755);
    write_script("a/only", "a", 0644);
    write_script("here", "this folder", 0755);
    setenv("PATH", "a:b", 1);
    ck_assert_int_eq(run("here", NULL, NULL, true), 0);
    ck_assert_str_eq(text, "b\n");
    setenv("PATH", "a::b", 1);
    ck_assert_int_eq(run("here", NULL, NULL, true), 0);
    ck_assert_str_eq(text, "this folder\n");
    setenv("PATH", "a:b:", 1);
    ck_assert_int_eq(run("barred", NULL, NULL, true), 0);
    ck_assert_str_eq(text, "b\n");
    ck_assert_int_eq(run("./here", NULL, NULL, true), 0);
    ck_assert_int_eq(run("only", NULL, NULL, true), 126);
    ck_assert_ptr_nonnull(strstr(text, "\"only\" cannot be executed: Permission denied"));
    ck_assert_int_eq(run("folder", NULL, NULL, true), 126);
    ck_assert_int_eq(run("none", NULL, NULL, true), 127);
    ck_assert_ptr_nonnull(strstr(text, "\"none\" is not found"));
    ck_assert_int_eq(run("./only", NULL, NULL, true), 127);
    ck_assert_int_eq(run("", NULL, NULL, true), 127);
    write_script("lost", "", 0755);
    FILE *to = fopen("lost", "w");
    ck_assert(to && fputs("#!/nonexistent/shell\n", to) >= 0 && fclose(to) == 0);
    ck_assert_int_eq(run("./lost", NULL, NULL, true), 126);
    ck_assert_ptr_nonnull(strstr(text, "(what it names as its interpreter)"));
}
END_TEST

// ---- what it gets

static void expect_environment(const char *options, const char *preload)
{
    char expected[PATH_MAX];
    const char *at = strstr(text, "LD_PRELOAD=");
    snprintf(expected, sizeof expected, "SPRAG_OPTIONS=%s\n", options ? options : "");
    ck_assert_msg(!strstr(text, expected) == !options, "%s: %s", expected, text);
    ck_assert(at && at[11] == '/' && strstr(at, "/libsprag.so"));
    size_t ours = strcspn(at, ":\n"), length = strcspn(at, "\n");
    ck_assert(length - ours == strlen(preload) && !strncmp(at + ours, preload, length - ours));
}

START_TEST(the_environment_is_added_to)
{
    ck_assert_int_eq(run("env", NULL, NULL, true), 0);
    expect_environment(NULL, "");
    run("env", "ess", NULL, true);
    expect_environment("method=ess", "");
    run("env", NULL, "ode.erp=0.1", true);
    expect_environment("ode.erp=0.1", "");
    setenv("SPRAG_OPTIONS", "", 1);
    setenv("LD_PRELOAD", "", 1);
    run("env", "ess", "ode.erp=0.1", true);
    expect_environment("method=ess,ode.erp=0.1", "");
    setenv("SPRAG_OPTIONS", "effort=fast", 1);
    setenv("LD_PRELOAD", "libm.so.6", 1);
    run("env", "ess", "ode.erp=0.1", true);
    expect_environment("effort=fast,method=ess,ode.erp=0.1", ":libm.so.6");
    run("env", NULL, NULL, true);
    expect_environment("effort=fast", ":libm.so.6");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec");
    ADD_TESTS_WITH(suite, "all", setup_exec, teardown_exec, {files_are_read_with_care, 1},
                   {files_may_end_with_what_is_read, 1}, {programs_with_rights_are_told, 1},
                   {programs_are_found_in_the_path, 1}, {the_environment_is_added_to, 1});
    return run_suite_as(suite, CK_FORK);
}
