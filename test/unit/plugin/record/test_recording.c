// Recordings: the numbers in them, and runs that end badly. Each test is a process of its own,
// because a recording is switched on for a process.
#define _GNU_SOURCE 1
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin_scene.h"
#include "sprag_recording.h"

static char file[] = "/tmp/sprag_recording_XXXXXX";

// The program has closed its input: the file has the number 0.
static void setup_recording(void)
{
    close(STDIN_FILENO);
    int descriptor = mkstemp(file);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    setup();
    setenv("SPRAG_RECORD", file, 1);
}

static void teardown_recording(void)
{
    teardown();
    unlink(file);
}

static sprag_recording open_recording(void)
{
    dWorldDestroy(dWorldCreate()); // before a world goes, all steps are written
    sprag_recording r;
    ck_assert_msg(sprag_recording_open(&r, file), "%s", r.error);
    return r;
}

// ---- what is recorded

START_TEST(poses_are_those_of_ode)
{
    static const char *const methods[] = {"ode-step", "ode-quick", "stribeck", "advance"};
    enum { STEPS = 30 };
    for (int m = 0; m < 4; m++) {
        char options[64];
        snprintf(options, sizeof options, "method=%s", methods[m]);
        scene s = open_scene(options);
        double place[STEPS][SCENE_BODIES][3], speed[STEPS][SCENE_BODIES][3];
        for (int k = 0; k < STEPS; k++) {
            step_scene(&s, dWorldStep);
            for (int i = 0; i < SCENE_BODIES; i++) {
                memcpy(place[k][i], dBodyGetPosition(s.body[i]), sizeof place[k][i]);
                memcpy(speed[k][i], dBodyGetAngularVel(s.body[i]), sizeof speed[k][i]);
            }
        }
        sprag_world_statistics last = statistics_of(s.world);
        close_scene(&s);
        sprag_recording r = open_recording();
        int steps = 0;
        while (sprag_recording_next(&r)) {
            if (r.step->world != (uint32_t)m + 1) {
                continue;
            }
            ck_assert_str_eq(r.step->method, methods[m]);
            ck_assert_int_eq(r.step->number, steps + 1);
            ck_assert_double_eq(r.step->gravity[2], -9.81);
            ck_assert_uint_eq(r.poses, SCENE_BODIES);
            ck_assert_uint_eq(r.bodies, steps ? 0 : SCENE_BODIES);
            for (int i = 0; i < SCENE_BODIES; i++) { // from the oldest on
                ck_assert_uint_eq(r.pose[i].body, (uint32_t)(m * SCENE_BODIES + i));
                ck_assert_mem_eq(r.pose[i].position, place[steps][i], sizeof place[steps][i]);
                ck_assert_mem_eq(r.pose[i].spin, speed[steps][i], sizeof speed[steps][i]);
            }
            ck_assert_uint_eq(r.joints, 2);
            steps++;
        }
        ck_assert(!r.truncated && !r.damaged);
        ck_assert_int_eq(steps, STEPS);
        ck_assert_double_eq(r.statistic[0], last.time);
        sprag_recording_close(&r);
    }
}
END_TEST

static double weight_carried(const sprag_recording *r)
{
    double force = 0;
    for (uint32_t i = 0; i < r->contacts; i++) {
        ck_assert_uint_eq(r->contact[i].body[1], SPRAG_RECORDED_NONE);
        force += (double)r->contact[i].force[2];
    }
    return force;
}

