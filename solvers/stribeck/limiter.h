// How far one slip may change at once, as a fraction of its update (arXiv 1909.05700, section
// IV.B): it may enter the stiction circle but not jump over it, and may not turn by more than
// theta.
#ifndef SPRAG_LIMITER_H
#define SPRAG_LIMITER_H

// v, dv: m/s. tolerance: m/s, radius of the stiction circle. small: slips below this part of it are
// at rest. theta: rad. Returns alpha in (0, 1].
double sprag_limit_slip(const double v[2], const double dv[2], double tolerance, double small,
                        double theta);

#endif
