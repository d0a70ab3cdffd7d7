/* OTLP batches that are remapped and otherwise pass: metrics, logs, and profiles by their part. */
#ifndef CORRELATION_PASSING_H
#define CORRELATION_PASSING_H

#include "pipeline/component.h"
#include "processors/correlation/known/remap.h"

/* Hands the batch on with its resources remapped. RETRY also where there is no memory. */
enum verdict passing_consume(const struct remap *remap, struct batch *batch, struct outlet *next);

#endif
