// Contacts without a distance, which the caller gives for the whole frame. If they all separate
// fast enough for a flight, by themselves or by their rebounds, the impulses of these act at the
// start of the frame, and the bodies move in continuous time without the contacts from there on: a
// rebound that is set as a velocity of the end of the frame forgets the weight in between.
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"
#include "mover.h"

static double separation(const sprag_contact *c, const double (*velocity)[6])
{
    double u[3];
    sprag_contact_velocity(c, *velocity, sizeof *velocity, u);
    return dot3(c->frame[0], u);
}

// Do all separate faster than what forces may take back within the frame? Only rebounds may have
// pushed: they are not softened, and a spring pushes as long as it overlaps.
static bool all_fly(const compliant_run *run, const sprag_solution *s)
{
    for (int i = 0; i < run->frame->contacts; i++) {
        const sprag_contact *c = &run->frame->contact[i];
        bool rebound = c->softening == 0 && c->stiffness == 0;
        if (!(separation(c, (const double(*)[6])s->velocity) > 2 * run->sizes.change) ||
            (s->contact_force[i][0] > 0 && !rebound)) {
            return false;
        }
    }
    return true;
}

// Velocities behind the impulses. false: they are not known.
static bool solve(compliant_run *run, sprag_solution *to)
{
    const sprag_frame *frame = run->frame;
    sprag_scratch *scratch = run->solve_scratch;
    sprag_stats stats = {0};
    sprag_body *body = SPRAG_TAKE(scratch, frame->bodies, sprag_body);
    to->velocity = SPRAG_TAKE(scratch, frame->bodies, *to->velocity);
    to->contact_force = SPRAG_TAKE(scratch, frame->contacts, *to->contact_force);
    for (int i = 0; i < frame->bodies && !scratch->failed; i++) {
        const sprag_mover *mover = &frame->body[i];
        body[i].mass = mover->mass;
        sprag_mover_inertia(mover, body[i].inertia);
        memcpy(body[i].velocity, mover->velocity, sizeof body[i].velocity);
        memcpy(body[i].free_velocity, mover->velocity, sizeof body[i].velocity);
    }
    const sprag_problem problem = {.step = frame->step,
                                   .bodies = frame->bodies,
                                   .contacts = frame->contacts,
                                   .body = body,
                                   .contact = frame->contact};
    sprag_stribeck_options options = run->options->solver;
    options.work_left = &run->work_left;
    options.tolerance = COMPLIANT_IMPACT_TOLERANCE;
    return !scratch->failed &&
           sprag_stribeck_solve(&problem, &options, scratch, to, &stats) == SPRAG_OK &&
           sprag_stribeck_limit_energy(&problem, &options, scratch, to, &stats) == SPRAG_OK;
}

bool compliant_leave_given(compliant_run *run, sprag_solution *impulses)
{
    sprag_frame *frame = run->frame;
    if (run->calls->rows) {
        return false;
    }
    sprag_scratch_reset(run->solve_scratch);
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        double change = sprag_mover_acceleration(b) * frame->step;
        run->sizes.change = fmax(run->sizes.change, change);
    }
    if (!solve(run, impulses) || !all_fly(run, impulses)) {
        return false;
    }
    for (int i = 0; i < frame->bodies; i++) {
        memcpy(frame->body[i].velocity, impulses->velocity[i], sizeof frame->body[i].velocity);
    }
    return true;
}
