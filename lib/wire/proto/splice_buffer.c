/* Builds the result of edits as a buffer that shares untouched bytes. */
#include "lib/wire/proto/splice.h"

#include <stdlib.h>

/* Copying shorter ranges is cheaper than sharing them. */
enum { LONG = 16 * 1024 };

struct writer {
    struct buffer *source;
    struct buffer *text;   /* the copied bytes; NULL while measuring */
    uint8_t *from, *to;    /* written to text, but not yet a part */
    size_t copied;         /* bytes */
    struct buffer **parts; /* room for 2 * runs + 1 */
    size_t runs;           /* shared runs of the source */
    size_t part_count;
    bool failed;
};

static void add_part(struct writer *writer, struct buffer *owner, struct view run)
{
    struct buffer *part = buffer_slice(owner, run);
    if (part)
        writer->parts[writer->part_count++] = part;
    else
        writer->failed = true;
}

static void end_text(struct writer *writer)
{
    if (writer->to > writer->from)
        add_part(writer, writer->text, view_between(writer->from, writer->to));
    writer->from = writer->to;
}

static void copy(struct writer *writer, struct view bytes)
{
    writer->copied += bytes.size;
    if (writer->text)
        writer->to = proto_bytes_put(writer->to, bytes);
}

static void splice_buffer_keep(struct writer *writer, struct view stretch)
{
    if (stretch.size < LONG) {
        copy(writer, stretch);
        return;
    }
    writer->runs++;
    if (!writer->text)
        return;
    end_text(writer);
    add_part(writer, writer->source, stretch);
}

static void splice_buffer_walk(struct writer *writer, const struct splice *splice)
{
    size_t at = 0;
    writer->copied = writer->runs = 0;
    for (size_t i = 0; i < splice->count; i++) {
        const struct splice_edit *edit = &splice->edits[i];
        uint8_t length[10];
        splice_buffer_keep(writer, (struct view){splice->source.data + at, edit->at - at});
        if (splice_is_length(edit))
            copy(writer, view_between(length, proto_varint_put(length, edit->insert.size)));
        else
            copy(writer, edit->insert);
        at = edit->at + edit->remove;
    }
    splice_buffer_keep(writer, (struct view){splice->source.data + at, splice->source.size - at});
}

static struct buffer *copy_all(const struct splice *splice, struct budget *budget)
{
    struct buffer *buffer = buffer_new(splice_size(splice), budget, true);
    if (buffer)
        splice_write(splice, buffer->data);
    return buffer;
}

static struct buffer *share(struct writer *writer, const struct splice *splice)
{
    struct buffer *joined = NULL;
    writer->parts = malloc((2 * writer->runs + 1) * sizeof(struct buffer *));
    writer->text = buffer_new(writer->copied, writer->source->budget, true);
    if (writer->parts && writer->text) {
        writer->from = writer->to = writer->text->data;
        splice_buffer_walk(writer, splice);
        end_text(writer);
        if (!writer->failed)
            joined = buffer_join(writer->parts, writer->part_count);
    }
    for (size_t i = 0; i < writer->part_count; i++)
        buffer_unref(writer->parts[i]);
    buffer_unref(writer->text);
    free(writer->parts);
    return joined;
}

/* Whether most bytes are in runs that are long enough to be shared: a shared run keeps the whole
 * source in memory, including deleted bytes. */
static bool worth_sharing(const struct splice *splice)
{
    size_t at = 0, left = splice->source.size / 4;
    for (size_t i = 0; i < splice->count; i++) {
        size_t run = splice->edits[i].at - at, remove = splice->edits[i].remove;
        size_t lost = remove + (run < LONG ? run : 0);
        if (lost > left)
            return false;
        left -= lost;
        at = splice->edits[i].at + remove;
    }
    return splice->source.size - at >= LONG || splice->source.size - at <= left;
}

struct buffer *splice_buffer(const struct splice *splice, struct buffer *source)
{
    struct writer writer = {.source = source};
    if (!worth_sharing(splice))
        return copy_all(splice, source->budget);
    splice_buffer_walk(&writer, splice);
    return share(&writer, splice);
}
