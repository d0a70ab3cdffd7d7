/* Internal to the gRPC server: a call, from its stream's first byte to its last. */
#ifndef LIB_NET_GRPC_GRPC_CALL_H
#define LIB_NET_GRPC_GRPC_CALL_H

#include "lib/base/arrival.h"
#include "lib/net/grpc/grpc_server.h"
#include "lib/wire/http/grpc_frame.h"

#include <sys/queue.h>

struct grpc_loop;
struct grpc_connection;

/* Limit of a stream's header list, in bytes, plus 32 per field (RFC 9113, 6.5.2). */
enum { GRPC_HEADER_LIMIT = 64 * 1024 };

/* Of a decoded header block: beyond it the connection is closed, as a few bytes of references of
 * HPACK are megabytes to decode. */
enum { GRPC_HEADER_MOST = 1 << 20 };

enum grpc_call_state {
    GRPC_CALL_ARRIVING, /* owned by its stream */
    GRPC_CALL_HANDLED,  /* owned by the handler until grpc_respond */
    GRPC_CALL_ANSWERED  /* owned by its stream; the session has the response */
};

struct grpc_call {
    TAILQ_ENTRY(grpc_call) of_connection;
    STAILQ_ENTRY(grpc_call) of_answered;
    struct grpc_loop *loop;
    struct grpc_connection *connection; /* NULL once the stream is closed; loop's thread */
    int32_t stream;
    enum grpc_call_state state; /* loop's thread */

    struct peer peer;
    struct bytes head;  /* "name\0value\0" each; charged */
    size_t header_size; /* counted as for GRPC_HEADER_LIMIT */
    size_t path;        /* offsets of the values in head; 0: absent */
    size_t method;
    size_t content_type;
    size_t encoding;
    bool header_overflow;
    bool header_starved;
    enum auth_result auth; /* of the caller, from the header */

    uint8_t prefix[GRPC_PREFIX_SIZE];
    size_t prefix_size;
    struct arrival arrival; /* the message while it is being received */
    struct bytes message;   /* the whole message */
    uint64_t begun;         /* start of the call, mono */
    uint64_t received_at;   /* mono: when its last byte arrived */
    uint64_t received;      /* bytes of its data */

    enum grpc_code code;
    unsigned http_status;
    bool list_encodings;
    uint64_t retry_after_ns;
    struct bytes reply; /* GRPC_OK: the framed response; else the text, NUL-terminated */
    size_t replied;
};

/* grpc_call.c; on the loop's thread unless noted otherwise. NULL: no memory. */
struct grpc_call *grpc_call_new(struct grpc_connection *connection, int32_t stream);
void grpc_call_header(struct grpc_call *call, struct view name, struct view value);
void grpc_call_begin(struct grpc_call *call); /* the header is complete */
void grpc_call_data(struct grpc_call *call, struct view data);
void grpc_call_end(struct grpc_call *call); /* the client has ended its side of the stream */
/* Refuses the calls of a connection that arrive too slowly or have stalled. */
void grpc_calls_check_deadlines(struct grpc_connection *connection);
/* Moves their time limits: the loop read nothing for so long. */
void grpc_calls_postpone(struct grpc_connection *connection, uint64_t ns);
void grpc_call_detach(struct grpc_call *call); /* its stream is closed */
void grpc_call_free(struct grpc_call *call);   /* any thread */

/* grpc_auth.c. Called once the header is complete. False: the header's credentials are not
 * accepted, and the call has been refused. */
bool grpc_auth_admits(struct grpc_call *call);
/* Calls the handler, now or once the credentials are checked, or refuses the call. */
void grpc_auth_handle(struct grpc_call *call);

/* Reports that the server refuses the call itself; its header must still exist. Any thread. */
void grpc_call_refused(const struct grpc_call *call, const struct outcome *why);

/* Reports a call whose client leaves before the call's end; nothing for others. */
void grpc_call_left(const struct grpc_call *call);
void grpc_calls_left(const struct grpc_connection *connection); /* all of it */

/* grpc_answer.c */
void grpc_call_submit(struct grpc_call *call); /* after grpc_respond; loop's thread */
/* Refuse a call that no handler has or will get: fill the response, report it, and submit it. */
void grpc_call_refuse_by(struct grpc_call *call, const struct outcome *why);
void grpc_call_refuse(struct grpc_call *call, enum grpc_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
