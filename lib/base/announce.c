#include "lib/base/announce.h"

#include <stdio.h>
#include <stdlib.h>

struct announcement {
    char id[256], kind[16], text[512];
    struct announcement *next;
};

static bool holding;
static struct announcement *first, *last;

void announce(const struct log_source *source, const char *text)
{
    struct announcement *kept = holding ? calloc(1, sizeof *kept) : NULL;
    if (!kept) {
        log_of(source, LOG_INFO, "%s", text);
        return;
    }
    snprintf(kept->id, sizeof kept->id, "%s", source->id);
    snprintf(kept->kind, sizeof kept->kind, "%s", source->kind);
    snprintf(kept->text, sizeof kept->text, "%s", text);
    if (last)
        last->next = kept;
    else
        first = kept;
    last = kept;
}

void announce_hold(void)
{
    holding = true;
}

void announce_release(bool write)
{
    holding = false;
    while (first) {
        struct announcement *kept = first;
        const struct log_source source = {.id = kept->id, .kind = kept->kind};
        if (write)
            log_of(&source, LOG_INFO, "%s", kept->text);
        first = kept->next;
        free(kept);
    }
    last = NULL;
}
