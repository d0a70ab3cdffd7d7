#include "lib/wire/json/otlp_json_plain.h"

#include "lib/wire/proto/proto_scan.h"

enum { KEY = 1, VALUE = 2, STRING_VALUE = 1, INT_VALUE = 3, MOST_DIGITS = 18 };

/* Reads an integer below 10^18, quoted or not. */
static bool read_whole(struct json_scan *scan, uint64_t *bits)
{
    bool quoted = json_scan_bytes(scan, VIEW("\"")), minus = json_scan_bytes(scan, VIEW("-"));
    const uint8_t *from = scan->at;
    uint64_t value = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
        value = value * 10 + (uint64_t)(*scan->at - '0');
    ptrdiff_t digits = scan->at - from;
    *bits = minus ? 0 - value : value;
    return digits > 0 && digits <= MOST_DIGITS && (digits == 1 || *from != '0') &&
           (!quoted || json_scan_bytes(scan, VIEW("\"")));
}

struct attribute {
    struct view key, text;
    uint64_t bits;
    bool is_text;
};

static bool read_attribute(struct json_scan *scan, struct attribute *attribute)
{
    if (!json_scan_bytes(scan, VIEW("{\"key\":\"")) || !json_scan_plain(scan, &attribute->key) ||
        attribute->key.size == 0 || !json_scan_bytes(scan, VIEW(",\"value\":{\"")))
        return false;
    attribute->is_text = json_scan_bytes(scan, VIEW("stringValue\":\""));
    bool good = attribute->is_text ? json_scan_plain(scan, &attribute->text)
                                   : json_scan_bytes(scan, VIEW("intValue\":")) &&
                                         read_whole(scan, &attribute->bits);
    return good && json_scan_bytes(scan, VIEW("}}"));
}

bool otlp_json_plain_attribute(struct json_scan *scan, uint32_t number, struct bytes *out)
{
    struct json_scan ahead = *scan;
    struct attribute attribute;
    if (!read_attribute(&ahead, &attribute))
        return false;
    size_t value = attribute.is_text ? proto_len_size(STRING_VALUE, attribute.text.size)
                                     : 1 + proto_varint_size(attribute.bits);
    size_t pair = proto_len_size(KEY, attribute.key.size) + proto_len_size(VALUE, value);
    if (bytes_reserve(out, proto_len_size(number, pair)) != BYTES_OK)
        return false;
    uint8_t *at = proto_len_put(out->data + out->size, number, pair);
    at = proto_bytes_put(proto_len_put(at, KEY, attribute.key.size), attribute.key);
    at = proto_len_put(at, VALUE, value);
    if (attribute.is_text)
        at = proto_bytes_put(proto_len_put(at, STRING_VALUE, attribute.text.size), attribute.text);
    else
        at = proto_varint_put(proto_varint_put(at, proto_tag(INT_VALUE, WIRE_VARINT)),
                              attribute.bits);
    out->size = (size_t)(at - out->data);
    *scan = ahead;
    return true;
}
