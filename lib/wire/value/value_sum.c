#include "lib/wire/value/value_sum.h"

#include "lib/wire/value/attributes.h"

enum { LIST_VALUES = 1 };

/* Beside the kinds of values. */
enum { SUM_KEY = 0x100, SUM_ATTRIBUTE, SUM_TRUE };

static struct siphash_sum sum_of_two(const struct siphash_key *key, uint64_t what,
                                     struct siphash_sum a, struct siphash_sum b)
{
    const struct siphash_sum both[2] = {a, b};
    return siphash(key, what, (struct view){(const uint8_t *)both, sizeof both});
}

static struct siphash_sum list_sum(const struct siphash_key *key, struct view list)
{
    struct proto_scan scan = proto_scan_begin(list);
    struct proto_field field;
    struct siphash_sum sum = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == LIST_VALUES && field.type == WIRE_LEN)
            sum = sum_of_two(key, VALUE_LIST, sum, value_sum(key, field.bytes));
    return sum_of_two(key, VALUE_LIST, sum, (struct siphash_sum){0});
}

static struct siphash_sum map_sum(const struct siphash_key *key, struct view map)
{
    struct proto_scan scan = proto_scan_begin(map);
    struct proto_field field;
    struct siphash_sum sum = {0};
    while (proto_scan_next(&scan, &field)) {
        if (field.number != LIST_VALUES || field.type != WIRE_LEN)
            continue;
        struct attribute item = attribute_read(field.bytes);
        struct siphash_sum name = value_key_sum(key, item.key);
        sum = siphash_plus(sum, value_attribute_sum(key, name, item.any));
    }
    return sum_of_two(key, VALUE_MAP, sum, (struct siphash_sum){0});
}

static struct siphash_sum number_sum(const struct siphash_key *key, uint64_t what, uint64_t bits)
{
    return siphash(key, what, (struct view){(const uint8_t *)&bits, sizeof bits});
}

static struct siphash_sum double_sum(const struct siphash_key *key, double number)
{
    uint64_t bits; /* -0 differs from 0, so that neither becomes the other */
    memcpy(&bits, &number, sizeof bits);
    return number_sum(key, VALUE_DOUBLE, bits);
}

struct siphash_sum value_sum(const struct siphash_key *key, struct view any)
{
    struct value value = value_read(any);
    switch (value.kind) {
    case VALUE_EMPTY:
        break;
    case VALUE_BOOL:
        return siphash(key, value.boolean ? SUM_TRUE : VALUE_BOOL, VIEW(""));
    case VALUE_INT:
        return number_sum(key, VALUE_INT, (uint64_t)value.integer);
    case VALUE_DOUBLE:
        return double_sum(key, value.number);
    case VALUE_LIST:
        return list_sum(key, value.bytes);
    case VALUE_MAP:
        return map_sum(key, value.bytes);
    case VALUE_STRING:
    case VALUE_BYTES:
        return siphash(key, value.kind, value.bytes);
    }
    return siphash(key, VALUE_EMPTY, VIEW(""));
}

struct siphash_sum value_key_sum(const struct siphash_key *key, struct view name)
{
    return siphash(key, SUM_KEY, name);
}

struct siphash_sum value_attribute_sum(const struct siphash_key *key, struct siphash_sum name,
                                       struct view any)
{
    return sum_of_two(key, SUM_ATTRIBUTE, name, value_sum(key, any));
}
