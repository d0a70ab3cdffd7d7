/* URL: what Go's url.Parse finds, under the names of the semantic conventions. */
#include "lib/ottl/function.h"

#include "lib/wire/proto/text.h"

#include <arpa/inet.h>
#include <ctype.h>

enum { PARAMETERS_MOST = 10000 };

/* Where a text stands: characters that are no letters, digits or -._~ and need no escape there. */
enum part { PART_PATH, PART_USER, PART_HOST, PART_FRAGMENT };
static const char *const plain[] = {
    [PART_PATH] = "$&+,/:;=@",
    [PART_USER] = "$&+,;=",
    [PART_HOST] = "!$&'()*+,;=:[]<>\"",
    [PART_FRAGMENT] = "!$&()*+,/:;=?@",
};

struct url {
    struct view original_path, original_fragment; /* as they came */
    struct view scheme, opaque, user, password, host, path, query, fragment;
    bool has_user, has_password, no_host, has_query;
};

static bool is_plain(uint8_t c, enum part part)
{
    return isalnum(c) || (c && (strchr("-._~", c) || strchr(plain[part], c)));
}

/* Cuts the text at the first such character: what is behind it. False: there is none. */
static bool cut(struct view *text, char at, struct view *behind)
{
    const uint8_t *found = memchr(text->data, at, text->size);
    const uint8_t *end = text->data + text->size;
    *behind = found ? view_between(found + 1, end) : VIEW("");
    *text = view_between(text->data, found ? found : end);
    return found;
}

static bool refuse(struct ottl_run *run, const char *why)
{
    ottl_fail(run, "URL: %s", why);
    return false;
}

/* The byte of an escape sequence at the start of a text; -1: it is malformed. */
static int escaped_byte(struct view text)
{
    int high = text.size > 2 ? text_hex_digit(text.data[1]) : -1;
    int low = text.size > 2 ? text_hex_digit(text.data[2]) : -1;
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* The text without its escape sequences. False: one is malformed, or the run has failed. */
static bool unescape(struct ottl_run *run, struct view text, bool plus, struct view *out)
{
    uint8_t *copy = arena_array_raw(ottl_arena(run), text.size + 1, 1), *end = copy;
    if (!copy)
        return refuse(run, "out of memory");
    for (size_t i = 0; i < text.size; i++) {
        int byte = text.data[i];
        if (byte == '%') {
            byte = escaped_byte((struct view){text.data + i, text.size - i});
            i += 2;
        } else if (byte == '+' && plus) {
            byte = ' ';
        }
        if (byte < 0)
            return refuse(run, "an invalid escape sequence");
        *end++ = (uint8_t)byte;
    }
    *out = view_between(copy, end);
    return true;
}

/* ---- the authority ---- */

/* A host may escape only bytes of characters beyond ASCII, and a zone also what a host may hold
 * (RFC 6874). */
static bool take_host_text(struct ottl_run *run, struct view text, bool zone, struct view *out)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        int byte = c == '%' ? escaped_byte((struct view){text.data + i, text.size - i}) : c;
        bool ok =
            byte >= 0x80 || (c == '%' && byte == '%') ||
            (c == '%' ? zone && byte >= 0 && (byte == ' ' || is_plain((uint8_t)byte, PART_HOST))
                      : is_plain(c, PART_HOST));
        if (!ok)
            return refuse(run, "an invalid character or escape sequence in the host");
        i += c == '%' ? 2 : 0;
    }
    return unescape(run, text, false, out);
}

static bool is_port(struct view text)
{
    size_t i = 1;
    while (i < text.size && isdigit(text.data[i]))
        i++;
    return text.size == 0 || (*text.data == ':' && i == text.size);
}

