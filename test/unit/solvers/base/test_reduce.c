// Contacts by the hundred between the same two bodies are reduced, and act as before.
#include <check.h>
#include <string.h>

#include "reduce.h"
#include "suite.h"

enum { SIDE = 15, MANY = SIDE * SIDE, FEW = 100, ROOM = 4 * MANY };

typedef struct set {
    sprag_contact contact[ROOM];
    int count, *kept, left;
    sprag_scratch scratch;
} set;

// A grid on the lower face of a box, deeper towards one corner.
static void add_grid(set *s, int body0, int body1, int side)
{
    for (int i = 0; i < side * side; i++) {
        double x = (i % side) / (side - 1.0) - 0.5, y = (i / side) / (side - 1.0) - 0.5;
        sprag_contact *c = &s->contact[s->count++];
        *c = (sprag_contact){.body = {body0, body1},
                             .frame = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}},
                             .arm = {{x, y, -0.5}, {x, y, -0.5}},
                             .gap = -1e-3 * (1 + x + 0.5 * y),
                             .compliance = 1e-6,
                             .softening = 1,
                             .slide = {.coefficient = {0.5, 3}, .force = {false, true}}};
    }
}

static void reduce(set *s)
{
    s->left = sprag_reduce_contacts(s->contact, s->count, &s->kept, &s->scratch);
    ck_assert(!s->scratch.failed);
}

static bool has_place(const set *s, double x, double y)
{
    bool found = false;
    for (int i = 0; i < s->left; i++) {
        found |= s->contact[i].arm[0][0] == x && s->contact[i].arm[0][1] == y;
    }
    return found;
}

START_TEST(ordinary_numbers_stay)
{
    static set s;
    add_grid(&s, 0, SPRAG_STATIC, 10);
    add_grid(&s, 1, SPRAG_STATIC, 10);
    add_grid(&s, 0, 1, 10);
    set before = s;
    reduce(&s);
    ck_assert_ptr_null(s.kept);
    ck_assert_int_eq(s.left, 3 * FEW);
    ck_assert_mem_eq(s.contact, before.contact, sizeof before.contact);
    sprag_scratch_free(&s.scratch);
}
END_TEST

START_TEST(the_outline_and_the_deepest_stay)
{
    static set s;
    add_grid(&s, 0, SPRAG_STATIC, SIDE);
    reduce(&s);
    ck_assert_int_eq(s.left, 40);
    for (int i = 0; i < 4; i++) {
        ck_assert(has_place(&s, i % 2 - 0.5, i / 2 - 0.5));
    }
    for (int i = 0; i < s.left; i++) {
        ck_assert(i == 0 || s.kept[i] > s.kept[i - 1]);
    }
    sprag_scratch_free(&s.scratch);
}
END_TEST

// Softness in parallel and friction that is a force add up to the same; coefficients stay.
START_TEST(those_that_stay_stand_for_the_others)
{
    static set s;
    double stiffness = 0, force = 0, softening = 0;
    add_grid(&s, 0, 1, SIDE);
    reduce(&s);
    for (int i = 0; i < s.left; i++) {
        stiffness += 1 / s.contact[i].compliance;
        softening += 1 / s.contact[i].softening;
        force += s.contact[i].slide.coefficient[1];
        ck_assert_double_eq(s.contact[i].slide.coefficient[0], 0.5);
    }
    ck_assert_double_eq_tol(stiffness, 1e6 * MANY, 1e-3);
    ck_assert_double_eq_tol(softening, MANY, 1e-9);
    ck_assert_double_eq_tol(force, 3 * MANY, 1e-9);
    sprag_scratch_free(&s.scratch);
}
END_TEST

// The bodies of a contact come in either order; another surface is another kind.
START_TEST(kinds_are_apart)
{
    static set s;
    add_grid(&s, 0, 1, SIDE);
    add_grid(&s, 2, 3, 5);
    for (int i = 0; i < MANY; i += 2) {
        sprag_contact *c = &s.contact[i];
        c->body[0] = 1;
        c->body[1] = 0;
        c->frame[0][2] = c->frame[2][1] = -1;
    }
    set other = s;
    reduce(&s);
    ck_assert_int_eq(s.left, 40 + 25);
    for (int i = 0; i < 20; i++) {
        other.contact[i].slide.coefficient[0] = 0.6;
    }
    memset(&other.scratch, 0, sizeof other.scratch);
    reduce(&other);
    ck_assert_int_eq(other.left, 20 + 40 + 25);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(other.kept[i], i);
    }
    sprag_scratch_free(&s.scratch);
    sprag_scratch_free(&other.scratch);
}
END_TEST

