/* How cross checks and rehearsals name the key that is at fault. */
#ifndef LIB_SETTINGS_KEY_REPORT_H
#define LIB_SETTINGS_KEY_REPORT_H

/* What a component's own cross checks complain about; path is dotted, below the component. */
struct key_report;
void key_report_add(struct key_report *report, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of what is legal and hardly meant: it is logged, and all goes on. */
void key_report_warn(struct key_report *report, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A sentence that may begin with the key at fault and a colon ("tls.key_file: ..."). */
void key_report_sentence(struct key_report *report, const char *sentence);

#endif
