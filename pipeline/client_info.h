/*
 * What processors may read of the client that sent a request: its address, and the headers if the
 * receiver has include_metadata. Receivers keep it while some processor reads it. Immutable,
 * refcounted; any thread.
 */
#ifndef PIPELINE_CLIENT_INFO_H
#define PIPELINE_CLIENT_INFO_H

#include "lib/base/peer.h"
#include "lib/base/request_context.h"

struct batch;
struct budget;

struct client_info {
    _Atomic unsigned refs;
    struct budget *budget;   /* that it is charged to; NULL: none */
    char address[PEER_TEXT]; /* without port; "": unknown */
    size_t size;
    uint8_t headers[]; /* "name\0value\0" each, in their order; two NULs follow */
};

/* Copies the headers. NULL: no memory. */
struct client_info *client_info_new(const char *address, struct view headers);
/* Charges it to a budget (NULL: none), also past its limit, unless it is charged already. Call it
 * before other threads have it. */
void client_info_charge(struct client_info *info, struct budget *budget);
/* The headers of these names alone, in the order of the names, without the address; charged to the
 * same budget. NULL: no memory. */
struct client_info *client_info_only(const struct client_info *info, char *const *names,
                                     size_t count);
bool client_info_same_headers(const struct client_info *a, const struct client_info *b);
struct client_info *client_info_ref(struct client_info *info);
void client_info_unref(struct client_info *info); /* may be NULL */

/* What is known of the request that a batch came from; borrowed from it. */
struct request_context batch_context(const struct batch *batch);

/* A processor that reads it calls this when it opens (true) and when it closes (false). */
void client_info_want(bool wanted);
bool client_info_wanted(void);

#endif
