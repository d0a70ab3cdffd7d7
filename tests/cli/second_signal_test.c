#include "cli/second_signal.h"

#include "tests/cli/ran.h"

#include <sched.h>
#include <signal.h>

static void block(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

START_TEST(a_second_signal_sets_hurry)
{
    struct second_signal second;
    block();
    second_signal_start(&second);
    kill(getpid(), SIGTERM);
    while (!__atomic_load_n(&second.hurry, __ATOMIC_SEQ_CST))
        sched_yield();
    second_signal_stop(&second);
}
END_TEST

START_TEST(without_one_nothing_happens)
{
    struct second_signal second;
    block();
    second_signal_start(&second);
    second_signal_stop(&second);
    ck_assert_int_eq(second.hurry, 0);
}
END_TEST

START_TEST(a_drain_that_hangs_on_is_ended)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct second_signal second;
        block();
        second_signal_start(&second);
        kill(getpid(), SIGINT);
        for (;;)
            pause();
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), EXIT_LOST);
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "second_signal",
                    (const TTest *const[]){
                        a_second_signal_sets_hurry,
                        without_one_nothing_happens,
                        a_drain_that_hangs_on_is_ended,
                        NULL,
                    });
}
