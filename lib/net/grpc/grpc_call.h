/* Inside of the gRPC server: a call, from its stream's first byte to its last. */
#ifndef LIB_NET_GRPC_GRPC_CALL_H
#define LIB_NET_GRPC_GRPC_CALL_H

#include "lib/base/arrival.h"
#include "lib/net/grpc/grpc_server.h"
#include "lib/wire/http/grpc_frame.h"

#include <sys/queue.h>

struct grpc_loop;
struct grpc_connection;

/* Bytes of a stream's header list, each field counted with 32 more. */
enum { GRPC_HEADER_LIMIT = 64 * 1024 };

enum grpc_call_state {
    GRPC_CALL_ARRIVING, /* owned by its stream */
    GRPC_CALL_HANDLED,  /* owned by the handler until grpc_respond */
    GRPC_CALL_ANSWERED  /* owned by its stream; the answer is in the session */
};

struct grpc_call {
    TAILQ_ENTRY(grpc_call) of_connection;
    STAILQ_ENTRY(grpc_call) of_answered;
    struct grpc_loop *loop;
    struct grpc_connection *connection; /* NULL once the stream is gone; the loop's thread */
    int32_t stream;
    enum grpc_call_state state; /* the loop's thread */

    struct peer peer;
    struct bytes head;  /* "name\0value\0" each; charged */
    size_t header_size; /* as GRPC_HEADER_LIMIT counts */
    size_t path;        /* offsets of values in head; 0: absent */
    size_t method;
    size_t content_type;
    size_t encoding;
    bool header_overflow;
    bool header_starved;
    enum auth_result auth; /* what the header told of who calls */

    uint8_t prefix[GRPC_PREFIX_SIZE];
    size_t prefix_size;
    struct arrival arrival; /* the message, while it comes in */
    struct bytes message;   /* once it is whole */
    uint64_t begun;         /* the call, mono */
    uint64_t heard;         /* mono: when its last byte came */
    uint64_t received;      /* bytes of its data */

    enum grpc_code code;
    unsigned http_status;
    bool tell_encodings;
    uint64_t retry_after_ns;
    struct bytes reply; /* GRPC_OK: the framed response; else the text, ended by NUL */
    size_t replied;
};

/* grpc_call.c; the loop's thread unless said otherwise. NULL: no memory. */
struct grpc_call *grpc_call_new(struct grpc_connection *connection, int32_t stream);
void grpc_call_header(struct grpc_call *call, struct view name, struct view value);
void grpc_call_begin(struct grpc_call *call); /* the header is whole */
void grpc_call_data(struct grpc_call *call, struct view data);
void grpc_call_end(struct grpc_call *call); /* the client's side of the stream is done */
/* Refuses the calls of a connection that come in too late or too slowly. */
void grpc_calls_hurry(struct grpc_connection *connection);
void grpc_call_detach(struct grpc_call *call); /* its stream is gone */
void grpc_call_free(struct grpc_call *call);   /* any thread */

/* grpc_auth.c. The header is whole. False: it tells that the call is not let in; it is refused. */
bool grpc_auth_admits(struct grpc_call *call);
/* Calls the handler, now or once the credentials are checked, or answers in its place. */
void grpc_auth_handle(struct grpc_call *call);

/* Tells that the server refuses the call itself, while its header is there. Any thread. */
void grpc_call_refused(const struct grpc_call *call, const struct outcome *why);

/* grpc_answer.c */
void grpc_call_submit(struct grpc_call *call); /* after grpc_respond; the loop's thread */
/* Fill the answer of a call that no handler has or gets, tell of it, and submit it. */
void grpc_call_refuse_by(struct grpc_call *call, const struct outcome *why);
void grpc_call_refuse(struct grpc_call *call, enum grpc_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
