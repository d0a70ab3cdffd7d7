#include "lib/settings/node_json.h"

#include "lib/settings/scalar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void node_json_string(const char *text, struct bytes *out)
{
    bytes_append(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            bytes_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            bytes_printf(out, "\\u%04x", *text);
        else
            bytes_append(out, text, 1);
    }
    bytes_append(out, "\"", 1);
}

static void node_json_number(double number, struct bytes *out)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", number);
    if (strtod(text, NULL) != number)
        snprintf(text, sizeof text, "%.17g", number);
    bytes_append(out, text, strlen(text));
}

static void node_json_scalar(const struct node *node, struct bytes *out)
{
    int64_t integer;
    double number;
    bool truth;
    if (!node->quoted && scalar_type(node->text) == SCALAR_NULL)
        bytes_append_view(out, VIEW("null"));
    else if (!node->quoted && scalar_bool(node->text, &truth))
        bytes_append_view(out, truth ? VIEW("true") : VIEW("false"));
    else if (!node->quoted && scalar_int(node->text, &integer))
        bytes_printf(out, "%" PRId64, integer);
    else if (!node->quoted && scalar_number(node->text, &number))
        node_json_number(number, out);
    else
        node_json_string(node_string(node), out);
}

void node_json(const struct node *node, struct bytes *out)
{
    bool map = node->kind == NODE_MAP;
    if (node->kind == NODE_NULL) {
        bytes_append_view(out, VIEW("null"));
        return;
    }
    if (node->kind == NODE_SCALAR) {
        node_json_scalar(node, out);
        return;
    }
    bytes_append(out, map ? "{" : "[", 1);
    for (size_t i = 0; i < node->count; i++) {
        bytes_append(out, ",", i > 0);
        if (map) {
            node_json_string(node->items[i]->key, out);
            bytes_append(out, ":", 1);
        }
        node_json(node->items[i], out);
    }
    bytes_append(out, map ? "}" : "]", 1);
}
