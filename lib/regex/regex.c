#include "lib/regex/regex.h"

#include "lib/late/library.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    __typeof__(pcre2_compile_8) *compile;
    __typeof__(pcre2_code_free_8) *code_free;
    __typeof__(pcre2_jit_compile_8) *jit_compile;
    __typeof__(pcre2_match_8) *match;
    __typeof__(pcre2_match_data_create_8) *data_create;
    __typeof__(pcre2_match_data_free_8) *data_free;
    __typeof__(pcre2_get_ovector_pointer_8) *ovector;
    __typeof__(pcre2_match_context_create_8) *context_create;
    __typeof__(pcre2_match_context_free_8) *context_free;
    __typeof__(pcre2_set_match_limit_8) *match_limit;
    __typeof__(pcre2_set_depth_limit_8) *depth_limit;
    __typeof__(pcre2_set_heap_limit_8) *heap_limit;
    __typeof__(pcre2_pattern_info_8) *info;
    __typeof__(pcre2_get_error_message_8) *message;
} pcre2;

static const struct late_function functions[] = {
    {"pcre2_compile_8", &pcre2.compile},
    {"pcre2_code_free_8", &pcre2.code_free},
    {"pcre2_jit_compile_8", &pcre2.jit_compile},
    {"pcre2_match_8", &pcre2.match},
    {"pcre2_match_data_create_8", &pcre2.data_create},
    {"pcre2_match_data_free_8", &pcre2.data_free},
    {"pcre2_get_ovector_pointer_8", &pcre2.ovector},
    {"pcre2_match_context_create_8", &pcre2.context_create},
    {"pcre2_match_context_free_8", &pcre2.context_free},
    {"pcre2_set_match_limit_8", &pcre2.match_limit},
    {"pcre2_set_depth_limit_8", &pcre2.depth_limit},
    {"pcre2_set_heap_limit_8", &pcre2.heap_limit},
    {"pcre2_pattern_info_8", &pcre2.info},
    {"pcre2_get_error_message_8", &pcre2.message},
    {NULL, NULL},
};

static struct late_library library = {PCRE2_FILE, functions, 0};

struct regex {
    pcre2_code_8 *code;
    pcre2_match_context_8 *context;
    _Atomic(pcre2_match_data_8 *) spare; /* of a match that is over; NULL: none */
    uint32_t groups;                     /* with the whole match */
    int needed;                          /* a byte of every match; -1: none is known */
    char *names[REGEX_GROUPS_MAX];       /* NULL: it has none */
};

/* ---- what RE2 does not have ---- */

static const char *group_fault(const char *at)
{
    if (at[0] != '(' || at[1] == '*')
        return at[0] == '(' ? "RE2 does not support (*...) verbs" : NULL;
    if (at[1] != '?')
        return NULL;
    if (at[2] == '=' || at[2] == '!' || (at[2] == '<' && (at[3] == '=' || at[3] == '!')))
        return "RE2 does not support lookahead and lookbehind";
    bool name = at[2] == 'P' && at[3] == '<';
    if (name || at[2] == '<' || at[2] == ':' || strchr("imsU-", at[2]))
        return NULL;
    return "RE2 does not support this kind of group";
}

static const char *escape_fault(const char *at)
{
    if (isdigit((unsigned char)at[1]) && at[1] != '0')
        return "RE2 does not support backreferences";
    return at[1] && strchr("gkGKRXNhHVyYcZeo", at[1]) ? "RE2 does not support this escape" : NULL;
}

/* Whether what ends at a character is a repetition: *, +, ? or {1,2}. */
static bool repeats(const char *pattern, const char *at)
{
    bool escaped = at > pattern && at[-1] == '\\';
    if (*at != '}')
        return strchr("*+?", *at) && !escaped;
    while (at > pattern && (isdigit((unsigned char)at[-1]) || at[-1] == ','))
        at--;
    return at > pattern && *--at == '{' && isdigit((unsigned char)at[1]);
}

/* Fault and offset of what PCRE2 takes and RE2 does not. NULL: nothing. */
static const char *dialect_fault(const char *pattern, size_t *offset)
{
    bool in_class = false;
    for (const char *at = pattern; *at; at++) {
        const char *fault = NULL;
        *offset = (size_t)(at - pattern);
        if (*at == '\\' && at[1] == 'Q') {
            const char *end = strstr(at, "\\E");
            at = end ? end + 1 : at + strlen(at) - 1;
            continue;
        }
        if (*at == '\\')
            fault = in_class ? NULL : escape_fault(at);
        else if (in_class)
            in_class = *at != ']' || at[-1] == '[' || (at[-1] == '^' && at[-2] == '[');
        else if (*at == '[')
            in_class = true;
        else if (at > pattern && *at == '+' && repeats(pattern, at - 1))
            fault = "RE2 does not support possessive quantifiers";
        else
            fault = group_fault(at);
        if (fault)
            return fault;
        at += *at == '\\' && at[1];
        if (in_class && *at == '[' && at[1] == ':') {
            const char *end = strstr(at, ":]");
            at = end ? end + 1 : at;
        }
    }
    return NULL;
}