// A box of 2 kg on the ground, that slides at first.
START_TEST(contacts_carry_the_weight_and_tell_stick_from_slip)
{
    static const char *const methods[] = {"ode-step", "ode-quick", "stribeck", "advance", "ess"};
    for (int m = 0; m < 5; m++) {
        char options[64];
        snprintf(options, sizeof options, "method=%s%s", methods[m],
                 m == 4 ? ",stribeck.stiffness=1e5,stribeck.dissipation=1" : "");
        scene s = {.world = dWorldCreate(), .space = dSimpleSpaceCreate(0)};
        s.contacts = dJointGroupCreate(0);
        dWorldSetGravity(s.world, 0, 0, -9.81);
        dCreatePlane(s.space, 0, 0, 1, 0);
        s.body[0] = create_body(s.world, 2, 0, 0, 0.1);
        dMass mass;
        dMassSetBoxTotal(&mass, 2, 0.4, 0.4, 0.2);
        dBodySetMass(s.body[0], &mass);
        dGeomSetBody(dCreateBox(s.space, 0.4, 0.4, 0.2), s.body[0]);
        dBodySetLinearVel(s.body[0], 1, 0, 0);
        configure(s.world, options);
        for (int k = 0; k < 100; k++) {
            step_scene(&s, dWorldStep);
        }
        close_scene(&s);
        sprag_recording r = open_recording();
        uint32_t state[2] = {9, 9};
        double weight = 0, slip[2] = {0};
        while (sprag_recording_next(&r)) {
            bool begins = r.step->number == 10, ends = r.step->number == 100;
            if (r.step->world == (uint32_t)m + 1 && (begins || ends)) {
                ck_assert_uint_eq(r.contacts, 4);
                for (uint32_t i = 0; i < 4 && begins; i++) { // the forces of others may be zero
                    state[0] =
                        r.contact[i].state != SPRAG_RECORDED_OPEN ? r.contact[i].state : state[0];
                }
                for (uint32_t i = 0; i < 4 && ends; i++) {
                    state[1] =
                        r.contact[i].state != SPRAG_RECORDED_OPEN ? r.contact[i].state : state[1];
                }
                slip[ends] = (double)r.contact[0].slip;
                weight = weight_carried(&r);
                ck_assert_double_eq_tol(r.contact[0].normal[2], 1, 1e-6);
                ck_assert_double_eq_tol(r.contact[0].friction, 0.5, 1e-6);
            }
        }
        sprag_recording_close(&r);
        ck_assert_msg(state[0] == SPRAG_RECORDED_SLIP, "%s: %u", methods[m], state[0]);
        ck_assert_msg(state[1] == SPRAG_RECORDED_STICK, "%s: %u", methods[m], state[1]);
        ck_assert_double_gt(slip[0], 0.3);
        ck_assert_double_lt(slip[1], 1e-3);
        ck_assert_double_eq_tol(weight, 2 * 9.81, 0.02);
    }
}
END_TEST

// As the program could ask for them; a method without events has none, also after one that has.
START_TEST(events_are_those_of_the_step)
{
    enum { STEPS = 60, ROOM = 200 };
    static sprag_world_event event[STEPS][ROOM];
    int count[STEPS], found = 0, steps = 0, last = 0;
    scene s = open_scene("method=advance");
    for (int k = 0; k < STEPS; k++) {
        if (!last && found > 6 && count[k - 1] > 0) {
            configure(s.world, "method=stribeck");
            last = k;
        }
        step_scene(&s, dWorldStep);
        count[k] = sprag_world_events(s.world, event[k], ROOM);
        ck_assert_int_le(count[k], ROOM);
        found += count[k];
    }
    close_scene(&s);
    ck_assert_int_gt(last, 0);
    sprag_recording r = open_recording();
    for (; sprag_recording_next(&r); steps++) {
        ck_assert_uint_eq(r.events, (uint32_t)count[steps]);
        for (int i = 0; i < count[steps]; i++) {
            const sprag_world_event *e = &event[steps][i];
            ck_assert_uint_eq(r.event[i].kind, (uint32_t)e->kind);
            ck_assert_double_eq(r.event[i].time, e->time);
            ck_assert(r.event[i].speed == (float)e->speed);
            ck_assert_uint_eq(r.event[i].joint, SPRAG_RECORDED_NONE);
            for (int k = 0; k < 3; k++) {
                ck_assert(r.event[i].position[k] == (float)e->position[k]);
                ck_assert(r.event[i].normal[k] == (float)e->normal[k]);
            }
            for (int side = 0; side < 2; side++) {
                ck_assert((r.event[i].body[side] == SPRAG_RECORDED_NONE) == !e->body[side]);
                ck_assert((r.event[i].geom[side] == SPRAG_RECORDED_NONE) == !e->geom[side]);
                ck_assert(!e->body[side] || r.event[i].body[side] < SCENE_BODIES);
            }
        }
        ck_assert(steps < last || r.events == 0);
    }
    ck_assert_int_eq(steps, STEPS);
    sprag_recording_close(&r);
}
END_TEST

