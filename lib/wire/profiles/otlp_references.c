#include "lib/wire/profiles/otlp_references.h"

#define TO(table) (OTLP_TABLE_##table + 1)

const struct otlp_references otlp_entry_references[OTLP_TABLES] = {
    [OTLP_TABLE_MAPPING] = {{[4] = TO(STRING), [5] = TO(ATTRIBUTE)}},
    [OTLP_TABLE_LOCATION] = {{[1] = TO(MAPPING), [4] = TO(ATTRIBUTE)}},
    [OTLP_TABLE_FUNCTION] = {{[1] = TO(STRING), [2] = TO(STRING), [3] = TO(STRING)}},
    [OTLP_TABLE_ATTRIBUTE] = {{[1] = TO(STRING), [3] = TO(STRING)}},
    [OTLP_TABLE_STACK] = {{[1] = TO(LOCATION)}},
};
const struct otlp_references otlp_line_references = {{[1] = TO(FUNCTION)}};
const struct otlp_references otlp_value_type_references = {{[1] = TO(STRING), [2] = TO(STRING)}};
const struct otlp_references otlp_profile_references = {{[11] = TO(ATTRIBUTE)}};
const struct otlp_references otlp_sample_references = {
    {[1] = TO(STACK), [2] = TO(ATTRIBUTE), [3] = TO(LINK)}};
