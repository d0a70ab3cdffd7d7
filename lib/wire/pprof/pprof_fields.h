/* Field numbers of profile.proto (github.com/google/pprof). For lib/wire/pprof/pprof*.c only. */
#ifndef LIB_WIRE_PPROF_PPROF_FIELDS_H
#define LIB_WIRE_PPROF_PPROF_FIELDS_H

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_DROP_FRAMES = 7,
    PROFILE_KEEP_FRAMES = 8,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    PROFILE_DOC_URL = 15
};

enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM_UNIT = 4 };
enum { LOCATION_MAPPING_ID = 2, LOCATION_LINE = 4, LINE_FUNCTION_ID = 1 };

/* The id of Mapping, Location and Function. */
enum { TABLE_ID = 1 };

/* Fields that hold an index into the string table, as bits. */
#define BIT(number)        (1u << (number))
#define VALUE_TYPE_STRINGS (BIT(1) | BIT(2))
#define LABEL_STRINGS      (BIT(LABEL_KEY) | BIT(LABEL_STR) | BIT(LABEL_NUM_UNIT))
#define MAPPING_STRINGS    (BIT(5) | BIT(6))
#define FUNCTION_STRINGS   (BIT(2) | BIT(3) | BIT(4))
#define PROFILE_STRINGS                                                                            \
    (BIT(PROFILE_DROP_FRAMES) | BIT(PROFILE_KEEP_FRAMES) | BIT(PROFILE_COMMENT) |                  \
     BIT(PROFILE_DEFAULT_SAMPLE_TYPE) | BIT(PROFILE_DOC_URL))

#endif
