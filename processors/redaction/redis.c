/* Commands of Redis and Valkey, one a line, without the values among their arguments. */
#include "lib/base/utf8.h"
#include "processors/redaction/statement.h"

#include <strings.h>

/* Which arguments of a command, counted from 0, are values. */
enum values {
    NO_VALUES,
    ALL_FROM,   /* one and all after it, which become one "?" */
    ONE,        /* one */
    EVERY,      /* one, and every `step` after it */
    CONFIG_SET, /* 2, if 0 is SET */
    BITFIELD,   /* the third after a SET that is not 0 */
    ZADD        /* every second after the first that is not an option */
};

static const struct command {
    const char *names; /* separated by blanks */
    enum values values;
    size_t first, step;
} commands[] = {
    {"AUTH", ALL_FROM, 0, 0},
    {"APPEND GETSET LPUSHX GEORADIUSBYMEMBER RPUSHX SET SETNX SISMEMBER ZRANK ZREVRANK ZSCORE", ONE,
     1, 0},
    {"HSETNX LREM LSET SETBIT SETEX PSETEX SETRANGE ZINCRBY SMOVE RESTORE", ONE, 2, 0},
    {"LINSERT", ONE, 3, 0},
    {"GEOHASH GEOPOS GEODIST LPUSH RPUSH SREM ZREM SADD", ALL_FROM, 1, 0},
    {"GEOADD", EVERY, 3, 3},
    {"HSET HMSET", EVERY, 2, 2},
    {"MSET MSETNX", EVERY, 1, 2},
    {"CONFIG", CONFIG_SET, 0, 0},
    {"BITFIELD", BITFIELD, 0, 0},
    {"ZADD", ZADD, 0, 0},
};
static const struct command other = {"", NO_VALUES, 0, 0};

/* A command while it is read. */
struct redis {
    const uint8_t *at, *end;
    struct bytes *out;
    const struct command *command;
    size_t from;      /* of what is written for the command */
    bool named;       /* it is not empty */
    size_t arguments; /* those before the one that is next */
    size_t mark; /* CONFIG: 1: its SET; BITFIELD: place of the last SET; ZADD: the first score */
    bool found;  /* BITFIELD: its value */
    bool ok;
};

static bool is_word(struct view word, const char *upper, size_t size)
{
    return word.size == size && strncasecmp((const char *)word.data, upper, size) == 0;
}

static const struct command *command_of(struct view name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (const char *each = commands[i].names; *each; each += *each == ' ') {
            size_t size = strcspn(each, " ");
            if (is_word(name, each, size))
                return &commands[i];
            each += size;
        }
    return &other;
}

static void put(struct redis *redis, struct view text)
{
    redis->ok = redis->ok && bytes_append_view(redis->out, text) == BYTES_OK;
}

static bool is_option(struct view argument)
{
    return view_eq(argument, VIEW("NX")) || view_eq(argument, VIEW("XX")) ||
           view_eq(argument, VIEW("CH")) || view_eq(argument, VIEW("INCR"));
}

static bool is_value(struct redis *redis, struct view argument)
{
    const struct command *command = redis->command;
    size_t i = redis->arguments;
    bool set = is_word(argument, "SET", 3);
    switch (command->values) {
    case NO_VALUES:
        break;
    case ALL_FROM:
    case ONE:
        return i == command->first;
    case EVERY:
        return i >= command->first && (i - command->first) % command->step == 0;
    case CONFIG_SET:
        redis->mark += i == 0 && set;
        return i == 2 && redis->mark;
    case BITFIELD:
        redis->mark = set && !redis->found ? i : redis->mark;
        if (redis->found || !redis->mark || i - redis->mark != 3)
            return false;
        redis->found = true;
        return true;
    case ZADD:
        if (!redis->mark && i && !is_option(argument))
            redis->mark = i;
        return redis->mark && (i - redis->mark) % 2 == 1;
    }
    return false;
}

static void put_argument(struct redis *redis, struct view argument)
{
    const struct command *command = redis->command;
    if (command->values != ALL_FROM || redis->arguments <= command->first) {
        put(redis, VIEW(" "));
        put(redis, is_value(redis, argument) ? VIEW("?") : argument);
    }
    redis->arguments++;
}

/* A command without a name is dropped when the next one begins. */
static void begin_command(struct redis *redis, struct view name)
{
    if (!redis->named)
        redis->out->size = redis->from;
    else
        put(redis, VIEW("\n"));
    redis->from = redis->out->size;
    redis->named = name.size;
    redis->command = command_of(name);
    redis->arguments = redis->mark = 0;
    redis->found = false;
    put(redis, name);
}

/* Skips blanks. True: to a line's end, which goes too. */
static bool skip_blanks(struct redis *redis)
{
    while (redis->at < redis->end &&
           (*redis->at == ' ' || *redis->at == '\t' || *redis->at == '\r'))
        redis->at++;
    bool line = redis->at < redis->end && *redis->at == '\n';
    redis->at += line;
    return line;
}

/* Reads a command's name. True: arguments follow. */
static bool read_name(struct redis *redis)
{
    if (redis->at < redis->end && *redis->at == ' ')
        (void)skip_blanks(redis);
    const uint8_t *from = redis->at;
    while (redis->at < redis->end && *redis->at != ' ' && *redis->at != '\n')
        redis->at++;
    begin_command(redis, view_between(from, redis->at));
    if (redis->at == redis->end)
        return false;
    return *redis->at++ == ' ' && !skip_blanks(redis);
}

/* Reads an argument. True: another one follows. */
static bool read_argument(struct redis *redis)
{
    const uint8_t *from = redis->at;
    bool quoted = false, escaped = false;
    for (; redis->at < redis->end; redis->at++) {
        uint8_t c = *redis->at;
        if (!quoted && (c == ' ' || c == '\n'))
            break;
        quoted = quoted != (c == '"' && !escaped);
        escaped = c == '\\' && !escaped;
    }
    put_argument(redis, view_between(from, redis->at));
    if (redis->at == redis->end)
        return false;
    return *redis->at++ == ' ' && !skip_blanks(redis);
}

bool statement_redis(struct view text, struct bytes *out)
{
    text = utf8_trim(text);
    if (!text.size)
        return true;
    struct redis redis = {.at = text.data,
                          .end = text.data + text.size,
                          .out = out,
                          .from = out->size,
                          .command = &other,
                          .ok = true};
    do
        for (bool more = read_name(&redis); more && redis.ok;)
            more = read_argument(&redis);
    while (redis.at < redis.end && redis.ok);
    return redis.ok;
}
