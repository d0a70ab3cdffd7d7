#include "pipeline/otlp_request.h"

#include "lib/wire/json/otlp_json.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/profiles/otlp_profiles.h"
#include "lib/wire/profiles/profiles_upgrade.h"
#include "lib/wire/proto/proto_normal.h"
#include "lib/wire/proto/proto_write.h"

/* Memory for the edits that remove invalid spans from one request, and for an index of profiles. */
enum { EDIT_CAP = 64 << 20, INDEX_CAP = 256 << 20 };

static struct outcome from_json(enum signal signal, struct bytes *body)
{
    struct bytes binary;
    char reason[128];
    bytes_init(&binary, body->max, body->budget);
    bool read = otlp_json_read(signal, bytes_view(body), &binary, reason, sizeof reason);
    bytes_release(body);
    *body = binary;
    if (read)
        return OUTCOME_OK;
    bytes_release(body);
    if (!*reason)
        return outcome_no_memory();
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "malformed JSON: %s", reason);
}

/* Checks a request, taking notes on spans anew. */
static struct outcome check_once(enum signal signal, const struct bytes *body,
                                 struct otlp_found *found, struct otlp_notes *notes)
{
    struct proto_fault fault;
    bytes_release(&notes->rows);
    if (signal == SIGNAL_TRACES)
        otlp_notes_begin(notes, bytes_view(body), body->budget);
    if (otlp_check_all(signal, bytes_view(body), notes, found, &fault))
        return OUTCOME_OK;
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "malformed protobuf: %s in %s, field %u, at byte %zu", fault.reason,
                      fault.message, fault.field, fault.offset);
}

/* Puts a request into the form in which all others read it. False: no memory. */
static bool normalize(enum signal signal, struct bytes *body)
{
    struct arena arena;
    struct bytes normal;
    arena_init(&arena, budget_cap(body->budget, EDIT_CAP));
    arena_charge(&arena, body->budget, budget_take, ARENA_SMALL);
    bytes_init(&normal, body->max, body->budget);
    bool done = proto_normal(otlp_shape(signal), bytes_view(body), &arena, &normal);
    arena_release(&arena);
    if (done) {
        bytes_release(body);
        *body = normal;
    } else {
        bytes_release(&normal);
    }
    return done;
}

static struct outcome otlp_request_check(enum signal signal, struct bytes *body,
                                         struct otlp_found *found, struct otlp_notes *notes)
{
    struct outcome outcome = check_once(signal, body, found, notes);
    if (outcome.verdict != VERDICT_OK || !found->odd)
        return outcome;
    return normalize(signal, body) ? check_once(signal, body, found, notes) : outcome_no_memory();
}

static struct buffer *spliced(const struct splice *splice, struct budget *budget)
{
    struct buffer *buffer = buffer_new(splice_size(splice), budget, false);
    if (buffer)
        splice_write(splice, buffer->data);
    return buffer;
}

static struct outcome bad_profiles(const char *reason)
{
    if (reason == otlp_profiles_too_large)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                          "the profiles have too many entries for the memory limit");
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "malformed profiles: %s", reason);
}

/* Converts profiles in an older layout of the protocol to the one that all code here reads. JSON
 * names its fields, so only binary requests can be old. */
static struct outcome upgrade(struct bytes *body)
{
    struct arena arena;
    struct bytes current;
    const char *reason = "";
    arena_init(&arena, budget_cap(body->budget, INDEX_CAP));
    arena_charge(&arena, body->budget, budget_take, ARENA_SMALL);
    bytes_init(&current, body->max, body->budget);
    enum profiles_upgrade result = profiles_upgrade(bytes_view(body), &arena, &current, &reason);
    arena_release(&arena);
    if (result == PROFILES_REFUSED) {
        bool starved = arena.starved || reason == proto_write_no_memory;
        bytes_release(&current);
        return starved ? outcome_no_memory() : bad_profiles(reason);
    }
    if (result == PROFILES_UPGRADED) {
        bytes_release(body);
        *body = current;
    }
    return OUTCOME_OK;
}

