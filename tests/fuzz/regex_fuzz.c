/* A pattern, a newline and a text: the pattern finds the same with and without the shortcut for
 * texts that lack a byte that it needs. */
#include "lib/regex/regex.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Flags, even those that change nothing, turn the shortcut off. */
static struct regex *without_shortcut(struct view pattern)
{
    char error[200], *text = malloc(pattern.size + 16);
    int made = snprintf(text, pattern.size + 16, "(?-i)(?:%.*s)", VIEW_ARG(pattern));
    struct regex *regex =
        regex_new((struct view){(uint8_t *)text, (size_t)made}, error, sizeof error);
    free(text);
    return regex;
}

static void compare(const struct regex *one, const struct regex *other, struct view text)
{
    struct regex_match a, b;
    for (size_t from = 0; from <= text.size && from < 4; from++) {
        struct view tail = {text.data + from, text.size - from};
        enum regex_result found = regex_find(one, tail, &a);
        enum regex_result again = regex_find(other, tail, &b);
        if (found == REGEX_LIMIT || again == REGEX_LIMIT)
            continue;
        if (found != again || (found == REGEX_YES && (a.groups[0].data != b.groups[0].data ||
                                                      a.groups[0].size != b.groups[0].size)))
            abort();
        for (size_t i = 0; found == REGEX_YES && i < a.count; i++)
            if (a.groups[i].data && (a.groups[i].data < text.data ||
                                     a.groups[i].data + a.groups[i].size > text.data + text.size))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200];
    struct bytes out;
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    if (!line)
        return 0;
    struct view pattern = view_between(data, line), text = view_between(line + 1, data + size);
    struct regex *regex = regex_new(pattern, error, sizeof error);
    if (!regex)
        return 0;
    struct regex *other = without_shortcut(pattern);
    if (other)
        compare(regex, other, text);
    bytes_init(&out, 65536, NULL);
    (void)regex_replace(regex, text, VIEW("[$0${1}$$]"), &out);
    bytes_release(&out);
    regex_free(other);
    regex_free(regex);
    return 0;
}
