#include "tests/support/pprof_text.h"

#include "pprof.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>

typedef Perftools__Profiles__Profile Profile;

static void line(struct bytes *out, const char *text)
{
    if (bytes_append_view(out, view_of(text)) != BYTES_OK)
        abort();
}

static void number(struct bytes *out, const char *what, int64_t value)
{
    if (bytes_printf(out, "%s%" PRId64 " ", what, value) != BYTES_OK)
        abort();
}

static void string(struct bytes *out, const char *what, const Profile *profile, int64_t index)
{
    if (index < 0 || (size_t)index >= profile->n_string_table)
        abort();
    line(out, what);
    line(out, profile->string_table[index]);
    line(out, " ");
}

static void function(struct bytes *out, const Profile *profile, uint64_t id)
{
    for (size_t i = 0; i < profile->n_function; i++)
        if (profile->function[i]->id == id) {
            string(out, "function ", profile, profile->function[i]->name);
            string(out, "in ", profile, profile->function[i]->filename);
            return;
        }
    line(out, "no function ");
}

static void mapping(struct bytes *out, const Profile *profile, uint64_t id)
{
    for (size_t i = 0; i < profile->n_mapping; i++)
        if (profile->mapping[i]->id == id) {
            string(out, "mapping ", profile, profile->mapping[i]->filename);
            return;
        }
    line(out, "no mapping ");
}

static void location(struct bytes *out, const Profile *profile, uint64_t id)
{
    for (size_t i = 0; i < profile->n_location; i++)
        if (profile->location[i]->id == id) {
            const Perftools__Profiles__Location *at = profile->location[i];
            mapping(out, profile, at->mapping_id);
            for (size_t j = 0; j < at->n_line; j++) {
                function(out, profile, at->line[j]->function_id);
                number(out, "line ", at->line[j]->line);
            }
            return;
        }
    line(out, "no location ");
}

static void sample(struct bytes *out, const Profile *profile,
                   const Perftools__Profiles__Sample *each)
{
    for (size_t i = 0; i < each->n_value; i++)
        number(out, "value ", each->value[i]);
    for (size_t i = 0; i < each->n_location_id; i++)
        location(out, profile, each->location_id[i]);
    for (size_t i = 0; i < each->n_label; i++) {
        string(out, "label ", profile, each->label[i]->key);
        string(out, "= ", profile, each->label[i]->str);
        number(out, "or ", each->label[i]->num);
        string(out, "unit ", profile, each->label[i]->num_unit);
    }
    line(out, "\n");
}

static void head(struct bytes *out, const Profile *profile)
{
    for (size_t i = 0; i < profile->n_sample_type; i++) {
        string(out, "type ", profile, profile->sample_type[i]->type);
        string(out, "in ", profile, profile->sample_type[i]->unit);
    }
    if (profile->period_type) {
        string(out, "period ", profile, profile->period_type->type);
        string(out, "in ", profile, profile->period_type->unit);
    }
    number(out, "of ", profile->period);
    number(out, "duration ", profile->duration_nanos);
    string(out, "drop ", profile, profile->drop_frames);
    string(out, "keep ", profile, profile->keep_frames);
    string(out, "default ", profile, profile->default_sample_type);
    for (size_t i = 0; i < profile->n_comment; i++)
        string(out, "comment ", profile, profile->comment[i]);
}

struct bytes pprof_text(struct view raw, bool with_time)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX / 2, NULL);
    Profile *profile = perftools__profiles__profile__unpack(NULL, raw.size, raw.data);
    if (!profile)
        abort();
    head(&out, profile);
    if (with_time)
        number(&out, "time ", profile->time_nanos);
    line(&out, "\n\n");
    for (size_t i = 0; i < profile->n_sample; i++)
        sample(&out, profile, profile->sample[i]);
    perftools__profiles__profile__free_unpacked(profile, NULL);
    return out;
}

struct view pprof_text_samples(const struct bytes *text)
{
    const uint8_t *gap = memmem(text->data, text->size, "\n\n", 2);
    return gap ? view_between(gap + 2, text->data + text->size) : (struct view){0};
}
