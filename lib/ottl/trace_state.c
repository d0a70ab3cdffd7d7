#include "lib/ottl/trace_state.h"

enum { VALUE_MOST = 256, KEY_MOST = 256, TENANT_MOST = 241, SYSTEM_MOST = 14 };

static bool is_letter(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter_or_digit(uint8_t c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

static bool is_part(struct view text, size_t most, bool digit_first)
{
    if (!text.size || text.size > most)
        return false;
    for (size_t i = 1; i < text.size; i++)
        if (!is_letter_or_digit(text.data[i]) && !memchr("_-*/", text.data[i], 4))
            return false;
    return digit_first ? is_letter_or_digit(*text.data) : is_letter(*text.data);
}

static bool is_key(struct view key)
{
    const uint8_t *at = key.size ? memchr(key.data, '@', key.size) : NULL;
    if (!at)
        return is_part(key, KEY_MOST, false);
    return is_part(view_between(key.data, at), TENANT_MOST, true) &&
           is_part(view_between(at + 1, key.data + key.size), SYSTEM_MOST, false);
}

static bool is_value(struct view value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < ' ' || value.data[i] > '~' || value.data[i] == ',' ||
            value.data[i] == '=')
            return false;
    return value.size && value.size <= VALUE_MOST && value.data[value.size - 1] != ' ';
}

/* The number of the member with a key; the count: there is none. */
static size_t find(const struct trace_state *state, struct view key)
{
    size_t i = 0;
    while (i < state->count && !view_eq(state->members[i].key, key))
        i++;
    return i;
}

static bool read_member(struct view text, struct trace_state *state)
{
    const uint8_t *equals = memchr(text.data, '=', text.size);
    if (!equals || state->count == TRACE_STATE_MEMBERS)
        return false;
    const struct trace_state_member member = {
        view_trim_start(view_between(text.data, equals), VIEW(" \t")),
        view_trim_end(view_between(equals + 1, text.data + text.size), VIEW(" \t"))};
    if (!is_key(member.key) || !is_value(member.value) || find(state, member.key) < state->count)
        return false;
    state->members[state->count++] = member;
    return true;
}

bool trace_state_read(struct view text, struct trace_state *state)
{
    const uint8_t *at = text.data, *end = text.data + text.size, *comma;
    bool good = true;
    state->count = 0;
    for (; good && at < end; at = comma + 1) {
        comma = memchr(at, ',', (size_t)(end - at));
        comma = comma ? comma : end;
        good = comma == at || read_member(view_between(at, comma), state);
    }
    return good;
}

struct view trace_state_get(const struct trace_state *state, struct view key)
{
    const size_t i = find(state, key);
    return i < state->count ? state->members[i].value : VIEW("");
}

static bool put(struct bytes *out, struct view key, struct view value)
{
    return bytes_append_view(out, key) == BYTES_OK && bytes_append(out, "=", 1) == BYTES_OK &&
           bytes_append_view(out, value) == BYTES_OK;
}

bool trace_state_put(const struct trace_state *state, struct view key, struct view value,
                     struct bytes *out)
{
    size_t old = find(state, key);
    if (old == TRACE_STATE_MEMBERS)
        old--;
    bool ok = is_key(key) && is_value(value) && put(out, key, value);
    for (size_t i = 0; ok && i < state->count; i++)
        ok = i == old || (bytes_append(out, ",", 1) == BYTES_OK &&
                          put(out, state->members[i].key, state->members[i].value));
    return ok;
}
