/* Edits of a profile (lib/wire/pprof/pprof.h). */
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/pprof_fields.h"

/* A key that an alias is renamed to. */
struct name {
    struct view string_field; /* the string as a field of the profile, if it is new */
    enum pprof_key key;
    struct view key_field; /* Label.key with the string's index; empty until it is needed */
};

struct rewriting {
    const struct pprof *pprof;
    struct splice *splice;
    struct name names[2];
    const struct name *fresh[2]; /* names missing in the table, in order of their indices */
    size_t fresh_count;
};

static bool pprof_rewrite_has(unsigned keys, enum pprof_key key)
{
    return keys & 1u << key;
}

/* The key of a label with a string value; OTHER for others. *key_field is the effective occurrence
 * of the field. */
static enum pprof_key pprof_rewrite_key_of(const struct pprof *pprof, struct view label,
                                           struct proto_field *key_field)
{
    struct proto_scan scan = proto_scan_begin(label);
    struct proto_field field;
    uint64_t key = 0, str = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == LABEL_KEY) {
            key = field.value;
            *key_field = field;
        } else if (field.number == LABEL_STR) {
            str = field.value;
        }
    }
    return str ? (enum pprof_key)pprof->keys[key] : PPROF_KEY_OTHER;
}

/* The keys of a sample's labels, as bits. */
static unsigned keys_of(const struct pprof *pprof, struct view sample)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field, key_field;
    unsigned keys = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number == SAMPLE_LABEL)
            keys |= 1u << pprof_rewrite_key_of(pprof, field.bytes, &key_field);
    return keys;
}

/* Finds the index of a name's string, or assigns one after the table. False: no memory. */
static bool resolve(struct rewriting *rewriting, struct name *name)
{
    if (name->key_field.size)
        return true;
    const struct pprof *pprof = rewriting->pprof;
    uint64_t index = 0;
    while (index < pprof->string_count && pprof->keys[index] != name->key)
        index++;
    uint8_t *text = arena_alloc(rewriting->splice->arena, 11);
    if (!text) {
        rewriting->splice->failed = true;
        return false;
    }
    if (index == pprof->string_count) {
        index += rewriting->fresh_count;
        rewriting->fresh[rewriting->fresh_count++] = name;
    }
    uint8_t *end = proto_varint_put(text, proto_tag(LABEL_KEY, WIRE_VARINT));
    name->key_field = view_between(text, proto_varint_put(end, index));
    return true;
}

/* Renames the alias, or drops it if the sample already has the name. */
static void rename_label(struct rewriting *rewriting, struct name *name,
                         const struct proto_field *label, unsigned *keys)
{
    struct proto_field key = {0};
    pprof_rewrite_key_of(rewriting->pprof, label->bytes, &key);
    if (pprof_rewrite_has(*keys, name->key)) {
        splice_delete(rewriting->splice, label->start, label->end);
    } else if (resolve(rewriting, name)) {
        splice_enter(rewriting->splice, label);
        splice_replace(rewriting->splice, key.start, key.end, name->key_field);
        splice_leave(rewriting->splice);
        *keys |= 1u << name->key;
    }
}

static void rewrite_sample(struct rewriting *rewriting, const struct proto_field *sample,
                           unsigned keys, unsigned change)
{
    struct proto_scan scan = proto_scan_begin(sample->bytes);
    struct proto_field field, key_field;
    splice_enter(rewriting->splice, sample);
    while (proto_scan_next(&scan, &field)) {
        if (field.number != SAMPLE_LABEL)
            continue;
        enum pprof_key key = pprof_rewrite_key_of(rewriting->pprof, field.bytes, &key_field);
        if (!pprof_rewrite_has(change, key))
            continue;
        if (key == PPROF_KEY_TRACE_ID)
            splice_delete(rewriting->splice, field.start, field.end);
        else
            rename_label(rewriting, &rewriting->names[key == PPROF_KEY_SPAN], &field, &keys);
    }
    splice_leave(rewriting->splice);
}

/* The keys to change on a sample with these keys, as bits. */
static unsigned changes(unsigned keys, bool strip_trace_id)
{
    unsigned change = keys & 1u << PPROF_KEY_PROFILE_ID;
    if (pprof_rewrite_has(keys, PPROF_KEY_PROFILE_ID) || pprof_rewrite_has(keys, PPROF_KEY_SPAN_ID))
        change |= keys & 1u << PPROF_KEY_SPAN;
    if (strip_trace_id)
        change |= keys & 1u << PPROF_KEY_TRACE_ID;
    return change;
}

void pprof_rewrite_labels(const struct pprof *pprof, const struct pprof_rewrite *rewrite,
                          struct splice *splice)
{
    struct rewriting rewriting = {
        .pprof = pprof,
        .splice = splice,
        .names = {{VIEW("\x32\x07span_id"), PPROF_KEY_SPAN_ID, {0}},
                  {VIEW("\x32\x09span_name"), PPROF_KEY_SPAN_NAME, {0}}},
    };
    bool labels = changes(pprof->keys_seen, rewrite->strip_trace_id);
    if (!labels && !rewrite->drop_time)
        return;
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (rewrite->drop_time && field.number == PROFILE_TIME_NANOS)
            splice_delete(splice, field.start, field.end);
        if (!labels || field.number != PROFILE_SAMPLE)
            continue;
        unsigned keys = keys_of(pprof, field.bytes);
        unsigned change = changes(keys, rewrite->strip_trace_id);
        if (change)
            rewrite_sample(&rewriting, &field, keys, change);
    }
    for (size_t i = 0; i < rewriting.fresh_count; i++)
        splice_insert(splice, pprof->raw.data + pprof->raw.size, rewriting.fresh[i]->string_field);
}

void pprof_set_time(const struct pprof *pprof, int64_t time_nanos, struct splice *splice)
{
    uint8_t *text = arena_alloc(splice->arena, 11);
    if (!text) {
        splice->failed = true;
        return;
    }
    uint8_t *end = proto_varint_put(text, proto_tag(PROFILE_TIME_NANOS, WIRE_VARINT));
    end = proto_varint_put(end, (uint64_t)time_nanos);
    splice_insert(splice, pprof->raw.data + pprof->raw.size, view_between(text, end));
}
