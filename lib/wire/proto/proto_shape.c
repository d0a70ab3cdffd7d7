#include "lib/wire/proto/proto_shape.h"

#include "lib/wire/proto/plain_key_value.h"

#define WIRE_BIT(type) (1u << (type))

/* The legal wire types of each kind. */
static const uint8_t accepted[] = {
    [PROTO_UNKNOWN] = 0xff,
    [PROTO_VARINT] = WIRE_BIT(WIRE_VARINT),
    [PROTO_FIXED64] = WIRE_BIT(WIRE_I64),
    [PROTO_FIXED32] = WIRE_BIT(WIRE_I32),
    [PROTO_BYTES] = WIRE_BIT(WIRE_LEN),
    [PROTO_MESSAGE] = WIRE_BIT(WIRE_LEN),
    [PROTO_VARINTS] = WIRE_BIT(WIRE_LEN) | WIRE_BIT(WIRE_VARINT),
    [PROTO_FIXED64S] = WIRE_BIT(WIRE_LEN) | WIRE_BIT(WIRE_I64),
    [PROTO_ID] = WIRE_BIT(WIRE_LEN),
};

static const struct proto_row hole = {.kind = PROTO_UNKNOWN};

/* An explicit stack: a span nests about thirty short messages, and a call for each would cost more
 * than checking their bytes. */
struct frame {
    const struct proto_shape *shape;
    const uint8_t *end;
    const uint8_t *start; /* set once the check is inside */
};

/* The next position: after a field, or, with a shape, inside a message that ends at end. */
struct step {
    const uint8_t *at; /* NULL: refused */
    struct frame inner;
};

struct check {
    const uint8_t *base;
    struct proto_fault *fault;
    bool *odd;
};

static struct step proto_shape_refuse(const struct check *check, const struct frame *top,
                                      const uint8_t *at, struct proto_fault fault)
{
    *check->fault = fault;
    check->fault->message = top->shape->name;
    check->fault->offset = (size_t)(at - check->base);
    return (struct step){0};
}

static bool packed_varints(struct view bytes)
{
    const uint8_t *at = bytes.data, *end = at + bytes.size;
    uint64_t value;
    while (at && at < end)
        at = proto_varint(at, end, &value);
    return at != NULL;
}

/* Why a field with a legal wire type is refused; NULL: it is not. */
static const char *content_fault(const struct proto_row *row, const struct proto_field *field,
                                 unsigned depth)
{
    switch (row->kind) {
    case PROTO_UNKNOWN:
        if (field->type == WIRE_START_GROUP &&
            depth + 2 + proto_group_depth(field->bytes) > PROTO_MAX_DEPTH)
            return PROTO_TOO_DEEP;
        return NULL;
    case PROTO_MESSAGE:
        return depth + 2 > PROTO_MAX_DEPTH ? PROTO_TOO_DEEP : NULL;
    case PROTO_VARINTS:
        return field->type == WIRE_LEN && !packed_varints(field->bytes) ? "broken packed numbers"
                                                                        : NULL;
    case PROTO_FIXED64S:
        return field->type == WIRE_LEN && field->bytes.size % 8 ? "broken packed numbers" : NULL;
    case PROTO_ID:
        return field->bytes.size && field->bytes.size != row->size ? "id of wrong length" : NULL;
    case PROTO_VARINT:
    case PROTO_FIXED64:
    case PROTO_FIXED32:
    case PROTO_BYTES:
        break;
    }
    return NULL;
}

/* Whether a tag is longer than it need be. */
static bool is_long_tag(const uint8_t *at)
{
    const uint8_t *last = at;
    while (*last >= 0x80)
        last++;
    return last > at && *last == 0;
}

/* Checks a field of any kind. */
static struct step step_any(const struct check *check, const struct frame *top, unsigned depth,
                            const uint8_t *at)
{
    const struct proto_shape *shape = top->shape;
    struct proto_scan scan = {at, top->end, false};
    struct proto_field field;
    if (!proto_scan_any(&scan, &field))
        return proto_shape_refuse(check, top, at, (struct proto_fault){.reason = "broken framing"});
    struct proto_fault fault = {.field = field.number, .reason = "wrong wire type"};
    const struct proto_row *row = field.number < shape->count ? &shape->rows[field.number] : &hole;
    if (!(accepted[row->kind] & WIRE_BIT(field.type)))
        return proto_shape_refuse(check, top, at, fault);
    fault.reason = content_fault(row, &field, depth);
    if (fault.reason)
        return proto_shape_refuse(check, top, at, fault);
    if (row->kind != PROTO_UNKNOWN && is_long_tag(at))
        *check->odd = true;
    if (row->kind != PROTO_MESSAGE)
        return (struct step){.at = field.end};
    return (struct step){field.bytes.data, {.shape = row->shape, .end = field.end}};
}

/* As step_quick, for bytes or a message with a length of two bytes, as a span has. at NULL: another
 * field. */
