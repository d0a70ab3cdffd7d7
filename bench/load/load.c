/* load: see load.h. Prints one JSON object once all of its requests are answered. */

#include "bench/load/load.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_AFTER_NS = 5000000, GIVE_UP_AFTER_S = 60 };

uint64_t load_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void load_die(const char *what)
{
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

void load_failed(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

int load_connect(const struct load *load)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(load->options.host, load->options.port, &hints, &found)) {
        load_die("the host or the port is not known");
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen)) {
        fprintf(stderr, "load: cannot connect to %s:%s: %s\n", load->options.host,
                load->options.port, strerror(errno));
        exit(1);
    }
    freeaddrinfo(found);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

void load_watch(struct load *load, int fd, uint32_t events, void *connection, bool first)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(load->epoll, first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event)) {
        load_die(strerror(errno));
    }
}

static void note_latency(struct tally *tally, uint64_t ns)
{
    if (tally->latency_count % 65536 == 0) {
        size_t bytes = (tally->latency_count + 65536) * sizeof *tally->latencies;
        tally->latencies = realloc(tally->latencies, bytes);
        if (!tally->latencies) {
            abort();
        }
    }
    tally->latencies[tally->latency_count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

void load_answered(struct load *load, struct slot *slot, enum answer answer)
{
    struct tally *tally = &load->tally;
    uint64_t now = load_now();
    if (answer == RETRYABLE) {
        tally->retries++;
        slot->again = now + RETRY_AFTER_NS;
        return;
    }
    if (answer == ACCEPTED) {
        tally->requests++;
        tally->items += slot->body->items;
        tally->id_sum += slot->body->id_sum;
        tally->bytes += slot->body->length;
        note_latency(tally, now - slot->due);
    } else {
        tally->refused++;
    }
    slot->body = NULL;
}

/* Whether another request may start now. Sets due to when it was due, or to when the next one is.
 */
static bool next_due(const struct load *load, uint64_t now, uint64_t *due, bool *over)
{
    const struct load_options *options = &load->options;
    *due = now;
    if (options->rate > 0) {
        *due = load->began + (uint64_t)((double)load->started * 1e9 / options->rate);
    }
    uint64_t end = load->began + (uint64_t)(options->seconds * 1e9);
    *over = (options->requests && load->started >= options->requests) ||
            (options->seconds > 0 && (now >= end || *due >= end));
    return !*over && *due <= now;
}

/* Starts due requests. Returns the time of the next one; 0: all are done. */
static uint64_t start_due(struct load *load)
{
    uint64_t now = load_now();
    uint64_t wake = UINT64_MAX;
    bool busy = false, over = false;
    for (size_t i = 0; i < load->slot_count; i++) {
        struct slot *slot = &load->slots[i];
        uint64_t due = 0;
        if (!slot->body && next_due(load, now, &due, &over)) {
            slot->body = &load->pool.bodies[load->started++ % load->pool.count];
            slot->due = due;
            slot->again = 0;
            load->transport->start(load, slot);
        } else if (slot->body && slot->again && slot->again <= now) {
            slot->again = 0;
            load->transport->start(load, slot);
        }
        busy = busy || slot->body;
        if (slot->body && slot->again && slot->again < wake) {
            wake = slot->again;
        } else if (!slot->body && !over && due < wake) {
            wake = due;
        }
    }
    return busy || !over ? wake : 0;
}

static void run(struct load *load)
{
    load->began = load_now();
    double limit = load->options.seconds + GIVE_UP_AFTER_S;
    for (uint64_t wake; (wake = start_due(load));) {
        uint64_t now = load_now();
        if ((double)(now - load->began) > limit * 1e9) {
            load_die("not all requests were answered in time");
        }
        uint64_t wait = wake > now ? wake - now : 0;
        if (wait > 1000000000U) {
            wait = 1000000000U;
        }
        struct timespec pause = {(time_t)(wait / 1000000000U), (long)(wait % 1000000000U)};
        struct epoll_event events[64];
        int count = epoll_pwait2(load->epoll, events, 64, &pause, NULL);
        for (int i = 0; i < count; i++) {
            load->transport->ready(load, events[i].data.ptr, events[i].events);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct tally *tally, double share)
{
    if (!tally->latency_count) {
        return 0;
    }
    size_t at = (size_t)(share * (double)(tally->latency_count - 1));
    return tally->latencies[at] / 1e3;
}

static void report(struct load *load)
{
    struct tally *t = &load->tally;
    double seconds = (double)(load_now() - load->began) / 1e9;
    qsort(t->latencies, t->latency_count, sizeof *t->latencies, by_value);
    printf("{\"requests\": %lu, \"items\": %lu, \"id_sum\": %lu, \"bytes\": %lu, \"retries\": %lu, "
           "\"refused\": %lu, \"seconds\": %.3f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           t->requests, t->items, t->id_sum, t->bytes, t->retries, t->refused, seconds,
           percentile(t, 0.5), percentile(t, 0.99));
    if (t->refused) {
        fprintf(stderr, "load: %lu requests were refused\n", t->refused);
    }
}

static const char usage[] =
    "usage: load --host H --port P --path PATH --pool FILE [--grpc] [--gzip] [--type MEDIA-TYPE]\n"
    "            [--clients N] [--streams N] [--seconds S] [--requests N] [--rate REQUESTS/S]\n";

static const struct option long_options[] = {
    {"host", 1, NULL, 'h'},    {"port", 1, NULL, 'p'},     {"path", 1, NULL, 'u'},
    {"pool", 1, NULL, 'b'},    {"clients", 1, NULL, 'c'},  {"streams", 1, NULL, 'm'},
    {"seconds", 1, NULL, 's'}, {"requests", 1, NULL, 'n'}, {"rate", 1, NULL, 'r'},
    {"type", 1, NULL, 't'},    {"grpc", 0, NULL, 'g'},     {"gzip", 0, NULL, 'z'},
    {NULL, 0, NULL, 0},
};

static void read_options(struct load *load, int argc, char **argv)
{
    struct load_options *o = &load->options;
    const char *pool = NULL;
    *o = (struct load_options){
        .host = "127.0.0.1", .clients = 4, .streams = 1, .type = "application/x-protobuf"};
    for (int key; (key = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        switch (key) {
        case 'h':
            o->host = optarg;
            break;
        case 'p':
            o->port = optarg;
            break;
        case 'u':
            o->path = optarg;
            break;
        case 'b':
            pool = optarg;
            break;
        case 'c':
            o->clients = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'm':
            o->streams = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 's':
            o->seconds = strtod(optarg, NULL);
            break;
        case 'n':
            o->requests = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            o->rate = strtod(optarg, NULL);
            break;
        case 't':
            o->type = optarg;
            break;
        case 'g':
            o->grpc = true;
            break;
        case 'z':
            o->gzip = true;
            break;
        default:
            fputs(usage, stderr);
            exit(2);
        }
    }
    bool endless = o->seconds <= 0 && !o->requests;
    if (!o->port || !o->path || !pool || !o->clients || !o->streams || endless) {
        fputs(usage, stderr);
        exit(2);
    }
    pool_load(&load->pool, pool);
}

int main(int argc, char **argv)
{
    struct load load = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    read_options(&load, argc, argv);
    signal(SIGPIPE, SIG_IGN); /* write reports a closed connection */
    load.transport = load.options.grpc ? &grpc_transport : &http_transport;
    unsigned each = load.options.grpc ? load.options.streams : 1;
    load.slot_count = (size_t)load.options.clients * each;
    load.slots = calloc(load.slot_count, sizeof *load.slots);
    for (unsigned i = 0; load.slots && i < load.options.clients; i++) {
        load.transport->open(&load, i, load.slots + (size_t)i * each);
    }
    run(&load);
    report(&load);
    return load.tally.refused ? 1 : 0;
}
