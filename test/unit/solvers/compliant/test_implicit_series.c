// When an integration ends early, and how many frames pairs leave to the implicit step after it.
#include "compliant_run.h"
#include "suite.h"

// Series are twice as long with every failure, up to 64 frames, and half as long with every frame
// that came to its end; of pairs that do not touch, nothing is known. Those that contacts that hold
// have ended count where many in a row did.
START_TEST(a_series_doubles_and_halves)
{
    static const int longer[] = {1, 2, 4, 8, 16, 32, 64, 64},
                     shorter[] = {32, 16, 8, 4, 2, 1, 0, 0};
    const bool touches = _i != 1, holds = _i == 2;
    sprag_pair_memory memory = {0};
    sprag_pair pair = {.memory = &memory};
    sprag_frame frame = {.pair = &pair, .pairs = 1, .step = 0.01};
    compliant_law law = {.status = COMPLIANT_INTEGRATED};
    const sprag_compliant_options options = {0};
    int index = 0;
    double label = touches, gap = touches ? -1e-3 : 1;
    compliant_run run = {
        .frame = &frame,
        .options = &options,
        .hold_work = holds ? 0 : 1,
        .guards = {.pairs = 1, .pair = &index, .law = &law, .label = &label, .gap = &gap}};
    for (int i = 0; i < (holds ? COMPLIANT_TRIES : 0); i++) {
        compliant_set_implicit_series(&run, false);
        ck_assert_int_eq(memory.compliant.implicit_frames, 0);
    }
    for (int i = 0; i < 8; i++) {
        compliant_set_implicit_series(&run, false);
        ck_assert_int_eq(memory.compliant.implicit_series, touches ? longer[i] : 0);
        ck_assert_int_eq(memory.compliant.implicit_frames, touches ? longer[i] : 0);
    }
    for (int i = 0; i < 8; i++) {
        compliant_set_implicit_series(&run, true);
        ck_assert_int_eq(memory.compliant.implicit_series, touches ? shorter[i] : 0);
        ck_assert_int_eq(memory.compliant.implicit_frames, 0);
    }
}
END_TEST

// A frame that meets a state beyond which no forces are found ends, though it has work left.
START_TEST(lost_forces_end_the_integration)
{
    sprag_frame frame = {.step = 0.01};
    const sprag_compliant_options options = sprag_compliant_defaults();
    compliant_run run = {.frame = &frame,
                         .options = &options,
                         .work_left = 1,
                         .hold_work = 1,
                         .held = {.lost = COMPLIANT_LOST_MAX - 1}};
    ck_assert(!compliant_is_over_budget(&run, 0.005));
    run.held.lost++;
    ck_assert(compliant_is_over_budget(&run, 0.005));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("implicit_series");
    ADD_TESTS(suite, "all", {a_series_doubles_and_halves, 3}, {lost_forces_end_the_integration, 1});
    return run_suite(suite);
}
