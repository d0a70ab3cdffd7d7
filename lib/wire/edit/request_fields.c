/* Field numbers of requests, and schema URLs (lib/wire/edit/request_edit.h). */
#include "lib/wire/edit/request_edit.h"

uint32_t edit_list(enum signal signal, enum edit_level level, enum edit_point kind)
{
    static const uint8_t points[] = {
        [EDIT_NO_POINT] = 0,  [EDIT_EVENT] = 3,       [EDIT_NUMBER] = 7,
        [EDIT_HISTOGRAM] = 9, [EDIT_EXPONENTIAL] = 1, [EDIT_SUMMARY] = 7,
    };
    static const uint8_t items[SIGNAL_COUNT] = {
        [SIGNAL_TRACES] = 9,
        [SIGNAL_METRICS] = 0,
        [SIGNAL_LOGS] = 6,
        [SIGNAL_PROFILES] = 0,
    };
    if (level == EDIT_RESOURCE)
        return 1;
    if (level == EDIT_SCOPE)
        return 3;
    return level == EDIT_ITEM ? items[signal] : points[kind];
}

enum edit_point edit_point_of(uint32_t number)
{
    switch (number) {
    case 5:
    case 7:
        return EDIT_NUMBER;
    case 9:
        return EDIT_HISTOGRAM;
    case 10:
        return EDIT_EXPONENTIAL;
    case 11:
        return EDIT_SUMMARY;
    default:
        return EDIT_NO_POINT;
    }
}

void request_edit_set_schema(struct request_edit *edit, enum edit_level level, struct view url)
{
    edit->set_schemas[level] = url;
}

struct view request_edit_schema(const struct request_edit *edit, enum edit_level level)
{
    struct view entry = level == EDIT_RESOURCE ? edit->entry : edit->scope_entry;
    struct proto_field field;
    if (edit->set_schemas[level].data)
        return edit->set_schemas[level];
    if (proto_find(entry, ENTRY_SCHEMA_URL, WIRE_LEN, &field) && field.bytes.size)
        return field.bytes;
    return level == EDIT_RESOURCE && edit->schema_url.size ? edit->schema_url : VIEW("");
}