/* References outside a request's tables: a backend would accept them and show nothing, or something
 * wrong. */
static struct outcome otlp_request_check_profiles(const struct bytes *body)
{
    struct arena arena;
    struct otlp_dictionary dictionary;
    const char *reason = "";
    arena_init(&arena, budget_cap(body->budget, INDEX_CAP));
    arena_charge(&arena, body->budget, budget_take, ARENA_SMALL);
    bool good = otlp_dictionary_open(&dictionary, bytes_view(body), &arena, &reason);
    arena_release(&arena);
    if (good)
        return OUTCOME_OK;
    return arena.starved ? outcome_no_memory() : bad_profiles(reason);
}

/* Removes from the request what no backend accepts; *buffer NULL: no memory. */
static struct outcome without_invalid(struct bytes *body, struct otlp_request *request,
                                      struct buffer **buffer)
{
    struct arena arena;
    struct splice splice;
    struct outcome outcome = OUTCOME_OK;
    arena_init(&arena, EDIT_CAP);
    arena_charge(&arena, body->budget, budget_take, ARENA_SMALL);
    splice_begin(&splice, bytes_view(body), &arena);
    request->rejected = otlp_traces_drop_invalid(bytes_view(body), &splice, &request->reason);
    if (request->rejected == 0)
        *buffer = buffer_from_bytes(body);
    else if (request->rejected == request->received)
        *buffer = NULL;
    else if (splice.failed && !arena.starved)
        outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "too many invalid spans (%u): %s",
                             request->rejected, request->reason);
    else if (!splice.failed)
        *buffer = spliced(&splice, body->budget);
    arena_release(&arena);
    return outcome;
}

/* Makes the batch of a checked request. */
static struct outcome otlp_request_wrap(enum signal signal, bool valid, struct bytes *body,
                                        struct otlp_request *request)
{
    struct outcome outcome = OUTCOME_OK;
    struct buffer *buffer = NULL;
    if (valid)
        buffer = buffer_from_bytes(body);
    else
        outcome = without_invalid(body, request, &buffer);
    uint32_t items = request->received - request->rejected;
    if (outcome.verdict != VERDICT_OK || items == 0)
        return outcome;
    if (buffer)
        request->batch = batch_new(signal, BATCH_OTLP, buffer, items, NULL);
    return request->batch ? OUTCOME_OK : outcome_no_memory();
}

/* Gives the batch the notes, if they describe its payload. */
static void otlp_request_attach(struct batch *batch, struct otlp_notes *notes)
{
    if (batch && batch->payload->data == notes->request && !notes->failed)
        batch->notes = buffer_from_bytes(&notes->rows);
}

struct outcome otlp_request_read(enum signal signal, bool json, struct bytes *body,
                                 struct otlp_request *request)
{
    *request = (struct otlp_request){0};
    struct outcome outcome = OUTCOME_OK;
    struct otlp_notes notes = {.failed = true};
    struct otlp_found found = {0};
    if (json)
        outcome = from_json(signal, body);
    else if (signal == SIGNAL_PROFILES)
        outcome = upgrade(body);
    if (outcome.verdict == VERDICT_OK)
        outcome = otlp_request_check(signal, body, &found, &notes);
    request->received = found.items;
    if (outcome.verdict == VERDICT_OK && signal == SIGNAL_PROFILES)
        outcome = otlp_request_check_profiles(body);
    if (outcome.verdict == VERDICT_OK && request->received > 0)
        outcome = otlp_request_wrap(signal, found.valid, body, request);
    request->samples = request->batch ? request->batch->samples : 0;
    otlp_request_attach(request->batch, &notes);
    bytes_release(&notes.rows);
    bytes_release(body);
    return outcome;
}