START_TEST(the_header_describes_the_tables)
{
    scene s = open_scene("method=stribeck");
    step_scene(&s, dWorldStep);
    close_scene(&s);
    sprag_recording r = open_recording();
    ck_assert_uint_eq(r.header_size % 8, 0);
    json_error_t error;
    json_t *root = json_loadb(r.header, r.header_size, 0, &error), *table, *column;
    ck_assert_msg(root != NULL, "%s", error.text);
    const char *tag;
    json_object_foreach(json_object_get(root, "tables"), tag, table)
    {
        size_t i, bytes = 0;
        json_array_foreach(json_object_get(table, "columns"), i, column)
        {
            char name[64], type[8];
            unsigned count;
            ck_assert_int_eq(sscanf(json_string_value(column), "%63s %7s %u", name, type, &count),
                             3);
            bytes += (size_t)strtol(type + 1, NULL, 10) * count;
        }
        ck_assert_msg((json_int_t)bytes == json_integer_value(json_object_get(table, "bytes")),
                      "%s", tag);
    }
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.statistics, json_array_size(json_object_get(root, "statistics")));
    ck_assert_str_eq(json_string_value(json_object_get(root, "sprag")), sprag_version());
    ck_assert_int_ge((int)json_array_size(json_object_get(root, "command")), 1);
    json_decref(root);
    sprag_recording_close(&r);
}
END_TEST

// ---- shapes

static const sprag_recorded_shape *shape_of(const sprag_recording *r, uint32_t kind)
{
    for (uint32_t i = 0; i < r->shapes; i++) {
        if (r->shape[i].kind == kind) {
            return &r->shape[i];
        }
    }
    ck_abort_msg("no shape of kind %u", kind);
}

static void ignore_pair(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
}

START_TEST(shapes_are_recorded_once)
{
    static const float corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const dTriIndex triangle[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    dSpaceID space = dHashSpaceCreate(NULL), inner = dSimpleSpaceCreate(space);
    dBodyID body = create_body(world, 1, 0, 0, 5);
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(data, corner, sizeof *corner, 4, triangle, 12, sizeof *triangle);
    dGeomSetBody(dCreateTriMesh(space, data, NULL, NULL, NULL), body);
    dGeomID capsule = dCreateCapsule(space, 0.1, 0.7);
    dGeomSetBody(capsule, body);
    dGeomSetOffsetPosition(capsule, 0, 0, -2);
    dGeomID box = dCreateBox(inner, 1, 2, 3); // static
    dGeomSetPosition(box, 7, 8, 9);
    configure(world, "method=stribeck");
    for (int k = 0; k < 6; k++) {
        if (k == 4) {
            dGeomSetPosition(box, 7, 8, 10);
        }
        dSpaceCollide(space, NULL, ignore_pair);
        ck_assert(dWorldStep(world, step));
    }
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.shapes, 3);
    const sprag_recorded_shape *mesh = shape_of(&r, SPRAG_RECORDED_MESH);
    ck_assert_uint_eq(mesh->triangles, 4);
    double area = 0; // of the sides, as seen from along -x, -y, -z
    for (uint32_t t = 0; t < 4; t++) {
        const float *a = r.vertex[mesh->vertex + r.triangle[mesh->triangle + t].vertex[0]].at;
        const float *b = r.vertex[mesh->vertex + r.triangle[mesh->triangle + t].vertex[1]].at;
        const float *c = r.vertex[mesh->vertex + r.triangle[mesh->triangle + t].vertex[2]].at;
        area += fabs((double)((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))) / 2;
    }
    ck_assert_double_eq_tol(area, 1, 1e-6);
    const sprag_recorded_shape *c = shape_of(&r, SPRAG_RECORDED_CAPSULE);
    ck_assert_double_eq_tol(c->size[0], 0.1, 1e-12);
    ck_assert_double_eq_tol(c->size[1], 0.7, 1e-12);
    ck_assert_double_eq_tol(c->position[2], -2, 1e-12);
    ck_assert_uint_eq(c->body, mesh->body);
    const sprag_recorded_shape *b = shape_of(&r, SPRAG_RECORDED_BOX);
    ck_assert_uint_eq(b->body, SPRAG_RECORDED_NONE);
    ck_assert_double_eq_tol(b->size[1], 2, 1e-12);
    ck_assert_double_eq_tol(b->position[2], 9, 1e-12);
    uint32_t number = b->geom;
    for (int k = 1; k < 6; k++) {
        ck_assert(sprag_recording_next(&r));
        ck_assert_uint_eq(r.shapes, k == 4);
        if (k == 4) { // moved
            ck_assert_uint_eq(r.shape->geom, number);
            ck_assert_double_eq_tol(r.shape->position[2], 10, 1e-12);
        }
    }
    sprag_recording_close(&r);
    dSpaceDestroy(space);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// A contact that a program makes by hand, of a body without geoms.
START_TEST(a_contact_without_geoms_names_none)
{
    dContact contact = {.surface = {.mu = 1}, .geom = {.normal = {0, 0, 1}, .depth = 0.01}};
    dJointAttach(dJointCreateContact(world, 0, &contact), create_body(world, 1, 0, 0, 1), 0);
    configure(world, "method=stribeck");
    dWorldStep(world, step);
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.contacts, 1);
    ck_assert_uint_eq(r.contact->body[0], 0);
    ck_assert_uint_eq(r.contact->geom[0], SPRAG_RECORDED_NONE);
    ck_assert_uint_eq(r.contact->geom[1], SPRAG_RECORDED_NONE);
    sprag_recording_close(&r);
}
END_TEST

