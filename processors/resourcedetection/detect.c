#include "processors/resourcedetection/detect.h"

#include "lib/wire/proto/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { PART_MAX = 256, LINE_MAX_SIZE = 1024, NAME_SIZE = 256 };

static void put(struct attributes *found, const char *key, const char *text)
{
    struct value value;
    char *kept_key = arena_text(found->arena, view_of(key));
    char *kept = arena_text(found->arena, view_of(text));
    found->failed = found->failed || !kept || !kept_key;
    if (found->failed)
        return;
    value = value_string(view_of(kept));
    attributes_set(found, view_of(kept_key), &value);
}

void detect_set(struct attributes *found, const char *key, const char *text)
{
    if (!attributes_find(found, view_of(key)))
        put(found, key, text);
}

/* ---- env ---- */

/* %41 to A and + to a space. False: a % without two hex digits. */
static bool unescaped(struct view text, char out[PART_MAX + 1])
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = (char)text.data[i];
        if (c == '%') {
            int high = i + 2 < text.size ? text_hex_digit(text.data[i + 1]) : -1;
            int low = i + 2 < text.size ? text_hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        out[size++] = c == '+' && text.data[i] == '+' ? ' ' : c;
    }
    out[size] = '\0';
    return true;
}

static bool read_pair(struct view pair, struct attributes *found, char *error, size_t error_size)
{
    char key[PART_MAX + 1], value[PART_MAX + 1];
    const uint8_t *equals = memchr(pair.data, '=', pair.size);
    snprintf(error, error_size,
             "OTEL_RESOURCE_ATTRIBUTES: expected key=value pairs, found \"%.*s\"",
             (int)(pair.size < 60 ? pair.size : 60), pair.data);
    if (!equals)
        return false;
    struct view name = view_trim(view_between(pair.data, equals), VIEW_SPACE);
    struct view text = view_trim(view_between(equals + 1, pair.data + pair.size), VIEW_SPACE);
    if (!name.size || name.size > PART_MAX || text.size > PART_MAX || !unescaped(text, value))
        return false;
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(name));
    put(found, key, value); /* the last pair of a key counts */
    return true;
}

bool detect_env(struct attributes *found, char *error, size_t error_size)
{
    const char *text = getenv("OTEL_RESOURCE_ATTRIBUTES");
    struct view rest = view_trim(view_of(text ? text : ""), VIEW_SPACE);
    if (!rest.size)
        rest = view_trim(view_of(getenv("OTEL_RESOURCE")), VIEW_SPACE);
    while (rest.size) {
        const uint8_t *comma = memchr(rest.data, ',', rest.size);
        const uint8_t *end = rest.data + rest.size;
        if (!read_pair(view_between(rest.data, comma ? comma : end), found, error, error_size))
            return false;
        rest = view_between(comma ? comma + 1 : end, end);
    }
    return true;
}

/* ---- k8s ---- */

void detect_k8s(struct attributes *found)
{
    static const struct {
        const char *key, *variables[3];
    } known[] = {
        {"k8s.pod.name", {"K8S_POD_NAME", "POD_NAME", NULL}},
        {"k8s.pod.uid", {"K8S_POD_UID", "POD_UID", NULL}},
        {"k8s.pod.ip", {"K8S_POD_IP", "POD_IP", NULL}},
        {"k8s.namespace.name", {"K8S_NAMESPACE_NAME", "POD_NAMESPACE", NULL}},
        {"k8s.node.name", {"K8S_NODE_NAME", "NODE_NAME", NULL}},
        {"k8s.container.name", {"K8S_CONTAINER_NAME", NULL, NULL}},
        {"k8s.deployment.name", {"K8S_DEPLOYMENT_NAME", NULL, NULL}},
        {"k8s.statefulset.name", {"K8S_STATEFULSET_NAME", NULL, NULL}},
        {"k8s.daemonset.name", {"K8S_DAEMONSET_NAME", NULL, NULL}},
        {"k8s.cluster.name", {"K8S_CLUSTER_NAME", NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t k = 0; known[i].variables[k]; k++) {
            const char *text = getenv(known[i].variables[k]);
            if (text && *text)
                detect_set(found, known[i].key, text);
        }
}

/* ---- system ---- */

/* The address and the first name of the first line of /etc/hosts that has a word: a name, or, if
 * by_address, an address. False: none has it. */
static bool hosts_line(const char *word, bool by_address, char address[NAME_SIZE],
                       char first[NAME_SIZE])
{
    char line[LINE_MAX_SIZE], *state;
    FILE *file = fopen("/etc/hosts", "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        char *number = strtok_r(line, " \t", &state);
        char *name = number ? strtok_r(NULL, " \t", &state) : NULL;
        if (!name)
            continue;
        snprintf(address, NAME_SIZE, "%s", number);
        snprintf(first, NAME_SIZE, "%s", name);
        found = by_address && strcmp(number, word) == 0;
        for (; name && !by_address && !found; name = strtok_r(NULL, " \t", &state))
            found = strcmp(name, word) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

/* The first name in the line that has the host's; if by_address, in the first with that address. */
static bool canonical_name(const char *host, bool by_address, char out[NAME_SIZE])
{
    char address[NAME_SIZE], same[NAME_SIZE];
    return hosts_line(host, false, address, out) &&
           (!by_address || hosts_line(address, true, same, out));
}

bool detect_first_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    if (read)
        out[strcspn(out, "\r\n")] = '\0';
    return read && *out;
}

static const char *arch_of(const char *machine)
{
    static const char *const names[][2] = {
        {"x86_64", "amd64"},  {"aarch64", "arm64"}, {"i686", "x86"},
        {"i386", "x86"},      {"armv7l", "arm32"},  {"armv6l", "arm32"},
        {"ppc64le", "ppc64"}, {"ppc64", "ppc64"},   {"s390x", "s390x"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(machine, names[i][0]) == 0)
            return names[i][1];
    return machine;
}

/* The first source that has a name counts. dns falls back on the host's own, as the Collector's. */
static bool named_by(const struct key_list *sources, const char *host, char out[NAME_SIZE])
{
    for (size_t i = 0; i < sources->count; i++) {
        const char *source = sources->items[i];
        if (strcmp(source, "os") != 0 && canonical_name(host, strcmp(source, "lookup") == 0, out))
            return true;
        if (strcmp(source, "os") == 0 || strcmp(source, "dns") == 0) {
            snprintf(out, NAME_SIZE, "%s", host);
            return true;
        }
    }
    return false;
}

bool detect_system(const struct detect_system *wanted, struct attributes *found, char *error,
                   size_t error_size)
{
    char host[NAME_SIZE] = "", canonical[NAME_SIZE] = "", id[128];
    struct utsname machine;
    if (gethostname(host, sizeof host - 1) != 0 || uname(&machine) != 0) {
        snprintf(error, error_size, "cannot read the host name");
        return false;
    }
    if (!named_by(wanted->sources, host, canonical)) {
        snprintf(error, error_size, "no source has a name of the host");
        return false;
    }
    if (wanted->host_name)
        detect_set(found, "host.name", canonical);
    if (wanted->os_type)
        detect_set(found, "os.type", "linux");
    if (wanted->host_arch)
        detect_set(found, "host.arch", arch_of(machine.machine));
    if (wanted->host_id && (detect_first_line("/etc/machine-id", id, sizeof id) ||
                            detect_first_line("/var/lib/dbus/machine-id", id, sizeof id)))
        detect_set(found, "host.id", id);
    detect_host(wanted, found);
    return true;
}