/* ---- compiling ---- */

/* Whether a part of the pattern may be caseless: a group that begins with flags. */
static bool has_flags(const char *pattern)
{
    for (const char *at = pattern; (at = strstr(at, "(?")); at += 2)
        if (at[2] != ':' && at[2] != 'P' && at[2] != '<')
            return true;
    return false;
}

static int needed_byte(const struct regex *regex, const char *pattern)
{
    uint32_t type = 0, byte = 0;
    pcre2.info(regex->code, PCRE2_INFO_LASTCODETYPE, &type);
    if (type)
        pcre2.info(regex->code, PCRE2_INFO_LASTCODEUNIT, &byte);
    if (!type) {
        pcre2.info(regex->code, PCRE2_INFO_FIRSTCODETYPE, &type);
        if (type == 1)
            pcre2.info(regex->code, PCRE2_INFO_FIRSTCODEUNIT, &byte);
    }
    return type == 1 && !has_flags(pattern) ? (int)byte : -1;
}

static bool take_names(struct regex *regex)
{
    uint32_t count = 0, size = 0;
    PCRE2_SPTR8 table = NULL;
    pcre2.info(regex->code, PCRE2_INFO_NAMECOUNT, &count);
    pcre2.info(regex->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2.info(regex->code, PCRE2_INFO_NAMETABLE, (void *)&table);
    for (uint32_t i = 0; i < count; i++, table += size) {
        unsigned group = (unsigned)table[0] << 8 | table[1];
        if (group < REGEX_GROUPS_MAX && !(regex->names[group] = strdup((const char *)table + 2)))
            return false;
    }
    return true;
}

static bool set_limits(struct regex *regex)
{
    regex->context = pcre2.context_create(NULL);
    if (!regex->context)
        return false;
    pcre2.match_limit(regex->context, REGEX_STEPS_MAX);
    pcre2.depth_limit(regex->context, REGEX_STEPS_MAX);
    pcre2.heap_limit(regex->context, REGEX_HEAP_KIB_MAX);
    return true;
}

static bool compile(struct regex *regex, const char *pattern, char *error, size_t error_size)
{
    int code;
    size_t offset;
    const char *fault = dialect_fault(pattern, &offset);
    if (fault) {
        snprintf(error, error_size, "%s, at character %zu", fault, offset + 1);
        return false;
    }
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
                       PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES;
    regex->code =
        pcre2.compile((PCRE2_SPTR8)pattern, PCRE2_ZERO_TERMINATED, options, &code, &offset, NULL);
    if (!regex->code) {
        PCRE2_UCHAR8 text[160];
        pcre2.message(code, text, sizeof text);
        snprintf(error, error_size, "%s, at character %zu", (const char *)text, offset + 1);
        return false;
    }
    uint32_t groups = 0;
    pcre2.info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    regex->groups = groups + 1;
    regex->needed = needed_byte(regex, pattern);
    if (regex->groups > REGEX_GROUPS_MAX) {
        snprintf(error, error_size, "%u groups, expected at most %d", (unsigned)groups,
                 REGEX_GROUPS_MAX - 1);
        return false;
    }
    (void)pcre2.jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* without it, it is interpreted */
    snprintf(error, error_size, "out of memory");
    return set_limits(regex) && take_names(regex);
}

struct regex *regex_new(struct view pattern, char *error, size_t error_size)
{
    if (pattern.size > REGEX_PATTERN_MAX || memchr(pattern.data, 0, pattern.size)) {
        snprintf(error, error_size, "longer than %d bytes, or contains a NUL byte",
                 REGEX_PATTERN_MAX);
        return NULL;
    }
    if (!late_library_open(&library)) {
        snprintf(error, error_size, "%s, the regular expression library, is not installed",
                 PCRE2_FILE);
        return NULL;
    }
    struct regex *regex = calloc(1, sizeof *regex);
    char *text = strndup((const char *)pattern.data, pattern.size);
    snprintf(error, error_size, "out of memory");
    bool ok = regex && text && compile(regex, text, error, error_size);
    free(text);
    if (ok)
        return regex;
    regex_free(regex);
    return NULL;
}

void regex_free(struct regex *regex)
{
    if (!regex)
        return;
    pcre2_match_data_8 *spare = atomic_load(&regex->spare);
    if (spare)
        pcre2.data_free(spare);
    if (regex->context)
        pcre2.context_free(regex->context);
    if (regex->code)
        pcre2.code_free(regex->code);
    for (size_t i = 0; i < REGEX_GROUPS_MAX; i++)
        free(regex->names[i]);
    free(regex);
}

/* ---- matching ---- */

static void fill_match(const struct regex *regex, pcre2_match_data_8 *data, int pairs,
                       struct view text, struct regex_match *match)
{
    const size_t *at = pcre2.ovector(data);
    match->count = regex->groups;
    for (size_t i = 0; i < regex->groups; i++) {
        bool took_part = i < (size_t)pairs && at[2 * i] != PCRE2_UNSET;
        match->groups[i] = took_part
                               ? (struct view){text.data + at[2 * i], at[2 * i + 1] - at[2 * i]}
                               : (struct view){0};
    }
}

enum regex_result regex_find(const struct regex *regex, struct view text, size_t from,
                             struct regex_match *match)
{
    struct regex *own = (struct regex *)regex; /* the spare alone changes */
    static const uint8_t nothing[1];
    if (regex->needed >= 0 && from <= text.size &&
        !(text.size > from && memchr(text.data + from, regex->needed, text.size - from)))
        return REGEX_NO;
    pcre2_match_data_8 *data = atomic_exchange(&own->spare, NULL);
    if (!data)
        data = pcre2.data_create(regex->groups, NULL);
    if (!data)
        return REGEX_LIMIT;
    if (!text.data)
        text.data = nothing;
    int found = pcre2.match(regex->code, text.data, text.size, from, 0, data, regex->context);
    if (found > 0 && match)
        fill_match(regex, data, found, text, match);
    data = atomic_exchange(&own->spare, data);
    if (data)
        pcre2.data_free(data);
    if (found > 0)
        return REGEX_YES;
    return found == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_LIMIT;
}

enum regex_result regex_test(const struct regex *regex, struct view text)
{
    return regex_find(regex, text, 0, NULL);
}

size_t regex_groups(const struct regex *regex)
{
    return regex->groups - 1;
}

const char *regex_group_name(const struct regex *regex, size_t group)
{
    return regex->names[group] ? regex->names[group] : "";
}

/* ---- replacing ---- */

static struct view named_group(const struct regex *regex, const struct regex_match *match,
                               struct view name)
{
    size_t number = 0;
    bool digits = name.size > 0 && name.size < 4;
    for (size_t i = 0; i < name.size; i++) {
        digits = digits && isdigit(name.data[i]);
        number = number * 10 + (size_t)(name.data[i] - '0');
    }
    if (digits)
        return number < match->count ? match->groups[number] : (struct view){0};
    for (size_t i = 1; i < match->count; i++)
        if (match->groups[i].data && view_eq(view_of(regex_group_name(regex, i)), name))
            return match->groups[i];
    return (struct view){0};
}

/* The name behind a dollar; *used: bytes of it with its braces. Data NULL: it is none. */
static struct view reference(struct view text, size_t *used)
{
    bool braces = text.size > 0 && text.data[0] == '{';
    size_t start = braces, end = start;
    while (end < text.size && (isalnum(text.data[end]) || text.data[end] == '_'))
        end++;
    if (end == start || (braces && (end == text.size || text.data[end] != '}')))
        return (struct view){0};
    *used = end + braces;
    return (struct view){text.data + start, end - start};
}

bool regex_expand(const struct regex *regex, const struct regex_match *match,
                  struct view replacement, struct bytes *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < replacement.size; i++) {
        struct view rest = {replacement.data + i + 1, replacement.size - i - 1};
        size_t used = 0;
        struct view name = {0};
        if (replacement.data[i] == '$' && rest.size && rest.data[0] != '$')
            name = reference(rest, &used);
        if (name.data)
            ok = bytes_append_view(out, named_group(regex, match, name)) == BYTES_OK;
        else
            ok = bytes_append(out, replacement.data + i, 1) == BYTES_OK;
        i += used;
        i += replacement.data[i] == '$' && !name.data && rest.size && rest.data[0] == '$';
    }
    return ok;
}

