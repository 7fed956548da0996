// Recordings of ODE worlds, as SPRAG_RECORD=FILE or `sprag exec --record FILE` write them, and a
// reader for them. This header needs the C library alone: no sprag and no ODE.
//
//     sprag_recording r;
//     if (!sprag_recording_open(&r, "run.sprec")) { puts(r.error); return 1; }
//     while (sprag_recording_next(&r)) {
//         const sprag_recorded_step *step = r.step;
//         for (uint32_t i = 0; i < r.poses; i++) {
//             printf("%g %u %g\n", step->time, r.pose[i].body, r.pose[i].position[2]);
//         }
//     }
//     sprag_recording_close(&r);
//
// A file is one line of JSON, which ends with "\n" and is as long as a multiple of 8 bytes, and
// then frames, one for each step. The JSON names the tables with their columns, so that a program
// in any language can read them ("u4", "i4", "i8": integers, "f4", "f8": IEEE numbers, "S16": a
// name of 16 bytes; all little-endian). A frame is a sprag_recorded_head with the tag "FRAM", and
// in its bytes tables: a head with the tag and the number of entries, then the entries, padded to 8
// bytes. A reader skips tags that it does not know. An entry may be longer than its struct below:
// later versions add columns at its end.
//
// A run that was killed leaves whole frames, and at most a part of one more, which the reader
// leaves out (`truncated`). Its last steps, of a tenth of a second, may be missing.
#ifndef SPRAG_RECORDING_H
#define SPRAG_RECORDING_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPRAG_RECORDED_NONE 0xffffffffu // no body, geom or joint: the static environment

typedef struct sprag_recorded_head {
    char tag[4];
    uint32_t entry; // bytes of one entry; 0: a frame
    uint64_t count; // entries; bytes of a frame behind its head
} sprag_recorded_head;

// "STEP", the first table of a frame, with one entry.
typedef struct sprag_recorded_step {
    uint32_t world;    // number in the process, from 1
    uint32_t quick;    // 1: the program called dWorldQuickStep
    char method[16];   // that stepped the world
    int64_t number;    // of the step in its world, from 1
    double time, step; // s, at the end of the step; its length
    double gravity[3]; // m/s^2
    double cpu;        // s, thread CPU time of the step, without the recording
} sprag_recorded_step;

// "BODY": a body that this frame is the first to have.
typedef struct sprag_recorded_body {
    uint32_t body, world;
    double mass, inertia[9]; // kg, kg m^2 in body axes
} sprag_recorded_body;

enum { SPRAG_RECORDED_KINEMATIC = 1, SPRAG_RECORDED_DISABLED = 2 };

// "POSE": the bodies of the world at the end of the step.
typedef struct sprag_recorded_pose {
    uint32_t body, flags;
    double position[3], quaternion[4]; // m; w x y z
    double velocity[3], spin[3];       // m/s, rad/s
} sprag_recorded_pose;

typedef enum sprag_recorded_kind {
    SPRAG_RECORDED_NOTHING, // a geom that is disabled, or of a class without a shape
    SPRAG_RECORDED_SPHERE,  // size[0]: radius
    SPRAG_RECORDED_BOX,     // size: sides
    SPRAG_RECORDED_CAPSULE, // size[0]: radius, size[1]: length along z, without the caps
    SPRAG_RECORDED_CYLINDER,
    SPRAG_RECORDED_PLANE, // the half-space below z = 0
    SPRAG_RECORDED_MESH   // triangles; also of convex geoms and heightfields
} sprag_recorded_kind;

// "SHAP": a geom that is new or has changed, in the axes of its body or of the world.
typedef struct sprag_recorded_shape {
    uint32_t geom, body, kind, world;
    uint32_t vertex, vertices, triangle, triangles; // of a mesh: first and number, in this frame
    double size[3], position[3], quaternion[4];
} sprag_recorded_shape;

// "VERT" and "TRIA": the corners and the triangles of the meshes of this frame.

typedef struct sprag_recorded_vertex {
    float at[3]; // m
} sprag_recorded_vertex;

typedef struct sprag_recorded_triangle {
    uint32_t vertex[3]; // of the mesh, from 0, counter-clockwise from outside
} sprag_recorded_triangle;

typedef enum sprag_recorded_state {
    SPRAG_RECORDED_OPEN,   // no normal force
    SPRAG_RECORDED_STICK,  // friction below its bound
    SPRAG_RECORDED_SLIP,   // friction at its bound, or no friction
    SPRAG_RECORDED_UNKNOWN // ODE did not tell the force
} sprag_recorded_state;

// "CONT": the contact joints of the step. Point, normal and depth are the program's, of the start
// of the step; the slip is that of the velocities at its end.
typedef struct sprag_recorded_contact {
    uint32_t body[2], geom[2];    // body[0] is never NONE
    float position[3], normal[3]; // m; unit, into body[0]
    float depth;                  // m
    float force[3];               // N, on body[0]; not a number: unknown
    float slip;                   // m/s
    float friction;               // coefficient; of a contact without dContactApprox1 a force, N
    uint32_t state;               // sprag_recorded_state
} sprag_recorded_contact;

