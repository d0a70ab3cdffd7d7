/* Writes a flame graph as JSON, folded text and pprof; SVG: flame_svg.c. */
#include "extensions/status/flame_write.h"
#include "lib/base/shown.h"
#include "lib/base/utf8.h"
#include "lib/wire/proto/proto_write.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- JSON ---- */

enum { JSON_HEAD, JSON_NAMES, JSON_NODES };

static void json_head(const struct flame *flame, struct json *json)
{
    char type[FLAME_TYPE_SIZE], unit[FLAME_TYPE_SIZE];
    flame_unit(flame, type, unit, sizeof type);
    json_open(json, NULL, '{');
    json_word(json, "unit", unit);
    json_word(json, "type", flame->type);
    json_number(json, "total", (uint64_t)flame_total(flame, 0));
    json_number(json, "samples", flame->samples);
    json_word(json, "aggregation", flame->is_state ? "last" : "sum");
    json_number(json, "profiles", flame->profiles);
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
    json_word(json, "text", flame->text);
    json_word(json, "fix", flame->fix);
    json_open(json, "names", '[');
}

static void json_node(const struct flame *flame, uint32_t number, struct json *json)
{
    const struct flame_node *node = &flame_nodes(flame)[number];
    json_open(json, NULL, '[');
    if (number == 0)
        json_literal(json, NULL, "-1");
    else
        json_number(json, NULL, node->parent);
    json_number(json, NULL, node->name);
    json_number(json, NULL, (uint64_t)flame_total(flame, number));
    json_number(json, NULL, (uint64_t)node->self);
    json_close(json, ']');
}

/* Writes the head, a name, a node, or what follows the last of them. */
static void json_step(struct flame_writer *writer)
{
    const struct flame *flame = writer->flame;
    struct json *json = &writer->json;
    if (writer->part == JSON_HEAD) {
        json_head(flame, json);
        writer->part = JSON_NAMES;
    } else if (writer->part == JSON_NAMES && writer->at < flame->names.count) {
        json_text(json, NULL, names_get(&flame->names, writer->at++));
    } else if (writer->part == JSON_NAMES) {
        json_close(json, ']');
        json_open(json, "nodes", '[');
        writer->part = JSON_NODES;
        writer->at = 0;
    } else if (writer->at < flame_count(flame)) {
        json_node(flame, writer->at++, json);
    } else {
        json_close(json, ']');
        json_close(json, '}');
        writer->done = true;
    }
}

/* ---- folded ---- */

enum { DEEPEST = 4096 };

