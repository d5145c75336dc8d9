#include "recipes/config/flag_names.h"

#include <map>

#include "recipes/config/flag_rows.h"

namespace kb {
namespace {

using Names = std::map<std::string, std::string>;

// Maps the path of each member to its flag; a member that two flags set has the first of them.
Names flags_by_member() {
  Names names;
  for (const FlagRow& row : flag_table(Recipe{})) names.emplace(row.member, row.text.name);
  return names;
}

Names members_by_flag() {
  Names names;
  for (const FlagRow& row : flag_table(Recipe{})) names.emplace(row.text.name, row.member);
  return names;
}

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
}

// Replaces every maximal run of name characters that is a key of `names`; full stops at its end do not belong to it.
// If `assignment` follows a replaced name, it becomes a space.
std::string replaced(const std::string& text, const Names& names, const std::string& assignment) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_of_name(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    size_t last = end;
    while (last > at && text[last - 1] == '.') --last;
    const auto name = names.find(text.substr(at, last - at));
    const bool is_name = name != names.end() && (at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1])));
    result += is_name ? name->second : text.substr(at, last - at);
    at = last;
    if (is_name && !assignment.empty() && text.compare(at, assignment.size(), assignment) == 0) {
      result += ' ';
      at += assignment.size();
    }
    for (; at < end; ++at) result += text[at];
  }
  return result;
}

}  // namespace

std::string with_flags(const std::string& text) {
  static const Names names = flags_by_member();
  return replaced(text, names, " = ");
}

std::string with_members(const std::string& text) {
  static const Names names = members_by_flag();
  return replaced(text, names, "");
}

}  // namespace kb
