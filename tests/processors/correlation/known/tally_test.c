#include "processors/correlation/known/services.h"

#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)

static struct services services;
static struct tallies tallies;
static struct budget budget;

static void begin(void)
{
    budget_init(&budget, 64 << 20);
    services_init(&services, 1000, 3600 * SECOND, &budget);
    services.tallies = &tallies;
}

static void release(void)
{
    services_release(&services);
    tallies_release(&tallies);
}

static struct service *see(unsigned number, uint64_t mono)
{
    char name[32];
    snprintf(name, sizeof name, "service-%u", number);
    return services_see(&services, VIEW(""), view_of(name), mono);
}

static void count(struct service *service, unsigned what, uint64_t n, uint64_t mono)
{
    tally_add(services.tallies, service, what, n, mono);
}

/* Returns the count in a service's slot; -1: it has none. */
static long shown(const char *name, unsigned what)
{
    struct tally_copy copy;
    for (unsigned i = 0; i < TALLY_SLOTS; i++)
        if (tally_read(services.tallies, i, &copy) && view_eq(copy.name, view_of(name)))
            return (long)copy.counts[what];
    return -1;
}

START_TEST(a_service_has_figures_of_its_own)
{
    begin();
    count(see(1, 1), TALLY_LINKED, 3, 1);
    count(see(1, 2), TALLY_UNLINKED + REASON_NO_SAMPLE, 2, 2);
    ck_assert_int_eq(shown("service-1", TALLY_LINKED), 3);
    ck_assert_int_eq(shown("service-1", TALLY_UNLINKED + REASON_NO_SAMPLE), 2);
    ck_assert_int_eq(shown("service-2", TALLY_LINKED), -1);
    release();
}
END_TEST

START_TEST(past_a_hundred_they_are_one)
{
    begin();
    for (unsigned i = 0; i < TALLY_SLOTS + 50; i++)
        count(see(i, 1), TALLY_LINKED, 1, 1);
    ck_assert_int_eq(shown("service-99", TALLY_LINKED), 1);
    ck_assert_int_eq(shown("service-100", TALLY_LINKED), -1);
    ck_assert_uint_eq(services.tallies->others[TALLY_LINKED], 50);
    release();
}
END_TEST

START_TEST(a_busier_one_takes_the_place_of_the_quietest)
{
    begin();
    for (unsigned i = 0; i < TALLY_SLOTS; i++)
        count(see(i, 1), TALLY_LINKED, i == 7 ? 1 : 1000, 1);
    struct service *late = see(500, 2);
    for (unsigned i = 0; i < 200; i++)
        count(late, TALLY_LINKED, 1, 2);
    ck_assert_int_eq(shown("service-7", TALLY_LINKED), -1);
    long own = shown("service-500", TALLY_LINKED);
    ck_assert_int_gt(own, 0);
    ck_assert_uint_eq((uint64_t)own + services.tallies->others[TALLY_LINKED], 200);
    count(see(7, 3), TALLY_LINKED, 5, 3); /* among the others now */
    ck_assert_int_eq(shown("service-7", TALLY_LINKED), -1);
    release();
}
END_TEST

START_TEST(a_forgotten_service_goes_on_where_it_was)
{
    begin();
    services.max = 2;
    count(see(1, 1), TALLY_LINKED, 4, 1);
    see(2, 2);
    see(3, 3);
    ck_assert_uint_eq(services.forgotten, 1);
    ck_assert_int_eq(shown("service-1", TALLY_LINKED), 4);
    count(see(1, 4), TALLY_LINKED, 1, 4);
    ck_assert_int_eq(shown("service-1", TALLY_LINKED), 5);
    release();
}
END_TEST

START_TEST(names_that_do_not_fit_or_mean_the_others_are_among_them)
{
    char name[300];
    memset(name, 'a', sizeof name);
    begin();
    count(services_see(&services, VIEW(""), (struct view){(uint8_t *)name, sizeof name}, 1),
          TALLY_LINKED, 1, 1);
    count(services_see(&services, VIEW(""), VIEW(TALLY_OTHERS), 1), TALLY_LINKED, 1, 1);
    ck_assert_uint_eq(services.tallies->others[TALLY_LINKED], 2);
    release();
}
END_TEST

static _Atomic bool ended;

static void *read_on(void *ctx)
{
    struct tally_copy copy;
    (void)ctx;
    while (!ended)
        for (unsigned i = 0; i < TALLY_SLOTS; i++)
            if (tally_read(services.tallies, i, &copy))
                ck_assert(view_starts(copy.name, VIEW("service-")));
    return NULL;
}

START_TEST(a_reader_never_sees_two_services_in_one)
{
    pthread_t reader;
    begin();
    pthread_create(&reader, NULL, read_on, NULL);
    for (unsigned round = 0; round < 20; round++)
        for (unsigned i = 0; i < 300; i++)
            for (unsigned n = 0; n < 150; n += 50)
                count(see(round * 7 + i, round * 61 * SECOND + 1), TALLY_LINKED, 50,
                      round * 61 * SECOND + 1);
    ended = true;
    pthread_join(reader, NULL);
    release();
}
END_TEST

SUITE_MAIN("tally", a_service_has_figures_of_its_own, past_a_hundred_they_are_one,
           a_busier_one_takes_the_place_of_the_quietest, a_forgotten_service_goes_on_where_it_was,
           names_that_do_not_fit_or_mean_the_others_are_among_them,
           a_reader_never_sees_two_services_in_one)
