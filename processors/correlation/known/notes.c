#include "processors/correlation/known/notes.h"

#include "lib/wire/proto/proto_write.h"

/* Field numbers of a note and of the uploads in it. */
enum {
    NOTE_SINCE = 1,
    NOTE_UPLOAD = 2,
    NOTE_ARRIVED = 3,

    UPLOAD_SERVICE = 1,
    UPLOAD_UNREAD = 2,
    UPLOAD_FROM_GO = 3,
    UPLOAD_KIND = 4,
    UPLOAD_END = 5,
    UPLOAD_LENGTH = 6,
    UPLOAD_ID = 7, /* packed: span id, samples, CPU time, and so on */
    UPLOAD_LABELS = 8,
    UPLOAD_CONTENT = 9,
    UPLOAD_SAMPLES = 10,
    UPLOAD_TENANT = 11,
    UPLOAD_WRONG = 12,
    UPLOAD_WALL = 13, /* packed: wall time of each of these ids; none: not measured */
    UPLOAD_WIDE_AT = 14,
    UPLOAD_SKEW = 15,

    FIGURES = 3
};

static void write_ids(struct proto_write *write, const struct upload *upload)
{
    size_t packed = proto_write_open(write, UPLOAD_ID);
    for (size_t i = 0; i < upload->count; i++) {
        proto_write_packed(write, upload->ids[i].id);
        proto_write_packed(write, upload->ids[i].samples);
        proto_write_packed(write, upload->ids[i].cpu_ns);
    }
    proto_write_close(write, packed);
}

static void write_wall(struct proto_write *write, const struct upload *upload)
{
    size_t packed = proto_write_open(write, UPLOAD_WALL);
    for (size_t i = 0; i < upload->count; i++)
        proto_write_packed(write, upload->wall_ns[i]);
    proto_write_close(write, packed);
}

static void write_upload(struct proto_write *write, const struct upload *upload)
{
    size_t message = proto_write_open(write, NOTE_UPLOAD);
    proto_write_bytes(write, UPLOAD_SERVICE, upload->service);
    proto_write_number(write, UPLOAD_UNREAD, upload->unread != NULL);
    proto_write_number(write, UPLOAD_FROM_GO, upload->from_go);
    proto_write_number(write, UPLOAD_KIND, upload->window.kind);
    proto_write_number(write, UPLOAD_END, upload->window.end);
    proto_write_number(write, UPLOAD_LENGTH, upload->window.length);
    proto_write_number(write, UPLOAD_LABELS, upload->window.labels);
    proto_write_number(write, UPLOAD_CONTENT, upload->window.content);
    proto_write_number(write, UPLOAD_SAMPLES, upload->has_samples);
    proto_write_bytes(write, UPLOAD_TENANT, upload->tenant);
    proto_write_number(write, UPLOAD_WRONG, upload->window.wrong);
    proto_write_number(write, UPLOAD_WIDE_AT, upload->wide_at);
    proto_write_number(write, UPLOAD_SKEW, upload->skew);
    if (upload->count)
        write_ids(write, upload);
    if (upload->count && upload->wall_ns)
        write_wall(write, upload);
    proto_write_close(write, message);
}

bool notes_write(const struct notes *notes, struct bytes *out)
{
    struct proto_write write = proto_write_begin(out);
    proto_write_number(&write, NOTE_SINCE, notes->since);
    proto_write_number(&write, NOTE_ARRIVED, notes->arrived);
    for (const struct upload *each = notes->uploads; each; each = each->next)
        write_upload(&write, each);
    return proto_write_fault(&write) == NULL;
}

