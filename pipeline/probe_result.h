/* What a backend said to one empty request; for people. */
#ifndef PIPELINE_PROBE_RESULT_H
#define PIPELINE_PROBE_RESULT_H

struct probe_result {
    const char *key; /* to blame, its path below the component; static */
    char where[256]; /* that was asked: a URL or an address, without secrets */
    char text[800];  /* what is wrong, and how that may be put right; "" where nothing is */
};

#endif
