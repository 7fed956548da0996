// Loads host.c, built as a module, the way Python loads an extension: with RTLD_LOCAL, so that ODE
// is not among the names the rest of the process sees. One or several modules, one after another:
//
//     load_module [-c] [-g] <module> <arguments of host>... [-- [-c] [-g] <module>...]...
//
// -c: the module is closed when it has run; -g: with RTLD_GLOBAL.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int run_module(const char *name, int flags, int close_it, int argc, char **argv)
{
    void *module = dlopen(name, flags);
    int (*host_main)(int, char **) =
        module ? (int (*)(int, char **))dlsym(module, "host_main") : NULL;
    if (!host_main) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int failed = host_main(argc, argv);
    fflush(stdout);
    return failed || (close_it && dlclose(module));
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1, end; i < argc && !failed; i = end + 1) {
        int close_it = 0, flags = RTLD_NOW | RTLD_LOCAL;
        for (; i < argc && argv[i][0] == '-'; i++) {
            close_it |= argv[i][1] == 'c';
            flags = argv[i][1] == 'g' ? RTLD_NOW | RTLD_GLOBAL : flags;
        }
        for (end = i; end < argc && strcmp(argv[end], "--") != 0; end++) {
        }
        failed = i == end ? 2 : run_module(argv[i], flags, close_it, end - i, argv + i);
    }
    return failed;
}