// "JOIN": the joints of the world that are no contacts.
typedef struct sprag_recorded_joint {
    uint32_t joint, type; // type: dJointType
    uint32_t body[2];
    float anchor[2][3];        // m, on either body; not a number: the joint has no anchor
    float force[3], torque[3]; // N, N m, on body[0], of the last step that solved the joint
} sprag_recorded_joint;

// "EVNT": events within the step, in the order of sprag_world_events.
typedef struct sprag_recorded_event {
    uint32_t kind; // sprag_event_name
    uint32_t body[2], geom[2], joint;
    double time; // s, from the start of the step
    float position[3], normal[3], speed, unused;
} sprag_recorded_event;

// "MEAS", with one entry, in recordings with SPRAG_RECORD_RESIDUAL: what is measured by the same
// code whatever the method.
typedef struct sprag_recorded_measures {
    double residual; // of the equations as ODE states them; not a number: unknown
} sprag_recorded_measures;

// "STAT": the statistics of the step, numbers in the order of "statistics" in the JSON; not a
// number: unknown.

typedef struct sprag_recording {
    char *header;       // the line of JSON
    size_t header_size; // with its "\n"
    const char *error;  // of sprag_recording_open
    bool truncated;     // the file ends within a frame
    bool damaged;       // a frame makes no sense; the reader has stopped there
    // the frame, until the next call
    const sprag_recorded_step *step;
    const sprag_recorded_body *body;
    const sprag_recorded_shape *shape;
    const sprag_recorded_vertex *vertex;
    const sprag_recorded_triangle *triangle;
    const sprag_recorded_pose *pose;
    const sprag_recorded_contact *contact;
    const sprag_recorded_joint *joint;
    const sprag_recorded_event *event;
    const double *statistic;
    const sprag_recorded_measures *measures; // NULL: none
    uint32_t bodies, shapes, vertices, triangles, poses, contacts, joints, events, statistics;
    // the reader's own
    FILE *file;
    char *frame; // with its head
    uint64_t frame_size, frame_room;
} sprag_recording;

static inline void sprag_recording_close(sprag_recording *r)
{
    if (r->file) {
        fclose(r->file);
    }
    free(r->header);
    free(r->frame);
    memset(r, 0, sizeof *r);
}

static inline bool sprag_recording_fail(sprag_recording *r, const char *error)
{
    sprag_recording_close(r);
    r->error = error;
    return false;
}

// false: r->error says why. Then, too, there is nothing to close.
static inline bool sprag_recording_open(sprag_recording *r, const char *path)
{
    static const char start[] = "{\"format\":\"sprag recording\",\"version\":1,";
    const size_t most = 1 << 24;
    size_t room = 0;
    int c = 0;
    memset(r, 0, sizeof *r);
    r->file = fopen(path, "rb");
    if (!r->file) {
        return sprag_recording_fail(r, errno == ENOENT ? "does not exist" : "cannot be opened");
    }
    while (c != '\n' && r->header_size < most && (c = getc(r->file)) != EOF) {
        if (r->header_size + 2 > room) {
            room = room ? 2 * room : 4096;
            char *more = (char *)realloc(r->header, room);
            if (!more) {
                return sprag_recording_fail(r, "is too large for the memory");
            }
            r->header = more;
        }
        r->header[r->header_size++] = (char)c;
        r->header[r->header_size] = '\0';
        if (r->header_size < sizeof start && c != start[r->header_size - 1]) {
            return sprag_recording_fail(r, "is no recording that this version can read");
        }
    }
    return c == '\n' || sprag_recording_fail(r, "is no recording, or ends within its first line");
}

// The entries of a table, if they are at least as long as the struct. Longer ones are moved
// together, in place.
static inline const void *sprag_recording_table(sprag_recorded_head *head, size_t size,
                                                uint32_t *count)
{
    char *data = (char *)(head + 1);
    *count = head->entry >= size ? (uint32_t)head->count : 0;
    for (uint32_t i = 1; i < *count && head->entry > size; i++) {
        memmove(data + i * size, data + (uint64_t)i * head->entry, size);
    }
    return data;
}

