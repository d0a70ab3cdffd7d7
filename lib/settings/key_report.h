/* How cross checks and rehearsals report errors, with the key at fault. */
#ifndef LIB_SETTINGS_KEY_REPORT_H
#define LIB_SETTINGS_KEY_REPORT_H

#include <stdbool.h>

/* Collects the errors of a component's cross checks; path is dotted, relative to the component. */
struct key_report;
void key_report_add(struct key_report *report, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the key was refused on its own, so that it has its default: no error follows from that.
 * key_report_add leaves out those about the key itself. */
bool key_report_refused(const struct key_report *report, const char *path);

/* Reports a setting that is legal but probably a mistake: a warning is logged, nothing else
 * happens. */
void key_report_warn(struct key_report *report, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A sentence that may begin with the key at fault and a colon ("tls.key_file: ..."). */
void key_report_sentence(struct key_report *report, const char *sentence);

#endif
