/* Documents in XML 1.0 as Go's encoding/xml reads them. Pure. For lib/ottl alone. */
#ifndef LIB_OTTL_XML_H
#define LIB_OTTL_XML_H

#include "lib/base/arena.h"
#include "lib/base/view.h"

enum { XML_DEPTH_MAX = 50 }; /* an element becomes up to two levels of values */

enum xml_kind { XML_ELEMENT, XML_TEXT, XML_ATTRIBUTE };

struct xml_node {
    enum xml_kind kind;
    struct view name;   /* ELEMENT, ATTRIBUTE: without its prefix */
    struct view prefix; /* size 0: none */
    struct view value;  /* TEXT, ATTRIBUTE: without references; may be empty */
    struct xml_node *parent, *next;
    struct xml_node *attributes, *last_attribute; /* ELEMENT */
    struct xml_node *children, *last_child;       /* ELEMENT */
    size_t declared_before;                       /* while it is read */
};

/* Comments, processing instructions and declarations are left out. */
struct xml_document {
    struct xml_node top; /* its children are the outermost elements and what is between them */
    size_t size;         /* bytes up to the end of the first element */
    const char *error;   /* static text; NULL: none */
};

/* Reads a document. first: up to the end of its first element, else all of it, in which prefixes
 * have to be declared. The nodes refer to the text and to the arena. False: error says why. */
bool xml_read(struct xml_document *document, struct view text, bool first, struct arena *arena);

#endif
