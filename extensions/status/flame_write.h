/* Writes a finished flame graph as JSON, folded text, pprof or SVG. Not thread-safe. */
#ifndef EXTENSIONS_STATUS_FLAME_WRITE_H
#define EXTENSIONS_STATUS_FLAME_WRITE_H

#include "extensions/status/flame.h"

/* Writes a finished flame graph piece by piece. */
enum flame_format { FLAME_JSON, FLAME_FOLDED, FLAME_PPROF, FLAME_SVG }; /* PPROF: not compressed */
struct flame_writer {
    const struct flame *flame;
    enum flame_format format;
    struct view title; /* SVG */
    struct flame_places *places;
    struct json json;
    unsigned part; /* of the format */
    uint32_t at;   /* the next node or name of that part */
    bool done, failed;
};

/* title: of an SVG; borrowed. Sets failed if there is no memory. flame_writer_end must follow. */
struct flame_writer flame_writer_begin(const struct flame *flame, enum flame_format format,
                                       struct view title);
void flame_writer_end(struct flame_writer *writer);

/* Appends pieces until out has at least `enough` bytes or the graph is written. False: out has no
 * room; what was appended is useless. */
bool flame_write(struct flame_writer *writer, struct bytes *out, size_t enough);

/* Appends all of it. title: as above. */
bool flame_write_all(const struct flame *flame, enum flame_format format, struct view title,
                     struct bytes *out);

/* flame_svg.c: where the frames of an SVG go; NULL: no memory. May be NULL in places_free. */
struct flame_places *flame_places_new(const struct flame *flame);
void flame_places_free(struct flame_places *places);
/* Writes the head, a frame, or the end. */
bool flame_svg_step(struct flame_writer *writer, struct bytes *out);

#endif
