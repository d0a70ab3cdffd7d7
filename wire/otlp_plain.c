#include "wire/otlp_plain.h"

enum { TRACE_ID_SIZE = 16, SPAN_ID_SIZE = 8 };

/* What stands behind a tag: where its content begins and ends. */
struct stretch {
    const uint8_t *at, *end;
};

static inline bool take(const uint8_t **at, const uint8_t *end, struct stretch *content)
{
    content->at = plain_content(*at, end, &content->end);
    if (!content->at)
        return false;
    *at = content->end;
    return true;
}

static inline bool skip_varint(const uint8_t **at, const uint8_t *end)
{
    return (*at = plain_varint_end(*at, end)) != NULL;
}

static inline bool skip(const uint8_t **at, const uint8_t *end, size_t size)
{
    if ((size_t)(end - *at) < size)
        return false;
    *at += size;
    return true;
}

static inline bool take_attribute(const uint8_t **at, const uint8_t *end)
{
    struct stretch attribute;
    return take(at, end, &attribute) && plain_key_value(view_between(attribute.at, attribute.end));
}

/* Of a list, up to its end. */
static inline bool take_attributes(const uint8_t **at, const uint8_t *end, uint8_t tag)
{
    while (take_attribute(at, end)) {
        if (*at == end || **at != tag)
            return true;
        ++*at;
    }
    return false;
}

static inline size_t size_of(const struct stretch *content)
{
    return (size_t)(content->end - content->at);
}

/* An id of the right length that is not all zero. */
static inline bool take_id(const uint8_t **at, const uint8_t *end, size_t size)
{
    struct stretch id;
    uint64_t half, any = 0;
    if (!take(at, end, &id) || size_of(&id) != size)
        return false;
    for (size_t i = 0; i < size; i += sizeof half) {
        memcpy(&half, id.at + i, sizeof half);
        any |= half;
    }
    return any != 0;
}

/* An id that may be absent. */
static inline bool take_other_id(const uint8_t **at, const uint8_t *end, size_t size)
{
    struct stretch id;
    return take(at, end, &id) && (size_of(&id) == 0 || size_of(&id) == size);
}

static bool plain_event(struct stretch event)
{
    const uint8_t *at = event.at, *end = event.end;
    struct stretch name;
    bool good = true;
    while (good && at < end)
        switch (*at++) {
        case PLAIN_TAG(1, WIRE_I64): /* time */
            good = skip(&at, end, 8);
            break;
        case PLAIN_TAG(2, WIRE_LEN): /* name */
            good = take(&at, end, &name);
            break;
        case PLAIN_TAG(3, WIRE_LEN):
            good = take_attribute(&at, end);
            break;
        case PLAIN_TAG(4, WIRE_VARINT): /* attributes that were dropped */
            good = skip_varint(&at, end);
            break;
        default:
            good = false;
        }
    return good;
}

static bool plain_link(struct stretch span_link)
{
    const uint8_t *at = span_link.at, *end = span_link.end;
    struct stretch state;
    bool good = true;
    while (good && at < end)
        switch (*at++) {
        case PLAIN_TAG(1, WIRE_LEN):
            good = take_other_id(&at, end, TRACE_ID_SIZE);
            break;
        case PLAIN_TAG(2, WIRE_LEN):
            good = take_other_id(&at, end, SPAN_ID_SIZE);
            break;
        case PLAIN_TAG(3, WIRE_LEN):
            good = take(&at, end, &state);
            break;
        case PLAIN_TAG(4, WIRE_LEN):
            good = take_attribute(&at, end);
            break;
        case PLAIN_TAG(5, WIRE_VARINT): /* attributes that were dropped */
            good = skip_varint(&at, end);
            break;
        case PLAIN_TAG(6, WIRE_I32): /* flags */
            good = skip(&at, end, 4);
            break;
        default:
            good = false;
        }
    return good;
}

static bool plain_status(struct stretch status)
{
    const uint8_t *at = status.at, *end = status.end;
    struct stretch message;
    bool good = true;
    while (good && at < end)
        if (*at == PLAIN_TAG(2, WIRE_LEN))
            good = at++, take(&at, end, &message);
        else
            good = *at++ == PLAIN_TAG(3, WIRE_VARINT) && skip_varint(&at, end);
    return good;
}

bool otlp_span_is_plain(struct view body)
{
    const uint8_t *at = body.data, *end = at + body.size;
    bool good = true, trace_id = false, span_id = false;
    struct stretch part;
    while (good && at < end)
        switch (*at++) {
        case PLAIN_TAG(1, WIRE_LEN):
            good = trace_id = take_id(&at, end, TRACE_ID_SIZE);
            break;
        case PLAIN_TAG(2, WIRE_LEN):
            good = span_id = take_id(&at, end, SPAN_ID_SIZE);
            break;
        case PLAIN_TAG(3, WIRE_LEN): /* trace state */
        case PLAIN_TAG(5, WIRE_LEN): /* name */
            good = take(&at, end, &part);
            break;
        case PLAIN_TAG(4, WIRE_LEN): /* parent */
            good = take_other_id(&at, end, SPAN_ID_SIZE);
            break;
        case PLAIN_TAG(6, WIRE_VARINT):  /* kind */
        case PLAIN_TAG(10, WIRE_VARINT): /* what was dropped: attributes, events, links */
        case PLAIN_TAG(12, WIRE_VARINT):
        case PLAIN_TAG(14, WIRE_VARINT):
            good = skip_varint(&at, end);
            break;
        case PLAIN_TAG(7, WIRE_I64): /* start, end */
        case PLAIN_TAG(8, WIRE_I64):
            good = skip(&at, end, 8);
            break;
        case PLAIN_TAG(9, WIRE_LEN):
            good = take_attributes(&at, end, PLAIN_TAG(9, WIRE_LEN));
            break;
        case PLAIN_TAG(11, WIRE_LEN):
            good = take(&at, end, &part) && plain_event(part);
            break;
        case PLAIN_TAG(13, WIRE_LEN):
            good = take(&at, end, &part) && plain_link(part);
            break;
        case PLAIN_TAG(15, WIRE_LEN):
            good = take(&at, end, &part) && plain_status(part);
            break;
        case 0x80 | (16 & 15) << 3 | WIRE_I32: /* flags, 16: the second byte of the tag is 1 */
            good = at < end && *at++ == 1 && skip(&at, end, 4);
            break;
        default:
            good = false;
        }
    return good && trace_id && span_id;
}
