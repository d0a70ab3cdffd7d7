/* Certificates in use that have expired. Any thread. */
#ifndef EXTENSIONS_STATUS_EXPIRED_H
#define EXTENSIONS_STATUS_EXPIRED_H

#include "lib/base/bytes.h"

/* Appends a sentence for each certificate that servers and clients of this process present and that
 * has expired at a wall time, ns; "; " between them, and before them if there is text already. CAs
 * are left out: a bundle may have expired ones beside those in use. */
void expired_tell(uint64_t wall_ns, struct bytes *out);

#endif
