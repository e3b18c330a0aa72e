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
    chunk();
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

  void declare(std::string_view name) {
    activate(scopes.locals.size());
    scopes.locals.push_back(name);
  }

  void refer(const Token& name) {
    for (std::size_t depth = open_.size(); depth-- > 0;) {
      const auto& active = open_[depth].active;
      const auto local = std::find_if(active.rbegin(), active.rend(), [&](std::size_t index) {
        return index != kNameless && scopes.locals[index] == name.text;
      });
      if (local == active.rend()) continue;
      for (std::size_t inner = depth + 1; inner < open_.size(); ++inner) {
        auto& outer = scopes.functions[open_[inner].function].outer;
        if (std::find(outer.begin(), outer.end(), *local) == outer.end()) outer.push_back(*local);
      }
      return;
    }
    for (const auto& each : open_) scopes.functions[each.function].globals.insert(name.text);
    scopes.global_reads.push_back({name.text, name.offset});
  }

  // ---- Statements ----

  void chunk() {
    const Level level(*this);
    bool is_last = false;
    while (!is_last && !block_ends()) {
      is_last = statement();
      accept(";");
    }
  }

  void block() {
    const auto active = open().active.size();
    chunk();
    open().active.resize(active);
  }

  // Returns true for the last statement of its block.
  bool statement() {
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
    for (const auto& name : names) declare(name.text);
    block();
    open().active.resize(active);
    expect("end");
  }

  // The condition sees the body's locals.
  void repeat_statement() {
    skip();
    const auto active = open().active.size();
    chunk();
    expect("until");
    expression();
    open().active.resize(active);
  }

  void function_statement() {
    skip();
    const auto reads = scopes.global_reads.size();
    refer(expect_name());
    scopes.global_reads.resize(reads);
    while (accept(".")) expect_name();
    const bool has_self = accept(":");
    if (has_self) expect_name();
    function_body(has_self);
  }

  void local_statement() {
    skip();
    if (accept("function")) {
      declare(expect_name().text);
      function_body(false);
      return;
    }
    const auto names = expect_names();
    if (accept("=")) expressions();
    for (const auto& name : names) declare(name.text);
  }

  void return_statement() {
    skip();
    if (!block_ends() && !is(";")) expressions();
  }

  // A call or an assignment.
  void expression_statement() {
    bool is_assignment = false;
    while (true) {
      const auto reads = scopes.global_reads.size();
      const auto kind = primary();
      if (!is_assignment && kind == Primary::kCall) return;
      if (kind == Primary::kCall || (!is(",") && !is("="))) throw SyntaxError{};
      if (kind == Primary::kName) scopes.global_reads.resize(reads);
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
      skip();
      function_body(false);
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
        // Lua itself declares it, and it hides an outer variable of that name.
        declare("arg");
        break;
      }
      declare(expect_name().text);
      if (!accept(",")) break;
      if (is(")")) throw SyntaxError{};
    }
    expect(")");
  }

  void function_body(bool has_self) {
    open_.push_back({scopes.functions.size(), {}});
    scopes.functions.emplace_back();
    if (has_self) declare("self");
    parameters();
    chunk();
    expect("end");
    open_.pop_back();
  }

  const std::vector<Token>& tokens_;
  std::size_t next_ = 0;
  std::vector<Open> open_;
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
