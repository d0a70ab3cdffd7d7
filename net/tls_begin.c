#include "net/tls_begin.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <string.h>

/* It does not start itself. */
GNUTLS_SKIP_GLOBAL_INIT

/* In the place of the library's: libmicrohttpd calls it as it is loaded, libcurl at its own start,
 * and both think of TLS that may never come. */
int gnutls_global_init(void)
{
    return 0;
}

static void begin(void)
{
    int (*start)(void);
    void *found = dlsym(RTLD_NEXT, "gnutls_global_init");
    memcpy(&start, &found, sizeof start);
    if (start)
        start();
}

void tls_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
}