// Kinds of several sizes, which come in any order: each is reduced as if it were alone.
START_TEST(kinds_do_not_mix)
{
    static set alone, all;
    static sprag_contact right[ROOM];
    const int side[] = {12, 15, 13};
    int count = 0;
    memset(&all, 0, sizeof all);
    for (int i = 0; i < 3; i++) {
        memset(&alone, 0, sizeof alone);
        add_grid(&alone, 3 * _i + i, SPRAG_STATIC, side[i]);
        add_grid(&all, 3 * _i + i, SPRAG_STATIC, side[i]);
        reduce(&alone);
        memcpy(right + count, alone.contact, (size_t)alone.left * sizeof *right);
        count += alone.left;
        sprag_scratch_free(&alone.scratch);
    }
    reduce(&all);
    ck_assert_int_eq(all.left, count);
    ck_assert_mem_eq(all.contact, right, (size_t)count * sizeof *right);
    sprag_scratch_free(&all.scratch);
}
END_TEST

START_TEST(rolling_friction_is_of_the_surface)
{
    static set s;
    const sprag_turning rolling[2] = {{.roll = {.coefficient = {0.1, 0.1}}},
                                      {.roll = {.coefficient = {0.2, 0.2}}}};
    add_grid(&s, 0, 1, SIDE);
    for (int i = 0; i < MANY; i++) {
        s.contact[i].turning = &rolling[i < 20];
    }
    reduce(&s);
    ck_assert_int_eq(s.left, 20 + 40);
    for (int i = 0; i < s.left; i++) {
        ck_assert_double_eq(s.contact[i].turning->roll.coefficient[0], i < 20 ? 0.2 : 0.1);
    }
    sprag_scratch_free(&s.scratch);
}
END_TEST

// Also where another two bodies, whose contacts come before or after, have more of them.
START_TEST(copies_count_once)
{
    static set s;
    memset(&s, 0, sizeof s);
    add_grid(&s, 3 * _i, SPRAG_STATIC, 13);
    for (int i = 3; i < s.count; i++) {
        s.contact[i] = s.contact[i % 3];
    }
    add_grid(&s, 3 * _i + 1, SPRAG_STATIC, SIDE);
    reduce(&s);
    ck_assert_int_eq(s.left, 3 + 40);
    sprag_scratch_free(&s.scratch);
}
END_TEST

// Thousands of contacts, though no two bodies have many: all have an equal part, and the deepest of
// each two stays. As many of a hundred bodies are ordinary.
START_TEST(a_few_bodies_have_some_thousands)
{
    enum { BODIES = 20, GRID = 36, PAIRS = BODIES * (BODIES - 1) / 2 };
    static set s;
    static sprag_contact contact[PAIRS * GRID];
    for (int spread = 0; spread < 2; spread++) {
        int count = 0, *kept, deepest = 0;
        for (int a = 0; a < BODIES; a++) {
            for (int b = 0; b < a; b++) {
                s.count = 0;
                add_grid(&s, spread ? 4 * a + 3 : a, b, 6);
                memcpy(contact + count, s.contact, GRID * sizeof *contact);
                count += GRID;
            }
        }
        const int left = sprag_reduce_contacts(contact, count, &kept, &s.scratch);
        ck_assert(!s.scratch.failed);
        for (int i = 0; i < left; i++) {
            deepest += contact[i].gap == -1e-3 * (1 + 0.5 + 0.25);
        }
        ck_assert_int_eq(left, spread ? count : 10 * PAIRS);
        ck_assert_int_eq(deepest, PAIRS);
    }
    sprag_scratch_free(&s.scratch);
}
END_TEST

// Of 21 bodies 2100 contacts are ordinary, and no more.
START_TEST(a_body_may_have_a_hundred)
{
    enum { GRID = 36, ORDINARY = 2100 / GRID };
    static set s;
    static sprag_contact contact[(ORDINARY + 1) * GRID];
    for (int more = 0; more < 2; more++) {
        int count = 0, *kept;
        for (int i = 0; i < ORDINARY + more; i++) {
            s.count = 0;
            add_grid(&s, 20 - i % 20, SPRAG_STATIC, 6);
            memcpy(contact + count, s.contact, GRID * sizeof *contact);
            for (int k = 0; k < GRID; k++) {
                contact[count++].compliance = 1e-6 * (1 + i / 20); // of another surface
            }
        }
        const int left = sprag_reduce_contacts(contact, count, &kept, &s.scratch);
        ck_assert(!s.scratch.failed);
        ck_assert(more ? left < count : left == count);
    }
    sprag_scratch_free(&s.scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    ADD_TESTS(suite, "all", {ordinary_numbers_stay, 1}, {the_outline_and_the_deepest_stay, 1},
              {those_that_stay_stand_for_the_others, 1}, {kinds_are_apart, 1},
              {kinds_do_not_mix, 8}, {rolling_friction_is_of_the_surface, 1},
              {copies_count_once, 8}, {a_few_bodies_have_some_thousands, 1},
              {a_body_may_have_a_hundred, 1});
    return run_suite(suite);
}
