#include "lua/scopes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rlctl::lua {
namespace {

using TokenKind = Token::Kind;

/// Lua's own nesting limit (LUAI_MAXCCALLS).
constexpr int kDeepestNesting = 200;
/// Stands for a local without a name: Lua makes three in each `for`.
constexpr auto kNameless = static_cast<std::size_t>(-1);

/// Thrown where the source is not Lua.
struct SyntaxError {};

/// A parser for Lua 5.1 (its manual, section 8) that ignores values.
class ScopeParser {
 public:
  explicit ScopeParser(const Tokens& tokens) : tokens_(tokens.tokens) {
    scopes.line_offsets = tokens.line_offsets;
  }
  void run() {
    for (const auto& each : tokens_) {
      if (each.kind == TokenKind::kName) scopes.names.insert(each.text);
    }
    scopes.functions.push_back({.takes_varargs = true});
    open_.push_back({0, {}});
    scopes.ends_in_return = chunk(true);
    if (next_ > 0) scopes.code_end = tokens_[next_ - 1].offset + tokens_[next_ - 1].text.size();
    if (token().kind != TokenKind::kEnd) throw SyntaxError{};
  }

  Scopes scopes;

 private:
  /// A function that is being parsed.
  struct Open {
    std::size_t function;
    std::vector<std::size_t> active;  ///< its locals that are visible or hidden
  };
  enum class Primary { kName, kCall, kOther };

  /// Counts how deep statements and expressions are nested while they are parsed.
  class Level {
   public:
    explicit Level(ScopeParser& parser) : depth_(parser.depth_) {
      if (++depth_ > kDeepestNesting) throw SyntaxError{};
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  // ---- Tokens ----

  const Token& token() const { return tokens_[next_]; }
  const Token& ahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  bool is(std::string_view text) const { return token().is(text); }
  void skip() { next_ += token().kind == TokenKind::kEnd ? 0U : 1U; }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    skip();
    return true;
  }

  void expect(std::string_view text) {
    if (!accept(text)) throw SyntaxError{};
  }

  const Token& expect_name() {
    if (token().kind != TokenKind::kName) throw SyntaxError{};
    return tokens_[next_++];
  }

  std::vector<Token> expect_names() {
    std::vector<Token> names;
    do {
      names.push_back(expect_name());
    } while (accept(","));
    return names;
  }

  bool block_ends() const {
    return token().kind == TokenKind::kEnd || is("else") || is("elseif") || is("end") ||
           is("until");
  }

  // ---- Names ----

  Open& open() { return open_.back(); }
  void activate(std::size_t local) {
    open().active.push_back(local);
    auto& function = scopes.functions[open().function];
    function.most_locals = std::max(function.most_locals, open().active.size());
    if (function.most_locals > kMaxLocals) throw SyntaxError{};
  }

  void declare(std::string_view name, int line, bool is_hidden = false) {
    activate(scopes.locals.size());
    scopes.locals.push_back({name, line, open().function, is_hidden});
  }
  void declare(const Token& name) { declare(name.text, name.line); }

