/* Time zones of the system's tzdata, without the process's TZ. For lib/ottl alone. */
#ifndef LIB_OTTL_ZONES_H
#define LIB_OTTL_ZONES_H

#include "lib/base/view.h"

enum { ZONE_NAME_SIZE = 16 };

struct zone;

/* What a zone has at an instant. */
struct zone_period {
    int32_t offset;            /* seconds east of UTC */
    char name[ZONE_NAME_SIZE]; /* abbreviation, such as CEST; may be empty in a fixed zone */
    int64_t start, end;        /* seconds since the epoch: valid from start, before end */
};

/* Finds a zone by its IANA name; "" and "UTC" are UTC. It is read from /usr/share/zoneinfo once and
 * kept until the process ends. NULL: there is none, or it cannot be read. Any thread. */
const struct zone *zone_find(struct view name);

/* The zone of TZ, or else of /etc/localtime; UTC if that cannot be read. Any thread. */
const struct zone *zone_local(void);

/* NULL is UTC in all of these. */
struct zone_period zone_at(const struct zone *zone, int64_t seconds);
/* The instant at which the zone's clocks show these seconds (as if they were UTC). Where they show
 * them twice or never, it is one of the instants that the offsets on both sides give. */
int64_t zone_instant(const struct zone *zone, int64_t local);
/* The offset of an abbreviation in this zone, for clocks that show `local`. False: it has none of
 * this name. */
bool zone_offset_of(const struct zone *zone, struct view name, int64_t local, int32_t *offset);

/* A zone with one offset, in memory of zone_fixed_size() bytes that the caller provides. */
size_t zone_fixed_size(void);
const struct zone *zone_fixed(void *memory, struct view name, int32_t offset);

#endif
