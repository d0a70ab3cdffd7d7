#include "cli/flags.h"

#include "cli/usage.h"
#include "lib/base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading of argv; value is what followed '=', or NULL. */
struct reader {
    struct flags *flags;
    char **argv;
    int at, argc;
    bool commanded;
    const char *only_top; /* a flag that other commands do not take; NULL: none was given */
};

static bool usage(const char *what, const char *word, const char *near)
{
    fprintf(stderr, "spanlink: %s \"%s\"", what, word);
    if (near)
        fprintf(stderr, "; did you mean \"%s\"?", near);
    fprintf(stderr, "\nsee spanlink --help\n");
    return false;
}

enum { NAMES_MAX = 40 };

static bool unknown_flag(const char *word)
{
    const char *names[NAMES_MAX] = {0};
    size_t count = 0;
    for (const struct usage_flag *f = usage_flags; f->name && count + 2 < NAMES_MAX; f++) {
        names[count++] = f->name;
        if (f->letter)
            names[count++] = f->letter;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    return usage("unknown flag", name, nearest_word(name, names));
}

static bool unknown_command(const char *word)
{
    const char *names[NAMES_MAX] = {0};
    for (size_t i = 0; usage_commands[i].name && i + 1 < NAMES_MAX; i++)
        names[i] = usage_commands[i].name;
    return usage("unknown command", word, nearest_word(word, names));
}

static bool add_source(struct flags *flags, enum settings_origin origin, const char *text)
{
    struct settings_source *grown = reallocarray(flags->sources, flags->count + 1, sizeof *grown);
    if (!grown) {
        fprintf(stderr, "spanlink: out of memory\n");
        return false;
    }
    flags->sources = grown;
    grown[flags->count++] = (struct settings_source){origin, text};
    return true;
}

/* Returns the flag's value: after '=', or the next word. */
static const char *flags_value_of(struct reader *reader, const char *flag)
{
    const char *equals = strchr(flag, '=');
    if (equals)
        return equals + 1;
    if (reader->at + 1 < reader->argc)
        return reader->argv[++reader->at];
    fprintf(stderr, "spanlink: %s needs a value\nsee spanlink --help\n", flag);
    return NULL;
}

static bool is_flag(const char *word, const char *name)
{
    size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && (word[n] == '\0' || word[n] == '=');
}

static bool read_config(struct reader *reader, const char *word)
{
    const char *value = flags_value_of(reader, word);
    if (value && !*value)
        return usage("expected a file after", "--config", NULL);
    return value && add_source(reader->flags, SETTINGS_FILE, value);
}

static bool read_set(struct reader *reader, const char *word)
{
    const char *value = flags_value_of(reader, word);
    if (value && (!strchr(value, '=') || *value == '='))
        return usage("expected a.b.c=value after --set, not", value, NULL);
    return value && add_source(reader->flags, SETTINGS_SET, value);
}

/* Of the flags that only top takes: the member that their value goes to; NULL: another flag. */
static const char **access_value(struct access_flags *access, const char *word)
{
    const struct {
        const char *name, **value;
    } known[] = {
        {"--username", &access->username},     {"--password-file", &access->password_file},
        {"--token-file", &access->token_file}, {"--ca-file", &access->ca_file},
        {"--cert-file", &access->cert_file},   {"--key-file", &access->key_file},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_flag(word, known[i].name))
            return known[i].value;
    return NULL;
}

static bool read_access(struct reader *reader, const char *word, const char **value)
{
    reader->only_top = word;
    if (!(*value = flags_value_of(reader, word)))
        return false;
    return **value || usage("expected a value after", word, NULL);
}

/* A flag without a value that only top takes. */
static bool read_switch(struct reader *reader, const char *word)
{
    struct flags *flags = reader->flags;
    bool *value = strcmp(word, "--once") == 0       ? &flags->once
                  : strcmp(word, "--insecure") == 0 ? &flags->access.insecure
                                                    : NULL;
    if (!value)
        return false;
    reader->only_top = word;
    return *value = true;
}

static bool read_flag(struct reader *reader, const char *word)
{
    const char **value = access_value(&reader->flags->access, word);
    if (value)
        return read_access(reader, word, value);
    if (read_switch(reader, word))
        return true;
    if (is_flag(word, "--config"))
        return read_config(reader, word);
    if (is_flag(word, "--set"))
        return read_set(reader, word);
    if (is_flag(word, "--endpoint"))
        return (reader->flags->endpoint = flags_value_of(reader, word));
    if (is_flag(word, "--feature-gates"))
        return flags_value_of(reader, word);
    if (strcmp(word, "--watch") == 0) {
        reader->flags->watch = true;
        return true;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        reader->flags->command = COMMAND_HELP;
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-v") == 0)
        reader->flags->command = COMMAND_VERSION;
    else
        return unknown_flag(word);
    reader->commanded = true;
    return true;
}

static bool read_command(struct reader *reader, const char *word)
{
    if (reader->commanded)
        return usage("only one command is allowed, unexpected", word, NULL);
    for (const struct usage_command *c = usage_commands; c->name; c++)
        if (strcmp(c->name, word) == 0) {
            reader->flags->command = c->command;
            reader->commanded = true;
            return true;
        }
    return unknown_command(word);
}

bool flags_parse(struct flags *flags, int argc, char **argv)
{
    *flags = (struct flags){.command = COMMAND_RUN};
    struct reader reader = {.flags = flags, .argv = argv, .argc = argc};
    for (reader.at = 1; reader.at < argc; reader.at++) {
        const char *word = argv[reader.at];
        if (!(*word == '-' ? read_flag(&reader, word) : read_command(&reader, word)))
            return false;
        if (flags->command == COMMAND_HELP || flags->command == COMMAND_VERSION)
            return true;
    }
    if (reader.only_top && flags->command != COMMAND_TOP)
        return usage("only top takes", reader.only_top, NULL);
    return !flags->endpoint || flags->command == COMMAND_HEALTH || flags->command == COMMAND_TOP ||
           usage("only health and top take", "--endpoint", NULL);
}

void flags_release(struct flags *flags)
{
    free(flags->sources);
    *flags = (struct flags){0};
}

bool flags_need_config(const struct flags *flags)
{
    for (size_t i = 0; i < flags->count; i++)
        if (flags->sources[i].origin == SETTINGS_FILE)
            return true;
    fprintf(stderr, "spanlink: no configuration; name one with --config FILE\n"
                    "see spanlink --help\n");
    return false;
}
