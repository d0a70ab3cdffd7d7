/* A backend's answer to one empty request, human-readable. */
#ifndef PIPELINE_PROBE_RESULT_H
#define PIPELINE_PROBE_RESULT_H

struct probe_result {
    const char *key; /* the key at fault, its path below the component; static */
    char where[256]; /* the URL or address asked, without secrets */
    char text[800];  /* what is wrong and how to fix it, or a warning; "": neither */
    char
        found[400]; /* if good, what follows the signal's name, such as "have the topic x at b:9092;
                       writing was not tested"; "": that its data are accepted or can be read */
};

#endif
