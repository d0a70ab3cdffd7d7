/* Functions of addresses, bytes and UUIDs. */
#include "lib/ottl/function.h"

#include "lib/base/digests.h"
#include "lib/base/utf8.h"
#include "lib/wire/http/base64.h"
#include "lib/wire/proto/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <strings.h>
#include <sys/random.h>

/* ---- IsInCIDR ---- */

struct network {
    uint8_t address[16]; /* IPv4 as IPv6 (RFC 4291, 2.5.5.2) */
    unsigned bits;
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool read_address(struct view text, uint8_t address[16], bool *v4)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.size >= sizeof copy || memchr(text.data, '\0', text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *v4 = inet_pton(AF_INET, copy, address + 12) == 1;
    if (*v4)
        memcpy(address, mapped, sizeof mapped);
    return *v4 || inet_pton(AF_INET6, copy, address) == 1;
}

static bool read_network(struct view text, struct network *network)
{
    const uint8_t *slash = memchr(text.data, '/', text.size);
    bool v4;
    unsigned number = 0;
    if (!slash || !read_address(view_between(text.data, slash), network->address, &v4))
        return false;
    struct view bits = view_between(slash + 1, text.data + text.size);
    if (bits.size == 0 || bits.size > 3)
        return false;
    for (size_t i = 0; i < bits.size; i++) {
        if (!isdigit(bits.data[i]))
            return false;
        number = 10 * number + (bits.data[i] - '0');
    }
    network->bits = number + (v4 ? 96 : 0);
    return number <= (v4 ? 32 : 128);
}

static bool is_v4(const uint8_t address[16])
{
    return memcmp(address, mapped, sizeof mapped) == 0;
}

static bool contains(const struct network *network, const uint8_t address[16])
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (is_v4(network->address) != is_v4(address) || memcmp(network->address, address, whole) != 0)
        return false;
    return !rest || !((network->address[whole] ^ address[whole]) >> (8 - rest));
}

static struct ottl_value is_in_cidr(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    const struct ottl_node *list = call->items[1];
    struct network network;
    uint8_t address[16];
    bool v4;
    if (run->failed || !read_address(text, address, &v4))
        return ottl_bool(false);
    for (size_t i = 0; i < list->count; i++) {
        struct ottl_value each = ottl_node_eval(list->items[i], run);
        if (run->failed)
            break;
        if (each.type != TYPE_STRING || !read_network(each.bytes, &network))
            return ottl_fail(run, "IsInCIDR: expected a network such as 10.0.0.0/8");
        if (contains(&network, address))
            return ottl_bool(true);
    }
    return ottl_bool(false);
}

static const char *check_networks(const struct ottl_node *call)
{
    const struct ottl_node *list = call->items[1];
    struct network network;
    if (list->kind != NODE_LIST_OF)
        return "expected a list of networks";
    for (size_t i = 0; i < list->count; i++)
        if (ottl_is_text(list->items[i]) && !read_network(list->items[i]->value.bytes, &network))
            return "expected networks such as 10.0.0.0/8";
    return NULL;
}

/* ---- CommunityID: github.com/corelight/community-id-spec, version 1 ---- */

struct endpoint {
    uint8_t bytes[16];
    size_t size; /* of the address: 4 or 16 */
    uint16_t port;
};

/* A number of 16 bits; absent: 0. False: the run has failed. */
static bool read_uint16(struct ottl_run *run, const struct ottl_node *call, size_t i, uint16_t *out)
{
    int64_t number = ottl_has(call, i) ? ottl_arg_int(run, call, i) : 0;
    if (!run->failed && (number < 0 || number > UINT16_MAX))
        ottl_fail(run, "CommunityID: a port and the seed must be from 0 to 65535");
    *out = (uint16_t)number;
    return !run->failed;
}

static bool read_endpoint(struct ottl_run *run, const struct ottl_node *call, size_t i,
                          struct endpoint *endpoint)
{
    struct view text = ottl_arg_string(run, call, i);
    bool v4;
    if (!run->failed && !read_address(text, endpoint->bytes, &v4))
        ottl_fail(run, "CommunityID: an invalid IP address");
    if (run->failed || !read_uint16(run, call, i + 1, &endpoint->port))
        return false;
    endpoint->size = is_v4(endpoint->bytes) ? 4 : 16;
    if (endpoint->size == 4)
        memmove(endpoint->bytes, endpoint->bytes + 12, 4);
    return true;
}

static int protocol_of(struct view name)
{
    static const struct {
        const char *name;
        uint8_t number;
    } protocols[] = {{"ICMP", 1},  {"TCP", 6},    {"UDP", 17},
                     {"RSVP", 46}, {"ICMP6", 58}, {"SCTP", 132}};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (view_eq(name, view_of(protocols[i].name)))
            return protocols[i].number;
    return -1;
}

