/* The command run (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/plan.h"
#include "cli/second_signal.h"
#include "cli/service_manager.h"
#include "cli/watch.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { REPORT_MAX = 1 << 20, WATCH_PERIOD_S = 1 };

/* Before any thread starts: all inherit the mask, and signals wait for sigwaitinfo. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Logs line by line, at any level: somebody asked for them. */
static void write_lines(struct bytes *text, enum log_level level)
{
    if (bytes_append(text, "", 1) != BYTES_OK)
        return;
    char *rest = (char *)text->data;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            log_answer(level, "%s", line);
}

static void explain(struct runtime *runtime)
{
    struct bytes text;
    bytes_init(&text, REPORT_MAX, NULL);
    runtime_explain(runtime, &text);
    write_lines(&text, LOG_INFO);
    bytes_release(&text);
}

/* Returns the next signal; with --watch, 0 when it is time to check the files first. */
static int next_signal(const sigset_t *set, bool watches)
{
    const struct timespec period = {.tv_sec = WATCH_PERIOD_S};
    siginfo_t info;
    int number = watches ? sigtimedwait(set, &info, &period) : sigwaitinfo(set, &info);
    return number < 0 ? 0 : number;
}

/* A file that changes while it is read counts as changed. */
static void reload(struct plan *plan, const struct flags *flags, struct watch *watch)
{
    struct settings_files before = plan->files;
    plan->files = (struct settings_files){0};
    watch_take(watch, &before);
    service_manager_reloading();
    plan_reload(plan, flags);
    service_manager_ready();
    if (watch_same(watch, &before))
        watch_take(watch, &plan->files);
    settings_files_release(&before);
}

/* Returns the signal that ends the process. */
static int wait_for_end(const sigset_t *set, struct plan *plan, const struct flags *flags,
                        struct watch *watch)
{
    for (;;) {
        int number = next_signal(set, flags->watch);
        if (number == SIGINT || number == SIGTERM)
            return number;
        if (number == SIGUSR1)
            explain(plan->runtime);
        bool changed = flags->watch && number == 0 && watch_changed(watch, &plan->files);
        if (number == SIGHUP) {
            runtime_reopen_log(plan->runtime);
            log_info("SIGHUP: reloading the configuration");
        } else if (changed)
            log_info("a file has changed: reloading the configuration");
        if (number == SIGHUP || changed)
            reload(plan, flags, watch);
    }
}

/* Clients that send at their own end need a receiver: a sidecar gets its SIGTERM together with the
 * application. */
static void linger(struct runtime *runtime, const sigset_t *set)
{
    uint64_t now, until = clock_mono(&clock_system), delay = runtime_leave(runtime);
    if (delay == 0)
        return;
    log_info("everything is still accepted for %" PRIu64 " s (service.shutdown_delay); another "
             "signal ends this delay",
             (delay + NS_PER_S - 1) / NS_PER_S);
    until = delay < UINT64_MAX - until ? until + delay : UINT64_MAX;
    while ((now = clock_mono(&clock_system)) < until) {
        const struct timespec rest = {.tv_sec = (time_t)((until - now) / NS_PER_S),
                                      .tv_nsec = (long)((until - now) % NS_PER_S)};
        int number = sigtimedwait(set, NULL, &rest);
        if (number == SIGINT || number == SIGTERM)
            return;
        if (number == SIGUSR1)
            explain(runtime);
        if (number != SIGHUP)
            continue;
        runtime_reopen_log(runtime);
        log_info("SIGHUP: not reloaded, because the process is stopping");
    }
}

static int stop(struct runtime *runtime)
{
    struct second_signal second;
    struct bytes report;
    bytes_init(&report, REPORT_MAX, NULL);
    second_signal_start(&second);
    uint64_t lost = runtime_stop(runtime, &second.hurry, &report);
    second_signal_stop(&second);
    if (lost || log_enabled(LOG_INFO))
        write_lines(&report, lost ? LOG_ERROR : LOG_INFO);
    if (lost)
        log_error("stopped; %" PRIu64 " item%s acknowledged but not delivered", lost,
                  lost == 1 ? " was" : "s were");
    else
        log_info("stopped; nothing that was acknowledged was lost");
    bytes_release(&report);
    return lost ? EXIT_LOST : EXIT_OK;
}

/* Signals are blocked, and wait. */
static int pending_stop(void)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1  ? SIGTERM
           : sigismember(&pending, SIGINT) == 1 ? SIGINT
                                                : 0;
}

static bool stop_is_asked(void)
{
    return pending_stop() != 0;
}

/* Why it is not ready yet is in a line of the component's own, and in its health check. */
static void say_ready(struct runtime *runtime)
{
    struct bytes why;
    bytes_init(&why, REPORT_MAX, NULL);
    bool ready = !runtime_trouble(runtime, &why);
    log_info("spanlink " SPANLINK_VERSION " is %s", ready ? "ready" : "running, and not ready yet");
    bytes_release(&why);
}

static int serve(struct plan *plan, const struct flags *flags, const sigset_t *signals)
{
    struct runtime *runtime = plan->runtime;
    struct problems problems = {0};
    struct watch watch;
    watch_take(&watch, &plan->files);
    runtime_interrupt(runtime, stop_is_asked);
    bool started = runtime_start(runtime, &problems), faulty = problems.count > 0;
    plan_print_problems(&problems);
    problems_release(&problems);
    if (!started && !faulty)
        log_info("%s: stopped before it was ready",
                 pending_stop() == SIGINT ? "SIGINT" : "SIGTERM");
    if (!started)
        return faulty ? EXIT_CONFIG : EXIT_OK;
    say_ready(runtime);
    service_manager_ready();
    int number = wait_for_end(signals, plan, flags, &watch);
    log_info("%s: stopping", number == SIGINT ? "SIGINT" : "SIGTERM");
    service_manager_stopping();
    linger(runtime, signals);
    return stop(runtime);
}

int run_command(const struct flags *flags)
{
    sigset_t signals;
    struct plan plan;
    heap_tune();
    block_signals(&signals);
    int code = plan_make(&plan, flags, false) ? serve(&plan, flags, &signals) : EXIT_CONFIG;
    plan_release(&plan);
    return code;
}