/* An IPv6 address, with a zone after a %. */
static bool is_ipv6(struct view text)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;
    struct view zone;
    if (cut(&text, '%', &zone) && !zone.size)
        return false;
    if (text.size >= sizeof copy || memchr(text.data, '\0', text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return inet_pton(AF_INET6, copy, &address) == 1;
}

/* [address%25zone]:port */
static bool take_literal(struct ottl_run *run, struct view host, struct url *url)
{
    const uint8_t *close = memrchr(host.data, ']', host.size), *end = host.data + host.size;
    struct view zone = {0}, made;
    if (!close || !is_port(view_between(close + 1, end)))
        return refuse(run, "an invalid IP address or port in the host");
    struct view inner = view_between(host.data + 1, close);
    const uint8_t *percent = memmem(inner.data, inner.size, "%25", 3);
    struct view address = view_between(inner.data, percent ? percent : close);
    if (!take_host_text(run, address, false, &address) ||
        (percent && !take_host_text(run, view_between(percent, close), true, &zone)))
        return false;
    size_t size = address.size + zone.size, rest = (size_t)(end - close);
    uint8_t *out = arena_array_raw(ottl_arena(run), size + rest + 2, 1);
    if (!out)
        return refuse(run, "out of memory");
    *out = '[';
    memcpy(out + 1, address.data, address.size);
    if (zone.size)
        memcpy(out + 1 + address.size, zone.data, zone.size);
    memcpy(out + 1 + size, close, rest);
    made = (struct view){out + 1, size};
    url->host = (struct view){out, size + rest + 1};
    return is_ipv6(made) || refuse(run, "an invalid IP address in the host");
}

static bool take_host(struct ottl_run *run, struct view host, struct url *url)
{
    const uint8_t *open = memrchr(host.data, '[', host.size), *end = host.data + host.size;
    const uint8_t *colon = memrchr(host.data, ':', host.size);
    if (open == host.data && host.size)
        return take_literal(run, host, url);
    if (open)
        return refuse(run, "an invalid IP address in the host");
    if (colon && !is_port(view_between(colon, end)))
        return refuse(run, "an invalid port");
    return take_host_text(run, host, false, &url->host);
}

static bool take_user(struct ottl_run *run, struct view user, struct url *url)
{
    struct view password;
    for (size_t i = 0; i < user.size; i++)
        if (!isalnum(user.data[i]) && !(user.data[i] && strchr("-._:~!$&'()*+,;=%@", user.data[i])))
            return refuse(run, "an invalid character in the user information");
    url->has_user = true;
    url->has_password = cut(&user, ':', &password);
    return unescape(run, user, false, &url->user) && unescape(run, password, false, &url->password);
}

static bool take_authority(struct ottl_run *run, struct view authority, struct url *url)
{
    const uint8_t *at = memrchr(authority.data, '@', authority.size);
    const uint8_t *end = authority.data + authority.size;
    if (!take_host(run, view_between(at ? at + 1 : authority.data, end), url))
        return false;
    return !at || take_user(run, view_between(authority.data, at), url);
}

/* ---- the whole ---- */

/* Takes a scheme, in lower case. False: the run has failed. */
static bool take_scheme(struct ottl_run *run, struct view *text, struct url *url)
{
    size_t size = 0;
    while (size < text->size &&
           (isalnum(text->data[size]) || (text->data[size] && strchr("+-.", text->data[size]))))
        size++;
    url->scheme = VIEW("");
    if (size == text->size || text->data[size] != ':' || (size && !isalpha(*text->data)))
        return true;
    if (size == 0)
        return refuse(run, "no scheme before the colon");
    uint8_t *lower = arena_array_raw(ottl_arena(run), size, 1);
    if (!lower)
        return refuse(run, "out of memory");
    for (size_t i = 0; i < size; i++)
        lower[i] = (uint8_t)tolower(text->data[i]);
    url->scheme = (struct view){lower, size};
    *text = (struct view){text->data + size + 1, text->size - size - 1};
    return true;
}

static bool take_path(struct ottl_run *run, struct view path, struct url *url)
{
    url->original_path = path;
    return unescape(run, path, false, &url->path);
}

/* All but the fragment. */
static bool parse(struct ottl_run *run, struct view text, struct url *url)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7f)
            return refuse(run, "a control character");
    if (!take_scheme(run, &text, url))
        return false;
    url->has_query = cut(&text, '?', &url->query);
    bool rooted = view_starts(text, VIEW("/"));
    if (!rooted && url->scheme.size) {
        url->opaque = text; /* as in mailto:joe */
        return true;
    }
    struct view first = text, rest;
    cut(&first, '/', &rest);
    if (!rooted && memchr(first.data, ':', first.size))
        return refuse(run, "a colon in the first segment of a path without a scheme");
    if (!view_starts(text, VIEW("//")) || (!url->scheme.size && view_starts(text, VIEW("///")))) {
        url->no_host = url->scheme.size && rooted;
        return take_path(run, text, url);
    }
    struct view authority = {text.data + 2, text.size - 2};
    const uint8_t *end = text.data + text.size;
    const uint8_t *slash = memchr(authority.data, '/', authority.size);
    authority = view_between(authority.data, slash ? slash : end);
    return take_authority(run, authority, url) &&
           take_path(run, view_between(slash ? slash : end, end), url);
}

