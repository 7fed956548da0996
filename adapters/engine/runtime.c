// The ODE that we serve: the one that the program has started with or, where it opens one later (as
// Python's modules do), the first that calls us, until it is closed. We call its functions by their
// names. Of what is opened later we look these up ourselves: the dynamic linker would keep open,
// and in sight of all, what it has found for us, and the program's modules see each other no more
// than without us.
#define _GNU_SOURCE
#include "ode.h"

#include <pthread.h>

void sprag_ode_once(ode_once *once, void look(void))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (once->looked_at != sprag_ode_runtime_number()) {
        pthread_mutex_lock(&lock);
        if (once->looked_at != sprag_ode_runtime_number()) {
            look();
            once->looked_at = sprag_ode_runtime_number();
        }
        pthread_mutex_unlock(&lock);
    }
}

#ifdef SPRAG_WRAP // linked in: the one that there is
void *sprag_ode_runtime_redirect(const void *object, const void *caller, const char *name)
{
    (void)object, (void)caller, (void)name;
    return NULL;
}

const char *sprag_ode_runtime_missing(void) // the linker would have said
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

static struct {
    void *handle; // NULL: the one that the program has started with
    uintptr_t start, size;
} own;

static bool from_start; // there is such a one
static _Atomic(bool) met;
static _Atomic(unsigned) number = 1;

__attribute__((constructor)) static void look(void)
{
    from_start = dlsym(RTLD_NEXT, "dBodyCreate");
}

unsigned sprag_ode_runtime_number(void)
{
    return number;
}

// The module that an address lies in, held until dlclose. NULL: none.
static void *module_of(const void *address)
{
    Dl_info at;
    return address && dladdr(address, &at) && at.dli_fname
               ? dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

// The ODE that the code at an address would call, or is part of; held until dlclose. NULL: none.
static void *ode_of(const void *address)
{
    void *module = module_of(address);
    void *ode = module ? module_of(dlsym(module, "dBodyCreate")) : NULL;
    if (module) {
        dlclose(module);
    }
    return ode;
}

// Of what an object of ODE's begins with: its virtual functions.
static const void *functions_of(const void *object)
{
    return object ? *(void *const *)object : NULL;
}

// What all see comes before what a module has brought along.
static void *find_ode(const void *object, const void *caller)
{
    void *ode = ode_of(functions_of(object));
    ode = ode ? ode : module_of(dlsym(RTLD_NEXT, "dBodyCreate"));
    return ode ? ode : ode_of(caller);
}

void *sprag_ode_runtime_symbol(const char *name)
{
    return dlsym(own.handle ? own.handle : RTLD_NEXT, name);
}

// The functions of ODE's that we call by name, and where the dynamic linker keeps their addresses:
// when they are called first or, under LD_BIND_NOW, as they were at start.
typedef struct calls {
    char *base; // of our own module
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
    if (!dladdr1(&own, &at, (void **)&map, RTLD_DL_LINKMAP)) {
        return c;
    }
    c.base = (char *)map->l_addr;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        uintptr_t at_load = d->d_un.d_ptr < map->l_addr ? map->l_addr : 0; // where it is kept so
        const void *address = (const void *)(at_load + d->d_un.d_ptr);
        c.symbol = d->d_tag == DT_SYMTAB ? address : c.symbol;
        c.text = d->d_tag == DT_STRTAB ? address : c.text;
        c.call = d->d_tag == DT_JMPREL ? address : c.call;
        c.count = d->d_tag == DT_PLTRELSZ ? d->d_un.d_val / sizeof *c.call : c.count;
    }
    return c;
}

// NULL: not one of ODE's.
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
        bool of_mesh = name && strncmp(name, "dGeomTriMesh", 12) == 0; // an ODE may have none
        if (name && !of_mesh && !dlsym(own.handle ? own.handle : RTLD_DEFAULT, name)) {
            return name;
        }
    }
    return NULL;
}

typedef int at_exit_fn(void (*)(void *), void *, void *);
extern at_exit_fn at_exit_of __asm__("__cxa_atexit");

static void gone(void *which)
{
    if ((uintptr_t)which == number) {
        number++;
        met = false;
    }
}

// What a library has registered to be done when it is closed goes by the address of a word of its
// own that holds its own address. false: there is none, or too many.
static bool ask_when_gone(char *base, const ElfW(Phdr) * part)
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
        if (at_exit_of(gone, (void *)(uintptr_t)number, found[i]) != 0) {
            return false;
        }
    }
    return count > 0 && count < WORDS_MAX;
}

static void own_ode(void *ode)
{
    struct link_map *map;
    Dl_info at, ours;
    bool told = false;
    if (dlinfo(ode, RTLD_DI_LINKMAP, &map) != 0 || !dladdr(map->l_ld, &at) ||
        !dladdr(&own, &ours)) {
        return;
    }
    char *base = at.dli_fbase;
    const ElfW(Ehdr) *head = at.dli_fbase;
    const ElfW(Phdr) *part = (const void *)(base + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++) {
        uintptr_t end = part[i].p_vaddr + part[i].p_memsz;
        own.size = part[i].p_type == PT_LOAD && end > own.size ? end : own.size;
        told |=
            part[i].p_type == PT_LOAD && part[i].p_flags & PF_W && ask_when_gone(base, &part[i]);
    }
    own.start = (uintptr_t)base;
    own.handle = ode;
    if (told) { // it must find us then; otherwise it stays open
        dlopen(ours.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        dlclose(ode);
    }
}

static void meet(const void *object, const void *caller)
{
    void *ode = from_start ? NULL : find_ode(object, caller);
    own.handle = NULL;
    own.start = own.size = 0;
    if (!from_start && !ode) {
        ode = dlopen("libode.so.8", RTLD_LAZY | RTLD_NOLOAD);
    }
    if (ode) {
        own_ode(ode);
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

// How many modules are gone: while it stays, an address is always in the same one.
static unsigned long long unloaded(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(read_unloaded, &count);
    return count;
}

// The function of another ODE; without an object the last answer of none is kept.
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
    void *function = ode && ode != own.handle ? dlsym(ode, name) : NULL;
    if (ode) {
        dlclose(ode); // whoever calls us holds it
    }
    if (!object && !function) {
        last.caller = caller;
        last.unloaded = unloaded();
    }
    return function;
}

static bool is_own(const void *object)
{
    return !own.handle || (uintptr_t)functions_of(object) - own.start < own.size;
}

static __attribute__((noinline)) void *meet_rarely(const void *object, const void *caller,
                                                   const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!met) {
        meet(object, caller);
    }
    met = true;
    pthread_mutex_unlock(&lock);
    return is_own(object) ? NULL : function_of_other(object, caller, name);
}

void *sprag_ode_runtime_redirect(const void *object, const void *caller, const char *name)
{
    return met && is_own(object) ? NULL : meet_rarely(object, caller, name);
}
#endif
