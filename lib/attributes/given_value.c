#include "lib/attributes/given_value.h"

struct value given_value(const struct key_value *given)
{
    switch (given->kind) {
    case KEY_VALUE_STRING:
        return value_string(view_of(given->text));
    case KEY_VALUE_BOOL:
        return (struct value){.kind = VALUE_BOOL, .boolean = given->boolean};
    case KEY_VALUE_INT:
        return value_int(given->integer);
    case KEY_VALUE_NUMBER:
        return (struct value){.kind = VALUE_DOUBLE, .number = given->number};
    case KEY_VALUE_NONE:
        break;
    }
    return (struct value){0};
}