static inline struct step step_longer(const struct frame *top, unsigned depth, const uint8_t *at)
{
    const uint8_t *behind, *content = plain_content(at + 1, top->end, &behind);
    uint32_t number = at[0] >> 3;
    if (!content || (at[0] & 0x87) != WIRE_LEN || number >= top->shape->count)
        return (struct step){0};
    const struct proto_row *row = &top->shape->rows[number];
    if (row->kind == PROTO_BYTES)
        return (struct step){.at = behind};
    if (row->kind == PROTO_MESSAGE && depth + 2 <= PROTO_MAX_DEPTH)
        return (struct step){content, {.shape = row->shape, .end = behind}};
    return (struct step){0};
}

/* Fast path of step_any for fields with a one-byte tag that are eight-byte numbers, or bytes or
 * messages with a one-byte length, as most are. */
static inline struct step step_quick(const struct check *check, const struct frame *top,
                                     unsigned depth, const uint8_t *at)
{
    const struct proto_shape *shape = top->shape;
    size_t left = (size_t)(top->end - at);
    uint32_t number = at[0] >> 3;
    if (left >= 2 && (at[0] & 0x87) == WIRE_LEN && number < shape->count && at[1] <= 0x7f &&
        at[1] <= left - 2) {
        const struct proto_row *row = &shape->rows[number];
        const uint8_t *end = at + 2 + at[1];
        if (row->kind == PROTO_BYTES)
            return (struct step){.at = end};
        /* A KeyValue contains one more level. */
        if (row->shape == &shape_key_value && depth + 3 <= PROTO_MAX_DEPTH &&
            plain_key_value(view_between(at + 2, end)))
            return (struct step){.at = end};
        if (row->kind == PROTO_MESSAGE && depth + 2 <= PROTO_MAX_DEPTH)
            return (struct step){at + 2, {.shape = row->shape, .end = end}};
    } else if (left >= 9 && (at[0] & 0x87) == WIRE_I64 && number < shape->count &&
               shape->rows[number].kind == PROTO_FIXED64) {
        return (struct step){.at = at + 9};
    } else if (left >= 2 && at[1] >= 0x80) {
        struct step step = step_longer(top, depth, at);
        if (step.at)
            return step;
    }
    return step_any(check, &(struct frame){.shape = shape, .end = top->end}, depth, at);
}

/* Whether a message, whose tag is here, is not repeated, and its field or another of its oneof was
 * there before. seen: bits of the numbers of such messages; bit 0: of a oneof. */
static inline bool is_again(const struct proto_shape *around, const uint8_t *at, uint32_t *seen)
{
    const uint32_t number = *at >> 3;
    if (*at >= 0x80 || around->rows[number].repeated)
        return false;
    const uint32_t bit = UINT32_C(1) << (around->rows[number].oneof ? 0 : number);
    const bool again = *seen & bit;
    *seen |= bit;
    return again;
}

/* Whether a message passes the fast check of its shape. */
static inline bool is_plain(const struct step *step, struct proto_tally *tally)
{
    if (!step->inner.shape->plain)
        return false;
    bool plain = step->inner.shape->plain(view_between(step->at, step->inner.end), tally->notes);
    tally->met++;
    tally->plain += plain;
    return plain;
}

bool proto_check(const struct proto_shape *shape, struct view message, struct proto_fault *fault)
{
    struct proto_tally tally = {.notes = NULL};
    return proto_check_tally(shape, message, &tally, fault);
}

bool proto_check_tally(const struct proto_shape *shape, struct view message,
                       struct proto_tally *tally, struct proto_fault *fault)
{
    tally->met = tally->plain = 0;
    tally->late_leads = tally->odd = false;
    const struct check check = {message.data, fault, &tally->odd};
    struct frame around[PROTO_MAX_DEPTH];
    uint32_t seen = 0, seen_around[PROTO_MAX_DEPTH];
    struct frame top = {shape, proto_scan_begin(message).end, message.data};
    unsigned depth = 0;
    const uint8_t *at = message.data;
    for (;;) {
        while (at < top.end) {
            struct step step = step_quick(&check, &top, depth, at);
            if (!step.at)
                return false;
            bool late = at != top.start;
            const uint8_t *from = at;
            at = step.at;
            if (step.inner.shape && is_plain(&step, tally)) {
                at = step.inner.end;
            } else if (step.inner.shape) {
                tally->late_leads = tally->late_leads || (late && step.inner.shape->leads);
                tally->odd = is_again(top.shape, from, &seen) || tally->odd;
                seen_around[depth] = seen;
                seen = 0;
                around[depth++] = top;
                top = step.inner;
                top.start = at;
            }
        }
        if (depth == 0)
            return true;
        /* Equals the end of the content, but is known before reading it, so the CPU need not wait
         * for that. */
        at = top.end;
        top = around[--depth];
        seen = seen_around[depth];
    }
}
