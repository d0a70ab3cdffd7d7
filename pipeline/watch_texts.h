/* Parts of the texts of struct watch_reason that watchers know it by. */
#ifndef PIPELINE_WATCH_TEXTS_H
#define PIPELINE_WATCH_TEXTS_H

/* How the text of a reason begins where a reload is why profiles of the span's time are not known.
 */
#define WATCH_BEFORE_RELOAD                                                                        \
    "By its own time it started before a reload opened this correlation processor"

#endif
