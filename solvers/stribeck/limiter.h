// The limiter of arXiv 1909.05700, section IV.B: the largest share of an update by which one slip
// may change. The slip may enter the stiction circle but not cross it, and may not turn by more
// than theta.
#ifndef SPRAG_LIMITER_H
#define SPRAG_LIMITER_H

// v, dv: m/s. tolerance: m/s, radius of the stiction circle. small: slips below this share of it
// are at rest. theta: rad. Returns alpha in (0, 1].
double sprag_limit_slip(const double v[2], const double dv[2], double tolerance, double small,
                        double theta);

#endif
