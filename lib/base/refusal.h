/*
 * Why a processor refuses a batch, from where that is found out to the intake that answers. Kept
 * for the calling thread.
 */
#ifndef LIB_BASE_REFUSAL_H
#define LIB_BASE_REFUSAL_H

#include "lib/base/verdict.h"

#include <stdbool.h>

enum { REFUSAL_MAX = 192 };

/* UNAVAILABLE: it may pass later. Any other cause: the same batch can never pass, so the client is
 * not to try again. */
void refusal_set(const char *text, enum cause cause);

/* Copies the text that was set since the last call. False: none was. */
bool refusal_take(char text[REFUSAL_MAX], enum cause *cause);

/* The same as an outcome with this verdict; INVALID if none was. */
struct outcome refusal_outcome(enum verdict verdict);

#endif