static bool comes_first(const struct endpoint *one, const struct endpoint *other)
{
    int order = one->size == other->size ? memcmp(one->bytes, other->bytes, one->size)
                                         : (one->size > other->size) - (one->size < other->size);
    return order < 0 || (order == 0 && one->port <= other->port);
}

static size_t put_uint16(uint8_t *out, uint16_t number)
{
    out[0] = (uint8_t)(number >> 8);
    out[1] = (uint8_t)number;
    return 2;
}

static struct ottl_value community_id(struct ottl_run *run, const struct ottl_node *call)
{
    struct endpoint ends[2];
    uint16_t seed;
    uint8_t flow[40], sum[SHA1_SIZE];
    struct bytes out;
    if (!read_endpoint(run, call, 0, &ends[0]) || !read_endpoint(run, call, 2, &ends[1]) ||
        !read_uint16(run, call, 5, &seed))
        return ottl_nil();
    struct view name = ottl_has(call, 4) ? ottl_arg_string(run, call, 4) : VIEW("TCP");
    int protocol = protocol_of(name);
    if (run->failed || protocol < 0)
        return ottl_fail(run, "CommunityID: expected ICMP, TCP, UDP, RSVP, ICMP6 or SCTP");
    bool swapped = !comes_first(&ends[0], &ends[1]);
    size_t size = put_uint16(flow, seed);
    for (size_t i = 0; i < 2; i++) {
        const struct endpoint *end = &ends[i ^ swapped];
        memcpy(flow + size, end->bytes, end->size);
        size += end->size;
    }
    flow[size++] = (uint8_t)protocol;
    flow[size++] = 0;
    size += put_uint16(flow + size, ends[swapped].port);
    size += put_uint16(flow + size, ends[!swapped].port);
    sha1((struct view){flow, size}, sum);
    bytes_init(&out, 64, NULL);
    bool ok = bytes_append(&out, "1:", 2) == BYTES_OK &&
              base64_encode((struct view){sum, sizeof sum}, &out);
    return ottl_made_text(run, &out, ok);
}

/* ---- bytes ---- */

static struct ottl_value hex_of(struct ottl_run *run, struct view bytes)
{
    struct view text = ottl_hex_text(run, bytes);
    return run->failed ? ottl_nil() : ottl_string(text);
}

/* Numbers are big-endian. */
static struct ottl_value hex(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    uint64_t bits = htobe64((uint64_t)value.integer);
    uint8_t byte = value.type == TYPE_BOOL && value.boolean;
    switch (value.type) {
    case TYPE_NIL:
        return run->failed ? ottl_nil() : ottl_string(VIEW(""));
    case TYPE_STRING:
    case TYPE_BYTES:
        return hex_of(run, value.bytes);
    case TYPE_INT:
    case TYPE_DOUBLE: /* the bits of either */
        return hex_of(run, (struct view){(uint8_t *)&bits, sizeof bits});
    case TYPE_BOOL:
        return hex_of(run, (struct view){&byte, 1});
    case TYPE_LIST:
    case TYPE_MAP:
    case TYPE_TIME:
    case TYPE_DURATION:
    case TYPE_TRACE_ID:
    case TYPE_SPAN_ID:
    case TYPE_MESSAGES:
        break;
    }
    return ottl_fail(run, "Hex takes bytes, a string, a number or a bool, not %s",
                     ottl_type_name(value.type));
}

/* Appends base64 in the standard alphabet with padding, without line ends, which Go ignores. False:
 * it is not of this variant (*bad), or there is no room. */
static bool to_standard(struct view text, bool url, bool raw, struct bytes *out, bool *bad)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = (char)text.data[i];
        if (c == '\r' || c == '\n')
            continue;
        *bad = *bad || (strchr(url ? "+/" : "-_", c) && c) || (raw && c == '=');
        c = c == '-' ? '+' : c == '_' ? '/' : c;
        if (*bad || bytes_append(out, &c, 1) != BYTES_OK)
            return false;
    }
    while (raw && out->size % 4)
        if (bytes_append(out, "=", 1) != BYTES_OK)
            return false;
    *bad = out->size % 4;
    return !*bad;
}

static struct ottl_value from_base64(struct ottl_run *run, const struct ottl_node *call,
                                     struct view text, struct view variant)
{
    bool raw = view_eq(variant, VIEW("base64-raw")) || view_eq(variant, VIEW("base64-raw-url"));
    bool url = view_eq(variant, VIEW("base64-url")) || view_eq(variant, VIEW("base64-raw-url"));
    struct bytes standard, out;
    bool bad = false;
    bytes_init(&standard, text.size + 4, NULL);
    bytes_init(&out, text.size + 4, NULL);
    bool ok = to_standard(text, url, raw, &standard, &bad);
    bad = bad || (ok && base64_decode(bytes_view(&standard), &out) == BASE64_BAD);
    bytes_release(&standard);
    if (bad)
        ottl_fail(run, "%s: invalid base64", call->function->name);
    return ottl_made_text(run, &out, ok && !bad);
}

