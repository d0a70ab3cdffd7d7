#include "lib/wire/otlp/otlp_plain.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/note_reference.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* A span with every current field, of which SDKs write a trace state only if there is one; the long
 * text has a two-byte length. */
static struct view sdk_span_with(struct view state)
{
    struct view words =
        PB_TEXT(1, "SELECT * FROM orders WHERE id = ? AND customer = ? AND state IN "
                   "(?, ?, ?) ORDER BY created DESC LIMIT 100 OFFSET 20000");
    struct view value = PB_MESSAGE(2, words), key = PB_TEXT(1, "db.query.text");
    return PB_JOIN(
        pb_fill(1, 16, 0xa1), pb_fill(2, 8, 0xb2), state, pb_fill(4, 8, 0xc3),
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

static struct view sdk_span(void)
{
    return sdk_span_with(PB_TEXT(3, "a=b"));
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

/* The notes on a request with these spans, each in its own resource. */
static struct otlp_notes noted(struct view request)
{
    struct otlp_notes notes;
    struct proto_fault fault;
    struct otlp_found found;
    otlp_notes_begin(&notes, request, NULL);
    ck_assert(otlp_check_all(SIGNAL_TRACES, request, &notes, &found, &fault));
    ck_assert(!notes.failed);
    ck_assert_uint_eq(notes.rows.size, found.items * sizeof(struct otlp_span_note));
    return notes;
}

static void compare_notes(struct view span)
{
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
            const struct otlp_span_note *row = (const void *)notes.rows.data;
            ck_assert_msg(!note || note_agrees(note, body), "byte %zu is %u", i, value);
            ck_assert_msg(note_places_agree(row, body), "byte %zu is %u", i, value);
            usable += note != NULL;
            bytes_release(&notes.rows);
        }
    ck_assert_uint_gt(usable, span.size * 100);
    free(bytes);
}

START_TEST(notes_tell_what_reading_tells_whatever_byte_is_changed)
{
    compare_notes(sdk_span());
    compare_notes(sdk_span_with(VIEW("")));
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

/* A span without the attribute that has a length of two bytes, so that a note has its places. */
static struct view short_span(void)
{
    return PB_JOIN(pb_fill(1, 16, 0xa1), pb_fill(2, 8, 0xb2), PB_TEXT(5, "GET /car"),
                   pb_attribute(9, "", ""), pb_attribute(9, "http.method", "GET"),
                   PB_MESSAGE(9, PB_TEXT(1, "d"), PB_MESSAGE(2, pb_fixed64(4, 5))),
                   PB_MESSAGE(9, PB_TEXT(1, "i"), PB_MESSAGE(2, pb_varint(3, 200))),
                   PB_MESSAGE(11, PB_TEXT(2, "miss"), pb_attribute(3, "region", "eu")),
                   pb_varint(6, 2));
}

/* What the check notes about a body, which it may find not plain. */
static struct otlp_span_note note_of(struct view body)
{
    struct otlp_span_note note;
    struct otlp_notes notes;
    otlp_notes_begin(&notes, body, NULL);
    (void)otlp_span_check(body, &notes);
    memcpy(&note, notes.rows.data, sizeof note);
    bytes_release(&notes.rows);
    return note;
}

START_TEST(the_places_in_a_note_are_right_whatever_byte_is_changed)
{
    struct view span = short_span();
    size_t placed = 0;
    for (size_t i = 0; i < span.size; i++)
        for (unsigned value = 0; value < 256; value++) {
            uint8_t *bytes = malloc(span.size);
            memcpy(bytes, span.data, span.size);
            bytes[i] = (uint8_t)value;
            struct otlp_span_note note = note_of((struct view){bytes, span.size});
            ck_assert_msg(note_places_agree(&note, (struct view){bytes, span.size}),
                          "byte %zu is %u", i, value);
            placed += note.attributes_end > 0;
            free(bytes);
        }
    ck_assert_uint_gt(placed, span.size * 100);
}
END_TEST

/* Whether a note has the places of a body's attributes, right ones. */
static bool is_placed(struct view body)
{
    struct otlp_span_note note = note_of(body);
    ck_assert(note_places_agree(&note, body));
    return note.attributes_end > 0;
}

START_TEST(a_note_has_places_only_if_every_length_is_short)
{
    struct view ids = PB_JOIN(pb_fill(1, 16, 1), pb_fill(2, 8, 1));
    struct view a = pb_attribute(9, "a", "1"), name = PB_TEXT(5, "n");
    struct view any = PB_MESSAGE(2, PB_TEXT(1, "1")), key = PB_TEXT(1, "k");
    ck_assert(is_placed(short_span()));
    ck_assert(is_placed(PB_JOIN(a, a, name, ids)));
    ck_assert(is_placed(PB_JOIN(name, ids, a)));
    ck_assert(is_placed(PB_JOIN(ids, name, a, name)));
    ck_assert(is_placed(PB_JOIN(ids, PB_MESSAGE(9, PB_TEXT(1, ""), any))));
    ck_assert(!is_placed(PB_JOIN(ids, name)));
    ck_assert(!is_placed(PB_JOIN(ids, a, name, a)));
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_MESSAGE(9, key, pb_fill(2, 0, 0)))));
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_MESSAGE(9, any, key))));
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_MESSAGE(9, key, any, key))));
    ck_assert(!is_placed(PB_JOIN(ids, a, pb_varint(99, 1))));
    ck_assert(!is_placed(PB_JOIN(ids, a, pb_group(99, a))));
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_RAW(0x4a))));
    /* lengths with a byte too many: of the attribute, its key and its value */
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_RAW(0x4a, 0x88, 0, 10, 1, 'k', 18, 3, 10, 1, '1'))));
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_RAW(0x4a, 9, 10, 0x81, 0, 'k', 18, 3, 10, 1, '1'))));
    ck_assert(!is_placed(PB_JOIN(ids, a, PB_RAW(0x4a, 9, 10, 1, 'k', 18, 0x83, 0, 10, 1, '1'))));
    ck_assert(!is_placed(PB_JOIN(ids, PB_RAW(0xca, 0, 8, 10, 1, 'k', 18, 3, 10, 1, '1'))));
}
END_TEST

