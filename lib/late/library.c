#include "lib/late/library.h"

#include "lib/base/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { UNKNOWN, LOADED, MISSING };

static bool library_load(const struct late_library *library)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    for (const struct late_function *each = library->functions; handle && each->name; each++) {
        void *address = dlsym(handle, each->name);
        if (!address)
            return false;
        memcpy(each->pointer, &address, sizeof address);
    }
    return handle;
}

static int load_once(struct late_library *library)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    int state = atomic_load(&library->state);
    if (state == UNKNOWN) {
        state = library_load(library) ? LOADED : MISSING;
        const char *why = state == MISSING ? dlerror() : NULL;
        if (state == MISSING)
            log_error("%s cannot be loaded: %s", library->file, why ? why : "no reason given");
        atomic_store(&library->state, state);
    }
    pthread_mutex_unlock(&mutex);
    return state;
}

bool late_library_open(struct late_library *library)
{
    int state = atomic_load(&library->state);
    return (state == UNKNOWN ? load_once(library) : state) == LOADED;
}