static inline void sprag_recording_enter(sprag_recording *r, sprag_recorded_head *head)
{
    uint32_t steps = 0;
    if (!memcmp(head->tag, "STEP", 4)) {
        r->step = (const sprag_recorded_step *)sprag_recording_table(head, sizeof *r->step, &steps);
        r->step = steps == 1 ? r->step : NULL;
    } else if (!memcmp(head->tag, "BODY", 4)) {
        r->body =
            (const sprag_recorded_body *)sprag_recording_table(head, sizeof *r->body, &r->bodies);
    } else if (!memcmp(head->tag, "SHAP", 4)) {
        r->shape =
            (const sprag_recorded_shape *)sprag_recording_table(head, sizeof *r->shape, &r->shapes);
    } else if (!memcmp(head->tag, "VERT", 4)) {
        r->vertex = (const sprag_recorded_vertex *)sprag_recording_table(head, sizeof *r->vertex,
                                                                         &r->vertices);
    } else if (!memcmp(head->tag, "TRIA", 4)) {
        r->triangle = (const sprag_recorded_triangle *)sprag_recording_table(
            head, sizeof *r->triangle, &r->triangles);
    } else if (!memcmp(head->tag, "POSE", 4)) {
        r->pose =
            (const sprag_recorded_pose *)sprag_recording_table(head, sizeof *r->pose, &r->poses);
    } else if (!memcmp(head->tag, "CONT", 4)) {
        r->contact = (const sprag_recorded_contact *)sprag_recording_table(head, sizeof *r->contact,
                                                                           &r->contacts);
    } else if (!memcmp(head->tag, "JOIN", 4)) {
        r->joint =
            (const sprag_recorded_joint *)sprag_recording_table(head, sizeof *r->joint, &r->joints);
    } else if (!memcmp(head->tag, "EVNT", 4)) {
        r->event =
            (const sprag_recorded_event *)sprag_recording_table(head, sizeof *r->event, &r->events);
    } else if (!memcmp(head->tag, "MEAS", 4)) {
        uint32_t measures = 0;
        r->measures = (const sprag_recorded_measures *)sprag_recording_table(
            head, sizeof *r->measures, &measures);
        r->measures = measures == 1 ? r->measures : NULL;
    } else if (!memcmp(head->tag, "STAT", 4)) {
        r->statistic =
            (const double *)sprag_recording_table(head, sizeof *r->statistic, &r->statistics);
    }
}

// Are the corners and triangles of the shapes in the frame?
static inline bool sprag_recording_has_meshes(const sprag_recording *r)
{
    for (uint32_t i = 0; i < r->shapes; i++) {
        const sprag_recorded_shape *s = &r->shape[i];
        if (s->vertices > r->vertices || s->vertex > r->vertices - s->vertices ||
            s->triangles > r->triangles || s->triangle > r->triangles - s->triangles) {
            return false;
        }
        for (uint64_t k = 0; k < 3 * (uint64_t)s->triangles; k++) {
            if (r->triangle[s->triangle + k / 3].vertex[k % 3] >= s->vertices) {
                return false;
            }
        }
    }
    return true;
}

// Sets the arrays of the frame that is in the buffer. false: it makes no sense.
static inline bool sprag_recording_parse(sprag_recording *r)
{
    r->step = NULL;
    r->measures = NULL;
    r->bodies = r->shapes = r->vertices = r->triangles = r->poses = r->contacts = r->joints =
        r->events = r->statistics = 0;
    for (uint64_t at = 0; at < r->frame_size;) {
        sprag_recorded_head *head = (sprag_recorded_head *)(void *)(r->frame + at);
        uint64_t left = r->frame_size - at;
        if (left < sizeof *head || !head->entry || head->count > 0xffffffffu ||
            head->count > (left - sizeof *head) / head->entry) {
            return false;
        }
        uint64_t size = (sizeof *head + head->count * head->entry + 7) / 8 * 8;
        sprag_recording_enter(r, head);
        at += size < left ? size : left;
    }
    return r->step && sprag_recording_has_meshes(r);
}

// Reads `size` bytes. The buffer grows as far as the file goes, whatever a damaged head says.
static inline uint64_t sprag_recording_read(sprag_recording *r, uint64_t size)
{
    uint64_t done = 0;
    while (done < size) {
        uint64_t piece = size - done < (1u << 20) ? size - done : 1u << 20;
        if (done + piece > r->frame_room) {
            uint64_t room = 2 * (done + piece);
            char *more = (char *)realloc(r->frame, room);
            if (!more) {
                return done;
            }
            r->frame = more;
            r->frame_room = room;
        }
        size_t got = fread(r->frame + done, 1, piece, r->file);
        done += got;
        if (got < piece) {
            return done;
        }
    }
    return done;
}

// The next frame: of the next step. false: there is none.
static inline bool sprag_recording_next(sprag_recording *r)
{
    sprag_recorded_head head;
    if (!r->file || r->truncated || r->damaged) {
        return false;
    }
    size_t got = fread(&head, 1, sizeof head, r->file);
    if (got < sizeof head) {
        r->truncated = got > 0;
        return false;
    }
    r->damaged = memcmp(head.tag, "FRAM", 4) || head.entry || head.count % 8;
    if (r->damaged) {
        return false;
    }
    r->frame_size = head.count;
    r->truncated = sprag_recording_read(r, head.count) < head.count;
    if (!r->truncated) {
        r->damaged = !sprag_recording_parse(r);
    }
    return !r->truncated && !r->damaged;
}

#endif
