#include "lib/regex/regex.h"

#include "lib/base/clock.h"
#include "lib/base/utf8.h"
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
    pcre2_match_context_8 *context, *brief; /* brief: with REGEX_STEPS_BRIEF */
    _Atomic uint64_t limited; /* mono: LIMITED_EACH later with each match that was; 0: never */
    _Atomic(pcre2_match_data_8 *) spare; /* of a match that is over; NULL: none */
    uint32_t groups;                     /* with the whole match */
    int needed; /* a byte of every match, in either case if it is a letter; -1: none is known */
    char *names[REGEX_GROUPS_MAX]; /* NULL: it has none */
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

enum { REPEATS_MAX = 1000, GROUP_DEPTH = 64 };

/* How often a repetition {n}, {n,} or {n,m} repeats, at least or at most; 0: it is none. */
static unsigned repeat_count(const char *at)
{
    unsigned counts[2] = {0, 0}, i = 0;
    const char *from = ++at;
    for (; isdigit((unsigned char)*at) || (*at == ',' && i == 0); at++)
        if (*at == ',')
            i = 1;
        else if (counts[i] <= REPEATS_MAX)
            counts[i] = 10 * counts[i] + (unsigned)(*at - '0');
    if (*at != '}' || !isdigit((unsigned char)*from))
        return 0;
    return counts[0] > counts[1] ? counts[0] : counts[1];
}

/* Repetitions in one another, multiplied. */
struct repeats {
    unsigned most[GROUP_DEPTH + 1]; /* of what is in each open group */
    unsigned depth, last;           /* of the group that was closed last; 1: of a character */
};

/* Reads a character outside classes. False: more than RE2 allows. */
static bool take_repeats(struct repeats *repeats, const char *at)
{
    unsigned *most = &repeats->most[repeats->depth];
    if (*at == '(' && repeats->depth < GROUP_DEPTH) {
        repeats->most[++repeats->depth] = 1;
    } else if (*at == ')' && repeats->depth > 0) {
        repeats->last = *most;
        most = &repeats->most[--repeats->depth];
        *most = repeats->last > *most ? repeats->last : *most;
    } else if (*at == '{') {
        unsigned count = repeat_count(at);
        unsigned product = (count ? count : 1) * repeats->last;
        *most = product > *most ? product : *most;
        return product <= REPEATS_MAX;
    } else {
        repeats->last = 1;
    }
    return true;
}

