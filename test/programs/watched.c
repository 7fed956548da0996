// A plain ODE program for comparisons in place: a stack of three boxes on a plane that behaves
// badly in forked children, or looks at what they leave behind. It prints a hash of where it ended.
//
//     watched <steps> [mode]
//
//   hang     a moved callback never returns in a process that is not the first
//   die      likewise, it crashes; with a handler for crashes that would print
//   exit     likewise, it calls exit(7); a handler of exit() then makes the file "exited"
//   write    it writes to a file, a pipe and standard output: "written" tells how much arrived
//   child    SIGCHLD has a handler, and a child of its own ends every 20 steps: prints both counts
//   nofork   the system refuses to fork
//   endless  steps until it is ended; on SIGTERM it prints "ended" and the steps
//   locked   another thread holds a lock that a moved callback needs
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ode/ode.h>

enum { BOXES = 3 };

static dWorldID world;
static dJointGroupID contacts;
static dBodyID body[BOXES];
static const char *mode = "";
static pid_t first;
static int ends[2] = {-1, -1}, file = -1;
static volatile sig_atomic_t children, is_ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void on_child(int number)
{
    (void)number;
    children++;
}

static void on_end(int number)
{
    (void)number;
    is_ended = 1;
}

static void on_crash(int number)
{
    static const char text[] = "the handler of the program ran\n";
    (void)number;
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(1);
}

static void on_exit_of_child(void)
{
    if (getpid() != first) {
        close(open("exited", O_WRONLY | O_CREAT, 0600));
    }
}

static void moved(dBodyID which)
{
    int in_child = getpid() != first;
    if (in_child && is("hang")) {
        for (;;) {
            pause();
        }
    }
    if (in_child && is("die")) {
        raise(SIGSEGV);
    }
    if (in_child && is("exit")) {
        exit(7);
    }
    if (is("write") && which == body[0]) {
        (void)!write(file, "x", 1);
        (void)!write(ends[1], "x", 1);
        printf(".");
        fflush(stdout);
    }
    if (is("locked") && in_child) {
        pthread_mutex_lock(&lock);
    }
}

static void *hold(void *data)
{
    pthread_mutex_lock(&lock);
    *(volatile int *)data = 1;
    for (;;) {
        pause();
    }
    return NULL;
}

static void refuse_forks(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), // EPERM
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        puts("no filter");
    }
}

static void near(void *data, dGeomID a, dGeomID b)
{
    dContactGeom found[4];
    int n = dCollide(a, b, 4, found, sizeof *found);
    (void)data;
    for (int i = 0; i < n; i++) {
        dContact contact = {.surface = {.mode = dContactApprox1, .mu = 0.5}, .geom = found[i]};
        dJointAttach(dJointCreateContact(world, contacts, &contact), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static uint64_t hash(void)
{
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < BOXES; i++) {
        const unsigned char *byte = (const unsigned char *)dBodyGetPosition(body[i]);
        for (size_t k = 0; k < 3 * sizeof(dReal); k++) {
            sum = (sum ^ byte[k]) * 1099511628211u;
        }
    }
    return sum;
}

static void prepare(void)
{
    static volatile int held;
    pthread_t thread;
    first = getpid();
    if (is("die")) {
        signal(SIGSEGV, on_crash);
    } else if (is("exit")) {
        atexit(on_exit_of_child);
    } else if (is("child")) {
        signal(SIGCHLD, on_child);
    } else if (is("write")) {
        file = open("written", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        (void)!pipe2(ends, O_NONBLOCK);
    } else if (is("nofork")) {
        refuse_forks();
    } else if (is("endless")) {
        signal(SIGTERM, on_end);
    } else if (is("locked")) {
        pthread_create(&thread, NULL, hold, (void *)(uintptr_t)&held);
        while (!held) {
        }
    }
}

static void finish(int own)
{
    char bytes[4096];
    if (is("child")) {
        printf("\nown %d\nhandled %d\n", own, (int)children);
    } else if (is("write")) {
        printf("\nwritten %ld %ld\n", (long)lseek(file, 0, SEEK_END),
               (long)read(ends[0], bytes, sizeof bytes));
    }
    printf("hash %016llx\n", (unsigned long long)hash());
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 0, own = 0, made = 0;
    mode = argc > 2 ? argv[2] : "";
    dInitODE2(0);
    world = dWorldCreate();
    contacts = dJointGroupCreate(0);
    dSpaceID space = dSimpleSpaceCreate(NULL);
    dWorldSetGravity(world, 0, 0, -9.81);
    dCreatePlane(space, 0, 0, 1, 0);
    for (int i = 0; i < BOXES; i++) {
        dMass mass;
        body[i] = dBodyCreate(world);
        dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.2);
        dBodySetMass(body[i], &mass);
        dGeomSetBody(dCreateBox(space, 0.2, 0.2, 0.2), body[i]);
        dBodySetPosition(body[i], 0.02 * i, 0.013 * i, 0.0999 + 0.2 * i);
        dBodySetMovedCallback(body[i], moved);
    }
    prepare();
    for (made = 0; !is_ended && (made < steps || is("endless")); made++) {
        dSpaceCollide(space, NULL, near);
        dWorldQuickStep(world, 0.01); // dWorldStep would complain of singular equations
        dJointGroupEmpty(contacts);
        if (is("child") && made % 20 == 19) {
            pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            own += waitpid(child, NULL, 0) == child;
        }
    }
    if (is_ended) {
        printf("ended %ld\n", made);
    }
    finish((int)own);
    return 0;
}
