/*
 * What Pyroscope's /ingest makes of pprofs of certain agents before it files them, and its Push
 * does not (read off the server's 2.x handler). Pure.
 */
#ifndef LIB_WIRE_PPROF_PPROF_AGENTS_H
#define LIB_WIRE_PPROF_PPROF_AGENTS_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"

/* How a function of a script is named "FILE NAME". */
enum pprof_naming {
    PPROF_NAMES_KEPT,
    PPROF_NAMES_OF_FILES,         /* Ruby's, and of other scripts */
    PPROF_NAMES_OF_RELATIVE_FILES /* Python's: an absolute path is left alone */
};

/* By the agent's name (spyName; data NULL: none). */
enum pprof_naming pprof_naming_of(struct view spy);

/* Gives the functions of an open profile such names, through the splice, which stands at the
 * start of the profile; new strings are appended. No edit where the names together would be many
 * times the profile's size. */
void pprof_name_files(const struct pprof *pprof, enum pprof_naming naming, struct splice *splice);

/* Whether a request is of the .NET agent: by its name, or, without one, by its
 * sample_type_config (data NULL: none). */
bool pprof_is_dotnet(struct view spy, struct view sample_type_config);

/* Repairs what old .NET agents send, in raw, which nobody has checked: functions that all have the
 * id 0 get those of the locations, where these are as many; '-' in sample types becomes '_'.
 * *changed says whether there was something. False: no memory. */
bool pprof_repair_dotnet(struct bytes *raw, bool *changed);

#endif
