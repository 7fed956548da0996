// A recording as CSV: heads, and every number of poses, contacts, joints, shapes and steps.
#define _GNU_SOURCE 1
#include "export.h"
#include "film_scene.h"

enum { LINE = 8192, CELLS = 80 };

static char line[LINE], *cell[CELLS];
static sprag_recording r;

static FILE *open_table(const char *name, const char *head)
{
    char path[80];
    snprintf(path, sizeof path, "%s/csv/%s.csv", filmed.directory, name);
    FILE *file = fopen(path, "r");
    ck_assert(file && fgets(line, LINE, file));
    ck_assert_msg(!strcmp(line, head) || (!strcmp(name, "steps") && strstr(line, head) == line),
                  "%s: %s", name, line);
    return file;
}

// Cuts the next row into its cells; false: there is none.
static bool next_row(FILE *file)
{
    int count = 0;
    if (!fgets(line, LINE, file)) {
        fclose(file);
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    for (char *rest = line; (cell[count] = strsep(&rest, ",")); count++) {
    }
    return true;
}

static void check_step(void)
{
    ck_assert_int_eq(atoi(cell[0]), (int)r.step->world);
    ck_assert_int_eq(atoi(cell[1]), (int)r.step->number);
    ck_assert_double_eq_tol(atof(cell[2]), r.step->time, 1e-8);
}

// Bits of doubles and floats come back; what is not finite is empty.
static void check_doubles(int at, const double *value, int count)
{
    for (int k = 0; k < count; k++) {
        ck_assert(isfinite(value[k]) ? strtod(cell[at + k], NULL) == value[k] : !*cell[at + k]);
    }
}

static void check_floats(int at, const float *value, int count)
{
    for (int k = 0; k < count; k++) {
        ck_assert(isfinite(value[k]) ? strtof(cell[at + k], NULL) == value[k] : !*cell[at + k]);
    }
}

static void check_number(int at, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    ck_assert_str_eq(cell[at], number == SPRAG_RECORDED_NONE ? "" : text);
}

static void check_steps(FILE *steps)
{
    ck_assert(next_row(steps));
    check_number(0, r.step->world);
    check_number(1, r.step->quick);
    ck_assert_str_eq(cell[2], r.step->method);
    check_number(3, (uint32_t)r.step->number);
    check_doubles(4, &r.step->time, 6);
    json_t *root = json_loadb(r.header, r.header_size, 0, NULL), *name;
    size_t i;
    int at = 10;
    json_array_foreach(json_object_get(root, "statistics"), i, name)
    {
        const char *text = json_string_value(name);
        const json_t *words = json_object_get(root, "strategies");
        if (!strcmp(text, "strategy")) {
            ck_assert_str_eq(cell[at++],
                             json_string_value(json_array_get(words, (size_t)r.statistic[i])));
        } else if (strcmp(text, "time") != 0 && strcmp(text, "step") != 0) {
            check_doubles(at++, &r.statistic[i], 1);
        }
    }
    ck_assert_ptr_null(cell[at]);
    json_decref(root);
}

static void check_contacts(FILE *contacts)
{
    static const char *const states[] = {"open", "stick", "slip", "unknown"};
    for (uint32_t i = 0; i < r.contacts; i++) {
        const sprag_recorded_contact *c = &r.contact[i];
        ck_assert(next_row(contacts));
        check_step();
        for (int k = 0; k < 2; k++) {
            check_number(3 + k, c->body[k]);
            check_number(5 + k, c->geom[k]);
        }
        check_floats(7, c->position, 3);
        check_floats(10, c->normal, 3);
        check_floats(13, &c->depth, 1);
        check_floats(14, c->force, 3);
        check_floats(17, &c->slip, 1);
        check_floats(18, &c->friction, 1);
        ck_assert_str_eq(cell[19], states[c->state]);
        ck_assert_ptr_null(cell[20]);
    }
}

static void check_shapes(FILE *shapes)
{
    static const char *const kinds[] = {"nothing",  "sphere", "box", "capsule",
                                        "cylinder", "plane",  "mesh"};
    for (uint32_t i = 0; i < r.shapes; i++) {
        const sprag_recorded_shape *s = &r.shape[i];
        ck_assert(next_row(shapes));
        check_step();
        check_number(3, s->geom);
        check_number(4, s->body);
        ck_assert_str_eq(cell[5], kinds[s->kind]);
        check_number(10, s->triangles);
        check_doubles(11, s->size, 10);
        ck_assert_ptr_null(cell[21]);
    }
}

static void check_bodies(FILE *bodies, FILE *poses, FILE *joints)
{
    for (uint32_t i = 0; i < r.bodies; i++) {
        ck_assert(next_row(bodies));
        check_step();
        check_number(3, r.body[i].body);
        check_doubles(5, &r.body[i].mass, 10);
    }
    for (uint32_t i = 0; i < r.poses; i++) {
        ck_assert(next_row(poses));
        check_step();
        check_number(3, r.pose[i].body);
        check_number(4, r.pose[i].flags);
        check_doubles(5, r.pose[i].position, 13);
        ck_assert_ptr_null(cell[18]);
    }
    for (uint32_t i = 0; i < r.joints; i++) {
        ck_assert(next_row(joints));
        check_step();
        check_number(5, r.joint[i].body[0]);
        check_number(6, r.joint[i].body[1]);
        check_floats(7, r.joint[i].anchor[0], 12);
        ck_assert_ptr_null(cell[19]);
    }
}

START_TEST(tables_have_all_numbers)
{
    char message[REPORT_MESSAGE], directory[64];
    const char *end;
    int frames = 0;
    snprintf(directory, sizeof directory, "%s/csv", filmed.directory);
    ck_assert_msg(export_csv(filmed.recording, directory, &end, message), "%s", message);
    ck_assert_int_eq(export_count(filmed.recording, &end, message), FILM_STEPS + 1);
#define AT "at_world,at_step,at_time,"
    FILE *steps = open_table("steps", "world,quick,method,number,time,step,gravity_x,gravity_y,"
                                      "gravity_z,cpu,bodies,islands,contacts,"),
         *contacts = open_table("contacts", AT "body_0,body_1,geom_0,geom_1,position_x,position_y,"
                                               "position_z,normal_x,normal_y,normal_z,depth,"
                                               "force_x,force_y,force_z,slip,friction,state\n"),
         *shapes = open_table("shapes", AT "geom,body,kind,world,vertex,vertices,triangle,"
                                           "triangles,size_x,size_y,size_z,position_x,position_y,"
                                           "position_z,quaternion_w,quaternion_x,quaternion_y,"
                                           "quaternion_z\n"),
         *bodies = open_table("bodies", AT "body,world,mass,inertia_0,inertia_1,inertia_2,"
                                           "inertia_3,inertia_4,inertia_5,inertia_6,inertia_7,"
                                           "inertia_8\n"),
         *poses = open_table("poses", AT "body,flags,position_x,position_y,position_z,"
                                         "quaternion_w,quaternion_x,quaternion_y,quaternion_z,"
                                         "velocity_x,velocity_y,velocity_z,spin_x,spin_y,spin_z\n"),
         *joints = open_table("joints", AT "joint,type,body_0,body_1,anchor_0,anchor_1,anchor_2,"
                                           "anchor_3,anchor_4,anchor_5,force_x,force_y,force_z,"
                                           "torque_x,torque_y,torque_z\n");
    ck_assert(sprag_recording_open(&r, filmed.recording));
    for (; sprag_recording_next(&r); frames++) {
        check_steps(steps);
        check_contacts(contacts);
        check_shapes(shapes);
        check_bodies(bodies, poses, joints);
    }
    ck_assert_int_eq(frames, FILM_STEPS + 1);
    ck_assert(!next_row(steps) && !next_row(contacts) && !next_row(shapes) && !next_row(bodies));
    ck_assert(!next_row(poses) && !next_row(joints));
    sprag_recording_close(&r);
}
END_TEST

// ---- headers of other versions

// Writes the recording with another table: `columns` of them all, the first one `copies` times
// more.
static void write_changed(const char *tag, const char *const columns[2], int copies, int tables)
{
    char path[64], name[16], *text = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "%s/changed.sprec", filmed.directory);
    FILE *from = fopen(filmed.recording, "rb"), *to = fopen(path, "wb");
    ck_assert(from && to && getline(&text, &room, from) > 0);
    json_t *header = json_loads(text, 0, NULL), *list = json_array();
    json_t *all = json_object_get(header, "tables");
    for (int i = 0; i <= copies; i++) {
        json_array_append_new(list, json_string(columns[0]));
    }
    if (columns[1]) {
        json_array_append_new(list, *columns[1] ? json_string(columns[1]) : json_null());
    }
    json_object_set_new(all, tag, json_pack("{s:O}", "columns", list));
    const int others = json_object_get(all, "STAT") != NULL;
    for (int i = 0; (int)json_object_size(all) - others < tables; i++) {
        snprintf(name, sizeof name, "N%03d", i);
        json_object_set_new(all, name, json_pack("{s:O}", "columns", list));
    }
    json_decref(list);
    json_dumpf(header, to, JSON_COMPACT);
    putc('\n', to);
    json_decref(header);
    free(text);
    for (int c; (c = getc(from)) != EOF;) {
        putc(c, to);
    }
    fclose(from);
    ck_assert_int_eq(fclose(to), 0);
}