START_TEST(a_new_body_gets_a_new_number)
{
    dBodyID body = create_body(world, 1, 0, 0, 5);
    configure(world, "method=stribeck");
    dWorldStep(world, step);
    dBodyDestroy(body);
    dWorldStep(world, step);
    dBodyID again = create_body(world, 3, 0, 0, 5); // mostly at the same address
    dWorldStep(world, step);
    dBodyDestroy(again);
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.pose->body, 0);
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.poses, 0);
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.pose->body, 1);
    ck_assert_uint_eq(r.bodies, 1);
    ck_assert_double_eq(r.body->mass, 3);
    sprag_recording_close(&r);
}
END_TEST

START_TEST(the_feedback_of_the_program_is_its_own)
{
    dBodyID body = create_body(world, 1, 0, 0, 5);
    dJointID with = dJointCreateBall(world, 0), without = dJointCreateBall(world, 0);
    dJointFeedback feedback = {.f1 = {0}};
    dJointAttach(with, body, 0);
    dJointAttach(without, body, 0);
    dJointSetBallAnchor(with, 0, 0, 6);
    dJointSetBallAnchor(without, 0, 0, 6);
    dJointSetFeedback(with, &feedback);
    configure(world, "method=stribeck");
    dWorldSetGravity(world, 0, 0, -9.81);
    dWorldStep(world, step);
    ck_assert_ptr_eq(dJointGetFeedback(with), &feedback);
    ck_assert_ptr_null(dJointGetFeedback(without));
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.joints, 2);
    double sum = (double)(r.joint[0].force[2] + r.joint[1].force[2]);
    ck_assert_double_eq_tol(sum, 9.81, 1e-3);
    ck_assert_double_eq_tol(r.joint[0].anchor[0][2], 6, 1e-3);
    sprag_recording_close(&r);
}
END_TEST

// ---- files that are not whole

static char *contents(long *size)
{
    FILE *from = fopen(file, "rb");
    ck_assert_ptr_nonnull(from);
    fseek(from, 0, SEEK_END);
    *size = ftell(from);
    rewind(from);
    char *data = malloc((size_t)*size);
    ck_assert_uint_eq(fread(data, 1, (size_t)*size, from), (size_t)*size);
    fclose(from);
    return data;
}

// A new file each time: ext4 waits for the disk where one is cut and written again.
static void store(const char *data, long size)
{
    unlink(file);
    FILE *to = fopen(file, "wb");
    ck_assert_uint_eq(fwrite(data, 1, (size_t)size, to), (size_t)size);
    fclose(to);
}

static void record_three_steps(void)
{
    scene s = open_scene("method=stribeck");
    for (int k = 0; k < 3; k++) {
        step_scene(&s, dWorldStep);
    }
    close_scene(&s);
}

