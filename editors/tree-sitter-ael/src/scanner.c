// Where a newline ends something, and where a word begins an item: what tree-sitter's own lexer cannot know.
//
// The scanner keeps no state and never looks further than one word ahead, nor past a comment, so that it takes linear time.

#include "tree_sitter/parser.h"

#include <string.h>

enum Token { NEWLINE, EDGE_NEWLINE, OPERATION_NEWLINE, END, OPERAND, ERROR_SENTINEL };

// Before one of these words a newline ends nothing.
static const char *const CONTINUES[] = {"else", "catch", "and", "or", "with", "in", "div", NULL};
// Nor before one of these between an agent's edges …
static const char *const EDGE_WORDS[] = {"when", "otherwise", "on", "up", NULL};
// … and before the clauses of an operation.
static const char *const CLAUSE_WORDS[] = {
    "needs",  "repeat", "timeout", "limit",  "approval", "taints",      "parallel", "retry",   "model", "policy", "grants", "deny",
    "tools",  "skills", "budget",  "attempts", "tool_choice", "history", "version", "fails", "key", "when", "by", "as", NULL};
// What begins another declaration, even where it does not begin its line.
static const char *const STARTERS[] = {
    "use",   "pub",   "permission", "role",    "enum", "record", "open", "error", "type", "const", "fn", "table", "tool", "node", "agent",
    "skill", "service", "provide", "mcp", "store", "test", NULL};
// An operand does not begin with one of these.
static const char *const OPERATORS[] = {"and", "or", "in", "div", "with", "catch", NULL};

enum { LONGEST = 16 };

static bool among(const char *word, const char *const *words) {
  for (; *words != NULL; words++) {
    if (strcmp(word, *words) == 0) return true;
  }
  return false;
}

static bool starts_word(int32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool in_word(int32_t c) { return starts_word(c) || (c >= '0' && c <= '9'); }

static bool blank(int32_t c) { return c == ' ' || c == '\t'; }

// Reads the word ahead. One that is longer than any that matters is read as the empty word.
static void read_word(TSLexer *lexer, char *word) {
  int length = 0;
  while (in_word(lexer->lookahead) && length < LONGEST) {
    word[length++] = (char)lexer->lookahead;
    lexer->advance(lexer, false);
  }
  word[length < LONGEST ? length : 0] = '\0';
}

// Whether what is ahead, after a space, begins an operand.
static bool operand_ahead(TSLexer *lexer) {
  int32_t c = lexer->lookahead;
  if (!starts_word(c)) return in_word(c) || c == '"' || c == '(' || c == '[' || c == '{' || c == '$';
  char word[LONGEST + 1];
  read_word(lexer, word);
  if (among(word, OPERATORS)) return false;
  if (strcmp(word, "not") != 0) return true;
  if (!blank(lexer->lookahead)) return true;
  while (blank(lexer->lookahead)) lexer->advance(lexer, false);
  read_word(lexer, word);
  return strcmp(word, "in") != 0;
}

// Whether a word is the name of a field, as its colon says: then it continues nothing.
static bool colon_ahead(TSLexer *lexer) {
  while (blank(lexer->lookahead)) lexer->advance(lexer, false);
  if (lexer->lookahead == '?') {
    lexer->advance(lexer, false);
    while (blank(lexer->lookahead)) lexer->advance(lexer, false);
  }
  return lexer->lookahead == ':';
}

static bool give(TSLexer *lexer, enum Token token) {
  lexer->result_symbol = token;
  return true;
}

void *tree_sitter_ael_external_scanner_create(void) { return NULL; }

void tree_sitter_ael_external_scanner_destroy(void *payload) { (void)payload; }

unsigned tree_sitter_ael_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}

void tree_sitter_ael_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

bool tree_sitter_ael_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  (void)payload;
  if (valid[ERROR_SENTINEL]) return false;

  if (valid[OPERAND] && blank(lexer->lookahead)) {
    lexer->mark_end(lexer);
    while (blank(lexer->lookahead)) lexer->advance(lexer, false);
    if (operand_ahead(lexer)) return give(lexer, OPERAND);
    if (lexer->lookahead != '\n' && lexer->lookahead != '\r') return false;
  }

  const bool separates = valid[NEWLINE] || valid[EDGE_NEWLINE] || valid[OPERATION_NEWLINE];
  if (!separates && !valid[END]) return false;

  bool newline = false;
  unsigned column = 0;
  for (;; lexer->advance(lexer, true)) {
    const int32_t c = lexer->lookahead;
    if (c == '\n' || c == '\r') {
      newline = true;
      column = 0;
    } else if (blank(c) || c == 0xFEFF || c == '\f' || c == '\v') {
      column++;
    } else {
      break;
    }
  }
  lexer->mark_end(lexer);
  if (lexer->eof(lexer)) return valid[END] && give(lexer, END);
  if (!newline) return false;

  const int32_t c = lexer->lookahead;
  if (c == '/') return false;  // a comment, or an operator
  if (starts_word(c)) {
    char word[LONGEST + 1];
    read_word(lexer, word);
    const bool continues = among(word, CONTINUES) || (valid[EDGE_NEWLINE] && among(word, EDGE_WORDS)) ||
                           (valid[OPERATION_NEWLINE] && among(word, CLAUSE_WORDS));
    if (separates && (!continues || colon_ahead(lexer))) {
      return give(lexer, valid[NEWLINE] ? NEWLINE : valid[EDGE_NEWLINE] ? EDGE_NEWLINE : OPERATION_NEWLINE);
    }
    if (valid[END] && strcmp(word, "includes") != 0 && (column == 0 || among(word, STARTERS))) return give(lexer, END);
    return false;
  }
  if (!separates) return false;
  if (c == '-') {
    lexer->advance(lexer, false);
    if (lexer->lookahead == '>') return false;
  } else if (c < 0x80 && strchr(".})],:=|&?+*%<>!", c) != NULL) {
    return false;
  }
  return give(lexer, valid[NEWLINE] ? NEWLINE : valid[EDGE_NEWLINE] ? EDGE_NEWLINE : OPERATION_NEWLINE);
}
