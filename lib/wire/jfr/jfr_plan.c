#include "lib/wire/jfr/jfr_plan.h"

static const uint8_t *skip_numbers(const uint8_t *at, const uint8_t *end, uint32_t count)
{
    uint64_t number;
    for (; count && at; count--)
        at = jfr_varint(at, end, &number);
    return at;
}

/* Each element takes at least a byte, so that an excessive count ends soon. */
static const uint8_t *skip_array(const struct jfr_plan *element, const uint8_t *at,
                                 const uint8_t *end)
{
    struct jfr_values none; /* the steps of an element keep nothing */
    uint64_t count;
    if (!(at = jfr_varint(at, end, &count)) || element->count == 0)
        return at;
    if (element->count == 1 && element->steps->op == JFR_SKIP_BYTES) {
        uint32_t size = element->steps->argument;
        return count > SIZE_MAX / size ? NULL : jfr_skip_bytes(at, end, count * size);
    }
    for (; count && at; count--)
        at = jfr_plan_run(element, at, end, &none);
    return at;
}

const uint8_t *jfr_plan_run(const struct jfr_plan *plan, const uint8_t *at, const uint8_t *end,
                            struct jfr_values *values)
{
    for (size_t i = 0; i < plan->count && at; i++) {
        uint32_t argument = plan->steps[i].argument;
        struct view skipped;
        switch (plan->steps[i].op) {
        case JFR_SKIP_NUMBERS:
            at = skip_numbers(at, end, argument);
            break;
        case JFR_SKIP_BYTES:
            at = jfr_skip_bytes(at, end, argument);
            break;
        case JFR_SKIP_STRING:
            at = jfr_string(at, end, &skipped);
            break;
        case JFR_SKIP_ARRAY:
            at = skip_array(&(struct jfr_plan){plan->steps + i + 1, argument, 0}, at, end);
            i += argument;
            break;
        case JFR_KEEP_NUMBER:
            at = jfr_varint(at, end, &values->numbers[argument]);
            break;
        case JFR_KEEP_STRING:
            at = jfr_string(at, end, &values->strings[argument - JFR_NUMBERS]);
            break;
        }
    }
    return at;
}
