#include "lib/wire/pprof/pprof_agents.h"

#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/proto/view_set.h"

#include <jansson.h>

enum { FUNCTION_NAME = 2, FUNCTION_FILENAME = 4, INDEX_CAP = 1 << 30 };

/* Limit on the size of new names, as a multiple of the profile's size. */
enum { MAX_GROWTH = 8, FREE_GROWTH = 1 << 16 };

enum pprof_naming pprof_naming_of(struct view spy)
{
    if (view_eq(spy, VIEW("pyspy")))
        return PPROF_NAMES_OF_RELATIVE_FILES;
    return view_eq(spy, VIEW("rbspy")) || view_eq(spy, VIEW("scripting")) ? PPROF_NAMES_OF_FILES
                                                                          : PPROF_NAMES_KEPT;
}

/* New names for the string table. */
struct naming {
    const struct pprof *pprof;
    struct splice *splice;
    struct view_set names;
    size_t left; /* bytes left for them */
};

static struct view joined(struct naming *naming, struct view file, struct view name)
{
    size_t size = file.size + 1 + name.size;
    if (size > naming->left)
        return (struct view){0};
    uint8_t *text = arena_alloc(naming->splice->arena, size);
    if (!text) {
        naming->splice->failed = true;
        return (struct view){0};
    }
    naming->left -= size;
    if (file.size)
        memcpy(text, file.data, file.size);
    text[file.size] = ' ';
    if (name.size)
        memcpy(text + file.size + 1, name.data, name.size);
    return (struct view){text, size};
}

/* Makes the name field of a function. False: no room. */
static bool name_field(struct naming *naming, struct view name, struct view *field)
{
    uint32_t number = view_set_add(&naming->names, name);
    uint8_t *text = arena_alloc(naming->splice->arena, 11);
    naming->splice->failed |= !text || number == UINT32_MAX;
    if (naming->splice->failed)
        return false;
    uint8_t *end = proto_varint_put(text, proto_tag(FUNCTION_NAME, WIRE_VARINT));
    end = proto_varint_put(end, naming->pprof->string_count + number);
    *field = view_between(text, end);
    return true;
}

static void name_function(struct naming *naming, enum pprof_naming rule,
                          const struct proto_field *function)
{
    struct proto_scan scan = proto_scan_begin(function->bytes);
    struct proto_field field;
    uint64_t name = 0, file = 0;
    while (proto_scan_next(&scan, &field)) {
        name = field.number == FUNCTION_NAME ? field.value : name;
        file = field.number == FUNCTION_FILENAME ? field.value : file;
    }
    struct view path = pprof_string(naming->pprof, file), made;
    if (rule == PPROF_NAMES_OF_RELATIVE_FILES && view_starts(path, VIEW("/")))
        return;
    struct view text = joined(naming, path, pprof_string(naming->pprof, name));
    if (!text.data || !name_field(naming, text, &made))
        return;
    splice_enter(naming->splice, function);
    for (scan = proto_scan_begin(function->bytes); proto_scan_next(&scan, &field);)
        if (field.number == FUNCTION_NAME)
            splice_delete(naming->splice, field.start, field.end);
    splice_insert(naming->splice, function->end, made);
    splice_leave(naming->splice);
}

static void append_names(struct naming *naming)
{
    const uint8_t *end = naming->pprof->raw.data + naming->pprof->raw.size;
    for (size_t i = 0; i < naming->names.count; i++) {
        struct view name = naming->names.entries[i];
        uint8_t *head = arena_alloc(naming->splice->arena, 16);
        naming->splice->failed |= !head;
        if (!head)
            return;
        uint8_t *behind = proto_len_put(head, PROFILE_STRING_TABLE, name.size);
        splice_insert(naming->splice, end, view_between(head, behind));
        splice_insert(naming->splice, end, name);
    }
}

/* Size of all new names. */
static size_t names_size(const struct pprof *pprof)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct proto_field field, part;
    size_t size = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number == PROFILE_FUNCTION) {
            struct proto_scan inner = proto_scan_begin(field.bytes);
            while (proto_scan_next(&inner, &part))
                if (part.number == FUNCTION_NAME || part.number == FUNCTION_FILENAME)
                    size += pprof_string(pprof, part.value).size + 1;
        }
    return size;
}

void pprof_name_files(const struct pprof *pprof, enum pprof_naming rule, struct splice *splice)
{
    struct naming naming = {
        .pprof = pprof, .splice = splice, .left = MAX_GROWTH * pprof->raw.size + FREE_GROWTH};
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct proto_field field;
    if (rule == PPROF_NAMES_KEPT || names_size(pprof) > naming.left)
        return;
    view_set_init(&naming.names, splice->arena);
    while (!splice->failed && proto_scan_next(&scan, &field))
        if (field.number == PROFILE_FUNCTION)
            name_function(&naming, rule, &field);
    append_names(&naming);
}

