/* Converters of strings. */
#include "lib/ottl/function.h"

#include "lib/base/digests.h"
#include "lib/base/murmur3.h"
#include "lib/base/sha256.h"
#include "lib/wire/http/base64.h"

#include <stdio.h>

/* ---- parts of strings ---- */

static struct ottl_value concat(struct ottl_run *run, const struct ottl_node *call)
{
    struct view delimiter = ottl_arg_string(run, call, 1);
    const struct ottl_node *list = call->items[0];
    struct bytes out;
    bool ok = !run->failed;
    bytes_init(&out, (size_t)4 << 20, NULL);
    for (size_t i = 0; ok && i < list->count; i++) {
        struct ottl_value value = ottl_node_eval(list->items[i], run);
        struct view text = run->failed ? VIEW("") : ottl_text_of(run, &value);
        ok = !run->failed && (i == 0 || bytes_append_view(&out, delimiter) == BYTES_OK) &&
             bytes_append_view(&out, text.data ? text : VIEW("<nil>")) == BYTES_OK;
    }
    return ottl_made_text(run, &out, ok);
}

static const char *check_concat(const struct ottl_node *call)
{
    return call->items[0]->kind == NODE_LIST_OF ? NULL : "expected a list of values";
}

static struct ottl_value split(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view by = run->failed ? VIEW("") : ottl_arg_string(run, call, 1);
    struct bytes out;
    bool ok = !run->failed;
    size_t from = 0;
    bytes_init(&out, (size_t)16 << 20, NULL);
    while (ok && from <= text.size) {
        struct view rest = {text.data + from, text.size - from};
        const uint8_t *found =
            by.size && rest.size ? memmem(rest.data, rest.size, by.data, by.size) : NULL;
        size_t size = found ? (size_t)(found - rest.data) : rest.size;
        if (!by.size) /* into characters */
            for (size = rest.size ? 1 : 0; size < rest.size && (rest.data[size] & 0xc0) == 0x80;)
                size++;
        struct value part = value_string((struct view){rest.data, size});
        if (!by.size && !size)
            break;
        ok = value_append(&out, &part);
        if (!found && by.size)
            break;
        from += size + by.size;
    }
    struct ottl_value made = ottl_made_text(run, &out, ok);
    made.type = run->failed ? TYPE_NIL : TYPE_LIST;
    return made;
}

static bool starts_character(struct view text, size_t at)
{
    return at >= text.size || (text.data[at] & 0xc0) != 0x80;
}

static struct ottl_value substring(struct ottl_run *run, const struct ottl_node *call)
{
    int64_t start = ottl_arg_int(run, call, 1);
    int64_t length = run->failed ? 0 : ottl_arg_int(run, call, 2);
    struct view text = run->failed ? VIEW("") : ottl_arg_string(run, call, 0);
    struct ottl_value safe = ottl_arg(run, call, 3);
    if (run->failed)
        return ottl_nil();
    if (start < 0 || length <= 0 || (uint64_t)start > text.size ||
        (uint64_t)length > text.size - (uint64_t)start)
        return ottl_fail(run, "Substring: start %lld, length %lld is out of range in %zu bytes",
                         (long long)start, (long long)length, text.size);
    size_t from = (size_t)start, to = (size_t)(start + length);
    if (safe.type == TYPE_BOOL && safe.boolean) {
        while (!starts_character(text, from))
            from++;
        while (from < to && !starts_character(text, to))
            to--;
        to = to < from ? from : to;
    }
    return ottl_string((struct view){text.data + from, to - from});
}

static struct ottl_value trim(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view cut = ottl_has(call, 1) ? ottl_arg_string(run, call, 1) : VIEW(" ");
    if (run->failed)
        return ottl_nil();
    return ottl_string(view_trim(text, cut));
}

static struct ottl_value trim_prefix(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view with = run->failed ? VIEW("") : ottl_arg_string(run, call, 1);
    if (!run->failed && view_starts(text, with))
        text = (struct view){text.data + with.size, text.size - with.size};
    return ottl_string(text);
}

static struct ottl_value trim_suffix(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view with = run->failed ? VIEW("") : ottl_arg_string(run, call, 1);
    text.size -= !run->failed && view_ends(text, with) ? with.size : 0;
    return ottl_string(text);
}

/* ---- tests ---- */

static struct ottl_value has_prefix(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view with = run->failed ? VIEW("") : ottl_arg_string(run, call, 1);
    return ottl_bool(!run->failed && view_starts(text, with));
}

static struct ottl_value has_suffix(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view with = run->failed ? VIEW("") : ottl_arg_string(run, call, 1);
    return ottl_bool(!run->failed && view_ends(text, with));
}

static struct ottl_value is_match(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_text(run, call, 0);
    if (run->failed || !text.data)
        return ottl_bool(false);
    enum regex_result found = regex_test(call->regex, text);
    if (found == REGEX_LIMIT)
        return ottl_fail(run, "the match exceeded its limits");
    return ottl_bool(found == REGEX_YES);
}

static struct ottl_value index_of(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value in = ottl_arg(run, call, 0), of = ottl_arg(run, call, 1);
    struct value each;
    if (run->failed)
        return ottl_nil();
    if (in.type == TYPE_STRING && of.type == TYPE_STRING) {
        const uint8_t *found =
            of.bytes.size ? memmem(in.bytes.data, in.bytes.size, of.bytes.data, of.bytes.size)
                          : in.bytes.data;
        return ottl_int(found ? found - in.bytes.data : -1);
    }
    if (in.type != TYPE_LIST)
        return ottl_fail(run, "Index takes two strings, or a list and a value");
    struct proto_scan scan = proto_scan_begin(in.bytes);
    for (int64_t i = 0; value_next(&scan, &each); i++) {
        struct ottl_value item = ottl_of_value(&each);
        if (ottl_compare(&item, &of, OP_EQ))
            return ottl_int(i);
    }
    return ottl_int(-1);
}