/* How many bytes at the start of a text, which is no character, Go replaces together: those that a
 * character can begin with (Unicode 16, D93b). */
static size_t broken_character(struct view text)
{
    uint8_t lead = text.data[0], low = 0x80, high = 0xbf;
    size_t size = lead < 0xc2 || lead > 0xf4 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4, at = 1;
    low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : low;
    high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : high;
    for (; at < size && at < text.size && text.data[at] >= low && text.data[at] <= high; at++)
        low = 0x80, high = 0xbf;
    return at;
}

static struct ottl_value from_utf8(struct ottl_run *run, struct view text)
{
    struct bytes out;
    bool ok = true;
    if (utf8_valid(text))
        return ottl_string(text);
    bytes_init(&out, (size_t)16 << 20, NULL);
    while (ok && text.size) {
        size_t size = utf8_character(text), taken = size ? size : broken_character(text);
        struct view made = size ? (struct view){text.data, size} : VIEW("\xef\xbf\xbd");
        ok = bytes_append_view(&out, made) == BYTES_OK;
        text = (struct view){text.data + taken, text.size - taken};
    }
    return ottl_made_text(run, &out, ok);
}

static struct ottl_value decode(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    struct view encoding = call->items[1]->value.bytes;
    if (!run->failed && value.type != TYPE_BYTES && value.type != TYPE_STRING)
        ottl_fail(run, "Decode takes a string or bytes, not %s", ottl_type_name(value.type));
    if (run->failed)
        return ottl_nil();
    return view_starts(encoding, VIEW("base64")) ? from_base64(run, call, value.bytes, encoding)
                                                 : from_utf8(run, value.bytes);
}

static struct ottl_value base64_decoded(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    return run->failed ? ottl_nil() : from_base64(run, call, text, VIEW("base64"));
}

static const char *check_encoding(const struct ottl_node *call)
{
    static const char *const variants[] = {"base64", "base64-raw", "base64-url", "base64-raw-url",
                                           NULL};
    static const char *const characters[] = {"utf-8", "utf8", "us-ascii", "ascii"};
    bool known = ottl_is_one_of(call->items[1], variants);
    struct view name = ottl_is_text(call->items[1]) ? call->items[1]->value.bytes : VIEW("");
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        known = known || (name.size == strlen(characters[i]) &&
                          strncasecmp((const char *)name.data, characters[i], name.size) == 0);
    return known ? NULL
                 : "expected the encoding \"base64\", \"base64-raw\", \"base64-url\", "
                   "\"base64-raw-url\", \"utf-8\" or \"us-ascii\"";
}

/* ---- UUID (RFC 9562) ---- */

static struct ottl_value made_uuid(struct ottl_run *run, uint8_t id[16], unsigned version)
{
    char text[40];
    id[6] = (uint8_t)((id[6] & 15) | version << 4);
    id[8] = (uint8_t)((id[8] & 63) | 128);
    for (unsigned i = 0, at = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        at += (unsigned)snprintf(text + at, sizeof text - at, "%02x", id[i]);
    }
    return ottl_string(ottl_keep_text(run, text));
}

static struct ottl_value uuid(struct ottl_run *run, const struct ottl_node *call)
{
    uint8_t id[16];
    (void)call;
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
        return ottl_fail(run, "UUID: the system provides no random numbers");
    return made_uuid(run, id, 4);
}

static struct ottl_value uuid_v7(struct ottl_run *run, const struct ottl_node *call)
{
    uint64_t ms = clock_wall(run->clock) / 1000000;
    uint8_t id[16];
    (void)call;
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
        return ottl_fail(run, "UUIDv7: the system provides no random numbers");
    for (unsigned i = 0; i < 6; i++)
        id[i] = (uint8_t)(ms >> (40 - 8 * i));
    return made_uuid(run, id, 7);
}

const struct ottl_function ottl_address_functions[] = {
    {"IsInCIDR", "target,networks", is_in_cidr, FN_NO_PATTERN, false, 0, check_networks},
    {"CommunityID", "source_ip,source_port,destination_ip,destination_port,protocol?,seed?",
     community_id, FN_NO_PATTERN, false, 0, NULL},
    {"Hex", "target", hex, FN_NO_PATTERN, false, 0, NULL},
    {"Base64Decode", "target", base64_decoded, FN_NO_PATTERN, false, 0, NULL},
    {"Decode", "target,encoding", decode, FN_NO_PATTERN, false, 0, check_encoding},
    {"UUID", "", uuid, FN_NO_PATTERN, false, 0, NULL},
    {"UUIDv7", "", uuid_v7, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