  std::vector<std::size_t> visible() const {
    std::vector<std::size_t> found;
    std::set<std::string_view> names;
    const auto& active = open_.back().active;
    for (auto local = active.rbegin(); local != active.rend(); ++local) {
      if (*local != kNameless && names.insert(scopes.locals[*local].name).second) {
        found.push_back(*local);
      }
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  /// The variable that was referred to last is assigned to.
  void note_assignment() {
    if (referred_ == kNameless) return;
    auto& local = scopes.locals[referred_];
    local.is_set_within = local.is_set_within || local.function != open().function;
  }

  void refer(const Token& name) {
    referred_ = kNameless;
    for (std::size_t depth = open_.size(); depth-- > 0;) {
      const auto& active = open_[depth].active;
      const auto local = std::find_if(active.rbegin(), active.rend(), [&](std::size_t index) {
        return index != kNameless && scopes.locals[index].name == name.text;
      });
      if (local == active.rend()) continue;
      for (std::size_t inner = depth + 1; inner < open_.size(); ++inner) {
        auto& outer = scopes.functions[open_[inner].function].outer;
        if (std::find(outer.begin(), outer.end(), *local) == outer.end()) outer.push_back(*local);
      }
      referred_ = *local;
      return;
    }
    for (const auto& each : open_) scopes.functions[each.function].globals.insert(name.text);
    scopes.global_reads.push_back({name.text, name.offset});
  }

  // ---- Statements ----

  // "a = a", for which Lua generates no instruction if `a` is a local. Lua leaves a block that
  // contains one differently from one that contains none.
  bool does_nothing(std::size_t first) const {
    if (tokens_[first].kind != TokenKind::kName || first + 3 >= tokens_.size()) return false;
    const auto& behind = tokens_[first + 3];
    const bool ends = behind.kind == TokenKind::kName || behind.kind == TokenKind::kEnd ||
                      behind.is(";") ||
                      (behind.kind == TokenKind::kKeyword && !behind.is("and") && !behind.is("or"));
    return ends && tokens_[first + 1].is("=") && tokens_[first + 2].text == tokens_[first].text;
  }

  // Lua attributes the instruction that leaves a block to the line on which its last statement
  // ends. An added statement on a line of its own would change that line, so add one only if that
  // line has another instruction anyway, and if the line that a loop jumps back to is a different
  // one.
  bool may_be_followed(std::size_t start, std::size_t first) const {
    const auto& begin = tokens_[first];
    if (start == 0 || next_ == first || tokens_[next_ - 1].last_line != begin.line ||
        tokens_[start - 1].last_line == begin.line) {
      return false;
    }
    // A single instruction sets several locals to nil.
    const auto& end = tokens_[next_ - (tokens_[next_ - 1].is(";") ? 2 : 1)];
    const bool is_bare = begin.is("local") && std::none_of(&begin, &end, [](const auto& token) {
                           return token.is("=") || token.is("function");
                         });
    if (is_bare || end.is("nil")) return false;
    if (begin.kind == TokenKind::kName) return !does_nothing(first);
    if (begin.is("if"))
      return tokens_[first + 1].kind == TokenKind::kName || tokens_[first + 1].is("not");
    return begin.is("(") || begin.is("local") || begin.is("function") || begin.is("for");
  }

  // Returns true if the chunk's last statement is a return or break.
  bool chunk(bool begins_function) {
    const Level level(*this);
    bool is_last = false;
    const auto start = next_;
    auto first = next_;
    while (!is_last && !block_ends()) {
      first = next_;
      is_last = statement(begins_function);
      begins_function = false;
      accept(";");
    }
    if (!is_last && may_be_followed(start, first) && token().kind != TokenKind::kEnd) {
      note_statement(false);
      const auto& last = tokens_[next_ - 1];
      scopes.statements.back().follows = last.offset + last.text.size();
    }
    return is_last;
  }

  void block() {
    const auto active = open().active.size();
    chunk(false);
    open().active.resize(active);
  }

  void note_statement(bool begins_function) {
    ScopedStatement statement{token().offset, token().line, open().function};
    statement.begins_line =
        (next_ == 0 || tokens_[next_ - 1].last_line < token().line) && !does_nothing(next_);
    statement.begins_function = begins_function;
    if (statement.begins_line) statement.locals = visible();
    scopes.statements.push_back(std::move(statement));
  }

  // Returns true for the last statement of its block.
  bool statement(bool begins_function) {
    note_statement(begins_function);
    if (accept("break")) return true;
    const bool is_last = is("return");
    if (is_last) {
      return_statement();
    } else if (is("if")) {
      if_statement();
    } else if (is("while")) {
      while_statement();
    } else if (is("for")) {
      for_statement();
    } else if (is("repeat")) {
      repeat_statement();
    } else if (is("function")) {
      function_statement();
    } else if (is("local")) {
      local_statement();
    } else if (accept("do")) {
      block();
      expect("end");
    } else {
      expression_statement();
    }
    return is_last;
  }

  void if_statement() {
    do {
      skip();
      expression();
      expect("then");
      block();
    } while (is("elseif"));
    if (accept("else")) block();
    expect("end");
  }

  void while_statement() {
    skip();
    expression();
    expect("do");
    block();
    expect("end");
  }

  void for_statement() {
    skip();
    const auto active = open().active.size();
    const auto names = expect_names();
    if (!(names.size() == 1 && accept("="))) expect("in");
    expressions();
    for (int i = 0; i < 3; ++i) activate(kNameless);
    expect("do");
    for (const auto& name : names) declare(name);
    block();
    open().active.resize(active);
    expect("end");
  }

  // The condition sees the body's locals.
  void repeat_statement() {
    skip();
    const auto active = open().active.size();
    chunk(false);
    expect("until");
    expression();
    open().active.resize(active);
  }

  void function_statement() {
    const int line = token().line;
    skip();
    const auto reads = scopes.global_reads.size();
    refer(expect_name());
    scopes.global_reads.resize(reads);
    if (!is(".") && !is(":")) note_assignment();
    while (accept(".")) expect_name();
    const bool has_self = accept(":");
    if (has_self) expect_name();
    function_body(line, has_self);
  }

  void local_statement() {
    skip();
    if (accept("function")) {
      const auto& name = expect_name();
      declare(name);
      function_body(name.line, false);
      return;
    }
    const auto names = expect_names();
    if (accept("=")) expressions();
    for (const auto& name : names) declare(name);
  }

  void return_statement() {
    skip();
    if (block_ends() || is(";")) return;
    const auto& first = token();
    expressions();
    const auto& last = tokens_[next_ - 1];
    if (open().function != 0 || first.line != last.last_line) return;
    scopes.returned.push_back({first.offset, last.offset + last.text.size()});
  }

  // A call or an assignment.
  void expression_statement() {
    bool is_assignment = false;
    while (true) {
      const auto reads = scopes.global_reads.size();
      const auto kind = primary();
      if (!is_assignment && kind == Primary::kCall) return;
      if (kind == Primary::kCall || (!is(",") && !is("="))) throw SyntaxError{};
      if (kind == Primary::kName) {
        scopes.global_reads.resize(reads);
        note_assignment();
      }
      if (accept("=")) break;
      skip();
      is_assignment = true;
    }
    expressions();
  }

  // ---- Expressions ----

  void expressions() {
    do {
      expression();
    } while (accept(","));
  }

  void expression() {
    constexpr std::array<std::string_view, 15> kBinary{
        "+", "-", "*", "/", "%", "^", "..", "<", "<=", ">", ">=", "==", "~=", "and", "or"};
    const Level level(*this);
    const auto is_binary = [&] {
      return std::any_of(kBinary.begin(), kBinary.end(), [&](auto text) { return is(text); });
    };
    operand();
    while (is_binary()) {
      skip();
      operand();
    }
  }

  void operand() {
    while (is("not") || is("-") || is("#")) skip();
    const auto kind = token().kind;
    if (kind == TokenKind::kNumber || kind == TokenKind::kString || is("nil") || is("true") ||
        is("false")) {
      skip();
    } else if (is("...")) {
      auto& function = scopes.functions[open().function];
      if (!function.takes_varargs) throw SyntaxError{};
      function.uses_varargs = true;
      skip();
    } else if (is("{")) {
      table();
    } else if (is("function")) {
      const int line = token().line;
      skip();
      function_body(line, false);
    } else {
      primary();
    }
  }

  Primary primary() {
    auto kind = Primary::kOther;
    if (accept("(")) {
      expression();
      expect(")");
    } else {
      refer(expect_name());
      kind = Primary::kName;
    }
    while (suffix(kind)) {
    }
    return kind;
  }

  bool suffix(Primary& kind) {
    if (accept(".")) {
      expect_name();
      kind = Primary::kOther;
    } else if (accept("[")) {
      expression();
      expect("]");
      kind = Primary::kOther;
    } else if (accept(":")) {
      expect_name();
      if (!arguments()) throw SyntaxError{};
      kind = Primary::kCall;
    } else if (arguments()) {
      kind = Primary::kCall;
    } else {
      return false;
    }
    return true;
  }

  bool arguments() {
    if (token().kind == TokenKind::kString) {
      skip();
    } else if (is("{")) {
      table();
    } else if (is("(")) {
      // "ambiguous syntax (function call x new statement)"
      if (tokens_[next_ - 1].last_line != token().line) throw SyntaxError{};
      skip();
      if (!is(")")) expressions();
      expect(")");
    } else {
      return false;
    }
    return true;
  }

  void table() {
    expect("{");
    while (!is("}")) {
      if (token().kind == TokenKind::kName && ahead().is("=")) {
        skip();
        skip();
      } else if (accept("[")) {
        expression();
        expect("]");
        expect("=");
      }
      expression();
      if (!accept(",") && !accept(";")) break;
    }
    expect("}");
  }

  void parameters() {
    expect("(");
    while (!is(")")) {
      if (accept("...")) {
        scopes.functions[open().function].takes_varargs = true;
        declare("arg", token().line, true);
        break;
      }
      declare(expect_name());
      if (!accept(",")) break;
      if (is(")")) throw SyntaxError{};
    }
    expect(")");
  }

  void function_body(int line, bool has_self) {
    const auto function = scopes.functions.size();
    scopes.functions.push_back({.parent = open().function, .first_line = line});
    open_.push_back({function, {}});
    if (has_self) declare("self", line);
    parameters();
    chunk(true);
    scopes.functions[function].last_line = token().line;
    expect("end");
    open_.pop_back();
  }

  const std::vector<Token>& tokens_;
  std::size_t next_ = 0;
  std::vector<Open> open_;
  std::size_t referred_ = kNameless;  ///< the local that the last name referred to, if any
  int depth_ = 0;
};

}  // namespace

std::string unused_name(const Scopes& scopes) {
  std::string name = "__rl";
  const auto is_taken = [&] {
    const auto next = scopes.names.lower_bound(name);
    return next != scopes.names.end() && next->starts_with(name);
  };
  while (is_taken()) name += '_';
  return name;
}

std::optional<Scopes> find_scopes(std::string_view source) {
  const auto tokens = lex(source);
  if (!tokens) return std::nullopt;
  ScopeParser parser(*tokens);
  try {
    parser.run();
  } catch (const SyntaxError&) {
    return std::nullopt;
  }
  return std::move(parser.scopes);
}

}  // namespace rlctl::lua