/* Every id takes at least one byte for each number. */
static bool notes_read_ids(struct view packed, struct upload *upload, struct arena *arena)
{
    const uint8_t *at = packed.data, *end = at + packed.size;
    upload->count = 0;
    upload->wall_ns = NULL; /* of ids that came before these */
    upload->ids = arena_array(arena, packed.size / FIGURES, sizeof *upload->ids);
    if (!upload->ids)
        return false;
    while (at < end) {
        uint64_t figures[FIGURES];
        for (int i = 0; i < FIGURES; i++)
            if (!(at = proto_varint(at, end, &figures[i])))
                return false;
        upload->ids[upload->count++] = (struct span_figures){
            .id = figures[0], .samples = (uint32_t)figures[1], .cpu_ns = figures[2]};
    }
    return true;
}

/* Those of ids that were read before. */
static bool notes_read_wall(struct view packed, struct upload *upload, struct arena *arena)
{
    const uint8_t *at = packed.data, *end = at + packed.size;
    upload->wall_ns = arena_array(arena, upload->count, sizeof *upload->wall_ns);
    for (size_t i = 0; upload->wall_ns && i < upload->count; i++)
        if (!(at = proto_varint(at, end, &upload->wall_ns[i])))
            return false;
    return upload->wall_ns;
}

static bool read_upload_field(const struct proto_field *field, struct upload *upload,
                              struct arena *arena)
{
    if (field->type == WIRE_LEN && field->number == UPLOAD_SERVICE)
        upload->service = field->bytes;
    else if (field->type == WIRE_LEN && field->number == UPLOAD_TENANT)
        upload->tenant = field->bytes;
    else if (field->type == WIRE_LEN && field->number == UPLOAD_ID)
        return notes_read_ids(field->bytes, upload, arena);
    else if (field->type == WIRE_LEN && field->number == UPLOAD_WALL && upload->count)
        return notes_read_wall(field->bytes, upload, arena);
    else if (field->type != WIRE_VARINT)
        return true;
    else if (field->number == UPLOAD_UNREAD)
        upload->unread = "it could not be read before the restart";
    else if (field->number == UPLOAD_FROM_GO)
        upload->from_go = true;
    else if (field->number == UPLOAD_KIND)
        upload->window.kind = (enum kind)field->value;
    else if (field->number == UPLOAD_END)
        upload->window.end = field->value;
    else if (field->number == UPLOAD_LENGTH)
        upload->window.length = field->value;
    else if (field->number == UPLOAD_LABELS)
        upload->window.labels = field->value;
    else if (field->number == UPLOAD_CONTENT)
        upload->window.content = field->value;
    else if (field->number == UPLOAD_SAMPLES)
        upload->has_samples = field->value;
    else if (field->number == UPLOAD_WRONG)
        upload->window.wrong = field->value;
    else if (field->number == UPLOAD_WIDE_AT)
        upload->wide_at = field->value;
    else if (field->number == UPLOAD_SKEW)
        upload->skew = field->value;
    return true;
}

static bool read_upload(struct view message, struct upload *upload, struct arena *arena)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    bool good = true;
    while (good && proto_scan_next(&scan, &field))
        good = read_upload_field(&field, upload, arena);
    struct window *window = &upload->window;
    if (window->length && window->end)
        window->start = window->end > window->length ? window->end - window->length : 1;
    return good && !scan.bad && (unsigned)window->kind < KIND_COUNT;
}

bool notes_read(struct view note, struct arena *arena, struct notes *notes)
{
    struct proto_scan scan = proto_scan_begin(note);
    struct proto_field field;
    struct upload *first = NULL, **end = &first;
    *notes = (struct notes){0};
    while (proto_scan_next(&scan, &field)) {
        if (field.number == NOTE_SINCE && field.type == WIRE_VARINT)
            notes->since = field.value;
        if (field.number == NOTE_ARRIVED && field.type == WIRE_VARINT)
            notes->arrived = field.value;
        if (field.number != NOTE_UPLOAD || field.type != WIRE_LEN)
            continue;
        struct upload *upload = arena_alloc(arena, sizeof *upload);
        if (!upload || !read_upload(field.bytes, upload, arena))
            return false;
        *end = upload;
        end = &upload->next;
    }
    notes->uploads = first;
    return !scan.bad;
}
