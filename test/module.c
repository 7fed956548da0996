// Loads host.c, built as a module, the way Python loads an extension: with RTLD_LOCAL, so that ODE
// is not among the names the rest of the process sees.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*host_main)(int, char **) =
        module ? (int (*)(int, char **))dlsym(module, "host_main") : NULL;
    if (!host_main) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    return host_main(argc - 1, argv + 1);
}
