#include "lib/wire/otlp/otlp_plain.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* A span with every current field, as written by an SDK; the long text has a two-byte length. */
static struct view sdk_span(void)
{
    struct view words =
        PB_TEXT(1, "SELECT * FROM orders WHERE id = ? AND customer = ? AND state IN "
                   "(?, ?, ?) ORDER BY created DESC LIMIT 100 OFFSET 20000");
    struct view value = PB_MESSAGE(2, words), key = PB_TEXT(1, "db.query.text");
    return PB_JOIN(
        pb_fill(1, 16, 0xa1), pb_fill(2, 8, 0xb2), PB_TEXT(3, "a=b"), pb_fill(4, 8, 0xc3),
        PB_TEXT(5, "GET /car"), pb_varint(6, 2), pb_fixed64(7, 1), pb_fixed64(8, 2),
        pb_attribute(9, "http.method", "GET"), PB_MESSAGE(9, key, value),
        PB_MESSAGE(9, PB_TEXT(1, "b"), PB_MESSAGE(2, pb_varint(2, 1))),
        PB_MESSAGE(9, PB_TEXT(1, "i"), PB_MESSAGE(2, pb_varint(3, 200))),
        PB_MESSAGE(9, PB_TEXT(1, "d"), PB_MESSAGE(2, pb_fixed64(4, 5))),
        PB_MESSAGE(9, PB_TEXT(1, "y"), PB_MESSAGE(2, PB_TEXT(7, "raw"))), pb_varint(10, 1),
        PB_MESSAGE(11, pb_fixed64(1, 3), PB_TEXT(2, "miss"), pb_attribute(3, "region", "eu"),
                   pb_varint(4, 1)),
        pb_varint(12, 1),
        PB_MESSAGE(13, pb_fill(1, 16, 7), pb_fill(2, 8, 8), PB_TEXT(3, "c=d"),
                   pb_attribute(4, "why", "retry"), pb_varint(5, 1), pb_fixed32(6, 1)),
        pb_varint(14, 1), PB_MESSAGE(15, PB_TEXT(2, "no"), pb_varint(3, 2)), pb_fixed32(16, 257));
}

/* protobuf-c accepts it, and there is nothing to drop. */
static bool is_valid(struct view span)
{
    struct view request = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, span)));
    ProtobufCMessage *read = otlp_reference_read(SIGNAL_TRACES, request);
    if (!read)
        return false;
    protobuf_c_message_free_unpacked(read, NULL);
    struct arena arena;
    struct splice splice;
    const char *reason;
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, request, &arena);
    bool valid = otlp_traces_drop_invalid(request, &splice, &reason) == 0;
    arena_release(&arena);
    return valid;
}

static uint64_t id_in(struct view bytes)
{
    return bytes.size == 8 ? span_id_load(bytes.data) : 0;
}

/* Whether the note agrees with the span. */
static bool note_agrees(const struct otlp_span_note *note, struct view body)
{
    struct otlp_span span;
    otlp_span_read(body, &span);
    return note->id == id_in(span.span_id) && note->parent == id_in(span.parent_span_id) &&
           note->start_ns == span.start_ns && note->end_ns == span.end_ns &&
           note->flags == span.flags && note->kind == span.kind && span.profile_attributes == 0 &&
           otlp_note_is_local_root(note) == otlp_span_is_local_root(&span);
}

/* The notes on a request with these spans, each in its own resource. */
static struct otlp_notes noted(struct view request)
{
    struct otlp_notes notes;
    struct proto_fault fault;
    uint32_t items;
    bool valid;
    otlp_notes_begin(&notes, request, NULL);
    ck_assert(otlp_check_traces(request, &items, &valid, &notes, &fault));
    ck_assert(!notes.failed);
    ck_assert_uint_eq(notes.rows.size, items * sizeof(struct otlp_span_note));
    return notes;
}

START_TEST(notes_tell_what_reading_tells_whatever_byte_is_changed)
{
    struct view span = sdk_span();
    uint8_t *bytes = malloc(span.size);
    size_t usable = 0;
    for (size_t i = 0; i < span.size; i++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(bytes, span.data, span.size);
            bytes[i] = (uint8_t)value;
            struct view body = {bytes, span.size};
            struct otlp_notes notes;
            otlp_notes_begin(&notes, body, NULL);
            bool plain = otlp_span_check(body, &notes);
            const struct otlp_span_note *note =
                otlp_note_find(bytes_view(&notes.rows), 0, body, body);
            ck_assert(!note || plain);
            ck_assert_msg(!note || note_agrees(note, body), "byte %zu is %u", i, value);
            usable += note != NULL;
            bytes_release(&notes.rows);
        }
    ck_assert_uint_gt(usable, span.size * 100);
    free(bytes);
}
END_TEST