/* Fault and offset of what PCRE2 takes and RE2 does not. NULL: nothing. */
static const char *dialect_fault(const char *pattern, size_t *offset)
{
    struct repeats repeated = {.most = {1}, .last = 1};
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
        if (*at == '\\' || in_class)
            repeated.last = 1;
        else if (!fault && *at != ']' && !take_repeats(&repeated, at))
            fault = "RE2 does not support repeat counts above 1000";
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

/* PCRE2 says 'A' of a|Ax, without a word that 'a' will do. */
static int other_case(int byte)
{
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z' ? byte ^ 0x20 : byte;
}

static bool has_needed(const struct regex *regex, struct view text, size_t from)
{
    int byte = regex->needed, other = other_case(byte);
    if (from >= text.size)
        return false;
    const uint8_t *rest = text.data + from;
    size_t size = text.size - from;
    return memchr(rest, byte, size) || (other != byte && memchr(rest, other, size));
}

/* Whatever its invalid bytes are read as: U+FFFD has no byte of ASCII. */
bool regex_rules_out(const struct regex *regex, struct view text)
{
    return regex->needed >= 0 && regex->needed < 0x80 && !has_needed(regex, text, 0);
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

static pcre2_match_context_8 *limits_new(uint32_t steps)
{
    pcre2_match_context_8 *context = pcre2.context_create(NULL);
    if (!context)
        return NULL;
    pcre2.match_limit(context, steps);
    pcre2.depth_limit(context, steps);
    pcre2.heap_limit(context, REGEX_HEAP_KIB_MAX);
    return context;
}

static bool set_limits(struct regex *regex)
{
    regex->context = limits_new(REGEX_STEPS_MAX);
    regex->brief = limits_new(REGEX_STEPS_BRIEF);
    return regex->context && regex->brief;
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
    uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES;
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
    if (regex->brief)
        pcre2.context_free(regex->brief);
    if (regex->code)
        pcre2.code_free(regex->code);
    for (size_t i = 0; i < REGEX_GROUPS_MAX; i++)
        free(regex->names[i]);
    free(regex);
}

/* ---- matching ---- */

/* A text and what is matched: itself, or a copy with U+FFFD for each invalid byte. */
struct subject {
    struct view text, valid;
    struct bytes repaired;
    const uint8_t *text_at, *valid_at; /* the same place of both */
};

/* False: the copy has no room. */
static bool subject_open(struct subject *subject, struct view text)
{
    static const uint8_t nothing[1];
    if (!text.data)
        text.data = nothing;
    bytes_init(&subject->repaired, REGEX_REPAIRED_MAX, NULL);
    subject->text = subject->valid = text;
    if (!utf8_valid(text)) {
        if (!utf8_repair(text, &subject->repaired))
            return false;
        subject->valid = bytes_view(&subject->repaired);
    }
    subject->text_at = subject->text.data;
    subject->valid_at = subject->valid.data;
    return true;
}

static void subject_close(struct subject *subject)
{
    bytes_release(&subject->repaired);
}

/* Moves *text_at on by the characters between *valid_at and valid. */
static void advance(const struct subject *subject, const uint8_t **text_at,
                    const uint8_t **valid_at, const uint8_t *valid)
{
    if (!subject->repaired.data) {
        *text_at += valid - *valid_at;
        *valid_at = valid;
        return;
    }
    const uint8_t *end = subject->text.data + subject->text.size;
    while (*valid_at < valid) {
        size_t size = utf8_character(view_between(*text_at, end));
        *text_at += size ? size : 1;
        *valid_at += size ? size : 3;
    }
}

/* Turns the groups of a match into parts of the text. */
static void locate(struct subject *subject, struct regex_match *match)
{
    if (!subject->repaired.data)
        return;
    advance(subject, &subject->text_at, &subject->valid_at, match->groups[0].data);
    for (size_t i = 0; i < match->count; i++) {
        struct view *group = &match->groups[i];
        if (!group->data)
            continue;
        const uint8_t *at = subject->text_at, *valid_at = subject->valid_at, *from;
        advance(subject, &at, &valid_at, group->data);
        from = at;
        advance(subject, &at, &valid_at, group->data + group->size);
        *group = view_between(from, at);
    }
}

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

/* ---- how long it may take ---- */

#define LIMITED_EACH (NS_PER_S / 4)

static bool is_limited(const struct regex *regex)
{
    uint64_t limited = atomic_load_explicit(&regex->limited, memory_order_relaxed);
    return limited && limited > clock_mono(&clock_system) + NS_PER_S;
}

static void note_limited(struct regex *regex)
{
    uint64_t now = clock_mono(&clock_system), limited = atomic_load(&regex->limited);
    atomic_store(&regex->limited, (limited > now ? limited : now) + LIMITED_EACH);
}

/* The first match that begins at byte `from` of a valid text or behind; match may be NULL. */
static enum regex_result find_valid(const struct regex *regex, struct view text, size_t from,
                                    struct regex_match *match)
{
    struct regex *own = (struct regex *)regex; /* the spare alone changes */
    if (from > 0 && regex->needed >= 0 && !has_needed(regex, text, from))
        return REGEX_NO;
    pcre2_match_data_8 *data = atomic_exchange(&own->spare, NULL);
    if (!data)
        data = pcre2.data_create(regex->groups, NULL);
    if (!data)
        return REGEX_LIMIT;
    bool brief = is_limited(regex);
    int found = pcre2.match(regex->code, text.data, text.size, from, PCRE2_NO_UTF_CHECK, data,
                            brief ? regex->brief : regex->context);
    if (found == PCRE2_ERROR_MATCHLIMIT && !brief)
        note_limited(own);
    if (found > 0 && match)
        fill_match(regex, data, found, text, match);
    data = atomic_exchange(&own->spare, data);
    if (data)
        pcre2.data_free(data);
    if (found > 0)
        return REGEX_YES;
    return found == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_LIMIT;
}

enum regex_result regex_find(const struct regex *regex, struct view text, struct regex_match *match)
{
    struct subject subject;
    if (regex_rules_out(regex, text))
        return REGEX_NO;
    if (!subject_open(&subject, text)) {
        subject_close(&subject);
        return REGEX_LIMIT;
    }
    enum regex_result found = find_valid(regex, subject.valid, 0, match);
    if (found == REGEX_YES && match)
        locate(&subject, match);
    subject_close(&subject);
    return found;
}

enum regex_result regex_test(const struct regex *regex, struct view text)
{
    return regex_find(regex, text, NULL);
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
    bool digits = name.size > 0 && name.size < 4 && (name.size == 1 || name.data[0] != '0');
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
    struct view text = replacement;
    bool ok = true;
    for (size_t i = 0; ok && i < text.size; i++) {
        struct view rest = {text.data + i + 1, text.size - i - 1};
        size_t used = 0;
        struct view name = {0};
        if (text.data[i] == '$' && rest.size && rest.data[0] != '$')
            name = reference(rest, &used);
        if (name.data)
            ok = bytes_append_view(out, named_group(regex, match, name)) == BYTES_OK;
        else
            ok = bytes_append(out, text.data + i, 1) == BYTES_OK;
        i += used;
        i += text.data[i] == '$' && !name.data && rest.size && rest.data[0] == '$';
    }
    return ok;
}

struct replacement {
    const struct regex *regex;
    struct view text;
};

static bool put_expanded(const void *context, const struct regex_match *match, struct bytes *out)
{
    const struct replacement *self = context;
    return regex_expand(self->regex, match, self->text, out);
}

/* Appends the text with each match replaced, and the rest of it only if there was one. */
static enum regex_result replace_all(const struct regex *regex, struct subject *subject,
                                     regex_put *put, const void *context, struct bytes *out)
{
    struct view valid = subject->valid;
    size_t from = 0;
    enum regex_result last = REGEX_NO, result = REGEX_NO;
    struct regex_match match;                 /* large, so only the part that is read is cleared */
    const uint8_t *kept = subject->text.data; /* end of the match before */
    const uint8_t *before = NULL;
    match.groups[0] = (struct view){0};
    while (from <= valid.size && (last = find_valid(regex, valid, from, &match)) == REGEX_YES) {
        bool empty = match.groups[0].size == 0;
        from = (size_t)(match.groups[0].data - valid.data) + match.groups[0].size;
        locate(subject, &match);
        struct view all = match.groups[0];
        result = REGEX_YES;
        if (bytes_append_view(out, view_between(kept, all.data)) != BYTES_OK ||
            (!(empty && before == all.data) && !put(context, &match, out)))
            return REGEX_LIMIT;
        kept = before = all.data + all.size;
        if (empty && from == valid.size)
            break;
        if (empty)
            from += utf8_character((struct view){valid.data + from, valid.size - from});
    }
    if (last == REGEX_LIMIT)
        return REGEX_LIMIT;
    struct view rest = view_between(kept, subject->text.data + subject->text.size);
    return result == REGEX_YES && bytes_append_view(out, rest) != BYTES_OK ? REGEX_LIMIT : result;
}

enum regex_result regex_replace_by(const struct regex *regex, struct view text, regex_put *put,
                                   const void *context, struct bytes *out)
{
    struct subject subject;
    enum regex_result result = REGEX_LIMIT;
    if (regex_rules_out(regex, text))
        return REGEX_NO;
    if (subject_open(&subject, text))
        result = replace_all(regex, &subject, put, context, out);
    subject_close(&subject);
    return result;
}

enum regex_result regex_replace(const struct regex *regex, struct view text,
                                struct view replacement, struct bytes *out)
{
    struct replacement with = {regex, replacement};
    return regex_replace_by(regex, text, put_expanded, &with, out);
}
