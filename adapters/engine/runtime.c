// The runtime: the ODE that sprag serves. It is the ODE that the program has started with. If the
// program loads an ODE later, as Python's modules do, it is the first one that calls sprag, until
// the program closes it. sprag calls its functions by their names.
//
// The names in a library that is loaded later are looked up here, not by the dynamic linker. The
// linker would keep that library open and make its names visible to the whole program; like this,
// the program's modules see of each other what they see without sprag.
#define _GNU_SOURCE
#include "ode.h"

#include <pthread.h>

void sprag_ode_once(ode_once *once, void run(void))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (once->done_for != sprag_ode_runtime_number()) {
        pthread_mutex_lock(&lock);
        if (once->done_for != sprag_ode_runtime_number()) {
            run();
            once->done_for = sprag_ode_runtime_number();
        }
        pthread_mutex_unlock(&lock);
    }
}

#ifdef SPRAG_WRAP // linked into the program: there is one ODE
void *sprag_ode_runtime_redirect(const void *object, const void *caller, const char *name)
{
    (void)object, (void)caller, (void)name;
    return NULL;
}

const char *sprag_ode_runtime_missing(void) // the linker has found them all
{
    return NULL;
}

unsigned sprag_ode_runtime_number(void)
{
    return 1;
}
#else
#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

// The runtime. Set when a program calls sprag first, and again after that ODE has been closed.
static struct {
    void *handle;          // of dlopen; NULL: the ODE that the program has started with
    uintptr_t start, size; // bytes, where it is loaded
} runtime;

static bool has_ode_at_start;
static _Atomic(bool) is_chosen; // the runtime
static _Atomic(unsigned) number = 1;

__attribute__((constructor)) static void look_for_ode(void)
{
    has_ode_at_start = dlsym(RTLD_NEXT, "dBodyCreate");
}

unsigned sprag_ode_runtime_number(void)
{
    return number;
}

// The loaded library or program that an address lies in; it stays open until dlclose. NULL: none.
static void *module_of(const void *address)
{
    Dl_info at;
    return address && dladdr(address, &at) && at.dli_fname
               ? dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

// The ODE that the code at an address would call, or is part of; it stays open until dlclose. NULL:
// none.
static void *ode_of(const void *address)
{
    void *module = module_of(address);
    void *ode = module ? module_of(dlsym(module, "dBodyCreate")) : NULL;
    if (module) {
        dlclose(module);
    }
    return ode;
}

// The table of virtual functions, with which every object of ODE begins.
static const void *functions_of(const void *object)
{
    return object ? *(void *const *)object : NULL;
}

// The ODE of an object; without one the ODE that the whole program sees, or else the one that the
// caller's own module sees.
static void *find_ode(const void *object, const void *caller)
{
    void *ode = ode_of(functions_of(object));
    ode = ode ? ode : module_of(dlsym(RTLD_NEXT, "dBodyCreate"));
    return ode ? ode : ode_of(caller);
}

void *sprag_ode_runtime_symbol(const char *name)
{
    return dlsym(runtime.handle ? runtime.handle : RTLD_NEXT, name);
}

// sprag's own tables of dynamic symbols: the ODE functions that it calls by name, and the addresses
// that the dynamic linker has filled in, at the first call or, under LD_BIND_NOW, at start-up.
typedef struct calls {
    char *base; // where libsprag is loaded
    const ElfW(Sym) * symbol;
    const ElfW(Rela) * call;
    const char *text;
    size_t count;
} calls;

static calls find_calls(void)
{
    Dl_info at;
    struct link_map *map;
    calls c = {0};
    if (!dladdr1(&runtime, &at, (void **)&map, RTLD_DL_LINKMAP)) {
        return c;
    }
    c.base = (char *)map->l_addr;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        uintptr_t at_load =
            d->d_un.d_ptr < map->l_addr ? map->l_addr : 0; // some linkers keep offsets
        const void *address = (const void *)(at_load + d->d_un.d_ptr);
        c.symbol = d->d_tag == DT_SYMTAB ? address : c.symbol;
        c.text = d->d_tag == DT_STRTAB ? address : c.text;
        c.call = d->d_tag == DT_JMPREL ? address : c.call;
        c.count = d->d_tag == DT_PLTRELSZ ? d->d_un.d_val / sizeof *c.call : c.count;
    }
    return c;
}

// NULL: not a function of ODE.
static const char *name_of_call(const calls *c, size_t i)
{
    const ElfW(Sym) *called = c->symbol + ELF64_R_SYM(c->call[i].r_info);
    const char *name = c->text + called->st_name;
    return called->st_shndx == SHN_UNDEF && name[0] == 'd' && isupper(name[1]) ? name : NULL;
}

static void bind_calls(void *ode)
{
    const calls c = find_calls();
    for (size_t i = 0; i < c.count; i++) {
        const char *name = name_of_call(&c, i);
        void *found = name ? dlsym(ode, name) : NULL;
        if (found) {
            *(void **)(c.base + c.call[i].r_offset) = found;
        }
    }
}

