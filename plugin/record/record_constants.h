// Numbers of the recordings. None of them changes the result of a step.
#ifndef SPRAG_RECORD_CONSTANTS_H
#define SPRAG_RECORD_CONSTANTS_H

// Share of its bound from which friction counts as slipping. Greater: the regularised friction of
// sprag, which stays a little below its bound, counts as sticking. Smaller: strong grips count as
// slipping.
#define SLIP_BOUND 0.99

// Share of the speed that gravity gives in a step. A contact that slips faster counts as slipping,
// even if its friction is below the bound that its normal force gives: dWorldStep bounds friction
// by the normal forces of a solve without friction. Greater: contacts of stock that slide slowly
// count as sticking. Smaller: contacts that creep count as slipping.
#define SLIP_SPEED 0.1

// Bytes of frames that are written at once. Greater: more memory. Smaller: the kernel keeps the
// file in smaller pieces and takes longer, by half at an eighth of this.
#define WRITE_SIZE (4 << 20)

// Bytes of the disk that are set aside for a recording at a time. Greater: a run that is killed
// leaves more space behind that no file shows. Smaller: more calls of the system.
#define RESERVE_SIZE (16 << 20)

// s, after which frames are written even if they are fewer. Greater: a run that is killed loses
// more steps. Smaller: slow programs call the system more often.
#define WRITE_TIME 0.1

#endif