/* ---- as text again ---- */

static bool put_escaped(struct bytes *out, struct view text, enum part part)
{
    bool ok = true;
    for (size_t i = 0; ok && i < text.size; i++)
        ok = is_plain(text.data[i], part) ? bytes_append(out, text.data + i, 1) == BYTES_OK
                                          : bytes_printf(out, "%%%02X", text.data[i]) == BYTES_OK;
    return ok;
}

/* As it came, unless it has a character that it must not have. */
static bool put_as_it_came(struct bytes *out, struct view came, struct view text, enum part part)
{
    for (size_t i = 0; i < came.size; i++)
        if (!is_plain(came.data[i], part) && !(came.data[i] && strchr("!'()*[]%", came.data[i])))
            return put_escaped(out, text, part);
    return bytes_append_view(out, came) == BYTES_OK;
}

static bool put_user(struct bytes *out, const struct url *url)
{
    return put_escaped(out, url->user, PART_USER) &&
           (!url->has_password ||
            (bytes_append(out, ":", 1) == BYTES_OK && put_escaped(out, url->password, PART_USER)));
}

/* A path alone must not begin with what reads as a scheme (RFC 3986, 4.2). */
static bool put_path(struct bytes *out, const struct url *url)
{
    struct view path, rest;
    size_t before = out->size;
    if (view_eq(url->path, VIEW("*")))
        return bytes_append(out, "*", 1) == BYTES_OK;
    if (!put_as_it_came(out, url->original_path, url->path, PART_PATH))
        return false;
    if (before || !out->size)
        return true;
    path = bytes_view(out);
    cut(&path, '/', &rest);
    if (!memchr(path.data, ':', path.size))
        return true;
    out->size = 0;
    return bytes_append(out, "./", 2) == BYTES_OK &&
           put_as_it_came(out, url->original_path, url->path, PART_PATH);
}

static bool put_url(struct bytes *out, const struct url *url)
{
    bool slashes =
        !url->no_host && (url->host.size || url->has_user || (url->scheme.size && url->path.size));
    bool ok = !url->scheme.size || (bytes_append_view(out, url->scheme) == BYTES_OK &&
                                    bytes_append(out, ":", 1) == BYTES_OK);
    ok = ok && (!slashes || bytes_append(out, "//", 2) == BYTES_OK);
    if (ok && url->has_user)
        ok = put_user(out, url) && bytes_append(out, "@", 1) == BYTES_OK;
    ok = ok && put_escaped(out, url->host, PART_HOST);
    ok = ok &&
         (url->opaque.size ? bytes_append_view(out, url->opaque) == BYTES_OK : put_path(out, url));
    if (ok && url->has_query)
        ok =
            bytes_append(out, "?", 1) == BYTES_OK && bytes_append_view(out, url->query) == BYTES_OK;
    if (ok && url->fragment.size)
        ok = bytes_append(out, "#", 1) == BYTES_OK &&
             put_as_it_came(out, url->original_fragment, url->fragment, PART_FRAGMENT);
    return ok;
}

/* ---- the map ---- */

static void put(struct attributes *list, const char *key, struct view text)
{
    struct value value = value_string(text);
    attributes_set(list, view_of(key), &value);
}

/* What is written, as a string of the map. */
static void put_written(struct ottl_run *run, struct attributes *list, const char *key,
                        const struct url *url, bool (*write)(struct bytes *, const struct url *))
{
    struct bytes out;
    bytes_init(&out, (size_t)16 << 20, NULL);
    struct ottl_value made = ottl_made_text(run, &out, write(&out, url));
    if (!run->failed)
        put(list, key, made.bytes);
}