START_TEST(headers_of_other_versions_are_read_with_care)
{
    static const char bad[] = "the header has a column that this version cannot read",
                      many[] = "the header has a table that this version cannot read";
    static const struct {
        const char *tag, *columns[2];
        int copies, tables;
        const char *message, *head; // of the refusal; of the file
    } all[] = {
        {"NEWT", {"a u4 1", "b f8 2"}, 0, 0, NULL, AT "a,b_0,b_1\n"},
        {"NEWT", {"q f4 4", "word S8 1"}, 0, 0, NULL, AT "q_w,q_x,q_y,q_z,word\n"},
        {"NEWT", {"v i8 3", NULL}, 0, 0, NULL, AT "v_x,v_y,v_z\n"},
        {"POSE", {"short u4 1", NULL}, 0, 0, NULL, AT "short\n"}, // entries are longer
        {"NEWT", {"a u4 0", NULL}, 0, 0, bad, NULL},
        {"NEWT", {"a u4", NULL}, 0, 0, bad, NULL},
        {"NEWT", {"a u 1", NULL}, 0, 0, bad, NULL},
        {"NEWT", {"a u4 1", ""}, 0, 0, bad, NULL}, // no text
        {"NEWT", {"a u4 1", NULL}, 63, 0, NULL, NULL},
        {"NEWT", {"a u4 1", NULL}, 64, 0, bad, NULL},
        {"NEW", {"a u4 1", NULL}, 0, 0, many, NULL},
        {"NEWER", {"a u4 1", NULL}, 0, 0, many, NULL},
        {"A/BC", {"a u4 1", NULL}, 0, 0, many, NULL},
        {"NEWT", {"a u4 1", NULL}, 0, 32, NULL, NULL},
        {"NEWT", {"a u4 1", NULL}, 0, 33, many, NULL},
    };
    const char *const tag = all[_i].tag;
    char message[REPORT_MESSAGE], path[64], directory[64];
    const char *end;
    write_changed(tag, all[_i].columns, all[_i].copies, all[_i].tables);
    snprintf(path, sizeof path, "%s/changed.sprec", filmed.directory);
    snprintf(directory, sizeof directory, "%s/csv", filmed.directory);
    ck_assert(export_csv(path, directory, &end, message) == !all[_i].message);
    ck_assert(!all[_i].message || strstr(message, all[_i].message));
    if (all[_i].head) {
        FILE *table = open_table(strcmp(tag, "POSE") ? tag : "poses", all[_i].head);
        ck_assert(!next_row(table));
    }
}
END_TEST