START_TEST(a_marked_span_has_to_be_read)
{
    struct view ids = PB_JOIN(pb_fill(1, 16, 1), pb_fill(2, 8, 1));
    struct view marked = PB_JOIN(ids, pb_attribute(9, "http.method", "GET"),
                                 pb_attribute(9, "pyroscope.profile.id", "0102030405060708"));
    struct view alike = PB_JOIN(ids, pb_attribute(9, "pyroscope.profile.ix", "0102030405060708"));
    struct view request = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, marked), PB_MESSAGE(2, alike)));
    struct otlp_notes notes = noted(request);
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    size_t index = 0;
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        const struct otlp_span_note *note =
            otlp_note_find(bytes_view(&notes.rows), index, request, walk.item.bytes);
        ck_assert((note != NULL) == (index == 1));
        ck_assert_ptr_null(otlp_note_find(bytes_view(&notes.rows), index, request, request));
        index++;
    }
    ck_assert_uint_eq(index, 2);
    ck_assert_ptr_null(otlp_note_find(bytes_view(&notes.rows), 2, request, request));
    bytes_release(&notes.rows);
}
END_TEST

static bool is_plain(struct view span)
{
    return otlp_span_check(span, NULL);
}

START_TEST(the_spans_of_sdks_are_plain)
{
    ck_assert(is_plain(sdk_span()));
    ck_assert(is_plain(PB_JOIN(pb_fill(1, 16, 1), pb_fill(2, 8, 1))));
    ck_assert(is_plain(PB_JOIN(pb_fill(1, 16, 1), pb_fill(2, 8, 1), PB_EMPTY(4))));
}
END_TEST

START_TEST(a_span_that_a_backend_refuses_is_not_plain)
{
    struct view trace = pb_fill(1, 16, 1), span = pb_fill(2, 8, 1);
    ck_assert(!is_plain((struct view){0}));
    ck_assert(!is_plain(trace));
    ck_assert(!is_plain(span));
    ck_assert(!is_plain(PB_JOIN(pb_fill(1, 16, 0), span)));
    ck_assert(!is_plain(PB_JOIN(trace, pb_fill(2, 8, 0))));
    ck_assert(!is_plain(PB_JOIN(trace, span, pb_fill(2, 7, 1))));
    ck_assert(!is_plain(PB_JOIN(trace, span, pb_fill(4, 16, 1))));
    ck_assert(!is_plain(PB_JOIN(trace, span, PB_MESSAGE(13, pb_fill(1, 8, 1)))));
}
END_TEST

START_TEST(what_is_plain_is_well_formed_whatever_byte_is_changed)
{
    struct view span = sdk_span();
    uint8_t *bytes = malloc(span.size);
    size_t plain = 0;
    for (size_t i = 0; i < span.size; i++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(bytes, span.data, span.size);
            bytes[i] = (uint8_t)value;
            if (!is_plain((struct view){bytes, span.size}))
                continue;
            plain++;
            ck_assert_msg(is_valid((struct view){bytes, span.size}), "byte %zu is %u", i, value);
        }
    ck_assert_uint_gt(plain, span.size * 100);
    free(bytes);
}
END_TEST

/* Each length in a separate buffer, so that an overrun is detected. */
START_TEST(what_is_cut_off_is_plain_only_between_fields)
{
    struct view span = sdk_span();
    for (size_t size = 0; size < span.size; size++) {
        uint8_t *bytes = malloc(size ? size : 1);
        memcpy(bytes, span.data, size);
        struct view front = {bytes, size};
        ck_assert(!is_plain(front) || is_valid(front));
        free(bytes);
    }
}
END_TEST

START_TEST(a_key_is_told_from_a_value)
{
    const uint8_t *value;
    struct view text = PB_TEXT(1, "key"), any = PB_MESSAGE(2, PB_TEXT(1, "value"));
    struct view body = PB_JOIN(text, any);
    ck_assert(view_eq(plain_key(body, &value), VIEW("key")));
    ck_assert_ptr_eq(value, body.data + text.size + 2);
    ck_assert_ptr_null(plain_key(text, &value).data);
    ck_assert_ptr_null(plain_key(PB_JOIN(any, text), &value).data);
    ck_assert_ptr_null(plain_key(PB_JOIN(text, any, text), &value).data);
}
END_TEST

SUITE_MAIN("otlp_plain", the_spans_of_sdks_are_plain, a_span_that_a_backend_refuses_is_not_plain,
           what_is_plain_is_well_formed_whatever_byte_is_changed,
           what_is_cut_off_is_plain_only_between_fields, a_key_is_told_from_a_value,
           notes_tell_what_reading_tells_whatever_byte_is_changed, a_marked_span_has_to_be_read)
