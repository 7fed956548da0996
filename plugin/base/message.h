// Messages to the user, through dMessage.
#ifndef SPRAG_MESSAGE_H
#define SPRAG_MESSAGE_H

// Prints a text unless this process has printed the same text before, or 64 texts.
void message_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Control characters become question marks: names of files may hold line breaks.
void message_make_plain(char *text);

#endif
