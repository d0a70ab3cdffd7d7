#include "processors/probabilistic_sampler/randomness.h"

#include "lib/wire/proto/text.h"

#include <ctype.h>
#include <math.h>

enum { BUCKETS = 0x4000, STATE_MAX = 1024, OT_MAX = 256, KEY_MAX = 256 };

static bool read_hex(struct view text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = text_hex_digit(text.data[i]);
        if (digit < 0)
            return false;
        *number = *number << 4 | (uint64_t)digit;
    }
    return text.size > 0;
}

bool sample_read_threshold(struct view text, uint64_t *threshold)
{
    if (text.size > SAMPLE_DIGITS || !read_hex(text, threshold))
        return false;
    *threshold <<= 4 * (SAMPLE_DIGITS - text.size);
    return true;
}

bool sample_read_randomness(struct view text, uint64_t *randomness)
{
    return text.size == SAMPLE_DIGITS && read_hex(text, randomness);
}

size_t sample_put_randomness(uint64_t randomness, char out[SAMPLE_DIGITS + 1])
{
    for (unsigned i = 0; i < SAMPLE_DIGITS; i++)
        out[i] = "0123456789abcdef"[randomness >> (4 * (SAMPLE_DIGITS - 1 - i)) & 15];
    out[SAMPLE_DIGITS] = '\0';
    return SAMPLE_DIGITS;
}

size_t sample_put_threshold(uint64_t threshold, char out[SAMPLE_DIGITS + 1])
{
    size_t size = threshold == SAMPLE_NEVER ? 0 : sample_put_randomness(threshold, out);
    while (size > 1 && out[size - 1] == '0')
        size--;
    out[size] = '\0';
    return size;
}

/* round() would load libm, which takes 0.3 MiB of an idle process. */
static uint64_t rounded(double number)
{
    uint64_t whole = (uint64_t)number;
    return whole + (number - (double)whole >= 0.5);
}

bool sample_threshold(double probability, int precision, uint64_t *threshold)
{
    int low, high;
    if (!(probability >= ldexp(1, -56) && probability <= 1))
        return false;
    *threshold = SAMPLE_ALWAYS;
    if (probability == 1)
        return true;
    (void)frexp(probability, &low);
    (void)frexp(1 - probability, &high);
    int more = low / -4 > high / -4 ? low / -4 : high / -4;
    precision = precision + more < SAMPLE_DIGITS ? precision + more : SAMPLE_DIGITS;
    *threshold = SAMPLE_NEVER - rounded(probability * ldexp(1, 56));
    unsigned shift = 4 * (unsigned)(SAMPLE_DIGITS - precision);
    if (shift)
        *threshold = (*threshold + (UINT64_C(1) << (shift - 1))) >> shift << shift;
    return true;
}

/* FNV-1a of 32 bits over the seed and the bytes. */
static uint32_t fnv(uint32_t seed, struct view bytes)
{
    uint32_t sum = 0x811c9dc5;
    for (unsigned i = 0; i < 4; i++)
        sum = (sum ^ (seed >> (8 * i) & 0xff)) * 0x01000193;
    for (size_t i = 0; i < bytes.size; i++)
        sum = (sum ^ bytes.data[i]) * 0x01000193;
    return sum;
}

uint64_t sample_hash(struct view bytes, uint32_t seed)
{
    uint32_t sum = fnv(seed, bytes);
    uint64_t bucket = sum & (BUCKETS - 1), unused = sum >> 18;
    return (BUCKETS - 1 - bucket) << 42 | (unused ^ unused << 10) << 14 | bucket;
}

/* ---- tracestate ---- */

static bool ot_key(struct view key)
{
    for (size_t i = 0; i < key.size; i++)
        if (!islower(key.data[i]) && (i == 0 || !isdigit(key.data[i])))
            return false;
    return key.size > 0;
}

static bool ot_value(struct view value)
{
    for (size_t i = 0; i < value.size; i++)
        if (!isalnum(value.data[i]) && !strchr("._-", value.data[i]))
            return false;
    return true;
}

/* The next member up to a separator, and the rest. */
static struct view cut(struct view *text, char separator)
{
    const uint8_t *end = memchr(text->data, separator, text->size);
    const uint8_t *stop = text->data + text->size;
    struct view member = view_between(text->data, end ? end : stop);
    *text = view_between(end ? end + 1 : stop, stop);
    return member;
}

