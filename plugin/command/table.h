// Tables as text, with columns as wide as their widest cell.
#ifndef SPRAG_TABLE_H
#define SPRAG_TABLE_H

#include <stdio.h>

enum { TABLE_ROWS = 32, TABLE_COLUMNS = 12, TABLE_CELL = 64 };

typedef struct table {
    int rows;
    int left; // so many columns are flush left, the others flush right
    char cell[TABLE_ROWS][TABLE_COLUMNS][TABLE_CELL];
} table;

void table_row(table *t); // begins a row
void table_set(table *t, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4))); // a cell of it
void table_print(const table *t, FILE *to);

#endif
