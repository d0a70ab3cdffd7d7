#include "lib/settings/problems.h"

#include "lib/base/redact.h"
#include "lib/base/shown.h"
#include "lib/settings/node.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Out of memory, the line is NULL: that there is a problem must not be lost. */
static void problems_append(char ***lines, size_t *count, char *line)
{
    char **grown = calloc(*count + 1, sizeof *grown);
    if (grown && *lines)
        memcpy(grown, *lines, *count * sizeof *grown);
    if (grown) {
        free(*lines);
        *lines = grown;
        (*lines)[(*count)++] = line;
        return;
    }
    free(line);
    if (*count == 0)
        *count = 1;
}

/* The "a.b" of a --set; NULL: not a --set. */
static const char *set_of(const struct node *node)
{
    const char *file = node && node->file ? node->file : "";
    return strncmp(file, "--set ", 6) == 0 ? file + 6 : NULL;
}

/* A --set has no lines and already contains the path. */
static void print_place(FILE *out, const struct node *node, const char *path)
{
    const char *set = set_of(node);
    size_t n = path ? strlen(path) : 0;
    if (node && node->file)
        fputs(node->file, out);
    if (node && node->file && node->line && !set)
        fprintf(out, ":%u", node->line);
    if (node && node->file)
        fputs(": ", out);
    if (n && !(set && strcmp(set, path) == 0))
        fprintf(out, "%s: ", path);
}

/* Redacts secrets in URLs and escapes invisible characters. NULL: no memory. */
static char *problems_show(const char *line)
{
    char *redacted = redact_urls(line);
    size_t size = redacted ? 4 * strlen(redacted) + 1 : 0;
    char *shown = redacted ? malloc(size) : NULL;
    if (shown)
        shown_copy(view_of(redacted), shown, size);
    free(redacted);
    return shown;
}

/* Formats "FILE:LINE: path: sentence"; NULL: no memory. */
static char *sentence(const struct node *node, const char *path, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static char *sentence(const struct node *node, const char *path, const char *format, va_list args)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    print_place(out, node, path);
    vfprintf(out, format, args);
    if (fclose(out) != 0) {
        free(line);
        return NULL;
    }
    char *shown = problems_show(line);
    free(line);
    return shown;
}

void problems_add(struct problems *problems, const struct node *node, const char *path,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problems_append(&problems->lines, &problems->count, sentence(node, path, format, args));
    va_end(args);
}

void problems_warn(struct problems *problems, bool severe, const struct node *node,
                   const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problems_append(severe ? &problems->severe : &problems->warnings,
                    severe ? &problems->severe_count : &problems->warning_count,
                    sentence(node, path, format, args));
    va_end(args);
}

void problems_print(const struct problems *problems, FILE *out)
{
    for (size_t i = 0; i < problems->count; i++) {
        const char *line = problems->lines ? problems->lines[i] : NULL;
        fprintf(out, "%s\n", line ? line : "out of memory");
    }
}

static void release_lines(char **lines, size_t count)
{
    for (size_t i = 0; lines && i < count; i++)
        free(lines[i]);
    free(lines);
}

void problems_release(struct problems *problems)
{
    release_lines(problems->lines, problems->count);
    release_lines(problems->warnings, problems->warning_count);
    release_lines(problems->severe, problems->severe_count);
    *problems = (struct problems){0};
}
