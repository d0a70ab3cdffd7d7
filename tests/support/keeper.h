/*
 * An exporter that keeps every batch, of any encoding, and answers as the test sets; and helpers
 * for tests of a receiver in front of it: a folder for its unix sockets, and requests with a body.
 * With sending_queue.enabled: false clients get the exporter's own answers.
 */
#ifndef TESTS_SUPPORT_KEEPER_H
#define TESTS_SUPPORT_KEEPER_H

#include "pipeline/component.h"
#include "tests/support/given_runtime.h"
#include "tests/support/http_fixture.h"

extern const struct component scripted_keeper; /* exporter "keeper" */

/* Sets the answer to every further send; OK initially. */
void keeper_answers(const struct outcome *outcome);

/* Sends block while it is closed. */
void keeper_gate(bool closed);

/* Returns the nth batch (from 0), once it arrived; valid until the process ends. */
const struct batch *keeper_batch(size_t nth);
size_t keeper_count(void);

/* Returns this process's folder for sockets, made at the first call. */
const char *receiver_folder(void);

/* Calls given_start with every "%s" of the YAML replaced by the folder. */
void receiver_start(struct given_runtime *given, const char *yaml);

/* Connects to a socket of the folder. */
int receiver_connect(const char *name);

/* Sends a request with this body and its Content-Length; headers are whole lines. Reads one answer
 * and checks its status. */
void receiver_post(int fd, const char *target, const char *headers, struct view body, int status,
                   struct http_answer *answer);

/* The same, in chunks of a few bytes. */
void receiver_post_chunked(int fd, const char *target, const char *headers, struct view body,
                           int status, struct http_answer *answer);

/* Reads a file; valid until the process ends. */
struct view receiver_recorded(const char *path);

/* Compresses with gzip; valid until the process ends. */
struct view receiver_gzip(struct view body);

bool answer_has(const struct http_answer *answer,
                const char *text); /* searches the answer's head, in any case */
struct view answer_body(const struct http_answer *answer);

#endif
