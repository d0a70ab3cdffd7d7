/* Draws pipelines, links and cost by route of a running process, from its status extension. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/top_client.h"
#include "cli/top_draw.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ARENA_MAX ((size_t)64 << 20)

enum { EVERY_MS = 1000, COLUMNS = 80, ROWS = 24, LOOKS = 32 };

/* Rates are means of so long: SDKs send every few seconds. */
static const double mean_ns = TOP_MEAN_S * 1e9;

/* One look, with the memory that it lives in; rest: of all but the pipelines. */
struct taken {
    struct arena arena, rest;
    struct top_look look;
};

/* The looks of the last TOP_MEAN_S seconds at one process, the oldest first. */
struct looks {
    struct taken *list[LOOKS];
    size_t count;
};

static void taken_free(struct taken *taken)
{
    arena_release(&taken->arena);
    arena_release(&taken->rest);
    free(taken);
}

/* NULL: client->error says why. */
static struct taken *take(struct top_client *client)
{
    struct taken *taken = calloc(1, sizeof *taken);
    if (!taken) {
        snprintf(client->error, sizeof client->error, "there is not enough memory");
        return NULL;
    }
    arena_init(&taken->arena, ARENA_MAX);
    arena_init(&taken->rest, ARENA_MAX);
    struct top_look *look = &taken->look;
    if ((look->pipelines = top_client_ask(client, "/api/pipelines", "components", &taken->arena)) &&
        (look->services = top_client_ask(client, "/api/services", "services", &taken->rest)) &&
        (look->cost = top_client_ask(client, "/api/cost", "routes", &taken->rest)))
        return taken;
    taken_free(taken);
    return NULL;
}

static double uptime_of(const struct taken *taken)
{
    return top_value_get(taken->look.pipelines, "uptime_ns")->number;
}

static void looks_drop(struct looks *looks)
{
    taken_free(looks->list[0]);
    looks->count--;
    memmove(looks->list, looks->list + 1, looks->count * sizeof looks->list[0]);
}

/* Of the one before, its pipelines are left, for rates. If another process answers than before,
 * nothing adds up over both. */
static void looks_push(struct looks *looks, struct taken *next)
{
    double now = uptime_of(next);
    while (looks->count > 0 && now < uptime_of(looks->list[0]))
        looks_drop(looks);
    while (looks->count == LOOKS ||
           (looks->count > 1 && now - uptime_of(looks->list[1]) >= mean_ns))
        looks_drop(looks);
    if (looks->count > 0) {
        struct taken *last = looks->list[looks->count - 1];
        last->look = (struct top_look){.pipelines = last->look.pipelines};
        arena_release(&last->rest);
        arena_init(&last->rest, ARENA_MAX);
    }
    looks->list[looks->count++] = next;
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

/* missed: why there was no answer since now; NULL: there was. */
static void draw(const struct taken *now, const struct taken *before, bool terminal,
                 const char *missed)
{
    static const struct top_look nothing;
    struct top_screen screen = screen_of(terminal);
    screen.missed = missed;
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

static void tell_failure(const struct top_client *client)
{
    bool refused = strstr(client->error, "connection refused");
    fprintf(stderr, "spanlink: top: %s%s\n", client->error,
            refused ? "; is spanlink running, with the extension status in service.extensions?"
                    : "");
}

/* Once there was an answer, waits for the next as long as it takes. */
static bool watch_on(struct top_client *client)
{
    struct looks looks = {.count = 0};
    struct taken *now = take(client);
    bool good = now;
    if (!good)
        tell_failure(client);
    for (bool missed = false; good;) {
        if (!missed)
            looks_push(&looks, now);
        const struct taken *last = looks.list[looks.count - 1];
        draw(last, looks.count > 1 ? looks.list[0] : NULL, true, missed ? client->error : NULL);
        if (!wait_for_key())
            break;
        now = take(client);
        missed = !now;
    }
    while (looks.count > 0)
        looks_drop(&looks);
    return good;
}

/* Keys come at once and unseen; Ctrl-C comes as one, so that the terminal is put right. */
static bool on_terminal(struct top_client *client)
{
    struct termios was, raw;
    bool known = tcgetattr(STDIN_FILENO, &was) == 0;
    struct sigaction resized = {.sa_handler = noticed};
    sigaction(SIGWINCH, &resized, NULL);
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    if (known)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    bool good = watch_on(client);
    if (known)
        tcsetattr(STDIN_FILENO, TCSANOW, &was);
    return good;
}

static bool once(struct top_client *client)
{
    struct taken *taken = take(client);
    if (taken)
        draw(taken, NULL, false, NULL);
    else
        tell_failure(client);
    bool good = taken;
    if (good)
        taken_free(taken);
    return good;
}

int top_command(const struct flags *flags)
{
    struct top_client client;
    bool good = top_client_open(&client, flags) &&
                (flags->once || !isatty(STDOUT_FILENO) ? once(&client) : on_terminal(&client));
    top_client_close(&client);
    return good ? EXIT_OK : EXIT_CONFIG;
}
