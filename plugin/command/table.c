#include <stdarg.h>
#include <string.h>

#include "table.h"

void table_row(table *t)
{
    t->rows += t->rows < TABLE_ROWS;
}

void table_set(table *t, int column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (t->rows > 0 && column < TABLE_COLUMNS) {
        vsnprintf(t->cell[t->rows - 1][column], TABLE_CELL, format, arguments);
    }
    va_end(arguments);
}

void table_print(const table *t, FILE *to)
{
    int width[TABLE_COLUMNS] = {0}, columns = 0;
    for (int i = 0; i < t->rows; i++) {
        for (int j = 0; j < TABLE_COLUMNS; j++) {
            int length = (int)strlen(t->cell[i][j]);
            width[j] = length > width[j] ? length : width[j];
            columns = length && j >= columns ? j + 1 : columns;
        }
    }
    for (int i = 0; i < t->rows; i++) {
        int blank = 0; // not printed unless something follows
        for (int j = 0; j < columns; j++) {
            const char *cell = t->cell[i][j];
            int padding = width[j] - (int)strlen(cell);
            blank += j < t->left ? 0 : padding;
            int shown = (int)strlen(cell);
            while (shown > 0 && cell[shown - 1] == ' ') {
                shown--;
            }
            if (shown > 0) {
                fprintf(to, "%*s%.*s", blank, "", shown, cell);
                blank = 0;
            }
            blank += (int)strlen(cell) - shown + (j < t->left ? padding : 0) + 2;
        }
        fputc('\n', to);
    }
}