/* Bytes of the character at the start. */
static size_t character(struct view text)
{
    size_t n = 1;
    while (n < text.size && (text.data[n] & 0xc0) == 0x80)
        n++;
    return n;
}

enum regex_result regex_replace(const struct regex *regex, struct view text,
                                struct view replacement, struct bytes *out)
{
    size_t from = 0, kept = 0;
    enum regex_result last = REGEX_NO, result = REGEX_NO;
    struct regex_match match = {.count = 0};
    const uint8_t *before = NULL; /* end of the match before */
    while (from <= text.size && (last = regex_find(regex, text, from, &match)) == REGEX_YES) {
        size_t at = (size_t)(match.groups[0].data - text.data), size = match.groups[0].size;
        struct view between = {text.data + kept, at - kept};
        bool empty_behind = size == 0 && before == match.groups[0].data;
        result = REGEX_YES;
        if (bytes_append_view(out, between) != BYTES_OK ||
            (!empty_behind && !regex_expand(regex, &match, replacement, out)))
            return REGEX_LIMIT;
        kept = from = at + size;
        before = text.data + kept;
        if (size == 0 && from < text.size)
            from += character((struct view){text.data + from, text.size - from});
        else if (size == 0)
            break;
    }
    if (last == REGEX_LIMIT)
        return REGEX_LIMIT;
    struct view rest = {text.data + kept, text.size - kept};
    return result == REGEX_YES && bytes_append_view(out, rest) != BYTES_OK ? REGEX_LIMIT : result;
}