const char *sprag_ode_runtime_missing(void)
{
    const calls c = find_calls();
    for (size_t i = 0; i < c.count; i++) {
        const char *name = name_of_call(&c, i);
        bool of_mesh =
            name && strncmp(name, "dGeomTriMesh", 12) == 0; // ODE without triangle meshes
        if (name && !of_mesh && !dlsym(runtime.handle ? runtime.handle : RTLD_DEFAULT, name)) {
            return name;
        }
    }
    return NULL;
}

typedef int at_exit_fn(void (*)(void *), void *, void *);
extern at_exit_fn at_exit_of __asm__("__cxa_atexit");

// Called when the ODE of that number is closed.
static void forget_runtime(void *which)
{
    if ((uintptr_t)which == number) {
        number++;
        is_chosen = false;
    }
}

// Has forget_runtime called when ODE is closed. A library registers its own exit functions under
// the address of its __dso_handle, a word of its data that holds its own address; a function that
// is registered under that address runs when the library is closed. false: there is no such word,
// or too many words look like it.
static bool register_exit(char *base, const ElfW(Phdr) * part)
{
    enum { WORDS_MAX = 16 };
    void **end = (void **)(base + part->p_vaddr + part->p_filesz), *found[WORDS_MAX];
    int count = 0;
    for (void **word = (void **)(base + part->p_vaddr); word + 1 <= end && count < WORDS_MAX;
         word++) {
        found[count] = *word;
        count += *word == word;
    }
    for (int i = 0; i < count && count < WORDS_MAX; i++) {
        if (at_exit_of(forget_runtime, (void *)(uintptr_t)number, found[i]) != 0) {
            return false;
        }
    }
    return count > 0 && count < WORDS_MAX;
}

static void set_runtime(void *ode)
{
    struct link_map *map;
    Dl_info at, ours;
    bool registered = false;
    if (dlinfo(ode, RTLD_DI_LINKMAP, &map) != 0 || !dladdr(map->l_ld, &at) ||
        !dladdr(&runtime, &ours)) {
        return;
    }
    char *base = at.dli_fbase;
    const ElfW(Ehdr) *head = at.dli_fbase;
    const ElfW(Phdr) *part = (const void *)(base + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++) {
        uintptr_t end = part[i].p_vaddr + part[i].p_memsz;
        runtime.size = part[i].p_type == PT_LOAD && end > runtime.size ? end : runtime.size;
        registered |=
            part[i].p_type == PT_LOAD && part[i].p_flags & PF_W && register_exit(base, &part[i]);
    }
    runtime.start = (uintptr_t)base;
    runtime.handle = ode;
    if (registered) { // libsprag must then stay loaded; otherwise ODE stays open
        dlopen(ours.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        dlclose(ode);
    }
}

static void choose_runtime(const void *object, const void *caller)
{
    void *ode = has_ode_at_start ? NULL : find_ode(object, caller);
    runtime.handle = NULL;
    runtime.start = runtime.size = 0;
    if (!has_ode_at_start && !ode) {
        ode = dlopen("libode.so.8", RTLD_LAZY | RTLD_NOLOAD);
    }
    if (ode) {
        set_runtime(ode);
    }
    if (ode || getenv("LD_BIND_NOW")) {
        bind_calls(ode ? ode : RTLD_DEFAULT);
    }
}

static int read_unloaded(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_subs;
    return 1;
}

// Number of modules that have been closed so far. While it stays, an address stays in its module.
static unsigned long long unloaded(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(read_unloaded, &count);
    return count;
}

// The function of another ODE than the runtime; NULL: the call is for the runtime. Calls without an
// object are many: the last caller for which the answer was NULL is kept.
static void *function_of_other(const void *object, const void *caller, const char *name)
{
    static _Thread_local struct {
        const void *caller;
        unsigned long long unloaded;
    } last;
    if (!object && caller == last.caller && unloaded() == last.unloaded) {
        return NULL;
    }
    void *ode = find_ode(object, caller);
    void *function = ode && ode != runtime.handle ? dlsym(ode, name) : NULL;
    if (ode) {
        dlclose(ode); // the caller keeps it open
    }
    if (!object && !function) {
        last.caller = caller;
        last.unloaded = unloaded();
    }
    return function;
}

static bool is_of_runtime(const void *object)
{
    return !runtime.handle || (uintptr_t)functions_of(object) - runtime.start < runtime.size;
}

static __attribute__((noinline)) void *redirect_slowly(const void *object, const void *caller,
                                                       const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!is_chosen) {
        choose_runtime(object, caller);
    }
    is_chosen = true;
    pthread_mutex_unlock(&lock);
    return is_of_runtime(object) ? NULL : function_of_other(object, caller, name);
}

void *sprag_ode_runtime_redirect(const void *object, const void *caller, const char *name)
{
    return is_chosen && is_of_runtime(object) ? NULL : redirect_slowly(object, caller, name);
}
#endif
