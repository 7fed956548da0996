#define _DEFAULT_SOURCE 1 // TIOCGWINSZ
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2 }; // blanks between two columns

static table_style style;

void table_choose_style(bool markdown)
{
    const char *columns = getenv("COLUMNS"), *no_colour = getenv("NO_COLOR");
    bool terminal = isatty(STDOUT_FILENO);
    struct winsize window;
    style = (table_style){.markdown = markdown};
    style.colours = terminal && !markdown && !(no_colour && *no_colour);
    if (columns && atoi(columns) > 0) {
        style.width = atoi(columns);
    } else if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) {
        style.width = window.ws_col;
    }
}

bool table_is_markdown(void)
{
    return style.markdown;
}

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

// The columns that are printed side by side, and the widths of all.
typedef struct layout {
    int width[TABLE_COLUMNS], columns;
    bool shown[TABLE_COLUMNS];
} layout;

static layout measure(const table *t)
{
    layout l = {.columns = 0};
    for (int i = 0; i < t->rows; i++) {
        for (int j = 0; j < TABLE_COLUMNS; j++) {
            int length = (int)strlen(t->cell[i][j]);
            l.width[j] = length > l.width[j] ? length : l.width[j];
            l.columns = length && j >= l.columns ? j + 1 : l.columns;
        }
    }
    return l;
}

// Begins the colour of the verdict that ends a cell.
static const char *colour_of(const char *word)
{
    static const char green[] = "\033[32m", red[] = "\033[31m";
    if (!style.colours) {
        return NULL;
    }
    return strncmp(word, "better", 6) == 0 || strcmp(word, "good") == 0 ? green
           : strncmp(word, "worse", 5) == 0 || strcmp(word, "bad") == 0 ? red
                                                                        : NULL;
}

static void print_cell(const char *cell, int length, FILE *to)
{
    int word = length;
    while (word > 0 && cell[word - 1] != ' ') {
        word--;
    }
    const char *colour = colour_of(cell + word);
    fprintf(to, "%.*s%s%.*s%s", word, cell, colour ? colour : "", length - word, cell + word,
            colour ? "\033[0m" : "");
}

static int shown_length(const char *cell)
{
    int length = (int)strlen(cell);
    while (length > 0 && cell[length - 1] == ' ') {
        length--;
    }
    return length;
}

static void print_rows(const table *t, const layout *l, FILE *to)
{
    for (int i = 0; i < t->rows; i++) {
        int blank = 0; // not printed unless something follows
        for (int j = 0; j < l->columns; j++) {
            const char *cell = t->cell[i][j];
            if (!l->shown[j]) {
                continue;
            }
            int length = (int)strlen(cell), padding = l->width[j] - length;
            int shown = shown_length(cell);
            blank += j < t->left ? 0 : padding;
            if (shown > 0) {
                fprintf(to, "%*s", blank, "");
                print_cell(cell, shown, to);
                blank = 0;
            }
            blank += length - shown + (j < t->left ? padding : 0) + GAP;
        }
        fputc('\n', to);
    }
}

// The first row becomes the head.
static void print_markdown(const table *t, const layout *l, FILE *to)
{
    for (int i = 0; i < t->rows; i++) {
        for (int j = 0; j < l->columns; j++) {
            fprintf(to, "| %.*s ", shown_length(t->cell[i][j]), t->cell[i][j]);
        }
        fputs("|\n", to);
        for (int j = 0; i == 0 && j < l->columns; j++) {
            fputs(j < t->left ? "|---" : "|---:", to);
        }
        fputs(i == 0 ? "|\n" : "", to);
    }
}

void table_print(const table *t, FILE *to)
{
    layout l = measure(t);
    if (style.markdown) {
        print_markdown(t, &l, to);
        return;
    }
    int first = t->fixed;
    do {
        int used = 0;
        for (int j = 0; j < l.columns; j++) {
            bool fits = j >= first && (j == first || !style.width || !t->fixed ||
                                       used + l.width[j] <= style.width);
            l.shown[j] = j < t->fixed || (fits && (j == first || l.shown[j - 1]));
            used += l.shown[j] ? l.width[j] + GAP : 0;
        }
        while (first < l.columns && l.shown[first]) {
            first++;
        }
        print_rows(t, &l, to);
        fputs(first < l.columns ? "\n" : "", to);
    } while (first < l.columns);
}
