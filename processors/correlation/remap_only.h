/* OTLP batches that are only remapped: metrics, logs, and the batches of OTLP profiles. */
#ifndef CORRELATION_REMAP_ONLY_H
#define CORRELATION_REMAP_ONLY_H

#include "pipeline/component.h"
#include "processors/correlation/known/remap.h"

/* Hands the batch on with its resources remapped. RETRY also without memory. */
enum verdict remap_only_consume(const struct remap *remap, struct batch *batch,
                                struct outlet *next);

#endif
