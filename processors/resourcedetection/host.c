/* What the detector system finds of the host besides its name. */
#include "processors/resourcedetection/detect.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

enum { LINE_SIZE = 1024, TEXT_SIZE = 1024 };

/* ---- files of key=value or key: value ---- */

/* The value of a key, without quotes and space around it. False: the file has none. */
static bool value_in(const char *path, const char *key, char between, char out[TEXT_SIZE])
{
    char line[LINE_SIZE];
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *mark = strchr(line, between);
        size_t size = mark ? (size_t)(mark - line) : 0;
        while (size > 0 && strchr(" \t", line[size - 1]))
            size--;
        if (size != strlen(key) || memcmp(line, key, size) != 0)
            continue;
        mark += 1 + strspn(mark + 1, " \t\"'");
        size = strcspn(mark, "\n");
        while (size > 0 && strchr(" \t\"'", mark[size - 1]))
            size--;
        found = size > 0;
        snprintf(out, TEXT_SIZE, "%.*s", (int)size, mark);
    }
    if (file)
        fclose(file);
    return found;
}

static bool os_release(const char *key, char out[TEXT_SIZE])
{
    return value_in("/etc/os-release", key, '=', out) ||
           value_in("/usr/lib/os-release", key, '=', out);
}

/* ---- the system ---- */

/* "Debian GNU/Linux 12 (bookworm) (Linux node-1 6.1.0 #1 SMP x86_64)" */
static void put_description(struct attributes *found, const struct utsname *machine)
{
    char release[TEXT_SIZE] = "", name[TEXT_SIZE] = "Linux", version[TEXT_SIZE],
         text[3 * TEXT_SIZE];
    if (!os_release("PRETTY_NAME", release)) {
        (void)os_release("NAME", name);
        snprintf(text, sizeof text, "%s%s%s", name, os_release("VERSION", version) ? " " : "",
                 os_release("VERSION", version) ? version : "");
        snprintf(release, sizeof release, "%.*s", TEXT_SIZE - 1, text);
    }
    snprintf(text, sizeof text, "%s (%s %s %s %s %s)", release, machine->sysname, machine->nodename,
             machine->release, machine->version, machine->machine);
    detect_set(found, "os.description", text);
}

static void put_os(struct attributes *found, const struct detect_system *wanted)
{
    char id[TEXT_SIZE] = "linux", text[TEXT_SIZE] = "";
    struct utsname machine;
    if (uname(&machine) != 0)
        return;
    (void)os_release("ID", id);
    if (wanted->os_description)
        put_description(found, &machine);
    if (wanted->os_name)
        detect_set(found, "os.name",
                   strcmp(id, "rhel") == 0   ? "redhat"
                   : strcmp(id, "amzn") == 0 ? "amazon"
                                             : id);
    if (wanted->os_build_id)
        detect_set(found, "os.build.id", os_release("BUILD_ID", text) ? text : machine.release);
    const char *file = strcmp(id, "debian") == 0   ? "/etc/debian_version"
                       : strcmp(id, "alpine") == 0 ? "/etc/alpine-release"
                                                   : NULL;
    if (wanted->os_version &&
        ((file && detect_first_line(file, text, sizeof text)) || os_release("VERSION_ID", text)))
        detect_set(found, "os.version", text);
}

static void put_cpu(struct attributes *found, const struct detect_system *wanted)
{
    static const char file[] = "/proc/cpuinfo";
    const struct {
        bool wanted;
        const char *name, *key;
    } texts[] = {
        {wanted->cpu_vendor, "vendor_id", "host.cpu.vendor.id"},
        {wanted->cpu_family, "cpu family", "host.cpu.family"},
        {wanted->cpu_model, "model", "host.cpu.model.id"},
        {wanted->cpu_name, "model name", "host.cpu.model.name"},
        {wanted->cpu_stepping, "stepping", "host.cpu.stepping"},
    };
    char text[TEXT_SIZE];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].wanted && value_in(file, texts[i].name, ':', text))
            detect_set(found, texts[i].key, text);
    struct value size = value_int(0);
    if (wanted->cpu_cache && value_in(file, "cache size", ':', text)) {
        size.integer = strtoll(text, NULL, 10); /* "512 KB" */
        attributes_set(found, VIEW("host.cpu.cache.l2.size"), &size);
    }
}

/* ---- addresses ---- */

/* Sets a list of texts, whose bytes are released. */
static void set_list(struct attributes *found, struct view key, struct bytes *texts)
{
    uint8_t *kept = arena_array_raw(found->arena, texts->size + 1, 1);
    found->failed = found->failed || !kept;
    if (kept) {
        struct value list = {.kind = VALUE_LIST, .bytes = {kept, texts->size}};
        if (texts->size)
            memcpy(kept, texts->data, texts->size);
        attributes_set(found, key, &list);
    }
    bytes_release(texts);
}

static void append(struct bytes *list, const char *text)
{
    struct value value = value_string(view_of(text));
    (void)value_append(list, &value);
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static void append_address(struct bytes *ips, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN];
    const void *from =
        address->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
            : &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!is_loopback(address) && inet_ntop(address->sa_family, from, text, sizeof text))
        append(ips, text);
}

/* AC-DE-48-00-11-22, as IEEE RA writes it; empty where there is none. */
static void append_mac(struct bytes *macs, const struct sockaddr *address)
{
    const struct sockaddr_ll *link = (const void *)address;
    char text[3 * sizeof link->sll_addr + 1] = "";
    for (size_t i = 0, at = 0; i < link->sll_halen && i < sizeof link->sll_addr; i++)
        at +=
            (size_t)snprintf(text + at, sizeof text - at, i ? "-%02X" : "%02X", link->sll_addr[i]);
    append(macs, text);
}

/* Those of interfaces that are up, and are no loopback. */
static void put_addresses(struct attributes *found, const struct detect_system *wanted)
{
    struct ifaddrs *all = NULL;
    struct if_nameindex *names = if_nameindex();
    struct bytes ips, macs, interfaces;
    bytes_init(&ips, 65536, NULL);
    bytes_init(&macs, 65536, NULL);
    bytes_init(&interfaces, 65536, NULL);
    if (getifaddrs(&all) != 0)
        all = NULL;
    for (const struct if_nameindex *name = names; name && name->if_index; name++) {
        append(&interfaces, name->if_name);
        for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
            if (!at->ifa_addr || strcmp(at->ifa_name, name->if_name) != 0 ||
                !(at->ifa_flags & IFF_UP) || (at->ifa_flags & IFF_LOOPBACK))
                continue;
            if (at->ifa_addr->sa_family == AF_PACKET)
                append_mac(&macs, at->ifa_addr);
            else if (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6)
                append_address(&ips, at->ifa_addr);
        }
    }
    if (names)
        if_freenameindex(names);
    if (all)
        freeifaddrs(all);
    if (wanted->host_ip)
        set_list(found, VIEW("host.ip"), &ips);
    if (wanted->host_mac)
        set_list(found, VIEW("host.mac"), &macs);
    if (wanted->host_interface)
        set_list(found, VIEW("host.interface"), &interfaces);
    bytes_release(&ips);
    bytes_release(&macs);
    bytes_release(&interfaces);
}

void detect_host(const struct detect_system *wanted, struct attributes *found)
{
    put_os(found, wanted);
    put_cpu(found, wanted);
    if (wanted->host_ip || wanted->host_mac || wanted->host_interface)
        put_addresses(found, wanted);
}
