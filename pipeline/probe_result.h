/* A backend's answer to one empty request, human-readable. */
#ifndef PIPELINE_PROBE_RESULT_H
#define PIPELINE_PROBE_RESULT_H

struct probe_result {
    const char *key; /* the key at fault, its path below the component; static */
    char where[256]; /* the URL or address asked, without secrets */
    char text[800];  /* what is wrong and how to fix it, or a warning; "": neither */
};

#endif
