/*
 * Conversions that Pyroscope's /ingest, but not its Push, applies to pprofs of certain agents (from
 * the server's 2.x handler). Pure.
 */
#ifndef LIB_WIRE_PPROF_PPROF_AGENTS_H
#define LIB_WIRE_PPROF_PPROF_AGENTS_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"

/* Whether functions are renamed to "FILE NAME". */
enum pprof_naming {
    PPROF_NAMES_KEPT,
    PPROF_NAMES_OF_FILES,         /* Ruby and other script languages */
    PPROF_NAMES_OF_RELATIVE_FILES /* Python: except for absolute paths */
};

/* The naming for an agent's name (spyName; data NULL: none). */
enum pprof_naming pprof_naming_of(struct view spy);

/* Renames the functions of an open profile through the splice, which must be at the start of the
 * profile; new strings are appended. Makes no edit if the names together would be many times the
 * profile's size. */
void pprof_name_files(const struct pprof *pprof, enum pprof_naming naming, struct splice *splice);

/* Whether a request is from the .NET agent: by the agent's name, or, without one, by its
 * sample_type_config (data NULL: none). */
bool pprof_is_dotnet(struct view spy, struct view sample_type_config);

/* Repairs profiles of old .NET agents in raw, which need not be validated: if all functions have id
 * 0 and there are as many locations, they get the locations' ids; '-' in sample types becomes '_'.
 * *changed: something was repaired. False: no memory. */
bool pprof_repair_dotnet(struct bytes *raw, bool *changed);

#endif
