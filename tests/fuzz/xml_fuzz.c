/* Documents in XML: every node refers to the text or to the arena, and is in the list of the node
 * that holds it. */
#include "lib/ottl/xml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void touch(struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        sink = text.data[i];
}

static void walk(const struct xml_node *node, const struct xml_node *parent)
{
    for (; node; node = node->next) {
        if (node->parent != parent)
            abort();
        touch(node->name);
        touch(node->prefix);
        touch(node->value);
        walk(node->attributes, node);
        walk(node->children, node);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xml_document document;
    struct arena arena;
    uint8_t *copy = malloc(size ? size : 1); /* so that a byte too far is found */
    memcpy(copy, data, size);
    struct view text = {copy, size};
    for (int first = 0; first < 2; first++) {
        arena_init(&arena, (size_t)16 << 20);
        if (xml_read(&document, text, first, &arena)) {
            walk(document.top.children, &document.top);
            if (!document.size || document.size > size)
                abort();
        } else if (!document.error) {
            abort();
        }
        arena_release(&arena);
    }
    free(copy);
    return 0;
}
