/* Draws what the extension status of a running process tells: pipelines, links, cost by route. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/top_draw.h"
#include "lib/base/clock.h"
#include "lib/net/endpoint.h"
#include "lib/net/http/http_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define TIMEOUT_NS (5 * NS_PER_S)
#define ARENA_MAX  ((size_t)64 << 20)

enum { EVERY_MS = 1000, MAX_REPLY = 16 << 20, URL_SIZE = 640, COLUMNS = 80, ROWS = 24 };

static const char default_endpoint[] = "localhost:13134";

struct top {
    struct http_client *client;
    char url[URL_SIZE]; /* without a path */
};

/* One look, with the memory that it lives in. */
struct taken {
    struct arena arena;
    struct top_look look;
};

static bool complain(const char *what, const char *detail)
{
    fprintf(stderr, "spanlink: top: %s%s\n", what, detail);
    return false;
}

static bool top_open(struct top *top, const char *endpoint)
{
    struct http_client_options options = {
        .timeout_ns = TIMEOUT_NS,
        .tls = {.insecure_skip_verify = true},
        .max_reply = MAX_REPLY,
    };
    char error[256];
    if (strncasecmp(endpoint, "http://", 7) == 0 || strncasecmp(endpoint, "https://", 8) == 0) {
        snprintf(top->url, sizeof top->url, "%s", endpoint);
    } else if (strncmp(endpoint, "unix:", 5) == 0) {
        options.unix_path = endpoint + 5;
        snprintf(top->url, sizeof top->url, "http://localhost");
    } else {
        snprintf(top->url, sizeof top->url, "http://%s", endpoint);
    }
    size_t size = strlen(top->url);
    if (size && top->url[size - 1] == '/')
        top->url[size - 1] = '\0';
    top->client = http_client_new(&options, error, sizeof error);
    return top->client || complain("", error);
}

static const struct top_value *ask(struct top *top, const char *path, struct arena *arena)
{
    char url[URL_SIZE + 64];
    struct http_reply reply;
    const struct top_value *value = NULL;
    snprintf(url, sizeof url, "%s%s", top->url, path);
    http_client_get(top->client, url, NULL, 0, &reply);
    struct view body = bytes_view(&reply.body);
    if (reply.status == 0)
        complain("", reply.error);
    else if (reply.status != 200)
        fprintf(stderr, "spanlink: top: %s: HTTP %ld: is the extension status there?\n", url,
                reply.status);
    else if (!(value = top_value_read(body, arena)))
        complain("not the API of spanlink: ", url);
    http_reply_release(&reply);
    return value;
}

/* NULL: it was said why. */
static struct taken *take(struct top *top)
{
    struct taken *taken = calloc(1, sizeof *taken);
    if (!taken)
        return NULL;
    arena_init(&taken->arena, ARENA_MAX);
    struct top_look *look = &taken->look;
    if ((look->pipelines = ask(top, "/api/pipelines", &taken->arena)) &&
        (look->services = ask(top, "/api/services", &taken->arena)) &&
        (look->cost = ask(top, "/api/cost", &taken->arena)))
        return taken;
    arena_release(&taken->arena);
    free(taken);
    return NULL;
}

static void taken_free(struct taken *taken)
{
    if (taken)
        arena_release(&taken->arena);
    free(taken);
}

static struct top_screen screen_of(bool terminal)
{
    struct top_screen screen = {.columns = COLUMNS, .rows = terminal ? ROWS - 1 : 0};
    const char *no_color = getenv("NO_COLOR");
    struct winsize size;
    screen.styled = terminal && !(no_color && *no_color);
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        screen.columns = size.ws_col;
        screen.rows = size.ws_row > 1 ? size.ws_row - 1u : 1;
    }
    if (!terminal)
        screen.columns = 200;
    return screen;
}

static void draw(const struct taken *now, const struct taken *before, bool terminal)
{
    static const struct top_look nothing;
    struct top_screen screen = screen_of(terminal);
    struct bytes out;
    bytes_init(&out, 1 << 20, NULL);
    top_draw(&now->look, before ? &before->look : &nothing, &screen, &out);
    if (terminal)
        fputs("\033[H\033[J", stdout);
    fwrite(out.data, 1, out.size, stdout);
    fflush(stdout);
    bytes_release(&out);
}

static void noticed(int number)
{
    (void)number;
}

/* Until a key is pressed that ends it; a changed size of the terminal cuts the wait short. */
static bool wait_for_key(void)
{
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    int n = poll(&keys, isatty(STDIN_FILENO) ? 1 : 0, EVERY_MS);
    if (n > 0 && read(STDIN_FILENO, &key, 1) <= 0)
        return false;
    return (n >= 0 || errno == EINTR) && key != 'q' && key != 'Q' && key != 3;
}

static bool watch_on(struct top *top)
{
    struct taken *before = NULL, *now = NULL;
    while ((now = take(top))) {
        draw(now, before, true);
        taken_free(before);
        before = now;
        if (!wait_for_key())
            break;
    }
    taken_free(before);
    return now != NULL;
}

/* Keys come at once and unseen; Ctrl-C comes as one, so that the terminal is put right. */
static bool on_terminal(struct top *top)
{
    struct termios was, raw;
    bool known = tcgetattr(STDIN_FILENO, &was) == 0;
    struct sigaction resized = {.sa_handler = noticed};
    sigaction(SIGWINCH, &resized, NULL);
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    if (known)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    bool good = watch_on(top);
    if (known)
        tcsetattr(STDIN_FILENO, TCSANOW, &was);
    return good;
}

static bool once(struct top *top)
{
    struct taken *taken = take(top);
    if (taken)
        draw(taken, NULL, false);
    taken_free(taken);
    return taken;
}

int top_command(const struct flags *flags)
{
    struct top top;
    if (!top_open(&top, flags->endpoint ? flags->endpoint : default_endpoint))
        return EXIT_CONFIG;
    bool good = flags->once || !isatty(STDOUT_FILENO) ? once(&top) : on_terminal(&top);
    http_client_free(top.client);
    return good ? EXIT_OK : EXIT_CONFIG;
}