/* ---- hashes and encodings ---- */

static struct ottl_value sha256_of(struct ottl_run *run, const struct ottl_node *call)
{
    char hex[SHA256_HEX];
    struct view text = ottl_arg_string(run, call, 0);
    if (run->failed)
        return ottl_nil();
    sha256_hex(text, hex);
    return ottl_string(ottl_keep(run, (struct view){(uint8_t *)hex, sizeof hex}));
}

static struct ottl_value hex_of(struct ottl_run *run, const uint8_t *sum, size_t size)
{
    char hex[2 * SHA512_SIZE + 1];
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    return ottl_string(ottl_keep_text(run, hex));
}

static struct ottl_value md5_of(struct ottl_run *run, const struct ottl_node *call)
{
    uint8_t sum[MD5_SIZE];
    md5(ottl_arg_string(run, call, 0), sum);
    return run->failed ? ottl_nil() : hex_of(run, sum, sizeof sum);
}

static struct ottl_value sha1_of(struct ottl_run *run, const struct ottl_node *call)
{
    uint8_t sum[SHA1_SIZE];
    sha1(ottl_arg_string(run, call, 0), sum);
    return run->failed ? ottl_nil() : hex_of(run, sum, sizeof sum);
}

static struct ottl_value sha512_of(struct ottl_run *run, const struct ottl_node *call)
{
    uint8_t sum[SHA512_SIZE];
    sha512(ottl_arg_string(run, call, 0), sum);
    return run->failed ? ottl_nil() : hex_of(run, sum, sizeof sum);
}

/* The least significant byte first, as the Collector shows them. */
static struct ottl_value murmur3(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    uint32_t hash = murmur3_32(text);
    uint8_t sum[4];
    for (unsigned i = 0; i < sizeof sum; i++)
        sum[i] = (uint8_t)(hash >> (8 * i));
    return run->failed ? ottl_nil() : hex_of(run, sum, sizeof sum);
}

static struct ottl_value murmur3_of_128(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    uint64_t halves[2];
    uint8_t sum[16];
    murmur3_128(text, halves);
    for (unsigned i = 0; i < sizeof sum; i++)
        sum[i] = (uint8_t)(halves[i / 8] >> (8 * (i % 8)));
    return run->failed ? ottl_nil() : hex_of(run, sum, sizeof sum);
}

/* FNV-1a of 64 bits (draft-eastlake-fnv). */
static struct ottl_value fnv(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < text.size; i++)
        sum = (sum ^ text.data[i]) * 0x100000001b3;
    return ottl_int((int64_t)sum);
}

/* Changes base64 to the alphabet of a variant, without padding if it is raw. False: no such
 * variant. */
static bool to_variant(struct bytes *out, struct view variant)
{
    bool url = view_eq(variant, VIEW("base64-url")) || view_eq(variant, VIEW("base64-raw-url"));
    bool raw = view_eq(variant, VIEW("base64-raw")) || view_eq(variant, VIEW("base64-raw-url"));
    for (size_t i = 0; url && i < out->size; i++)
        out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
    while (raw && out->size && out->data[out->size - 1] == '=')
        out->size--;
    return url || raw || view_eq(variant, VIEW("base64"));
}

static struct ottl_value to_base64(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view variant = ottl_has(call, 1) ? ottl_arg_string(run, call, 1) : VIEW("base64");
    struct bytes out;
    bytes_init(&out, (size_t)4 << 20, NULL);
    bool ok = !run->failed && base64_encode(text, &out);
    if (ok && !(ok = to_variant(&out, variant)))
        ottl_fail(run, "Base64Encode: unknown variant");
    return ottl_made_text(run, &out, ok);
}

const struct ottl_function ottl_text_functions[] = {
    {"Concat", "vals,delimiter", concat, FN_NO_PATTERN, false, 0, check_concat},
    {"Split", "target,delimiter", split, FN_NO_PATTERN, false, 0, NULL},
    {"Substring", "target,start,length,utf8_safe?", substring, FN_NO_PATTERN, false, 0, NULL},
    {"Trim", "target,replacement?", trim, FN_NO_PATTERN, false, 0, NULL},
    {"TrimPrefix", "target,prefix", trim_prefix, FN_NO_PATTERN, false, 0, NULL},
    {"TrimSuffix", "target,suffix", trim_suffix, FN_NO_PATTERN, false, 0, NULL},
    {"HasPrefix", "target,prefix", has_prefix, FN_NO_PATTERN, false, 0, NULL},
    {"HasSuffix", "target,suffix", has_suffix, FN_NO_PATTERN, false, 0, NULL},
    {"IsMatch", "target,pattern", is_match, 1, false, 0, NULL},
    {"Index", "target,value", index_of, FN_NO_PATTERN, false, 0, NULL},
    {"SHA256", "target", sha256_of, FN_NO_PATTERN, false, 0, NULL},
    {"MD5", "target", md5_of, FN_NO_PATTERN, false, 0, NULL},
    {"SHA1", "target", sha1_of, FN_NO_PATTERN, false, 0, NULL},
    {"SHA512", "target", sha512_of, FN_NO_PATTERN, false, 0, NULL},
    {"Murmur3Hash", "target", murmur3, FN_NO_PATTERN, false, 0, NULL},
    {"Murmur3Hash128", "target", murmur3_of_128, FN_NO_PATTERN, false, 0, NULL},
    {"FNV", "target", fnv, FN_NO_PATTERN, false, 0, NULL},
    {"Base64Encode", "target,variant?", to_base64, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