static bool keep(struct view *list, size_t *count, struct view member)
{
    if (*count == SAMPLE_EXTRA)
        return false;
    list[(*count)++] = member;
    return true;
}

/* "rv:...;th:...;x:..." */
static bool read_ot(struct view text, struct sample_state *state)
{
    bool good = text.size > 0 && text.size <= OT_MAX && text.data[text.size - 1] != ';';
    while (good && text.size) {
        struct view member = cut(&text, ';'), value = member;
        struct view key = cut(&value, ':');
        if (key.size == member.size || !ot_key(key) || !ot_value(value))
            return false;
        if (view_eq(key, VIEW("rv")))
            good = state->has_randomness = sample_read_randomness(value, &state->randomness);
        else if (view_eq(key, VIEW("th")))
            good = state->has_threshold = sample_read_threshold(value, &state->threshold);
        else
            good = keep(state->of_ot, &state->of_ot_count, member);
    }
    return good;
}

static bool w3c_part(struct view part, bool digit_first)
{
    for (size_t i = 0; i < part.size; i++) {
        bool first = islower(part.data[i]) || (digit_first && isdigit(part.data[i]));
        bool other = i > 0 && (isdigit(part.data[i]) || strchr("-*/_", part.data[i]));
        if (!first && !other)
            return false;
    }
    return part.size > 0;
}

static bool w3c_key(struct view key)
{
    struct view system = key, tenant = cut(&system, '@');
    if (key.size > KEY_MAX)
        return false;
    if (tenant.size == key.size)
        return w3c_part(key, false);
    return w3c_part(tenant, true) && w3c_part(system, false) && tenant.size <= 241 &&
           system.size <= 14;
}

static bool w3c_value(struct view value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < 0x20 || value.data[i] > 0x7e || strchr(",=", value.data[i]))
            return false;
    return value.size > 0 && value.size <= 256 && value.data[value.size - 1] != ' ';
}

bool sample_read_state(struct view text, struct sample_state *state)
{
    bool good = text.size <= STATE_MAX;
    state->has_randomness = state->has_threshold = false;
    state->of_ot_count = state->others_count = 0;
    while (good && text.size) {
        struct view member = view_trim(cut(&text, ','), VIEW(" \t")), value = member;
        struct view key = cut(&value, '=');
        if (!member.size)
            continue;
        if (key.size == member.size || !w3c_key(key) || !w3c_value(value))
            return false;
        if (view_eq(key, VIEW("ot")))
            good = read_ot(value, state);
        else
            good = keep(state->others, &state->others_count, member);
    }
    return good;
}

struct writer {
    uint8_t *out;
    bool any;
};

static void put(struct writer *writer, char separator, struct view text)
{
    if (writer->any)
        *writer->out++ = (uint8_t)separator;
    memcpy(writer->out, text.data, text.size);
    writer->out += text.size;
    writer->any = true;
}

static void put_pair(struct writer *writer, const char *key, const char *value)
{
    put(writer, ';', view_of(key));
    memcpy(writer->out, value, strlen(value));
    writer->out += strlen(value);
}

struct view sample_write_state(const struct sample_state *state, struct arena *arena)
{
    char digits[SAMPLE_DIGITS + 1];
    uint8_t *start = arena_alloc(arena, STATE_MAX + 64);
    struct writer writer = {start, false};
    if (!start)
        return (struct view){0};
    bool threshold = state->has_threshold && sample_put_threshold(state->threshold, digits);
    bool any = state->has_randomness || threshold || state->of_ot_count;
    if (any) {
        memcpy(writer.out, "ot=", 3);
        writer.out += 3;
    }
    if (state->has_randomness) {
        sample_put_randomness(state->randomness, digits);
        put_pair(&writer, "rv:", digits);
    }
    if (threshold) {
        sample_put_threshold(state->threshold, digits);
        put_pair(&writer, "th:", digits);
    }
    for (size_t i = 0; i < state->of_ot_count; i++)
        put(&writer, ';', state->of_ot[i]);
    writer.any = any;
    for (size_t i = 0; i < state->others_count; i++)
        put(&writer, ',', state->others[i]);
    return view_between(start, writer.out);
}