bool pprof_is_dotnet(struct view spy, struct view sample_type_config)
{
    if (view_eq(spy, VIEW("dotnetspy")))
        return true;
    if ((spy.size && !view_eq(spy, VIEW("unknown"))) || !sample_type_config.size)
        return false;
    json_t *config =
        json_loadb((const char *)sample_type_config.data, sample_type_config.size, 0, NULL);
    const json_t *entry = json_object_get(config, "inuse-space");
    bool is = entry && !json_is_null(entry);
    json_decref(config);
    return is;
}

static uint64_t pprof_agents_id_of(struct view message)
{
    struct proto_field field;
    return proto_find(message, TABLE_ID, WIRE_VARINT, &field) ? field.value : 0;
}

/* Whether the functions lack ids and can get those of the locations. */
static bool lacks_ids(struct view raw)
{
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    size_t functions = 0, locations = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.type != WIRE_LEN)
            continue;
        locations += field.number == PROFILE_LOCATION;
        functions += field.number == PROFILE_FUNCTION;
        if (field.number == PROFILE_FUNCTION && pprof_agents_id_of(field.bytes))
            return false;
    }
    return !scan.bad && functions > 0 && functions == locations;
}

static void lend_ids(struct view raw, struct splice *splice)
{
    struct proto_scan functions = proto_scan_begin(raw), locations = proto_scan_begin(raw);
    struct proto_field function, location, old;
    while (proto_scan_next_of(&functions, PROFILE_FUNCTION, &function) &&
           proto_scan_next_of(&locations, PROFILE_LOCATION, &location)) {
        uint8_t *text = arena_alloc(splice->arena, 11);
        splice->failed |= !text;
        if (!text)
            return;
        uint8_t *end = proto_varint_put(text, proto_tag(TABLE_ID, WIRE_VARINT));
        end = proto_varint_put(end, pprof_agents_id_of(location.bytes));
        splice_enter(splice, &function);
        struct proto_scan inner = proto_scan_begin(function.bytes);
        while (proto_scan_next(&inner, &old))
            if (old.number == TABLE_ID)
                splice_delete(splice, old.start, old.end);
        splice_insert(splice, function.end, view_between(text, end));
        splice_leave(splice);
    }
}

/* The string indices of the first sample types' names; returns their number. */
static size_t type_names(struct view raw, uint64_t *names)
{
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field type, field;
    size_t count = 0;
    while (count < PPROF_MAX_TYPES && proto_scan_next_of(&scan, PROFILE_SAMPLE_TYPE, &type))
        if (proto_find(type.bytes, 1, WIRE_VARINT, &field))
            names[count++] = field.value;
    return count;
}

static bool rename_types(struct bytes *raw)
{
    struct view all = bytes_view(raw);
    struct proto_scan scan = proto_scan_begin(all);
    struct proto_field field;
    uint64_t names[PPROF_MAX_TYPES];
    size_t count = type_names(all, names);
    bool changed = false;
    for (uint64_t index = 0; proto_scan_next_of(&scan, PROFILE_STRING_TABLE, &field); index++)
        for (size_t i = 0; i < count; i++) {
            uint8_t *text = raw->data + (field.bytes.data - all.data);
            for (size_t at = 0; names[i] == index && at < field.bytes.size; at++)
                if (text[at] == '-') {
                    text[at] = '_';
                    changed = true;
                }
        }
    return changed;
}

static bool apply(struct bytes *raw, const struct splice *splice)
{
    struct bytes made;
    size_t size = splice_size(splice);
    bytes_init(&made, size > raw->max ? size : raw->max, raw->budget);
    if (bytes_reserve(&made, size) != BYTES_OK) {
        bytes_release(&made);
        return false;
    }
    splice_write(splice, made.data);
    made.size = size;
    bytes_release(raw);
    *raw = made;
    return true;
}

bool pprof_repair_dotnet(struct bytes *raw, bool *changed)
{
    struct arena arena;
    struct splice splice;
    bool good = true;
    *changed = false;
    if (lacks_ids(bytes_view(raw))) {
        arena_init(&arena, INDEX_CAP);
        splice_begin(&splice, bytes_view(raw), &arena);
        lend_ids(bytes_view(raw), &splice);
        good = !splice.failed && apply(raw, &splice);
        arena_release(&arena);
        *changed = true;
    }
    *changed |= good && rename_types(raw);
    return good;
}
