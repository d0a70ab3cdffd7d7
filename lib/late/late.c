#include "lib/late/late.h"

#ifdef SPANLINK_LATE

#include "lib/base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What stands in for the library's is for the archives alone. */
#pragma GCC visibility push(hidden)
#include <gnutls/gnutls.h>

enum { PAGE = 4096 };

struct late {
    const char *file;
    const char *names; /* one behind the other; an empty one ends them */
    void **slots;      /* in their order, in pages of their own */
    bool loaded;
};

/* In the table that cmake/late.cmake writes, which also refers to what follows. */
extern const char late_names_gnutls[], late_names_idn2[];
extern void *late_slots_gnutls[], *late_slots_idn2[];
extern struct late late_gnutls, late_idn2;
void late_load(struct late *library);

struct late late_gnutls = {GNUTLS_FILE, late_names_gnutls, late_slots_gnutls, false};
struct late late_idn2 = {IDN2_FILE, late_names_idn2, late_slots_idn2, false};

/* libmicrohttpd and libcurl call these at their own start and end, whether there will be TLS or
 * not; the library does the same by itself as it is loaded. */
int gnutls_global_init(void)
{
    return 0;
}

void gnutls_global_deinit(void)
{
}

/* Data, not functions; the library's own have the same values. */
gnutls_alloc_function gnutls_malloc = malloc;
gnutls_free_function gnutls_free = free;

/* As read-only relocations are once they are done. */
static bool seal(void **slots, size_t count)
{
    size_t pages = (count * sizeof *slots + PAGE - 1) / PAGE;
    return mprotect(slots, pages * PAGE, PROT_READ) == 0;
}

static bool late_late_load(struct late *library)
{
    size_t count = 0;
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    for (const char *name = library->names; *name; name += strlen(name) + 1, count++)
        if (!(library->slots[count] = dlsym(handle, name)))
            return false;
    return seal(library->slots, count);
}

static bool load_once(struct late *library, char *error, size_t error_size)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    bool loaded = library->loaded || late_late_load(library);
    if (!loaded) {
        const char *why = dlerror();
        snprintf(error, error_size, "%s cannot be loaded: %s", library->file,
                 why ? why : strerror(errno));
    }
    library->loaded = loaded;
    pthread_mutex_unlock(&mutex);
    return loaded;
}

/* From the table, at the first call of any function of the library. */
void late_load(struct late *library)
{
    char error[512];
    if (load_once(library, error, sizeof error))
        return;
    log_error("%s", error);
    abort();
}

bool late_has_tls(char *error, size_t error_size)
{
    return load_once(&late_gnutls, error, error_size);
}

#else

bool late_has_tls(char *error, size_t error_size)
{
    (void)error, (void)error_size;
    return true;
}

#endif
