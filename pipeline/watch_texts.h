/* Parts of the texts of struct watch_reason that watchers know it by. */
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

#endif
