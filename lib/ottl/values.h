/* The values that statements are evaluated to. For lib/ottl alone. */
#ifndef LIB_OTTL_VALUES_H
#define LIB_OTTL_VALUES_H

#include "lib/wire/value/attributes.h"

enum ottl_type {
    TYPE_NIL,
    TYPE_BOOL,
    TYPE_INT,
    TYPE_DOUBLE,
    TYPE_STRING,
    TYPE_BYTES,
    TYPE_LIST, /* body of an ArrayValue */
    TYPE_MAP,  /* body of a KeyValueList */
    TYPE_TIME,
    TYPE_DURATION,
    TYPE_TRACE_ID,
    TYPE_SPAN_ID,
    TYPE_MESSAGES /* such as a span's events, which can only be counted */
};

struct zone;

struct ottl_value {
    enum ottl_type type;
    uint32_t nanos; /* TIME: since its second began */
    union {
        struct view bytes;
        bool boolean;
        struct {
            int64_t integer;         /* INT; TIME: seconds since 1970; DURATION: nanoseconds;
                                        MESSAGES: how many */
            const struct zone *zone; /* TIME: that it is shown in; NULL: UTC */
        };
        double number;
    };
};

enum ottl_op { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GE, OP_GT };

static inline struct ottl_value ottl_nil(void)
{
    return (struct ottl_value){0};
}
static inline struct ottl_value ottl_bool(bool boolean)
{
    return (struct ottl_value){.type = TYPE_BOOL, .boolean = boolean};
}
static inline struct ottl_value ottl_int(int64_t integer)
{
    return (struct ottl_value){.type = TYPE_INT, .integer = integer};
}
static inline struct ottl_value ottl_double(double number)
{
    return (struct ottl_value){.type = TYPE_DOUBLE, .number = number};
}
static inline struct ottl_value ottl_bytes(enum ottl_type type, struct view bytes)
{
    return (struct ottl_value){.type = type, .bytes = bytes};
}
static inline struct ottl_value ottl_string(struct view text)
{
    return ottl_bytes(TYPE_STRING, text);
}

static inline struct ottl_value ottl_time(int64_t seconds, uint32_t nanos, const struct zone *zone)
{
    return (struct ottl_value){.type = TYPE_TIME, .nanos = nanos, .integer = seconds, .zone = zone};
}
/* A time by its nanoseconds since 1970. */
static inline struct ottl_value ottl_time_at(__int128 ns, const struct zone *zone)
{
    int64_t seconds = (int64_t)(ns / 1000000000), rest = (int64_t)(ns % 1000000000);
    return rest < 0 ? ottl_time(seconds - 1, (uint32_t)(rest + 1000000000), zone)
                    : ottl_time(seconds, (uint32_t)rest, zone);
}
/* Nanoseconds of a duration, or of a time since 1970. */
static inline __int128 ottl_nanos(const struct ottl_value *value)
{
    return value->type == TYPE_TIME ? (__int128)value->integer * 1000000000 + value->nanos
                                    : value->integer;
}

struct ottl_value ottl_of_value(const struct value *value);

/* False: attributes have no such type. */
bool ottl_to_value(const struct ottl_value *from, struct value *to);

const char *ottl_type_name(enum ottl_type type);
bool ottl_compare(const struct ottl_value *a, const struct ottl_value *b, enum ottl_op op);

#endif
