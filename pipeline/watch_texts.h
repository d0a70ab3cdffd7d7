/* Parts of the texts of struct watch_reason that watchers know it by, or say too. */
#ifndef PIPELINE_WATCH_TEXTS_H
#define PIPELINE_WATCH_TEXTS_H

/* How the text of a reason begins where a reload is why profiles of the span's time are not known.
 */
#define WATCH_BEFORE_RELOAD                                                                        \
    "By its own time it started before a reload opened this correlation processor"

/* The text of the reason that the profiler of the span's service seems to have stopped. */
#define WATCH_SILENT                                                                               \
    "It waited as long as a profile of its time may take, and no profile of its service has come " \
    "for long."

/* Ends what is to be done where the names of spans and profiles differ. */
#define WATCH_NAME_CHANGED "If both send one name, a processor in front of correlation changes it."
#define WATCH_NAMES_FIX                                                                            \
    "Give the profiler the name of the spans, or the SDK the name of the "                         \
    "profiles. " WATCH_NAME_CHANGED

#endif
