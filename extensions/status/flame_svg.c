/* Writes a flame graph as a self-contained SVG, the root on top. */
#include "extensions/status/flame.h"
#include "lib/wire/proto/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WIDTH = 1200, ROW = 18, HEAD = 44, DEEPEST_ROW = 300, CHARACTER = 7 };

#define LEAST_WIDTH 0.3 /* pixels; narrower frames are left out */

struct svg {
    const struct flame *flame;
    struct bytes *out;
    double *at;     /* left edge of each node, in units of the value */
    double *cursor; /* left edge of its next child */
    uint16_t *row;
    double scale;
    unsigned rows;
    bool failed;
};

static void put_markup(struct svg *svg, struct view text)
{
    struct bytes valid;
    bytes_init(&valid, 4 * text.size + 4, NULL);
    svg->failed |= !text_utf8(text, &valid);
    for (size_t i = 0; i < valid.size && !svg->failed; i++) {
        uint8_t c = valid.data[i];
        const char *escaped = c == '<'   ? "&lt;"
                              : c == '>' ? "&gt;"
                              : c == '&' ? "&amp;"
                              : c == '"' ? "&quot;"
                              : c < 0x20 ? " "
                                         : NULL;
        svg->failed = bytes_append_view(svg->out, escaped ? view_of(escaped)
                                                          : (struct view){&c, 1}) != BYTES_OK;
    }
    bytes_release(&valid);
}

static bool svg_place(struct svg *svg)
{
    const struct flame_node *nodes = flame_nodes(svg->flame);
    size_t count = flame_count(svg->flame);
    svg->at = calloc(2 * count + 1, sizeof *svg->at);
    svg->row = calloc(count + 1, sizeof *svg->row);
    if (!svg->at || !svg->row)
        return false;
    svg->cursor = svg->at + count;
    int64_t whole = flame_total(svg->flame, 0);
    svg->scale = whole > 0 ? (double)WIDTH / (double)whole : 0;
    svg->rows = 1;
    for (size_t i = 1; i < count; i++) {
        uint32_t parent = nodes[i].parent;
        svg->at[i] = svg->cursor[i] = svg->cursor[parent];
        double total = (double)flame_total(svg->flame, i);
        svg->cursor[parent] += total;
        svg->row[i] = (uint16_t)(svg->row[parent] + 1);
        if (svg->row[i] >= svg->rows && svg->row[i] < DEEPEST_ROW &&
            total * svg->scale >= LEAST_WIDTH)
            svg->rows = svg->row[i] + 1u;
    }
    return true;
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

static void put_node(struct svg *svg, size_t number)
{
    const struct flame_node *node = &flame_nodes(svg->flame)[number];
    struct view name = names_get(&svg->flame->names, node->name);
    int64_t total = flame_total(svg->flame, number);
    double x = svg->at[number] * svg->scale, width = (double)total * svg->scale;
    unsigned y = HEAD + (unsigned)svg->row[number] * ROW;
    if (width < LEAST_WIDTH || svg->row[number] >= DEEPEST_ROW)
        return;
    bytes_printf(svg->out, "<g><title>");
    put_markup(svg, name);
    bytes_printf(svg->out,
                 ", self %" PRId64 ", total %" PRId64 "</title><rect x=\"%.1f\" y=\"%u\" "
                 "width=\"%.1f\" height=\"%u\" fill=\"#%06x\"/>",
                 node->self, total, x, y, width, (unsigned)ROW - 1, colour_of(name));
    struct view shown = fitting(name, width - 4);
    if (shown.size) {
        bytes_printf(svg->out, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 13);
        put_markup(svg, shown);
        bytes_printf(svg->out, "</text>");
    }
    svg->failed |= bytes_printf(svg->out, "</g>\n") != BYTES_OK;
}

bool flame_svg(const struct flame *flame, struct view title, struct bytes *out)
{
    struct svg svg = {.flame = flame, .out = out};
    char type[FLAME_TYPE_SIZE], unit[FLAME_TYPE_SIZE];
    flame_unit(flame, type, unit, sizeof type);
    bool placed = svg_place(&svg);
    if (placed) {
        bytes_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
                     "height=\"%u\" font-family=\"monospace\" font-size=\"11\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
                     "<text x=\"4\" y=\"18\" font-size=\"14\">",
                     WIDTH, HEAD + svg.rows * ROW, WIDTH, HEAD + svg.rows * ROW);
        put_markup(&svg, title);
        bytes_printf(out, "</text>\n<text x=\"4\" y=\"36\">");
        put_markup(&svg, view_of(flame->type));
        bytes_printf(out, ", %" PRId64 " ", flame_total(flame, 0));
        put_markup(&svg, view_of(unit));
        bytes_printf(out, "</text>\n");
        for (size_t i = 0; i < flame_count(flame) && !svg.failed; i++)
            put_node(&svg, i);
        svg.failed |= bytes_printf(out, "</svg>\n") != BYTES_OK;
    }
    free(svg.at);
    free(svg.row);
    return placed && !svg.failed;
}
