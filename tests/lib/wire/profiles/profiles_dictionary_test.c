#include "lib/wire/profiles/profiles_dictionary.h"

#include "lib/wire/pprof/pprof_fields.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;
static struct pprof pprof;
static struct profiles_dictionary dictionary;

static struct view location(uint64_t id, uint64_t address)
{
    return PB_MESSAGE(PROFILE_LOCATION, pb_varint(1, id), pb_varint(3, address));
}

static void open(struct view raw)
{
    struct proto_fault fault;
    struct bytes limits;
    arena_init(&arena, 1 << 20);
    bytes_init(&limits, 1 << 20, NULL);
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s", fault.reason);
    ck_assert(profiles_dictionary_open(&dictionary, &pprof, &arena, &limits));
}

static void release(void)
{
    profiles_dictionary_release(&dictionary);
    arena_release(&arena);
}

/* The index in the profile, from 1, of the location with a sample's id; 0: none. */
static uint64_t place_of(uint64_t id)
{
    struct proto_field locations;
    uint64_t place = 0;
    uint32_t index = profiles_dictionary_stack(&dictionary, pb_varint(SAMPLE_LOCATION_ID, id));
    if (index == 0)
        return 0;
    ck_assert(proto_find(dictionary.stacks.entries[index], 1, WIRE_LEN, &locations));
    const uint8_t *end = locations.bytes.data + locations.bytes.size;
    ck_assert_ptr_eq(proto_varint(locations.bytes.data, end, &place), end);
    return place;
}

static struct view profile_of(struct view locations)
{
    return PB_JOIN(PB_MESSAGE(PROFILE_SAMPLE_TYPE, pb_varint(1, 1), pb_varint(2, 1)), locations,
                   PB_EMPTY(PROFILE_STRING_TABLE), PB_TEXT(PROFILE_STRING_TABLE, "count"));
}

/* With ids 1, 2, 3 and with others. */
START_TEST(of_equal_ids_the_first_in_the_profile_counts)
{
    open(profile_of(PB_JOIN(location(1, 10), location(2, 20), location(2, 30), location(1, 40),
                            location(3, 50))));
    ck_assert_uint_eq(place_of(1), 1);
    ck_assert_uint_eq(place_of(2), 2);
    ck_assert_uint_eq(place_of(3), 5);
    ck_assert_uint_eq(place_of(4), 0);
    release();
    open(profile_of(PB_JOIN(location(90, 10), location(7, 20), location(90, 30), location(7, 40),
                            location(8, 50), location(7, 60))));
    ck_assert_uint_eq(place_of(7), 2);
    ck_assert_uint_eq(place_of(8), 5);
    ck_assert_uint_eq(place_of(90), 1);
    release();
    open(profile_of(PB_JOIN(location(2, 10), location(2, 20), location(3, 30))));
    ck_assert_uint_eq(place_of(2), 1);
    ck_assert_uint_eq(place_of(3), 3);
    release();
}
END_TEST

SUITE_MAIN("profiles_dictionary", of_equal_ids_the_first_in_the_profile_counts)