START_TEST(whole_frames_are_read_wherever_the_file_ends)
{
    record_three_steps();
    long size, whole[4] = {0};
    char *data = contents(&size);
    sprag_recording r = open_recording();
    whole[0] = (long)r.header_size;
    for (int k = 1; sprag_recording_next(&r); k++) {
        whole[k] = whole[k - 1] + (long)(r.frame_size + sizeof(sprag_recorded_head));
    }
    sprag_recording_close(&r);
    ck_assert_int_eq(whole[3], size);
    for (long cut = 0; cut < size; cut += cut < whole[0] ? 97 : 13) {
        store(data, cut);
        if (!sprag_recording_open(&r, file)) {
            ck_assert_int_lt(cut, whole[0]);
            continue;
        }
        int frames = 0;
        while (sprag_recording_next(&r)) {
            frames++;
        }
        ck_assert_int_eq(frames, (cut >= whole[1]) + (cut >= whole[2]));
        ck_assert_int_eq(r.truncated, cut != whole[frames]);
        ck_assert(!r.damaged);
        sprag_recording_close(&r);
    }
    free(data);
}
END_TEST

// Bytes changed anywhere: the reader ends, and what it gives lies within the frame.
START_TEST(damage_does_no_harm)
{
    record_three_steps();
    long size;
    char *data = contents(&size), *broken = malloc((size_t)size);
    uint64_t random = 1;
    for (int k = 0; k < 2000; k++) {
        sprag_recording r;
        memcpy(broken, data, (size_t)size);
        for (int i = 0; i < 3; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            broken[random % (uint64_t)size] = (char)(random >> 56);
        }
        store(broken, size);
        double sum = 0;
        if (sprag_recording_open(&r, file)) {
            while (sprag_recording_next(&r)) {
                for (uint32_t i = 0; i < r.contacts; i++) {
                    sum += (double)r.contact[i].depth + r.contact[i].state;
                }
                for (uint32_t i = 0; i < r.poses; i++) {
                    sum += r.pose[i].spin[2];
                }
            }
            sprag_recording_close(&r);
        }
        ck_assert(sum == sum || isnan(sum));
    }
    free(data);
    free(broken);
}
END_TEST

// A later version has columns more.
START_TEST(longer_entries_are_read)
{
    record_three_steps();
    long size;
    char *data = contents(&size);
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r));
    double second = r.pose[1].position[0];
    uint32_t poses = r.poses;
    sprag_recorded_head *head = (sprag_recorded_head *)(void *)r.frame;
    char *longer = calloc(1, 1 << 20), *to = longer;
    memcpy(to, data, r.header_size);
    to += r.header_size + sizeof *head;
    for (uint64_t at = 0; at < r.frame_size;) {
        head = (sprag_recorded_head *)(void *)(r.frame + at);
        uint32_t entry = head->entry + (memcmp(head->tag, "POSE", 4) ? 0 : 8);
        sprag_recorded_head wider = *head;
        wider.entry = entry;
        memcpy(to, &wider, sizeof wider);
        to += sizeof wider;
        for (uint64_t i = 0; i < head->count; i++, to += entry) {
            memcpy(to, (char *)(head + 1) + i * head->entry, head->entry);
        }
        to += (8 - (to - longer) % 8) % 8;
        at += (sizeof *head + head->count * head->entry + 7) / 8 * 8;
    }
    sprag_recorded_head frame = {.tag = {'F', 'R', 'A', 'M'}};
    frame.count = (uint64_t)(to - longer) - r.header_size - sizeof frame;
    memcpy(longer + r.header_size, &frame, sizeof frame);
    sprag_recording_close(&r);
    store(longer, to - longer);
    r = open_recording();
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.poses, poses);
    ck_assert_double_eq(r.pose[1].position[0], second);
    ck_assert_uint_gt(r.shapes, 0);
    sprag_recording_close(&r);
    free(data);
    free(longer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording");
    ADD_TESTS_WITH(suite, "all", setup_recording, teardown_recording, {poses_are_those_of_ode, 1},
                   {contacts_carry_the_weight_and_tell_stick_from_slip, 1},
                   {events_are_those_of_the_step, 1}, {the_header_describes_the_tables, 1},
                   {shapes_are_recorded_once, 1}, {a_contact_without_geoms_names_none, 1},
                   {a_new_body_gets_a_new_number, 1}, {the_feedback_of_the_program_is_its_own, 1},
                   {whole_frames_are_read_wherever_the_file_ends, 1}, {damage_does_no_harm, 1},
                   {longer_entries_are_read, 1});
    return run_suite_as(suite, CK_FORK);
}