// A header that names more statistics than the steps have: the cells of the others are empty.
START_TEST(missing_statistics_are_empty)
{
    char message[REPORT_MESSAGE], path[64], directory[64], head[LINE], *text = NULL;
    size_t room = 0;
    const char *end;
    snprintf(path, sizeof path, "%s/changed.sprec", filmed.directory);
    snprintf(directory, sizeof directory, "%s/csv", filmed.directory);
    FILE *from = fopen(filmed.recording, "rb"), *to = fopen(path, "wb");
    ck_assert(from && to && getline(&text, &room, from) > 0);
    const char *at = strstr(text, "\"statistics\":[");
    at = strchr(at, ']');
    fprintf(to, "%.*s,\"newer\"%s", (int)(at - text), text, at);
    for (int c; (c = getc(from)) != EOF;) {
        putc(c, to);
    }
    fclose(from);
    fclose(to);
    free(text);
    ck_assert_msg(export_csv(path, directory, &end, message), "%s", message);
    FILE *steps = open_table("steps", "world,");
    strcpy(head, line);
    ck_assert_str_eq(strrchr(head, ','), ",newer\n");
    int rows = 0;
    for (; next_row(steps); rows++) {
        int last = 0;
        while (cell[last + 1]) {
            last++;
        }
        ck_assert_str_eq(cell[last], "");
        ck_assert_uint_gt(strlen(cell[last - 1]), 0);
    }
    ck_assert_int_eq(rows, FILM_STEPS + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("csv");
    ADD_TESTS_WITH(suite, "headers", film_setup, film_teardown,
                   {headers_of_other_versions_are_read_with_care, 15},
                   {missing_statistics_are_empty, 1});
    ADD_TESTS_WITH(suite, "all", film_setup, film_teardown, {tables_have_all_numbers, 1});
    return run_suite_as(suite, CK_FORK);
}
