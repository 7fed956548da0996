// Hunt and Crossley's dissipation for a wanted restitution.
#ifndef SPRAG_RESTITUTION_H
#define SPRAG_RESTITUTION_H

// d v0, with d the dissipation (s/m) and v0 the speed of impact (m/s), for which the rebound has
// restitution e > 0. It does not depend on the mass, the stiffness, or the number of springs.
double compliant_dissipation_number(double e);

// The same where a constant force pushes the bodies together meanwhile. push: its acceleration
// over that of the impact, v0 sqrt(k / m).
double compliant_pushed_dissipation_number(double e, double push);

#endif
