/* Writes a flame graph as JSON, folded text and pprof. */
#include "extensions/status/flame.h"
#include "lib/wire/proto/proto_write.h"
#include "lib/wire/proto/text.h"

#include <inttypes.h>
#include <stdlib.h>

void flame_json(struct flame *flame, struct json *json)
{
    const struct flame_node *nodes = flame_nodes(flame);
    char type[FLAME_TYPE_SIZE], unit[FLAME_TYPE_SIZE];
    flame_unit(flame, type, unit, sizeof type);
    json_open(json, NULL, '{');
    json_word(json, "unit", unit);
    json_word(json, "type", flame->type);
    json_number(json, "total", flame_count(flame) ? (uint64_t)nodes[0].total : 0);
    json_number(json, "samples", flame->samples);
    if (flame->filter.ids)
        json_number(json, "spans", flame->spans);
    else
        json_literal(json, "spans", "null");
    json_time_or_null(json, "from_unix_nano", flame->start);
    json_time_or_null(json, "to_unix_nano", flame->end);
    json_open(json, "types", '[');
    for (size_t i = 0; i < flame->type_count; i++)
        json_word(json, NULL, flame->types[i]);
    json_close(json, ']');
    json_bool(json, "truncated", flame->truncated);
    json_open(json, "names", '[');
    for (uint32_t i = 0; i < flame->names.count; i++)
        json_text(json, NULL, names_get(&flame->names, i));
    json_close(json, ']');
    json_open(json, "nodes", '[');
    for (size_t i = 0; i < flame_count(flame) && !json->failed; i++) {
        json_open(json, NULL, '[');
        if (i == 0)
            json_literal(json, NULL, "-1");
        else
            json_number(json, NULL, nodes[i].parent);
        json_number(json, NULL, nodes[i].name);
        json_number(json, NULL, (uint64_t)nodes[i].total);
        json_number(json, NULL, (uint64_t)nodes[i].self);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- folded ---- */

enum { DEEPEST = 4096 };

/* Writes a frame of a folded stack: ';' and control characters are replaced. */
static bool put_frame(struct view name, struct bytes *out)
{
    size_t from = out->size;
    if (!text_utf8(name, out))
        return false;
    for (size_t i = from; i < out->size; i++)
        if (out->data[i] == ';' || out->data[i] < 0x20)
            out->data[i] = out->data[i] == ';' ? ':' : ' ';
    return true;
}

static bool put_stack(const struct flame *flame, uint32_t node, struct bytes *out)
{
    const struct flame_node *nodes = flame_nodes(flame);
    uint32_t path[DEEPEST];
    size_t depth = 0;
    for (; node && depth < DEEPEST; node = nodes[node].parent)
        path[depth++] = nodes[node].name;
    while (depth-- > 0)
        if (!put_frame(names_get(&flame->names, path[depth]), out) ||
            (depth && bytes_append(out, ";", 1) != BYTES_OK))
            return false;
    return true;
}

bool flame_folded(struct flame *flame, struct bytes *out)
{
    const struct flame_node *nodes = flame_nodes(flame);
    for (size_t i = 1; i < flame_count(flame); i++)
        if (nodes[i].self && (!put_stack(flame, (uint32_t)i, out) ||
                              bytes_printf(out, " %" PRId64 "\n", nodes[i].self) != BYTES_OK))
            return false;
    return true;
}

/* ---- pprof: github.com/google/pprof proto/profile.proto ---- */

enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLES = 2,
    PROFILE_LOCATIONS = 4,
    PROFILE_FUNCTIONS = 5,
    PROFILE_STRINGS = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_OF = 11,
    PROFILE_PERIOD_IS = 12
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { LOCATION_ID = 1, LOCATION_LINES = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };
/* The string table: "", the parts of the types, then all names. */
enum { STRING_TYPE = 1, STRING_UNIT, STRING_PERIOD_TYPE, STRING_PERIOD_UNIT, STRING_NAMES };

static void put_type(struct proto_write *write, uint32_t number, uint64_t type, uint64_t unit)
{
    size_t open = proto_write_open(write, number);
    proto_write_varint(write, TYPE_TYPE, type);
    proto_write_varint(write, TYPE_UNIT, unit);
    proto_write_close(write, open);
}

static void put_sample(const struct flame *flame, uint32_t node, struct proto_write *write)
{
    const struct flame_node *nodes = flame_nodes(flame);
    size_t open = proto_write_open(write, PROFILE_SAMPLES);
    size_t list = proto_write_open(write, SAMPLE_LOCATIONS);
    for (uint32_t at = node; at; at = nodes[at].parent)
        proto_write_packed(write, nodes[at].name + 1);
    proto_write_close(write, list);
    list = proto_write_open(write, SAMPLE_VALUES);
    proto_write_packed(write, (uint64_t)nodes[node].self);
    proto_write_close(write, list);
    proto_write_close(write, open);
}

/* Writes a location and a function with the same id for each name. */
static void put_tables(const struct flame *flame, struct proto_write *write)
{
    for (uint32_t i = 0; i < flame->names.count; i++) {
        size_t open = proto_write_open(write, PROFILE_LOCATIONS);
        proto_write_varint(write, LOCATION_ID, i + 1);
        size_t line = proto_write_open(write, LOCATION_LINES);
        proto_write_varint(write, LINE_FUNCTION, i + 1);
        proto_write_close(write, line);
        proto_write_close(write, open);
    }
    for (uint32_t i = 0; i < flame->names.count; i++) {
        size_t open = proto_write_open(write, PROFILE_FUNCTIONS);
        proto_write_varint(write, FUNCTION_ID, i + 1);
        proto_write_varint(write, FUNCTION_NAME, STRING_NAMES + i);
        proto_write_close(write, open);
    }
}

static void put_text(struct proto_write *write, struct view text)
{
    struct bytes valid;
    bytes_init(&valid, 4 * text.size + 4, NULL);
    bool whole = text_utf8(text, &valid);
    proto_write_bytes(write, PROFILE_STRINGS, whole ? bytes_view(&valid) : VIEW("?"));
    bytes_release(&valid);
}

/* One of the parts 0 to 4 of "name:type:unit:period_type:period_unit". */
static struct view part_of(const char *type, unsigned part)
{
    while (part-- > 0 && *type) {
        type += strcspn(type, ":");
        type += *type == ':';
    }
    return (struct view){(const uint8_t *)type, strcspn(type, ":")};
}

bool flame_pprof(struct flame *flame, struct bytes *out)
{
    const struct flame_node *nodes = flame_nodes(flame);
    struct proto_write write = proto_write_begin(out);
    put_type(&write, PROFILE_TYPE, STRING_TYPE, STRING_UNIT);
    for (size_t i = 1; i < flame_count(flame); i++)
        if (nodes[i].self)
            put_sample(flame, (uint32_t)i, &write);
    put_tables(flame, &write);
    put_text(&write, VIEW(""));
    for (unsigned part = 1; part <= 4; part++)
        put_text(&write, part_of(flame->type, part));
    for (uint32_t i = 0; i < flame->names.count; i++)
        put_text(&write, names_get(&flame->names, i));
    proto_write_number(&write, PROFILE_TIME, flame->start);
    proto_write_number(&write, PROFILE_DURATION, flame->end - flame->start);
    put_type(&write, PROFILE_PERIOD_OF, STRING_PERIOD_TYPE, STRING_PERIOD_UNIT);
    proto_write_number(&write, PROFILE_PERIOD_IS, flame->period > 0 ? (uint64_t)flame->period : 0);
    return write.result == BYTES_OK;
}
