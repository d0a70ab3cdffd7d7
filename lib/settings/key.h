/* Key tables: the single source of truth about a component's configuration. Parsing, checks,
 * defaults, `spanlink components`, the redaction of `print-config` and the READMEs' key tables all
 * come from them. The compiler checks that each row's field has the type that the row writes. */
#ifndef LIB_SETTINGS_KEY_H
#define LIB_SETTINGS_KEY_H

#include "lib/settings/key_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DURATION_AUTO UINT64_MAX

enum key_type {
    KEY_TYPE_END,
    KEY_TYPE_BOOL,     /* bool */
    KEY_TYPE_INT,      /* int64_t in min..max */
    KEY_TYPE_NUMBER,   /* double in min..max */
    KEY_TYPE_DURATION, /* uint64_t, nanoseconds; written 300ms, 5s, 1m30s, 1h, 0 */
    KEY_TYPE_STRING,   /* char *; "" when not given and without default */
    KEY_TYPE_SECRET,   /* char *, never shown */
    KEY_TYPE_CHOICE,   /* int, index into choices */
    KEY_TYPE_MAP,      /* struct key_map of strings */
    KEY_TYPE_SECRETS,  /* struct key_map whose values are never shown (headers) */
    KEY_TYPE_LIST,     /* struct key_list of strings */
    KEY_TYPE_VALUE,    /* struct key_value: a scalar with the type that YAML gives it */
    KEY_TYPE_TREE,     /* the same, also a list or a map of such values */
    KEY_TYPE_GROUP,    /* a nested struct with its own rows */
    KEY_TYPE_GROUPS,   /* struct key_groups: a list of such structs */
    KEY_TYPE_IGNORED   /* a key of the Collector that is accepted and has no effect here */
};

struct key_map {
    struct key_pair {
        char *name;
        char *value;
    } * pairs;
    size_t count;
};

struct key_list {
    char **items;
    size_t count;
};

enum key_value_kind {
    KEY_VALUE_NONE, /* not given, or null */
    KEY_VALUE_STRING,
    KEY_VALUE_BOOL,
    KEY_VALUE_INT,
    KEY_VALUE_NUMBER,
    KEY_VALUE_LIST,
    KEY_VALUE_MAP
};

struct key_value {
    enum key_value_kind kind;
    char *text; /* STRING */
    bool boolean;
    int64_t integer;
    double number;
    struct key_value *items; /* LIST, MAP */
    size_t count;
    char *name; /* of an entry of a MAP; else NULL */
};

struct key_groups {
    void *items; /* structs of the key's item_size, one behind the other */
    size_t count;
};

enum key_flag {
    KEY_REQUIRED = 1,     /* must be given where it has no default, and not empty */
    KEY_AUTO = 2,         /* DURATION: the word "auto" is legal and gives DURATION_AUTO */
    KEY_PRESENCE = 4,     /* GROUP: off until its key is present; `enabled: false` turns it off */
    KEY_REPLACES_MAP = 8, /* MAP: what the user gives replaces the default pairs */
    KEY_HIDDEN = 16,      /* LIST: its items are never shown */
    KEY_AUTH_SERVER = 32, /* GROUP: a struct auth_settings; its authenticator checks clients */
    KEY_AUTH_CLIENT = 64, /* likewise; its authenticator provides credentials */
    KEY_MULTIPLE = 128,   /* MAP: a value may be a list; each item becomes a pair of that name */
    KEY_ATTRIBUTES = 512, /* MAP: its item `attributes` may be a list of {name, value} */
    KEY_WARNED = 256,     /* IGNORED: if given, a warning says that it has no effect */
    KEY_SHORT = 1024,     /* GROUPS: a list of strings is one struct, whose row 0, a LIST, it is */
    KEY_JSON = 2048,      /* MAP: values of every kind; each becomes its JSON */
    KEY_EXACT = 8192,     /* CHOICE: in this case only */
    KEY_SHORT_LAST = 4096 /* GROUPS with KEY_SHORT: structs may come before the strings */
};

struct key {
    const char *name;
    enum key_type type;
    unsigned flags;
    size_t offset;
    const char *fallback;       /* the default, in YAML syntax; NULL: zero */
    const char *text;           /* one-line description */
    double min, max;            /* INT, NUMBER, and DURATION in seconds; both 0: any value >= 0 */
    const char *const *choices; /* NULL-terminated */
    const struct key *rows;     /* GROUP, GROUPS */
    size_t item_size;           /* GROUPS */
    size_t present;             /* GROUP with KEY_PRESENCE: offset of its bool in the outer struct;
                                 * GROUPS with KEY_SHORT: the same in the item, set for strings */
};

/* Returns the value of a map's entry; NULL: absent. */
const char *key_map_get(const struct key_map *map, const char *name);

#include "lib/settings/key_rows.h"

#endif
