/* Field numbers of requests (lib/wire/edit/request_edit.h). */
#include "lib/wire/edit/request_edit.h"

uint32_t edit_list(enum signal signal, enum edit_level level, enum edit_point kind)
{
    static const uint8_t points[] = {
        [EDIT_NO_POINT] = 0,  [EDIT_EVENT] = 3,       [EDIT_NUMBER] = 7,
        [EDIT_HISTOGRAM] = 9, [EDIT_EXPONENTIAL] = 1, [EDIT_SUMMARY] = 7,
    };
    static const uint8_t items[SIGNAL_COUNT] = {
        [SIGNAL_TRACES] = 9,
        [SIGNAL_METRICS] = 0,
        [SIGNAL_LOGS] = 6,
        [SIGNAL_PROFILES] = 0,
    };
    if (level == EDIT_RESOURCE)
        return 1;
    if (level == EDIT_SCOPE)
        return 3;
    return level == EDIT_ITEM ? items[signal] : points[kind];
}

enum edit_point edit_point_of(uint32_t number)
{
    switch (number) {
    case 5:
    case 7:
        return EDIT_NUMBER;
    case 9:
        return EDIT_HISTOGRAM;
    case 10:
        return EDIT_EXPONENTIAL;
    case 11:
        return EDIT_SUMMARY;
    default:
        return EDIT_NO_POINT;
    }
}