/* Writes a frame of a folded stack: ';' is replaced, and what terminals obey or do not show. */
static bool put_frame(struct view name, struct bytes *out)
{
    size_t from = out->size, to = from;
    if (!utf8_repair(name, out))
        return false;
    while (from < out->size) {
        bool visible;
        uint8_t *at = out->data + from;
        size_t used = shown_character((struct view){at, out->size - from}, &visible);
        if (visible && *at != ';')
            memmove(out->data + to, at, used);
        else
            out->data[to] = visible ? ':' : ' ';
        to += visible ? used : 1;
        from += used;
    }
    out->size = to;
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

/* Writes the stack of a node, if it has a value of its own. */
static bool folded_step(struct flame_writer *writer, struct bytes *out)
{
    uint32_t at = writer->at++;
    writer->done = at >= flame_count(writer->flame);
    int64_t self = writer->done || at == 0 ? 0 : flame_nodes(writer->flame)[at].self;
    return !self || (put_stack(writer->flame, at, out) &&
                     bytes_printf(out, " %" PRId64 "\n", self) == BYTES_OK);
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
    PROFILE_PERIOD_IS = 12,
    PROFILE_COMMENT = 13
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { LOCATION_ID = 1, LOCATION_LINES = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };
/* The string table: "", the parts of the types, all names, then the comment. */
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

static void put_location(uint32_t name, struct proto_write *write)
{
    size_t open = proto_write_open(write, PROFILE_LOCATIONS);
    proto_write_varint(write, LOCATION_ID, name + 1);
    size_t line = proto_write_open(write, LOCATION_LINES);
    proto_write_varint(write, LINE_FUNCTION, name + 1);
    proto_write_close(write, line);
    proto_write_close(write, open);
}

static void put_function(uint32_t name, struct proto_write *write)
{
    size_t open = proto_write_open(write, PROFILE_FUNCTIONS);
    proto_write_varint(write, FUNCTION_ID, name + 1);
    proto_write_varint(write, FUNCTION_NAME, STRING_NAMES + name);
    proto_write_close(write, open);
}

static void put_text(struct proto_write *write, struct view text)
{
    struct bytes valid;
    bytes_init(&valid, 4 * text.size + 4, NULL);
    bool whole = utf8_repair(text, &valid);
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

enum { PPROF_HEAD, PPROF_SAMPLES, PPROF_NAMES, PPROF_FIXED, PPROF_STRINGS, PPROF_END };

static void pprof_end(const struct flame *flame, struct proto_write *write)
{
    proto_write_number(write, PROFILE_TIME, flame->start);
    proto_write_number(write, PROFILE_DURATION, flame->end - flame->start);
    put_type(write, PROFILE_PERIOD_OF, STRING_PERIOD_TYPE, STRING_PERIOD_UNIT);
    proto_write_number(write, PROFILE_PERIOD_IS, flame->period > 0 ? (uint64_t)flame->period : 0);
    if (flame->text)
        proto_write_varint(write, PROFILE_COMMENT, STRING_NAMES + flame->names.count);
}

/* Writes one item of a part. Returns whether the part has ended. A name is a location and a
 * function of the same id. */
static bool pprof_item(struct flame_writer *writer, struct proto_write *write)
{
    const struct flame *flame = writer->flame;
    uint32_t at = writer->at++;
    switch (writer->part) {
    case PPROF_HEAD:
        put_type(write, PROFILE_TYPE, STRING_TYPE, STRING_UNIT);
        return true;
    case PPROF_SAMPLES:
        if (at > 0 && at < flame_count(flame) && flame_nodes(flame)[at].self)
            put_sample(flame, at, write);
        return at >= flame_count(flame);
    case PPROF_NAMES:
        if (at >= flame->names.count)
            return true;
        put_location(at, write);
        put_function(at, write);
        return false;
    case PPROF_FIXED:
        put_text(write, at ? part_of(flame->type, at) : VIEW(""));
        return at == 4;
    case PPROF_STRINGS:
        if (at >= flame->names.count && flame->text)
            put_text(write, view_of(flame->text));
        if (at >= flame->names.count)
            return true;
        put_text(write, names_get(&flame->names, at));
        return false;
    default:
        pprof_end(flame, write);
        writer->done = true;
        return true;
    }
}

static bool pprof_step(struct flame_writer *writer, struct bytes *out)
{
    struct proto_write write = proto_write_begin(out);
    if (pprof_item(writer, &write)) {
        writer->part++;
        writer->at = 0;
    }
    return write.result == BYTES_OK;
}

/* ---- any ---- */

struct flame_writer flame_writer_begin(const struct flame *flame, enum flame_format format,
                                       struct view title)
{
    struct flame_writer writer = {.flame = flame, .format = format, .title = title};
    if (format == FLAME_SVG)
        writer.failed = !(writer.places = flame_places_new(flame));
    return writer;
}

void flame_writer_end(struct flame_writer *writer)
{
    flame_places_free(writer->places);
    writer->places = NULL;
}

static bool flame_step(struct flame_writer *writer, struct bytes *out)
{
    if (writer->format == FLAME_FOLDED)
        return folded_step(writer, out);
    if (writer->format == FLAME_PPROF)
        return pprof_step(writer, out);
    if (writer->format == FLAME_SVG)
        return flame_svg_step(writer, out);
    writer->json.out = out;
    json_step(writer);
    return !writer->json.failed;
}

bool flame_write(struct flame_writer *writer, struct bytes *out, size_t enough)
{
    while (!writer->done && !writer->failed && out->size < enough)
        writer->failed = !flame_step(writer, out);
    return !writer->failed;
}

bool flame_write_all(const struct flame *flame, enum flame_format format, struct view title,
                     struct bytes *out)
{
    struct flame_writer writer = flame_writer_begin(flame, format, title);
    bool whole = flame_write(&writer, out, SIZE_MAX);
    flame_writer_end(&writer);
    return whole;
}
