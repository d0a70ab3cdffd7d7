#include "tests/support/keeper.h"

#include "lib/wire/codec/compress.h"
#include "pipeline/delivery/delivery.h"
#include "tests/support/forever.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 256 };

struct keeper {
    struct delivery delivery;
};

static const struct key keys[] = {
    KEY_GROUP(struct keeper, delivery.queue, struct queue_settings, "sending_queue", queue_keys,
              "the queue"),
    KEY_GROUP(struct keeper, delivery.retry, struct retry_settings, "retry_on_failure", retry_keys,
              "the retries"),
    KEY_END,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct outcome answer;
static bool gate_closed;
static struct batch *kept[MAX_KEPT];
static size_t kept_count;

void keeper_answers(const struct outcome *outcome)
{
    pthread_mutex_lock(&lock);
    answer = *outcome;
    pthread_mutex_unlock(&lock);
}

void keeper_gate(bool closed)
{
    pthread_mutex_lock(&lock);
    gate_closed = closed;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

const struct batch *keeper_batch(size_t nth)
{
    pthread_mutex_lock(&lock);
    while (kept_count <= nth)
        pthread_cond_wait(&changed, &lock);
    const struct batch *batch = kept[nth];
    pthread_mutex_unlock(&lock);
    return batch;
}

size_t keeper_count(void)
{
    pthread_mutex_lock(&lock);
    size_t count = kept_count;
    pthread_mutex_unlock(&lock);
    return count;
}

/* A copy without receipts, so that keeping it keeps no client waiting. */
static struct batch *copy_of(const struct batch *batch)
{
    struct buffer *payload = buffer_new(batch->payload->size, NULL, true);
    ck_assert_ptr_nonnull(payload);
    memcpy(payload->data, batch->payload->data, batch->payload->size);
    struct batch *copy = batch_new(batch->signal, batch->encoding, payload, batch->items, NULL);
    ck_assert_ptr_nonnull(copy);
    copy->metadata = batch->metadata ? metadata_ref(batch->metadata) : NULL;
    copy->series = batch->series ? series_ref(batch->series) : NULL;
    if (batch->profile) {
        copy->profile = malloc(sizeof *copy->profile);
        *copy->profile = *batch->profile;
        if (batch->profile->sample_type_config)
            copy->profile->sample_type_config = strdup(batch->profile->sample_type_config);
        if (batch->profile->spy_name)
            copy->profile->spy_name = strdup(batch->profile->spy_name);
    }
    if (batch->opaque) {
        copy->opaque = malloc(sizeof *copy->opaque);
        copy->opaque->query = strdup(batch->opaque->query);
        copy->opaque->content_type =
            batch->opaque->content_type ? strdup(batch->opaque->content_type) : NULL;
    }
    return copy;
}

static struct outcome keeper_send(void *instance, struct batch *batch)
{
    (void)instance;
    pthread_mutex_lock(&lock);
    while (gate_closed)
        pthread_cond_wait(&changed, &lock);
    ck_assert_uint_lt(kept_count, MAX_KEPT);
    kept[kept_count++] = copy_of(batch);
    struct outcome outcome = answer;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return outcome;
}

static const struct delivery *keeper_delivery(const void *instance)
{
    return &((const struct keeper *)instance)->delivery;
}

const struct component scripted_keeper = {
    .type = "keeper",
    .text = "keeps what it is given",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct keeper),
    .keys = keys,
    .send = keeper_send,
    .delivery = keeper_delivery,
};

static char folder[64];

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s stays\n", folder);
}

const char *receiver_folder(void)
{
    if (!*folder) {
        strcpy(folder, "/tmp/keeper.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        atexit(remove_folder);
    }
    return folder;
}

void receiver_start(struct given_runtime *given, const char *yaml)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (const char *mark; (mark = strstr(yaml, "%s")); yaml = mark + 2)
        fprintf(out, "%.*s%s", (int)(mark - yaml), yaml, receiver_folder());
    fputs(yaml, out);
    fclose(out);
    given_start(given, text);
    free(text);
}

int receiver_connect(const char *name)
{
    char bound[160];
    snprintf(bound, sizeof bound, "unix:%s/%s", receiver_folder(), name);
    int fd = raw_connect(bound);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void read_answer(int fd, const char *target, int status, struct http_answer *got)
{
    raw_read(fd, got);
    ck_assert_msg(got->status == status, "%s: %d, not %d: %.*s", target, got->status, status,
                  (int)got->size, got->body);
}

void receiver_post(int fd, const char *target, const char *headers, struct view body, int status,
                   struct http_answer *got)
{
    char *head;
    ck_assert_int_gt(asprintf(&head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n",
                              target, body.size, headers),
                     0);
    raw_send(fd, head);
    free(head);
    if (body.size)
        raw_send_bytes(fd, body.data, body.size);
    read_answer(fd, target, status, got);
}

void receiver_post_chunked(int fd, const char *target, const char *headers, struct view body,
                           int status, struct http_answer *got)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n%s\r\n", target,
            headers);
    for (size_t at = 0; at < body.size; at += 100) {
        size_t piece = body.size - at < 100 ? body.size - at : 100;
        fprintf(out, "%zx\r\n", piece);
        fwrite(body.data + at, 1, piece, out);
        fputs("\r\n", out);
    }
    fputs("0\r\n\r\n", out);
    fclose(out);
    raw_send_bytes(fd, text, size);
    free(text);
    read_answer(fd, target, status, got);
}

struct view receiver_recorded(const char *path)
{
    struct bytes content;
    uint8_t part[4096];

    FILE *file = fopen(path, "rb");
    ck_assert_msg(file, "%s", path);
    bytes_init(&content, 64 << 20, NULL);
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        ck_assert_int_eq(bytes_append(&content, part, n), BYTES_OK);
    fclose(file);
    return forever(content);
}

struct view receiver_gzip(struct view body)
{
    struct bytes packed;
    bytes_init(&packed, 64 << 20, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, body, &packed));
    return forever(packed);
}

bool answer_has(const struct http_answer *got, const char *text)
{
    return strcasestr(got->head, text);
}

struct view answer_body(const struct http_answer *got)
{
    return (struct view){(const uint8_t *)got->body, got->size};
}
