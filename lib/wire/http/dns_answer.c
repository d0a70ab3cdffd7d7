#include "lib/wire/http/dns_answer.h"

enum { HEADER = 12, TYPE_SRV = 33, CLASS_IN = 1, MAX_JUMPS = 64 };

static unsigned read16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static bool dns_answer_has(const struct dns_answer *answer, size_t at, size_t size)
{
    return at <= answer->message.size && answer->message.size - at >= size;
}

static bool printable(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f || strchr("./\\@[]:%?#", text[i]))
            return false;
    return true;
}

/* Reads a name into out, following pointers. Returns the offset after it; 0: malformed. */
static size_t read_name(const struct dns_answer *answer, size_t at, char out[DNS_NAME_SIZE])
{
    const uint8_t *data = answer->message.data;
    size_t behind = 0, length = 0;
    for (unsigned jumps = 0; dns_answer_has(answer, at, 1);) {
        size_t size = data[at];
        if (size == 0) {
            out[length ? length - 1 : 0] = '\0';
            return behind ? behind : at + 1;
        }
        if ((size & 0xc0) == 0xc0) {
            if (!dns_answer_has(answer, at, 2) || ++jumps > MAX_JUMPS)
                return 0;
            behind = behind ? behind : at + 2;
            at = read16(data + at) & 0x3fff;
            continue;
        }
        if (size > 63 || !dns_answer_has(answer, at + 1, size) ||
            length + size + 1 >= DNS_NAME_SIZE || !printable(data + at + 1, size))
            return 0;
        memcpy(out + length, data + at + 1, size);
        length += size;
        out[length++] = '.';
        at += 1 + size;
    }
    return 0;
}

struct dns_answer dns_answer_begin(struct view message)
{
    struct dns_answer answer = {.message = message, .at = HEADER};
    char name[DNS_NAME_SIZE];
    answer.bad = message.size < HEADER;
    unsigned questions = answer.bad ? 0 : read16(message.data + 4);
    answer.left = answer.bad ? 0 : read16(message.data + 6);
    for (; questions > 0 && !answer.bad; questions--) {
        size_t behind = read_name(&answer, answer.at, name);
        answer.bad = !behind || !dns_answer_has(&answer, behind, 4);
        answer.at = behind + 4;
    }
    return answer;
}

/* Reads one record; *found: it is an SRV record. False: malformed. */
static bool read_record(struct dns_answer *answer, struct dns_srv *srv, bool *found)
{
    const uint8_t *data = answer->message.data;
    char name[DNS_NAME_SIZE];
    size_t at = read_name(answer, answer->at, name);
    if (!at || !dns_answer_has(answer, at, 10))
        return false;
    unsigned type = read16(data + at), class = read16(data + at + 2);
    size_t size = read16(data + at + 8);
    at += 10;
    if (!dns_answer_has(answer, at, size))
        return false;
    answer->at = at + size;
    *found = type == TYPE_SRV && class == CLASS_IN;
    if (!*found)
        return true;
    if (size < 7 || read_name(answer, at + 6, srv->host) != at + size)
        return false;
    srv->priority = read16(data + at);
    srv->weight = read16(data + at + 2);
    srv->port = read16(data + at + 4);
    return true;
}

bool dns_answer_next(struct dns_answer *answer, struct dns_srv *srv)
{
    bool found = false;
    while (!answer->bad && !found && answer->left > 0) {
        answer->left--;
        answer->bad = !read_record(answer, srv, &found);
    }
    return found && !answer->bad;
}
