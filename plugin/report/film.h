// A recording in memory, world by world: figures of all its steps, and the bodies and contacts of
// some of them.
#ifndef SPRAG_FILM_H
#define SPRAG_FILM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sprag_recording.h"

enum { REPORT_MESSAGE = 512 }; // bytes of a message on a failure

// Figures of a step; NAN: not known.
typedef struct film_step {
    double time, step;        // s
    double cpu;               // s, of the thread
    double depth, mean_depth; // m
    double slip;              // m/s, largest of contacts that stick
    double energy;            // J, kinetic and potential, of all bodies
    double residual;          // as measured for all methods, or else as the statistics have it
    double joint_gap;         // m, largest distance of the two anchors of a joint
    double iterations, contacts, strategy, fallbacks;
} film_step;

typedef struct film_body {
    uint32_t body;
    double mass, inertia[9];
    int first, last; // steps that have it
} film_body;

// A geom, from a step on. A later one of the same geom takes its place.
typedef struct film_shape {
    sprag_recorded_shape shape;
    int from; // step
    sprag_recorded_vertex *vertex;
    sprag_recorded_triangle *triangle;
} film_shape;

typedef struct film_frame {
    int step; // index of its figures
    uint32_t poses, contacts;
    sprag_recorded_pose *pose;
    sprag_recorded_contact *contact;
} film_frame;

typedef struct film_world {
    uint32_t number;
    char method[16];
    film_step *step;
    film_body *body;
    film_shape *shape;
    film_frame *frame;
    int steps, bodies, shapes, frames;
    int step_room, body_room, shape_room, frame_room;
    uint64_t hash; // FNV-1a of all poses and velocities
} film_world;

typedef struct film {
    json_t *header;
    char file[4096];
    film_world *world;
    int worlds, world_room;
    const char *end; // recording_end
} film;

// Why the reader has stopped before the end of the file; NULL: it has not.
const char *recording_end(const sprag_recording *r);

// Loads the figures of all steps and the content of at most `frames` of each world: evenly spaced
// ones, and those of the worst steps. false: message says why. film_free in either case.
bool film_load(film *f, const char *file, int frames, char message[REPORT_MESSAGE]);
void film_free(film *f);

// NULL: no body of that number.
const film_body *film_body_of(const film_world *w, uint32_t body);

enum { FILM_FIGURES = 5 }; // so many have their worst steps kept

#endif