/* The host's name without brackets, and the port. */
static void put_host(struct ottl_run *run, struct attributes *list, struct view host)
{
    const uint8_t *colon = memrchr(host.data, ':', host.size), *end = host.data + host.size;
    struct value port = value_int(0);
    bool has_port = colon && is_port(view_between(colon, end));
    for (const uint8_t *at = has_port ? colon + 1 : end; at < end && !run->failed; at++)
        if (__builtin_mul_overflow(port.integer, 10, &port.integer) ||
            __builtin_add_overflow(port.integer, *at - '0', &port.integer))
            refuse(run, "an invalid port");
    if (has_port && colon + 1 < end)
        attributes_set(list, VIEW("url.port"), &port);
    host = view_between(host.data, has_port ? colon : end);
    if (host.size > 1 && *host.data == '[' && host.data[host.size - 1] == ']')
        host = (struct view){host.data + 1, host.size - 2};
    put(list, "url.domain", host);
}

static struct ottl_value map_of(struct ottl_run *run, const struct url *url)
{
    struct attributes list;
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    put_written(run, &list, "url.original", url, put_url);
    if (url->fragment.size)
        put(&list, "url.fragment", url->fragment);
    put(&list, "url.scheme", url->scheme);
    if (url->query.size)
        put(&list, "url.query", url->query);
    if (url->has_user)
        put_written(run, &list, "url.user_info", url, put_user);
    if (url->user.size)
        put(&list, "url.username", url->user);
    if (url->has_password)
        put(&list, "url.password", url->password);
    put_host(run, &list, url->host);
    put(&list, "url.path", url->path);
    const uint8_t *dot = memrchr(url->path.data, '.', url->path.size);
    const uint8_t *end = url->path.data + url->path.size;
    if (dot && dot + 1 < end)
        put(&list, "url.extension", view_between(dot + 1, end));
    return run->failed ? ottl_nil() : ottl_made_map(run, &list);
}

/* Adds a value to the list of a parameter. False: the run has failed. */
static bool add_parameter(struct ottl_run *run, struct attributes *list, struct view pair)
{
    struct view text, key = pair;
    struct value values = {.kind = VALUE_LIST}, value;
    struct bytes out;
    cut(&key, '=', &text);
    if (!unescape(run, key, true, &key) || !unescape(run, text, true, &text))
        return false;
    bytes_init(&out, (size_t)16 << 20, NULL);
    value = value_string(text);
    bool ok =
        !attributes_get(list, key, &values) || bytes_append_view(&out, values.bytes) == BYTES_OK;
    ok = ok && value_append(&out, &value);
    struct ottl_value made = ottl_made_text(run, &out, ok);
    values = (struct value){.kind = VALUE_LIST, .bytes = made.bytes};
    if (!run->failed)
        attributes_set(list, key, &values);
    return !run->failed;
}

/* A text that begins with ? is parameters alone, as in the Collector: {"query": {name: [value]}} */
static struct ottl_value parameters(struct ottl_run *run, struct view text)
{
    struct attributes list, map;
    struct view pair, rest = text;
    size_t count = 0;
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    attributes_read(&map, VIEW(""), 1, ottl_arena(run));
    for (bool more = true; more && !run->failed;) {
        pair = rest;
        more = cut(&pair, '&', &rest);
        if (++count > PARAMETERS_MOST || memchr(pair.data, ';', pair.size))
            refuse(run, "too many parameters, or a semicolon in one");
        else if (pair.size)
            add_parameter(run, &list, pair);
    }
    struct value inner = attributes_map(&list);
    if (list.failed || !inner.bytes.data)
        refuse(run, "out of memory");
    if (!run->failed && list.count)
        attributes_set(&map, VIEW("query"), &inner);
    return run->failed ? ottl_nil() : ottl_made_map(run, &map);
}

static struct ottl_value url(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0), fragment;
    struct url url = {.user = VIEW(""), .password = VIEW(""), .host = VIEW(""), .path = VIEW("")};
    if (!run->failed && !text.size)
        refuse(run, "empty string");
    if (run->failed)
        return ottl_nil();
    if (*text.data == '?')
        return parameters(run, (struct view){text.data + 1, text.size - 1});
    cut(&text, '#', &fragment);
    url.original_fragment = fragment;
    bool ok = parse(run, text, &url) && unescape(run, fragment, false, &url.fragment);
    return ok ? map_of(run, &url) : ottl_nil();
}

const struct ottl_function ottl_url_functions[] = {
    {"URL", "uri", url, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
