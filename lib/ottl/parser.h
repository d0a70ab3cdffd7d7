/* Tokens of a statement while it is parsed. For lib/ottl alone. */
#ifndef LIB_OTTL_PARSER_H
#define LIB_OTTL_PARSER_H

#include "lib/ottl/node.h"

enum token_kind {
    TOKEN_END,
    TOKEN_BAD,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_BYTES,
    TOKEN_OP,  /* == != < <= > >= */
    TOKEN_MARK /* one character */
};

struct token {
    enum token_kind kind;
    size_t at;
    struct view text;
};

struct parser {
    struct ottl *ottl;
    struct token token; /* the one that comes next */
    size_t end;         /* of the one before it */
    struct ottl_fault *fault;
    bool failed;
    unsigned depth;
};

/* The next token. */
void parser_next(struct parser *parser);

/* The first fault counts: "found X, expected Y" of the next token, or a text at an offset. */
void parser_fail(struct parser *parser, const char *expected);
void parser_fail_at(struct parser *parser, size_t at, const char *text);

bool parser_is_mark(const struct parser *parser, char mark);

/* Takes the next token, if it is that; need_mark: else that is a fault. */
bool parser_take_mark(struct parser *parser, char mark);
void parser_need_mark(struct parser *parser, char mark);
bool parser_take_word(struct parser *parser, const char *word);

/* A node, or a spare one where the parser has failed. Never NULL. */
struct ottl_node *parser_new_node(struct parser *parser, enum node_kind_of kind, size_t at);

/* The text, number or bytes that come next. */
struct ottl_node *parser_literal(struct parser *parser);

#endif
