/* Which texts are database statements, and of which database. */
#include "processors/redaction/redaction.h"
#include "processors/redaction/statement.h"

#include <strings.h>

typedef bool sanitizer(const struct redaction *self, struct view system, struct view text,
                       struct bytes *out);

static bool is_system(struct view system, const char *name)
{
    return system.size == strlen(name) &&
           strncasecmp((const char *)system.data, name, system.size) == 0;
}

static bool sanitize_sql(const struct redaction *self, struct view system, struct view text,
                         struct bytes *out)
{
    bool mysql = is_system(system, "mysql") || is_system(system, "mariadb");
    return statement_sql(text, mysql, self->letter, out);
}

static bool sanitize_redis(const struct redaction *self, struct view system, struct view text,
                           struct bytes *out)
{
    (void)self, (void)system;
    return statement_redis(text, out);
}

static bool sanitize_memcached(const struct redaction *self, struct view system, struct view text,
                               struct bytes *out)
{
    (void)self, (void)system;
    return statement_memcached(text, out);
}

static bool sanitize_json(const struct redaction *self, struct view system, struct view text,
                          struct bytes *out)
{
    (void)self, (void)system;
    return statement_json(text, out);
}

/* In the order in which the Collector applies them. */
static const struct {
    const char *systems[6]; /* NULL ends */
    size_t database;        /* offset in struct redaction */
    sanitizer *sanitize;
} databases[] = {
    {{"other_sql", "mysql", "postgresql", "mariadb", "sqlite"},
     offsetof(struct redaction, sql),
     sanitize_sql},
    {{"redis"}, offsetof(struct redaction, redis), sanitize_redis},
    {{"valkey"}, offsetof(struct redaction, valkey), sanitize_redis},
    {{"memcached"}, offsetof(struct redaction, memcached), sanitize_memcached},
    {{"mongodb"}, offsetof(struct redaction, mongo), sanitize_json},
    {{"opensearch"}, offsetof(struct redaction, opensearch), sanitize_json},
    {{"elasticsearch"}, offsetof(struct redaction, es), sanitize_json},
};
enum { DATABASES = sizeof databases / sizeof *databases };

static const struct database *settings_of(const struct redaction *self, size_t i)
{
    return (const struct database *)((const char *)self + databases[i].database);
}

static bool has_system(size_t i, struct view system)
{
    for (const char *const *each = databases[i].systems; *each; each++)
        if (is_system(system, *each))
            return true;
    return false;
}

struct view database_system(const struct attributes *list)
{
    static const char *const keys[] = {"db.system.name", "db.system"};
    for (size_t i = 0; i < 2; i++) {
        struct attribute *item = attributes_find((struct attributes *)list, view_of(keys[i]));
        struct value value = item ? value_read(item->any) : (struct value){0};
        if (value.kind == VALUE_STRING && value.bytes.size)
            return value.bytes;
    }
    return (struct view){0};
}

/* Data NULL: no room. */
static struct view sanitized(const struct redaction *self, struct arena *arena, size_t i,
                             struct view system, struct view text)
{
    struct bytes out;
    bytes_init(&out, statement_room(text), NULL);
    const char *made = databases[i].sanitize(self, system, text, &out)
                           ? arena_text(arena, bytes_view(&out))
                           : NULL;
    struct view view = {(const uint8_t *)made, made ? out.size : 0};
    bytes_release(&out);
    return view;
}

struct view database_attribute(const struct redaction *self, struct arena *arena, bool logs,
                               struct view system, struct view key, struct view text)
{
    for (size_t i = 0; i < DATABASES && text.data; i++) {
        const struct database *database = settings_of(self, i);
        bool fits = system.data ? has_system(i, system) : logs;
        if (database->enabled && fits && redaction_lists(&database->attributes, key))
            text = sanitized(self, arena, i, system, text);
    }
    return text;
}

struct view database_body(const struct redaction *self, struct arena *arena, struct view system,
                          struct view text)
{
    for (size_t i = 0; i < DATABASES && text.data; i++)
        if (settings_of(self, i)->enabled)
            text = sanitized(self, arena, i, system, text);
    return text;
}

struct view database_span_name(const struct redaction *self, struct arena *arena,
                               struct view system, struct view name)
{
    for (size_t i = 0; i < DATABASES; i++)
        if (settings_of(self, i)->enabled && has_system(i, system))
            return sanitized(self, arena, i, system, name);
    return name;
}
