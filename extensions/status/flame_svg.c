/* Writes a flame graph as a self-contained SVG, the root on top. */
#include "extensions/status/flame_write.h"
#include "lib/base/shown.h"
#include "lib/base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

/* LINE: of a sentence about the graph, below the HEAD. */
enum { WIDTH = 1200, ROW = 18, HEAD = 44, LINE = 18, DEEPEST_ROW = 300, CHARACTER = 7 };

#define UNIT        (1.0 / (1 << 21))       /* pixels; WIDTH of them fit into 32 bits */
#define LEAST_WIDTH ((1u << 21) / 10u * 3u) /* UNIT; narrower frames are left out */

/* Nodes are written in their order, parents first, so that what a node needs of others is how far
 * the children of its parent reach so far. */
struct flame_places {
    struct budget *budget;
    uint32_t *cursor; /* left edge of each node's next child, in UNIT */
    uint16_t *row;    /* at most DEEPEST_ROW */
    size_t charged;
    double scale; /* of a value, in UNIT */
    unsigned rows;
};

/* In UNIT. */
static uint32_t places_width(const struct flame_places *places, const struct flame *flame,
                             size_t node)
{
    double width = (double)flame_total(flame, node) * places->scale;
    return width <= 0 ? 0 : (uint32_t)(width < WIDTH / UNIT ? width : WIDTH / UNIT);
}

/* U+FFFE and U+FFFF, which XML 1.0 (section 2.2) does not allow. */
static bool is_no_character(struct view text, size_t at)
{
    return text.size - at >= 3 && text.data[at] == 0xef && text.data[at + 1] == 0xbf &&
           text.data[at + 2] >= 0xbe;
}

static bool put_markup_byte(uint8_t c, struct bytes *out)
{
    const char *escaped = c == '<'   ? "&lt;"
                          : c == '>' ? "&gt;"
                          : c == '&' ? "&amp;"
                          : c == '"' ? "&quot;"
                                     : NULL;
    return bytes_append_view(out, escaped ? view_of(escaped) : (struct view){&c, 1}) == BYTES_OK;
}

/* Characters that are not seen are written as \u202e and so on, as on the page. */
static bool put_markup(struct view text, struct bytes *out)
{
    struct bytes valid;
    bytes_init(&valid, 4 * text.size + 4, NULL);
    bool good = utf8_repair(text, &valid);
    for (size_t i = 0; i < valid.size && good;) {
        bool visible;
        char escape[16];
        struct view rest = {valid.data + i, valid.size - i};
        size_t size = shown_character(rest, &visible);
        if (is_no_character(bytes_view(&valid), i)) {
            good = bytes_append_view(out, VIEW("\xef\xbf\xbd")) == BYTES_OK;
        } else if (!visible) {
            size_t length = shown_copy((struct view){rest.data, size}, escape, sizeof escape);
            good = bytes_append(out, escape, length) == BYTES_OK;
        } else {
            for (size_t at = 0; at < size && good; at++)
                good = put_markup_byte(rest.data[at], out);
        }
        i += size;
    }
    bytes_release(&valid);
    return good;
}

static void place_rows(struct flame_places *places, const struct flame *flame)
{
    const struct flame_node *nodes = flame_nodes(flame);
    places->rows = 1;
    for (size_t i = 1; i < flame_count(flame); i++) {
        unsigned row = places->row[nodes[i].parent] + 1u;
        places->row[i] = (uint16_t)(row < DEEPEST_ROW ? row : DEEPEST_ROW);
        if (row >= places->rows && row < DEEPEST_ROW &&
            places_width(places, flame, i) >= LEAST_WIDTH)
            places->rows = row + 1;
    }
}

struct flame_places *flame_places_new(const struct flame *flame)
{
    size_t count = flame_count(flame) + 1;
    int64_t whole = flame_total(flame, 0);
    size_t charged = count * (sizeof(uint32_t) + sizeof(uint16_t));
    struct flame_places *places = calloc(1, sizeof *places);
    if (!places || !budget_take_spare(flame->budget, charged)) {
        free(places);
        return NULL;
    }
    *places = (struct flame_places){
        .budget = flame->budget,
        .charged = charged,
        .cursor = calloc(count, sizeof *places->cursor),
        .row = calloc(count, sizeof *places->row),
        .scale = whole > 0 ? WIDTH / UNIT / (double)whole : 0,
    };
    if (!places->cursor || !places->row) {
        flame_places_free(places);
        return NULL;
    }
    place_rows(places, flame);
    return places;
}

