#include "lib/wire/profiles/profiles_links.h"

enum { LINK_TRACE_ID = 1, LINK_SPAN_ID = 2, TRACE_ID_SIZE = 16, SPAN_ID_SIZE = 8 };

static bool read_id(struct view link, uint32_t number, size_t size, struct arena *arena,
                    struct view *text)
{
    static const char digits[] = "0123456789abcdef";
    struct proto_field id;
    *text = VIEW("");
    if (!proto_find(link, number, WIRE_LEN, &id) || id.bytes.size != size)
        return true;
    char *hex = arena_alloc(arena, 2 * size);
    uint8_t any = 0;
    for (size_t i = 0; hex && i < size; i++) {
        any |= id.bytes.data[i];
        hex[2 * i] = digits[id.bytes.data[i] >> 4];
        hex[2 * i + 1] = digits[id.bytes.data[i] & 15];
    }
    if (any)
        *text = (struct view){(const uint8_t *)hex, 2 * size};
    return hex;
}

bool profiles_links_open(struct profiles_links *links, const struct otlp_dictionary *dictionary,
                         struct arena *arena)
{
    size_t count = dictionary->of[OTLP_TABLE_LINK].count;
    *links = (struct profiles_links){
        .spans = arena_array(arena, count, sizeof *links->spans),
        .traces = arena_array(arena, count, sizeof *links->traces),
        .count = count,
    };
    bool good = links->spans && links->traces;
    for (size_t i = 1; good && i < count; i++) {
        struct view link = dictionary->of[OTLP_TABLE_LINK].entries[i];
        good = read_id(link, LINK_TRACE_ID, TRACE_ID_SIZE, arena, &links->traces[i]) &&
               read_id(link, LINK_SPAN_ID, SPAN_ID_SIZE, arena, &links->spans[i]);
    }
    return good;
}
