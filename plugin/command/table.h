// Tables as text, with columns as wide as their widest cell.
#ifndef SPRAG_TABLE_H
#define SPRAG_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum { TABLE_ROWS = 32, TABLE_COLUMNS = 12, TABLE_CELL = 64 };

typedef struct table {
    int rows;
    int left;  // so many columns are flush left, the others flush right
    int fixed; // so many columns begin each part of a table that is too wide for the terminal
    char cell[TABLE_ROWS][TABLE_COLUMNS][TABLE_CELL];
} table;

// Set by table_choose_style for all tables.
typedef struct table_style {
    bool markdown;
    bool colours; // of verdicts
    int width;    // characters of a line; 0: any
} table_style;

// Colours if standard output is a terminal and NO_COLOR is not set; the width of the terminal, or
// COLUMNS.
void table_choose_style(bool markdown);
bool table_is_markdown(void);

void table_row(table *t); // begins a row
void table_set(table *t, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4))); // a cell of it
void table_print(const table *t, FILE *to);

#endif