void flame_places_free(struct flame_places *places)
{
    if (!places)
        return;
    budget_give(places->budget, places->charged);
    free(places->cursor);
    free(places->row);
    free(places);
}

/* A colour derived from the name, so that it is the same in all graphs. */
static unsigned colour_of(struct view name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ name.data[i]) * 16777619u;
    return (205 + hash % 50) << 16 | (110 + (hash >> 8) % 100) << 8 | (50 + (hash >> 16) % 40);
}

/* The part of a name that fits into width pixels, cut between UTF-8 characters. */
static struct view fitting(struct view name, double width)
{
    size_t most = width > 2 * CHARACTER ? (size_t)(width / CHARACTER) : 0;
    if (name.size > most)
        for (name.size = most; name.size && (name.data[name.size] & 0xc0) == 0x80;)
            name.size--;
    return name;
}

static unsigned top_of(const struct flame *flame)
{
    return flame->text ? HEAD + LINE : HEAD;
}

static bool put_frame(const struct flame *flame, size_t number, double x, double width,
                      unsigned row, struct bytes *out)
{
    struct view name = names_get(&flame->names, flame_nodes(flame)[number].name);
    struct view shown = fitting(name, width - 4);
    unsigned y = top_of(flame) + row * ROW;
    bool good = bytes_printf(out, "<g><title>") == BYTES_OK && put_markup(name, out);
    good &= bytes_printf(out,
                         ", self %" PRId64 ", total %" PRId64 "</title><rect x=\"%.1f\" y=\"%u\" "
                         "width=\"%.1f\" height=\"%u\" fill=\"#%06x\"/>",
                         flame_nodes(flame)[number].self, flame_total(flame, number), x, y, width,
                         (unsigned)ROW - 1, colour_of(name)) == BYTES_OK;
    if (shown.size)
        good &= bytes_printf(out, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 13) == BYTES_OK &&
                put_markup(shown, out) && bytes_printf(out, "</text>") == BYTES_OK;
    return good && bytes_printf(out, "</g>\n") == BYTES_OK;
}

static bool put_node(const struct flame_writer *writer, size_t number, struct bytes *out)
{
    const struct flame *flame = writer->flame;
    struct flame_places *places = writer->places;
    uint32_t *next = &places->cursor[flame_nodes(flame)[number].parent];
    uint32_t left = number ? *next : 0, width = places_width(places, flame, number);
    places->cursor[number] = left;
    if (number)
        *next += width;
    if (width < LEAST_WIDTH || places->row[number] >= DEEPEST_ROW)
        return true;
    return put_frame(flame, number, left * UNIT, width * UNIT, places->row[number], out);
}

/* A total as people write it: times in seconds, all else in its unit. */
static bool put_total(int64_t total, const char *unit, struct bytes *out)
{
    if (strcmp(unit, "nanoseconds") == 0)
        return bytes_printf(out, ", %.3f s", (double)total / 1e9) == BYTES_OK;
    return bytes_printf(out, ", %" PRId64 " ", total) == BYTES_OK && put_markup(view_of(unit), out);
}

static bool put_line(const char *text, struct bytes *out)
{
    return !text || (bytes_printf(out, "<text x=\"4\" y=\"%d\">", HEAD + LINE - 8) == BYTES_OK &&
                     put_markup(view_of(text), out) && bytes_printf(out, "</text>\n") == BYTES_OK);
}

static bool put_head(const struct flame_writer *writer, struct bytes *out)
{
    const struct flame *flame = writer->flame;
    char type[FLAME_TYPE_SIZE], unit[FLAME_TYPE_SIZE];
    unsigned height = top_of(flame) + writer->places->rows * ROW;
    flame_unit(flame, type, unit, sizeof type);
    return bytes_printf(
               out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
               "height=\"%u\" font-family=\"monospace\" font-size=\"11\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
               "<text x=\"4\" y=\"18\" font-size=\"14\">",
               WIDTH, height, WIDTH, height) == BYTES_OK &&
           put_markup(writer->title, out) &&
           bytes_printf(out, "</text>\n<text x=\"4\" y=\"36\">") == BYTES_OK &&
           put_markup(view_of(flame->type), out) && put_total(flame_total(flame, 0), unit, out) &&
           bytes_printf(out, "</text>\n") == BYTES_OK && put_line(flame->text, out);
}

bool flame_svg_step(struct flame_writer *writer, struct bytes *out)
{
    if (writer->part == 0) {
        writer->part++;
        return put_head(writer, out);
    }
    if (writer->at < flame_count(writer->flame))
        return put_node(writer, writer->at++, out);
    writer->done = true;
    return bytes_printf(out, "</svg>\n") == BYTES_OK;
}
