#include "tests/cli/ran.h"

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct child start(const char *path, const char *level)
{
    char set[80];
    snprintf(set, sizeof set, "service.telemetry.logs.level=%s", level);
    return child_start(WORDS("--config", path, "--set", set));
}

static void ends_well_on(int number)
{
    char path[64];
    struct child child = start(ran_file(ran_config, path), "info");
    ck_assert(child_says(&child, " is ready"));
    kill(child.pid, number);
    ck_assert(child_says(&child, "stopped; nothing that was acknowledged was lost"));
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    unlink(path);
}

START_TEST(it_runs_until_a_signal_and_exits_well)
{
    ends_well_on(SIGTERM);
    ends_well_on(SIGINT);
}
END_TEST

START_TEST(usr1_explains_and_hup_reloads)
{
    char path[64];
    struct child child = start(ran_file(ran_config, path), "info");
    ck_assert(child_says(&child, " is ready"));
    kill(child.pid, SIGHUP);
    ck_assert(child_says(&child, "reloaded: nothing has changed"));
    FILE *file = fopen(path, "w");
    fclose(file);
    kill(child.pid, SIGHUP);
    ck_assert(child_says(&child, "no receiver configuration specified"));
    ck_assert(child_says(&child, "the previous configuration stays in force"));
    kill(child.pid, SIGUSR1);
    ck_assert(child_says(&child, "debug"));
    kill(child.pid, SIGPIPE);
    kill(child.pid, SIGTERM);
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    unlink(path);
}
END_TEST

START_TEST(a_second_signal_ends_the_delay_and_the_stop_is_an_ordinary_one)
{
    char path[64];
    ran_file(ran_config, path);
    struct child child = child_start(WORDS("--config", path, "--set", "service.shutdown_delay=1h"));
    ck_assert(child_says(&child, " is ready"));
    kill(child.pid, SIGTERM);
    ck_assert(child_says(&child, "everything is still accepted for 3600 s"));
    kill(child.pid, SIGHUP);
    ck_assert(child_says(&child, "SIGHUP: not reloaded"));
    kill(child.pid, SIGTERM);
    ck_assert(child_says(&child, "stopped; nothing that was acknowledged was lost"));
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    unlink(path);
}
END_TEST

/* Waits until something listens; by then the signals are blocked. */
static void await_listener(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        sched_yield();
    close(fd);
}

START_TEST(at_level_error_health_is_silent)
{
    char path[64], socket_path[80], set[200], line[256];
    ran_file(ran_config, path);
    snprintf(socket_path, sizeof socket_path, "%s.sock", path);
    snprintf(set, sizeof set, "receivers.otlp.protocols.http.endpoint=unix:%s", socket_path);
    struct child child = child_start(
        WORDS("--config", path, "--set", set, "--set", "service.telemetry.logs.level=error"));
    await_listener(socket_path);
    kill(child.pid, SIGTERM);
    ck_assert_msg(!fgets(line, sizeof line, child.err), "%s", line);
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    unlink(path);
    unlink(socket_path);
}
END_TEST

START_TEST(what_cannot_start_exits_with_the_reason)
{
    char path[64];
    ran_file(ran_config, path);
    struct ran *got = ran(WORDS("--config", path, "--set",
                                "receivers.otlp.protocols.http.endpoint=unix:/nowhere/at/all"));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_ptr_nonnull(strstr(got->err, "--set receivers.otlp.protocols.http.endpoint: "));
    ck_assert_ptr_nonnull(strstr(got->err, "/nowhere/at/all"));
    ck_assert_ptr_null(strstr(got->err, "is ready"));
    free(got);
    unlink(path);
}
END_TEST

START_TEST(a_certificate_that_cannot_be_read_is_told_with_its_key_and_place)
{
    char path[64], want[200];
    ran_file("receivers:\n"
             "  pyroscope:\n"
             "    endpoint: localhost:0\n"
             "    tls: {cert_file: /nowhere/c, key_file: /nowhere/k}\n"
             "exporters: {debug: }\n"
             "service: {pipelines: {profiles: {receivers: [pyroscope], exporters: [debug]}}}\n",
             path);
    struct ran *got = ran(WORDS("--config", path));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    snprintf(want, sizeof want,
             "%s:4: receivers.pyroscope.tls.cert_file: /nowhere/c cannot be read: No such file or "
             "directory",
             path);
    ck_assert_msg(strstr(got->err, want), "%s in %s", want, got->err);
    free(got);
    unlink(path);
}
END_TEST

static void expect_state(int manager, const char *state)
{
    char got[128] = "";
    ck_assert_int_gt(recv(manager, got, sizeof got - 1, 0), 0);
    ck_assert_int_eq(strncmp(got, state, strlen(state)), 0);
}

START_TEST(the_service_expect_state_of_start_reload_and_stop)
{
    char path[64], name[80];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(name, sizeof name, "%s.notify", ran_file(ran_config, path));
    strcpy(address.sun_path, name);
    int manager = socket(AF_UNIX, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(manager, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    struct child child = start(path, "info");
    expect_state(manager, "READY=1");
    kill(child.pid, SIGHUP);
    expect_state(manager, "RELOADING=1\nMONOTONIC_USEC=");
    expect_state(manager, "READY=1");
    kill(child.pid, SIGTERM);
    expect_state(manager, "STOPPING=1");
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    unsetenv("NOTIFY_SOCKET");
    close(manager);
    unlink(name);
    unlink(path);
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "run",
                    (const TTest *const[]){
                        it_runs_until_a_signal_and_exits_well,
                        the_service_expect_state_of_start_reload_and_stop,
                        usr1_explains_and_hup_reloads,
                        a_second_signal_ends_the_delay_and_the_stop_is_an_ordinary_one,
                        at_level_error_health_is_silent,
                        what_cannot_start_exits_with_the_reason,
                        a_certificate_that_cannot_be_read_is_told_with_its_key_and_place,
                        NULL,
                    });
}
