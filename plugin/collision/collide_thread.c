#include "collide_thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "message.h"
#include "traps.h"

_Thread_local collide_state collide_now;

static _Thread_local collide_context *own_context;
static pthread_key_t key; // frees the context at the end of the thread
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

bool is_frame_inside(const void *from, const void *frame)
{
    return frame && (const char *)from < (const char *)frame;
}

bool is_in_step_callback(const void *from)
{
    if (collide_now.asked_pair && !is_frame_inside(from, collide_now.asked_frame)) {
        collide_now.asked_pair = NULL; // the callback was left by a jump
    }
    return collide_now.asked_pair;
}

static void free_context(void *data)
{
    collide_context *c = data;
    if (c) {
        sprag_ode_geometry_free(c->geometry);
        sprag_scratch_free(&c->scratch);
        sprag_ode_set_free(&c->offered);
        free(c->close);
        free(c->destruction);
        free(c);
    }
    own_context = NULL;
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_context) == 0;
}

collide_context *collide_context_get(void)
{
    if (!own_context) {
        pthread_once(&once, make_key);
        collide_context *c = calloc(1, sizeof *c);
        if (c) {
            c->geometry = sprag_ode_geometry_make();
        }
        if (!c || !c->geometry || !has_key || pthread_setspecific(key, c) != 0) {
            free_context(c);
            return NULL;
        }
        own_context = c;
    }
    return own_context;
}

collide_context *collide_context_if_made(void)
{
    return own_context;
}

void collide_begin(collide_context *c)
{
    c->busy = true;
    c->traps = traps_hold();
    sprag_scratch_reset(&c->scratch);
}

void collide_end(collide_context *c)
{
    traps_release(c->traps);
    c->busy = false;
}

void warn_of_collide_memory(void)
{
    message_once("sprag: there is not enough memory to answer a collision call. Contacts may be "
                 "missed.");
}
