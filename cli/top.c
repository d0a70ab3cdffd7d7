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
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ARENA_MAX ((size_t)64 << 20)

enum { EVERY_MS = 1000, COLUMNS = 80, ROWS = 24 };

/* One look, with the memory that it lives in. */
struct taken {
    struct arena arena;
    struct top_look look;
};

/* NULL: client->error says why. */
static struct taken *take(struct top_client *client)
{
    struct taken *taken = calloc(1, sizeof *taken);
    if (!taken) {
        snprintf(client->error, sizeof client->error, "there is not enough memory");
        return NULL;
    }
    arena_init(&taken->arena, ARENA_MAX);
    struct top_look *look = &taken->look;
    if ((look->pipelines = top_client_ask(client, "/api/pipelines", "components", &taken->arena)) &&
        (look->services = top_client_ask(client, "/api/services", "services", &taken->arena)) &&
        (look->cost = top_client_ask(client, "/api/cost", "routes", &taken->arena)))
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

/* Whether another process answers than before: nothing adds up over both. */
static bool has_restarted(const struct taken *before, const struct taken *now)
{
    return top_value_get(now->look.pipelines, "uptime_ns")->number <
           top_value_get(before->look.pipelines, "uptime_ns")->number;
}

/* Once there was an answer, waits for the next as long as it takes. */
static bool watch_on(struct top_client *client)
{
    struct taken *before = NULL, *now = take(client);
    bool good = now;
    if (!good)
        fprintf(stderr, "spanlink: top: %s\n", client->error);
    for (bool missed = false; good;) {
        draw(now, before, true, missed ? client->error : NULL);
        if (!wait_for_key())
            break;
        struct taken *next = take(client);
        missed = !next;
        if (missed)
            continue;
        taken_free(before);
        before = now;
        now = next;
        if (has_restarted(before, now)) {
            taken_free(before);
            before = NULL;
        }
    }
    taken_free(before);
    taken_free(now);
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
        fprintf(stderr, "spanlink: top: %s\n", client->error);
    taken_free(taken);
    return taken;
}

int top_command(const struct flags *flags)
{
    struct top_client client;
    bool good = top_client_open(&client, flags) &&
                (flags->once || !isatty(STDOUT_FILENO) ? once(&client) : on_terminal(&client));
    top_client_close(&client);
    return good ? EXIT_OK : EXIT_CONFIG;
}
