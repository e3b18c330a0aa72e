#pragma once

// The values of keys. A hash, a set and a sorted set are Collections: their elements are in a tree
// that knows how many are in front of each, so that adding, removing, ranks and the ends of ranges
// take O(log n) anywhere. An element is found by its name one by one, until that has cost as much
// as an index of the names: from then on, by the index. So a small collection has none, nor has a
// copy that a search makes for a few calls.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

namespace rlctl::keyspace {

/// The elements from `begin` to before `end`.
struct Slice {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  /// From `first` to `last`, which may count from the end, of `size` elements.
  static Slice of(std::int64_t first, std::int64_t last, std::size_t size);
  /// The same of the bytes or bits of a text, where Redis takes an end before the first for the
  /// first.
  static Slice of_text(std::int64_t first, std::int64_t last, std::size_t size);
};

/// Elements in the order of their operator<, each with a name that no other has.
template <typename Element>
class Collection {
  using Tree =
      __gnu_pbds::tree<Element, __gnu_pbds::null_type, std::less<Element>, __gnu_pbds::rb_tree_tag,
                       __gnu_pbds::tree_order_statistics_node_update>;

 public:
  using Iterator = typename Tree::const_iterator;

  Collection() = default;
  Collection(const Collection& other) : elements_(other.elements_) {}
  Collection& operator=(const Collection&) = delete;

  bool empty() const { return elements_.empty(); }
  std::size_t size() const { return elements_.size(); }
  Iterator begin() const { return elements_.begin(); }
  Iterator end() const { return elements_.end(); }
  /// The element with `rank` others in front of it.
  Iterator at(std::size_t rank) const { return elements_.find_by_order(rank); }
  std::size_t rank(const Element& element) const { return elements_.order_of_key(element); }
  /// Counts the elements for which `is_before(element)` holds, which must be the first.
  template <typename Predicate>
  std::size_t count_first(Predicate is_before) const {
    std::size_t count = 0;
    for (auto at = elements_.node_begin(); at != elements_.node_end();) {
      const auto left = at.get_l_child();
      const bool goes_on = is_before(**at);
      if (goes_on) count += 1 + (left == elements_.node_end() ? 0 : left.get_metadata());
      at = goes_on ? at.get_r_child() : left;
    }
    return count;
  }

  /// end() if there is no such element.
  Iterator find(std::string_view name) const {
    if (index_.empty() && size() > kFew && ++searches_ > kFewSearches) {
      for (auto at = begin(); at != end(); ++at) index_.emplace(at->name, at);
    }
    if (!index_.empty()) {
      const auto found = index_.find(name);
      return found == index_.end() ? end() : found->second;
    }
    auto at = begin();
    while (at != end() && at->name != name) ++at;
    return at;
  }
  bool contains(std::string_view name) const { return find(name) != end(); }

  /// There must be no other with its name.
  void add(Element element) {
    const auto at = elements_.insert(std::move(element)).first;
    if (!index_.empty()) index_.emplace(at->name, at);
  }
  void remove(Iterator at) {
    index_.erase(at->name);
    elements_.erase(at);
  }
  /// Returns whether there was an element with this name.
  bool remove(std::string_view name) {
    const auto at = find(name);
    if (at == end()) return false;
    remove(at);
    return true;
  }
  void remove(Slice slice) {
    auto at = this->at(slice.begin);
    for (auto count = slice.size(); count > 0; --count) remove(at++);
  }

 private:
  // Measured: up to some 30 elements, looking at each is faster than keeping an index. Making one
  // costs as much as looking at all of them about ten times.
  static constexpr std::size_t kFew = 32;
  static constexpr int kFewSearches = 10;

  Tree elements_ = {};
  /// Empty until it pays.
  mutable std::unordered_map<std::string_view, Iterator> index_ = {};
  mutable int searches_ = 0;  ///< without an index
};

/// An element that is in the order of insertion.
struct Member {
  std::int64_t number = 0;
  std::string name;
  bool operator<(const Member& other) const { return number < other.number; }
};
struct Field : Member {
  mutable std::string value;  ///< mutable, since the order does not depend on it
};
struct Scored {
  double score = 0;
  std::string name;
  bool operator<(const Scored& other) const {
    return std::tie(score, name) < std::tie(other.score, other.name);
  }
};

using Text = std::string;
using List = std::deque<std::string>;
using Hash = Collection<Field>;        ///< in the order of insertion
using Set = Collection<Member>;        ///< in the order of insertion
using SortedSet = Collection<Scored>;  ///< by score, then by the bytes of the member

/// The number of an element that comes after all others.
template <typename Element>
std::int64_t next_number(const Collection<Element>& collection) {
  return collection.empty() ? 0 : std::prev(collection.end())->number + 1;
}

/// Only a Text can be empty.
struct Value : std::variant<Text, List, Hash, Set, SortedSet> {
  using variant::variant;
};

}  // namespace rlctl::keyspace
