/* The rows of key tables, a macro for each type; lib/settings/key.h includes it. */
#ifndef LIB_SETTINGS_KEY_ROWS_H
#define LIB_SETTINGS_KEY_ROWS_H

/* Fails to compile where the member is not of the C type that the row writes. */
#define KEY_AT(T, member, C) (offsetof(T, member) + 0 * _Generic(((T *)0)->member, C : 1))

#define KEY_FLAGGED(T, member, C, key, kind, value, flag, line)                                    \
    {                                                                                              \
        .name = key, .type = kind, .offset = KEY_AT(T, member, C), .fallback = value,              \
        .flags = flag, .text = line                                                                \
    }
#define KEY_ROW(T, member, C, key, kind, value, line)                                              \
    KEY_FLAGGED(T, member, C, key, kind, value, 0, line)
#define KEY_BOOL(T, member, key, value, line)                                                      \
    KEY_ROW(T, member, bool, key, KEY_TYPE_BOOL, value, line)
#define KEY_INT(T, member, key, value, low, high, line)                                            \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_INT, .offset = KEY_AT(T, member, int64_t),                   \
        .fallback = value, .min = low, .max = high, .text = line                                   \
    }
#define KEY_NUMBER(T, member, key, value, low, high, line)                                         \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_NUMBER, .offset = KEY_AT(T, member, double),                 \
        .fallback = value, .min = low, .max = high, .text = line                                   \
    }
#define KEY_DURATION(T, member, key, value, flag, line)                                            \
    KEY_FLAGGED(T, member, uint64_t, key, KEY_TYPE_DURATION, value, flag, line)
#define KEY_STRING(T, member, key, value, flag, line)                                              \
    KEY_FLAGGED(T, member, char *, key, KEY_TYPE_STRING, value, flag, line)
#define KEY_SECRET(T, member, key, line)                                                           \
    KEY_ROW(T, member, char *, key, KEY_TYPE_SECRET, NULL, line)
#define KEY_CHOICE(T, member, key, value, words, line)                                             \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_CHOICE, .offset = KEY_AT(T, member, int), .fallback = value, \
        .choices = words, .text = line                                                             \
    }
#define KEY_EXACT_CHOICE(T, member, key, value, words, line)                                       \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_CHOICE, .offset = KEY_AT(T, member, int), .fallback = value, \
        .choices = words, .text = line, .flags = KEY_EXACT                                         \
    }
#define KEY_MAP(T, member, key, value, flag, line)                                                 \
    KEY_FLAGGED(T, member, struct key_map, key, KEY_TYPE_MAP, value, flag, line)
#define KEY_SECRETS(T, member, key, line)                                                          \
    KEY_ROW(T, member, struct key_map, key, KEY_TYPE_SECRETS, NULL, line)
#define KEY_LIST(T, member, key, value, line)                                                      \
    KEY_ROW(T, member, struct key_list, key, KEY_TYPE_LIST, value, line)
#define KEY_TREE(T, member, key, line)                                                             \
    KEY_ROW(T, member, struct key_value, key, KEY_TYPE_TREE, NULL, line)
#define KEY_VALUE(T, member, key, line)                                                            \
    KEY_ROW(T, member, struct key_value, key, KEY_TYPE_VALUE, NULL, line)
#define KEY_SECRET_LIST(T, member, key, line)                                                      \
    KEY_FLAGGED(T, member, struct key_list, key, KEY_TYPE_LIST, NULL, KEY_HIDDEN, line)
#define KEY_GROUP(T, member, C, key, table, line)                                                  \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_GROUP, .offset = KEY_AT(T, member, C), .rows = table,        \
        .text = line                                                                               \
    }
/* A group whose rows are of the whole struct: it has no struct of its own. */
#define KEY_SECTION(key, table, line)                                                              \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_GROUP, .rows = table, .text = line                           \
    }
/* The bool `switch_member` of T tells whether the group was given (and not `enabled: false`). */
#define KEY_SWITCHED(T, member, C, switch_member, key, table, line)                                \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_GROUP, .flags = KEY_PRESENCE,                                \
        .offset = KEY_AT(T, member, C), .present = KEY_AT(T, switch_member, bool), .rows = table,  \
        .text = line                                                                               \
    }
/* A list of structs C; cross checks name the second one "key[1]". */
#define KEY_GROUPS(T, member, C, key, table, line)                                                 \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_GROUPS, .offset = KEY_AT(T, member, struct key_groups),      \
        .item_size = sizeof(C), .rows = table, .text = line                                        \
    }
/* The same, or a list of strings for the first row; switch_member of C is then true. flag: 0 or
 * KEY_SHORT_LAST. */
#define KEY_SHORT_GROUPS(T, member, C, switch_member, key, flag, table, line)                      \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_GROUPS, .flags = KEY_SHORT | (flag),                         \
        .offset = KEY_AT(T, member, struct key_groups), .item_size = sizeof(C),                    \
        .present = KEY_AT(C, switch_member, bool), .rows = table, .text = line                     \
    }
#define KEY_IDLE(key, flag, line)                                                                  \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_IGNORED, .flags = flag, .text = line                         \
    }
#define KEY_IGNORED(key, line) KEY_IDLE(key, 0, line)
#define KEY_HINT(key, line)    KEY_IDLE(key, KEY_WARNED, line)
/* clang-format off */
#define KEY_END {.type = KEY_TYPE_END}
/* clang-format on */

#endif
