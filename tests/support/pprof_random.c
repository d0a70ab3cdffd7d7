#include "tests/support/pprof_random.h"

#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"

enum { MAX_FIELDS = 200 };

static const char *const strings[] = {
    "",         "samples", "cpu",       "span_id", "profile_id",
    "trace_id", "span",    "span_name", "span_id", "00f067aa0ba902b7",
    "work",     "main",    "",          "file.py", "00000000000000aa",
    "request"};

enum { STRINGS = sizeof strings / sizeof *strings, ENTRIES = 6 };

static uint64_t string_index(struct random *random)
{
    return random_below(random, STRINGS);
}

static struct view maybe_unknown(struct random *random)
{
    if (random_below(random, 5))
        return VIEW("");
    return random_below(random, 2) ? pb_varint(31, random_below(random, 1000))
                                   : PB_TEXT(200, "unknown");
}

/* Numbers below a limit, packed or not, in a field. */
static struct view numbers(struct random *random, uint32_t field, size_t count, uint32_t from,
                           uint32_t below)
{
    struct view fields[16], content[16];
    bool packed = random_below(random, 3);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = from + random_below(random, below);
        fields[i] = pb_varint(field, number);
        content[i] = (struct view){fields[i].data + 1, fields[i].size - 1};
    }
    return packed ? pb_message(field, content, count) : pb_join(fields, count);
}

static struct view label(struct random *random)
{
    struct view key = pb_varint(1, string_index(random));
    if (random_below(random, 4) == 0)
        return PB_MESSAGE(3, key, pb_varint(3, random_below(random, 300)),
                          pb_varint(4, string_index(random)), maybe_unknown(random));
    return PB_MESSAGE(3, key, pb_varint(2, string_index(random)), maybe_unknown(random));
}

static struct view sample(struct random *random, size_t types)
{
    struct view labels[4];
    size_t count = random_below(random, 4);
    for (size_t i = 0; i < count; i++)
        labels[i] = label(random);
    return PB_MESSAGE(2, numbers(random, 1, random_below(random, 5), 1, ENTRIES),
                      numbers(random, 2, types, 1, 100000), maybe_unknown(random),
                      pb_join(labels, count));
}

static struct view entry(struct random *random, uint32_t table, uint64_t id)
{
    struct view unknown = maybe_unknown(random), number = pb_varint(1, id);
    uint64_t other = 1 + random_below(random, ENTRIES);
    switch (table) {
    case 3:
        return PB_MESSAGE(3, pb_varint(5, string_index(random)), number, unknown);
    case 4:
        return PB_MESSAGE(4, number, pb_varint(2, other),
                          PB_MESSAGE(4, pb_varint(1, other), pb_varint(2, 17)), unknown);
    default:
        return PB_MESSAGE(5, number, pb_varint(2, string_index(random)), unknown,
                          pb_varint(4, string_index(random)));
    }
}

static size_t add_tables(struct random *random, struct view *fields, size_t at, size_t types)
{
    size_t samples = random_below(random, 12);
    for (size_t i = 0; i < types; i++)
        fields[at++] = PB_MESSAGE(1, pb_varint(1, 1 + random_below(random, 2)),
                                  pb_varint(2, string_index(random)));
    for (size_t i = 0; i < samples; i++)
        fields[at++] = sample(random, types);
    for (uint32_t table = 3; table <= 5; table++)
        for (uint64_t id = 1; id <= ENTRIES; id++)
            fields[at++] = entry(random, table, id);
    return at;
}

static size_t add_others(struct random *random, struct view *fields, size_t at)
{
    fields[at++] = pb_varint(9, UINT64_C(1700000000000000000) + random_below(random, 1000));
    fields[at++] = pb_varint(10, random_below(random, 1000));
    fields[at++] = PB_MESSAGE(11, pb_varint(1, string_index(random)));
    fields[at++] = pb_varint(12, random_below(random, 1000));
    fields[at++] = numbers(random, 13, 1 + random_below(random, 3), 0, STRINGS);
    fields[at++] = pb_varint(7, string_index(random));
    fields[at++] = pb_varint(14, string_index(random));
    fields[at++] = maybe_unknown(random);
    return at;
}

/* Moves all fields but the strings, which keep their order. */
static void shuffle(struct random *random, struct view *fields, const bool *fixed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t other = random_below(random, (uint32_t)count);
        if (fixed[i] || fixed[other])
            continue;
        struct view kept = fields[i];
        fields[i] = fields[other];
        fields[other] = kept;
    }
}

struct view pprof_random(uint64_t seed)
{
    struct random random = random_seeded(seed);
    struct view fields[MAX_FIELDS];
    bool fixed[MAX_FIELDS] = {false};
    size_t at = add_tables(&random, fields, 0, 1 + random_below(&random, 3));
    for (size_t i = 0; i < STRINGS; i++) {
        fixed[at] = true;
        fields[at++] = PB_MESSAGE(6, view_of(strings[i]));
    }
    at = add_others(&random, fields, at);
    shuffle(&random, fields, fixed, at);
    return pb_join(fields, at);
}