START_TEST(a_note_has_places_up_to_64_KiB)
{
    struct view ids = PB_JOIN(pb_fill(1, 16, 1), pb_fill(2, 8, 1)), many = VIEW("");
    for (int i = 0; i < 300; i++)
        many = PB_JOIN(many, pb_attribute(9, i % 2 ? "key" : "", "value"));
    ck_assert(is_placed(PB_JOIN(many, ids)));
    struct view part = pb_fill(3, 16000, 't');
    struct view span = PB_JOIN(ids, part, part, part, part, pb_attribute(9, "a", "1"));
    for (size_t size = UINT16_MAX - 2; size < UINT16_MAX + 3; size++) {
        struct view whole = PB_JOIN(span, pb_fill(5, size - span.size - 3, 'n'));
        ck_assert_uint_eq(whole.size, size);
        ck_assert_int_eq(is_placed(whole), size <= UINT16_MAX);
    }
}
END_TEST

START_TEST(a_mark_is_seen_whatever_lengths_it_has)
{
    struct view ids = PB_JOIN(pb_fill(1, 16, 1), pb_fill(2, 8, 1));
    struct view padded = PB_JOIN(PB_RAW(10, 0x80 | 20, 0), VIEW("pyroscope.profile.id"));
    struct view value = PB_MESSAGE(2, pb_fill(1, 120, 'v'));
    struct view span = PB_JOIN(ids, PB_MESSAGE(9, padded, value));
    struct otlp_span read;
    otlp_span_read(span, &read);
    ck_assert(is_plain(span));
    ck_assert_uint_eq(read.profile_attributes, 1);
    ck_assert(!note_of(span).usable);
}
END_TEST

START_TEST(a_request_with_a_late_resource_has_no_notes)
{
    struct view resource = PB_MESSAGE(1, pb_attribute(1, "a", "1")), scope = PB_TEXT(1, "s"),
                spans = PB_SPAN(pb_attribute(9, "a", "1"));
    struct view requests[] = {
        PB_MESSAGE(1, PB_MESSAGE(2, spans), resource),
        PB_MESSAGE(1, resource, resource, PB_MESSAGE(2, spans)),
        PB_MESSAGE(1, PB_TEXT(99, "?"), resource, PB_MESSAGE(2, spans)),
        PB_MESSAGE(1, resource, PB_MESSAGE(2, spans, PB_MESSAGE(1, scope))),
        PB_MESSAGE(1, PB_MESSAGE(2, spans), PB_RAW(0x8a, 0, 0)),
        PB_MESSAGE(1, resource, PB_MESSAGE(2, PB_MESSAGE(1, scope), spans)),
        PB_MESSAGE(1, PB_MESSAGE(2, spans)),
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct otlp_notes notes;
        struct proto_fault fault;
        struct otlp_found found;
        otlp_notes_begin(&notes, requests[i], NULL);
        ck_assert(otlp_check_all(SIGNAL_TRACES, requests[i], &notes, &found, &fault));
        ck_assert_int_eq(notes.failed, i < 5);
        bytes_release(&notes.rows);
    }
}
END_TEST

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

static void compare_forms(struct view span)
{
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

START_TEST(what_is_plain_is_well_formed_whatever_byte_is_changed)
{
    compare_forms(sdk_span());
    compare_forms(sdk_span_with(VIEW("")));
}
END_TEST

/* Each length in a separate buffer, so that an overrun is detected. */
START_TEST(what_is_cut_off_is_plain_only_between_fields)
{
    struct view spans[] = {sdk_span(), sdk_span_with(VIEW(""))};
    for (int i = 0; i < 2; i++)
        for (size_t size = 0; size < spans[i].size; size++) {
            uint8_t *bytes = malloc(size ? size : 1);
            memcpy(bytes, spans[i].data, size);
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
           notes_tell_what_reading_tells_whatever_byte_is_changed, a_marked_span_has_to_be_read,
           the_places_in_a_note_are_right_whatever_byte_is_changed,
           a_note_has_places_only_if_every_length_is_short, a_note_has_places_up_to_64_KiB,
           a_mark_is_seen_whatever_lengths_it_has, a_request_with_a_late_resource_has_no_notes)
