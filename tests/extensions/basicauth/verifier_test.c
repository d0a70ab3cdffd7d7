#include "extensions/basicauth/verifier.h"

#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define RIGHT "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"
/* A cost high enough that no test outlasts a queue of them, and low enough that the verifier ends
 * soon. */
#define DEAR "$2y$11$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned results[4];
static unsigned denied_before; /* the last grant */
static struct fake_clock fake;

static struct verifier *new_verifier(void)
{
    fake_clock_init(&fake);
    return verifier_new(&fake.clock);
}

static void done(void *ctx, enum auth_result result)
{
    pthread_mutex_lock(&mutex);
    results[result]++;
    if (result == AUTH_GRANTED)
        denied_before = results[AUTH_DENIED];
    if (ctx)
        *(enum auth_result *)ctx = result;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static unsigned await(enum auth_result result, unsigned count)
{
    pthread_mutex_lock(&mutex);
    while (results[result] < count)
        pthread_cond_wait(&changed, &mutex);
    count = results[result];
    pthread_mutex_unlock(&mutex);
    return count;
}

static struct verify ask(const char *user, const char *password, const char *hash)
{
    return (struct verify){.user = view_of(user),
                           .password = view_of(password),
                           .hash = hash,
                           .kind = PASSWORD_CRYPT,
                           .known = true};
}

START_TEST(what_was_found_is_remembered)
{
    struct verifier *verifier = new_verifier();
    struct verify right = ask("ann", "myPassword", RIGHT), wrong = ask("ann", "other", RIGHT);
    ck_assert_int_eq(verifier_look(verifier, &right), AUTH_PENDING);
    verifier_check(verifier, &right, done, NULL);
    verifier_check(verifier, &wrong, done, NULL);
    await(AUTH_GRANTED, 1);
    await(AUTH_DENIED, 1);
    ck_assert_int_eq(verifier_look(verifier, &right), AUTH_GRANTED);
    ck_assert_int_eq(verifier_look(verifier, &wrong), AUTH_DENIED);
    enum auth_result at_once = AUTH_PENDING;
    verifier_check(verifier, &right, done, &at_once);
    ck_assert_int_eq(at_once, AUTH_GRANTED);
    verifier_free(verifier);
}
END_TEST

START_TEST(another_user_hash_or_password_is_another_question)
{
    struct verifier *verifier = new_verifier();
    struct verify right = ask("ann", "myPassword", RIGHT), other = right;
    verifier_check(verifier, &right, done, NULL);
    await(AUTH_GRANTED, 1);
    other.user = VIEW("annm");
    other.password = VIEW("yPassword");
    ck_assert_int_eq(verifier_look(verifier, &other), AUTH_PENDING);
    other = right;
    other.hash = DEAR;
    ck_assert_int_eq(verifier_look(verifier, &other), AUTH_PENDING);
    other = right;
    other.known = false;
    ck_assert_int_eq(verifier_look(verifier, &other), AUTH_PENDING);
    verifier_free(verifier);
}
END_TEST

START_TEST(an_unknown_user_is_denied_also_with_the_right_password)
{
    struct verifier *verifier = new_verifier();
    struct verify verify = ask("nobody", "myPassword", RIGHT);
    verify.known = false;
    verifier_check(verifier, &verify, done, NULL);
    await(AUTH_DENIED, 1);
    ck_assert_uint_eq(results[AUTH_GRANTED], 0);
    verifier_free(verifier);
}
END_TEST

static void guess(struct verifier *verifier, const char *hash, int from, int to)
{
    char password[16];
    for (int i = from; i < to; i++) {
        snprintf(password, sizeof password, "%d", i);
        struct verify wrong = ask("ann", password, hash);
        verifier_check(verifier, &wrong, done, NULL);
    }
}

START_TEST(a_flood_for_one_user_leaves_room_for_another)
{
    enum { FLOOD = VERIFIER_PER_USER + 50 };
    struct verifier *verifier = new_verifier();
    guess(verifier, DEAR, 0, FLOOD);
    await(AUTH_LATER, 1);
    struct verify right = ask("bob", "myPassword", RIGHT);
    unsigned denied = await(AUTH_DENIED, 1);
    verifier_check(verifier, &right, done, NULL);
    await(AUTH_GRANTED, 1);
    ck_assert_uint_lt(denied_before, denied + VERIFIER_PER_USER / 2);
    verifier_free(verifier);
}
END_TEST

START_TEST(who_knows_the_password_waits_for_the_guesses_that_came_before)
{
    struct verifier *verifier = new_verifier();
    struct verify right = ask("ann", "myPassword", RIGHT);
    enum auth_result result = AUTH_PENDING;
    guess(verifier, RIGHT, 0, 40);
    verifier_check(verifier, &right, done, &result);
    guess(verifier, RIGHT, 40, 200);
    ck_assert_uint_eq(results[AUTH_LATER], 0);
    await(AUTH_GRANTED, 1);
    ck_assert_uint_eq(denied_before, 40);
    await(AUTH_DENIED, 200);
    verifier_free(verifier);
}
END_TEST

/* As many guesses as have room, until all are answered; all but the first ones wait too long. */
static void fill_and_wait(struct verifier *verifier)
{
    guess(verifier, DEAR, 0, VERIFIER_PER_USER);
    fake_clock_advance(&fake, VERIFIER_WAIT_NS);
    pthread_mutex_lock(&mutex);
    while (results[AUTH_LATER] + results[AUTH_DENIED] < VERIFIER_PER_USER)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

START_TEST(who_comes_back_after_waiting_is_next)
{
    struct verifier *verifier = new_verifier();
    fill_and_wait(verifier);
    unsigned denied = await(AUTH_DENIED, 0);
    guess(verifier, DEAR, VERIFIER_PER_USER - 10, VERIFIER_PER_USER - 9);
    await(AUTH_DENIED, denied + 1);
    struct verify other = ask("ann", "200", DEAR);
    ck_assert_int_eq(verifier_look(verifier, &other), AUTH_PENDING);
    verifier_free(verifier);
}
END_TEST

START_TEST(checks_that_nobody_waits_for_are_done_and_make_room)
{
    struct verifier *verifier = new_verifier();
    fill_and_wait(verifier);
    unsigned later = results[AUTH_LATER];
    guess(verifier, DEAR, VERIFIER_PER_USER, VERIFIER_PER_USER + 3);
    ck_assert_uint_eq(results[AUTH_LATER], later);
    struct verify first = ask("ann", "9", DEAR);
    while (verifier_look(verifier, &first) == AUTH_PENDING)
        sched_yield();
    verifier_free(verifier);
}
END_TEST

START_TEST(a_password_that_is_too_long_is_denied_at_once)
{
    static char password[PASSWORD_MAX + 2];
    struct verifier *verifier = new_verifier();
    enum auth_result result = AUTH_PENDING;
    memset(password, 'a', PASSWORD_MAX + 1);
    struct verify wrong = ask("ann", password, RIGHT);
    ck_assert_int_eq(verifier_look(verifier, &wrong), AUTH_DENIED);
    verifier_check(verifier, &wrong, done, &result);
    ck_assert_int_eq(result, AUTH_DENIED);
    verifier_free(verifier);
}
END_TEST

START_TEST(requests_with_the_same_credentials_wait_for_one_check)
{
    struct verifier *verifier = new_verifier();
    struct verify first = ask("bob", "x", DEAR), same = ask("ann", "y", DEAR);
    verifier_check(verifier, &first, done, NULL);
    for (int i = 0; i < 100; i++)
        verifier_check(verifier, &same, done, NULL);
    await(AUTH_DENIED, 101);
    ck_assert_uint_eq(results[AUTH_LATER], 0);
    verifier_free(verifier);
}
END_TEST

START_TEST(wrong_passwords_push_out_no_right_one)
{
    struct verifier *verifier = new_verifier();
    struct verify right = ask("ann", "myPassword", RIGHT);
    verifier_check(verifier, &right, done, NULL);
    await(AUTH_GRANTED, 1);
    for (unsigned i = 0; i < 3000; i++) {
        char password[16];
        snprintf(password, sizeof password, "%u", i);
        struct verify wrong = ask("ann", password, "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=");
        wrong.kind = PASSWORD_SHA;
        verifier_check(verifier, &wrong, done, NULL);
        await(AUTH_DENIED, i + 1);
    }
    ck_assert_int_eq(verifier_look(verifier, &right), AUTH_GRANTED);
    verifier_free(verifier);
}
END_TEST

START_TEST(who_waits_at_the_end_is_answered)
{
    struct verifier *verifier = new_verifier();
    for (int i = 0; i < 4; i++) {
        struct verify wrong = ask((const char *[]){"a", "b", "c", "d"}[i], "x", DEAR);
        verifier_check(verifier, &wrong, done, NULL);
    }
    verifier_free(verifier);
    ck_assert_uint_eq(results[AUTH_LATER] + results[AUTH_DENIED], 4);
    verifier_free(NULL);
}
END_TEST

SUITE_MAIN("verifier", what_was_found_is_remembered,
           another_user_hash_or_password_is_another_question,
           an_unknown_user_is_denied_also_with_the_right_password,
           a_flood_for_one_user_leaves_room_for_another,
           who_knows_the_password_waits_for_the_guesses_that_came_before,
           who_comes_back_after_waiting_is_next,
           checks_that_nobody_waits_for_are_done_and_make_room,
           a_password_that_is_too_long_is_denied_at_once,
           requests_with_the_same_credentials_wait_for_one_check,
           wrong_passwords_push_out_no_right_one, who_waits_at_the_end_is_answered)
