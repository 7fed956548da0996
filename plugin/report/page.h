// A page of HTML with plots, a 3-D replay and tables of recordings and of a comparison. It is one
// file and loads nothing.
#ifndef SPRAG_PAGE_H
#define SPRAG_PAGE_H

#include "film.h"

typedef struct page {
    const json_t *comparison; // as `sprag compare --json` writes it; NULL: none
    const char *const *recording;
    int recordings;
    bool passing; // the recordings are removed when the page is written: it does not name them
} page;

// false: message says why.
bool page_write(const page *p, const char *file, char message[REPORT_MESSAGE]);

#endif
